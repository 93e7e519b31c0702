"""Scores of inverted pictures, by hand on pictures of 4 x 4 pixels."""

import numpy as np
import pandas as pd
import pytest

from replication.images.inverse_scores import inverse_rows, slice_distances_from_uniform
from replication.report.metrics import metric_table
from sliced_wasserstein import SlicedWassersteinEmbedding


def rows_of(*weights):
    """Picture whose rows hold these shares of the mass."""
    return np.repeat(np.array(weights)[:, None], 4, axis=1) / 4


UNIFORM = rows_of(0.25, 0.25, 0.25, 0.25)
TOP = rows_of(1.0, 0.0, 0.0, 0.0)
HALF = rows_of(0.5, 0.5, 0.0, 0.0)
#: The one angle of a half-circle that is not divided points up: slices are sums of rows.
ONE_ANGLE = 1


@pytest.fixture
def panels():
    return {
        "kind": np.array(["normal", "barycentre", "centre", "centre", "mean"]),
        "title": np.array(["0", "CatHead", "5: 5 CatHead", "5: 5 CatHead", "CatHead"]),
        "images": np.stack([TOP, HALF, TOP, HALF, TOP]).astype(np.float32),
        "residuals": np.array([0.3, 0.25, 0.015, 0.0, np.nan]),
        "decisions": np.array([-2.0, np.nan, np.nan, np.nan, np.nan]),
        "classes": np.array(["CatHead", "DogHead"]),
    }


def test_slices_from_uniform_by_hand():
    found = slice_distances_from_uniform(np.stack([UNIFORM, TOP, HALF]), ONE_ANGLE)
    np.testing.assert_allclose(found, [0.0, 0.75 + 3 * 0.25, 4 * 0.25], atol=1e-12)


def test_the_measure_is_that_of_the_residuals():
    """What the library calls the residual of a fit that stayed uniform is the distance."""
    rng = np.random.default_rng(0)
    picture = rng.random((1, 8, 8)) ** 4
    picture /= picture.sum()
    embedding = SlicedWassersteinEmbedding(n_angles=30, n_quantiles=512, footprint="box")
    features = embedding.fit_transform(picture)
    # One step of the inversion from the uniform picture; the rest is its residual.
    fitted, residual = embedding.inverse_transform(features, n_iter=1, return_residual=True)
    before = slice_distances_from_uniform(picture, 30)[0]
    moved = slice_distances_from_uniform(fitted, 30)[0]
    # Triangle inequality, up to what the quantiles lose of the slices.
    assert abs(before - residual[0]) <= moved + 0.02
    assert before <= residual[0] + moved + 0.02


def test_every_score_by_hand(panels):
    table = metric_table(inverse_rows(panels, ONE_ANGLE))
    values = table.set_index(["method", "item", "metric"])["value"]
    expected = {
        ("normal", "0", "residual"): 0.3,
        ("normal", "0", "relative_residual"): 0.3 / 1.5,
        ("normal", "0", "decision"): -2.0,
        ("barycentre", "CatHead", "residual"): 0.25,
        ("barycentre", "CatHead", "relative_residual"): 0.25,
        # Half of the mass is in another row than the mean's, and than the uniform picture's.
        ("barycentre", "CatHead", "l1_from_uniform"): 1.0,
        ("barycentre", "CatHead", "l1_to_mean"): 1.0,
        ("centre", "cluster 0: 5: 5 CatHead", "residual"): 0.015,
        ("centre", "cluster 0: 5: 5 CatHead", "relative_residual"): 0.01,
        ("centre", "cluster 1: 5: 5 CatHead", "residual"): 0.0,
        ("centre", "cluster 1: 5: 5 CatHead", "relative_residual"): 0.0,
        ("mean", "CatHead", "l1_from_uniform"): 1.5,
    }
    pd.testing.assert_series_equal(
        values, pd.Series(expected), check_names=False, check_index=False, atol=1e-7
    )
    assert values.index.tolist() == list(expected)


def test_a_barycentre_without_its_mean_is_named(panels):
    panels["title"][4] = "DogHead"
    with pytest.raises(ValueError, match="'CatHead' has no Euclidean mean"):
        inverse_rows(panels, ONE_ANGLE)
