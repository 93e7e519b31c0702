"""Spectral clustering of graphs whose parts are known."""

import numpy as np
import pytest

from vhem._spectral import cluster_points, spectral_embedding


def labels_of(affinity, n_clusters):
    with np.errstate(divide="ignore"):
        embedding, n_parts = spectral_embedding(np.log(affinity), n_clusters)
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
    embedding, n_parts = spectral_embedding(np.full((5, 5), -np.inf), 2)
    assert n_parts == 5
    assert np.isfinite(embedding).all()
