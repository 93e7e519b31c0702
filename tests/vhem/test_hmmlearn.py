"""The bridge to hmmlearn: the same distribution on both sides, or the reason why not."""

import warnings

import numpy as np
import pytest
from vhem_examples import random_hmm

from vhem import H3M, HMM, VHEM

hmmlearn = pytest.importorskip("hmmlearn.hmm")
GaussianHMM, GMMHMM = hmmlearn.GaussianHMM, hmmlearn.GMMHMM

KINDS = ("spherical", "diag", "tied", "full")
S, M, D = 3, 2, 3


def fitted(make, kind, seed=0, n_features=D):
    """A model fitted to random walks."""
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.normal(size=(4, 60, n_features)), axis=1) * 0.2
    more = {"n_mix": M} if make is GMMHMM else {}
    model = make(S, covariance_type=kind, random_state=seed, n_iter=5, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of k-means on few points
        return model.fit(walks.reshape(-1, n_features), [60] * 4)


def set_by_hand(make, kind):
    """A model whose parameters were never fitted."""
    rng = np.random.default_rng(9)
    own = (S, M) if make is GMMHMM else (S,)
    model = make(S, covariance_type=kind, **({"n_mix": M} if make is GMMHMM else {}))
    model.n_features = D
    matrices = np.array([np.cov(rng.normal(size=(D, 20))) for _ in range(S * M)])
    model.startprob_, model.transmat_ = rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), S)
    model.means_ = rng.normal(size=(*own, D))
    if make is GMMHMM:
        model.weights_ = rng.dirichlet(np.ones(M), S)
    model.covars_ = {
        "spherical": rng.uniform(0.5, 2, own),
        "diag": rng.uniform(0.5, 2, (*own, D)),
        "tied": matrices[:S] if make is GMMHMM else matrices[0],
        "full": matrices[: int(np.prod(own))].reshape(*own, D, D),
    }[kind]
    return model


@pytest.mark.parametrize("origin", [fitted, set_by_hand])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [GaussianHMM, GMMHMM])
def test_scores_posteriors_and_paths_are_the_same_there_and_back(make, kind, origin):
    rng = np.random.default_rng(1)
    model = origin(make, kind)
    hmm = HMM.from_hmmlearn(model)
    assert hmm.covariance_type == ("diag" if kind in ("spherical", "diag") else "full")
    back = hmm.to_hmmlearn()
    assert isinstance(back, make)
    assert HMM.from_hmmlearn(back) == hmm
    for length in (1, 2, 40):
        sequence = rng.normal(size=(length, D)) * 2
        expected = model.score(sequence)
        np.testing.assert_allclose(hmm.score([sequence]), expected, rtol=1e-12)
        np.testing.assert_allclose(back.score(sequence), expected, rtol=1e-12)
        np.testing.assert_allclose(
            hmm.posterior(sequence), model.predict_proba(sequence), atol=1e-10
        )
        log_probability, path = hmm.decode(sequence)
        expected_log_probability, expected_path = model.decode(sequence)
        np.testing.assert_allclose(log_probability, expected_log_probability, rtol=1e-12)
        np.testing.assert_array_equal(path, expected_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [GaussianHMM, GMMHMM])
def test_one_feature_and_one_state_are_no_special_case(make, kind):
    model = fitted(make, kind, n_features=1)
    sequence = np.random.default_rng(0).normal(size=(9, 1))
    np.testing.assert_allclose(
        HMM.from_hmmlearn(model).score([sequence]), model.score(sequence), rtol=1e-12
    )


def test_list_of_fitted_models_is_a_mixture():
    models = [fitted(make, kind) for make in (GaussianHMM, GMMHMM) for kind in KINDS]
    h3m = H3M.from_hmmlearn(models)
    sequence = np.random.default_rng(2).normal(size=(20, D))
    expected = [model.score(sequence) for model in models]
    for mixture in (h3m, H3M.from_hmmlearn(h3m.to_hmmlearn())):
        found = mixture.component_log_likelihoods([sequence])[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_padded_component_is_usable_in_hmmlearn():
    """Zero weights of padding give no warning there (warnings are errors here)."""
    rng = np.random.default_rng(10)
    h3m = H3M.from_hmms([random_hmm(rng, 2, 1, 3), random_hmm(rng, 3, 2, 3)])
    sequence = rng.normal(size=(20, 3))
    expected = h3m.component_log_likelihoods([sequence])[0]
    found = [model.score(sequence) for model in h3m.to_hmmlearn()]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "other",
    [
        hmmlearn.CategoricalHMM(2),
        hmmlearn.PoissonHMM(2),
        hmmlearn.MultinomialHMM(2),
        # It scores by expected logarithms, so it has no such distribution.
        pytest.importorskip("hmmlearn.vhmm").VariationalGaussianHMM(2),
        "model",
        GaussianHMM,
    ],
)
def test_other_models_are_refused_by_name(other):
    name = type(other).__name__
    with pytest.raises(TypeError, match=f"expected a GaussianHMM or GMMHMM, got {name}"):
        HMM.from_hmmlearn(other)


@pytest.mark.parametrize("make", [GaussianHMM, GMMHMM])
def test_unfitted_models_are_refused_by_name(make):
    with pytest.raises(ValueError, match=rf"the {make.__name__} is not fitted.* no startprob_"):
        HMM.from_hmmlearn(make(2))
    models = [fitted(make, "diag"), make(2)]
    with pytest.raises(ValueError, match=r"models\[1\]: the .* is not fitted"):
        H3M.from_hmmlearn(models)
    with pytest.raises(ValueError, match=r"base\[1\]: the .* is not fitted"):
        VHEM(1).fit(models)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 2}, r"means_ of the .* has shape \(3, .*\), .* n_components=2"),
        ({"covariance_type": "full"}, r"covars_ of the .* has shape .*, expected \(3, .*'full'"),
        ({"covariance_type": "other"}, "has covariance_type 'other'"),
        ({"means_": np.full(3, np.nan)}, "means_ of the .* has shape"),
        ({"startprob_": np.ones(3)}, "startprob sums to 3"),
        ({"transmat_": np.diag([1.0, 1.0, 0.0])}, r"transmat\[2\] sums to 0"),
        ({"startprob_": np.ones(2) / 2}, r"startprob has shape \(2,\), expected \(3,\)"),
    ],
)
@pytest.mark.parametrize("make", [GaussianHMM, GMMHMM])
def test_altered_models_are_refused_by_what_does_not_fit(make, change, message):
    model = fitted(make, "diag")
    for name, value in change.items():
        setattr(model, name, value)
    with pytest.raises(ValueError, match=message):
        HMM.from_hmmlearn(model)
