r"""What the NIPS 2012 paper proves of VHEM, measured on the HMMs of a data set.

The bound is checked against what it bounds: with :math:`y^{(1)}, \dots, y^{(n)}` sequences drawn
from a base HMM i, the mean of :math:`\log p(y \mid j)` estimates the expectation under it, with a
standard error of its own. Neither the drawing nor the likelihood shares a line with the bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vhem import H3M, VHEM, expected_log_likelihood

__all__ = ["check_bounds"]

#: Base HMMs whose bounds are checked, and sequences drawn from each.
_N_MODELS = 12
_N_SEQUENCES = 200


def check_bounds(models: H3M, fitted: VHEM, length: int, random_state: int) -> list[dict[str, Any]]:
    r"""Measure how far the bound lies above the expectation, and the objective ever falls.

    Parameters
    ----------
    models : H3M
        Base HMMs, of which some are drawn.
    fitted : VHEM
        Fitted to them.
    length : int
        Length of the sequences, tau.
    random_state : int

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table`:

        ``bound_excess``
            largest :math:`(\mathcal{L}^{ij} - \bar\ell^{ij}) / s^{ij}` over base HMMs i and reduced
            HMMs j, with the Monte Carlo mean and its standard error; chance alone makes it 2 to 3
            where the bound is exact
        ``objective_fall``
            largest fall of the objective from one iteration to the next, over its size; negative
            if each one raised it
    """
    rng = np.random.default_rng(random_state)
    chosen = [models[int(i)] for i in rng.permutation(len(models))[:_N_MODELS]]
    bounds = expected_log_likelihood(chosen, fitted.model_, length)
    excess = -np.inf
    for model, of_model in zip(chosen, bounds, strict=True):
        sequences = list(model.sample(_N_SEQUENCES, length, rng)[0])
        found = fitted.model_.component_log_likelihoods(sequences)
        error = found.std(axis=0, ddof=1) / np.sqrt(_N_SEQUENCES)
        excess = max(excess, float(((of_model - found.mean(axis=0)) / error).max()))
    history = np.asarray(fitted.history_)
    falls = -np.diff(history) / np.abs(history[1:])
    scores = {"bound_excess": excess, "objective_fall": float(falls.max(initial=-np.inf))}
    return [{"metric": metric, "value": value} for metric, value in scores.items()]
