r"""Hierarchical EM by actual sampling (SHEM-H3M).

Where :class:`vhem.VHEM` takes the expectation over virtual samples, this draws them: base HMM
:math:`i` gives :math:`n_i = \operatorname{round}(\omega_i n)` sequences :math:`Y_i` of length
:math:`\tau`, and EM for mixtures of HMMs is run on all of them, with one assignment for the
sequences of a base HMM,

.. math:: z_{ij} \propto \omega_j \prod_{y \in Y_i} p(y \mid \mathcal{M}_j).

It needs no variational bound, but every iteration goes through all sequences, and few of them
represent an HMM badly (Section 4 of [1]_).

References
----------
.. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm for
   clustering hidden Markov models", NIPS 2012.
"""

from __future__ import annotations

import time
from typing import Self

import numpy as np

from .._em import EMEstimator
from .._inputs import Models, as_h3m, check_available
from .._random import RandomState, draw_base, generator
from .._types import Floats, Integers
from .._validation import check_count
from ..em import EMH3M
from ..models import H3M

__all__ = ["SHEM"]


class SHEM(EMEstimator):
    r"""Reduce a mixture of HMMs by EM on sequences sampled from it.

    Parameters
    ----------
    n_components : int, default=2
        Number of reduced HMMs.
    n_samples : int, default=1000
        Sequences in all; the paper has 10 and 50 for each base HMM.
    length : int, default=10
        Length of the sequences, :math:`\tau`.
    n_states, n_mix : int, optional
        Hidden states and Gaussians per state of a reduced HMM; those of the base by default.
    init : {"base", "kmeans", "random"} or H3M, default="base"
        Start: from random base HMMs of positive weight, which must have the size wanted; from the
        sampled sequences as :class:`vhem.EMH3M` does it; or from a given mixture.
    n_init : int, default=10
        Number of starts of which the one with the highest objective is kept. A given mixture is
        started from once.
    tol : float or None, default=0.0001
        Stop when the objective changes by less than this per frame (nats). ``None`` never stops
        early.
    max_iter : int, default=100
        Largest number of M-steps.
    covariance_floor : float, default=1e-06
        Smallest variance, or smallest eigenvalue of a covariance matrix.
    n_jobs : int or None, default=None
        Threads; -1 for all processors. It changes no number.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Source of randomness of the samples and the starts.

    Attributes
    ----------
    model_ : H3M
        The reduced mixture.
    responsibilities_ : ndarray of shape (n_base, n_components)
        :math:`z_{ij}`. Base HMMs of weight zero have no samples, hence the mixture weights.
    labels_ : ndarray of shape (n_base,), int
        Most probable component of each base HMM.
    log_likelihoods_ : ndarray of shape (n_base, n_components)
        Mean log-likelihood, in nats, of the sequences from a base HMM: a Monte-Carlo estimate of
        what :func:`vhem.expected_log_likelihood` bounds. NaN where there are no samples.
    lower_bound_, history_, n_iter_, converged_, restart_objectives_
        As of :class:`vhem.EMH3M` on all sequences.
    timings_ : dict of str to float
        Seconds: ``"sampling"`` and ``"em"``.

    Notes
    -----
    ``predict`` and ``score`` sample new HMMs as ``fit`` does, with ``random_state`` again, so that
    with an integer there the models of the fit give the samples of the fit.
    """

    model_: H3M

    def __init__(
        self,
        n_components: int = 2,
        n_samples: int = 1000,
        length: int = 10,
        *,
        n_states: int | None = None,
        n_mix: int | None = None,
        init: str | H3M = "base",
        n_init: int = 10,
        tol: float | None = 1e-4,
        max_iter: int = 100,
        covariance_floor: float = 1e-6,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.n_samples = n_samples
        self.length = length
        self.n_states = n_states
        self.n_mix = n_mix
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.covariance_floor = covariance_floor
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, base: Models, y: object = None) -> Self:
        """Sample and reduce.

        Parameters
        ----------
        base : H3M, HMM, fitted hmmlearn model, or list of these
            The base mixture. The items of a list weigh the same.
        y : ignored

        Returns
        -------
        SHEM
            The estimator itself.

        Raises
        ------
        ValueError
            If a base HMM of positive weight gets no sample, there are fewer such HMMs than
            components, or a parameter is out of its range.
        """
        base = as_h3m(base, "base")
        for name in ("n_components", "n_samples", "length", "n_init"):
            check_count(name, getattr(self, name))
        check_available(self.n_components, base.weights)
        self._check_sizes(base)
        self._samples_per_model = self.n_samples / int((base.weights > 0).sum())
        counts = self._counts(base, self.n_samples)
        rng = generator(self.random_state)
        begun = time.perf_counter()
        sequences, groups = self._draw(base, counts, rng)
        sampled = np.flatnonzero(counts)
        ready = time.perf_counter()
        runs = [self._run(base, sequences, groups, child) for child in self._starts(rng)]
        best = max(runs, key=lambda em: em.lower_bound_)
        self.timings_ = {"sampling": ready - begun, "em": time.perf_counter() - ready}

        self.model_ = best.model_
        firsts = np.searchsorted(groups, sampled)
        self.responsibilities_ = np.tile(best.model_.weights, (len(base), 1))
        self.responsibilities_[sampled] = best.responsibilities_[firsts]
        self.labels_ = self.responsibilities_.argmax(axis=1)
        self.log_likelihoods_ = np.full((len(base), self.n_components), np.nan)
        sums = np.add.reduceat(best.log_likelihoods_, firsts, axis=0)
        self.log_likelihoods_[sampled] = sums / counts[sampled, None]
        self.lower_bound_ = best.lower_bound_
        self.history_ = best.history_
        self.n_iter_ = best.n_iter_
        self.converged_ = best.converged_
        self.restart_objectives_ = np.array([em.lower_bound_ for em in runs])
        return self

    def _check_sizes(self, base: H3M) -> None:
        for name in ("n_states", "n_mix"):
            wanted = getattr(self, name)
            if wanted is None:
                continue
            check_count(name, wanted)
            if self.init == "base" and wanted != getattr(base, name):
                raise ValueError(
                    f'{name} is {wanted}, but init="base" starts from HMMs with '
                    f'{getattr(base, name)}; use "kmeans"'
                )

    def _counts(self, base: H3M, n_samples: float) -> Integers:
        """Return the number of samples of each base HMM, of so many in all."""
        counts = np.rint(base.weights * n_samples).astype(np.int64)
        without = np.flatnonzero((counts == 0) & (base.weights > 0))
        if without.size:
            i = without[0]
            raise ValueError(
                f"n_samples is {n_samples:g}: base[{i}] of weight {base.weights[i]:.3g} gets "
                "no sample"
            )
        return counts

    def _draw(
        self, base: H3M, counts: Integers, rng: np.random.Generator
    ) -> tuple[list[Floats], Integers]:
        """Return sequences, and the base HMM that each comes from."""
        sampled = np.flatnonzero(counts)
        sequences: list[Floats] = []
        # A generator for each model: its samples do not depend on the others.
        for i, child in zip(sampled, rng.spawn(len(sampled)), strict=True):
            sequences.extend(base[int(i)].sample(int(counts[i]), self.length, child)[0])
        return sequences, np.repeat(sampled, counts[sampled])

    def _expectations(self, base: H3M) -> tuple[Floats, Floats]:
        present = int((base.weights > 0).sum())
        counts = self._counts(base, self._samples_per_model * present)
        sequences, _ = self._draw(base, counts, generator(self.random_state))
        log_likelihoods = self.model_.component_log_likelihoods(sequences)
        sampled = np.flatnonzero(counts)
        firsts = np.cumsum(counts[sampled]) - counts[sampled]
        means = np.zeros((len(base), len(self.model_)))
        means[sampled] = np.add.reduceat(log_likelihoods, firsts, axis=0) / counts[sampled, None]
        return means, counts.astype(np.float64)

    def _starts(self, rng: np.random.Generator) -> list[np.random.Generator]:
        return rng.spawn(1 if isinstance(self.init, H3M) else self.n_init)

    def _run(
        self, base: H3M, sequences: list[Floats], groups: Integers, rng: np.random.Generator
    ) -> EMH3M:
        init = self.init
        if isinstance(init, str) and init == "base":
            drawn = draw_base(base.weights, self.n_components, rng)
            init = H3M.from_hmms([base[int(i)] for i in drawn])
        em = EMH3M(
            self.n_components,
            base.n_states if self.n_states is None else self.n_states,
            base.n_mix if self.n_mix is None else self.n_mix,
            base.covariance_type,
            tol=self.tol,
            max_iter=self.max_iter,
            covariance_floor=self.covariance_floor,
            n_jobs=self.n_jobs,
            random_state=rng,
        )
        return em.fit(sequences, groups=groups, init=init)
