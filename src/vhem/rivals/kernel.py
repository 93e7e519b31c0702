r"""The probability product kernel between HMMs.

For two distributions the probability product kernel [1]_ is
:math:`\int p(y)^\lambda p'(y)^\lambda dy`; :math:`\lambda = 1/2` is Bhattacharyya's affinity. For
hidden Markov models it is intractable unless :math:`\lambda = 1`, so the power is taken inside
the sums over states and Gaussians (Section 4 of [1]_). With

.. math::

   \log \psi(p, q) &= \log \int \mathcal{N}(y; \mu_p, \Sigma_p)^\lambda
       \mathcal{N}(y; \mu_q, \Sigma_q)^\lambda dy \\
   &= \tfrac{(1 - 2\lambda) d}{2} \log 2\pi - \tfrac{d}{2} \log \lambda
       + \tfrac{1 - \lambda}{2} (\log|\Sigma_p| + \log|\Sigma_q|)
       - \tfrac12 \log|\Sigma_p + \Sigma_q|
       - \tfrac{\lambda}{2} \Delta^T (\Sigma_p + \Sigma_q)^{-1} \Delta

and :math:`\Delta = \mu_p - \mu_q`, states :math:`\beta, \rho` of the two models have

.. math::

   \Psi(\beta, \rho) &= \sum_{m, \ell} (c_{\beta m} c'_{\rho \ell})^\lambda \psi \\
   \Phi_1(\beta, \rho) &= (\pi_\beta \pi'_\rho)^\lambda \, \Psi(\beta, \rho) \\
   \Phi_t(\beta, \rho) &= \Psi(\beta, \rho) \sum_{\beta', \rho'}
       (A_{\beta' \beta} A'_{\rho' \rho})^\lambda \, \Phi_{t-1}(\beta', \rho'), \qquad
   k = \sum_{\beta, \rho} \Phi_\tau(\beta, \rho).

It is the scalar product of the functions :math:`\sum_x p(x, y)^\lambda` (sum over the hidden
variables), hence positive semi-definite, and after normalisation,
:math:`k_{ab} / \sqrt{k_{aa} k_{bb}}`, at most 1. Without normalisation it grows with the number of
states and the length, and measures that more than similarity. Everything is computed as
logarithms: in dimension 100 the kernel of two different motions is far below the smallest number.

References
----------
.. [1] T. Jebara, R. Kondor, A. Howard, "Probability product kernels", Journal of Machine Learning
   Research 5:819-844, 2004.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compile import compiled
from .._inputs import Models, as_h3m
from .._moments import as_matrices
from .._numerics import SMALLEST_SUM, fast_exp, fast_log, log_or_floor
from .._parallel import ordered_map
from .._types import Floats
from .._validation import check_count, check_number
from ..models import H3M

__all__ = ["probability_product_kernel", "sequence_overlaps"]

_LANES = 64
# HMMs of the second argument that one call of the compiled loop handles.
_COLUMNS_PER_BLOCK = 128


@compiled(fastmath={"contract"}, error_model="numpy")
def _diagonal_overlaps(
    mean: Any, variance: Any, means: Any, variances: Any, power: Any, out: Any
) -> None:
    """``log|V + V'| + power * D' (V + V')^-1 D`` of one Gaussian with many.

    Parameters
    ----------
    mean, variance : ndarrays of shape (d,)
        The one.
    means, variances : ndarrays of shape (d, Q)
        The many, one per column.
    power : float
        Lambda.
    out : ndarray of shape (Q,)
        Out.
    """
    n_features, n_gaussians = means.shape
    sums = np.empty(_LANES)
    for start in range(0, n_gaussians, _LANES):
        n = min(_LANES, n_gaussians - start)
        sums[:] = 0.0
        for k in range(n_features):
            row_means = means[k, start : start + n]
            row_variances = variances[k, start : start + n]
            for q in range(n):
                total = variance[k] + row_variances[q]
                difference = mean[k] - row_means[q]
                sums[q] += fast_log(total) + power * difference * difference / total
        out[start : start + n] = sums[:n]


@compiled(fastmath={"contract"}, error_model="numpy")
def _full_overlaps(mean: Any, covar: Any, means: Any, covars: Any, power: Any, out: Any) -> None:
    """As :func:`_diagonal_overlaps`, for matrices (d, d) and (Q, d, d) and means (Q, d)."""
    n_gaussians, n_features = means.shape
    factor = np.empty((n_features, n_features))
    whitened = np.empty(n_features)
    for q in range(n_gaussians):
        total = 0.0
        # Cholesky's factor of the sum row by row, and the difference whitened along with it.
        for i in range(n_features):
            for j in range(i):
                value = covar[i, j] + covars[q, i, j]
                for k in range(j):
                    value -= factor[i, k] * factor[j, k]
                factor[i, j] = value / factor[j, j]
            value = covar[i, i] + covars[q, i, i]
            difference = mean[i] - means[q, i]
            for k in range(i):
                value -= factor[i, k] * factor[i, k]
                difference -= factor[i, k] * whitened[k]
            factor[i, i] = np.sqrt(value)
            whitened[i] = difference / factor[i, i]
            total += np.log(value) + power * whitened[i] * whitened[i]
        out[q] = total


@compiled(fastmath={"contract"}, error_model="numpy")
def _state_overlaps(terms: Any, n_states: int, n_mix: int, out: Any) -> None:
    """Sum over the Gaussians of two states, in the log domain.

    Parameters
    ----------
    terms : ndarray of shape (S_a * M_a, K * S_b * M_b)
        Weighted ``log psi`` of Gaussians of one HMM with those of K others.
    n_states, n_mix : int
        S_a and M_b.
    out : ndarray of shape (S_a, K * S_b)
        Out: ``log Psi``.
    """
    n_own = terms.shape[0] // n_states
    for a in range(n_states):
        for b in range(out.shape[1]):
            block = terms[a * n_own : (a + 1) * n_own, b * n_mix : (b + 1) * n_mix]
            top = -np.inf
            for m in range(n_own):
                for n in range(n_mix):
                    top = max(top, block[m, n])
            total = 0.0
            for m in range(n_own):
                for n in range(n_mix):
                    total += fast_exp(block[m, n] - top)
            out[a, b] = top + fast_log(total)


@compiled(fastmath={"contract"}, error_model="numpy")
def _log_entry(log_a: Any, log_b: Any, log_phi: Any) -> float:
    """``log sum exp(log_a[i] + log_b[j] + log_phi[i, j])``, term by term."""
    top = -np.inf
    for i in range(log_a.size):
        for j in range(log_b.size):
            top = max(top, log_a[i] + log_b[j] + log_phi[i, j])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(log_a.size):
        for j in range(log_b.size):
            total += np.exp(log_a[i] + log_b[j] + log_phi[i, j] - top)
    return top + np.log(total)


@compiled(fastmath={"contract"}, error_model="numpy")
def sequence_overlaps(
    log_psi: Any,
    log_start: Any,
    log_transmat: Any,
    log_starts: Any,
    log_transmats: Any,
    length: int,
    out: Any,
) -> None:
    """Recursion over time for one HMM with many.

    Parameters
    ----------
    log_psi : ndarray of shape (S_a, K * S_b)
        Overlaps of the states.
    log_start, log_transmat : ndarrays of shapes (S_a,), (S_a, S_a)
        ``lambda log pi`` and ``lambda log A`` of the one; -inf for zeros.
    log_starts, log_transmats : ndarrays of shapes (K, S_b), (K, S_b, S_b)
        Those of the many.
    length : int
        Tau.
    out : ndarray of shape (K,)
        Out: log of the kernel.
    """
    n_others, n_columns = log_starts.shape
    n_rows = log_start.size
    transmat = np.exp(log_transmat)
    phi = np.empty((n_rows, n_columns))
    following = np.empty((n_rows, n_columns))
    shares = np.empty((n_rows, n_columns))
    half = np.empty((n_rows, n_columns))
    for k in range(n_others):
        psi = log_psi[:, k * n_columns : (k + 1) * n_columns]
        other = np.exp(log_transmats[k])
        for i in range(n_rows):
            for j in range(n_columns):
                phi[i, j] = log_start[i] + log_starts[k, j] + psi[i, j]
        for _ in range(length - 1):
            top = phi.max()
            for i in range(n_rows):
                for j in range(n_columns):
                    shares[i, j] = fast_exp(phi[i, j] - top)
            for i in range(n_rows):
                for j in range(n_columns):
                    total = 0.0
                    for h in range(n_rows):
                        total += transmat[h, i] * shares[h, j]
                    half[i, j] = total
            for i in range(n_rows):
                for j in range(n_columns):
                    total = 0.0
                    for h in range(n_columns):
                        total += half[i, h] * other[h, j]
                    if total > SMALLEST_SUM:
                        entry = top + fast_log(total)
                    else:
                        entry = _log_entry(log_transmat[:, i], log_transmats[k, :, j], phi)
                    following[i, j] = psi[i, j] + entry
            phi, following = following, phi
        top = phi.max()
        total = 0.0
        for i in range(n_rows):
            for j in range(n_columns):
                total += fast_exp(phi[i, j] - top)
        out[k] = top + fast_log(total)


class _PreparedMixture:
    """The arrays of a mixture in the order in which the compiled loops read them."""

    def __init__(self, h3m: H3M, centre: Floats, full: bool, power: float) -> None:
        components, states, mixtures = h3m.mixture_weights.shape
        features = h3m.n_features
        self.shape = (components, states, mixtures)
        self.means = (h3m.means - centre).reshape(-1, features)
        self.covars: Floats
        if full:
            covars = h3m.covars
            if covars.ndim == 4:
                covars = as_matrices(covars)
            self.covars = covars.reshape(-1, features, features)
            factors = np.linalg.cholesky(self.covars)
            log_determinants = 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        else:
            self.covars = h3m.covars.reshape(-1, features)
            log_determinants = np.log(self.covars).sum(axis=1)
        # What log psi holds of one Gaussian alone, weight included; half of the constants.
        constant = (1 - 2 * power) * np.log(2 * np.pi) - np.log(power)
        self.offsets = (
            power * log_or_floor(h3m.mixture_weights).ravel()
            + (1 - power) / 2 * log_determinants
            + features * constant / 4
        )
        with np.errstate(divide="ignore"):
            self.log_start = power * np.log(h3m.startprob)
            self.log_transmat = power * np.log(h3m.transmat)

    def gaussians(self, first: int, last: int) -> slice:
        """Rows of ``means``, ``covars`` and ``offsets`` of HMMs ``first`` to ``last - 1``."""
        per_model = self.shape[1] * self.shape[2]
        return slice(first * per_model, last * per_model)


def _log_kernel_row(
    own: _PreparedMixture,
    others: _PreparedMixture,
    power: float,
    length: int,
    a: int,
    first: int,
    last: int,
) -> Floats:
    """Log-kernel of HMM ``a`` with ``others[first:last]``."""
    _, states, _ = own.shape
    _, other_states, other_mixtures = others.shape
    full = own.covars.ndim == 3
    mine = own.gaussians(a, a + 1)
    rows = range(mine.start, mine.stop)
    result = np.empty(last - first)
    for begin in range(first, last, _COLUMNS_PER_BLOCK):
        end = min(begin + _COLUMNS_PER_BLOCK, last)
        columns = others.gaussians(begin, end)
        terms = np.empty((len(rows), columns.stop - columns.start))
        arrays = others.means[columns], others.covars[columns]
        # The compiled loop over diagonal Gaussians runs along the last axis.
        means, covars = arrays if full else (np.ascontiguousarray(array.T) for array in arrays)
        overlaps = _full_overlaps if full else _diagonal_overlaps
        for row, gaussian in zip(terms, rows, strict=True):
            overlaps(own.means[gaussian], own.covars[gaussian], means, covars, power, row)
        terms *= -0.5
        terms += own.offsets[mine, None]
        terms += others.offsets[columns]
        log_psi = np.empty((states, (end - begin) * other_states))
        _state_overlaps(terms, states, other_mixtures, log_psi)
        sequence_overlaps(
            log_psi,
            own.log_start[a],
            own.log_transmat[a],
            others.log_start[begin:end],
            others.log_transmat[begin:end],
            length,
            result[begin - first : end - first],
        )
    return result


def probability_product_kernel(
    h3m: Models,
    other: Models | None = None,
    *,
    power: float = 0.5,
    length: int = 10,
    normalize: bool = True,
    log: bool = False,
    n_jobs: int | None = None,
) -> Floats:
    r"""Probability product kernel between the HMMs of one mixture, or of two.

    The formulas are in the module's header. Memory is that of the result plus a few megabytes.

    Parameters
    ----------
    h3m : H3M, HMM, fitted hmmlearn model, or list of these
        The HMMs ``a``; their weights play no part.
    other : likewise, optional
        The HMMs ``b``; may have other numbers of states and Gaussians and another kind of
        covariance. By default those of ``h3m``.
    power : float, default=0.5
        :math:`\lambda > 0`.
    length : int, default=10
        :math:`\tau`, length of the sequences.
    normalize : bool, default=True
        Divide by :math:`\sqrt{k_{aa} k_{bb}}`, so that equal models have the kernel 1.
    log : bool, default=False
        Return the logarithm, which does not underflow.
    n_jobs : int or None, default=None
        Threads; -1 for all processors. It changes no number.

    Returns
    -------
    ndarray of shape (K_a, K_b)
        The kernel.

    Raises
    ------
    ValueError
        If the dimensions differ or a parameter is out of its range.

    References
    ----------
    .. [1] T. Jebara, R. Kondor, A. Howard, "Probability product kernels", Journal of Machine
       Learning Research 5:819-844, 2004, Equation 5 and Section 4.

    Examples
    --------
    >>> from vhem import H3M, HMM
    >>> def level(mean):
    ...     return HMM([1.0], [[1.0]], [[1.0]], [[[mean]]], [[[1.0]]])
    >>> kernel = probability_product_kernel(H3M.from_hmms([level(0.0), level(2.0)]), length=3)
    >>> kernel.round(4)  # Bhattacharyya's affinity, exp(-3 * 2**2 / 8)
    array([[1.    , 0.2231],
           [0.2231, 1.    ]])
    """
    check_number("power", power, positive=True)
    check_count("length", length)
    h3m = as_h3m(h3m, "h3m")
    other = None if other is None else as_h3m(other, "other")
    if other is not None and other.n_features != h3m.n_features:
        raise ValueError(f"other has {other.n_features} features, h3m has {h3m.n_features}")
    second = h3m if other is None else other
    full = "full" in (h3m.covariance_type, second.covariance_type)
    centre = h3m.means.mean(axis=(0, 1, 2))
    own = _PreparedMixture(h3m, centre, full, power)
    others = own if other is None else _PreparedMixture(second, centre, full, power)
    result = np.empty((len(h3m), len(second)))

    def row(a: int) -> Floats:
        # A mixture with itself has a symmetric kernel, of which the upper triangle will do.
        first = a if other is None else 0
        return _log_kernel_row(own, others, power, length, a, first, len(second))

    for a, values in enumerate(ordered_map(row, range(len(h3m)), n_jobs)):
        result[a, len(second) - len(values) :] = values
        if other is None:
            result[a:, a] = values
    # A power of variances may be beyond the range of double precision, or its logarithm's argument.
    if np.isnan(result).any():
        a, b = (int(k) for k in np.argwhere(np.isnan(result))[0])
        raise ValueError(
            f"the kernel of h3m[{a}] and {'h3m' if other is None else 'other'}[{b}] is not a "
            "number: their means or covariances are out of range, rescale them"
        )
    if normalize:
        norms = _log_squared_norms(own, power, length)
        other_norms = norms if other is None else _log_squared_norms(others, power, length)
        result -= 0.5 * (norms[:, None] + other_norms)
    return result if log else np.exp(result, out=result)


def _log_squared_norms(mixture: _PreparedMixture, power: float, length: int) -> Floats:
    """Log-kernel of each HMM with itself, shape (K,)."""
    return np.array(
        [
            _log_kernel_row(mixture, mixture, power, length, a, a, a + 1)[0]
            for a in range(mixture.shape[0])
        ]
    )
