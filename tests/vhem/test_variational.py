"""VHEM: the authors' numbers, enumeration, a second implementation, and the mathematics.

The letters in the section titles are those of the list of golden tests in ``docs/vhem.md``.
"""

import numpy as np
import pytest
import vhem_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from vhem_examples import (
    golden_case,
    golden_h3m,
    left_right_hmm,
    noisy_copies,
    random_h3m,
    random_hmm,
    replaced,
)

from vhem import H3M, HMM, VHEM, expected_log_likelihood
from vhem import _variational as internal
from vhem._recursion import pair_bounds, pair_statistics

PARAMETERS = tuple(H3M.__dataclass_fields__)
CASES = (
    "vhem01_tiny_tau1",
    "vhem02_small",
    "vhem03_weights_M2",
    "vhem04_Sb_ne_Sr",
    "vhem06_leftright",
    "vhem08_toolbox_defaults",
)


def assert_same_model(found, expected, rtol=1e-9, atol=0.0):
    for name in PARAMETERS:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=rtol, atol=atol, err_msg=name
        )


def run(base, init, N, tau, steps, **settings):
    """VHEM from a given model, ``steps`` M-steps."""
    return VHEM(
        len(init), init.n_states, init.n_mix, virtual_samples=N, virtual_length=tau, init=init,
        tol=None, max_iter=steps, **settings,
    ).fit(base)  # fmt: skip


def bounds_and_statistics(base, reduced, tau):
    """L_GMM (Kb,Kr,Sb,Sr) and nu1, nu, xi (Kb,Kr,...) of the library, pair by pair."""
    centre = internal.mean_of_means(base)
    theta = internal.natural_parameters_of(reduced, centre)
    chunks = internal.lay_out(base, centre, reduced.covariance_type == "full", len(theta))
    rows = []
    for chunk in chunks:
        bounds, _ = internal.gmm_bounds(chunk, reduced, theta)
        for i in range(chunk.weights.size):
            for j in range(len(reduced)):
                start = np.zeros_like(reduced.startprob)
                transitions = np.zeros_like(reduced.transmat)
                occupancy = np.zeros_like(bounds)
                pair_statistics(
                    tau, np.array([i]), np.array([j]), bounds, chunk.startprob, chunk.transmat,
                    reduced.startprob, reduced.transmat, np.ones(1), occupancy, start, transitions,
                )  # fmt: skip
                rows.append((bounds[j, :, :, i].T, start[j], occupancy[j, :, :, i], transitions[j]))
    return tuple(
        np.array(column).reshape(len(base), len(reduced), *column[0].shape)
        for column in zip(*rows, strict=True)
    )


# --- the authors' toolbox -----------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 25])
def test_equals_the_authors_toolbox(name, steps):
    case = golden_case(name)
    base, init = golden_h3m(case, "base"), golden_h3m(case, "init")
    N, tau, reg_covar = float(case["N"]), int(case["tau"]), float(case["reg_cov"])
    vhem = run(base, init, N, tau, steps, reg_covar=reg_covar)
    np.testing.assert_allclose(vhem.history_, case["J"][: steps + 1], rtol=1e-9)
    np.testing.assert_allclose(vhem.log_likelihoods_, case[f"it{steps}_L_hmm"], rtol=1e-9)
    if steps:
        if tau == 1:
            # No transition was ever counted; the toolbox divides zero by zero, we keep ours.
            np.testing.assert_array_equal(vhem.model_.transmat, init.transmat)
            case[f"it{steps}_A"] = init.transmat
        assert_same_model(vhem.model_, golden_h3m(case, f"it{steps}"), atol=1e-300)
        before = run(base, init, N, tau, steps - 1, reg_covar=reg_covar)
        expected = case[f"it{steps}_z_used"]
        np.testing.assert_allclose(before.responsibilities_, expected, rtol=1e-9, atol=1e-300)
    if f"it{steps}_z" in case:
        expected = case[f"it{steps}_z"]
        np.testing.assert_allclose(vhem.responsibilities_, expected, rtol=1e-9, atol=1e-300)
        np.testing.assert_array_equal(vhem.labels_, expected.argmax(1))
    if f"it{steps}_nu1" in case:
        model = vhem.model_
        for key, found in zip(
            ("L_gmm", "nu1", "nu", "xi"), bounds_and_statistics(base, model, tau), strict=True
        ):
            expected = case[f"it{steps}_{key}"]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13, err_msg=key)


def test_equals_the_rotated_toolbox_case():
    """Full covariances: a diagonal case seen in rotated coordinates."""
    case = golden_case("vhem11_full_rotated")
    base, init = golden_h3m(case, "base"), golden_h3m(case, "init")
    N, tau, Q = float(case["N"]), int(case["tau"]), case["Q"]
    start = run(base, init, N, tau, 0)
    np.testing.assert_allclose(start.lower_bound_, case["J0"], rtol=1e-9)
    np.testing.assert_allclose(start.log_likelihoods_, case["it0_L_hmm"], rtol=1e-9)
    np.testing.assert_allclose(start.responsibilities_, case["it1_z_used"], rtol=1e-9, atol=1e-300)
    for key, found in zip(
        ("L_gmm", "nu1", "nu", "xi"), bounds_and_statistics(base, init, tau), strict=True
    ):
        np.testing.assert_allclose(found, case[f"it0_{key}"], rtol=1e-9, atol=1e-13, err_msg=key)
    after = run(base, init, N, tau, 1)
    for name, key in zip(PARAMETERS[:5], ("w", "pi", "A", "c", "mu"), strict=True):
        np.testing.assert_allclose(getattr(after.model_, name), case[f"it1_{key}"], rtol=1e-9)
    rotated = Q.T @ after.model_.covars @ Q
    diagonal = np.diagonal(rotated, axis1=-2, axis2=-1)
    np.testing.assert_allclose(diagonal, case["it1_diag_QtSigmaQ"], rtol=1e-9)


