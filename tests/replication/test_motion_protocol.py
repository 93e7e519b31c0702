"""The motion protocol: scores by hand, composed labels, seeds, subjects, intervals."""

import ast
import re
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from replication.protocols.motion import (
    METHODS,
    HierarchySettings,
    HMMSettings,
    MotionSet,
    cluster_motions,
    fit_hmms,
)
from replication.protocols.motion_scores import (
    join_blocks,
    median_trial,
    resample_hierarchies,
    score_hierarchies,
)
from vhem import H3M

HMMS = HMMSettings(n_states=2, n_mix=1, n_init=1, covariance_floor=1e-3)
HIERARCHY = HierarchySettings(
    levels=(4, 3, 2), n_init=1, max_iter=5, length=4, power=0.5, dtm_states=2
)
SEED = {"seed": 3, "experiment": "test"}


@pytest.fixture(scope="module")
def sequences():
    """Four kinds of two sequences each; kinds 0 and 1 are near each other, so are 2 and 3."""
    rng = np.random.default_rng(0)
    kinds = np.repeat([0.0, 2.0, 10.0, 12.0], 2)
    waves = np.sin(0.8 * np.arange(25))[:, None]
    return [kind + waves + 0.4 * rng.normal(size=(25, 3)) for kind in kinds]


@pytest.fixture(scope="module")
def models(sequences):
    return {t: fit_hmms(sequences, HMMS, trial=t, **SEED) for t in range(3)}


def hierarchy(method, sequences, models, **changes):
    settings = HierarchySettings(**{**HIERARCHY.__dict__, **changes})
    return cluster_motions(method, sequences, models, HMMS, settings, **SEED)


def found(labels, log_likelihoods=None):
    """What one method found: labels (T, L, n)."""
    labels = np.array(labels)
    n_trials, n_levels, _ = labels.shape
    zeros = np.zeros(labels.shape)
    return {
        "trials": np.arange(n_trials),
        "seeds": np.arange(n_trials),
        "labels": labels,
        "log_likelihoods": zeros if log_likelihoods is None else np.array(log_likelihoods),
        "iterations": np.full((n_trials, n_levels), np.nan),
        "converged": np.ones((n_trials, n_levels), dtype=bool),
    }


def value(rows, metric, item, method="m", repeat=0):
    (row,) = [
        row
        for row in rows
        if (row["metric"], row["item"], row["method"]) == (metric, item, method)
        and row.get("repeat", 0) == repeat
    ]
    return row["value"]


CLASSES = np.array(["a", "a", "a", "b", "b", "c"])
SUBJECTS = np.array(["1", "1", "1", "1", "2", "2"])
#: Clusters {0, 1}, {2, 3}, {4, 5}: the pairs together are ab-wrong (2, 3), (4, 5) and right (0, 1).
CLUSTERS = [0, 0, 1, 1, 2, 2]


def test_scores_by_hand():
    rows = score_hierarchies(CLASSES, SUBJECTS, {"m": found([[CLUSTERS, [0] * 6, [0] * 6]])})
    # 15 pairs; 4 are of one class. Right together: 01. Right apart: 11 - 2.
    assert value(rows, "rand_index", 2) == pytest.approx(10 / 15)
    assert value(rows, "rand_index", 3) == pytest.approx(4 / 15)
    # Hubert and Arabie: (1 - 4 * 3 / 15) / ((4 + 3) / 2 - 4 * 3 / 15)
    assert value(rows, "adjusted_rand_index", 2) == pytest.approx((1 - 0.8) / (3.5 - 0.8))
    assert value(rows, "adjusted_rand_index", 3) == 0
    # Members of a: two in a pure cluster, one with half of its own.
    assert value(rows, "precision_at_level_2", "a") == pytest.approx((1 + 1 + 0.5) / 3)
    assert value(rows, "precision_at_level_2", "c") == 0.5
    assert value(rows, "together_at_level_2", "a/a") == pytest.approx(1 / 3)
    assert value(rows, "together_at_level_2", "a/b") == pytest.approx(1 / 6)
    assert value(rows, "together_at_level_2", "a/c") == 0
    assert value(rows, "together_at_level_4", "b/c") == 1
    assert not [r for r in rows if r["item"] == "c/c"], "one sequence has no pairs"


def test_clustering_by_subject_is_scored_on_every_level():
    rows = score_hierarchies(CLASSES, SUBJECTS, {"m": found([[CLUSTERS] * 3])})
    # Together by subject: 6 + 1 pairs, of one class 3; apart and of two classes 15 - 7 - 1.
    for level in (2, 3, 4):
        assert value(rows, "rand_index", level, "subject") == pytest.approx(10 / 15)


def test_log_likelihood_is_the_sum_over_sequences():
    each = np.arange(18.0).reshape(1, 3, 6)
    rows = score_hierarchies(CLASSES, SUBJECTS, {"m": found([[CLUSTERS] * 3], each)})
    assert value(rows, "log_likelihood", 3) == 6 + 7 + 8 + 9 + 10 + 11
    assert not [r for r in rows if r["metric"] == "iterations"], "NaN stands for none"


