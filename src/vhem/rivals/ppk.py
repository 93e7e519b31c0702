r"""Spectral clustering of HMMs with the probability product kernel (PPK-SC).

The clustering is Ng, Jordan and Weiss's [1]_, from the logarithms of the kernel
(:mod:`vhem.rivals.kernel`, :mod:`vhem._spectral`); of HMMs it is due to Jebara, Song and
Thadani [2]_.

References
----------
.. [1] A. Y. Ng, M. I. Jordan, Y. Weiss, "On spectral clustering: analysis and an algorithm", NIPS
   2001.
.. [2] T. Jebara, Y. Song, K. Thadani, "Spectral clustering and embedding with hidden Markov
   models", ECML 2007.
"""

from __future__ import annotations

import copy
import time
import warnings
from typing import Self

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._clustering import SAMPLES_PER_MODEL, MixtureClusterer, virtual_counts
from .._inputs import Models, as_h3m
from .._parallel import single_threaded
from .._random import RandomState, generator
from .._spectral import cluster_centres, cluster_points, cluster_weights, spectral_embedding
from .._types import Floats, Integers
from .._validation import check_count, check_number
from ..models import H3M
from ..variational import VHEM, expected_log_likelihood
from .kernel import probability_product_kernel

__all__ = ["PPKSpectralClustering"]


# Models whose normalised log-kernel differs from 0 by no more than this are one distribution.
_SAME_MODEL = 1e-6


