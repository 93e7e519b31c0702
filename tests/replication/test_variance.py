"""CPV: equal to scikit-learn's PCA, non-decreasing, ending at 100 (golden test 23)."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from replication.protocols.metrics import METRIC_COLUMNS, metric_table
from replication.protocols.variance import cumulative_percent_variance, variance_table


def test_equals_principal_component_analysis():
    points = np.random.default_rng(0).gamma(1.0, size=(30, 50)) * np.arange(1, 51)
    cpv = cumulative_percent_variance(points @ points.T)
    expected = 100 * np.cumsum(PCA().fit(points).explained_variance_ratio_)[:-1]
    np.testing.assert_allclose(cpv, expected, rtol=1e-9)
    assert np.all(np.diff(cpv) >= 0)
    assert cpv[-1] == 100


def test_does_not_depend_on_the_origin():
    points = np.random.default_rng(1).normal(size=(20, 5))
    moved = points + 7.0
    np.testing.assert_allclose(
        cumulative_percent_variance(points @ points.T),
        cumulative_percent_variance(moved @ moved.T),
        rtol=1e-9,
    )


def test_components_beyond_the_rank_add_nothing():
    points = np.random.default_rng(2).normal(size=(20, 3))
    cpv = cumulative_percent_variance(points @ points.T)
    np.testing.assert_array_equal(cpv[2:], 100)
    assert cpv[1] < 100


def test_equal_points_are_an_error():
    with pytest.raises(ValueError, match="coincide"):
        cumulative_percent_variance(np.full((4, 4), 2.5))


def test_table_is_tidy():
    rng = np.random.default_rng(3)
    densities = rng.random((6, 4, 4)).astype(np.float32)
    embedding = rng.random((6, 10)).astype(np.float32)
    table = variance_table(
        densities, embedding, experiment="textures", dataset="uiuc_texture", origin="synthetic"
    )
    assert tuple(table.columns) == METRIC_COLUMNS
    assert len(table) == 2 * 5
    assert table.groupby("method")["item"].apply(list).tolist() == [[1, 2, 3, 4, 5]] * 2


def test_metric_rows_are_checked():
    with pytest.raises(ValueError, match=r"unknown columns \['valeu'\] and lacks \['value'\]"):
        metric_table([{"method": "a", "metric": "b", "valeu": 1}])
