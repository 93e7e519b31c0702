"""Exact inference against enumeration, extended precision."""

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from vhem_examples import left_right_hmm, random_h3m, random_hmm, replaced

from vhem import H3M, HMM, expected_log_likelihood
from vhem._numerics import fast_exp, fast_log


def emission_densities(hmm, sequence):
    """``p(y_t | s)`` by scipy, shape (T, S)."""
    covars = (
        hmm.covars
        if hmm.covariance_type == "full"
        else hmm.covars[..., None] * np.eye(hmm.n_features)
    )
    densities = np.zeros((len(sequence), hmm.n_states))
    for s in range(hmm.n_states):
        for m in range(hmm.n_mix):
            normal = multivariate_normal(hmm.means[s, m], covars[s, m])
            densities[:, s] += hmm.weights[s, m] * normal.pdf(sequence)
    return densities


def enumerate_paths(hmm, sequence):
    """Joint probability of the sequence with every path of states."""
    densities = emission_densities(hmm, sequence)
    for path in itertools.product(range(hmm.n_states), repeat=len(sequence)):
        probability = hmm.startprob[path[0]] * densities[0, path[0]]
        for t in range(1, len(sequence)):
            probability *= hmm.transmat[path[t - 1], path[t]] * densities[t, path[t]]
        yield path, probability


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("S", "M", "T"), [(1, 1, 1), (1, 3, 4), (3, 2, 1), (3, 1, 5), (4, 2, 4)])
def test_likelihood_posterior_and_path_by_enumeration(S, M, T, full):
    rng = np.random.default_rng(S * 100 + M * 10 + T)
    hmm = random_hmm(rng, S, M, 2, full)
    sequence = rng.normal(size=(T, 2))
    paths, probabilities = zip(*enumerate_paths(hmm, sequence), strict=True)
    probabilities = np.array(probabilities)
    total = probabilities.sum()
    np.testing.assert_allclose(hmm.score_samples([sequence]), [np.log(total)], rtol=1e-12)
    posterior = np.zeros((T, S))
    for path, probability in zip(paths, probabilities, strict=True):
        posterior[np.arange(T), path] += probability / total
    np.testing.assert_allclose(hmm.posterior(sequence), posterior, atol=1e-12)
    log_probability, path = hmm.decode(sequence)
    np.testing.assert_allclose(log_probability, np.log(probabilities.max()), rtol=1e-12)
    np.testing.assert_array_equal(path, paths[probabilities.argmax()])


def test_ragged_batch_equals_one_by_one():
    """Long enough to be cut into several chunks."""
    rng = np.random.default_rng(0)
    h3m = random_h3m(rng, K=7, S=5, M=8, d=3)
    sequences = [rng.normal(size=(n, 3)) for n in rng.integers(1, 90, 60)]
    together = h3m.component_log_likelihoods(sequences)
    alone = np.array([[hmm.score([y]) for hmm in h3m] for y in sequences])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    expected = np.log(np.exp(alone - alone.max(1, keepdims=True)) @ h3m.weights) + alone.max(1)
    np.testing.assert_allclose(h3m.score_samples(sequences), expected, rtol=1e-12)
    np.testing.assert_allclose(h3m.score(sequences), expected.sum(), rtol=1e-12)


def log_domain_likelihood(hmm, sequence):
    """Textbook forward algorithm, every sum as a logsumexp in extended precision."""
    covars = hmm.covars.astype(np.longdouble)
    means, y = hmm.means.astype(np.longdouble), np.asarray(sequence, dtype=np.longdouble)
    with np.errstate(divide="ignore"):
        c, pi, A = (
            np.log(a.astype(np.longdouble)) for a in (hmm.weights, hmm.startprob, hmm.transmat)
        )
    two_pi = 2 * np.longdouble(np.pi)
    terms = c - 0.5 * (np.log(two_pi * covars) + (y[:, None, None] - means) ** 2 / covars).sum(-1)
    log_b = np.logaddexp.reduce(terms, axis=2)
    alpha = pi + log_b[0]
    for t in range(1, len(y)):
        alpha = np.logaddexp.reduce(alpha[:, None] + A, axis=0) + log_b[t]
    return float(np.logaddexp.reduce(alpha))