# --- A, B, C: enumeration, optimality, ordering -------------------------------------------------


TINY = [(1, 1, 1, 1, 1), (2, 2, 1, 1, 4), (2, 3, 2, 1, 3), (3, 2, 1, 2, 3), (4, 3, 1, 1, 2),
        (2, 4, 1, 1, 3), (3, 3, 2, 2, 1), (2, 2, 1, 3, 5)]  # fmt: skip


def tiny_pair(seed, Sb, Sr, Mb, Mr, full=False, zeros=False):
    rng = np.random.default_rng(seed)
    base = random_h3m(rng, 2, Sb, Mb, 2, full, spread=2.0)
    reduced = random_h3m(rng, 2, Sr, Mr, 2, full, spread=2.0)
    if zeros:
        base = H3M.from_hmms([left_right_hmm(rng, Sb, Mb, 2) for _ in range(2)])
        reduced = H3M.from_hmms([left_right_hmm(rng, Sr, Mr, 2) for _ in range(2)])
    return base, reduced


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("Sb", "Sr", "Mb", "Mr", "tau"), TINY)
def test_bound_and_statistics_by_enumeration(Sb, Sr, Mb, Mr, tau, zeros):
    base, reduced = tiny_pair(1, Sb, Sr, Mb, Mr, zeros=zeros)
    L_hmm = expected_log_likelihood(base, reduced, tau)
    L_gmm, *statistics = bounds_and_statistics(base, reduced, tau)
    expected_gmm = oracle.e_step(base, reduced, 1.0, tau).L_gmm
    np.testing.assert_allclose(L_gmm, expected_gmm, rtol=1e-12)
    for i in range(2):
        for j in range(2):
            chain = base.transmat[i], reduced.startprob[j], reduced.transmat[j]
            policy = oracle.optimal_policy(*chain, L_gmm[i, j], tau)
            value, *expected = oracle.policy_value(base.startprob[i], *chain, L_gmm[i, j], *policy)
            np.testing.assert_allclose(L_hmm[i, j], value, rtol=1e-12)
            for found, wanted in zip(statistics, expected, strict=True):
                np.testing.assert_allclose(found[i, j], wanted, atol=1e-12)


@pytest.mark.parametrize(("Sb", "Sr", "Mb", "Mr", "tau"), [(2, 3, 1, 1, 3), (3, 2, 1, 2, 4)])
def test_no_other_phi_gives_a_larger_bound(Sb, Sr, Mb, Mr, tau):
    base, reduced = tiny_pair(2, Sb, Sr, Mb, Mr)
    best = expected_log_likelihood(base, reduced, tau)[0, 0]
    L = bounds_and_statistics(base, reduced, tau)[0][0, 0]
    chain = base.transmat[0], reduced.startprob[0], reduced.transmat[0]
    first, policies = oracle.optimal_policy(*chain, L, tau)
    rng = np.random.default_rng(0)
    for step in (1e-3, 0.1, 1.0):
        for _ in range(10):

            def moved(p, step=step):
                return (1 - step) * p + step * rng.dirichlet(np.ones(p.shape[-1]), p.shape[:-1])

            other = oracle.policy_value(
                base.startprob[0], *chain, L, moved(first), [moved(p) for p in policies]
            )[0]
            assert other < best + 1e-12 * abs(best)


def test_no_other_eta_gives_a_larger_gmm_bound():
    """Equation 9: the value at eta is sum_l eta (log c / eta + E log N)."""
    base, reduced = tiny_pair(3, 2, 2, 3, 3)
    e = oracle.e_step(base, reduced, 1.0, 3)
    terms = oracle.expected_log_gaussians(base, reduced) + np.log(reduced.mixture_weights).ravel()
    terms = terms.reshape(e.eta.shape)

    def value(eta):
        inner = (eta * (terms - np.log(eta))).sum(-1)
        return np.einsum("ibm,ibmjr->ijbr", base.mixture_weights, inner)

    best = bounds_and_statistics(base, reduced, 3)[0]
    np.testing.assert_allclose(value(e.eta), best, rtol=1e-12)
    rng = np.random.default_rng(0)
    for step in (1e-3, 0.1, 1.0):
        other = (1 - step) * e.eta + step * rng.dirichlet(np.ones(3), e.eta.shape[:-1])
        assert (value(other) <= best + 1e-12 * np.abs(best)).all()


def test_objective_is_its_own_variational_value_and_no_other_z_is_better():
    """F: J = sum z (log w / z + N_i L) at the optimal z, Equation 10."""
    rng = np.random.default_rng(4)
    base, reduced = random_h3m(rng, 6, 2, 1, 2), random_h3m(rng, 3, 2, 1, 2)
    vhem = run(base, reduced, 3.0, 4, 0)

    def value(z):
        gain = np.log(reduced.weights) - np.log(z)
        return (z * (gain + 3.0 * base.weights[:, None] * vhem.log_likelihoods_)).sum()

    np.testing.assert_allclose(value(vhem.responsibilities_), vhem.lower_bound_, rtol=1e-12)
    for step in (1e-3, 0.1, 1.0):
        z = (1 - step) * vhem.responsibilities_ + step * rng.dirichlet(np.ones(3), 6)
        assert value(z) <= vhem.lower_bound_ + 1e-12 * abs(vhem.lower_bound_)


