r"""k-means in density space and in sliced-Wasserstein kernel spaces (CVPR 2016, Figure 5).

The paper: "In order to be able to compare the within-cluster sum-of-squares (aka the inertia) we
normalized the data by the average norm [...]. We repeated the k-means experiment 100 times and
measured the within-cluster sum-of-squares and the V-measure [...] at each iteration".

All spaces are given by Gram matrices, divided by the square of the mean norm. For a Gaussian kernel
every norm is 1, and :math:`K \to 11^T`, hence inertia :math:`\to 0`, as :math:`\gamma \to 0`: a low
inertia alone is a choice of :math:`\gamma`. Therefore the Euclidean Gaussian kernel at the same
:math:`\gamma\,\mathrm{median}(D)` stands beside the sliced-Wasserstein one, and three more scores
stand beside the inertia: its share of the total scatter :math:`\mathrm{tr}(HKH)`, the inertia of
the same clusters measured in the space of :math:`\phi_\sigma`, and a sweep over :math:`\gamma`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from scipy.special import entr
from sklearn.metrics import adjusted_mutual_info_score

from replication.arrays import AnyArray, Floats
from replication.images.kernels import SPACES
from replication.seeds import repetition_seed
from sliced_wasserstein import (
    KernelKMeans,
    center_gram,
    gaussian_kernel,
    kernel_scale,
    median_squared_distance,
    polynomial_kernel,
)

__all__ = [
    "cluster_repeatedly",
    "kernel_matrix",
    "resample_scores",
    "score_kmeans",
    "v_measures",
]


# Tens of thousands of clusterings of a few hundred images are scored: most of the time would go
# into checking arrays that were made here, and into sorting names instead of numbers.
@sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
def score_kmeans(
    matrices: Mapping[str, Floats],
    labels: AnyArray,
    *,
    methods: Iterable[str] = tuple(SPACES),
    repeats: int,
    gamma: float,
    degree: int,
    sweep: Sequence[float] = (),
    sweep_repeats: int = 0,
    resamples: int,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    """Do all of the protocol: repeated clustering, the sweep over gamma, resampled images.

    Parameters
    ----------
    matrices, labels, methods, gamma, degree, seed, experiment
        See :func:`cluster_repeatedly`.
    repeats : int
        Random starts in each space.
    sweep : sequence of float
        Values of gamma times the median squared distance at which the Gaussian kernels are
        clustered again, each a ``variant`` of the rows (``gamma_0.25``) that holds the runs of
        ``kmeans`` too, which knows no gamma.
    sweep_repeats : int
        Random starts at each gamma, at most ``repeats``; the seeds are those of ``repeats``.
    resamples : int
        Draws of half of the images, see :func:`resample_scores`.

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table`.
    """
    shared: dict[str, Any] = {"degree": degree, "seed": seed, "experiment": experiment}
    labels = np.unique(labels, return_inverse=True)[1]
    rows, found = cluster_repeatedly(
        matrices, labels, methods=methods, repeats=range(repeats), gamma=gamma, **shared
    )
    rows += resample_scores(matrices, labels, found, gamma=gamma, draws=resamples, **shared)
    without_gamma = [row for row in rows if row["method"] == "kmeans" and "repeat" in row]
    gaussian = [method for method in found if SPACES[method][1] == "gaussian"]
    for value in sweep if gaussian else ():
        varied, runs = cluster_repeatedly(
            matrices, labels, methods=gaussian, repeats=range(sweep_repeats), gamma=value, **shared
        )
        # Iterations are drawn at the main gamma only, and so is chance.
        varied = [
            row
            for row in [*varied, *without_gamma]
            if "item" not in row
            if row["method"] != "random_labels"
            if row["repeat"] < sweep_repeats
        ]
        runs |= {m: clusters[:sweep_repeats] for m, clusters in found.items() if m == "kmeans"}
        varied += resample_scores(matrices, labels, runs, gamma=value, draws=resamples, **shared)
        rows += [{**row, "variant": f"gamma_{value:g}"} for row in varied]
    return rows


def kernel_matrix(
    matrices: Mapping[str, Floats], method: str, *, gamma: float, degree: int
) -> Floats:
    """Gram matrix of a method's space, divided by the square of the mean norm.

    Parameters
    ----------
    matrices : mapping of str to ndarray of shape (n, n)
        Inner products and squared distances by the names that ``SPACES`` uses.
    method : str
        A key of :data:`replication.images.kernels.SPACES`.
    gamma : float
        Gaussian kernels: gamma times the median squared distance.
    degree : int
        Polynomial kernels.

    Returns
    -------
    ndarray of shape (n, n)
    """
    name, form = SPACES[method]
    matrix = matrices[name]
    if form == "gaussian":
        return gaussian_kernel(matrix, gamma / median_squared_distance(matrix))
    scaled = matrix / kernel_scale(np.diagonal(matrix))
    if form == "linear":
        return scaled
    kernel = polynomial_kernel(scaled, degree)
    return kernel / kernel_scale(np.diagonal(kernel))


def cluster_repeatedly(
    matrices: Mapping[str, Floats],
    labels: AnyArray,
    *,
    methods: Iterable[str] = tuple(SPACES),
    repeats: Iterable[int],
    gamma: float,
    degree: int,
    seed: int,
    experiment: str,
) -> tuple[list[dict[str, Any]], dict[str, npt.NDArray[np.int16]]]:
    """Run k-means with one random start a repetition in every space and score each iteration.

    Parameters
    ----------
    matrices : mapping of str to ndarray of shape (n, n)
    labels : ndarray of shape (n,)
        True classes; their number is the number of clusters, as in the paper.
    methods : iterable of str
        Keys of :data:`replication.images.kernels.SPACES`.
    repeats : iterable of int
        A repetition's result depends only on its number.
    gamma, degree
        See :func:`kernel_matrix`.
    seed : int
    experiment : str

    Returns
    -------
    rows : list of dict
        Rows for :func:`replication.report.metrics.metric_table`: ``inertia``,
        ``relative_inertia``, ``inertia_in_phi``, ``v_measure``, ``adjusted_mutual_information``
        and ``iterations`` of each run; ``iteration_inertia`` and ``iteration_v_measure`` with
        the iteration as ``item``; and the scores of ``random_labels``.
    found : dict of str to ndarray of shape (n_repeats, n)
        Cluster labels of each method.
    """
    repeats = list(repeats)
    n_clusters = len(np.unique(labels))
    phi = kernel_matrix(matrices, "sw_kmeans", gamma=gamma, degree=degree)
    rows: list[dict[str, Any]] = []
    found: dict[str, npt.NDArray[np.int16]] = {}
    for method in methods:
        kernel = kernel_matrix(matrices, method, gamma=gamma, degree=degree)
        scatter = float(np.trace(center_gram(kernel)))
        runs = []
        for repeat in repeats:
            state = repetition_seed(seed, f"{experiment}/kmeans", repeat)
            fitted = KernelKMeans(n_clusters, n_init=1, random_state=state).fit(kernel)
            runs.append(fitted.labels_.astype(np.int16))
            shared = {"method": method, "repeat": repeat, "seed": state}
            scores = {
                "inertia": fitted.inertia_,
                "relative_inertia": fitted.inertia_ / scatter,
                "inertia_in_phi": _inertia(phi, fitted.labels_),
                **_agreement(labels, fitted.labels_),
                "iterations": float(fitted.n_iter_),
            }
            rows += [{**shared, "metric": m, "value": value} for m, value in scores.items()]
            steps = v_measures(labels, np.asarray(fitted.labels_history_))
            for iteration, (inertia, v_measure) in enumerate(
                zip(fitted.history_, steps, strict=True)
            ):
                step = {**shared, "item": iteration}
                rows.append({**step, "metric": "iteration_inertia", "value": inertia})
                rows.append({**step, "metric": "iteration_v_measure", "value": v_measure})
        found[method] = np.array(runs)
    for repeat in repeats:
        state = repetition_seed(seed, f"{experiment}/random_labels", repeat)
        drawn = np.random.default_rng(state).integers(n_clusters, size=len(labels))
        shared = {"method": "random_labels", "repeat": repeat, "seed": state}
        rows += [
            {**shared, "metric": m, "value": value}
            for m, value in _agreement(labels, drawn).items()
        ]
    return rows, found


def resample_scores(
    matrices: Mapping[str, Floats],
    labels: AnyArray,
    found: Mapping[str, npt.NDArray[np.int16]],
    *,
    gamma: float,
    degree: int,
    draws: int,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    r"""Score halves of the images and of the runs, with the clusters fixed.

    The spread over k-means runs is initialisation noise; how far a score would move with other
    images is seen by leaving images out. A draw is half of the images and, for the mean over runs,
    half of the runs, both without replacement. With :math:`T_b` the score of draw :math:`b` and
    :math:`T` the mean score of all images and all these runs, the values are

    .. math:: T + T_b - \bar T_\cdot .

    The variance over parts with a share :math:`f` of the data, times :math:`f / (1 - f)`, estimates
    the sampling variance of the score of all data (delete-d jackknife); for halves the factor is 1.
    A bootstrap would not do: an image drawn twice lies in one class and one cluster with itself,
    which raises the V-measure even with fixed clusters. Few images raise it too, so that halves
    score higher than the whole; hence the values are centred on the score of all images. They can
    lie slightly above 1. With few images in a class the score is less linear than that asks for,
    and the spread of halves too large rather than too small. Clustering each half again would mix
    in the initialisation noise.

    The clusters are fixed and so are their centres :math:`m_c`. To first order that loses nothing:
    the inertia is smallest at its centres, so that moving them a little does not change it. With
    :math:`c(i)` the cluster of image :math:`i`, :math:`m` the mean of all :math:`n` images and
    :math:`S` the half, the inertia and the relative inertia are

    .. math:: n \, \frac{\mathrm{mean}_{i \in S} \|x_i - m_{c(i)}\|^2}
        {(\mathrm{mean}_{i \in S} \|x_i\|)^2} \quad\text{and}\quad
        \frac{\sum_{i \in S} \|x_i - m_{c(i)}\|^2}{\sum_{i \in S} \|x_i - m\|^2} .

    Parameters
    ----------
    matrices : mapping of str to ndarray of shape (n, n)
    labels : ndarray of shape (n,)
    found : mapping of str to ndarray of shape (n_repeats, n)
        As returned by :func:`cluster_repeatedly`; all methods have the same repeats. A single one
        shows no initialisation noise; of an odd number the smaller half is taken, which shows
        slightly more than there is.
    gamma, degree
        See :func:`kernel_matrix`.
    draws : int
    seed : int
    experiment : str

    Returns
    -------
    list of dict
        Rows with the metrics ``resampled_v_measure``, ``resampled_inertia`` and
        ``resampled_relative_inertia`` and the draw as ``item``; a draw takes the same images and
        runs for all methods, so that differences are paired.

    References
    ----------
    J. Shao, C. F. J. Wu, "A general theory for jackknife variance estimation", Annals of
    Statistics 17, 1989. D. N. Politis, J. P. Romano, M. Wolf, "Subsampling", Springer 1999.
    D. Pollard, "A central limit theorem for k-means clustering", Annals of Probability 10, 1982
    (the inertia with its own centres).
    """
    n, n_runs = len(labels), len(next(iter(found.values())))
    states = [
        repetition_seed(seed, f"{experiment}/kmeans_resampling", draw) for draw in range(draws)
    ]
    halves = []
    for state in states:
        rng = np.random.default_rng(state)
        images = np.sort(rng.permutation(n)[: n // 2])
        halves.append((rng.permutation(n_runs)[: max(1, n_runs // 2)], images))
    rows = []
    for method, runs in found.items():
        kernel = kernel_matrix(matrices, method, gamma=gamma, degree=degree)
        norms = np.sqrt(np.diagonal(kernel))
        scatter = _squared_distances(kernel, np.zeros(n, dtype=int))
        within = np.array([_squared_distances(kernel, clusters) for clusters in runs])
        whole = _scores_of_part(n, labels, runs, within, scatter, norms)
        parts = [
            _scores_of_part(
                n,
                labels[images],
                runs[np.ix_(chosen, images)],
                within[np.ix_(chosen, images)],
                scatter[images],
                norms[images],
            )
            for chosen, images in halves
        ]
        for metric, value in whole.items():
            of_parts = np.array([part[metric] for part in parts])
            centred = value + of_parts - of_parts.mean()
            rows += [
                {
                    "method": method,
                    "item": draw,
                    "metric": f"resampled_{metric}",
                    "value": float(centred[draw]),
                    "seed": state,
                }
                for draw, state in enumerate(states)
            ]
    return rows


def _scores_of_part(
    n: int,
    labels: AnyArray,
    clusters: AnyArray,
    within: Floats,
    scatter: Floats,
    norms: Floats,
) -> dict[str, float]:
    """Scores of some images, the inertia as of ``n`` images, averaged over runs.

    ``clusters`` and the squared distances from their centres, ``within``, have a row a run;
    ``scatter`` holds the squared distances from the mean of all images.
    """
    inertia = float(within.mean())
    return {
        "v_measure": float(v_measures(labels, clusters).mean()),
        "inertia": n * inertia / float(norms.mean()) ** 2,
        "relative_inertia": inertia / float(scatter.mean()),
    }


def v_measures(labels: AnyArray, clusterings: AnyArray) -> Floats:
    r"""V-measure of many clusterings of the same samples.

    .. math:: V = \frac{2\, I(L; C)}{H(L) + H(C)} ,

    with the entropies and the mutual information of class and cluster; 1 if both are constant.
    The same as :func:`sklearn.metrics.v_measure_score` of each, most of whose time goes into
    checking each pair of arrays anew.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    clusterings : ndarray of int, shape (n_clusterings, n)

    Returns
    -------
    ndarray of shape (n_clusterings,)

    References
    ----------
    A. Rosenberg, J. Hirschberg, "V-measure: a conditional entropy-based external cluster
    evaluation measure", EMNLP 2007.
    """
    classes, truth = np.unique(labels, return_inverse=True)
    n_clusters = int(clusterings.max()) + 1
    cells = (truth * n_clusters + clusterings) + (
        np.arange(len(clusterings))[:, None] * (len(classes) * n_clusters)
    )
    counts = np.bincount(cells.ravel(), minlength=len(clusterings) * len(classes) * n_clusters)
    joint = counts.reshape(len(clusterings), len(classes), n_clusters) / len(labels)
    of_classes = entr(joint.sum(axis=2)).sum(axis=1)
    of_clusters = entr(joint.sum(axis=1)).sum(axis=1)
    information = of_classes + of_clusters - entr(joint).sum(axis=(1, 2))
    both = of_classes + of_clusters
    constant = both < 1e-12
    return np.where(constant, 1.0, 2 * information / np.where(constant, 1.0, both))


def _agreement(labels: AnyArray, clusters: AnyArray) -> dict[str, float]:
    return {
        "v_measure": float(v_measures(labels, clusters[None])[0]),
        "adjusted_mutual_information": float(adjusted_mutual_info_score(labels, clusters)),
    }


def _inertia(gram: Floats, clusters: AnyArray) -> float:
    """Within-cluster sum of squares of given clusters in the space of a Gram matrix."""
    return float(_squared_distances(gram, clusters).sum())


def _squared_distances(gram: Floats, clusters: AnyArray) -> Floats:
    """Squared distance of each point from the centre of its cluster."""
    distances = np.diagonal(gram).copy()
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        to_centre = gram[np.ix_(members, members)].mean(axis=1)
        distances[members] += to_centre.mean() - 2 * to_centre
    return distances
