"""Exponential and logarithm that a compiler can vectorise, and the mixture kernel built on them.

The C library's ``exp`` and ``log`` handle one number per call. In the loops of this library they
would take most of the time, so they are written here as straight-line arithmetic without branches
or calls, which LLVM turns into vector instructions. The error is below two units in the last
place on the ranges stated; tests compare with NumPy.

``fastmath={"contract"}`` permits fused multiply-adds and nothing else: no reordering, no
assumption about NaN or infinity.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from ._compile import compiled
from ._types import Floats

__all__ = [
    "LOG_ZERO",
    "SMALLEST_SUM",
    "fast_exp",
    "fast_log",
    "log_or_floor",
    "log_weighted_sum",
    "logsumexp_last",
    "mixture_terms",
]

# Stands for log 0 where an infinity would meet another one inside a matrix product.
LOG_ZERO = -1e30
# A sum of exponentials below this may have lost terms to underflow; above it, what was lost is
# beyond the last digit.
SMALLEST_SUM = 1e-280

_LOG2_E = 1.0 / math.log(2.0)
# log 2 in two parts; the high part has its last 32 bits clear, so that k * high is exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding and subtracting 1.5 * 2**52 rounds to an integer and leaves it in the low bits.
_ROUNDER = 6755399441055744.0
_EXP_UNDERFLOW = -708.0
# 1/n!, n = 2..13: the first neglected term is below 5e-18 for |r| <= log(2)/2.
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / math.factorial(n) for n in range(2, 14)
)
_MANTISSA = 0x000FFFFFFFFFFFFF
_ONE_BITS = 0x3FF0000000000000
# An integer e below 2**52 or'ed into these bits is the number 2**52 + e.
_TWO52_BITS = 0x4330000000000000
_TWO52_PLUS_BIAS = 4503599627370496.0 + 1023.0
_SQRT2 = math.sqrt(2.0)

_LANES = 64


def _bits_of_intrinsic(typing_context: Any, value: Any) -> Any:
    """Reinterpret a float64 as an int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


def _float_of_intrinsic(typing_context: Any, bits: Any) -> Any:
    """Reinterpret an int64 as a float64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


# Called here and not as decorators: their declared type wants the typing context from callers.
_bits_of: Any = intrinsic(_bits_of_intrinsic)
_float_of: Any = intrinsic(_float_of_intrinsic)


@njit(inline="always", fastmath={"contract"}, error_model="numpy")
def fast_exp(x: float) -> float:
    """``exp(x)`` for x <= 709; exactly 0 below -708, where the result is hardly normal."""
    shifted = x * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    r2 = r * r
    # Estrin's scheme: short dependency chains.
    low = (1.0 + r) + r2 * (_C2 + _C3 * r)
    middle = (_C4 + _C5 * r) + r2 * (_C6 + _C7 * r)
    high = (_C8 + _C9 * r) + r2 * (_C10 + _C11 * r)
    r4 = r2 * r2
    value = low + r4 * (middle + r4 * (high + r4 * (_C12 + _C13 * r)))
    scale = _float_of((_bits_of(shifted) + 1023) << 52)
    return value * scale if x >= _EXP_UNDERFLOW else 0.0


@njit(inline="always", fastmath={"contract"}, error_model="numpy")
def fast_log(x: float) -> float:
    """``log(x)`` for positive normal x; anything finite for others."""
    bits = _bits_of(x)
    exponent = _float_of(((bits >> 52) & 0x7FF) | _TWO52_BITS) - _TWO52_PLUS_BIAS
    mantissa = _float_of((bits & _MANTISSA) | _ONE_BITS)
    upper = mantissa > _SQRT2
    mantissa = 0.5 * mantissa if upper else mantissa
    exponent = exponent + 1.0 if upper else exponent
    # log m = 2 artanh f, f = (m - 1)/(m + 1), |f| <= 0.172.
    f = (mantissa - 1.0) / (mantissa + 1.0)
    s = f * f
    s2 = s * s
    s4 = s2 * s2
    low = (1.0 / 3.0 + s * (1.0 / 5.0)) + s2 * (1.0 / 7.0 + s * (1.0 / 9.0))
    high = (1.0 / 11.0 + s * (1.0 / 13.0)) + s2 * (1.0 / 15.0 + s * (1.0 / 17.0))
    tail = 2.0 * f * s * (low + s4 * (high + s4 * (1.0 / 19.0)))
    return exponent * _LN2_HIGH + (2.0 * f + (tail + exponent * _LN2_LOW))


@njit(inline="always", fastmath={"contract"}, error_model="numpy")
def log_weighted_sum(weights: Any, x: Any) -> float:
    """``log sum_b weights_b exp(x_b)`` over the positive weights, term by term."""
    top = -np.inf
    for b in range(x.size):
        if weights[b] > 0.0:
            top = max(top, np.log(weights[b]) + x[b])
    total = 0.0
    for b in range(x.size):
        if weights[b] > 0.0:
            total += np.exp(np.log(weights[b]) + x[b] - top)
    return top + np.log(total)


@compiled(fastmath={"contract"}, error_model="numpy")
def mixture_terms(terms: Any, log_sums: Any) -> None:
    """Normalise log-terms over the Gaussians of each mixture, in place.

    Parameters
    ----------
    terms : ndarray of shape (J, M, P), float32 or float64
        In: ``log c + log N`` for mixture j, Gaussian m, item p.
        Out: its share ``exp(terms - log_sums)``; the shares of a mixture sum to 1.
    log_sums : ndarray of shape (J, P), float64
        Out: ``logsumexp`` over m.
    """
    n_mixtures, n_gaussians, n_items = terms.shape
    top = np.empty(_LANES)
    total = np.empty(_LANES)
    for j in range(n_mixtures):
        for start in range(0, n_items, _LANES):
            n = min(_LANES, n_items - start)
            row = terms[j, 0, start : start + n]
            out = log_sums[j, start : start + n]
            if n_gaussians == 1:
                for p in range(n):
                    out[p] = row[p]
                    row[p] = 1.0
                continue
            for p in range(n):
                top[p] = row[p]
                total[p] = 0.0
            for m in range(1, n_gaussians):
                row = terms[j, m, start : start + n]
                for p in range(n):
                    top[p] = row[p] if row[p] > top[p] else top[p]
            for m in range(n_gaussians):
                row = terms[j, m, start : start + n]
                for p in range(n):
                    share = fast_exp(row[p] - top[p])
                    row[p] = share
                    total[p] += share
            for p in range(n):
                out[p] = top[p] + fast_log(total[p])
                total[p] = 1.0 / total[p]
            for m in range(n_gaussians):
                row = terms[j, m, start : start + n]
                for p in range(n):
                    row[p] *= total[p]


def log_or_floor(probabilities: Floats) -> Floats:
    """Logarithm with a huge finite negative number in place of log 0."""
    positive = probabilities > 0
    return np.where(positive, np.log(np.where(positive, probabilities, 1.0)), LOG_ZERO)


def logsumexp_last(x: Floats) -> Floats:
    """``log sum exp`` over the last axis of finite numbers or -inf with a finite maximum."""
    top = x.max(axis=-1, keepdims=True)
    return (top + np.log(np.exp(x - top).sum(axis=-1, keepdims=True)))[..., 0]
