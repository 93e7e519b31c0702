"""The k-means protocol: normalisation, histories, controls, resampling (golden test 21)."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import v_measure_score

from replication.images import kmeans
from replication.images.kernels import SPACES


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
    for method in SPACES:
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
    settings = {"repeats": 2, "gamma": 1.0, "sweep": [1e-4, 1.0], "sweep_repeats": 2}
    rows = kmeans.score_kmeans(
        matrices, labels, **settings, degree=2, resamples=3, seed=0, experiment="test"
    )
    swept = {
        (row["method"], row["repeat"]): row["value"]
        for row in rows
        if row["metric"] == "inertia" and row.get("variant") == "gamma_0.0001"
    }
    gaussian = [value for (method, _), value in swept.items() if method != "kmeans"]
    assert len(gaussian) == 4
    assert max(gaussian) < 1e-2
    # What knows no gamma stands there for comparison, with its own runs.
    for method in ("kmeans", "sw_gaussian_kmeans"):
        for metric in ("inertia", "resampled_inertia"):
            main, again = (
                [
                    row["value"]
                    for row in rows
                    if (row["method"], row["metric"]) == (method, metric)
                    if row.get("variant", "") == variant
                ]
                for variant in ("", "gamma_1")
            )
            np.testing.assert_allclose(again, main, rtol=1e-12)


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


RESAMPLING = {"gamma": 1.0, "degree": 2, "seed": 0, "experiment": "test"}


def test_resampling_keeps_labels_and_pairs_the_methods(data):
    _, labels, matrices = data
    perfect = labels[None].astype(np.int16)
    noisy = np.roll(labels, 3)[None].astype(np.int16)
    found = {"kmeans": noisy, "sw_kmeans": noisy, "rbf_kmeans": perfect}
    rows = kmeans.resample_scores(matrices, labels, found, draws=30, **RESAMPLING)
    for metric in ("resampled_v_measure", "resampled_inertia", "resampled_relative_inertia"):
        a, b = (values(rows, method, metric) for method in ("kmeans", "sw_kmeans"))
        assert len(a) == 30
        assert a.std() > 0
        # The same points, one of them twice as large.
        np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_allclose(values(rows, "rbf_kmeans", "resampled_v_measure"), 1.0)


def test_resampled_scores_are_centred_on_those_of_all_images_and_runs(data, run):
    """Halves have the higher V-measure; the mean over draws must not show it."""
    _, labels, matrices = data
    rows, found = run
    again = kmeans.resample_scores(matrices, labels, found, draws=10, **RESAMPLING)
    for method in SPACES:
        for metric in ("v_measure", "inertia", "relative_inertia"):
            assert values(again, method, f"resampled_{metric}").mean() == pytest.approx(
                values(rows, method, metric).mean(), rel=1e-9
            )


def test_resampled_inertia_by_hand():
    """Four points on a line, clusters {1, 2} and {4, 7}: a half sees their distances only."""
    x = np.array([1.0, 2.0, 4.0, 7.0])
    clusters = np.array([0, 0, 1, 1], dtype=np.int16)
    gram = np.outer(x, x)
    rows = kmeans.resample_scores(
        {"density_gram": gram}, clusters, {"kmeans": clusters[None]}, draws=40, **RESAMPLING
    )
    within, scatter = np.array([0.25, 0.25, 2.25, 2.25]), (x - 3.5) ** 2
    halves = [[i, j] for i in range(4) for j in range(i)]
    expected = {
        # The mean norm of all is 3.5, that of the half its own.
        "resampled_inertia": [4 * within[h].mean() / x[h].mean() ** 2 for h in halves],
        "resampled_relative_inertia": [within[h].sum() / scatter[h].sum() for h in halves],
    }
    for metric, of_halves in expected.items():
        found = values(rows, "kmeans", metric)
        distinct = np.unique(found.round(9))
        np.testing.assert_allclose(
            np.diff(distinct), np.diff(np.unique(np.round(of_halves, 9))), atol=1e-8
        )
    assert values(rows, "kmeans", "resampled_inertia").mean() == pytest.approx(5 / 3.5**2)
    assert values(rows, "kmeans", "resampled_relative_inertia").mean() == pytest.approx(5 / 21)


def test_spread_of_resampled_scores_is_that_of_new_images_and_runs():
    """Samples of a population whose clusters are known: the draws of one foretell the others."""
    rng = np.random.default_rng(0)
    n, n_runs, n_samples = 480, 20, 300

    def sample():
        labels = rng.integers(4, size=n)
        # A run has an accuracy of its own, an image a difficulty that all runs share.
        accuracy = rng.uniform(0.55, 0.75, size=(n_runs, 1))
        runs = np.where(rng.random(n) < accuracy, labels, (labels + 1) % 4).astype(np.int16)
        return labels, runs

    scores, spreads = [], []
    for k in range(n_samples):
        labels, runs = sample()
        scores.append(kmeans.v_measures(labels, runs).mean())
        if k < 12:
            gram = np.outer(labels + 1.0, labels + 1.0)
            rows = kmeans.resample_scores(
                {"density_gram": gram}, labels, {"kmeans": runs}, draws=100, **RESAMPLING
            )
            spreads.append(values(rows, "kmeans", "resampled_v_measure").var())
    assert np.sqrt(np.mean(spreads)) == pytest.approx(np.std(scores), rel=0.15)


def test_resampling_shows_the_noise_of_the_starts_too(data):
    _, labels, matrices = data
    rng = np.random.default_rng(0)
    good, bad = labels.astype(np.int16), rng.integers(4, size=40).astype(np.int16)
    spreads = {
        name: values(
            kmeans.resample_scores(
                matrices, labels, {"kmeans": np.array(runs)}, draws=50, **RESAMPLING
            ),
            "kmeans",
            "resampled_v_measure",
        ).std()
        for name, runs in {"alike": [good, good], "unlike": [good, bad]}.items()
    }
    assert spreads["alike"] < 1e-9
    # Of two runs a half is one of them.
    gap = 1 - v_measure_score(labels, bad)
    assert spreads["unlike"] == pytest.approx(gap / 2, rel=0.15)


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
