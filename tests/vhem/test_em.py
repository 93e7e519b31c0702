"""EM for mixtures of HMMs: other people's numbers, properties of the objective, bad data."""

import itertools

import numpy as np
import pytest
from vhem_examples import (
    golden_case,
    golden_h3m,
    left_right_hmm,
    random_h3m,
    random_hmm,
    replaced,
)

from vhem import EMH3M, H3M, HMM

PARAMETERS = tuple(H3M.__dataclass_fields__)


def assert_same_model(found, expected, rtol=1e-9, atol=0.0):
    for name in PARAMETERS:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=rtol, atol=atol, err_msg=name
        )


def sampled(rng, h3m, n, shortest=15, longest=40):
    sequences, labels = [], []
    for length in rng.integers(shortest, longest + 1, n):
        y, component, _ = h3m.sample(1, length, rng)
        sequences.append(y[0])
        labels.append(component[0])
    return sequences, np.array(labels)


# --- other people's numbers ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["em01_K1", "em03_K3M2"])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 5])
def test_equals_the_authors_toolbox(name, steps):
    case = golden_case(name)
    sequences = np.split(case["Y"], np.cumsum(case["lengths"])[:-1])
    init = golden_h3m(case, "init")
    em = EMH3M(
        len(init), init.n_states, init.n_mix, tol=None, max_iter=steps, covariance_floor=1e-12
    ).fit(sequences, init=init)
    if f"it{steps}_w" in case:
        assert_same_model(em.model_, golden_h3m(case, f"it{steps}"))
    if f"it{steps}_loglik" in case:
        np.testing.assert_allclose(em.log_likelihoods_, case[f"it{steps}_loglik"], rtol=1e-9)
    if f"it{steps + 1}_z_used" in case:
        expected = case[f"it{steps + 1}_z_used"]
        np.testing.assert_allclose(em.responsibilities_, expected, rtol=1e-9, atol=1e-300)
    # The toolbox reports the objective without the entropy of the responsibilities.
    z = em.responsibilities_
    with np.errstate(divide="ignore"):
        entropy = -np.where(z > 0, z * np.log(np.where(z > 0, z, 1)), 0).sum()
    np.testing.assert_allclose(em.lower_bound_ - entropy, case["J_zweighted"][steps], rtol=1e-9)
    assert em.n_iter_ == steps
    assert len(em.history_) == steps + 1
    assert not em.converged_


def test_one_step_equals_hmmlearn():
    """Baum-Welch of one HMM with Gaussian mixtures; hmmlearn's default priors are flat there."""
    rng = np.random.default_rng(0)
    start = random_hmm(rng, 3, 2, 2, spread=2.0)
    sequences, _ = sampled(rng, H3M.from_hmms([start]), 10)
    pytest.importorskip("hmmlearn")
    model = start.to_hmmlearn()
    model.set_params(n_iter=1, init_params="", tol=-np.inf)
    model.fit(np.concatenate(sequences), [len(y) for y in sequences])
    em = EMH3M(1, 3, 2, tol=None, max_iter=1).fit(sequences, init=H3M.from_hmms([start]))
    expected = HMM.from_hmmlearn(model)
    # hmmlearn takes the covariances about the old means, so they are no maximiser and differ.
    for name in ("startprob", "transmat", "weights", "means"):
        np.testing.assert_allclose(
            getattr(em.model_[0], name), getattr(expected, name), rtol=1e-8, err_msg=name
        )


