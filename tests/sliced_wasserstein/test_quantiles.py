import itertools

import numpy as np
import ot
import pytest
from scipy.stats import wasserstein_distance

from sliced_wasserstein import wasserstein_1d
from sliced_wasserstein.quantiles import (
    bin_means,
    invert_cdf,
    quantile_edges,
    squared_w2_sorted,
)


def averaged(lefts, width, masses, n_quantiles):
    out = np.empty(n_quantiles)
    edges = quantile_edges(n_quantiles)
    bin_means(np.asarray(lefts, float), width, np.asarray(masses, float), edges, out)
    return out


def random_measure(rng, n):
    return rng.normal(size=n) * 5, rng.random(n) * (rng.random(n) < 0.7) + 1e-3


def test_edges_are_nested_and_end_at_0_and_1():
    edges = quantile_edges(16)
    assert edges[0] == 0
    assert edges[-1] == 1
    assert (np.diff(edges) > 0).all()
    np.testing.assert_allclose(quantile_edges(32)[::2], edges, atol=1e-16)
    np.testing.assert_allclose(edges, (1 - np.cos(np.pi * np.arange(17) / 16)) / 2, atol=1e-15)
    with pytest.raises(ValueError, match="n_quantiles"):
        quantile_edges(0)


def test_bin_means_of_a_uniform_segment_are_bin_centres():
    edges = quantile_edges(10)
    np.testing.assert_allclose(
        averaged([2.0], 3.0, [0.2], 10), 2 + 3 * (edges[1:] + edges[:-1]) / 2, atol=1e-14
    )


def test_bin_means_of_points_by_hand():
    # Q = 0 on (0, 1/4], 4 above; the two bins are halves.
    np.testing.assert_allclose(averaged([0.0, 4.0], 0.0, [1.0, 3.0], 2), [2.0, 4.0], atol=1e-15)


