"""Dynamic textures against dense Gaussian algebra, and HEM-DTM against its own definition.

The oracle stacks a whole sequence: the observations of a dynamic texture are one Gaussian vector
of ``tau d`` numbers, and with the states one of ``tau (n + d)``. Everything that the library
computes by filtering or blocks is a textbook formula there.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import rand_score
from vhem_examples import replaced

from vhem import HEMDTM, DynamicTexture, DynamicTextureMixture, fit_dynamic_texture
from vhem.rivals.hem_dtm import DynamicTextureProblem


def random_texture(rng, n_states=2, n_features=3, radius=0.9, offset=1.0):
    transition = rng.standard_normal((n_states, n_states))
    transition *= radius / np.abs(np.linalg.eigvals(transition)).max()

    def covar():
        root = rng.standard_normal((n_states, n_states))
        return root @ root.T + 0.1 * np.eye(n_states)

    return DynamicTexture(
        transition,
        covar(),
        rng.standard_normal((n_features, n_states)),
        offset * rng.standard_normal(n_features),
        rng.uniform(0.2, 1.0),
        rng.standard_normal(n_states),
        covar(),
    )


def joint_gaussian(texture, length):
    """Mean and covariance of (x_1..x_tau, y_1..y_tau), built from the noise sources."""
    n, d = texture.n_states, texture.n_features
    # Row block t of `states` maps (x_1 - m, v_1 .. v_{tau-1}) to x_t.
    states = np.zeros((length * n, length * n))
    mean = np.zeros(length * n)
    block = [slice(t * n, (t + 1) * n) for t in range(length)]
    states[block[0], block[0]] = np.eye(n)
    mean[block[0]] = texture.initial_mean
    for t in range(1, length):
        states[block[t]] = texture.transition @ states[block[t - 1]]
        states[block[t], block[t]] += np.eye(n)
        mean[block[t]] = texture.transition @ mean[block[t - 1]]
    sources = np.zeros((length * n, length * n))
    sources[block[0], block[0]] = texture.initial_covar
    for t in range(1, length):
        sources[block[t], block[t]] = texture.transition_covar
    outputs = np.kron(np.eye(length), texture.observation)
    both = np.vstack([states, outputs @ states])
    covar = both @ sources @ both.T
    covar[length * n :, length * n :] += texture.observation_variance * np.eye(length * d)
    mean_y = outputs @ mean + np.tile(texture.offset, length)
    return np.r_[mean, mean_y], covar


def expected_log_density(mean, covar, under_mean, under_covar):
    """E log N(v; under) for v ~ N(mean, covar)."""
    difference = mean - under_mean
    spread = covar + np.outer(difference, difference)
    return -0.5 * (
        len(mean) * np.log(2 * np.pi)
        + np.linalg.slogdet(under_covar)[1]
        + np.trace(np.linalg.solve(under_covar, spread))
    )


def perturbed(texture, rng, size):
    def jitter(array):
        return array * (1 + size * rng.standard_normal(array.shape))

    return DynamicTexture(
        jitter(texture.transition),
        texture.transition_covar * (1 + size * rng.uniform()),
        jitter(texture.observation),
        jitter(texture.offset),
        texture.observation_variance * (1 + size * rng.uniform()),
        jitter(texture.initial_mean),
        texture.initial_covar * (1 + size * rng.uniform()),
    )


@pytest.fixture(scope="module")
def three_groups():
    rng = np.random.default_rng(5)
    centres = [random_texture(rng, 2, 6, offset=2.0) for _ in range(3)]
    labels = np.repeat(np.arange(3), 7)
    return [perturbed(centres[k], rng, 0.05) for k in labels], labels


# ------------------------------------------------------------------ likelihood and sampling


@pytest.mark.parametrize(("n_states", "n_features"), [(1, 1), (2, 3), (3, 2), (4, 4)])
def test_log_likelihood_is_that_of_the_stacked_gaussian(n_states, n_features):
    rng = np.random.default_rng(n_states + 10 * n_features)
    texture = random_texture(rng, n_states, n_features)
    sequences = [rng.standard_normal((length, n_features)) for length in (1, 6, 3)]
    expected = []
    for sequence in sequences:
        length = len(sequence)
        mean, covar = joint_gaussian(texture, length)
        y = slice(length * n_states, None)
        expected.append(multivariate_normal(mean[y], covar[y, y]).logpdf(sequence.ravel()))
    np.testing.assert_allclose(texture.score_samples(sequences), expected, rtol=1e-10)


def test_log_likelihood_allows_singular_covariances_and_observation_matrix():
    texture = DynamicTexture(
        np.eye(2), np.zeros((2, 2)), np.zeros((3, 2)), np.ones(3), 0.5, [1, 0], np.zeros((2, 2))
    )
    sequence = np.arange(12.0).reshape(4, 3)
    expected = multivariate_normal(np.ones(12), 0.5).logpdf(sequence.ravel())
    np.testing.assert_allclose(texture.score_samples([sequence]), [expected])


def test_log_likelihood_keeps_its_digits_when_the_noise_is_tiny():
    rng = np.random.default_rng(3)
    texture = random_texture(rng, 2, 3, offset=1e3)
    small = DynamicTexture(
        texture.transition, texture.transition_covar, texture.observation, texture.offset,
        1e-6, texture.initial_mean, texture.initial_covar,
    )  # fmt: skip
    sequence = small.sample(1, 5, random_state=0)[0]
    mean, covar = joint_gaussian(small, 5)
    expected = expected_log_density(
        sequence.ravel(), np.zeros((15, 15)), mean[10:], covar[10:, 10:]
    )
    np.testing.assert_allclose(small.score_samples(sequence), [expected], rtol=1e-6)


def test_samples_have_the_moments_of_the_stacked_gaussian():
    texture = random_texture(np.random.default_rng(0), 2, 2)
    observations, states = texture.sample(100_000, 3, random_state=1)
    stacked = np.hstack([states.reshape(len(states), -1), observations.reshape(len(states), -1)])
    mean, covar = joint_gaussian(texture, 3)
    deviations = np.sqrt(np.diag(covar))
    error = np.abs(stacked.mean(axis=0) - mean) / deviations
    assert error.max() < 5 / np.sqrt(len(states))
    sampled = np.cov(stacked.T) / np.outer(deviations, deviations)
    np.testing.assert_allclose(sampled, covar / np.outer(deviations, deviations), atol=0.02)


def test_mixture_is_the_weighted_sum_of_its_components():
    rng = np.random.default_rng(4)
    systems = [random_texture(rng) for _ in range(3)]
    mixture = DynamicTextureMixture.from_systems(systems, [0.2, 0.8, 0.0])
    sequences = list(rng.standard_normal((4, 5, 3)))
    parts = np.stack([system.score_samples(sequences) for system in systems], axis=1)
    np.testing.assert_allclose(mixture.component_log_likelihoods(sequences), parts)
    expected = np.log(np.exp(parts) @ [0.2, 0.8, 0.0])
    np.testing.assert_allclose(mixture.score_samples(sequences), expected)
    _, components, _ = mixture.sample(50, 2, random_state=0)
    assert set(components) == {0, 1}


def test_saved_models_are_the_same_models(tmp_path):
    texture = random_texture(np.random.default_rng(0))
    texture.save(tmp_path / "one.npz")
    loaded = DynamicTexture.load(tmp_path / "one.npz")
    sequence = np.ones((4, 3))
    assert loaded.score_samples([sequence]) == texture.score_samples([sequence])
    mixture = DynamicTextureMixture.from_systems([texture, texture], [0.3, 0.7])
    mixture.save(tmp_path / "two.npz")
    np.testing.assert_array_equal(
        DynamicTextureMixture.load(tmp_path / "two.npz").weights, [0.3, 0.7]
    )


# ------------------------------------------------------------------ learning from a sequence


def test_doretto_finds_the_modes_of_a_long_sequence():
    truth = np.array([[0.9, -0.3], [0.3, 0.9]])
    observation = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 2)))[0]
    texture = DynamicTexture(
        truth, 0.1 * np.eye(2), observation, np.arange(8.0), 1e-4, np.zeros(2), np.eye(2)
    )
    sequence = texture.sample(1, 20_000, random_state=1)[0][0]
    learned = fit_dynamic_texture(sequence, 2)
    np.testing.assert_allclose(
        np.sort_complex(np.linalg.eigvals(learned.transition)),
        np.sort_complex(np.linalg.eigvals(truth)),
        atol=0.01,
    )
    projector = learned.observation @ learned.observation.T
    np.testing.assert_allclose(projector, observation @ observation.T, atol=1e-3)
    assert learned.observation_variance == pytest.approx(1e-4, rel=0.3)  # of 8 directions, 6 count


def test_doretto_does_not_depend_on_rotation_of_the_data():
    rng = np.random.default_rng(1)
    sequence = np.cumsum(rng.standard_normal((60, 4)), axis=0)
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    plain = fit_dynamic_texture(sequence, 2).score_samples([sequence])
    turned = fit_dynamic_texture(sequence @ rotation, 2).score_samples([sequence @ rotation])
    np.testing.assert_allclose(plain, turned)


def test_doretto_limits_growth_and_floors_variances():
    growing = np.exp(0.1 * np.arange(30.0))[:, None] * np.array([1.0, 2.0, -1.0])
    texture = fit_dynamic_texture(growing, 2, covariance_floor=0.01, max_spectral_radius=0.95)
    assert np.abs(np.linalg.eigvals(texture.transition)).max() <= 0.95 + 1e-12
    assert texture.observation_variance == 0.01
    assert np.linalg.eigvalsh(texture.transition_covar)[0] >= 0.01 - 1e-12


def test_a_constant_sequence_has_a_texture():
    texture = fit_dynamic_texture(np.full((5, 3), 7.0), 2, covariance_floor=1e-3)
    np.testing.assert_allclose(texture.offset, 7.0)
    np.testing.assert_array_equal(texture.transition, 0.0)
    assert np.isfinite(texture.score_samples([np.full((5, 3), 7.0)])).all()


# ------------------------------------------------------------------ the expectation


@pytest.mark.parametrize("length", [1, 2, 4])
@pytest.mark.parametrize(("base_states", "states"), [(2, 2), (3, 1), (1, 3)])
def test_expected_log_likelihood_is_that_of_the_stacked_gaussian(length, base_states, states):
    rng = np.random.default_rng(length)
    base = [random_texture(rng, base_states, 3) for _ in range(2)]
    reduced = [random_texture(rng, states, 3) for _ in range(2)]
    problem = DynamicTextureProblem(
        DynamicTextureMixture.from_systems(base), 1.0, length, 1e-9, 1.0
    )
    found, _ = problem.judge(DynamicTextureMixture.from_systems(reduced))
    for i, b in enumerate(base):
        mean, covar = joint_gaussian(b, length)
        y = slice(length * base_states, None)
        for j, r in enumerate(reduced):
            under_mean, under_covar = joint_gaussian(r, length)
            z = slice(length * states, None)
            expected = expected_log_density(mean[y], covar[y, y], under_mean[z], under_covar[z, z])
            assert found[i, j] == pytest.approx(expected, rel=1e-10)


def test_expected_log_likelihood_is_the_mean_of_kalman_filters_on_samples():
    rng = np.random.default_rng(8)
    base, reduced = random_texture(rng, 2, 5), random_texture(rng, 2, 5)
    problem = DynamicTextureProblem(DynamicTextureMixture.from_systems([base]), 1.0, 7, 1e-9, 1.0)
    found, _ = problem.judge(DynamicTextureMixture.from_systems([reduced]))
    sampled = reduced.score_samples(base.sample(20_000, 7, random_state=0)[0])
    assert abs(sampled.mean() - found[0, 0]) < 4 * sampled.std() / np.sqrt(len(sampled))


def test_expectation_does_not_depend_on_the_coordinates_of_the_states():
    rng = np.random.default_rng(9)
    base, reduced = random_texture(rng, 2, 4), random_texture(rng, 3, 4)
    problem = DynamicTextureProblem(DynamicTextureMixture.from_systems([base]), 1.0, 5, 1e-9, 1.0)
    change = rng.standard_normal((3, 3))
    inverse = np.linalg.inv(change)
    other = DynamicTexture(
        change @ reduced.transition @ inverse,
        change @ reduced.transition_covar @ change.T,
        reduced.observation @ inverse,
        reduced.offset,
        reduced.observation_variance,
        change @ reduced.initial_mean,
        change @ reduced.initial_covar @ change.T,
    )
    first, _ = problem.judge(DynamicTextureMixture.from_systems([reduced]))
    second, _ = problem.judge(DynamicTextureMixture.from_systems([other]))
    np.testing.assert_allclose(first, second, rtol=1e-9)


# ------------------------------------------------------------------ the M-step


def complete_data_objective(theta, base, old, shares, length):
    """sum_i h_i E_{y~i} E_{x|y,old} log p(x, y | theta), from dense conditional Gaussians."""
    n = old.n_states
    x, y = slice(0, length * n), slice(length * n, None)
    old_mean, old_covar = joint_gaussian(old, length)
    gain = np.linalg.solve(old_covar[y, y], old_covar[y, x]).T
    residual = old_covar[x, x] - gain @ old_covar[y, x]
    under_mean, under_covar = joint_gaussian(theta, length)
    total = 0.0
    for share, system in zip(shares, base, strict=True):
        base_mean, base_covar = joint_gaussian(system, length)
        b = slice(length * system.n_states, None)
        mean_x = old_mean[x] + gain @ (base_mean[b] - old_mean[y])
        spread = base_covar[b, b]
        covar = np.block(
            [[gain @ spread @ gain.T + residual, gain @ spread], [spread @ gain.T, spread]]
        )
        total += share * expected_log_density(
            np.r_[mean_x, base_mean[b]], covar, under_mean, under_covar
        )
    return total


@pytest.mark.parametrize("length", [2, 5])
def test_m_step_is_a_stationary_point_by_finite_differences(length):
    rng = np.random.default_rng(length)
    base = [random_texture(rng, 2, 3) for _ in range(3)]
    old = random_texture(rng, 2, 3)
    shares = np.array([0.5, 0.2, 0.3])
    problem = DynamicTextureProblem(
        DynamicTextureMixture.from_systems(base), 1.0, length, 1e-9, 10.0
    )
    model = DynamicTextureMixture.from_systems([old])
    _, statistics = problem.judge(model)
    new = problem.maximised(model, statistics, shares[:, None])[0]

    def objective(theta):
        return complete_data_objective(theta, base, old, shares, length)

    best = objective(new)
    step = 1e-5
    for name in ("transition", "transition_covar", "observation", "offset",
                 "observation_variance", "initial_mean", "initial_covar"):  # fmt: skip
        value = np.asarray(getattr(new, name))
        for _ in range(4):
            direction = rng.standard_normal(value.shape)
            if name.endswith("covar"):
                direction = direction + direction.T
            up = objective(replaced(new, **{name: value + step * direction}))
            down = objective(replaced(new, **{name: value - step * direction}))
            assert abs(up - down) / (2 * step) < 1e-5, name
            assert up < best, name
            assert down < best, name


def test_a_single_virtual_observation_leaves_the_dynamics_alone():
    rng = np.random.default_rng(2)
    base = [random_texture(rng) for _ in range(3)]
    model = HEMDTM(1, n_init=1, virtual_length=1, random_state=0).fit(base).model_
    assert any(np.array_equal(model.transition[0], system.transition) for system in base)


# ------------------------------------------------------------------ HEM-DTM


@pytest.mark.parametrize("init", ["base", "split"])
def test_three_groups_are_recovered_and_the_objective_never_falls(three_groups, init):
    base, labels = three_groups
    hem = HEMDTM(3, init=init, n_init=5, tol=None, max_iter=20, random_state=0).fit(base)
    assert rand_score(hem.labels_, labels) == 1.0
    assert len(hem.history_) == hem.n_iter_ + 1 == 21
    assert not hem.converged_
    assert (np.diff(hem.history_) >= -1e-9 * np.abs(hem.history_[1:])).all()


def test_one_component_of_identical_textures_explains_them_as_they_do_themselves():
    texture = random_texture(np.random.default_rng(1), 2, 4)
    hem = HEMDTM(1, n_init=1, virtual_samples=5.0, random_state=0).fit([texture] * 3)
    # The texture is the maximiser already: the expected likelihood is its negative entropy.
    np.testing.assert_allclose(np.diff(hem.history_), 0.0, atol=1e-8)
    np.testing.assert_allclose(hem.responsibilities_, 1.0)


def test_identical_textures_in_two_clusters_have_an_answer():
    texture = random_texture(np.random.default_rng(1), 2, 4)
    for init in ("base", "split"):
        with pytest.warns(UserWarning, match="only 1 base components are distinct"):
            hem = HEMDTM(2, n_init=1, init=init, random_state=0).fit([texture] * 4)
        assert np.isfinite(hem.history_).all()
        np.testing.assert_allclose(hem.responsibilities_.sum(axis=1), 1.0)


def test_a_texture_of_weight_zero_changes_nothing(three_groups):
    base, _ = three_groups
    stranger = random_texture(np.random.default_rng(99), 2, 6)
    weights = np.ones(len(base))
    start = DynamicTextureMixture.from_systems(base[::7])
    plain = HEMDTM(3, init=start).fit(base, weights=weights)
    more = HEMDTM(3, init=start).fit([*base, stranger], weights=[*weights, 0.0])
    np.testing.assert_allclose(more.history_, plain.history_, rtol=1e-10)
    np.testing.assert_allclose(more.model_.weights, plain.model_.weights)
    np.testing.assert_allclose(more.model_.observation, plain.model_.observation, atol=1e-7)


def test_order_of_the_base_and_translation_of_the_data_do_not_matter(three_groups):
    base, _ = three_groups
    start = DynamicTextureMixture.from_systems(base[::7])
    plain = HEMDTM(3, init=start, max_iter=5, tol=None).fit(base)
    backwards = HEMDTM(3, init=start, max_iter=5, tol=None).fit(base[::-1])
    np.testing.assert_allclose(backwards.history_, plain.history_, rtol=1e-10)
    np.testing.assert_array_equal(backwards.labels_[::-1], plain.labels_)
    moved = [replaced(system, offset=system.offset + 1e3) for system in base]
    shifted = HEMDTM(
        3, init=DynamicTextureMixture.from_systems(moved[::7]), max_iter=5, tol=None
    ).fit(moved)
    np.testing.assert_allclose(shifted.history_, plain.history_, rtol=1e-8)


def test_floors_and_spectral_radius_hold_in_the_reduced_model(three_groups):
    base, _ = three_groups
    hem = HEMDTM(
        2, n_init=1, covariance_floor=0.5, max_spectral_radius=0.5, max_iter=3, random_state=0
    )
    model = hem.fit(base).model_
    radii = np.abs(np.linalg.eigvals(model.transition)).max(axis=1)
    assert (radii <= 0.5 + 1e-12).all()
    assert (model.observation_variance >= 0.5).all()
    assert (np.linalg.eigvalsh(model.transition_covar) >= 0.5 - 1e-9).all()


# ------------------------------------------------------------------ bad input


def test_errors_name_the_argument_and_the_index():
    rng = np.random.default_rng(0)
    texture = random_texture(rng)
    with pytest.raises(ValueError, match=r"transition_covar is not symmetric"):
        replaced(texture, transition_covar=[[1, 0.5], [0, 1]])
    with pytest.raises(ValueError, match=r"initial_covar is not positive semi-definite"):
        replaced(texture, initial_covar=-np.eye(2))
    with pytest.raises(ValueError, match=r"observation_variance is 0"):
        replaced(texture, observation_variance=0.0)
    with pytest.raises(ValueError, match=r"offset has shape \(2,\), expected \(3,\)"):
        replaced(texture, offset=[0, 0])
    with pytest.raises(ValueError, match=r"systems\[1\] has n_features 4, systems\[0\].* 3"):
        DynamicTextureMixture.from_systems([texture, random_texture(rng, 2, 4)])
    with pytest.raises(ValueError, match=r"systems\[1\] has n_states 1"):
        DynamicTextureMixture.from_systems([texture, random_texture(rng, 1, 3)])
    with pytest.raises(TypeError, match=r"systems\[0\] is a str"):
        DynamicTextureMixture.from_systems(["texture"])
    with pytest.raises(ValueError, match="systems is empty"):
        DynamicTextureMixture.from_systems([])
    with pytest.raises(ValueError, match=r"weights\[1\] is -1"):
        DynamicTextureMixture.from_systems([texture, texture], [2, -1])
    with pytest.raises(ValueError, match=r"sequences\[1\] has 2 features, expected 3"):
        texture.score_samples([np.ones((5, 3)), np.ones((5, 2))])
    with pytest.raises(ValueError, match="n_states is 4, but the sequence has shape"):
        fit_dynamic_texture(np.ones((9, 3)), 4)
    with pytest.raises(ValueError, match="at least 2"):
        fit_dynamic_texture(np.ones((1, 3)), 1)
    with pytest.raises(ValueError, match=r"sequence\[1, 0\] is nan"):
        fit_dynamic_texture([[0.0], [np.nan]], 1)