class PPKSpectralClustering(MixtureClusterer):
    r"""Cluster HMMs by spectral clustering of their probability product kernel (PPK-SC).

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters, at most the number of HMMs.
    power : float, default=0.5
        :math:`\lambda` of the kernel.
    length : int, default=10
        :math:`\tau` of the kernel.
    normalize : bool, default=True
        Whether the kernel is normalised.
    root : float or {"frame", "value"}, default=1
        The affinity is the kernel to the power ``1 / root``. 1 is the published method. In high
        dimension the kernels of different pairs differ by many orders of magnitude, so that each
        item sees only its nearest neighbour and the graph falls into more parts than there are
        clusters. ``"frame"``, the length, makes the affinity one per observation; ``"value"``, the
        length times the number of features, one per number.
    centers : {"nearest", "vhem"}, default="nearest"
        What represents a cluster: the HMM nearest to the cluster's centre in the embedding (the
        NIPS paper), or a novel HMM that :class:`vhem.VHEM` learns from the cluster, starting
        there (the extended paper's PPK-SC-hybrid).
    vhem : VHEM, optional
        Parameters for ``centers="vhem"``; its ``n_components`` and ``init`` are not used.
    n_init : int, default=10
        Starts of k-means.
    n_jobs : int or None, default=None
        Threads for the kernel; -1 for all processors. It changes no number.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Source of randomness of k-means.

    Attributes
    ----------
    model_ : H3M
        The clusters' centres, weighted by the clusters' sizes. A cluster is only made if there
        are enough distinct HMMs.
    labels_ : ndarray of shape (n,), int
        Cluster of each HMM.
    kernel_ : ndarray of shape (n, n)
        The kernel.
    embedding_ : ndarray of shape (n, n_clusters)
        Items in the space of the leading eigenvectors, on the unit sphere.
    embedding_centers_ : ndarray of shape (K, n_clusters)
        Centres of the clusters there.
    exemplars_ : ndarray of shape (K,), int
        The HMM nearest to each centre, among the cluster's own.
    n_parts_ : int
        Connected parts of the graph of affinities, where what is below rounding counts as none.
    determined_ : bool
        Whether the affinities determine the clusters. They do not if the graph has more parts than
        clusters, since nothing says which parts belong together, nor if equal eigenvalues lie on
        both sides of the cut, since rounding then chooses the eigenvectors. ``fit`` warns of it.
    history_ : ndarray of shape (1,)
        Within-cluster sum of squares in the embedding; k-means keeps no longer record.
    converged_ : bool
        Whether k-means, and VHEM for every cluster that it was asked for, converged.
    timings_ : dict of str to float
        Seconds: ``"kernel"``, ``"spectral"`` and ``"centers"``.

    Notes
    -----
    ``predict`` gives a new HMM to the centre in ``model_`` with which its kernel is largest. The
    papers do not extend the embedding to new models; those of the fit, whose ``labels_`` come from
    it, can change the cluster. ``score`` of models is the bound of :class:`vhem.VHEM` per virtual
    sequence, with the centres as its reduced mixture.

    References
    ----------
    .. [1] T. Jebara, Y. Song, K. Thadani, "Spectral clustering and embedding with hidden Markov
       models", ECML 2007.
    .. [2] A. Y. Ng, M. I. Jordan, Y. Weiss, "On spectral clustering: analysis and an algorithm",
       NIPS 2001.
    """

    model_: H3M
    labels_: Integers
    kernel_: Floats
    embedding_: Floats
    embedding_centers_: Floats
    exemplars_: Integers
    n_parts_: int
    determined_: bool
    _cut: bool
    history_: Floats
    converged_: bool
    timings_: dict[str, float]

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        power: float = 0.5,
        length: int = 10,
        normalize: bool = True,
        root: float | str = 1.0,
        centers: str = "nearest",
        vhem: VHEM | None = None,
        n_init: int = 10,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.power = power
        self.length = length
        self.normalize = normalize
        self.root = root
        self.centers = centers
        self.vhem = vhem
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, h3m: Models, y: object = None) -> Self:
        """Cluster the components of ``h3m``; their weights play no part.

        Parameters
        ----------
        h3m : H3M, HMM, fitted hmmlearn model, or list of these
            The HMMs.
        y : ignored

        Returns
        -------
        PPKSpectralClustering
            The estimator itself.

        Raises
        ------
        ValueError
            If there are more clusters than HMMs or a parameter is out of its range.
        """
        h3m = as_h3m(h3m, "h3m")
        self._check_parameters(h3m)
        rng = generator(self.random_state)
        begun = time.perf_counter()
        log_kernel = probability_product_kernel(
            h3m,
            power=self.power,
            length=self.length,
            normalize=self.normalize,
            log=True,
            n_jobs=self.n_jobs,
        )
        self.kernel_ = np.exp(log_kernel)
        kernel_done = time.perf_counter()
        with single_threaded():
            self.embedding_, self.n_parts_, self._cut = spectral_embedding(
                log_kernel / self._root(h3m), self.n_clusters
            )
            self._judge()
            distinct = _distinct(log_kernel)
            if distinct.max() + 1 < self.n_clusters:
                warnings.warn(
                    f"n_clusters is {self.n_clusters}, but only {distinct.max() + 1} HMMs are "
                    "distinct: every distinct HMM is a cluster",
                    UserWarning,
                    stacklevel=2,
                )
                self.labels_ = distinct
                self.converged_ = True
            else:
                self._warn()
                self.labels_, self.converged_ = cluster_points(
                    self.embedding_, self.n_clusters, self.n_init, rng
                )
            self._place_centres()
            spectral_done = time.perf_counter()
            learned = self._represent(h3m)
        self.converged_ = self.converged_ and learned
        self.timings_ = {
            "kernel": kernel_done - begun,
            "spectral": spectral_done - kernel_done,
            "centers": time.perf_counter() - spectral_done,
        }
        return self

    def _check_parameters(self, h3m: H3M) -> None:
        if check_count("n_clusters", self.n_clusters) > len(h3m):
            raise ValueError(f"n_clusters is {self.n_clusters}, but there are only {len(h3m)} HMMs")
        if isinstance(self.root, str):
            if self.root not in ("frame", "value"):
                raise ValueError(f'root is {self.root!r}, expected a number, "frame" or "value"')
        else:
            check_number("root", self.root, positive=True)
        check_count("n_init", self.n_init)
        if self.centers not in ("nearest", "vhem"):
            raise ValueError(f'centers is {self.centers!r}, expected "nearest" or "vhem"')

    def _root(self, h3m: H3M) -> float:
        if isinstance(self.root, str):
            return self.length * (h3m.n_features if self.root == "value" else 1)
        return self.root

    def _judge(self) -> None:
        """Set ``determined_``."""
        self.determined_ = self._cut and self.n_parts_ <= self.n_clusters

    def _warn(self) -> None:
        if not self.determined_:
            warnings.warn(
                f"the graph of affinities falls into {self.n_parts_} parts, more than n_clusters "
                f"= {self.n_clusters}: which of them belong together is not determined; a larger "
                "root connects them"
                if self.n_parts_ > self.n_clusters
                else f"eigenvalues {self.n_clusters} and {self.n_clusters + 1} of the affinities "
                "are equal: the clusters are not determined",
                UserWarning,
                stacklevel=3,
            )

    def _place_centres(self) -> None:
        """Set what follows from ``labels_`` and ``embedding_``."""
        self.embedding_centers_, self.exemplars_, spread = cluster_centres(
            self.embedding_, self.labels_
        )
        self.history_ = np.array([spread])

    def _represent(self, h3m: H3M) -> bool:
        """Set ``model_``; return whether all learning converged."""
        hmms = [h3m[int(i)] for i in self.exemplars_]
        converged = True
        if self.centers == "vhem":
            prototype = VHEM() if self.vhem is None else clone(self.vhem)
            for k, start in enumerate(hmms):
                members = [h3m[int(i)] for i in np.flatnonzero(self.labels_ == k)]
                prototype.set_params(n_components=1, init=H3M.from_hmms([start]))
                learned = prototype.fit(members)
                hmms[k] = learned.model_[0]
                converged = converged and learned.converged_
        self.model_ = H3M.from_hmms(hmms, cluster_weights(self.labels_))
        return converged

    def _expectations(self, base: H3M) -> tuple[Floats, Floats]:
        bounds = expected_log_likelihood(base, self.model_, self.length)
        return bounds, virtual_counts(base.weights, SAMPLES_PER_MODEL)

    def _nearest(self, base: H3M) -> Integers:
        log_kernel = probability_product_kernel(
            base,
            self.model_,
            power=self.power,
            length=self.length,
            normalize=self.normalize,
            log=True,
            n_jobs=self.n_jobs,
        )
        return log_kernel.argmax(axis=1)

    def merge(self, h3m: Models, n_clusters: int) -> PPKSpectralClustering:
        """Merge the clusters to fewer ones: the next level of a hierarchy.

        The centres of the clusters are clustered by k-means where they are, in the embedding of
        the first level (hierarchical k-means; Section 6.1 of the extended paper [1]_).

        Parameters
        ----------
        h3m : H3M, HMM, fitted hmmlearn model, or list of these
            The HMMs that this estimator was fitted to.
        n_clusters : int
            Number of merged clusters, at most the number of clusters.

        Returns
        -------
        PPKSpectralClustering
            Another fitted estimator; its ``labels_`` are those of the HMMs, and a merged cluster
            is represented by, or learned from, all HMMs in it. ``timings_`` holds the seconds
            spent on merging.

        References
        ----------
        .. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "Clustering hidden Markov models with
           variational HEM", Journal of Machine Learning Research 15:697-747, 2014.
        """
        check_is_fitted(self, "model_")
        h3m = as_h3m(h3m, "h3m")
        if len(h3m) != len(self.labels_):
            raise ValueError(
                f"h3m has {len(h3m)} HMMs, the estimator was fitted to {len(self.labels_)}"
            )
        if check_count("n_clusters", n_clusters) > len(self.embedding_centers_):
            raise ValueError(
                f"n_clusters is {n_clusters}, but there are only {len(self.embedding_centers_)} "
                "clusters to merge"
            )
        begun = time.perf_counter()
        merged = copy.copy(self).set_params(n_clusters=n_clusters)
        with single_threaded():
            labels, converged = cluster_points(
                self.embedding_centers_, n_clusters, self.n_init, generator(self.random_state)
            )
            merged.labels_ = labels[self.labels_]
            merged._judge()
            merged._place_centres()
            placed = time.perf_counter()
            merged.converged_ = merged._represent(h3m) and converged
        merged.timings_ = {
            "kernel": 0.0,
            "spectral": placed - begun,
            "centers": time.perf_counter() - placed,
        }
        return merged


def _distinct(log_kernel: Floats) -> Integers:
    """Return numbers of the distinct models: 0 for the first and all equal to it, and so on."""
    norms = np.diagonal(log_kernel)
    same = log_kernel - 0.5 * (norms[:, None] + norms) > -_SAME_MODEL
    _, numbers = connected_components(same, directed=False)
    return numbers.astype(np.int64)
