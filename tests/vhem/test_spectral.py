"""Spectral clustering of graphs whose parts are known."""

import numpy as np
import pytest

from vhem._spectral import cluster_centres, cluster_points, spectral_embedding


def labels_of(affinity, n_clusters):
    with np.errstate(divide="ignore"):
        embedding, n_parts, _ = spectral_embedding(np.log(affinity), n_clusters)
    labels, _ = cluster_points(embedding, n_clusters, 10, np.random.default_rng(0))
    return labels, n_parts


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("own", [0.0, 1.0])
@pytest.mark.parametrize("place", [0, 4, 8])
@pytest.mark.parametrize("scale", [1.0, 1e-200])
def test_node_without_an_edge_does_not_keep_two_blocks_together(n_clusters, own, place, scale):
    rng = np.random.default_rng(0)
    affinity = np.zeros((9, 9))
    for block in (slice(0, 4), slice(4, 8)):
        half = rng.uniform(0.9, 1.0, (4, 4))
        affinity[block, block] = half + half.T
    affinity[8, 8] = own
    order = np.insert(np.arange(8), place, 8)
    labels, n_parts = labels_of(scale * affinity[np.ix_(order, order)], n_clusters)
    labels = labels[np.argsort(order)]
    assert n_parts == 3
    assert len(set(labels[:4])) == len(set(labels[4:8])) == 1
    assert labels[0] != labels[4]
    if n_clusters == 3:
        assert labels[8] not in labels[:8]


def test_graph_without_edges_has_as_many_parts_as_nodes():
    embedding, n_parts, determined = spectral_embedding(np.full((5, 5), -np.inf), 2)
    assert n_parts == 5
    assert not determined
    assert np.isfinite(embedding).all()


def cliques(sizes, between, rng):
    """Logarithms of affinities of cliques, and of what connects them."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    noise = rng.uniform(-0.1, 0.1, (len(labels), len(labels)))
    return np.where(labels[:, None] == labels, 0.0, between) + noise + noise.T, labels


@pytest.mark.parametrize(("between", "determined"), [(-3.0, True), (-100.0, False)])
def test_a_cut_through_equal_eigenvalues_is_told(between, determined):
    affinity, _ = cliques([3, 2, 4, 3], between, np.random.default_rng(0))
    assert spectral_embedding(affinity, 4).determined
    cut = spectral_embedding(affinity, 3)
    assert cut.determined == determined
    assert cut.n_parts == (1 if determined else 4)


@pytest.mark.parametrize("n_dimensions", [3, 4])
def test_rounding_changes_no_basis_of_equal_eigenvalues(n_dimensions):
    """As many parts as are wanted, or one more: the basis is theirs, in the items' order."""
    rng = np.random.default_rng(1)
    affinity, labels = cliques([3, 2, 4, 3], -1000.0, rng)
    expected = np.eye(4)[labels][:, :n_dimensions]
    for _ in range(5):
        points = spectral_embedding(
            affinity + 1e-12 * rng.normal(size=affinity.shape), n_dimensions
        )
        np.testing.assert_allclose(points.points, expected, atol=1e-9)


def test_signs_are_those_of_the_first_items():
    affinity, _ = cliques([5, 5], -1.0, np.random.default_rng(2))
    points = spectral_embedding(affinity, 3).points
    np.testing.assert_allclose(spectral_embedding(affinity + 1e-13, 3).points, points, atol=1e-9)
    assert (points[0, :2] > 0).all()


def test_of_a_pair_the_first_is_nearest_to_the_centre():
    rng = np.random.default_rng(3)
    for _ in range(50):
        pair = rng.normal(size=(2, 8))
        for points in (pair, pair + 1e-13 * rng.normal(size=(2, 8))):
            _, nearest, _ = cluster_centres(points, np.zeros(2, dtype=int))
            assert nearest == [0]
