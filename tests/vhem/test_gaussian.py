"""HEM-GMM against Gaussian integrals, its own definition and planted groups."""

import numpy as np
import pytest
from sklearn.metrics import rand_score
from vhem_examples import random_hmm

from vhem import H3M, HEMGMM, HMM, VHEM


def random_gaussians(rng, n, d, full, spread=1.0):
    hmm = random_hmm(rng, 1, n, d, full, spread)
    return hmm.weights[0], hmm.means[0], hmm.covars[0]


def as_matrices(covars):
    return covars if covars.ndim == 3 else covars[:, :, None] * np.eye(covars.shape[1])


def groups(rng, full, copies=8):
    _, means, covars = random_gaussians(rng, 3, 4, full, spread=6.0)
    labels = np.repeat(np.arange(3), copies)
    return means[labels] + 0.3 * rng.normal(size=(len(labels), 4)), covars[labels], labels


@pytest.mark.parametrize("full", [False, True])
def test_expected_log_densities_are_those_of_samples(full):
    rng = np.random.default_rng(0)
    weights, means, covars = random_gaussians(rng, 3, 2, full)
    hem = HEMGMM(2, init="base", random_state=0).fit(weights, means, covars)
    for i in range(3):
        points = rng.multivariate_normal(means[i], as_matrices(covars)[i], size=10_000)
        for j in range(2):
            component = HMM(
                [1.0], [[1.0]], [[1.0]], hem.model_.means[:, [j]], hem.model_.covars[:, [j]]
            )
            densities = component.score_samples(points[:, None])
            error = 4 * densities.std() / np.sqrt(len(densities))
            assert abs(densities.mean() - hem.log_likelihoods_[i, j]) < error


@pytest.mark.parametrize("full", [False, True])
def test_one_component_has_the_moments_of_the_base_mixture(full):
    weights, means, covars = random_gaussians(np.random.default_rng(1), 7, 3, full)
    model = HEMGMM(1, max_iter=1, tol=None).fit(weights, means, covars).model_
    mean = weights @ means
    total = np.einsum("p,pab->ab", weights, as_matrices(covars)) + np.einsum(
        "p,pa,pb->ab", weights, means - mean, means - mean
    )
    np.testing.assert_allclose(model.means[0, 0], mean)
    np.testing.assert_allclose(model.covars[0, 0], total if full else np.diag(total))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("virtual_samples", [3.0, 1e4])
@pytest.mark.parametrize("init", ["base", "kmeans"])
def test_objective_never_falls(full, virtual_samples, init):
    weights, means, covars = random_gaussians(np.random.default_rng(2), 40, 3, full, spread=2.0)
    hem = HEMGMM(
        4, virtual_samples=virtual_samples, init=init, tol=None, max_iter=30, random_state=1
    ).fit(weights, means, covars)
    assert len(hem.history_) == 31
    assert (np.diff(hem.history_) >= -1e-10 * np.abs(hem.history_[1:])).all()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("init", ["base", "kmeans"])
def test_three_groups_are_recovered(full, init):
    means, covars, labels = groups(np.random.default_rng(3), full)
    hem = HEMGMM(3, init=init, n_init=5, random_state=0).fit(None, means, covars)
    assert rand_score(hem.labels_, labels) == 1.0
    assert hem.converged_
    assert hem.lower_bound_ == hem.restart_objectives_.max() == hem.history_[-1]


def test_a_gaussian_of_weight_zero_changes_nothing():
    weights, means, covars = random_gaussians(np.random.default_rng(5), 9, 2, False)
    for init in ("base", "kmeans"):
        plain = HEMGMM(2, init=init, random_state=0).fit(weights, means, covars)
        more = HEMGMM(2, init=init, random_state=0).fit(
            np.append(weights, 0.0), np.vstack([means, [[50.0, 50.0]]]), covars[[*range(9), 0]]
        )
        np.testing.assert_allclose(more.model_.means, plain.model_.means)
        np.testing.assert_allclose(more.model_.weights, plain.model_.weights)


def test_translation_of_the_data_moves_the_means_and_nothing_else():
    weights, means, covars = random_gaussians(np.random.default_rng(6), 12, 2, True)
    plain = HEMGMM(3, random_state=0).fit(weights, means, covars)
    moved = HEMGMM(3, random_state=0).fit(weights, means + 1e4, covars)
    np.testing.assert_allclose(moved.model_.means, plain.model_.means + 1e4)
    np.testing.assert_allclose(moved.model_.covars, plain.model_.covars, rtol=1e-6)


