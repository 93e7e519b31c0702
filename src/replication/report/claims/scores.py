"""What every rule needs: scores of a metric, paired, and a comparison to state in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from replication.report.statistics import Interval

__all__ = [
    "Comparison",
    "Standing",
    "decide",
    "paired",
    "select",
    "sides",
    "tags_given_up",
]


class Standing(StrEnum):
    """Where an estimate and its interval lie beside what a claim says, from worst to best."""

    REVERSED = "reversed"
    UNDECIDED = "undecided"
    SAME_DIRECTION = "same direction, undecided"
    REPRODUCED = "reproduced"

    @classmethod
    def of(cls, holds: bool) -> Standing:
        """Return the standing of what is true or false, without an interval."""
        return cls.REPRODUCED if holds else cls.REVERSED


def decide(interval: Interval, border: float = 0.0) -> Standing:
    """Say where an interval lies beside the border above which a claim is true.

    On the border the claim does not hold: scores that are equal are no improvement. An estimate
    that was resampled can lie outside of its interval; then the interval is what counts.

    Examples
    --------
    >>> print(decide(Interval(0.013, -0.009, 0.035)))
    same direction, undecided
    >>> print(decide(Interval(-0.044, -0.053, -0.034)))
    reversed
    """
    if interval.low > border:
        return Standing.REPRODUCED
    if interval.high < border:
        return Standing.REVERSED
    return Standing.SAME_DIRECTION if interval.value > border else Standing.UNDECIDED


@dataclass(frozen=True)
class Comparison:
    """One statement of a claim in numbers.

    Parameters
    ----------
    name : str
        What is compared, with its unit.
    interval : Interval
    standing : Standing
    note : str
        What else a reader wants to know, as the statistic that the paper gives.
    """

    name: str
    interval: Interval
    standing: Standing
    note: str = ""

    def __str__(self) -> str:
        value, low, high = self.interval
        limits = "" if low == high == value else f" [{low:.3g}, {high:.3g}]"
        note = f" ({self.note})" if self.note else ""
        return f"{self.name}: {value:.3g}{limits}{note}: {self.standing}"


def select(scores: pd.DataFrame, metric: str, method: str | None = None) -> pd.DataFrame:
    """Return the rows of a metric (and method) of the main variant, all of them finite numbers.

    Scores that are undefined by right have no row; any other that is not a number is a failure, and
    comparisons with it would be false, or true, by chance.
    """
    chosen = scores[(scores["metric"] == metric) & (scores["variant"] == "")]
    if method is not None:
        chosen = chosen[chosen["method"] == method]
    if chosen.empty:
        raise LookupError(f"no scores {metric!r}" + (f" of {method!r}" if method else ""))
    # An empty cell of a file is read as text, and so are all others of its column.
    values = pd.to_numeric(chosen["value"], errors="coerce").astype(float)
    bad = chosen.loc[~np.isfinite(values), "method"]
    if not bad.empty:
        names = ", ".join(map(repr, sorted(bad.unique())))
        raise ValueError(
            f"{len(bad)} of {len(chosen)} scores {metric!r} are not finite numbers, of {names}"
        )
    return chosen.assign(value=values)


def sides(
    scores: pd.DataFrame, metric: str, keys: list[str], a: str, b: str
) -> tuple[pd.Series, pd.Series]:
    """Scores of two methods that agree in ``keys``; those that only one has are left out."""
    sides = []
    for method in (a, b):
        side = select(scores, metric, method).set_index(keys)["value"]
        repeated = side.index[side.index.duplicated()]
        if len(repeated):
            raise ValueError(
                f"several scores {metric!r} of {method!r} with the same {', '.join(keys)}, "
                f"e.g. {repeated[0]}: is it listed twice?"
            )
        sides.append(side)
    shared = sides[0].index.intersection(sides[1].index)
    if shared.empty:
        raise LookupError(f"no {metric!r} that {a!r} and {b!r} share")
    return sides[0].reindex(shared), sides[1].reindex(shared)


def paired(scores: pd.DataFrame, metric: str, keys: list[str], a: str, b: str) -> pd.Series:
    """Differences a - b of scores that agree in ``keys``."""
    first, second = sides(scores, metric, keys, a, b)
    return first - second


def tags_given_up(scores: pd.DataFrame) -> pd.Series:
    """Tags that methods gave up on, by method and fold, where there are any."""
    rows = scores[(scores["metric"] == "tags_given_up") & (scores["variant"] == "")]
    # Learning and scoring both count them.
    rows = rows.assign(fold=rows["fold"].astype(str), value=rows["value"].astype(float))
    counts = rows.groupby(["method", "fold"])["value"].max()
    return counts[counts > 0]
