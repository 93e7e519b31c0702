"""Intervals and tests that fit the quantity.

Corrected resampled t, percentiles of resampled values, parts of the data, paired t, Holm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Student's t by its functions: scipy.stats takes half a second to import.
from scipy.special import stdtr, stdtrit

from replication.arrays import Floats

__all__ = [
    "Interval",
    "corrected_resampled_t",
    "holm",
    "paired_t",
    "percentile_interval",
    "subsampling_interval",
]


class Interval(NamedTuple):
    """An estimate with its confidence limits."""

    value: float
    low: float
    high: float


def corrected_resampled_t(
    differences: npt.ArrayLike, test_share: float, level: float = 0.95
) -> Interval:
    r"""Mean of paired score differences over repeated cross-validation, with its interval.

    Training parts of different folds overlap, so their scores are correlated and the usual
    standard error is far too small. Nadeau and Bengio's correction replaces :math:`1/J` by
    :math:`1/J + n_\mathrm{test}/n_\mathrm{train}`:

    .. math:: \bar d \pm t_{J-1}
        \sqrt{\left(\frac1J + \frac{n_\mathrm{test}}{n_\mathrm{train}}\right) s_d^2} .

    Parameters
    ----------
    differences : array-like of shape (J,)
        One difference a test fold, over all repetitions and folds.
    test_share : float
        Share of the data in a test fold, e.g. 0.2 for five folds.
    level : float
        Confidence level.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        If there are fewer than two differences or ``test_share`` is not between 0 and 1.

    References
    ----------
    C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    R. R. Bouckaert, E. Frank, "Evaluating the replicability of significance tests for comparing
    learning algorithms", PAKDD 2004 (repeated cross-validation).
    """
    d = np.asarray(differences, dtype=float)
    if d.ndim != 1 or d.size < 2:
        raise ValueError(f"differences: at least two are needed, got shape {d.shape}")
    if not 0 < test_share < 1:
        raise ValueError(f"test_share must lie between 0 and 1, got {test_share}")
    variance = (1 / d.size + test_share / (1 - test_share)) * d.var(ddof=1)
    reach = stdtrit(d.size - 1, 0.5 + level / 2) * np.sqrt(variance)
    mean = float(d.mean())
    return Interval(mean, mean - float(reach), mean + float(reach))


def percentile_interval(value: float, draws: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Give an estimate the percentile interval of its resampled values.

    Parameters
    ----------
    value : float
        The estimate on all data.
    draws : array-like of shape (n_draws,)
        The estimate on each resample.
    level : float
        Confidence level.

    Returns
    -------
    Interval
    """
    tail = 50 * (1 - level)
    low, high = np.percentile(np.asarray(draws, dtype=float), [tail, 100 - tail])
    return Interval(float(value), float(low), float(high))


def subsampling_interval(
    value: float, draws: npt.ArrayLike, share: float, level: float = 0.95
) -> Interval:
    r"""Give an estimate the interval that its values on parts of the data stand for.

    Parts that share much of the data differ less than samples of the population do. With
    :math:`f` the share of the data in a part, the interval runs between percentiles of

    .. math:: T + \sqrt{\frac{f}{1 - f}} \, (T_b - \bar T_\cdot) ,

    where :math:`T` is the estimate on all data and :math:`T_b` on part :math:`b`: with that factor
    the variance of a mean is unbiased (delete-d jackknife). Centring takes out that the estimate
    depends on the size of the sample.

    Parameters
    ----------
    value : float
        The estimate on all data.
    draws : array-like of shape (n_draws,)
        The estimate on each part, drawn without replacement.
    share : float
        Size of a part over the size of all data.
    level : float
        Confidence level.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        If ``share`` is not between 0 and 1.

    References
    ----------
    J. Shao, C. F. J. Wu, "A general theory for jackknife variance estimation", Annals of
    Statistics 17, 1989. D. N. Politis, J. P. Romano, M. Wolf, "Subsampling", Springer 1999.

    Examples
    --------
    >>> low, high = subsampling_interval(5.0, [6.0, 8.0], share=0.8, level=1.0)[1:]
    >>> round(low, 9), round(high, 9)
    (3.0, 7.0)
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    parts = np.asarray(draws, dtype=float)
    scale = np.sqrt(share / (1 - share))
    return percentile_interval(value, value + scale * (parts - parts.mean()), level)


def paired_t(differences: npt.ArrayLike, level: float = 0.95) -> tuple[Interval, float]:
    """Test whether paired differences are zero on average.

    Parameters
    ----------
    differences : array-like of shape (n,)
        At least two.
    level : float
        Confidence level.

    Returns
    -------
    interval : Interval
        Mean with its t interval.
    p : float
        Two-sided p-value; 1 if all differences are zero, 0 if all are equal and not zero.

    Raises
    ------
    ValueError
        If there are fewer than two differences.
    """
    d = np.asarray(differences, dtype=float)
    if d.ndim != 1 or d.size < 2:
        raise ValueError(f"differences: at least two are needed, got shape {d.shape}")
    mean, error = float(d.mean()), float(d.std(ddof=1) / np.sqrt(d.size))
    reach = float(stdtrit(d.size - 1, 0.5 + level / 2)) * error
    # Without any spread the statistic is infinite, or 0 / 0.
    p = float(2 * stdtr(d.size - 1, -abs(mean) / error)) if error else float(mean == 0)
    return Interval(mean, mean - reach, mean + reach), p


def holm(p: npt.ArrayLike) -> Floats:
    """Adjust p-values for the number of tests (Holm 1979).

    The k-th smallest of n is multiplied by n - k + 1, and none may be smaller than one before it.

    Parameters
    ----------
    p : array-like of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        At most 1, in the order of ``p``.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