def test_one_step_by_enumeration():
    """All paths, components and Gaussians of short sequences, group assignments included."""
    rng = np.random.default_rng(1)
    init = random_h3m(rng, K=2, S=2, M=2, d=1)
    sequences = [rng.normal(size=(n, 1)) * 2 for n in (1, 2, 3, 3)]
    groups, weights = np.array([7, 3, 7, 5]), np.array([2.0, 1.0, 2.0, 0.5])
    em = EMH3M(2, 2, 2, tol=None, max_iter=1).fit(
        sequences, groups=groups, sample_weight=weights, init=init
    )

    counts = {name: np.zeros(getattr(init, name).shape) for name in PARAMETERS}
    squares = np.zeros_like(init.means)
    objective = 0.0
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        joint, inner = init.weights.copy(), []
        for k in range(2):
            for i in members:
                entries = []
                y = sequences[i][:, 0]
                for path in itertools.product(range(2), repeat=len(y)):
                    for mix in itertools.product(range(2), repeat=len(y)):
                        p = init.startprob[k, path[0]]
                        for t in range(len(y)):
                            if t:
                                p *= init.transmat[k, path[t - 1], path[t]]
                            v = init.covars[k, path[t], mix[t], 0]
                            error = y[t] - init.means[k, path[t], mix[t], 0]
                            p *= init.mixture_weights[k, path[t], mix[t]]
                            p *= np.exp(-0.5 * error**2 / v) / np.sqrt(2 * np.pi * v)
                        entries.append((p, path, mix))
                likelihood = sum(p for p, _, _ in entries)
                joint[k] *= likelihood
                inner.append((k, i, [(p / likelihood, a, b) for p, a, b in entries]))
        w = weights[members[0]]
        objective += w * np.log(joint.sum())
        z = joint / joint.sum()
        counts["weights"] += w * z
        for k, i, entries in inner:
            for p, path, mix in entries:
                share = w * z[k] * p
                counts["startprob"][k, path[0]] += share
                for t, (s, m) in enumerate(zip(path, mix, strict=True)):
                    if t:
                        counts["transmat"][k, path[t - 1], s] += share
                    counts["mixture_weights"][k, s, m] += share
                    counts["means"][k, s, m] += share * sequences[i][t]
                    squares[k, s, m] += share * sequences[i][t] ** 2
    occupancy = counts["mixture_weights"][..., None]
    means = counts["means"] / occupancy
    expected = H3M(
        *(counts[n] / counts[n].sum(-1, keepdims=True) for n in PARAMETERS[:4]),
        means,
        squares / occupancy - means**2,
    )
    assert_same_model(em.model_, expected, rtol=1e-10)
    np.testing.assert_allclose(em.history_[0], objective, rtol=1e-12)


# --- the objective ------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("start", ["kmeans", "random"])
@pytest.mark.parametrize(("K", "S", "M"), [(1, 3, 2), (3, 2, 1), (2, 2, 3)])
def test_objective_never_falls_and_is_the_log_likelihood(K, S, M, start, full):
    rng = np.random.default_rng(2)
    sequences, _ = sampled(rng, random_h3m(rng, 3, 2, 2, 3, spread=2.0), 25)
    em = EMH3M(K, S, M, "full" if full else "diag", tol=None, max_iter=30, random_state=0).fit(
        sequences, init=start
    )
    assert np.diff(em.history_).min() > -1e-9 * abs(em.history_[-1])
    np.testing.assert_allclose(em.lower_bound_, em.model_.score(sequences), rtol=1e-10)
    np.testing.assert_allclose(
        em.log_likelihoods_, em.model_.component_log_likelihoods(sequences), rtol=1e-10
    )
    np.testing.assert_allclose(em.responsibilities_.sum(1), 1, rtol=1e-12)
    np.testing.assert_array_equal(em.labels_, em.predict(sequences))


def test_objective_does_not_fall_when_the_floor_acts():
    """The floor is a constraint of the maximisation, not a repair after it."""
    rng = np.random.default_rng(3)
    sequences, _ = sampled(rng, random_h3m(rng, 2, 2, 1, 3), 20)
    for covariance_type in ("diag", "full"):
        em = EMH3M(
            2, 3, 2, covariance_type, covariance_floor=1.0, tol=None, max_iter=25, random_state=0
        ).fit(sequences)
        assert np.diff(em.history_).min() > -1e-9 * abs(em.history_[-1])
        covars = em.model_.covars
        smallest = covars if covariance_type == "diag" else np.linalg.eigvalsh(covars)
        np.testing.assert_allclose(smallest.min(), 1.0, rtol=1e-9)


def test_additive_term_is_added():
    rng = np.random.default_rng(4)
    init = random_h3m(rng, 2, 2, 1, 2)
    sequences, _ = sampled(rng, init, 10)
    plain, added = (
        EMH3M(2, 2, 1, tol=None, max_iter=1, reg_covar=reg).fit(
            sequences, init=replaced(init, covars=init.covars - shift)
        )
        for reg, shift in ((0.0, 0.0), (0.1, 0.1))
    )
    # The added start equals the plain one, so the first M-steps differ by the term alone.
    np.testing.assert_allclose(added.history_[0], plain.history_[0], rtol=1e-12)
    np.testing.assert_allclose(added.model_.covars, plain.model_.covars + 0.1, rtol=1e-9)


# --- groups and weights -------------------------------------------------------------------------


