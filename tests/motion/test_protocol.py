"""The motion protocol: scores by hand, composed labels, seeds, subjects, intervals."""

import re
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import adjusted_rand_score, rand_score

from replication.motion import protocol as motion
from replication.motion.convergence import measure_convergence
from replication.motion.protocol import (
    METHODS,
    HierarchySettings,
    HMMSettings,
    cluster_motions,
    first_levels,
    fit_hmms,
)
from replication.motion.scores import (
    join_blocks,
    list_failures,
    median_trial,
    resample_hierarchies,
    score_hierarchies,
)
from replication.motion.sequences import MotionSet
from replication.registry import MOTION_METHODS
from vhem import H3M, VHEM

HMMS = HMMSettings(n_states=2, n_mix=1, n_init=1, covariance_floor=1e-3)
HIERARCHY = HierarchySettings(
    levels=(4, 3, 2),
    n_init=1,
    max_iter=5,
    length=4,
    power=0.5,
    kernel_root="value",
    dtm_states=2,
    time_limit_s=600,
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
    return cluster_motions([method], sequences, models, HMMS, settings, **SEED)


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
        "graph_parts": np.full((n_trials, n_levels), np.nan),
        "determined": np.full((n_trials, n_levels), np.nan),
        "failures": np.full(n_trials, ""),
        "logs": np.full(n_trials, ""),
        "converged": np.ones((n_trials, n_levels), dtype=bool),
    }


def failed(runs, trials):
    """The same with failures on some trials."""
    runs = {key: array.copy() for key, array in runs.items()}
    runs["labels"][trials] = -1
    runs["log_likelihoods"] = runs["log_likelihoods"].astype(float)
    runs["log_likelihoods"][trials] = np.nan
    for key, text in (("failures", "ValueError: bad"), ("logs", "a.log")):
        runs[key] = runs[key].astype(object)
        runs[key][trials] = text
    return runs


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


@pytest.mark.parametrize("seed", range(20))
def test_rand_indices_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n, (n_classes, n_clusters) = rng.integers(2, 20), rng.integers(1, 6, size=2)
    labels, clusters = rng.integers(n_classes, size=n), rng.integers(n_clusters, size=n)
    nobody = np.full(n, "1")
    rows = score_hierarchies(labels.astype(str), nobody, {"m": found([[clusters] * 3])})
    assert value(rows, "rand_index", 2) == rand_score(labels, clusters)
    assert value(rows, "adjusted_rand_index", 2) == adjusted_rand_score(labels, clusters)


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
        levels=(1,),
        n_init=1,
        max_iter=5,
        length=3,
        power=0.5,
        kernel_root=1,
        dtm_states=1,
        time_limit_s=600,
    )
    runs, _ = cluster_motions(["vhem"], sequences, models, one, settings, **SEED)
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


def test_what_rounding_decides_has_no_scores(sequences, models):
    """A graph in four parts decides four clusters, not which of the four are three and two."""
    with pytest.warns(UserWarning, match="falls into 4 parts"):
        runs, _ = hierarchy("ppk_sc_literal", [100 * each for each in sequences], scaled(models))
    np.testing.assert_array_equal(runs["graph_parts"], np.full((3, 3), 4))
    about = np.repeat(list("abcd"), 2), np.repeat(["1", "2"], 4)
    rows = score_hierarchies(*about, {"m": runs})
    assert value(rows, "graph_parts", 2) == 4
    assert [value(rows, "determined", level) for level in (2, 3, 4)] == [1, 0, 0]
    assert value(rows, "rand_index", 2) == 1
    own = [row for row in rows if row["method"] == "m"]
    above = {row["metric"] for row in own if row["item"] in (3, 4)}
    assert above == {"graph_parts", "determined"}
    assert not [row for row in own if row["metric"].endswith(("level_3", "level_4"))]
    draws = resample_hierarchies(*about, {"m": runs}, draws=2, **SEED)
    assert {row["item"] for row in draws if row["method"] == "m"} == {2}
    others, _ = hierarchy("vhem", sequences, models)
    assert np.isnan(others["graph_parts"]).all()
    rows = score_hierarchies(*about, {"m": others})
    assert not {"graph_parts", "determined"} & {row["metric"] for row in rows}


def test_a_root_of_the_kernel_connects_the_graph(sequences, models):
    halves, near = [each / 2 for each in sequences], scaled(models, 0.5)
    literal, root = (hierarchy(m, halves, near)[0] for m in ("ppk_sc_literal", "ppk_sc"))
    assert (literal["graph_parts"] == 2).all()
    assert (root["graph_parts"] == 1).all()
    assert (root["determined"] == 1).all()