@pytest.mark.parametrize("width", [0.0, 0.5])
def test_bin_means_are_means_not_values(width):
    """Against a quadrature of the quantile function that is finer than any structure in it."""
    rng = np.random.default_rng(1)
    lefts = np.arange(40) * 0.5
    masses = rng.random(40) * (rng.random(40) < 0.5)
    edges = quantile_edges(9)
    u = (np.arange(200_000) + 0.5) / 200_000
    cdf = np.cumsum(masses) / masses.sum()
    index = np.searchsorted(cdf, u)
    below = np.concatenate([[0.0], cdf])[index]
    values = lefts[index] + width * (u - below) / (cdf[index] - below)
    expected = [values[(u > a) & (u < b)].mean() for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(averaged(lefts, width, masses, 9), expected, atol=2e-3)


@pytest.mark.parametrize("width", [0.0, 0.125])
def test_bin_means_keep_the_mean_and_increase(width):
    rng = np.random.default_rng(2)
    for _ in range(20):
        lefts = np.sort(rng.normal(size=50)).round(2) * 8
        masses = rng.random(50) * (rng.random(50) < 0.4)
        masses[7] += 1e-3
        means = averaged(lefts, width, masses, 32)
        centre = np.average(lefts + width / 2, weights=masses)
        np.testing.assert_allclose(means @ np.diff(quantile_edges(32)), centre, atol=1e-12)
        if width == 0:
            assert (np.diff(means) >= -1e-12).all()


def test_binned_distance_grows_to_the_exact_one():
    """Bin means are a projection: never above the exact value, and nested bins come closer."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        t = np.sort(rng.normal(size=60))
        a, b = rng.random((2, 60))
        exact = wasserstein_1d(t, t, a, b) ** 2
        values = []
        for n in (4, 8, 16, 64, 2048):
            difference = averaged(t, 0.0, a, n) - averaged(t, 0.0, b, n)
            values.append(difference**2 @ np.diff(quantile_edges(n)))
        assert (np.diff(values) >= -1e-14).all()
        assert values[-1] <= exact * (1 + 1e-12)
        assert values[-1] >= exact * 0.99


def test_generalised_inverse_takes_the_left_end_of_a_gap():
    edges = np.arange(5.0)
    masses = np.array([0.0, 0.5, 0.0, 0.5])
    u = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(invert_cdf(edges, masses, u), [1.0, 1.5, 2.0, 3.5, 4.0])


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_wasserstein_1d_equals_pot(p):
    rng = np.random.default_rng(4)
    for _ in range(10):
        x, a = random_measure(rng, 30)
        y, b = random_measure(rng, 47)
        expected = ot.wasserstein_1d(x, y, a / a.sum(), b / b.sum(), p=p) ** (1 / p)
        assert wasserstein_1d(x, y, a, b, p=p) == pytest.approx(expected, rel=1e-12)


def test_wasserstein_1d_equals_scipy_for_p_1():
    rng = np.random.default_rng(5)
    x, a = random_measure(rng, 30)
    y, b = random_measure(rng, 20)
    expected = wasserstein_distance(x, y, a, b)
    assert wasserstein_1d(x, y, a, b, p=1) == pytest.approx(expected, rel=1e-12)


def test_wasserstein_1d_is_the_cheapest_plan():
    """Eq. 1: no transport plan of a small problem beats the monotone one (linear programme)."""
    rng = np.random.default_rng(6)
    for p in (1, 2, 3):
        x, a = random_measure(rng, 7)
        y, b = random_measure(rng, 5)
        cost = np.abs(x[:, None] - y[None, :]) ** p
        best = ot.emd2(a / a.sum(), b / b.sum(), cost)
        assert wasserstein_1d(x, y, a, b, p=p) ** p == pytest.approx(best, rel=1e-9)


def test_merging_sorted_masses_agrees_with_the_general_formula():
    rng = np.random.default_rng(7)
    for _ in range(10):
        x, y = np.sort(rng.normal(size=40)), np.sort(rng.normal(size=25))
        a, b = rng.dirichlet(np.full(40, 0.3)), rng.dirichlet(np.full(25, 0.3))
        expected = wasserstein_1d(x, y, a, b) ** 2
        assert squared_w2_sorted(x, a, y, b) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1.0, 1e4, 1e155, 1e300])
def test_large_orders_approach_the_largest_step(scale):
    x, y = np.array([0.0, 1.0, 2.0, 9.0]) * scale, np.array([0.0, 1.0, 2.0, 4.0]) * scale
    assert wasserstein_1d(x, y, p=np.inf) / scale == pytest.approx(5, rel=1e-12)
    for p in (1, 2, 50, 600, 1e9):
        expected = 5 * 0.25 ** (1 / p)
        assert wasserstein_1d(x, y, p=p) / scale == pytest.approx(expected, rel=1e-12)


def test_rounding_of_cumulative_masses_is_no_step():
    """Sums of 0.1 differ in their last bits from tenths; points without mass are not there."""
    x = np.arange(10.0)
    assert wasserstein_1d(x, x + 0.25, np.full(10, 0.1), p=np.inf) == 0.25
    assert wasserstein_1d(x, x + 0.25, np.full(10, 0.1), p=1000) == pytest.approx(0.25, rel=1e-12)
    far = np.append(x, [-1e6, 1e6])
    assert wasserstein_1d(far, x, np.append(np.ones(10), [0, 0]), p=np.inf) == 0


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e300, 1.7e308, True])
def test_the_unit_of_masses_does_not_matter(weight):
    assert wasserstein_1d([0.0, 1.0, 5.0], [1.0, 2.0, 6.0], [weight] * 3) == pytest.approx(
        1, rel=1e-15
    )


def test_a_distance_beyond_the_largest_float_is_named():
    with pytest.raises(ValueError, match="too far apart"):
        wasserstein_1d([1.5e308], [-1.5e308])


def test_wasserstein_1d_does_not_depend_on_the_order_of_points():
    rng = np.random.default_rng(8)
    x, a = random_measure(rng, 20)
    y, b = random_measure(rng, 20)
    order = rng.permutation(20)
    value = wasserstein_1d(x, y, a, b)
    assert wasserstein_1d(x[order], y, a[order], b) == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [1.0]), "x must be a non-empty vector"),
        (([1.0], [[1.0]]), "y must be a non-empty vector"),
        (([1.0, np.nan], [1.0]), "x contains NaN or infinite values"),
        (([1.0, 2.0], [1.0], [1.0]), "x_weights has shape"),
        (([1.0, 2.0], [1.0], [1.0, -1.0]), "x_weights must be non-negative"),
        (([1.0], [1.0], None, [0.0]), "y_weights must be non-negative and not all zero"),
        (([1.0], [1.0], None, None, 0.5), "p must be a number at least 1"),
    ],
)
def test_wasserstein_1d_names_the_fault(arguments, message):
    with pytest.raises(ValueError, match=message):
        wasserstein_1d(*arguments)
