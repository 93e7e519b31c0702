r"""What all estimators of the library do once they are fitted.

Their result is a mixture with weights :math:`\omega_j`. It judges two kinds of things. For a
sequence :math:`y`,

.. math:: \hat\jmath = \arg\max_j \, [\log \omega_j + \log p(y \mid j)], \qquad
          \text{score} = \frac1n \sum_i \log \sum_j \omega_j \, p(y_i \mid j);

for models, of which model :math:`i` stands for :math:`N_i` virtual samples that belong together
and have the expected log-likelihood :math:`l_{ij}` under component :math:`j` each (Equation 10 of
the NIPS paper),

.. math:: \hat\jmath = \arg\max_j \, [\log \omega_j + N_i l_{ij}], \qquad
          \text{score} = \frac{1}{\sum_i N_i} \sum_i \log \sum_j \omega_j \, e^{N_i l_{ij}}.

The first score is the mean log-likelihood of a sequence, the second the mean of the objective of
hierarchical EM for a virtual sample. Both are in nats, and larger is better.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ._inputs import as_h3m, first_of, is_hmm
from ._numerics import log_or_floor, logsumexp_last
from ._types import Floats, Integers

__all__ = ["SAMPLES_PER_MODEL", "MixtureClusterer", "assign", "virtual_counts"]


# Virtual samples for each base model (the extended paper's choice for motion): assignments are
# practically hard.
SAMPLES_PER_MODEL = 1e4


def virtual_counts(weights: Floats, samples_per_model: float) -> Floats:
    """``N_i``: virtual samples of each model, so many on average over those of positive weight."""
    total: float = samples_per_model * int((weights > 0).sum())
    counts: Floats = total * weights
    return counts


def assign(weights: Floats, log_likelihoods: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return assignments ``z`` (n, K), and the terms (n,) whose sum is the objective.

    Every E-step of the library ends here.

    Parameters
    ----------
    weights : ndarray of shape (K,)
        Mixture weights; zeros are allowed.
    log_likelihoods : ndarray of shape (n, K)
        Of one sequence, or expected of one virtual sample, in nats.
    counts : ndarray of shape (n,)
        How many such samples are assigned together: ``N w_i`` virtual ones, or 1 sequence.
    """
    joint = log_or_floor(weights) + counts[:, np.newaxis] * log_likelihoods
    evidence = logsumexp_last(joint)
    return np.exp(joint - evidence[:, np.newaxis]), evidence


class MixtureClusterer(ClusterMixin, BaseEstimator):
    """``fit_predict``, ``predict`` and ``score`` of an estimator whose result is ``model_``.

    A subclass that clusters models says in ``_expectations`` how they are judged. One that
    clusters models other than HMMs also overrides ``_is_model`` and ``_as_base``; one that
    clusters sequences takes no models at all.
    """

    model_: Any
    labels_: Integers
    _samples_per_model: float

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Lists of sequences of any length, or models, are no matrix of features.
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def fit_predict(self, X: Any, y: object = None, **options: Any) -> Integers:
        """Fit and return ``labels_``.

        Parameters
        ----------
        X : models or sequences
            What ``fit`` takes.
        y : ignored
        **options
            Keyword arguments of ``fit``.

        Returns
        -------
        ndarray of shape (n,), int
        """
        self.fit(X, y, **options)
        return self.labels_

    def predict(self, X: Any) -> Integers:
        """Component of each new model or sequence (the formulas are in the class's notes).

        Parameters
        ----------
        X : models or sequences
            What ``fit`` takes, or a list of sequences of shape (T_i, d).

        Returns
        -------
        ndarray of shape (n,), int

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        ValueError
            If the number of features differs from that of the fit.
        """
        check_is_fitted(self, "model_")
        first, X = first_of(X)
        if self._is_model(first):
            return self._nearest(self._new_base(X))
        return self._sequence_terms(X).argmax(axis=1)

    def score(self, X: Any, y: object = None) -> float:
        r"""How well the mixture explains models or sequences, in nats; larger is better.

        Parameters
        ----------
        X : models or sequences
            As for :meth:`predict`.
        y : ignored

        Returns
        -------
        float
            For sequences :math:`\frac1n \sum_i \log \sum_j \omega_j \, p(y_i \mid j)`, for
            models :math:`\frac{1}{\sum_i N_i} \sum_i \log \sum_j \omega_j e^{N_i l_{ij}}`, the
            mean bound of a virtual sample.
        """
        check_is_fitted(self, "model_")
        first, X = first_of(X)
        if not self._is_model(first):
            return float(self.model_.score_samples(X).mean())
        log_likelihoods, counts = self._expectations(self._new_base(X))
        _, evidence = assign(self._weights(), log_likelihoods, counts)
        return float(evidence[counts > 0].sum() / counts.sum())

    def _is_model(self, item: object) -> bool:
        return is_hmm(item)

    def _as_base(self, models: Any) -> Any:
        """Return models as one mixture."""
        return as_h3m(models)

    def _new_base(self, models: Any) -> Any:
        base = self._as_base(models)
        if base.n_features != self.model_.n_features:
            raise ValueError(
                f"models have {base.n_features} features, those of the fit {self.model_.n_features}"
            )
        return base

    def _weights(self) -> Floats:
        weights: Floats = self.model_.weights
        return weights

    def _expectations(self, base: Any) -> tuple[Floats, Floats]:
        """Return ``l_ij`` (n, K) of models and ``N_i`` (n,)."""
        raise NotImplementedError

    def _nearest(self, base: Any) -> Integers:
        """Return the component of each model."""
        responsibilities, _ = assign(self._weights(), *self._expectations(base))
        return responsibilities.argmax(axis=1)

    def _sequence_terms(self, sequences: Any) -> Floats:
        """Return ``log omega_j + log p(y_i | j)``, shape (n, K)."""
        terms: Floats = self.model_.component_log_likelihoods(sequences)
        return terms + log_or_floor(self._weights())