def test_resampled_rand_index_counts_pairs_of_different_sequences():
    rng = np.random.default_rng(5)
    runs = {"m": found(rng.integers(3, size=(2, 3, 6)))}
    rows = resample_hierarchies(CLASSES, SUBJECTS, runs, draws=20, **SEED)
    draws = {r["repeat"]: r["seed"] for r in rows}
    for draw, state in draws.items():
        drawn = np.random.default_rng(state)
        trials, items = drawn.integers(2, size=2), drawn.integers(6, size=6)
        right = [
            (CLASSES[i] == CLASSES[j]) == (runs["m"]["labels"][t, 0, i] == clusters[j])
            for t in trials
            for clusters in [runs["m"]["labels"][t, 0]]
            for i, j in combinations(items, 2)
            if i != j
        ]
        assert value(rows, "resampled_rand_index", 2, repeat=draw) == pytest.approx(np.mean(right))


def test_resampled_log_likelihood_is_paired_between_methods():
    rng = np.random.default_rng(6)
    each = rng.normal(size=(4, 3, 6))
    labels = np.zeros((4, 3, 6), dtype=int)
    runs = {"m": found(labels, each), "better": found(labels, each + 1.0)}
    rows = resample_hierarchies(CLASSES, SUBJECTS, runs, draws=10, **SEED)
    metric = "resampled_log_likelihood"
    for draw in range(10):
        gain = value(rows, metric, 4, "better", draw) - value(rows, metric, 4, "m", draw)
        assert gain == pytest.approx(6)
    assert not [r for r in rows if r["method"] == "subject" and r["metric"] == metric]


def test_median_trial_is_nearest_to_the_median_of_every_level():
    perfect = [0, 0, 0, 1, 1, 2]
    trials = [[[0] * 6] * 3, [CLUSTERS] * 3, [perfect] * 3]
    assert median_trial(CLASSES, found(trials)) == 1
    assert median_trial(CLASSES, found(trials[::-1])) == 1
    assert median_trial(CLASSES, found([trials[2]] * 2)) == 0, "the first of equals"


def test_log_likelihood_of_the_centre_of_the_own_cluster():
    """One state and one cluster: a Gaussian whose log-likelihood is written down by hand."""
    rng = np.random.default_rng(1)
    sequences = [rng.normal(size=(12, 2)) for _ in range(4)]
    one = HMMSettings(n_states=1, n_mix=1, n_init=1, covariance_floor=1e-3)
    models = {0: fit_hmms(sequences, one, trial=0, **SEED)}
    for k, sequence in enumerate(sequences):
        np.testing.assert_allclose(models[0].means[k, 0, 0], sequence.mean(axis=0))
    settings = HierarchySettings(
        levels=(1,), n_init=1, max_iter=5, length=3, power=0.5, dtm_states=1
    )
    runs, _ = cluster_motions("vhem", sequences, models, one, settings, **SEED)
    # One Gaussian for all: mean of the means, mean of the variances plus variance of the means.
    means, variances = models[0].means[:, 0, 0], models[0].covars[:, 0, 0]
    mean, deviation = means.mean(axis=0), np.sqrt(variances.mean(axis=0) + means.var(axis=0))
    expected = [norm.logpdf(sequence, mean, deviation).sum() for sequence in sequences]
    np.testing.assert_allclose(runs["log_likelihoods"][0, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:the graph of affinities falls into:UserWarning")
def test_every_method_builds_nested_levels(method, sequences, models):
    runs, timings = hierarchy(method, sequences, models)
    assert runs["labels"].shape == (3, 3, 8)
    assert np.isfinite(runs["log_likelihoods"]).all()
    for fine, coarse, coarsest in runs["labels"]:
        for below, above in ((fine, coarse), (coarse, coarsest)):
            assert len({*zip(below, above, strict=True)}) == len({*below}), "clusters stay whole"
    assert [row["repeat"] for row in timings] == [0, 1, 2]
    assert all(row["metric"] == "seconds" and row["value"] > 0 for row in timings)


def test_the_workflow_runs_every_method(repository):
    text = (repository / "workflow/rules/common.smk").read_text()
    listed = re.search(r"^MOTION_METHODS = (\[.*?^\])", text, re.MULTILINE | re.DOTALL)
    assert ast.literal_eval(listed[1]) == list(METHODS)


def test_similar_motions_meet_at_the_top(sequences, models):
    runs, _ = hierarchy("vhem", sequences, models, n_init=5)
    for top in runs["labels"][:, 2]:
        assert len(set(top[:4])) == len(set(top[4:])) == 1


def test_a_trial_does_not_depend_on_its_block(sequences, models):
    together, _ = hierarchy("shem_10", sequences, models)
    apart = [hierarchy("shem_10", sequences, {t: models[t]})[0] for t in models]
    joined = join_blocks(apart)["shem_10"]
    for key, array in joined.items():
        np.testing.assert_array_equal(array, together[key], err_msg=key)
    assert len(set(together["seeds"])) == 3


def test_trials_differ_and_repeat(sequences, models):
    again = fit_hmms(sequences, HMMS, trial=1, **SEED)
    np.testing.assert_array_equal(again.means, models[1].means)
    assert not np.array_equal(models[0].means, models[1].means)
    assert isinstance(again, H3M)
    np.testing.assert_allclose(again.weights, 1 / 8)


def test_motions_survive_being_saved(sequences):
    names = np.array([f"16_{i:02d}" for i in range(8)])
    motions = MotionSet(sequences, names, names, names)
    again = MotionSet.from_arrays(motions.to_arrays())
    assert len(again.sequences) == 8
    for a, b in zip(again.sequences, sequences, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(again.ids, names)