@pytest.mark.parametrize(("Sb", "Sr", "Mb", "Mr", "tau"), TINY)
def test_bound_is_below_the_free_bound_and_the_true_expectation(Sb, Sr, Mb, Mr, tau):
    base, reduced = tiny_pair(5, Sb, Sr, Mb, Mr)
    bound = expected_log_likelihood(base, reduced, tau)[0, 0]
    L = bounds_and_statistics(base, reduced, tau)[0][0, 0]
    chain = base.startprob[0], base.transmat[0], reduced.startprob[0], reduced.transmat[0]
    free = oracle.unrestricted_bound(*chain, L, tau)
    assert bound <= free + 1e-12 * abs(free)
    if tau == 1 or Sr == 1:
        np.testing.assert_allclose(bound, free, rtol=1e-12)
    y, _ = base[0].sample(4000, tau, random_state=0)
    scores = reduced[0].score_samples(y)
    assert free <= scores.mean() + 4 * scores.std() / np.sqrt(len(scores))


# --- D, E: special cases with known answers -----------------------------------------------------


def test_single_gaussian_gives_the_exact_expectation():
    rng = np.random.default_rng(6)
    base, reduced = random_h3m(rng, 1, 3, 2, 2, full=True), random_h3m(rng, 1, 1, 1, 2, full=True)
    tau = 6
    bound = expected_log_likelihood(base, reduced, tau)[0, 0]
    L = oracle.e_step(base, reduced, 1.0, tau).L_gmm[0, 0, :, 0]
    state, expected = base.startprob[0], 0.0
    for _ in range(tau):
        expected += state @ L
        state = state @ base.transmat[0]
    np.testing.assert_allclose(bound, expected, rtol=1e-12)
    scores = reduced[0].score_samples(base[0].sample(20_000, tau, random_state=0)[0])
    assert abs(scores.mean() - bound) < 4 * scores.std() / np.sqrt(len(scores))


def test_gmm_bound_is_exact_for_one_reduced_gaussian():
    rng = np.random.default_rng(7)
    base, reduced = random_h3m(rng, 1, 1, 3, 2), random_h3m(rng, 1, 1, 1, 2)
    bound = expected_log_likelihood(base, reduced, 1)[0, 0]
    scores = reduced[0].score_samples(base[0].sample(50_000, 1, random_state=1)[0])
    assert abs(scores.mean() - bound) < 4 * scores.std() / np.sqrt(len(scores))


@pytest.mark.parametrize("tau", [1, 2, 7, 60])
def test_single_states_multiply_by_the_length(tau):
    rng = np.random.default_rng(8)
    base, reduced = random_h3m(rng, 2, 1, 2, 3), random_h3m(rng, 2, 1, 3, 3)
    once = expected_log_likelihood(base, reduced, 1)
    np.testing.assert_allclose(expected_log_likelihood(base, reduced, tau), tau * once, rtol=1e-12)


def test_single_gaussians_are_the_mixture_hierarchies_of_vasconcelos_and_lippman():
    """S = M = 1: their closed forms with N tau for N."""
    rng = np.random.default_rng(9)
    d, N, tau = 2, 4.0, 5
    base, init = random_h3m(rng, 12, 1, 1, d, spread=2.0), random_h3m(rng, 3, 1, 1, d, spread=2.0)
    m_p, v_p = base.means[:, 0, 0], base.covars[:, 0, 0]
    m_q, v_q = init.means[:, 0, 0], init.covars[:, 0, 0]
    log_normal = -0.5 * (np.log(2 * np.pi * v_q) + (m_p[:, None] - m_q) ** 2 / v_q).sum(-1)
    log_normal -= 0.5 * (v_p[:, None] / v_q).sum(-1)
    z = init.weights * np.exp(N * tau * base.weights[:, None] * log_normal)
    z /= z.sum(1, keepdims=True)
    share = z * base.weights[:, None]
    share /= share.sum(0)
    means = share.T @ m_p
    covars = np.einsum("ij,ijd->jd", share, v_p[:, None] + (m_p[:, None] - means) ** 2)
    vhem = run(base, init, N, tau, 1)
    np.testing.assert_allclose(run(base, init, N, tau, 0).responsibilities_, z, rtol=1e-10)
    np.testing.assert_allclose(vhem.model_.weights, z.mean(0), rtol=1e-10)
    np.testing.assert_allclose(vhem.model_.means[:, 0, 0], means, rtol=1e-10)
    np.testing.assert_allclose(vhem.model_.covars[:, 0, 0], covars, rtol=1e-10)


def test_one_cluster_has_all_assignments():
    rng = np.random.default_rng(10)
    base, init = random_h3m(rng, 5, 2, 1, 2), random_h3m(rng, 1, 3, 1, 2)
    vhem = run(base, init, 7.0, 4, 3)
    np.testing.assert_array_equal(vhem.responsibilities_, 1.0)
    expected = 7.0 * base.weights @ vhem.log_likelihoods_[:, 0]
    np.testing.assert_allclose(vhem.lower_bound_, expected, rtol=1e-12)


# --- a second implementation, F: monotone -------------------------------------------------------


SHAPES = [
    # Kb, Kr, Sb, Sr, Mb, Mr, d, tau, full
    (7, 3, 2, 3, 2, 1, 2, 5, False),
    (40, 4, 3, 2, 1, 2, 3, 10, False),
    (9, 2, 4, 4, 2, 2, 1, 1, False),
    (6, 6, 2, 2, 1, 1, 2, 3, True),
    (35, 3, 3, 2, 2, 3, 3, 40, True),
    (5, 2, 1, 3, 3, 1, 2, 8, True),
]


