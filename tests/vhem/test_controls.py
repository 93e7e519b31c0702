"""The two controls: alignment changes no model, divergences are the true ones within error."""

import numpy as np
import pytest
from sklearn.metrics import rand_score
from vhem_examples import noisy_copies, random_h3m, random_hmm

from vhem import H3M, HMM, ParameterKMeans, SampledKLClustering, sampled_divergence
from vhem._spectral import spectral_embedding
from vhem.rivals.controls import alignment


def renumbered(hmm, rng):
    states = rng.permutation(hmm.n_states)
    rows = states[:, None]
    order = np.array([rng.permutation(hmm.n_mix) for _ in states])
    return HMM(
        hmm.startprob[states],
        hmm.transmat[np.ix_(states, states)],
        hmm.weights[rows, order],
        hmm.means[rows, order],
        hmm.covars[rows, order],
    )


def three_groups(rng, copies=6):
    prototypes = [random_hmm(rng, 3, 2, 2, spread=4.0) for _ in range(3)]
    h3m, labels = noisy_copies(rng, prototypes, copies, noise=0.1)
    return H3M.from_hmms([renumbered(hmm, rng) for hmm in h3m]), labels


# ------------------------------------------------------------------ k-means on parameters


def test_alignment_changes_no_distribution():
    h3m = random_h3m(np.random.default_rng(0), 5, 3, 2, 2)
    sequences = np.random.default_rng(1).normal(size=(4, 6, 2))
    found = alignment(h3m)
    assert found.settled
    ordered = found.apply(h3m)
    np.testing.assert_allclose(
        ordered.component_log_likelihoods(sequences), h3m.component_log_likelihoods(sequences)
    )


@pytest.mark.parametrize("full", [False, True])
def test_alignment_undoes_any_renumbering(full):
    rng = np.random.default_rng(2)
    hmm = random_hmm(rng, 4, 3, 2, full)
    h3m = H3M.from_hmms([renumbered(hmm, rng) for _ in range(6)])
    ordered = alignment(h3m).apply(h3m)
    for name in ("startprob", "transmat", "mixture_weights", "means", "covars"):
        array = getattr(ordered, name)
        np.testing.assert_array_equal(array, np.broadcast_to(array[0], array.shape))


def test_parameter_kmeans_recovers_well_separated_groups_whatever_their_numbering():
    h3m, labels = three_groups(np.random.default_rng(3))
    kmeans = ParameterKMeans(3, random_state=0).fit(h3m)
    assert rand_score(kmeans.labels_, labels) == 1.0
    np.testing.assert_allclose(kmeans.model_.weights, 1 / 3)
    assert set(kmeans.timings_) == {"alignment", "kmeans"}


def test_prediction_uses_the_alignment_and_the_units_of_the_fit():
    rng = np.random.default_rng(12)
    h3m = random_h3m(rng, 20, 3, 2, 2, spread=2.0)
    kmeans = ParameterKMeans(4, random_state=0).fit(h3m)
    np.testing.assert_array_equal(kmeans.predict(h3m), kmeans.labels_)
    others = [renumbered(hmm, rng) for hmm in h3m]
    np.testing.assert_array_equal(kmeans.predict(others), kmeans.labels_)


def test_its_centre_is_the_average_of_the_parameters():
    rng = np.random.default_rng(4)
    hmm = random_hmm(rng, 3, 1, 2, spread=5.0)
    copies, _ = noisy_copies(rng, [hmm], 4, noise=0.01)
    model = ParameterKMeans(1, random_state=0).fit(copies).model_
    order = np.argsort(model.means[0, :, 0, 0])
    expected = copies.means.mean(axis=0)
    np.testing.assert_allclose(
        model.means[0, order], expected[np.argsort(expected[:, 0, 0])], atol=1e-12
    )


def test_it_is_blind_to_a_difference_that_no_coordinate_shows():
    # Two ways to write one distribution: a state split in two equal ones is another vector.
    single = random_hmm(np.random.default_rng(5), 2, 1, 2)
    twin = HMM(
        [*(single.startprob / [1, 2]), single.startprob[1] / 2],
        np.array([[a, b / 2, b / 2] for a, b in single.transmat[[0, 1, 1]]]),
        single.weights[[0, 1, 1]],
        single.means[[0, 1, 1]],
        single.covars[[0, 1, 1]],
    )
    h3m = H3M.from_hmms([single, twin])
    sequence = np.ones((1, 5, 2))
    np.testing.assert_allclose(*h3m.component_log_likelihoods(sequence).T)
    vectors = ParameterKMeans(1, random_state=0).fit(h3m).parameters_
    assert np.abs(vectors[0] - vectors[1]).max() > 1