def test_the_drawn_trial_is_marked():
    perfect = [0, 0, 0, 1, 1, 2]
    runs = found([[[0] * 6] * 3, [CLUSTERS] * 3, [perfect] * 3])
    rows = score_hierarchies(CLASSES, SUBJECTS, {"m": runs})
    assert [row["repeat"] for row in rows if row["metric"] == "drawn"] == [1]


def scaled(models, factor=100):
    """HMMs of scaled sequences, deviations as they were: times 100 only equal kinds overlap."""
    return {
        trial: H3M(
            each.weights,
            each.startprob,
            each.transmat,
            each.mixture_weights,
            factor * each.means,
            each.covars,
        )
        for trial, each in models.items()
    }


# --- methods that fail ----------------------------------------------------------------------------


class Failing(VHEM):
    """Fails on the trial whose HMMs it is told, in the way that it is told."""

    how = None
    where = None

    def fit(self, base, monitor=None):
        if base is self.where:
            type(self).how()
        return super().fit(base, monitor)


LIKE_VHEM = {"virtual_length": HIERARCHY.length, "max_iter": HIERARCHY.max_iter}


def run_on_and_on():
    while True:
        sum(range(1000))


@pytest.fixture
def failing(monkeypatch, models):
    def fail(how, where=1):
        monkeypatch.setattr(Failing, "how", staticmethod(how))
        monkeypatch.setattr(Failing, "where", models[where])
        monkeypatch.setitem(motion.METHODS, "failing", lambda *settings: Failing(**LIKE_VHEM))

    return fail


def raising(error):
    def how():
        raise error

    return how


@pytest.mark.parametrize(
    ("how", "limit", "reason"),
    [
        (raising(np.linalg.LinAlgError("not positive definite")), 600, "LinAlgError: not positive"),
        (raising(FloatingPointError("overflow")), 600, "FloatingPointError: overflow"),
        (raising(ValueError("means[0] is nan")), 600, r"ValueError: means\[0\] is nan"),
        (run_on_and_on, 0.5, "TimeoutError: more than 0.5 processor seconds"),
    ],
)
def test_a_failure_is_kept_and_the_other_trials_go_on(
    failing, sequences, models, capfd, how, limit, reason
):
    alone, _ = hierarchy("vhem", sequences, models)
    failing(how)
    settings = HierarchySettings(**{**HIERARCHY.__dict__, "time_limit_s": limit})
    runs, timings = cluster_motions(
        ["failing"], sequences, models, HMMS, settings, log="job.log", **SEED
    )
    assert re.match(reason, runs["failures"][1])
    assert runs["logs"].tolist() == ["", "job.log", ""]
    assert "failing failed on trial 1:\nTraceback" in capfd.readouterr().err
    assert [row["repeat"] for row in timings] == [0, 2]
    for key in ("labels", "log_likelihoods", "iterations"):
        np.testing.assert_array_equal(runs[key][[0, 2]], alone[key][[0, 2]], err_msg=key)
    assert (runs["labels"][1] == -1).all()
    assert np.isnan(runs["log_likelihoods"][1]).all()


def test_a_failure_in_the_first_trial_does_not_end_the_warm_up(failing, sequences, models):
    failing(raising(ArithmeticError("none")), where=0)
    runs, _ = hierarchy("failing", sequences, models)
    assert [bool(reason) for reason in runs["failures"]] == [True, False, False]


def test_a_mistake_in_the_program_is_no_failure(failing, sequences, models):
    failing(raising(TypeError("unexpected keyword")))
    with pytest.raises(TypeError, match="unexpected keyword"):
        hierarchy("failing", sequences, models)


def test_failed_trials_have_no_scores_and_are_counted():
    runs = failed(found([[CLUSTERS] * 3] * 3), [1])
    rows = score_hierarchies(CLASSES, SUBJECTS, {"m": runs})
    assert {r["metric"] for r in rows if r.get("repeat") == 1} == {"failed"}
    assert [value(rows, "failed", level, repeat=1) for level in (2, 3, 4)] == [1, 1, 1]
    assert not [r for r in rows if r.get("repeat") == 0 and r["metric"] == "failed"]
    listed = list_failures({"m": runs, "fine": found([[CLUSTERS] * 3])})
    assert listed.to_dict("records") == [
        {"method": "m", "repeat": 1, "reason": "ValueError: bad", "log": "a.log"}
    ]
    assert median_trial(CLASSES, failed(found([[CLUSTERS] * 3] * 3), [0])) == 1
    with pytest.raises(ValueError, match="failed on every trial: ValueError: bad"):
        median_trial(CLASSES, failed(runs, [0, 1, 2]))