@pytest.mark.parametrize("N", [0.5, 30.0, 1e5])
@pytest.mark.parametrize(("Kb", "Kr", "Sb", "Sr", "Mb", "Mr", "d", "tau", "full"), SHAPES)
def test_equals_the_second_implementation(Kb, Kr, Sb, Sr, Mb, Mr, d, tau, full, N):
    rng = np.random.default_rng(Kb)
    base = random_h3m(rng, Kb, Sb, Mb, d, full, spread=2.0)
    model = random_h3m(rng, Kr, Sr, Mr, d, full, spread=2.0)
    for steps in range(3):
        e = oracle.e_step(base, model, N, tau)
        vhem = run(base, model, N, tau, 0)
        np.testing.assert_allclose(vhem.lower_bound_, e.objective, rtol=1e-11)
        np.testing.assert_allclose(vhem.log_likelihoods_, e.L_hmm, rtol=1e-11)
        np.testing.assert_allclose(vhem.responsibilities_, e.z, rtol=1e-6, atol=1e-12)
        if (e.z.mean(0) < 0.5 / Kb).any():
            return
        step = run(base, model, N, tau, 1).model_
        model = oracle.m_step(base, model, e)
        assert_same_model(step, model, rtol=1e-6, atol=1e-12)
        assert steps < 3


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000), Kb=st.integers(2, 20), Kr=st.integers(1, 3), Sb=st.integers(1, 3),
    Sr=st.integers(1, 3), Mb=st.integers(1, 2), Mr=st.integers(1, 2), d=st.integers(1, 3),
    tau=st.integers(1, 12), full=st.booleans(), log_N=st.floats(-2, 6),
)  # fmt: skip
def test_objective_never_falls(seed, Kb, Kr, Sb, Sr, Mb, Mr, d, tau, full, log_N):
    rng = np.random.default_rng(seed)
    base = random_h3m(rng, Kb, Sb, Mb, d, full, spread=2.0)
    init = random_h3m(rng, min(Kb, Kr), Sr, Mr, d, full, spread=2.0)
    vhem = run(base, init, 10.0**log_N, tau, 12)
    assert np.diff(vhem.history_).min() >= -1e-10 * np.abs(vhem.history_).max()


def test_additive_term_may_let_the_objective_fall():
    """The compatibility option is no ascent: at the maximum the first step loses."""
    rng = np.random.default_rng(11)
    base = random_h3m(rng, 8, 2, 1, 2)
    best = run(base, base_subset(base, [0, 1]), 10.0, 5, 300).model_
    start = replaced(best, covars=best.covars - 0.05)
    vhem = run(base, start, 10.0, 5, 60, reg_covar=0.05)
    assert np.diff(vhem.history_).min() < 0


def base_subset(base, indices):
    return H3M.from_hmms([base[i] for i in indices])


# --- G, H: hard and soft assignments ------------------------------------------------------------


def test_as_many_clusters_as_models():
    rng = np.random.default_rng(12)
    base = random_h3m(rng, 5, 2, 1, 2, spread=15.0, weights=np.full(5, 0.2))
    N = 1e6
    L = expected_log_likelihood(base, base, 10)
    assert (L.argmax(1) == np.arange(5)).all()
    vhem = run(base, base, N, 10, 1)
    np.testing.assert_array_equal(vhem.responsibilities_, np.eye(5))
    np.testing.assert_allclose(vhem.model_.weights, 0.2, rtol=1e-15)
    expected = (np.log(0.2) + N * 0.2 * np.diag(L)).sum()
    np.testing.assert_allclose(vhem.history_[0], expected, rtol=1e-14)
    # Far apart the models hardly move; they are no fixed point in general.
    np.testing.assert_allclose(vhem.model_.means, base.means, atol=0.05)


def test_virtual_samples_only_set_how_hard_assignments_are():
    rng = np.random.default_rng(13)
    base, init = random_h3m(rng, 8, 2, 1, 2, spread=2.0), random_h3m(rng, 3, 2, 1, 2, spread=2.0)
    soft = run(base, init, 1e-12, 6, 0)
    expected = np.broadcast_to(init.weights, (8, 3))
    np.testing.assert_allclose(soft.responsibilities_, expected, rtol=1e-9)
    hard = run(base, init, 1e9, 6, 0)
    assert set(np.unique(hard.responsibilities_)) == {0.0, 1.0}
    np.testing.assert_array_equal(soft.log_likelihoods_, hard.log_likelihoods_)
    # With one cluster z = 1 whatever N: all M-steps agree.
    single = base_subset(init, [0])
    assert_same_model(run(base, single, 1e-3, 6, 4).model_, run(base, single, 1e7, 6, 4).model_)


def test_duplicated_base_with_doubled_samples_gives_the_same_model():
    rng = np.random.default_rng(14)
    base, init = random_h3m(rng, 6, 2, 2, 2, spread=2.0), random_h3m(rng, 2, 2, 2, 2, spread=2.0)
    double = H3M.from_hmms([*base, *base], np.r_[base.weights, base.weights] / 2)
    first, second = run(base, init, 20.0, 5, 6), run(double, init, 40.0, 5, 6)
    assert_same_model(second.model_, first.model_, rtol=1e-9)
    np.testing.assert_allclose(second.history_, 2 * first.history_, rtol=1e-11)


# --- I, J: invariances --------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
def test_orders_do_not_matter(full):
    rng = np.random.default_rng(15)
    base = random_h3m(rng, 25, 3, 2, 2, full, spread=2.0)
    init = random_h3m(rng, 3, 2, 2, 2, full, spread=2.0)
    plain = run(base, init, 50.0, 5, 5)
    models, states = rng.permutation(25), rng.permutation(3)
    mixed = H3M.from_hmms(
        [
            HMM(
                base.startprob[i, states],
                base.transmat[i][np.ix_(states, states)],
                base.mixture_weights[i, states][:, ::-1],
                base.means[i, states][:, ::-1],
                base.covars[i, states][:, ::-1],
            )
            for i in models
        ],
        base.weights[models],
    )
    clusters = np.array([2, 0, 1])
    order = H3M(*(getattr(init, name)[clusters] for name in PARAMETERS))
    other = run(mixed, order, 50.0, 5, 5)
    np.testing.assert_allclose(other.history_, plain.history_, rtol=1e-10)
    expected = plain.responsibilities_[models][:, clusters]
    np.testing.assert_allclose(other.responsibilities_, expected, rtol=1e-7, atol=1e-10)
    expected_model = H3M(*(getattr(plain.model_, name)[clusters] for name in PARAMETERS))
    assert_same_model(other.model_, expected_model, rtol=1e-7, atol=1e-10)