def test_identical_gaussians_have_an_answer():
    with pytest.warns(UserWarning, match="only 1 base components are distinct"):
        hem = HEMGMM(2, random_state=0).fit(None, np.ones((4, 2)), np.ones((4, 2)))
    np.testing.assert_allclose(hem.model_.means, 1.0)
    np.testing.assert_allclose(hem.model_.covars, 1.0)
    np.testing.assert_allclose(hem.responsibilities_.sum(axis=1), 1.0)


def test_covariances_are_not_below_the_floor():
    for covars in (np.full((3, 2), 1e-9), 1e-9 * np.tile(np.eye(2), (3, 1, 1))):
        model = HEMGMM(2, covariance_floor=0.5, random_state=0).fit(None, np.eye(3)[:, :2], covars)
        assert (np.linalg.eigvalsh(as_matrices(model.model_.covars[0])) >= 0.5 - 1e-12).all()


@pytest.mark.parametrize(
    ("arguments", "parameters", "message"),
    [
        ((None, np.ones((3, 2)), np.ones((3, 2))), {"n_components": 4}, "n_components is 4, but"),
        (
            ([1, 0, 0], np.eye(3), np.ones((3, 3))),
            {"n_components": 2},
            "base has only 1 components",
        ),
        ((None, np.ones((3, 2)), np.ones((2, 2))), {}, r"covars has shape \(2, 2\)"),
        ((None, np.ones((3, 2)), np.zeros((3, 2))), {}, r"covars\[0, 0\] is 0"),
        (([1, 2], np.ones((3, 2)), np.ones((3, 2))), {}, r"weights has shape \(2,\)"),
        (([1, 2, np.nan], np.ones((3, 2)), np.ones((3, 2))), {}, r"weights\[2\] is nan"),
        (([0, 0, 0], np.ones((3, 2)), np.ones((3, 2))), {}, "weights are all zero"),
        ((None, np.eye(3)[:, :2], np.ones((3, 2))), {"init": "split"}, "init is 'split'"),
        ((None, np.ones((3, 2)), np.ones((3, 2))), {"virtual_samples": 0}, "virtual_samples is 0"),
        (
            (None, np.eye(3)[:, :2], np.ones((3, 2))),
            {"init": random_hmm(np.random.default_rng(0), 1, 3, 2)},
            "init has 1 states, 3 Gaussians and 2 features, expected 1, 2 and 2",
        ),
        (
            (None, np.eye(3)[:, :2], np.ones((3, 2))),
            {"init": random_hmm(np.random.default_rng(0), 1, 2, 2, full=True)},
            "init has full covariances",
        ),
    ],
)
def test_bad_input_is_named(arguments, parameters, message):
    with pytest.raises(ValueError, match=message):
        HEMGMM(**{"n_components": 2, "random_state": 0, **parameters}).fit(*arguments)


@pytest.mark.parametrize("full", [False, True])
def test_it_is_vhem_with_one_observation_one_state_and_one_gaussian(full):
    weights, means, covars = random_gaussians(np.random.default_rng(8), 15, 2, full, spread=2.0)

    def as_h3m(weights, means, covars):
        ones = np.ones((len(means), 1))
        return H3M(weights, ones, ones[..., None], ones[..., None],
                   means[:, None, None], covars[:, None, None])  # fmt: skip

    start = HMM([1.0], [[1.0]], [[0.5, 0.3, 0.2]], means[None, :3], covars[None, :3])
    options = {"virtual_samples": 25.0, "tol": None, "max_iter": 7}
    hem = HEMGMM(3, init=start, **options).fit(weights, means, covars)
    vhem = VHEM(
        3, virtual_length=1, init=as_h3m(start.weights[0], means[:3], covars[:3]), **options
    ).fit(as_h3m(weights, means, covars))
    np.testing.assert_allclose(hem.history_, vhem.history_, rtol=1e-10)
    np.testing.assert_allclose(hem.responsibilities_, vhem.responsibilities_, atol=1e-9)
    np.testing.assert_allclose(hem.model_.means[0], vhem.model_.means[:, 0, 0], rtol=1e-8)
    np.testing.assert_allclose(hem.model_.covars[0], vhem.model_.covars[:, 0, 0], rtol=1e-8)
    np.testing.assert_allclose(hem.model_.weights[0], vhem.model_.weights, atol=1e-9)
