"""Metric axioms and invariances on whatever hypothesis comes up with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sliced_wasserstein import (
    PointCloudEmbedding,
    SlicedWassersteinEmbedding,
    sliced_wasserstein_image_distance,
    squared_distances,
    wasserstein_1d,
)

VALUES = st.floats(0, 1e6).map(lambda value: value if value > 1e-6 else 0.0)
IMAGES = arrays(np.float64, (5, 6), elements=VALUES).filter(lambda image: image.any())
POINTS = arrays(np.float64, 7, elements=st.floats(-100, 100))
MASSES = arrays(np.float64, 7, elements=VALUES).filter(lambda masses: masses.any())
EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True)
METHODS = pytest.mark.parametrize(
    "options",
    [
        {"footprint": "box", "method": "binned"},
        {"footprint": "point", "method": "binned"},
        {"footprint": "point", "method": "exact"},
    ],
    ids=["box", "point", "exact"],
)


@METHODS
@EXAMPLES
@given(a=IMAGES, b=IMAGES, c=IMAGES)
def test_metric_axioms(options, a, b, c):
    ab, bc, ac = (
        sliced_wasserstein_image_distance(x, y, n_angles=6, **options)
        for x, y in ((a, b), (b, c), (a, c))
    )
    assert sliced_wasserstein_image_distance(a, a, n_angles=6, **options) == 0
    assert ab == pytest.approx(
        sliced_wasserstein_image_distance(b, a, n_angles=6, **options), rel=1e-12, abs=1e-12
    )
    assert ac <= ab + bc + 1e-9
    assert 0 <= ab <= np.hypot(4, 5) + 1e-9


@EXAMPLES
@given(a=IMAGES, b=IMAGES)
def test_distance_is_at_least_that_of_the_means(a, b):
    """Jensen: SW² >= |difference of means|²/2, whatever the binning of u."""
    rows, cols = np.indices((5, 6))

    def mean(image):
        share = image / image.max()
        return np.array([(share * rows).sum(), (share * cols).sum()]) / share.sum()

    bound = np.sum((mean(a) - mean(b)) ** 2) / 2
    for footprint in ("box", "point"):
        assert sliced_wasserstein_image_distance(a, b, footprint=footprint) ** 2 >= bound - 1e-6


@EXAMPLES
@given(images=st.lists(IMAGES, min_size=2, max_size=5), factor=st.floats(1e-3, 1e3))
def test_embedding_is_that_of_the_normalised_images(images, factor):
    embedding = SlicedWassersteinEmbedding(n_angles=4, n_quantiles=16).fit(images)
    z = embedding.transform(images)
    assert np.isfinite(z).all()
    np.testing.assert_allclose(
        embedding.transform([factor * image for image in images]), z, atol=1e-5
    )


@EXAMPLES
@given(x=POINTS, a=MASSES, y=POINTS, b=MASSES, shift=st.floats(-50, 50))
def test_line(x, a, y, b, shift):
    distance = wasserstein_1d(x, y, a, b)
    assert wasserstein_1d(y, x, b, a) == pytest.approx(distance, rel=1e-9, abs=1e-9)
    assert wasserstein_1d(x + shift, x, a, a) == pytest.approx(abs(shift), rel=1e-9, abs=1e-9)
    assert wasserstein_1d(x, y, a, b, p=1) <= distance * (1 + 1e-9) + 1e-9
    assert wasserstein_1d(2 * x, 2 * y, a, b) == pytest.approx(2 * distance, rel=1e-9, abs=1e-9)


@EXAMPLES
@given(
    points=arrays(np.float64, (3, 6, 3), elements=st.floats(-10, 10)),
    shift=arrays(np.float64, 3, elements=st.floats(-10, 10)),
)
def test_clouds_move_together(points, shift):
    embedding = PointCloudEmbedding(6, n_quantiles=16, random_state=0)
    there = squared_distances(embedding.fit_transform(points))
    moved = squared_distances(embedding.fit_transform(points + shift))
    np.testing.assert_allclose(moved, there, atol=1e-3)