def test_group_shares_one_assignment():
    rng = np.random.default_rng(7)
    h3m = random_h3m(rng, 2, 2, 1, 2)
    sequences, _ = sampled(rng, h3m, 12)
    groups = np.array(list("abcabcabcabc"))
    em = EMH3M(2, 2, tol=None, max_iter=5).fit(sequences, groups=groups, init=h3m)
    joint = np.log(em.model_.weights) + np.stack(
        [em.log_likelihoods_[groups == g].sum(0) for g in groups]
    )
    expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(em.responsibilities_, expected, rtol=1e-8, atol=1e-12)


def test_weight_counts_like_copies_and_zero_like_absence():
    rng = np.random.default_rng(8)
    init = random_h3m(rng, 2, 2, 2, 2)
    sequences, _ = sampled(rng, init, 9)
    weights = np.array([0, 1, 2, 3, 0, 1, 1, 2, 1])
    settings = {"tol": None, "max_iter": 4}
    weighted = EMH3M(2, 2, 2, **settings).fit(sequences, sample_weight=weights, init=init)
    copies = [y for y, w in zip(sequences, weights, strict=True) for _ in range(w)]
    repeated = EMH3M(2, 2, 2, **settings).fit(copies, init=init)
    np.testing.assert_allclose(weighted.history_, repeated.history_, rtol=1e-11)
    assert_same_model(weighted.model_, repeated.model_, rtol=1e-8)
    started = EMH3M(2, 2, 2, random_state=0, **settings).fit(sequences, sample_weight=weights)
    assert np.isfinite(started.lower_bound_)


def test_order_of_sequences_changes_nothing():
    rng = np.random.default_rng(9)
    init = random_h3m(rng, 2, 2, 1, 2)
    sequences, _ = sampled(rng, init, 12)
    groups = rng.integers(0, 5, 12)
    order = rng.permutation(12)
    first = EMH3M(2, 2, tol=None, max_iter=5).fit(sequences, groups=groups, init=init)
    second = EMH3M(2, 2, tol=None, max_iter=5).fit(
        [sequences[i] for i in order], groups=groups[order], init=init
    )
    assert_same_model(second.model_, first.model_, rtol=1e-9)
    np.testing.assert_allclose(
        second.responsibilities_, first.responsibilities_[order], rtol=1e-8, atol=1e-12
    )


# --- reproducibility and precision --------------------------------------------------------------


def test_threads_change_no_byte():
    rng = np.random.default_rng(10)
    sequences, _ = sampled(rng, random_h3m(rng, 3, 3, 2, 3), 150, 20, 60)
    fits = [
        EMH3M(3, 3, 2, max_iter=4, tol=None, n_jobs=n, random_state=1).fit(sequences)
        for n in (1, 2, 3)
    ]
    for fit in fits[1:]:
        assert_same_model(fit.model_, fits[0].model_, rtol=0)
        np.testing.assert_array_equal(fit.history_, fits[0].history_)


def test_single_precision_error():
    """The promise of the documentation: 1e-5 of the log-likelihood, 1e-3 of a parameter."""
    rng = np.random.default_rng(11)
    init = random_h3m(rng, 2, 3, 2, 8, spread=2.0)
    sequences, _ = sampled(rng, init, 30, 40, 60)
    double, single = (
        EMH3M(2, 3, 2, tol=None, max_iter=5, dtype=dtype).fit(sequences, init=init)
        for dtype in (np.float64, np.float32)
    )
    np.testing.assert_allclose(single.history_, double.history_, rtol=1e-5)
    assert (single.history_ != double.history_).any()
    assert_same_model(single.model_, double.model_, rtol=1e-3, atol=1e-4)
    assert single.model_.means.dtype == np.float64


# --- data that break others ---------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore:n_(components|states) is .* distinct", "ignore:covariance_floor is .* variance"
)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("start", ["kmeans", "random"])
@pytest.mark.parametrize(
    "sequences",
    {
        "constant features": [np.full((9, 2), 3.0) for _ in range(4)],
        "one constant feature": [np.c_[np.arange(9.0), np.ones(9)] for _ in range(4)],
        "duplicated frames": [np.repeat([[0.0, 1.0], [1.0, 0.0]], 6, axis=0) for _ in range(4)],
        "far outlier": [np.r_[np.zeros((8, 2)), [[1e8, -1e8]]], np.ones((5, 2))],
        "tiny scale": [np.random.default_rng(0).normal(size=(9, 2)) * 1e-9 for _ in range(4)],
    }.items(),
    ids=lambda item: item[0],
)
def test_degenerate_data_give_an_answer(sequences, start, full):
    _, data = sequences
    em = EMH3M(2, 4, 2, "full" if full else "diag", tol=None, max_iter=12, random_state=0).fit(
        data, init=start
    )
    # A model is validated when it is made: no NaN, rows sum to 1, covariances positive.
    assert np.isfinite(em.history_).all()
    scale = np.abs(em.history_).max()
    assert np.diff(em.history_).min() > -1e-6 * scale
    assert np.isfinite(em.responsibilities_).all()


