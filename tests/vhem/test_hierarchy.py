"""Hierarchies: composed labels, nested clusters, and one answer from every kind of estimator."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import rand_score
from vhem_examples import noisy_copies, random_h3m, random_hmm, replaced

from vhem import (
    EMH3M,
    HEMDTM,
    HEMGMM,
    SHEM,
    VHEM,
    DynamicTextureMixture,
    ParameterKMeans,
    PPKSpectralClustering,
    SampledKLClustering,
    cluster_hierarchy,
    fit_dynamic_texture,
)


def two_pairs_of_groups(rng, copies=4):
    """Four groups of HMMs, of which the first two are near each other, and the last two."""
    groups = []
    for shift in (0.0, 1.5, 30.0, 31.5):
        hmm = random_hmm(np.random.default_rng(7), 3, 1, 2)
        groups.append(replaced(hmm, means=hmm.means + shift, covars=np.full((3, 1, 2), 0.3)))
    return noisy_copies(rng, groups, copies, noise=0.03)


ESTIMATORS = [
    VHEM(n_init=10, random_state=0),
    SHEM(n_samples=160, n_init=10, random_state=0),
    PPKSpectralClustering(root=10.0, random_state=0),
    PPKSpectralClustering(root=10.0, centers="vhem", random_state=0),
    ParameterKMeans(random_state=0),
    SampledKLClustering(random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_groups_and_pairs_of_groups_are_recovered_on_their_levels(estimator):
    h3m, labels = two_pairs_of_groups(np.random.default_rng(0))
    hierarchy = cluster_hierarchy(h3m, levels=(4, 2), estimator=estimator)
    assert rand_score(hierarchy.labels[0], labels) == 1.0
    assert rand_score(hierarchy.labels[1], labels // 2) == 1.0
    assert [len(model) for model in hierarchy.models] == [4, 2]
    assert len(hierarchy.seconds) == 2
    assert min(hierarchy.seconds) > 0


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_labels_are_the_composition_of_the_steps(estimator):
    h3m = random_h3m(np.random.default_rng(1), 12, 2, 1, 2, weights=np.full(12, 1 / 12))
    hierarchy = cluster_hierarchy(h3m, levels=(5, 3, 2), estimator=estimator)
    below = np.arange(12)
    for labels, parents in zip(hierarchy.labels, hierarchy.parents, strict=True):
        np.testing.assert_array_equal(labels, parents[below])
        below = labels


def test_em_is_nested_with_one_assignment_for_each_lower_cluster():
    h3m, labels = two_pairs_of_groups(np.random.default_rng(2), copies=3)
    sequences = [hmm.sample(1, 20, k)[0][0] for k, hmm in enumerate(h3m)]
    estimator = EMH3M(n_states=3, n_init=5, random_state=0)
    hierarchy = cluster_hierarchy(sequences, levels=(4, 2), estimator=estimator)
    assert rand_score(hierarchy.labels[1], labels // 2) == 1.0
    for lower in range(4):
        above = hierarchy.labels[1][hierarchy.labels[0] == lower]
        assert len(set(above)) <= 1
        assert (above == hierarchy.parents[1][lower]).all()


def test_dynamic_textures_go_up_too():
    rng = np.random.default_rng(3)
    t = np.arange(60)
    sequences = [
        np.stack([np.cos(f * t + p), np.sin(f * t + p), np.full(60, 3.0 * (f > 0.5))], axis=1)
        + 0.05 * rng.normal(size=(60, 3))
        for f in (0.1, 0.3, 0.8, 1.2)
        for p in (0.0, 1.0, 2.0)
    ]
    base = DynamicTextureMixture.from_systems(
        [fit_dynamic_texture(sequence, 2) for sequence in sequences]
    )
    hierarchy = cluster_hierarchy(base, levels=(4, 2), estimator=HEMDTM(n_init=3, random_state=0))
    assert rand_score(hierarchy.labels[0], np.repeat(np.arange(4), 3)) == 1.0
    assert rand_score(hierarchy.labels[1], np.repeat([0, 0, 1, 1], 3)) == 1.0


def test_the_estimator_given_is_not_changed_and_the_default_is_vhem():
    h3m = random_h3m(np.random.default_rng(4), 5, 2, 1, 2)
    estimator = VHEM(n_components=9, random_state=0)
    cluster_hierarchy(h3m, levels=(3, 2), estimator=estimator)
    assert estimator.n_components == 9
    assert not hasattr(estimator, "model_")
    hierarchy = cluster_hierarchy(h3m, levels=(2,))
    assert isinstance(hierarchy.estimators[0], VHEM)


def test_merging_keeps_the_embedding_and_joins_whole_clusters():
    h3m, _ = two_pairs_of_groups(np.random.default_rng(5))
    fine = PPKSpectralClustering(4, root=10.0, random_state=0).fit(h3m)
    coarse = fine.merge(h3m, 2)
    assert coarse.embedding_ is fine.embedding_
    assert fine.n_clusters == 4
    assert len(fine.model_) == 4
    assert len({(a, b) for a, b in zip(fine.labels_, coarse.labels_, strict=True)}) == 4
    with pytest.raises(ValueError, match="n_clusters is 5, but there are only 4 clusters"):
        fine.merge(h3m, 5)
    with pytest.raises(ValueError, match="h3m has 5 HMMs, the estimator was fitted to 16"):
        fine.merge(random_h3m(np.random.default_rng(0), 5, 2, 1, 2), 2)


def test_bad_levels_and_pairings_are_named():
    h3m = random_h3m(np.random.default_rng(6), 5, 2, 1, 2)
    with pytest.raises(ValueError, match="levels is empty"):
        cluster_hierarchy(h3m, levels=())
    with pytest.raises(ValueError, match=r"levels\[1\] is 3, expected fewer than levels\[0\] = 3"):
        cluster_hierarchy(h3m, levels=(3, 3))
    with pytest.raises(ValueError, match=r"levels\[0\] is 0"):
        cluster_hierarchy(h3m, levels=(0,))
    with pytest.raises(ValueError, match="n_components is 8"):
        cluster_hierarchy(h3m, levels=(8, 4))
    with pytest.raises(TypeError, match="EMH3M cannot cluster a H3M"):
        cluster_hierarchy(h3m, levels=(2,), estimator=EMH3M())
    with pytest.raises(TypeError, match=r"base\[0\] is a ndarray, .* for sequences there is EMH3M"):
        cluster_hierarchy([np.ones((5, 2))], levels=(1,), estimator=VHEM())
    for wrong in (HEMGMM(), VHEM):
        with pytest.raises(TypeError, match=r"(HEMGMM|VHEM) makes no models"):
            cluster_hierarchy(h3m, levels=(2,), estimator=wrong)


def test_rand_index_of_the_motion_classes_has_the_bounds_that_the_notes_state():
    # Class sizes of the extended paper's Figure 2; clusters that are unions of whole classes.
    sizes = [9, 4, 11, 9, 4, 6, 7, 6]
    classes = np.repeat(np.arange(8), sizes)
    assert rand_score(classes, np.zeros(56)) == pytest.approx(0.123, abs=5e-4)
    # Such a clustering errs only on pairs of different classes in one cluster.
    pairs = np.triu(np.outer(sizes, sizes), 1)
    best = {2: 0.0, 4: 0.0}
    for unions in itertools.product(range(4), repeat=8):
        number = len(set(unions))
        if number in best:
            wrong = pairs[np.equal.outer(unions, unions)].sum()
            best[number] = max(best[number], 1 - wrong / (56 * 55 / 2))
    assert best[2] == pytest.approx(0.632, abs=5e-4)
    assert best[4] == pytest.approx(0.886, abs=5e-4)
