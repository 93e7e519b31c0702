import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, v_measure_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from sliced_wasserstein import (
    KernelKMeans,
    SlicedWassersteinEmbedding,
    center_gram,
    gaussian_kernel,
    gram_matrix,
    median_squared_distance,
    squared_distances,
)


@parametrize_with_checks(
    [KernelKMeans(n_clusters=2, n_init=2)],
    expected_failed_checks=lambda _: {"check_clustering": "fits points, not their Gram matrix"},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    points, labels = make_blobs(
        120, centers=6, n_features=4, cluster_std=1.0, center_box=(-8, 8), random_state=3
    )
    return points, labels


def inertia(points, labels):
    return sum(
        ((points[labels == c] - points[labels == c].mean(axis=0)) ** 2).sum()
        for c in np.unique(labels)
    )


def test_inertia_is_that_of_k_means_on_the_points(blobs):
    """Golden test 21: Gram-only inertia equals the inertia of explicit centres."""
    points, _ = blobs
    model = KernelKMeans(6, random_state=0).fit(gram_matrix(points))
    assert model.inertia_ == pytest.approx(inertia(points, model.labels_), rel=1e-9)


def test_reaches_the_partition_of_scikit_learn(blobs):
    points, truth = blobs
    model = KernelKMeans(6, random_state=0).fit(gram_matrix(points))
    reference = KMeans(6, n_init=10, random_state=0).fit(points)
    assert model.inertia_ == pytest.approx(reference.inertia_, rel=1e-9)
    assert adjusted_rand_score(model.labels_, reference.labels_) == 1
    assert v_measure_score(truth, model.labels_) > 0.9


def test_coordinates_of_kernel_pca_give_the_same_inertia(blobs):
    """Any Gram matrix, here a Gaussian one: its eigenvectors are points of the same geometry."""
    squared = squared_distances(blobs[0])
    kernel = gaussian_kernel(squared, 1 / median_squared_distance(squared))
    values, vectors = np.linalg.eigh(center_gram(kernel))
    coordinates = vectors * np.sqrt(np.maximum(values, 0))
    model = KernelKMeans(6, random_state=1).fit(kernel)
    assert model.inertia_ == pytest.approx(inertia(coordinates, model.labels_), rel=1e-9)


def test_k_means_in_v_is_k_means_with_sliced_wasserstein_distances(glcms):
    r"""Section 4.1: inertia = sum over clusters of (1/2m) sum of SW² within the cluster."""
    z = SlicedWassersteinEmbedding(n_angles=12).fit_transform(glcms)
    squared = squared_distances(z)
    model = KernelKMeans(3, random_state=0).fit(gram_matrix(z))
    within = sum(
        squared[np.ix_(model.labels_ == c, model.labels_ == c)].sum()
        / (2 * np.sum(model.labels_ == c))
        for c in range(3)
    )
    assert model.inertia_ == pytest.approx(within, rel=1e-6)
    # Distances alone, without any template or origin, give the same clusters.
    from_distances = KernelKMeans(3, random_state=0).fit(center_gram(-squared / 2))
    np.testing.assert_array_equal(from_distances.labels_, model.labels_)
    # No single member has a nearer centre: its distances to centres from SW² only.
    members = np.eye(3)[model.labels_] / np.bincount(model.labels_)
    to_centres = squared @ members - np.einsum("ic,ij,jc->c", members, squared, members) / 2
    np.testing.assert_array_equal(to_centres.argmin(axis=1), model.labels_)


def test_inertia_never_increases(blobs):
    gram = gram_matrix(blobs[0])
    for seed in range(20):
        model = KernelKMeans(9, n_init=1, random_state=seed).fit(gram)
        assert (np.diff(model.history_) <= 1e-9).all()
        assert model.history_[-1] == model.inertia_
        assert len(model.history_) == model.n_iter_ + 1


def test_max_iter_limits_the_assignments(blobs):
    gram = gram_matrix(blobs[0])
    stopped = KernelKMeans(9, n_init=1, max_iter=1, random_state=4).fit(gram)
    assert stopped.n_iter_ == 1
    assert stopped.inertia_ >= KernelKMeans(9, n_init=1, random_state=4).fit(gram).inertia_


def test_best_of_several_runs_is_kept(blobs):
    gram = gram_matrix(blobs[0])
    first = [KernelKMeans(9, n_init=1, random_state=s).fit(gram).inertia_ for s in range(5)]
    best = [KernelKMeans(9, n_init=8, random_state=s).fit(gram).inertia_ for s in range(5)]
    assert np.less_equal(best, first).all()
    assert np.ptp(best) < np.ptp(first)


def test_prediction_agrees_with_labels_and_with_new_points(blobs):
    points, _ = blobs
    model = KernelKMeans(6, random_state=0).fit(gram_matrix(points))
    np.testing.assert_array_equal(model.predict(gram_matrix(points)), model.labels_)
    centres = np.stack([points[model.labels_ == c].mean(axis=0) for c in range(6)])
    new = np.random.default_rng(0).uniform(-8, 8, (50, 4))
    nearest = squared_distances(new, centres).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(gram_matrix(new, points)), nearest)


def test_no_cluster_stays_empty_even_with_duplicates():
    points = np.repeat([[0.0], [1.0], [9.0]], 5, axis=0)
    model = KernelKMeans(3, random_state=0).fit(gram_matrix(points))
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    more = KernelKMeans(5, random_state=0).fit(gram_matrix(points))
    assert set(more.labels_) == set(range(5))
    each = KernelKMeans(15, random_state=0).fit(gram_matrix(points))
    assert set(each.labels_) == set(range(15))


def test_seed_decides(blobs):
    gram = gram_matrix(blobs[0])
    first, again = (KernelKMeans(9, n_init=1, random_state=5).fit(gram).labels_ for _ in range(2))
    np.testing.assert_array_equal(first, again)
    others = [KernelKMeans(9, n_init=1, random_state=s).fit(gram).labels_ for s in range(6, 12)]
    assert any((labels != first).any() for labels in others)


@pytest.mark.parametrize(
    ("parameters", "gram", "message"),
    [
        ({"n_clusters": 0}, np.eye(3), "n_clusters"),
        ({"n_init": 1.5}, np.eye(3), "n_init"),
        ({"max_iter": 0}, np.eye(3), "max_iter"),
        ({"n_clusters": 4}, np.eye(3), "4 clusters for n_samples=3"),
        ({"n_clusters": 2}, np.ones((3, 2)), "square"),
        ({"n_clusters": 2}, np.arange(9.0).reshape(3, 3), "symmetric"),
        ({"n_clusters": 2}, np.full((3, 3), np.nan), "NaN"),
    ],
)
def test_errors_name_the_fault(parameters, gram, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**parameters).fit(gram)


def test_before_fit():
    with pytest.raises(NotFittedError):
        KernelKMeans().predict(np.eye(3))