def test_nothing_underflows_when_the_probable_states_are_forbidden():
    """A left-right chain against the grain of the data: state densities differ by e^-20000, and
    the only allowed paths go through the improbable ones."""
    rng = np.random.default_rng(1)
    hmm = left_right_hmm(rng, 4, 2, 3, spread=100.0)
    sequence, _ = hmm.sample(1, 25, random_state=0)
    for y in (sequence[0], sequence[0][::-1], rng.normal(size=(30, 3)) * 200):
        found = hmm.score([y])
        assert np.isfinite(found)
        np.testing.assert_allclose(found, log_domain_likelihood(hmm, y), rtol=1e-11)
        posterior = hmm.posterior(y)
        np.testing.assert_allclose(posterior.sum(1), 1, rtol=1e-12)
        assert (posterior >= 0).all()
        _, path = hmm.decode(y)
        # With densities this far apart the posterior sits on the best path.
        np.testing.assert_array_equal(posterior.argmax(1), path)


def test_far_from_the_origin():
    """Data far from zero lose no digits: they are centred first."""
    rng = np.random.default_rng(2)
    hmm = random_hmm(rng, 3, 2, 4)
    y = rng.normal(size=(50, 4))
    shifted = HMM(hmm.startprob, hmm.transmat, hmm.weights, hmm.means + 1e5, hmm.covars)
    np.testing.assert_allclose(shifted.score([y + 1e5]), hmm.score([y]), rtol=1e-9)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("n_mix", [1, 2])
@pytest.mark.parametrize(
    ("spread", "deviation"),
    [(1.0, 1e-150), (1.0, 1e-10), (1e9, 1.0), (1e15, 100.0), (1e-150, 1e-150), (1e140, 1e140)],
)
def test_nothing_cancels_where_states_are_many_standard_deviations_apart(
    spread, deviation, n_mix, full
):
    """Frames lie within the Gaussians, or between them."""
    rng = np.random.default_rng(0)
    means = spread * rng.integers(-3, 4, (3, n_mix, 2)).astype(float)
    unit = random_hmm(rng, 3, n_mix, 2)
    covars = unit.covars * deviation**2
    hmm = HMM(unit.startprob, unit.transmat, unit.weights, means, covars)
    same = HMM(
        *(getattr(hmm, n) for n in ("startprob", "transmat", "weights", "means")),
        covars=(covars[..., None] * np.eye(2) if full else covars),
    )
    for length in (1, 6):
        chosen = means[rng.integers(3, size=length), rng.integers(n_mix, size=length)]
        inside = chosen + deviation * rng.normal(size=(length, 2))
        for sequence in (chosen, inside, chosen + 0.3 * spread):
            expected = log_domain_likelihood(hmm, sequence)
            np.testing.assert_allclose(same.score([sequence]), expected, rtol=1e-11)
            np.testing.assert_allclose(same.posterior(sequence).sum(axis=1), 1.0, rtol=1e-12)
            assert same.decode(sequence)[0] <= same.score([sequence]) + 1e-9 * abs(expected)


def test_likelihood_below_the_range_of_numbers_is_an_error():
    hmm = HMM([1.0], [[1.0]], [[1.0]], [[[0.0]]], [[[1e-300]]])
    possible, beyond = np.array([[1e-140]]), np.array([[1e6]])
    np.testing.assert_allclose(hmm.score([possible]), -5e19)
    with pytest.raises(
        ValueError, match=r"likelihood of sequences\[1\] under component 0 is below"
    ):
        hmm.score([possible, beyond])
    for call in (hmm.posterior, hmm.decode):
        with pytest.raises(ValueError, match="likelihood of sequence under the model is below"):
            call(beyond)
    far = replaced(hmm, means=[[[1e300]]])
    with pytest.raises(
        ValueError, match=r"likelihood of sequences\[0\] under component 0 is below"
    ):
        far.score([[[0.0]]])
    with pytest.raises(ValueError, match=r"base\.means\[0, 0, 0, 0\] is 1e\+300, .* overflow"):
        expected_log_likelihood(far, hmm, 3)
    # It costs nothing as long as another state explains the frame.
    rescued = HMM(
        [0.5, 0.5], np.full((2, 2), 0.5), np.ones((2, 1)), [[[0.0]], [[1e6]]], [[[1e-300]], [[1.0]]]
    )
    expected = np.log(0.5) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(rescued.score([beyond]), expected, rtol=1e-12)
    np.testing.assert_array_equal(rescued.posterior(beyond), [[0.0, 1.0]])
    np.testing.assert_allclose(rescued.decode(beyond)[0], expected, rtol=1e-12)