# ------------------------------------------------------------------ sampled divergences


def test_divergence_of_gaussians_is_the_closed_form_within_its_error():
    h3m = random_h3m(np.random.default_rng(6), 4, 1, 1, 2)
    n, length = 4000, 5
    found = sampled_divergence(h3m, n, length, random_state=0)
    means, variances = h3m.means[:, 0, 0], h3m.covars[:, 0, 0]
    ratio = variances[:, None] / variances
    offset = (means[:, None] - means) ** 2 / variances
    expected = 0.5 * (ratio + offset - 1 - np.log(ratio)).sum(axis=2)
    # Variance of the log-ratio of two Gaussians in one dimension, summed.
    spread = np.sqrt((0.5 * (ratio - 1) ** 2 + ratio * offset).sum(axis=2) / (n * length))
    assert (np.abs(found - expected) <= 4.5 * spread).all()
    np.testing.assert_array_equal(np.diag(found), 0.0)


def test_divergence_of_a_model_does_not_depend_on_the_later_ones():
    h3m = random_h3m(np.random.default_rng(7), 4, 2, 1, 2)
    fewer = H3M.from_hmms([h3m[0], h3m[1]])
    np.testing.assert_allclose(
        sampled_divergence(h3m, 5, 4, random_state=1)[:2, :2],
        sampled_divergence(fewer, 5, 4, random_state=1),
    )


@pytest.mark.parametrize("seed", range(2))
def test_sampled_kl_clustering_recovers_well_separated_groups(seed):
    h3m, labels = three_groups(np.random.default_rng(seed))
    sc = SampledKLClustering(3, n_sequences=20, random_state=0).fit(h3m)
    assert rand_score(sc.labels_, labels) == 1.0
    np.testing.assert_array_equal(sc.model_[0].means, h3m[int(sc.exemplars_[0])].means)


# ------------------------------------------------------------------ both


@pytest.mark.parametrize("estimator", [ParameterKMeans, SampledKLClustering])
def test_edges_and_bad_input(estimator):
    h3m = random_h3m(np.random.default_rng(8), 3, 2, 1, 2)
    np.testing.assert_array_equal(
        estimator(1, random_state=0).fit(H3M.from_hmms([h3m[0]])).labels_, [0]
    )
    np.testing.assert_array_equal(np.sort(estimator(3, random_state=0).fit(h3m).labels_), [0, 1, 2])
    with pytest.raises(ValueError, match="n_clusters is 4, but there are only 3 HMMs"):
        estimator(4).fit(h3m)


@pytest.mark.parametrize("estimator", [ParameterKMeans, SampledKLClustering])
def test_identical_hmms_in_one_cluster(estimator):
    hmm = random_hmm(np.random.default_rng(9), 2, 1, 2)
    fitted = estimator(1, random_state=0).fit(H3M.from_hmms([hmm] * 3))
    np.testing.assert_array_equal(fitted.labels_, 0)
    sequence = np.ones((1, 4, 2))
    np.testing.assert_allclose(fitted.model_.score_samples(sequence), hmm.score_samples(sequence))


@pytest.mark.parametrize("estimator", [ParameterKMeans, SampledKLClustering])
def test_identical_hmms_in_two_clusters_are_told_and_are_one(estimator):
    hmm = random_hmm(np.random.default_rng(9), 2, 1, 2)
    with pytest.warns(UserWarning, match="n_clusters is 2, but only 1 HMMs are distinct"):
        fitted = estimator(2, random_state=0).fit(H3M.from_hmms([hmm] * 3))
    np.testing.assert_array_equal(fitted.labels_, 0)
    assert len(fitted.model_) == 1


def test_both_directions_of_the_divergence_count_in_units_of_the_seventh_neighbours(monkeypatch):
    h3m = random_h3m(np.random.default_rng(10), 9, 2, 1, 2)
    divergences = np.random.default_rng(11).gamma(2.0, size=(9, 9))
    np.fill_diagonal(divergences, 0.0)
    both = divergences + divergences.T
    # Sorted, a row begins with the divergence from itself.
    seventh = np.sqrt(np.sort(both, axis=1)[:, 7])
    expected = spectral_embedding(-both / np.outer(seventh, seventh), 3).points
    for found in (divergences, divergences.T):
        monkeypatch.setattr(
            "vhem.rivals.controls.sampled_divergence", lambda *settings, found=found: found
        )
        embedding = SampledKLClustering(3, random_state=0).fit(h3m).embedding_
        np.testing.assert_allclose(embedding @ embedding.T, expected @ expected.T, atol=1e-10)
