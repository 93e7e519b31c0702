import numpy as np
import pytest
import scipy.linalg
import sklearn
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score, v_measure_score
from sklearn.pipeline import make_pipeline
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
from sliced_wasserstein.clustering import _fill_empty_clusters


class Gaussian:
    """A kernel with a name of its own: that of a function holds an address, no name for a test."""

    def __call__(self, x, y):
        return gaussian_kernel(squared_distances(x, y), 0.1)

    def __repr__(self):
        return "gaussian"


gaussian = Gaussian()


@parametrize_with_checks(
    [
        KernelKMeans(2, n_init=2),
        KernelKMeans(2, n_init=2, kernel="linear"),
        KernelKMeans(2, n_init=2, kernel=gaussian),
    ],
    expected_failed_checks=lambda estimator: (
        {
            "check_clustering": "fits points, not their Gram matrix",
            "check_estimators_dtypes": "cuts a Gram matrix to integers: no points have that one",
        }
        if estimator.kernel == "precomputed"
        else {}
    ),
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


class TestDuplicates:
    PLACES = np.array([[0, 0], [0, 1], [5, 5], [5, 6], [9, 0], [9, 1], [2, 8], [3, 8], [7, 3.0]])
    WHICH = np.array([0, 1, 2, 2, 0, 3, 4, 3, 1, 5, 6, 7, 7, 8, 8, 8, 8])

    @pytest.mark.parametrize("scale", [1e-150, 1.0, 1e140])
    @pytest.mark.parametrize("offset", [0.0, 1e3])
    @pytest.mark.parametrize("n_clusters", [2, 5, 8, 9])
    def test_equal_members_share_a_cluster_and_none_stays_empty(self, n_clusters, offset, scale):
        points = (self.PLACES[self.WHICH] + offset) * scale
        for seed in range(5):
            model = KernelKMeans(n_clusters, kernel="linear", n_init=1, random_state=seed)
            labels = model.fit_predict(points)
            assert len(set(zip(self.WHICH, labels, strict=True))) == 9
            assert set(labels) == set(range(n_clusters))

    def test_an_empty_cluster_takes_a_place_with_all_its_members(self):
        gram = gram_matrix(self.PLACES[self.WHICH])
        for n_clusters in (2, 5, 9):
            labels = _fill_empty_clusters(gram, np.zeros(17, np.intp), self.WHICH, n_clusters)
            assert len(set(zip(self.WHICH, labels, strict=True))) == 9
            assert set(labels) == set(range(n_clusters))

    @pytest.mark.parametrize("n_clusters", [10, 12, 17])
    def test_fewer_places_than_clusters_are_named(self, n_clusters):
        points = self.PLACES[self.WHICH]
        for kernel, data in (("linear", points), ("precomputed", gram_matrix(points))):
            with pytest.warns(ConvergenceWarning, match=f"9 < {n_clusters}"):
                model = KernelKMeans(n_clusters, kernel=kernel).fit(data)
            assert len(set(zip(self.WHICH, model.labels_, strict=True))) == 9
            assert len(set(model.labels_)) == 9
            assert model.inertia_ == 0
            np.testing.assert_array_equal(model.predict(data), model.labels_)

    @pytest.mark.parametrize("value", [0.0, 1.0, 1e300])
    def test_one_place_is_one_cluster(self, value):
        with pytest.warns(ConvergenceWarning, match="1 < 3"):
            model = KernelKMeans(3).fit(np.full((6, 6), value))
        assert set(model.labels_) == {0}
        assert model.inertia_ == 0


class TestKernels:
    def test_points_with_a_linear_kernel_are_their_gram_matrix(self, blobs):
        points, _ = blobs
        gram = KernelKMeans(6, random_state=0).fit(gram_matrix(points))
        linear = KernelKMeans(6, kernel="linear", random_state=0).fit(points)
        np.testing.assert_array_equal(linear.labels_, gram.labels_)
        new = np.random.default_rng(1).uniform(-8, 8, (40, 4))
        np.testing.assert_array_equal(linear.predict(new), gram.predict(gram_matrix(new, points)))
        centres = np.stack([points[linear.labels_ == c].mean(axis=0) for c in range(6)])
        score = -squared_distances(new, centres).min(axis=1).sum()
        assert linear.score(new) == pytest.approx(score, rel=1e-9)
        assert linear.score(points) == pytest.approx(-linear.inertia_, rel=1e-9)

    def test_a_callable_is_its_matrix(self, blobs):
        points, _ = blobs
        matrix = KernelKMeans(6, random_state=0).fit(gaussian(points, points))
        model = KernelKMeans(6, kernel=gaussian, random_state=0).fit(points)
        np.testing.assert_array_equal(model.labels_, matrix.labels_)
        np.testing.assert_array_equal(
            model.predict(points[:9] + 1), matrix.predict(gaussian(points[:9] + 1, points))
        )
        assert model.score(points) == pytest.approx(-model.inertia_, rel=1e-9)
        with pytest.raises(ValueError, match=r"kernel\(X, Y\) must return shape \(120, 120\)"):
            KernelKMeans(2, kernel=lambda x, y: x).fit(points)

    def test_a_gram_matrix_has_no_score_of_new_rows(self):
        assert not hasattr(KernelKMeans(), "score")
        assert hasattr(KernelKMeans(kernel="linear"), "score")

    def test_a_common_offset_changes_nothing(self, blobs):
        points = np.round(blobs[0] * 64) / 64
        near = KernelKMeans(6, kernel="linear", random_state=0).fit(points)
        far = KernelKMeans(6, kernel="linear", random_state=0).fit(points + 2.0**40)
        np.testing.assert_array_equal(far.labels_, near.labels_)
        assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-9)

    @pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-600, 2.0**480])
    def test_the_scale_of_points_changes_nothing(self, blobs, scale):
        points, _ = blobs
        expected = KernelKMeans(6, kernel="linear", random_state=0).fit(points)
        model = KernelKMeans(6, kernel="linear", random_state=0).fit(points * scale)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(points * scale), expected.labels_)
        assert model.inertia_ == expected.inertia_ * scale * scale
        assert model.score(points * scale) == expected.score(points) * scale * scale

    def test_points_whose_squares_overflow_are_named(self, blobs):
        points, _ = blobs
        model = KernelKMeans(6, kernel="linear", random_state=0)
        for scale in (1e200, 1e303):
            with pytest.raises(ValueError, match="X is too large"):
                model.fit(points * scale)
        model.fit(points)
        for method in (model.predict, model.score):
            with pytest.raises(ValueError, match="X is too large"):
                method(points * 1e200)

    @pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e200, 1e300])
    def test_the_scale_of_a_gram_matrix_changes_nothing(self, blobs, scale):
        gram = gram_matrix(blobs[0])
        gram /= np.abs(gram).max()
        expected = KernelKMeans(6, random_state=0).fit(gram)
        model = KernelKMeans(6, random_state=0).fit(gram * scale)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.inertia_ == pytest.approx(scale * expected.inertia_, rel=1e-9)

    def test_follows_the_embedding_in_a_pipeline(self, glcms):
        kmeans = KernelKMeans(3, kernel="linear", random_state=0)
        model = make_pipeline(SlicedWassersteinEmbedding(n_angles=6), kmeans)
        labels = model.fit_predict(glcms, np.arange(12))
        z = model[0].transform(glcms)
        expected = KernelKMeans(3, random_state=0).fit_predict(gram_matrix(z))
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_array_equal(model.predict(glcms), labels)

    def test_what_is_no_gram_matrix_is_refused(self, blobs):
        squared = squared_distances(blobs[0])
        for matrix in (-np.eye(5), 1 - np.eye(5), squared, np.tanh(squared / 50 - 1)):
            with pytest.raises(ValueError, match="X is not positive semi-definite"):
                KernelKMeans(2).fit(matrix)
        with pytest.raises(ValueError, match=r"kernel\(X, X\) is not positive semi-definite"):
            KernelKMeans(2, kernel=lambda x, y: -gram_matrix(x, y)).fit(blobs[0])

    def test_a_matrix_that_is_known_is_not_tested(self, blobs, monkeypatch):
        gram = gram_matrix(blobs[0])
        expected = KernelKMeans(6, random_state=0).fit(gram)
        monkeypatch.setattr(scipy.linalg, "cholesky", None)
        with sklearn.config_context(assume_finite=True):
            model = KernelKMeans(6, random_state=0).fit(gram)
        np.testing.assert_array_equal(model.labels_, expected.labels_)

    def test_rounding_and_constants_that_no_distance_sees_are_accepted(self, blobs):
        expected = KernelKMeans(6, random_state=0).fit(gram_matrix(blobs[0]))
        squared = squared_distances(blobs[0])
        for gram in (gram_matrix(blobs[0]).astype(np.float32), -squared / 2):
            labels = KernelKMeans(6, random_state=0).fit_predict(gram)
            assert adjusted_rand_score(labels, expected.labels_) == 1


def test_a_kernel_changed_after_fit_is_named(blobs):
    model = KernelKMeans(2, kernel="linear").fit(blobs[0]).set_params(kernel=gaussian)
    with pytest.raises(ValueError, match="kernel was 'linear' in fit"):
        model.predict(blobs[0])


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
        ({"n_clusters": 2}, np.ma.masked_equal(np.eye(3), 1), "X: masked values"),
        ({"n_clusters": 2}, np.eye(3) * 1j, "X has imaginary parts"),
        ({"n_clusters": 2}, np.eye(3) * 1.7e308, "X is too large"),
        ({"n_clusters": 2}, np.ones((3, 2)), 'for points write kernel="linear"'),
        ({"kernel": "rbf"}, np.eye(3), "kernel must be one of"),
        ({"kernel": ["linear"]}, np.eye(3), "kernel must be one of"),
    ],
)
def test_errors_name_the_fault(parameters, gram, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**parameters).fit(gram)


def test_before_fit():
    with pytest.raises(NotFittedError):
        KernelKMeans().predict(np.eye(3))