def test_affine_map_of_the_data_space():
    rng = np.random.default_rng(16)
    base = random_h3m(rng, 8, 2, 2, 2, full=True)
    init = random_h3m(rng, 2, 2, 2, 2, full=True)
    T, shift = np.array([[2.0, 1.0], [-0.5, 1.5]]), np.array([30.0, -7.0])

    def mapped(h3m):
        return replaced(h3m, means=h3m.means @ T.T + shift, covars=T @ h3m.covars @ T.T)

    N, tau = 12.0, 6
    plain, other = run(base, init, N, tau, 5), run(mapped(base), mapped(init), N, tau, 5)
    expected = plain.history_ - N * tau * np.log(np.linalg.det(T))
    np.testing.assert_allclose(other.history_, expected, rtol=1e-9)
    np.testing.assert_allclose(
        other.responsibilities_, plain.responsibilities_, rtol=1e-7, atol=1e-12
    )
    assert_same_model(other.model_, mapped(plain.model_), rtol=1e-7, atol=1e-9)


def test_weightless_models_and_padding_change_nothing():
    rng = np.random.default_rng(17)
    hmms = [random_hmm(rng, 2, 1, 2, spread=2.0) for _ in range(6)]
    init = random_h3m(rng, 2, 2, 2, 2, spread=2.0)
    weights = rng.dirichlet(np.ones(6))
    plain = run(H3M.from_hmms(hmms, weights), init, 40.0, 6, 6)
    # A richer model of weight zero also pads the states and Gaussians of all others.
    stranger = random_hmm(rng, 4, 3, 2, spread=50.0)
    more = run(H3M.from_hmms([stranger, *hmms], np.r_[0, weights]), init, 40.0, 6, 6)
    np.testing.assert_allclose(more.history_, plain.history_, rtol=1e-12)
    np.testing.assert_allclose(more.log_likelihoods_[1:], plain.log_likelihoods_, rtol=1e-10)
    assert_same_model(more.model_, plain.model_, rtol=1e-9)
    np.testing.assert_allclose(more.responsibilities_[0], more.model_.weights, rtol=1e-12)


def test_padded_reduced_states_stay_unreachable():
    rng = np.random.default_rng(18)
    base = random_h3m(rng, 6, 2, 1, 2, spread=2.0)
    small, large = random_hmm(rng, 2, 1, 2, spread=2.0), random_hmm(rng, 3, 2, 2, spread=2.0)
    init = H3M.from_hmms([small, large])
    vhem = run(base, init, 30.0, 5, 5)
    trimmed = vhem.model_[0].trim()
    assert (trimmed.n_states, trimmed.n_mix) == (2, 1)
    assert np.diff(vhem.history_).min() > -1e-10 * abs(vhem.lower_bound_)


# --- K: the M-step is a maximum, Equation 18 ----------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
def test_m_step_is_a_stationary_point(full):
    """No direction of softmax(pi, A, c, omega), mu, Sigma improves the objective at fixed z, phi,
    eta; the old mean inside the covariance would fail here."""
    rng = np.random.default_rng(19)
    base = random_h3m(rng, 5, 3, 2, 2, full, spread=2.0)
    init = random_h3m(rng, 2, 2, 2, 2, full, spread=2.0)
    N, tau, eps = 20.0, 5, 1e-4
    e = oracle.e_step(base, init, N, tau)
    best = run(base, init, N, tau, 1).model_

    def moved(name, step):
        value = getattr(best, name)
        if name == "means":
            return replaced(best, means=value + step)
        if name == "covars" and full:
            root = np.linalg.cholesky(value) + np.tril(step)
            return replaced(best, covars=root @ np.swapaxes(root, -1, -2))
        value = value * np.exp(step)
        if name != "covars":
            value /= value.sum(-1, keepdims=True)
        return replaced(best, **{name: value})

    top = oracle.fixed_objective(base, best, N, e, tau)
    for name in PARAMETERS:
        for _ in range(6):
            direction = rng.normal(size=getattr(best, name).shape)
            plus, minus = (
                oracle.fixed_objective(base, moved(name, sign * eps * direction), N, e, tau)
                for sign in (1, -1)
            )
            curvature = 2 * top - plus - minus
            assert curvature > 0, name
            # The slope is zero to the third order of the step.
            assert abs(plus - minus) < 1e-2 * curvature, name


@pytest.mark.parametrize("full", [False, True])
def test_reduced_covariances_are_never_smaller_than_the_average_of_the_base(full):
    """Equation 18: Sigma_r - weighted mean of Sigma_b is positive semi-definite."""
    rng = np.random.default_rng(20)
    base = random_h3m(rng, 12, 2, 2, 3, full, spread=1e3)
    init = random_h3m(rng, 3, 2, 2, 3, full, spread=1e3)
    e = oracle.e_step(base, init, 10.0, 4)
    g = (e.z * base.weights[:, None])[:, :, None, None] * e.nu
    R = np.einsum("ijrb,ibm->ibmjr", g, base.mixture_weights)[..., None] * e.eta
    total = R.sum((0, 1, 2))
    used = total > 1e-12
    found = run(base, init, 10.0, 4, 1).model_.covars
    if full:
        average = (
            np.einsum("ibmjrl,ibmde->jrlde", R, base.covars)[used] / total[used][:, None, None]
        )
        smallest = np.linalg.eigvalsh(found[used] - average).min()
    else:
        average = np.einsum("ibmjrl,ibmd->jrld", R, base.covars)[used] / total[used][:, None]
        smallest = (found[used] - average).min()
    # The spread of the means is a million times the variances: six digits remain.
    assert smallest > -1e-6


# --- L, M: conservation and edges ---------------------------------------------------------------


