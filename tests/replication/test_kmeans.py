"""The k-means protocol: normalisation, histories, controls, resampling (golden test 21)."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import v_measure_score

from replication.protocols import kmeans


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 10)
    points = 3 * rng.normal(size=(4, 6))[labels] + rng.normal(size=(40, 6))
    gram = points @ points.T
    norms = np.diagonal(gram)
    distance = np.maximum(norms[:, None] + norms - 2 * gram, 0)
    matrices = {
        "density_gram": gram,
        "density_distance": distance,
        "sw_gram": 4 * gram,
        "sw_distance": 4 * distance,
    }
    return points, labels, matrices


@pytest.fixture(scope="module")
def run(data):
    _, labels, matrices = data
    settings = {"repeats": range(6), "gamma": 1.0, "degree": 2, "seed": 1, "experiment": "test"}
    return kmeans.cluster_repeatedly(matrices, labels, **settings)


def values(rows, method, metric):
    return np.array([r["value"] for r in rows if (r["method"], r["metric"]) == (method, metric)])


def test_inertia_is_that_of_points_divided_by_their_mean_norm(data, run):
    points, _, _ = data
    rows, found = run
    scaled = points / np.linalg.norm(points, axis=1).mean()
    for inertia, clusters in zip(values(rows, "kmeans", "inertia"), found["kmeans"], strict=True):
        centres = np.array([scaled[clusters == c].mean(axis=0) for c in range(4)])
        assert inertia == pytest.approx(((scaled - centres[clusters]) ** 2).sum(), rel=1e-9)
        # A local optimum: Lloyd's algorithm on the vectors stays where the kernel one ended.
        again = KMeans(4, init=centres, n_init=1).fit(scaled)
        assert again.inertia_ == pytest.approx(inertia, rel=1e-9)


def test_relative_inertia_is_a_share_of_the_scatter(data, run):
    points, _, _ = data
    rows, _ = run
    scaled = points / np.linalg.norm(points, axis=1).mean()
    scatter = ((scaled - scaled.mean(axis=0)) ** 2).sum()
    np.testing.assert_allclose(
        values(rows, "kmeans", "relative_inertia") * scatter,
        values(rows, "kmeans", "inertia"),
        rtol=1e-9,
    )


def test_scale_of_the_data_does_not_matter(run):
    rows, _ = run
    # sw_* stand for the same points, twice as large.
    for metric in ("inertia", "v_measure", "inertia_in_phi"):
        np.testing.assert_allclose(
            values(rows, "kmeans", metric), values(rows, "sw_kmeans", metric), rtol=1e-9
        )
        np.testing.assert_allclose(
            values(rows, "rbf_kmeans", metric), values(rows, "sw_gaussian_kmeans", metric)
        )


def test_inertia_never_rises_and_ends_where_it_is_reported(run):
    rows, _ = run
    for method in kmeans.SPACES:
        for repeat in range(6):
            history = [
                r["value"]
                for r in rows
                if (r["method"], r["metric"], r["repeat"]) == (method, "iteration_inertia", repeat)
            ]
            assert np.all(np.diff(history) <= 1e-9)
            assert history[-1] == values(rows, method, "inertia")[repeat]


def test_v_measure_of_the_last_iteration_is_the_final_one(data, run):
    _, labels, _ = data
    rows, found = run
    for method, runs in found.items():
        for repeat, clusters in enumerate(runs):
            last = [
                r["value"]
                for r in rows
                if (r["method"], r["metric"], r["repeat"])
                == (method, "iteration_v_measure", repeat)
            ][-1]
            assert last == pytest.approx(v_measure_score(labels, clusters), abs=1e-12)


def test_gaussian_inertia_vanishes_with_gamma_whatever_the_data(data):
    _, labels, matrices = data
    rows = kmeans.sweep_gamma(
        matrices, labels, gammas=[1e-4, 1.0], repeats=range(2), seed=0, experiment="test"
    )
    small = [r["value"] for r in rows if r["metric"] == "inertia" and r["item"] == 1e-4]
    assert max(small) < 1e-2


def test_random_labels_are_scored(run):
    rows, _ = run
    assert abs(values(rows, "random_labels", "adjusted_mutual_information").mean()) < 0.1
    assert values(rows, "random_labels", "v_measure").mean() > 0.03


def test_a_repetition_does_not_depend_on_the_others(data, run):
    _, labels, matrices = data
    alone, _ = kmeans.cluster_repeatedly(
        matrices, labels, repeats=[4], gamma=1.0, degree=2, seed=1, experiment="test"
    )
    assert [row for row in run[0] if row["repeat"] == 4] == alone


def test_resampling_keeps_labels_and_pairs_the_methods(data):
    _, labels, _ = data
    perfect = labels[None].astype(np.int16)
    noisy = np.roll(labels, 3)[None].astype(np.int16)
    rows = kmeans.resample_scores(
        labels, {"a": perfect, "b": noisy, "c": noisy}, draws=30, seed=0, experiment="test"
    )
    a, b, c = (values(rows, method, "resampled_v_measure") for method in "abc")
    np.testing.assert_allclose(a, 1.0)
    np.testing.assert_array_equal(b, c)
    assert b.std() > 0
    assert abs(b.mean() - v_measure_score(labels, noisy[0])) < 0.1


def test_v_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c", "d"], [5, 9, 3, 8])
    clusterings = np.vstack(
        [
            rng.integers(6, size=(40, 25)),
            2 * rng.integers(3, size=(10, 25)),
            np.unique(labels, return_inverse=True)[1][None],
            np.full((1, 25), 3),
        ]
    )
    expected = [v_measure_score(labels, clusters) for clusters in clusterings]
    np.testing.assert_allclose(kmeans.v_measures(labels, clusterings), expected, atol=1e-12)
    constant = np.zeros(25, dtype=int)
    assert kmeans.v_measures(constant, constant[None]) == v_measure_score(constant, constant) == 1