THREE = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
LONG = np.random.default_rng(0).normal(size=(20, 2))


def test_a_sequence_shorter_than_the_states_is_named_unless_it_need_not_start_them():
    with pytest.raises(ValueError, match=r"sequences\[1\]: 3 frames of 2 .*, but n_states is 5"):
        EMH3M(2, 5).fit([LONG, THREE, LONG + 1])
    with pytest.raises(ValueError, match=r"sequences\[1\] and the 1 others of its group: 4 frames"):
        EMH3M(1, 5).fit([LONG, THREE[:2], THREE[:2]], groups=[0, 1, 1])
    # Pooled with others, without weight, or with the states given, it may be as short as it is.
    EMH3M(1, 5, max_iter=1).fit([LONG, THREE], groups=[0, 0])
    EMH3M(1, 5, max_iter=1).fit([LONG, THREE], sample_weight=[1, 0])
    EMH3M(1, 5, max_iter=1).fit(
        [LONG, THREE], init=random_h3m(np.random.default_rng(0), 1, 5, 1, 2)
    )


def test_states_and_components_that_must_coincide_are_told():
    two_values = np.tile([[0.0, 0.0], [1.0, 1.0]], (20, 1))
    with pytest.warns(UserWarning, match="n_states is 5, but only 2 frames are distinct"):
        em = EMH3M(1, 5, random_state=0).fit([two_values])
    assert np.isfinite(em.lower_bound_)
    with pytest.warns(UserWarning, match="n_components is 3, but only 2 sequences are distinct"):
        em = EMH3M(3, random_state=0).fit([LONG, LONG + 9, LONG, LONG])
    assert em.labels_[0] == em.labels_[2] == em.labels_[3] != em.labels_[1]


def test_swapped_axes_get_a_hint():
    array = np.random.default_rng(0).normal(size=(6, 3, 40))
    with pytest.warns(UserWarning, match="6 sequences of 3 frames with 40 features; .*transpose"):
        EMH3M(1, 2, max_iter=1).fit(array)
    right = EMH3M(2, 2, random_state=0).fit(array.transpose(0, 2, 1))
    listed = EMH3M(2, 2, random_state=0).fit([sequence.T for sequence in array])
    assert right.model_ == listed.model_
    with pytest.raises(
        ValueError, match=r"sequences\[1\] has 30 features, .* this one has 3 frames"
    ):
        EMH3M().fit([array[0], array[1, :, :30]])
    with pytest.raises(
        ValueError, match=r"sequences\[0\] has 40 features, expected 3; time is the"
    ):
        right.predict(array)


def test_a_floor_above_all_variances_is_told():
    small = [LONG * 1e-5, (LONG + 50) * 1e-5, LONG[::-1] * 1e-5, (LONG[::-1] + 50) * 1e-5]
    with pytest.warns(UserWarning, match="covariance_floor is 1e-06, but the variance of the fra"):
        EMH3M(2, 1, random_state=0).fit(small)
    labels = EMH3M(2, 1, covariance_floor=1e-20, random_state=0).fit_predict(small)
    assert labels[0] == labels[2] != labels[1] == labels[3]


def test_arguments_of_another_kind_are_named():
    with pytest.raises(TypeError, match="monitor is 3, expected a callable"):
        EMH3M().fit([LONG], monitor=3)
    for dtype in ("x", int):
        with pytest.raises(ValueError, match=r"dtype is .*, expected float64 or float32"):
            EMH3M(dtype=dtype).fit([LONG])


def test_unvisited_state_keeps_its_parameters():
    rng = np.random.default_rng(12)
    hmm = random_hmm(rng, 3, 2, 2)
    startprob, transmat = np.array([0.5, 0.5, 0.0]), hmm.transmat.copy()
    transmat[:2, 2] = 0
    transmat /= transmat.sum(1, keepdims=True)
    init = H3M.from_hmms([replaced(hmm, startprob=startprob, transmat=transmat)])
    sequences, _ = sampled(rng, init, 8)
    em = EMH3M(1, 3, 2, tol=None, max_iter=6).fit(sequences, init=init)
    for name in ("transmat", "mixture_weights", "means", "covars"):
        np.testing.assert_array_equal(getattr(em.model_, name)[0, 2], getattr(init, name)[0, 2])
    assert (em.model_.transmat[0, :2, 2] == 0).all()


