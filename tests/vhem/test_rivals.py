"""What all methods that cluster HMMs have in common, whatever they are."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import rand_score
from vhem_examples import noisy_copies

from vhem import H3M, HMM, SHEM, VHEM, ParameterKMeans, PPKSpectralClustering, SampledKLClustering

METHODS = {
    "VHEM": VHEM(4, n_init=4, random_state=0),
    "SHEM": SHEM(4, 320, n_init=4, random_state=0),
    "PPK-SC": PPKSpectralClustering(4, random_state=0),
    "PPK-SC, VHEM centres": PPKSpectralClustering(4, centers="vhem", random_state=0),
    "parameters": ParameterKMeans(4, random_state=0),
    "sampled KL": SampledKLClustering(4, n_sequences=20, random_state=0),
}


def four_groups(variance, seed):
    """In the manner of the extended paper's synthetic experiment (a): noise on the means of four
    one-dimensional HMMs with three states. Here the HMMs are our own."""
    rng = np.random.default_rng(seed)
    slow = 0.8 * np.eye(3) + 0.2 * np.roll(np.eye(3), 1, axis=1)
    fast = 0.2 * np.eye(3) + 0.8 * np.roll(np.eye(3), 1, axis=1)
    prototypes = [
        HMM(
            np.full(3, 1 / 3),
            transmat,
            np.ones((3, 1)),
            np.array([0.0, 4.0, 8.0])[:, None, None] + shift,
            np.full((3, 1, 1), 0.5),
        )
        for transmat in (slow, fast)
        for shift in (0.0, 2.0)
    ]
    return noisy_copies(rng, prototypes, 4, noise=np.sqrt(variance))


@pytest.mark.parametrize("name", METHODS)
def test_rand_index_is_one_without_noise_and_falls_as_noise_grows(name):
    def mean_rand(variance):
        scores = []
        for seed in range(3):
            h3m, labels = four_groups(variance, seed)
            scores.append(rand_score(clone(METHODS[name]).fit(h3m).labels_, labels))
        return np.mean(scores)

    clean, noisy = mean_rand(1e-4), mean_rand(4.0)
    assert clean == 1.0
    assert noisy < 0.9


@pytest.mark.parametrize("name", METHODS)
def test_fitted_attributes_and_unchanged_parameters(name):
    h3m, _ = four_groups(0.01, 0)
    estimator = clone(METHODS[name])
    before = estimator.get_params()
    assert estimator.fit(h3m) is estimator
    assert estimator.get_params() == before
    assert estimator.labels_.shape == (16,)
    assert estimator.labels_.max() < len(estimator.model_) == 4
    assert isinstance(estimator.model_, H3M)
    assert np.isclose(estimator.model_.weights.sum(), 1.0)
    assert np.isfinite(estimator.history_).all()
    assert estimator.converged_ in (True, False)