def test_resampling_leaves_failed_trials_out():
    rng = np.random.default_rng(7)
    labels, each = rng.integers(3, size=(4, 3, 6)), rng.normal(size=(4, 3, 6))
    part = found(labels, each)
    whole = failed(part, [1, 3])
    gone = failed(part, [0, 1, 2, 3])
    runs = {"part": whole, "gone": gone, "all": part}
    rows = resample_hierarchies(CLASSES, SUBJECTS, runs, draws=20, **SEED)
    assert not [r for r in rows if r["method"] == "gone"]
    for draw, state in {r["repeat"]: r["seed"] for r in rows}.items():
        drawn = np.random.default_rng(state)
        trials, items = drawn.integers(4, size=4), drawn.integers(6, size=6)
        worked = [t for t in trials if t in (0, 2)]
        metric = "resampled_log_likelihood"
        if not worked:
            assert not [r for r in rows if r["method"] == "part" and r["repeat"] == draw]
            continue
        expected = np.mean([each[t, 1][items].sum() for t in worked])
        assert value(rows, metric, 3, "part", draw) == pytest.approx(expected)
        everything = np.mean([each[t, 1][items].sum() for t in trials])
        assert value(rows, metric, 3, "all", draw) == pytest.approx(everything)


# --- convergence ----------------------------------------------------------------------------------


def test_both_algorithms_are_followed_from_one_start(sequences, models):
    scores, timings = measure_convergence(sequences, HMMS, HIERARCHY, trial=1, **SEED)
    curves = {}
    for method in ("vhem", "em_h3m"):
        rows = [row for row in scores if row["method"] == method and "item" in row]
        assert [row["item"] for row in rows] == list(range(len(rows)))
        curves[method] = np.array([row["value"] for row in rows])
        seconds = [
            row["value"]
            for row in timings
            if row["method"] == method and row["metric"] == "seconds_by_iteration"
        ]
        assert len(seconds) == len(rows)
        assert seconds[0] > 0
        assert (np.diff(seconds) > 0).all()
    assert curves["vhem"][0] == curves["em_h3m"][0]
    # It is what EM maximises.
    assert (np.diff(curves["em_h3m"]) > -1e-9 * abs(curves["em_h3m"][-1])).all()
    rng = np.random.default_rng(scores[0]["seed"])
    start = H3M.from_hmms([models[1][int(i)] for i in rng.choice(8, 4, replace=False)])
    assert curves["vhem"][0] == pytest.approx(start.score_samples(sequences).sum(), rel=1e-12)
    vhem = VHEM(4, virtual_length=4, max_iter=5, init=start).fit(models[1])
    assert curves["vhem"][-1] == pytest.approx(vhem.model_.score_samples(sequences).sum())
    (first,) = [row for row in timings if row["metric"] == "first_level_seconds"]
    assert first["method"] == "vhem"
    assert first["value"] > 0


def test_the_registry_names_every_method():
    assert tuple(METHODS) == MOTION_METHODS


def test_similar_motions_meet_at_the_top(sequences, models):
    runs, _ = hierarchy("vhem", sequences, models, n_init=5)
    for top in runs["labels"][:, 2]:
        assert len(set(top[:4])) == len(set(top[4:])) == 1


def test_a_trial_does_not_depend_on_its_block_nor_on_the_methods_beside_it(sequences, models):
    methods = ["parameter_kmeans", "shem_10"]
    settings = (HMMS, HIERARCHY)
    block, timings = cluster_motions(methods, sequences, models, *settings, **SEED)
    assert [(row["method"], row["repeat"]) for row in timings] == [
        (method, trial) for method in methods for trial in models
    ]
    together = join_blocks([block])
    apart = join_blocks(
        hierarchy(method, sequences, {t: models[t]})[0] for t in models for method in methods
    )
    assert list(apart) == list(together) == ["shem_10", "parameter_kmeans"]
    for method, runs in apart.items():
        for key, array in runs.items():
            np.testing.assert_array_equal(array, together[method][key], err_msg=key)
        assert len(set(runs["seeds"])) == 3


def test_a_trial_is_found_in_its_block_of_models(models):
    blocks = [H3M.from_hmms([*models[0], *models[1]]), models[2]]
    assert first_levels(blocks, 8, 5) == {5 + trial: each for trial, each in models.items()}


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
