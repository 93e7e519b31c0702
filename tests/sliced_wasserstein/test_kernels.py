import numpy as np
import pytest
from sklearn.decomposition import PCA

from sliced_wasserstein import (
    center_gram,
    change_template,
    gaussian_kernel,
    gram_matrix,
    kernel_scale,
    median_squared_distance,
    polynomial_kernel,
    squared_distances,
)


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(30, 50)).astype(np.float32)


def least_eigenvalue_ratio(kernel):
    values = np.linalg.eigvalsh(kernel)
    return values[0] / values[-1]


def test_gram_and_distances_are_summed_in_double_precision():
    """A common offset of 1000 would leave two digits of a single-precision sum."""
    rng = np.random.default_rng(1)
    z = (1000 + rng.normal(size=(20, 4000))).astype(np.float32)
    wide = z.astype(np.float64)
    expected = ((wide[:, None] - wide[None]) ** 2).sum(axis=2)
    squared = squared_distances(z)
    assert squared.dtype == np.float64
    np.testing.assert_allclose(squared, expected, rtol=1e-7)
    np.testing.assert_allclose(gram_matrix(z), wide @ wide.T, rtol=1e-14)


def test_blocks_of_features_change_nothing(points, monkeypatch):
    expected = gram_matrix(points)
    monkeypatch.setattr("sliced_wasserstein.kernels._BLOCK_VALUES", 7 * len(points))
    np.testing.assert_allclose(gram_matrix(points), expected, atol=1e-12)


def test_distances_are_symmetric_with_zero_diagonal(points):
    twice = np.vstack([points, points])
    squared = squared_distances(twice)
    np.testing.assert_array_equal(squared, squared.T)
    np.testing.assert_array_equal(np.diag(squared), 0.0)
    assert squared.min() >= 0


def test_cross_matrices_are_blocks_of_the_joint_ones(points):
    test, train = points[:10], points[10:]
    np.testing.assert_allclose(gram_matrix(test, train), gram_matrix(points)[:10, 10:], rtol=1e-12)
    np.testing.assert_allclose(
        squared_distances(test, train), squared_distances(points)[:10, 10:], rtol=1e-12
    )


def test_centred_gram_is_the_gram_of_centred_points(points):
    wide = points.astype(np.float64)
    centred = wide - wide.mean(axis=0)
    gram = center_gram(gram_matrix(points))
    np.testing.assert_allclose(gram, centred @ centred.T, atol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)


def test_cumulative_variance_of_the_centred_gram_is_that_of_pca(points):
    """Golden test 23."""
    wide = points.astype(np.float64)
    eigenvalues = np.linalg.eigvalsh(center_gram(gram_matrix(wide)))[::-1][:-1]
    cumulative = np.cumsum(eigenvalues) / eigenvalues.sum()
    assert (np.diff(cumulative) >= 0).all()
    assert cumulative[-1] == pytest.approx(1.0, abs=1e-14)
    expected = PCA().fit(wide).explained_variance_ratio_[:-1].cumsum()
    np.testing.assert_allclose(cumulative, expected, atol=1e-9)


def test_change_of_template_is_a_shift_of_the_points(points):
    wide = points.astype(np.float64)
    q = np.random.default_rng(2).normal(size=50)
    shifted = wide - q
    gram = gram_matrix(wide)
    np.testing.assert_allclose(
        change_template(gram, wide @ q, q @ q), shifted @ shifted.T, atol=1e-11
    )
    cross = change_template(gram[:10, 10:], wide[:10] @ q, q @ q, wide[10:] @ q)
    np.testing.assert_allclose(cross, shifted[:10] @ shifted[10:].T, atol=1e-11)


@pytest.mark.parametrize("c", [0.01, 0.1, 1.0, 10.0])
def test_gaussian_kernel_is_positive_definite(points, c):
    squared = squared_distances(points)
    kernel = gaussian_kernel(squared, c / median_squared_distance(squared))
    assert least_eigenvalue_ratio(kernel) >= -1e-10
    np.testing.assert_array_equal(np.diag(kernel), 1.0)


def test_gaussian_kernel_limits(points):
    squared = squared_distances(points)
    np.testing.assert_allclose(gaussian_kernel(squared, 1e-12), 1.0, atol=1e-9)
    np.testing.assert_allclose(gaussian_kernel(squared, 1e6), np.eye(30), atol=1e-9)


def test_in_its_scale_a_gram_matrix_has_no_unit(points):
    """The mean norm, or the mean squared norm, of what is divided by the scale is 1."""
    for unit in (1.0, 1e3):
        gram = gram_matrix(unit * points)
        norms = np.linalg.norm(unit * points, axis=1)
        assert kernel_scale(np.diag(gram)) == pytest.approx(norms.mean() ** 2, rel=1e-6)
        scaled = gram / kernel_scale(np.diag(gram), "squared_norm")
        assert np.trace(scaled) == pytest.approx(len(points))


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_polynomial_kernel_is_positive_definite(points, degree, coef0):
    """Theorem 6, for both kernels of its proof."""
    gram = gram_matrix(points)
    kernel = polynomial_kernel(gram / np.diag(gram).mean(), degree, coef0)
    assert least_eigenvalue_ratio(kernel) >= -1e-10


def test_homogeneous_and_inhomogeneous_polynomials_differ(points):
    """(<x,y> + 1)² = <x,y>² + 2<x,y> + 1."""
    gram = gram_matrix(points)
    np.testing.assert_allclose(
        polynomial_kernel(gram, 2, 1.0), polynomial_kernel(gram, 2) + 2 * gram + 1, rtol=1e-12
    )


def test_median_is_taken_over_pairs_without_the_diagonal():
    assert median_squared_distance([[0.0, 5.0], [5.0, 0.0]]) == 5.0
    with pytest.raises(ValueError, match="two members"):
        median_squared_distance([[0.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gram_matrix([1.0, 2.0]), "Z must be a non-empty matrix"),
        (lambda: gram_matrix([[1.0]], [[1.0, 2.0]]), "Z has 1 features, Y has 2"),
        (lambda: center_gram([[1.0, 2.0]]), "square"),
        (lambda: change_template([[1.0]], [1.0, 2.0], 1.0), "inner products of shapes"),
        (lambda: gaussian_kernel([[0.0]], 0.0), "gamma"),
        (lambda: gaussian_kernel([[0.0]], np.nan), "gamma"),
        (lambda: polynomial_kernel([[0.0]], 0), "degree"),
        (lambda: polynomial_kernel([[0.0]], 1.5), "degree"),
        (lambda: polynomial_kernel([[0.0]], 2, -1.0), "coef0"),
        (lambda: kernel_scale([1.0, -1.0]), "squared_norms"),
        (lambda: kernel_scale([1.0], "trace"), "average"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