@pytest.mark.parametrize("tau", [1, 2, 9, 200])
def test_counts_are_conserved(tau):
    rng = np.random.default_rng(21)
    base, reduced = random_h3m(rng, 3, 3, 1, 2, spread=2.0), random_h3m(rng, 2, 2, 1, 2)
    _, nu1, nu, xi = bounds_and_statistics(base, reduced, tau)
    np.testing.assert_allclose(nu1.sum(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(nu.sum((-1, -2)), tau, rtol=1e-12)
    np.testing.assert_allclose(xi.sum((-1, -2)), tau - 1, rtol=1e-12)
    marginal, state = 0.0, base.startprob
    for _ in range(tau):
        marginal = marginal + state
        state = np.einsum("ib,ibc->ic", state, base.transmat)
    expected = np.broadcast_to(marginal[:, None], (3, 2, 3))
    np.testing.assert_allclose(nu.sum(2), expected, rtol=1e-10)
    # Every visit but the first is entered by a transition.
    np.testing.assert_allclose(xi.sum(2), nu.sum(3) - nu1, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["mixing", "slow", "periodic", "left-right", "reducible"])
@pytest.mark.parametrize("side", ["base", "reduced"])
def test_long_sequences_settle_to_the_same_numbers(kind, side):
    """tau = 300 against the loop that computes every step, whether anything settles or not."""
    rng = np.random.default_rng(22)
    transmat = {
        "mixing": rng.dirichlet(np.ones(4), 4),
        "slow": 0.999 * np.eye(4) + 0.001 * rng.dirichlet(np.ones(4), 4),
        "periodic": np.roll(np.eye(4), 1, axis=1),
        "left-right": left_right_hmm(rng, 4, 1, 2).transmat,
        "reducible": np.kron(np.eye(2), rng.dirichlet(np.ones(2), 2)),
    }[kind]
    base, reduced = random_h3m(rng, 20, 4, 1, 2), random_h3m(rng, 2, 4, 1, 2)
    if side == "base":
        base = replaced(base, transmat=np.broadcast_to(transmat, (20, 4, 4)))
    else:
        reduced = replaced(reduced, transmat=np.broadcast_to(transmat, (2, 4, 4)))
    tau = 300
    e = oracle.e_step(base, reduced, 1.0, tau)
    np.testing.assert_allclose(expected_log_likelihood(base, reduced, tau), e.L_hmm, rtol=1e-12)
    _, nu1, nu, xi = bounds_and_statistics(base, reduced, tau)
    np.testing.assert_allclose(nu1, e.nu1, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(nu, e.nu, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(xi, e.xi, rtol=1e-9, atol=1e-9)


def test_forbidden_transitions_into_the_only_good_states():
    """Bounds of states differ by thousands of nats and the chain forbids the good ones: the fast
    sums underflow and the log domain takes over."""
    rng = np.random.default_rng(23)
    base = H3M.from_hmms([left_right_hmm(rng, 4, 1, 2, spread=200.0) for _ in range(20)])
    backwards = [
        HMM(np.eye(4)[3], hmm.transmat[::-1, ::-1], hmm.weights, hmm.means, hmm.covars)
        for hmm in (base[0], base[7])
    ]
    reduced = H3M.from_hmms([*backwards, base[3]])
    e = oracle.e_step(base, reduced, 1.0, 12)
    # Sums of terms of a million nats: the last digits are theirs.
    found = expected_log_likelihood(base, reduced, 12)
    np.testing.assert_allclose(found, e.L_hmm, rtol=1e-12, atol=1e-8)
    _, nu1, nu, xi = bounds_and_statistics(base, reduced, 12)
    np.testing.assert_allclose(nu1, e.nu1, atol=1e-9)
    np.testing.assert_allclose(nu, e.nu, atol=1e-9)
    np.testing.assert_allclose(xi, e.xi, atol=1e-9)


def test_left_right_stays_left_right():
    rng = np.random.default_rng(24)
    base = H3M.from_hmms([left_right_hmm(rng, 4, 1, 2) for _ in range(8)])
    vhem = VHEM(2, virtual_samples=100.0, n_init=2, tol=None, max_iter=10, random_state=0).fit(base)
    forbidden = base.transmat[0] == 0
    assert (vhem.model_.transmat[:, forbidden] == 0).all()
    assert (vhem.model_.startprob[:, 1:] == 0).all()


def test_identical_models_share_assignments():
    rng = np.random.default_rng(26)
    hmm = random_hmm(rng, 2, 1, 2)
    base = H3M.from_hmms([hmm] * 6)
    with pytest.warns(UserWarning, match="only 1 base models are distinct"):
        vhem = VHEM(3, n_init=1, random_state=0, tol=None, max_iter=5).fit(base)
    np.testing.assert_allclose(vhem.responsibilities_, 1 / 3, rtol=1e-9)
    assert np.isfinite(vhem.lower_bound_)


def test_mixed_kinds_of_covariance():
    """A diagonal model of full base covariances uses their diagonals; both are exact M-steps."""
    rng = np.random.default_rng(27)
    base = random_h3m(rng, 8, 2, 1, 3, full=True)
    init = random_h3m(rng, 2, 2, 1, 3)
    diagonal = replaced(base, covars=np.diagonal(base.covars, axis1=-2, axis2=-1))
    first, second = run(base, init, 10.0, 5, 5), run(diagonal, init, 10.0, 5, 5)
    assert_same_model(first.model_, second.model_, rtol=1e-10)
    assert np.diff(first.history_).min() > -1e-10 * abs(first.lower_bound_)
    wide = replaced(init, covars=init.covars[..., None] * np.eye(3))
    third = run(diagonal, wide, 10.0, 5, 1)
    fourth = oracle.m_step(diagonal, wide, oracle.e_step(diagonal, wide, 10.0, 5))
    assert_same_model(third.model_, fourth, rtol=1e-9, atol=1e-13)


def test_floor_is_kept_and_costs_no_monotony():
    rng = np.random.default_rng(28)
    base = random_h3m(rng, 8, 2, 1, 3)
    for full in (False, True):
        init = random_h3m(rng, 2, 2, 1, 3, full)
        vhem = run(base, init, 10.0, 5, 10, covariance_floor=2.0)
        covars = vhem.model_.covars
        smallest = np.linalg.eigvalsh(covars).min() if full else covars.min()
        np.testing.assert_allclose(smallest, 2.0, rtol=1e-9)
        assert np.diff(vhem.history_).min() > -1e-10 * abs(vhem.lower_bound_)


def test_chunks_do_not_show(monkeypatch):
    rng = np.random.default_rng(29)
    base, init = random_h3m(rng, 100, 2, 2, 3), random_h3m(rng, 3, 2, 2, 3)
    whole = run(base, init, 200.0, 6, 4)
    monkeypatch.setattr(internal, "_CHUNK_TERMS", 1)
    cut = run(base, init, 200.0, 6, 4)
    np.testing.assert_allclose(cut.history_, whole.history_, rtol=1e-12)
    assert_same_model(cut.model_, whole.model_, rtol=1e-9)


@pytest.mark.parametrize("n_init", [1, 3])
def test_threads_change_no_byte(n_init):
    rng = np.random.default_rng(30)
    base = random_h3m(rng, 200, 2, 2, 3, spread=2.0)
    fits = [
        VHEM(4, n_init=n_init, tol=None, max_iter=4, n_jobs=n, random_state=3).fit(base)
        for n in (None, 2, 3)
    ]
    for fit in fits[1:]:
        assert_same_model(fit.model_, fits[0].model_, rtol=0)
        for name in ("history_", "responsibilities_", "log_likelihoods_"):
            np.testing.assert_array_equal(getattr(fit, name), getattr(fits[0], name))


def test_kernels_are_compiled_once():
    """Shapes with axes of length one must not make new array types."""
    rng = np.random.default_rng(43)
    for K, S, M in ((1, 1, 1), (3, 2, 1), (1, 3, 2), (4, 1, 2)):
        base = random_h3m(rng, K, S, M, 2)
        run(base, base, 10.0, 3, 1)
        expected_log_likelihood(base, base, 2)
    for kernel in (pair_bounds, pair_statistics, internal.weigh):
        assert len(kernel.signatures) == 1


# --- N, P: recovery, and the paper's sizes ------------------------------------------------------


@pytest.mark.parametrize("init", ["base", "split"])
def test_recovers_separated_groups(init):
    rng = np.random.default_rng(31)
    prototypes = [random_hmm(rng, 3, 2, 2, spread=4.0) for _ in range(3)]
    base, labels = noisy_copies(rng, prototypes, 8, noise=0.2)
    vhem = VHEM(3, init=init, random_state=0).fit(base)
    np.testing.assert_array_equal(vhem.labels_[:, None] == vhem.labels_, labels[:, None] == labels)
    np.testing.assert_allclose(vhem.model_.weights, 1 / 3, rtol=1e-6)
    assert vhem.converged_


def test_groups_that_differ_in_dynamics_only():
    """Same emissions, same stationary law: only the transitions tell them apart."""
    rng = np.random.default_rng(32)
    means, covars = np.array([[[0.0]], [[6.0]]]), np.ones((2, 1, 1))
    hmms, labels = [], []
    for label, stay in enumerate((0.9, 0.1)):
        for _ in range(6):
            p = np.clip(stay + 0.03 * rng.normal(), 0.02, 0.98)
            transmat = [[p, 1 - p], [1 - p, p]]
            hmms.append(HMM([0.5, 0.5], transmat, np.ones((2, 1)), means, covars))
            labels.append(label)
    vhem = VHEM(2, random_state=0).fit(hmms)
    labels = np.array(labels)
    np.testing.assert_array_equal(vhem.labels_[:, None] == vhem.labels_, labels[:, None] == labels)


def test_motion_sized_problem_has_no_overflow():
    """P: N = 56e4, d = 123, hard assignments."""
    rng = np.random.default_rng(33)
    base, _ = noisy_copies(rng, [random_hmm(rng, 4, 2, 123) for _ in range(8)], 7, noise=0.3)
    vhem = VHEM(8, virtual_samples=56e4, n_init=2, max_iter=10, random_state=0).fit(base)
    assert np.isfinite(vhem.history_).all()
    np.testing.assert_allclose(vhem.responsibilities_.sum(1), 1, rtol=1e-12)
    assert np.diff(vhem.history_).min() > -1e-10 * abs(vhem.lower_bound_)


# --- starts, restarts, empty components ---------------------------------------------------------


def test_start_is_a_subset_of_the_base():
    rng = np.random.default_rng(34)
    base = random_h3m(rng, 9, 2, 2, 2, weights=np.r_[0.0, np.full(8, 1 / 8)])
    for seed in range(5):
        model = VHEM(4, n_init=1, max_iter=0, random_state=seed).fit(base).model_
        rows = [np.flatnonzero((base.means == mean).all((1, 2, 3))) for mean in model.means]
        chosen = np.concatenate(rows)
        assert len(set(chosen)) == 4
        assert 0 not in chosen  # it has no weight
        np.testing.assert_array_equal(model.transmat, base.transmat[chosen])
        np.testing.assert_array_equal(model.weights, 0.25)


@pytest.mark.parametrize("init", ["base", "split"])
@pytest.mark.parametrize(("n_states", "n_mix"), [(1, 1), (2, 5), (5, 2), (4, 1)])
@pytest.mark.parametrize("full", [False, True])
def test_other_sizes_than_the_base(n_states, n_mix, init, full):
    rng = np.random.default_rng(35)
    base = random_h3m(rng, 10, 3, 2, 2, full, spread=2.0)
    vhem = VHEM(3, n_states, n_mix, init=init, n_init=1, tol=None, max_iter=15, random_state=0).fit(
        base
    )
    model = vhem.model_
    assert (len(model), model.n_states, model.n_mix) == (3, n_states, n_mix)
    assert np.diff(vhem.history_).min() > -1e-10 * abs(vhem.lower_bound_)
    # Copies were moved apart: no two Gaussians of a component start equal.
    start = VHEM(3, n_states, n_mix, n_init=1, max_iter=0, random_state=0).fit(base).model_
    for means in start.means.reshape(3, -1, 2):
        assert len(np.unique(means, axis=0)) == n_states * n_mix


def test_empty_component_is_put_to_use():
    """Two starts on the same spot and two groups elsewhere: without repair one stays empty."""
    rng = np.random.default_rng(37)
    prototypes = [random_hmm(rng, 2, 1, 2) for _ in range(3)]
    shifted = [
        HMM(h.startprob, h.transmat, h.weights, h.means + shift, h.covars)
        for h, shift in zip(prototypes, (0.0, 30.0, 60.0), strict=True)
    ]
    base, labels = noisy_copies(rng, shifted, 5, noise=0.1)
    far = HMM(*(getattr(shifted[0], n) for n in ("startprob", "transmat", "weights")),
              shifted[0].means - 500.0, shifted[0].covars)  # fmt: skip
    init = H3M.from_hmms([shifted[0], shifted[1], far])
    vhem = run(base, init, 1e5, 10, 15)
    assert np.diff(vhem.history_).min() > -1e-10 * abs(vhem.lower_bound_)
    np.testing.assert_array_equal(vhem.labels_[:, None] == vhem.labels_, labels[:, None] == labels)


@pytest.mark.filterwarnings("ignore:n_components is 3, but only 1 base models")
def test_component_of_weight_zero_stays_finite():
    rng = np.random.default_rng(38)
    base = H3M.from_hmms([random_hmm(rng, 2, 1, 2)] * 4)
    init = random_h3m(rng, 3, 2, 1, 2, weights=[0.5, 0.5, 0.0])
    vhem = run(base, init, 1e4, 5, 6)
    assert np.isfinite(vhem.history_).all()
    np.testing.assert_allclose(vhem.model_.weights.sum(), 1)


def test_bound_prefers_merged_states():
    """Documented behaviour: from its own base model one cluster raises the bound and loses true
    likelihood by merging overlapping states, so L_ii - L_ij can be negative."""
    rng = np.random.default_rng(1)
    base = random_h3m(rng, 1, 3, 2, 2, spread=0.7)
    vhem = run(base, base, 1.0, 10, 60)
    self_bound = expected_log_likelihood(base, base, 10)[0, 0]
    assert vhem.log_likelihoods_[0, 0] > self_bound + 0.5
    y, _ = base[0].sample(4000, 10, random_state=0)
    loss = base[0].score_samples(y) - vhem.model_[0].score_samples(y)
    assert loss.mean() > 3 * loss.std() / np.sqrt(len(loss))


# --- the objective means what it says -----------------------------------------------------------


def test_outputs_belong_to_the_final_model():
    rng = np.random.default_rng(40)
    base = random_h3m(rng, 12, 2, 1, 2, spread=2.0)
    vhem = VHEM(3, virtual_samples=50.0, n_init=2, max_iter=4, random_state=0).fit(base)
    L = expected_log_likelihood(base, vhem.model_, 10)
    np.testing.assert_allclose(vhem.log_likelihoods_, L, rtol=1e-12)
    joint = np.log(vhem.model_.weights) + 50.0 * base.weights[:, None] * L
    np.testing.assert_allclose(vhem.lower_bound_, logsumexp(joint, axis=1).sum(), rtol=1e-12)
    assert vhem.history_[-1] == vhem.lower_bound_
    np.testing.assert_allclose(
        vhem.responsibilities_, np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), rtol=1e-8
    )


def test_weightless_models_do_not_raise_the_default_of_virtual_samples():
    rng = np.random.default_rng(44)
    base = random_h3m(rng, 5, 2, 1, 2)
    idle = H3M.from_hmms([*base, *random_h3m(rng, 3, 2, 1, 2)], [*base.weights, 0, 0, 0])
    start = base_subset(base, [0, 3])
    few, many = (VHEM(2, init=start, max_iter=2).fit(each) for each in (base, idle))
    np.testing.assert_allclose(many.history_, few.history_, rtol=1e-12)


# --- bad arguments ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_components": 5}, ValueError, "n_components is 5, but base has only 3 components"),
        ({"init": "kmeans"}, ValueError, "init is 'kmeans', expected 'base', 'split' or an H3M"),
    ],
)
def test_bad_parameter_is_named(settings, error, message):
    weights = np.array([0.5, 0.25, 0.25, 0.0])
    base = random_h3m(np.random.default_rng(0), 4, 2, 1, 2, weights=weights)
    with pytest.raises(error, match=message):
        VHEM(**settings).fit(base)


def test_bad_models_are_named():
    rng = np.random.default_rng(42)
    base = random_h3m(rng, 4, 2, 1, 2)
    with pytest.raises(ValueError, match="init has 3 states, expected 2"):
        VHEM(2, init=random_h3m(rng, 2, 3, 1, 2)).fit(base)
    with pytest.raises(ValueError, match="init has 5 features, expected 2"):
        VHEM(2, init=random_h3m(rng, 2, 2, 1, 5)).fit(base)
    with pytest.raises(ValueError, match="n_components is 2, but base has only 1 components"):
        VHEM(2).fit(base[0])
    with pytest.raises(ValueError, match="base has 2 features, reduced has 3"):
        expected_log_likelihood(base, random_h3m(rng, 1, 2, 1, 3), 4)
    with pytest.raises(ValueError, match="length is 0"):
        expected_log_likelihood(base, base, 0)