def test_state_without_a_way_in_takes_no_part():
    rng = np.random.default_rng(5)
    reached = random_hmm(rng, 2, 1, 1)
    transmat = np.eye(3)
    transmat[:2, :2] = reached.transmat

    def pad(array):
        return np.concatenate([array, [[[0.5]]]])

    hmm = HMM(
        [*reached.startprob, 0.0],
        transmat,
        np.ones((3, 1)),
        pad(reached.means),
        pad(reached.covars),
    )
    y = rng.normal(size=(5, 1))
    _, probabilities = zip(*enumerate_paths(hmm, y), strict=True)
    np.testing.assert_allclose(hmm.score([y]), np.log(sum(probabilities)), rtol=1e-12)
    np.testing.assert_array_equal(hmm.posterior(y)[:, 2], 0.0)
    assert hmm.decode(y)[1].max() < 2


@pytest.mark.parametrize(
    ("sequences", "error", "message"),
    [
        (None, TypeError, "sequences is None"),
        ([], ValueError, "sequences is empty"),
        ([[1.0, 2.0]], ValueError, r"sequences\[0\] has shape \(2,\), expected \(T, d\)"),
        (np.ones((3, 2)), ValueError, r"sequences\[0\] has shape \(2,\), .* is \[sequence\]"),
        ([np.ones((3, 2)), np.ones(3)], ValueError, r"sequences\[1\] has shape \(3,\)"),
        ([np.ones((3, 2)), np.ones((3, 1))], ValueError, r"sequences\[1\] has 1 features, .* 2"),
        ([np.full((3, 2), "1")], ValueError, r"sequences\[0\] is not a rectangular array of real"),
        ([np.ones((0, 2))], ValueError, r"sequences\[0\] has no frame"),
        ([np.full((3, 2), 1e300)], ValueError, r"sequences\[0\]\[0, 0\] is 1e\+300.*rescale"),
        ([np.full((3, 2), 1j)], ValueError, r"sequences\[0\] is not .* real numbers"),
        ([np.ma.masked_equal(np.eye(2), 1)], ValueError, r"sequences\[0\] has masked entries"),
        (np.array([[[0.0, np.inf]]]), ValueError, r"sequences\[0\]\[0, 1\] is inf"),
    ],
)
def test_what_is_no_sequence_is_named(sequences, error, message):
    hmm = random_hmm(np.random.default_rng(0), 2, 1, 2)
    for model in (hmm, H3M.from_hmms([hmm])):
        with pytest.raises(error, match=message):
            model.score(sequences)


def test_permuting_the_states_changes_nothing():
    rng = np.random.default_rng(3)
    hmm = random_hmm(rng, 4, 2, 3)
    order = rng.permutation(4)
    permuted = HMM(
        hmm.startprob[order],
        hmm.transmat[np.ix_(order, order)],
        hmm.weights[order],
        hmm.means[order],
        hmm.covars[order],
    )
    y = rng.normal(size=(40, 3))
    np.testing.assert_allclose(permuted.score([y]), hmm.score([y]), rtol=1e-13)
    np.testing.assert_allclose(permuted.posterior(y), hmm.posterior(y)[:, order], atol=1e-12)


def test_bad_single_sequence_is_named():
    hmm = random_hmm(np.random.default_rng(0), 2, 1, 2)
    for method in (hmm.posterior, hmm.decode):
        with pytest.raises(ValueError, match=r"sequence has shape \(3,\), expected \(T, 2\)"):
            method(np.zeros(3))


def test_fast_exponential_and_logarithm():
    """Two units in the last place over the whole range."""
    x = np.concatenate([-np.logspace(-12, np.log10(708), 2000), [0.0], np.linspace(0, 700, 500)])
    found = np.array([fast_exp(v) for v in x])
    np.testing.assert_allclose(found, np.exp(x), rtol=5e-16)
    assert fast_exp(-708.5) == fast_exp(-1e30) == fast_exp(-np.inf) == 0.0
    assert fast_exp(0.0) == 1.0
    y = np.concatenate([np.logspace(-300, 300, 3001), 1 + np.linspace(-1e-3, 1e-3, 501)])
    found = np.array([fast_log(v) for v in y])
    np.testing.assert_allclose(found, np.log(y), rtol=7e-16, atol=1e-300)
