r"""The variational recursion between base and reduced HMMs, for many pairs at once.

For one pair (base :math:`i`, reduced :math:`j`) with Gaussian-mixture bounds
:math:`L(\beta,\rho)`, the tightest bound of the Markov family
:math:`\prod_t \phi_t(\rho_t \mid \rho_{t-1}, \beta_t)` (Equation 14 of the NIPS paper) is

.. math::
    s_t(\beta,\rho') = \log \sum_\rho A^{(r)}_{\rho'\rho}\, e^{L(\beta,\rho) + V_{t+1}(\beta,\rho)},
    \qquad V_t(\beta',\rho') = \sum_\beta A^{(b)}_{\beta'\beta}\, s_t(\beta,\rho'),

from :math:`V_{\tau+1} = 0` back to :math:`t = 1`, where the initial probabilities take the place
of the transitions. Three things make it fast.

*Exponentials factor.* With :math:`w_t(\beta,\rho) = e^{L + V_{t+1} - \max_\rho}`, both the sums
:math:`D_t = A^{(r)} w_t` and :math:`\phi_t = A^{(r)} w_t / D_t` need one exponential and one
logarithm per :math:`(\beta,\rho)` and no array over three states. Should a sum underflow
(a forbidden transition into the only good state), that pair is redone term by term in the log
domain.

*Lanes.* The last axis of every array runs over 16 pairs, so all arithmetic is vector arithmetic.

*Settling.* :math:`V_t(\beta',\rho') = \tilde V_t(\beta',\rho') + n_t(\beta')` with
:math:`\tilde V_t(\beta', 0) = 0`. Only :math:`\tilde V` enters :math:`w` and :math:`D`; once it
repeats itself to rounding, so do they, and the earlier steps reduce to
:math:`n_t = u + A^{(b)} n_{t+1}`. No assumption about the chains is needed: where nothing settles
every step is computed. Forwards, likewise, the occupancy that has stopped changing while
:math:`\phi` is constant is counted once for all remaining such steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._compile import compiled
from ._numerics import SMALLEST_SUM, fast_exp, fast_log, log_weighted_sum

__all__ = ["pair_bounds", "pair_statistics"]

_LANES = 16
# Units in the last place within which two successive values count as the same.
_SETTLED = 8 * float(np.finfo(np.float64).eps)


@compiled(fastmath={"contract"}, error_model="numpy")
def _gather(
    first: Any,
    pair_base: Any,
    pair_reduced: Any,
    gmm_bounds: Any,
    base_startprob: Any,
    base_transmat: Any,
    startprob: Any,
    transmat: Any,
    bounds: Any,
    pi_b: Any,
    A_b: Any,
    pi_r: Any,
    A_r: Any,
) -> None:
    """Copy up to 16 pairs, from ``first`` on, into lanes; spare lanes repeat the last pair."""
    n_base, n_reduced = bounds.shape[0], bounds.shape[1]
    for lane in range(_LANES):
        pair = min(first + lane, pair_base.size - 1)
        i, j = pair_base[pair], pair_reduced[pair]
        for b in range(n_base):
            pi_b[b, lane] = base_startprob[b, i]
            for c in range(n_base):
                A_b[b, c, lane] = base_transmat[b, c, i]
            for r in range(n_reduced):
                bounds[b, r, lane] = gmm_bounds[j, r, b, i]
        for r in range(n_reduced):
            pi_r[r, lane] = startprob[j, r]
            for q in range(n_reduced):
                A_r[r, q, lane] = transmat[j, r, q]


@compiled(fastmath={"contract"}, error_model="numpy")
def _backward(
    length: int,
    bounds: Any,
    pi_b: Any,
    A_b: Any,
    pi_r: Any,
    A_r: Any,
    w: Any,
    inverse: Any,
    w_first: Any,
    inverse_first: Any,
    values: Any,
    offsets: Any,
    total: Any,
    smallest: Any,
) -> int:
    """Backward recursion of one block of lanes.

    ``w`` and ``inverse`` (1 / D) receive step ``k``, that is t = length - k, in slot
    ``k % n_slots``; ``w_first`` and ``inverse_first`` those of t = 1; ``total`` the bound;
    ``smallest`` the smallest sum met, by which underflow is recognised.

    Returns
    -------
    int
        Number of steps computed before the recursion settled.
    """
    n_base, n_reduced = bounds.shape[0], bounds.shape[1]
    n_slots = w.shape[0]
    top = np.empty(_LANES)
    acc = np.empty(_LANES)
    sums = np.empty((n_base, n_reduced, _LANES))
    increments = np.zeros((n_base, _LANES))
    next_offsets = np.empty((n_base, _LANES))
    values[:] = 0.0
    offsets[:] = 0.0
    smallest[:] = 1.0
    steps = 0
    settled = False
    for _ in range(length - 1):
        if not settled:
            slot = steps % n_slots
            scale = 1.0
            for b in range(n_base):
                for lane in range(_LANES):
                    top[lane] = -np.inf
                for r in range(n_reduced):
                    for lane in range(_LANES):
                        x = bounds[b, r, lane] + values[b, r, lane]
                        top[lane] = x if x > top[lane] else top[lane]
                for r in range(n_reduced):
                    for lane in range(_LANES):
                        x = bounds[b, r, lane] + values[b, r, lane]
                        w[slot, b, r, lane] = fast_exp(x - top[lane])
                for q in range(n_reduced):
                    for lane in range(_LANES):
                        acc[lane] = 0.0
                    for r in range(n_reduced):
                        for lane in range(_LANES):
                            acc[lane] += A_r[q, r, lane] * w[slot, b, r, lane]
                    for lane in range(_LANES):
                        smallest[lane] = acc[lane] if acc[lane] < smallest[lane] else smallest[lane]
                        inverse[slot, b, q, lane] = 1.0 / acc[lane]
                        sums[b, q, lane] = top[lane] + fast_log(acc[lane])
                for lane in range(_LANES):
                    scale = max(scale, abs(top[lane]))
            change = 0.0
            for b in range(n_base):
                for r in range(n_reduced):
                    for lane in range(_LANES):
                        acc[lane] = 0.0
                    for c in range(n_base):
                        for lane in range(_LANES):
                            acc[lane] += A_b[b, c, lane] * sums[c, r, lane]
                    if r == 0:
                        for lane in range(_LANES):
                            increments[b, lane] = acc[lane]
                    for lane in range(_LANES):
                        value = acc[lane] - increments[b, lane]
                        difference = abs(value - values[b, r, lane])
                        change = difference if difference > change else change
                        values[b, r, lane] = value
            settled = change <= _SETTLED * scale
            steps += 1
        for b in range(n_base):
            for lane in range(_LANES):
                next_offsets[b, lane] = increments[b, lane]
            for c in range(n_base):
                for lane in range(_LANES):
                    next_offsets[b, lane] += A_b[b, c, lane] * offsets[c, lane]
        offsets[:] = next_offsets

    total[:] = 0.0
    for b in range(n_base):
        for lane in range(_LANES):
            top[lane] = -np.inf
            acc[lane] = 0.0
        for r in range(n_reduced):
            for lane in range(_LANES):
                x = bounds[b, r, lane] + values[b, r, lane]
                top[lane] = x if x > top[lane] else top[lane]
        for r in range(n_reduced):
            for lane in range(_LANES):
                x = bounds[b, r, lane] + values[b, r, lane]
                share = fast_exp(x - top[lane])
                w_first[b, r, lane] = share
                acc[lane] += pi_r[r, lane] * share
        for lane in range(_LANES):
            smallest[lane] = acc[lane] if acc[lane] < smallest[lane] else smallest[lane]
            inverse_first[b, lane] = 1.0 / acc[lane]
            total[lane] += pi_b[b, lane] * (top[lane] + fast_log(acc[lane]) + offsets[b, lane])
    return steps


@compiled(fastmath={"contract"}, error_model="numpy")
def _forward(
    length: int,
    steps: int,
    pi_b: Any,
    A_b: Any,
    pi_r: Any,
    A_r: Any,
    w: Any,
    inverse: Any,
    w_first: Any,
    inverse_first: Any,
    start: Any,
    occupancy: Any,
    transitions: Any,
) -> None:
    """Forward statistics of one block of lanes from the results of :func:`_backward`."""
    n_base, n_reduced = w_first.shape[0], w_first.shape[1]
    now = np.empty((n_base, n_reduced, _LANES))
    scaled = np.empty((n_base, n_reduced, _LANES))
    joint = np.empty((n_reduced, n_reduced, _LANES))
    acc = np.empty(_LANES)
    start[:] = 0.0
    transitions[:] = 0.0
    for b in range(n_base):
        for r in range(n_reduced):
            for lane in range(_LANES):
                share = pi_r[r, lane] * w_first[b, r, lane] * inverse_first[b, lane]
                now[b, r, lane] = pi_b[b, lane] * share
                start[r, lane] += now[b, r, lane]
                occupancy[b, r, lane] = now[b, r, lane]
    # The settled phi of slot steps - 1 serves t = 2, ..., length + 1 - steps.
    t = 2
    while t <= length:
        slot = min(length - t, steps - 1)
        for b in range(n_base):
            for q in range(n_reduced):
                for lane in range(_LANES):
                    acc[lane] = 0.0
                for c in range(n_base):
                    for lane in range(_LANES):
                        acc[lane] += now[c, q, lane] * A_b[c, b, lane]
                for lane in range(_LANES):
                    scaled[b, q, lane] = acc[lane] * inverse[slot, b, q, lane]
        for q in range(n_reduced):
            for r in range(n_reduced):
                for lane in range(_LANES):
                    acc[lane] = 0.0
                for b in range(n_base):
                    for lane in range(_LANES):
                        acc[lane] += scaled[b, q, lane] * w[slot, b, r, lane]
                for lane in range(_LANES):
                    joint[q, r, lane] = acc[lane] * A_r[q, r, lane]
        change = 0.0
        for b in range(n_base):
            for r in range(n_reduced):
                for lane in range(_LANES):
                    acc[lane] = 0.0
                for q in range(n_reduced):
                    for lane in range(_LANES):
                        acc[lane] += scaled[b, q, lane] * A_r[q, r, lane]
                for lane in range(_LANES):
                    value = acc[lane] * w[slot, b, r, lane]
                    difference = abs(value - now[b, r, lane])
                    change = difference if difference > change else change
                    now[b, r, lane] = value
        # A step that changed nothing stands for all that follow under the same phi.
        count = 1
        if change <= _SETTLED:
            count = max(1, length + 1 - steps - t + 1)
        for b in range(n_base):
            for r in range(n_reduced):
                for lane in range(_LANES):
                    occupancy[b, r, lane] += count * now[b, r, lane]
        for q in range(n_reduced):
            for r in range(n_reduced):
                for lane in range(_LANES):
                    transitions[q, r, lane] += count * joint[q, r, lane]
        t += count


@compiled(error_model="numpy")
def _exact(
    length: int,
    bounds: Any,
    pi_b: Any,
    A_b: Any,
    pi_r: Any,
    A_r: Any,
    start: Any,
    occupancy: Any,
    transitions: Any,
) -> float:
    """Bound and statistics of one pair, term by term in the log domain."""
    n_base, n_reduced = bounds.shape
    x = np.empty((length, n_base, n_reduced))
    sums = np.empty((length, n_base, n_reduced))
    values = np.zeros((n_base, n_reduced))
    for t in range(length - 1, 0, -1):
        x[t] = bounds + values
        for b in range(n_base):
            for q in range(n_reduced):
                sums[t, b, q] = log_weighted_sum(A_r[q], x[t, b])
        values[:] = 0.0
        for b in range(n_base):
            for c in range(n_base):
                for r in range(n_reduced):
                    values[b, r] += A_b[b, c] * sums[t, c, r]
    x[0] = bounds + values
    total = 0.0
    now = np.zeros((n_base, n_reduced))
    for b in range(n_base):
        first = log_weighted_sum(pi_r, x[0, b])
        total += pi_b[b] * first
        for r in range(n_reduced):
            if pi_r[r] > 0.0:
                now[b, r] = pi_b[b] * np.exp(np.log(pi_r[r]) + x[0, b, r] - first)
    start[:] = 0.0
    for b in range(n_base):
        start += now[b]
    occupancy[:] = now
    transitions[:] = 0.0
    after = np.empty((n_base, n_reduced))
    for t in range(1, length):
        after[:] = 0.0
        for b in range(n_base):
            for q in range(n_reduced):
                arriving = 0.0
                for c in range(n_base):
                    arriving += now[c, q] * A_b[c, b]
                for r in range(n_reduced):
                    if A_r[q, r] > 0.0:
                        log_share = np.log(A_r[q, r]) + x[t, b, r] - sums[t, b, q]
                        count = arriving * np.exp(log_share)
                        transitions[q, r] += count
                        after[b, r] += count
        now[:] = after
        occupancy += now
    return total


@compiled(fastmath={"contract"}, error_model="numpy")
def pair_bounds(
    length: int,
    pair_base: Any,
    pair_reduced: Any,
    gmm_bounds: Any,
    base_startprob: Any,
    base_transmat: Any,
    startprob: Any,
    transmat: Any,
    result: Any,
) -> None:
    """Lower bounds on the expected log-likelihood of one virtual sequence.

    Parameters
    ----------
    length : int
        Length of the virtual sequences, tau.
    pair_base, pair_reduced : ndarrays of shape (n_pairs,), int
        The pairs (i, j).
    gmm_bounds : ndarray of shape (Kr, Sr, Sb, n)
        L_GMM.
    base_startprob, base_transmat : ndarrays of shapes (Sb, n), (Sb, Sb, n)
        Base chains, one per column.
    startprob, transmat : ndarrays of shapes (Kr, Sr), (Kr, Sr, Sr)
        Reduced chains.
    result : ndarray of shape (n_pairs,)
        Out: L_HMM.
    """
    n_reduced, n_base = gmm_bounds.shape[1], gmm_bounds.shape[2]
    bounds = np.empty((n_base, n_reduced, _LANES))
    pi_b, A_b = np.empty((n_base, _LANES)), np.empty((n_base, n_base, _LANES))
    pi_r, A_r = np.empty((n_reduced, _LANES)), np.empty((n_reduced, n_reduced, _LANES))
    w, inverse = np.empty((2, 1, n_base, n_reduced, _LANES))
    w_first, values = np.empty((2, n_base, n_reduced, _LANES))
    inverse_first, offsets = np.empty((2, n_base, _LANES))
    total, smallest = np.empty((2, _LANES))
    # The exact recursion fills statistics as well; here nobody reads them.
    start = np.empty((n_reduced, _LANES))
    occupancy = np.empty((n_base, n_reduced, _LANES))
    transitions = np.empty((n_reduced, n_reduced, _LANES))
    for first in range(0, pair_base.size, _LANES):
        _gather(
            first, pair_base, pair_reduced, gmm_bounds, base_startprob, base_transmat,
            startprob, transmat, bounds, pi_b, A_b, pi_r, A_r,
        )  # fmt: skip
        _backward(
            length, bounds, pi_b, A_b, pi_r, A_r, w, inverse, w_first, inverse_first,
            values, offsets, total, smallest,
        )  # fmt: skip
        for lane in range(min(_LANES, pair_base.size - first)):
            if smallest[lane] < SMALLEST_SUM:
                total[lane] = _exact(
                    length, bounds[:, :, lane], pi_b[:, lane], A_b[:, :, lane], pi_r[:, lane],
                    A_r[:, :, lane], start[:, lane], occupancy[:, :, lane],
                    transitions[:, :, lane],
                )  # fmt: skip
            result[first + lane] = total[lane]


@compiled(fastmath={"contract"}, error_model="numpy")
def pair_statistics(
    length: int,
    pair_base: Any,
    pair_reduced: Any,
    gmm_bounds: Any,
    base_startprob: Any,
    base_transmat: Any,
    startprob: Any,
    transmat: Any,
    weights: Any,
    occupancies: Any,
    start_counts: Any,
    transition_counts: Any,
) -> None:
    """Sum expected state statistics under the optimal phi (Equation 16 of the NIPS paper).

    Parameters
    ----------
    length, pair_base, pair_reduced, gmm_bounds, base_startprob, base_transmat, startprob, transmat
        As in :func:`pair_bounds`.
    weights : ndarray of shape (n_pairs,)
        ``z_ij * omega_i``.
    occupancies : ndarray of shape (Kr, Sr, Sb, n)
        Out, at the pairs: weight times expected number of times in (rho, beta).
    start_counts, transition_counts : ndarrays of shapes (Kr, Sr), (Kr, Sr, Sr)
        The weighted counts of all pairs are added to them.
    """
    n_reduced, n_base = gmm_bounds.shape[1], gmm_bounds.shape[2]
    n_slots = max(1, length - 1)
    bounds = np.empty((n_base, n_reduced, _LANES))
    pi_b, A_b = np.empty((n_base, _LANES)), np.empty((n_base, n_base, _LANES))
    pi_r, A_r = np.empty((n_reduced, _LANES)), np.empty((n_reduced, n_reduced, _LANES))
    w, inverse = np.empty((2, n_slots, n_base, n_reduced, _LANES))
    w_first, values = np.empty((2, n_base, n_reduced, _LANES))
    inverse_first, offsets = np.empty((2, n_base, _LANES))
    total, smallest = np.empty((2, _LANES))
    start = np.empty((n_reduced, _LANES))
    occupancy = np.empty((n_base, n_reduced, _LANES))
    transitions = np.empty((n_reduced, n_reduced, _LANES))
    for first in range(0, pair_base.size, _LANES):
        _gather(
            first, pair_base, pair_reduced, gmm_bounds, base_startprob, base_transmat,
            startprob, transmat, bounds, pi_b, A_b, pi_r, A_r,
        )  # fmt: skip
        steps = _backward(
            length, bounds, pi_b, A_b, pi_r, A_r, w, inverse, w_first, inverse_first,
            values, offsets, total, smallest,
        )  # fmt: skip
        _forward(
            length, steps, pi_b, A_b, pi_r, A_r, w, inverse, w_first, inverse_first,
            start, occupancy, transitions,
        )  # fmt: skip
        for lane in range(min(_LANES, pair_base.size - first)):
            if smallest[lane] < SMALLEST_SUM:
                _exact(
                    length, bounds[:, :, lane], pi_b[:, lane], A_b[:, :, lane], pi_r[:, lane],
                    A_r[:, :, lane], start[:, lane], occupancy[:, :, lane],
                    transitions[:, :, lane],
                )  # fmt: skip
            pair = first + lane
            i, j, weight = pair_base[pair], pair_reduced[pair], weights[pair]
            for r in range(n_reduced):
                start_counts[j, r] += weight * start[r, lane]
                for b in range(n_base):
                    occupancies[j, r, b, i] = weight * occupancy[b, r, lane]
                for q in range(n_reduced):
                    transition_counts[j, q, r] += weight * transitions[q, r, lane]
