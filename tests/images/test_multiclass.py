"""Pairwise coupling against its definition; three schemes that agree where classes are apart."""

import numpy as np
import pytest
from scipy.optimize import minimize

from replication.images.multiclass import SCHEMES, couple


def random_pairs(rng, k):
    r = np.tril(rng.uniform(0.05, 0.95, (k, k)), -1)
    return r + np.triu(1 - r.T, 1)


def test_coupling_minimises_its_objective():
    r = random_pairs(np.random.default_rng(0), 4)

    def objective(p):
        return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(4) for j in range(4))

    found = minimize(
        objective,
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        tol=1e-14,
    )
    np.testing.assert_allclose(couple(r), found.x, atol=1e-5)


def test_coupling_recovers_consistent_probabilities():
    p = np.array([0.5, 0.2, 0.2, 0.1])
    r = p[:, None] / (p[:, None] + p)
    np.testing.assert_allclose(couple(np.stack([r, r])), [p, p], atol=1e-12)


@pytest.mark.parametrize("names", ["abc", "ab"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_separate_what_is_separate(scheme, names):
    rng = np.random.default_rng(1)
    labels = np.repeat(list(names), 12)
    centres = {"a": (0, 5), "b": (5, 0), "c": (-5, -5)}
    points = np.array([centres[label] for label in labels]) + rng.normal(size=(len(labels), 2))
    train, test = np.arange(0, len(labels), 2), np.arange(1, len(labels), 2)
    gram = points @ points.T
    predicted = SCHEMES[scheme](
        gram[np.ix_(train, train)], labels[train], gram[np.ix_(test, train)], 1.0
    )
    np.testing.assert_array_equal(predicted, labels[test])