def test_zeros_of_the_chain_stay_zero():
    rng = np.random.default_rng(13)
    init = H3M.from_hmms([left_right_hmm(rng, 4, 1, 2)])
    sequences, _ = sampled(rng, init, 10)
    em = EMH3M(1, 4, 1, tol=None, max_iter=8).fit(sequences, init=init)
    assert (em.model_.transmat[init.transmat == 0] == 0).all()
    assert (em.model_.startprob[init.startprob == 0] == 0).all()


def test_recovers_separated_groups():
    rng = np.random.default_rng(14)
    h3m = random_h3m(rng, 3, 2, 1, 3, spread=4.0, weights=np.full(3, 1 / 3))
    sequences, labels = sampled(rng, h3m, 60)
    em = EMH3M(3, 2, n_init=5, random_state=0).fit(sequences)
    pairs = em.labels_[:, None] == em.labels_
    np.testing.assert_array_equal(pairs, labels[:, None] == labels)


# --- bad arguments ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"covariance_floor": 0.0}, ValueError, "covariance_floor is 0.0, .* > 0"),
        ({"reg_covar": "a lot"}, TypeError, "reg_covar is 'a lot', expected a number"),
        ({"dtype": np.int32}, ValueError, "dtype is"),
        ({"n_components": 4}, ValueError, "n_components is 4, but there are only 3"),
    ],
)
def test_bad_parameter_is_named(settings, error, message):
    with pytest.raises(error, match=message):
        EMH3M(**settings).fit([np.zeros((4, 2)), np.ones((4, 2)), np.ones((3, 2))])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": [0, None, 1]}, r"groups\[1\] is None, expected a label"),
        ({"groups": [0, 1, np.nan]}, r"groups\[2\] is nan, expected a label"),
        ({"groups": [0, 1]}, r"groups has shape \(2,\), expected \(3,\)"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\), expected \(3,\)"),
        ({"sample_weight": [1, -1, 1]}, r"sample_weight\[1\] is -1.0"),
        ({"sample_weight": [0, 0, 0]}, "sample_weight is zero everywhere"),
        (
            {"groups": [0, 1, 0], "sample_weight": [1, 1, 2]},
            r"sample_weight\[2\] is 2.0, but another sequence of its group has 1.0",
        ),
        ({"init": "best"}, "init is 'best', expected an H3M, 'kmeans' or 'random'"),
    ],
)
def test_bad_argument_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        EMH3M(1).fit([np.zeros((4, 2)), np.ones((4, 2)), np.ones((3, 2))], **arguments)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([np.zeros((4, 0))] * 2, r"sequences\[0\] has shape \(4, 0\): no feature"),
        ([LONG, np.where(LONG[7, 1] == LONG, np.nan, LONG)], r"sequences\[1\]\[7, 1\] is nan"),
        ([LONG * 1e20, LONG], "frames lie up to .* expected at most 1e\\+15 for dtype float32"),
    ],
)
def test_bad_data_are_named_with_their_place(data, message):
    with pytest.raises(ValueError, match=message):
        EMH3M(1, dtype=np.float32).fit(data)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        list,
        lambda y: y.astype(">f8"),
        lambda y: y.astype(np.float32),
        lambda y: y.astype(np.int8),
        lambda y: y.astype(object),
        lambda y: np.ma.array(y),
        lambda y: y[::-1][::-1],
    ],
)
def test_numbers_count_and_not_how_they_are_stored(convert):
    rounded = [np.round(LONG), np.round(LONG) + 5]
    expected = EMH3M(2, max_iter=3, random_state=0).fit(rounded)
    found = EMH3M(2, max_iter=3, random_state=0).fit([convert(y) for y in rounded])
    assert found.model_ == expected.model_


def test_start_of_another_shape_is_named():
    rng = np.random.default_rng(15)
    with pytest.raises(ValueError, match="init has n_states=3, the estimator 2"):
        EMH3M(2, 2).fit([np.zeros((4, 2))] * 2, init=random_h3m(rng, 2, 3, 1, 2))
    with pytest.raises(ValueError, match="init has 5 features, the sequences have 2"):
        EMH3M(2, 2).fit([np.zeros((4, 2))] * 2, init=random_h3m(rng, 2, 2, 1, 5))
