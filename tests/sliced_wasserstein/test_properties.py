"""Metric axioms and invariances on whatever hypothesis comes up with."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sliced_wasserstein import (
    PointCloudEmbedding,
    SlicedWassersteinEmbedding,
    sliced_wasserstein_distance,
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


ORDERS = st.one_of(st.just(np.inf), st.floats(1, 1000))
SCALES = st.floats(-200, 200).map(lambda exponent: 10.0**exponent)
COORDINATES = st.integers(-100, 100).map(float)
CLOUDS = arrays(np.float64, (7, 2), elements=COORDINATES)


@EXAMPLES
@given(x=POINTS, a=MASSES, y=POINTS, b=MASSES, p=ORDERS, scale=SCALES)
def test_line_scales_with_the_unit(x, a, y, b, p, scale):
    distance = wasserstein_1d(x, y, a, b, p=p)
    assert wasserstein_1d(-scale * x, -scale * y, a, b, p=p) == pytest.approx(
        scale * distance, rel=1e-9, abs=scale * 1e-9
    )
    factor = np.sqrt(scale)
    assert wasserstein_1d(x, y, factor * a, b / factor, p=p) == pytest.approx(
        distance, rel=1e-9, abs=1e-9
    )


@EXAMPLES
@given(x=POINTS, y=POINTS, p=ORDERS, q=ORDERS)
def test_line_grows_with_the_order_to_the_largest_step(x, y, p, q):
    low, high = sorted((p, q))
    largest = np.abs(np.sort(x) - np.sort(y)).max()
    distances = [wasserstein_1d(x, y, p=order) for order in (low, high, np.inf)]
    assert distances[0] <= distances[1] * (1 + 1e-9)
    assert distances[1] <= distances[2] * (1 + 1e-9)
    assert distances[2] == pytest.approx(largest, rel=1e-12)
    # One of seven points moves farthest.
    assert wasserstein_1d(x, y, p=1e6) == pytest.approx(largest, rel=1e-5)


@EXAMPLES
@given(x=CLOUDS, a=MASSES, y=CLOUDS, b=MASSES, shift=st.integers(-(2**40), 2**40), scale=SCALES)
def test_clouds_scale_and_move_together(x, a, y, b, shift, scale):
    distance = sliced_wasserstein_distance((x, a), (y, b), n_angles=6)
    # Integers, so that no digit is lost by moving.
    moved = sliced_wasserstein_distance((x + shift, a), (y + shift, b), n_angles=6)
    assert moved == pytest.approx(distance, rel=1e-3, abs=1e-3)
    scaled = sliced_wasserstein_distance((scale * x, a), (-scale * y, b), n_angles=6)
    mirrored = sliced_wasserstein_distance((x, a), (-y, b), n_angles=6)
    assert scaled == pytest.approx(scale * mirrored, rel=1e-9, abs=scale * 1e-9)
    z = PointCloudEmbedding(6).fit_transform([(scale * x, a), (-scale * y, b)]).astype(float)
    assert np.linalg.norm((z[0] - z[1]) / scale) <= mirrored * (1 + 1e-4) + 1e-4


@EXAMPLES
@given(
    x=CLOUDS, a=MASSES, y=arrays(np.float64, (9, 2), elements=COORDINATES), seed=st.integers(0, 99)
)
def test_clouds_with_and_without_weights_are_those_of_pot(x, a, y, seed):
    theta = np.random.default_rng(seed).normal(size=(5, 2))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    for first, weights in ((x, None), ((x, a), a / a.sum())):
        expected = ot.sliced_wasserstein_distance(x, y, weights, projections=theta.T)
        value = sliced_wasserstein_distance(first, y, directions=theta)
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)


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
