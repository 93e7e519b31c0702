"""CPV: equal to scikit-learn's PCA, non-decreasing, ending at 100 (golden test 23)."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from replication.images.variance import cumulative_percent_variance, variance_rows
from replication.io import METRIC_COLUMNS
from replication.report.metrics import metric_table


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


def test_inner_products_of_no_points_are_an_error():
    """Negative eigenvalues that are no rounding noise would count as no variance."""
    points = np.random.default_rng(5).normal(size=(9, 4))
    gram = points @ points.T
    assert cumulative_percent_variance(gram - 1e-7 * np.eye(9))[-1] == 100
    with pytest.raises(ValueError, match="not positive semi-definite"):
        cumulative_percent_variance(gram - 0.1 * np.outer(points[:, 0], points[:, 0]) - np.eye(9))


@pytest.fixture
def matrices():
    points = np.random.default_rng(3).normal(size=(20, 6))
    gram = points @ points.T
    norms = np.diagonal(gram)
    distance = norms[:, None] + norms - 2 * gram
    return {
        "density_gram": gram,
        "density_distance": distance,
        "sw_gram": 9 * gram,
        "sw_distance": 9 * distance,
    }


@pytest.fixture
def rows(matrices):
    return variance_rows(
        matrices,
        components=[1, 5, 100],
        gammas=[1.0],
        degrees=[2],
        subsamples=4,
        share=0.5,
        seed=0,
        experiment="test",
    )


def test_every_kernel_has_a_curve_and_units_do_not_matter(rows):
    table = metric_table(rows, experiment="textures", dataset="uiuc_texture", origin="real")
    assert tuple(table.columns) == METRIC_COLUMNS
    curves = table[table["metric"] == "cumulative_percent_variance"]
    assert curves.groupby(["method", "variant"]).size().eq(19).all()
    values = {names: c["value"].to_numpy() for names, c in curves.groupby(["method", "variant"])}
    for density, transport in [
        (("pca", ""), ("sw_kpca", "")),
        (("rbf", "gamma=1"), ("sw_gaussian", "gamma=1")),
        (("polynomial", "degree=2"), ("sw_polynomial", "degree=2")),
    ]:
        np.testing.assert_allclose(values[density], values[transport], rtol=1e-9)


def test_subsets_are_half_the_images_without_duplicates(rows):
    subsets = [row for row in rows if row["metric"] == "subsampled_cpv"]
    # 100 components do not exist in a subset of 10 images; six directions are explained by six.
    assert {row["item"] for row in subsets} == {1, 5}
    assert len({round(row["value"], 9) for row in subsets if row["item"] == 1}) == 4
    pairs = {(row["item"], row["repeat"]): row["value"] for row in subsets}
    assert all(pairs[5, draw] > pairs[1, draw] for draw in range(4))


def test_the_share_of_a_subset_is_what_was_drawn(matrices):
    names = {"gammas": [], "degrees": [], "subsamples": 1, "seed": 0, "experiment": "test"}
    rows = variance_rows(matrices, components=[1, 14, 15], share=0.77, **names)
    shares = [row for row in rows if row["metric"] == "subsampled_cpv_share"]
    # 0.77 of 20 images are 15, which have 14 components.
    assert [(row["method"], row["item"]) for row in shares] == [
        ("pca", 1), ("pca", 14), ("sw_kpca", 1), ("sw_kpca", 14),
    ]  # fmt: skip
    assert {row["value"] for row in shares} == {15 / 20}


def test_a_subset_of_all_images_has_the_curve_of_all(matrices):
    whole = variance_rows(
        matrices, components=[1, 2, 5], gammas=[], degrees=[], subsamples=3, share=1.0, seed=0,
        experiment="test",
    )  # fmt: skip
    curve = cumulative_percent_variance(matrices["sw_gram"])
    subsets = [row for row in whole if row["metric"] == "subsampled_cpv"]
    assert len(subsets) == 2 * 3 * 3
    for row in subsets:
        assert row["value"] == pytest.approx(curve[row["item"] - 1], rel=1e-9)


def test_metric_rows_are_checked():
    with pytest.raises(ValueError, match=r"unknown columns \['valeu'\] and lacks \['value'\]"):
        metric_table([{"method": "a", "metric": "b", "valeu": 1}])
