"""SHEM: the objective of its samples, its limit for many samples, and planted groups."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import rand_score
from vhem_examples import noisy_copies, random_h3m, random_hmm

from vhem import H3M, SHEM


def three_groups(rng, copies=5):
    prototypes = [random_hmm(rng, 3, 1, 2, spread=4.0) for _ in range(3)]
    return noisy_copies(rng, prototypes, copies, noise=0.1)


@pytest.mark.parametrize("init", ["base", "kmeans"])
def test_three_groups_are_recovered_and_the_objective_never_falls(init):
    h3m, labels = three_groups(np.random.default_rng(0))
    shem = SHEM(3, n_samples=20 * len(h3m), init=init, n_init=5, random_state=0).fit(h3m)
    assert rand_score(shem.labels_, labels) == 1.0
    assert (np.diff(shem.history_) >= -1e-9 * np.abs(shem.history_[1:])).all()
    assert shem.lower_bound_ == shem.history_[-1] == shem.restart_objectives_.max()
    assert set(shem.timings_) == {"sampling", "em"}


def test_all_samples_of_an_hmm_share_one_assignment():
    h3m = random_h3m(np.random.default_rng(1), 6, 2, 1, 2, spread=0.5)
    shem = SHEM(2, n_samples=30, length=3, n_init=2, max_iter=4, random_state=1).fit(h3m)
    counts = np.rint(30 * h3m.weights)
    joint = np.log(shem.model_.weights) + counts[:, None] * shem.log_likelihoods_
    assert logsumexp(joint, axis=1).sum() == pytest.approx(shem.lower_bound_)
    expected = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(shem.responsibilities_, expected, atol=1e-12)


def test_many_samples_of_gaussians_approach_the_moments_of_the_mixture():
    rng = np.random.default_rng(2)
    h3m = random_h3m(rng, 3, 1, 1, 2)
    shem = SHEM(1, n_samples=40_000, length=1, n_init=1, random_state=0).fit(h3m)
    means, variances = h3m.means[:, 0, 0], h3m.covars[:, 0, 0]
    mean = h3m.weights @ means
    total = h3m.weights @ (variances + (means - mean) ** 2)
    error = np.sqrt(total / 40_000)
    assert (np.abs(shem.model_.means[0, 0, 0] - mean) < 5 * error).all()
    np.testing.assert_allclose(shem.model_.covars[0, 0, 0], total, rtol=0.05)


def test_a_base_hmm_of_weight_zero_has_no_samples_and_the_prior_assignment():
    h3m, _ = three_groups(np.random.default_rng(3), copies=2)
    weights = np.append(np.full(6, 1 / 6), 0.0)
    more = H3M.from_hmms([*h3m, random_hmm(np.random.default_rng(9), 3, 1, 2)], weights)
    one = SHEM(3, 60, n_init=2, random_state=0).fit(h3m)
    two = SHEM(3, 60, n_init=2, random_state=0).fit(more)
    np.testing.assert_allclose(two.responsibilities_[6], two.model_.weights)
    assert np.isnan(two.log_likelihoods_[6]).all()
    assert np.isfinite(two.log_likelihoods_[:6]).all()
    np.testing.assert_array_equal(one.model_.means, two.model_.means)


def test_a_given_start_and_another_size_of_the_reduced_hmms():
    h3m, labels = three_groups(np.random.default_rng(5))
    start = H3M.from_hmms([h3m[i] for i in (0, 5, 10)])
    shem = SHEM(3, 300, init=start, random_state=0).fit(h3m)
    assert rand_score(shem.labels_, labels) == 1.0
    assert len(shem.restart_objectives_) == 1
    small = SHEM(3, 300, n_states=2, n_mix=1, init="kmeans", n_init=1, random_state=0).fit(h3m)
    assert small.model_.n_states == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 4}, "n_components is 4, but base has only 3"),
        ({"n_samples": 1}, r"n_samples is 1: base\[0\] of weight 0.333 gets no sample"),
        ({"n_states": 5}, 'n_states is 5, but init="base" starts from HMMs with 2'),
    ],
)
def test_parameters_out_of_range_are_named(parameters, message):
    rng = np.random.default_rng(0)
    base = [random_hmm(rng, 2, 1, 2) for _ in range(3)]
    with pytest.raises(ValueError, match=message):
        SHEM(**{"n_components": 2, "n_samples": 30, "n_init": 1, **parameters}).fit(base)
