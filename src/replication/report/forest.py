"""Figures ``extra_multiverse_*``: each claim under each choice that the papers leave open."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from replication.report.style import METHODS, PAGE_WIDTH, add_data_note, use_style

__all__ = ["plot_multiverse"]

#: Okabe and Ito's colours and a shape of its own for each standing.
_LOOKS = {
    "reproduced": ("#009E73", "o"),
    "same direction, undecided": ("#3A9BD1", ">"),
    "undecided": ("#8A8A8A", "d"),
    "mixed": ("#A85A8A", "P"),
    "reversed": ("#D55E00", "X"),
}
_IN_A_BAND = 7
_ROW = 0.135
#: Height of a line of a title.
_LINE = 0.092
#: Room for the name of a setting above its choices, in rows.
_GAP = 1.0
#: Letters of a setting's name on a line.
_LABEL = 34


def plot_multiverse(
    table: pd.DataFrame, notes: Iterable[Mapping[str, Any]], *, experiment: str
) -> Figure:
    """Draw a column a claim and a row a choice: the value and interval of its weakest comparison.

    The side of zero, or one, on which a claim holds is shaded; shape and colour say where the
    scores stand. Claims that no choice was varied for are not drawn.

    Parameters
    ----------
    table : pandas.DataFrame
        ``multiverse.csv``, see :func:`replication.report.multiverse.name_settings`.
    notes : iterable of mappings
        Data summaries, see :func:`replication.report.style.add_data_note`.
    experiment : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    table = table[(table["experiment"] == experiment) & (table["kind"] == "empirical")]
    # A file's column of numbers is one of texts where nothing could be compared in a row.
    table = table.assign(**table[["value", "low", "high"]].apply(pd.to_numeric))
    varied = table[table["setting"] != ""]
    claims = [claim for claim in table["id"].unique() if claim in set(varied["id"])]
    rows = _rows(varied)
    bands = [claims[i : i + _IN_A_BAND] for i in range(0, len(claims), _IN_A_BAND)] or [[]]
    height = _ROW * (max(rows.values(), default=0) + 1)
    titles = [max((_title(claim).count("\n") for claim in band), default=0) for band in bands]
    figure, axes = plt.subplots(
        len(bands),
        max(map(len, bands)) or 1,
        figsize=(PAGE_WIDTH, sum(height + 0.75 + _LINE * n for n in titles) + 0.5),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for band, of_band in zip(axes, bands, strict=True):
        for axis, claim in zip(band, of_band, strict=False):
            _draw(axis, table[table["id"] == claim], rows)
        for axis in band[len(of_band) :]:
            axis.set_visible(False)
        _name_rows(band[0], rows)
    present = [name for name in _LOOKS if name in set(table["standing"])]
    handles = [
        Line2D([], [], color=_LOOKS[name][0], marker=_LOOKS[name][1], markersize=4, label=name)
        for name in present
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(_LOOKS), fontsize=6)
    add_data_note(figure, notes)
    return figure


def _rows(varied: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Give each choice of each setting a row, numbers in ascending order; top is 0."""
    rows: dict[tuple[str, str], float] = {}
    row = -1.0
    for setting, group in varied.groupby("setting", sort=False):
        lines = len(textwrap.wrap(str(setting), _LABEL))
        choices = group["choice"].drop_duplicates()
        numbers = pd.to_numeric(choices, errors="coerce")
        if numbers.notna().all():
            choices = choices.iloc[numbers.argsort(kind="stable")]
        row += _GAP * lines
        for choice in choices:
            rows[str(setting), choice] = row
            row += 1
    return rows


def _draw(axis: Axes, claim: pd.DataFrame, rows: Mapping[tuple[str, str], float]) -> None:
    """Draw one claim under all choices, and its value under the main settings as a line."""
    main = claim.iloc[0]
    axis.axvline(main["value"], color="#5B5B5B", linewidth=0.6, linestyle=":", zorder=0.6)
    # Where nothing could be compared there is no standing, and no value.
    compared = (claim["setting"] != "") & claim["standing"].isin(list(_LOOKS))
    for entry in claim[compared].to_dict("records"):
        colour, marker = _LOOKS[entry["standing"]]
        row = rows[entry["setting"], entry["choice"]]
        axis.plot([entry["low"], entry["high"]], [row, row], color=colour, linewidth=1.2)
        # The main settings are hollow.
        face = "white" if entry["variant"] == "" else colour
        axis.plot(
            entry["value"],
            row,
            marker,
            color=colour,
            markerfacecolor=face,
            markersize=3.6,
            markeredgewidth=0.8,
        )
    low, high = axis.get_xlim()
    low, high = min(low, 0.0), max(high, 0.0)
    axis.set_xlim(low, high)
    axis.axvspan(0, high, color="#009E73", alpha=0.08, linewidth=0, zorder=0)
    axis.axvline(0, color="black", linewidth=0.6, zorder=0.5)
    axis.set_ylim(max(rows.values(), default=0) + 0.7, -0.9)
    axis.set_title(_title(main["id"]), fontsize=5.5)
    axis.set_xlabel(_unit(main["compared"]), fontsize=5.5)
    axis.tick_params(axis="x", labelsize=5.5)
    axis.xaxis.get_offset_text().set_fontsize(5.5)
    axis.locator_params(axis="x", nbins=3)
    axis.grid(axis="y", visible=False)


def _title(claim: str) -> str:
    """Write the name of a claim, a word a line; methods as in all other figures."""
    name, _, methods = claim.partition("/")
    words = name.split("-")[1:]
    if methods:
        a, b = (METHODS[m].label.removeprefix("SW-Polynomial ") for m in methods.split("-"))
        words += [f"{'SW ' if a.startswith('$') else ''}{a}", f"- {b}"]
    return "\n".join(words)


def _unit(compared: str) -> str:
    """Return the unit of a comparison, a word or two a line, or what it is without one."""
    unit = compared.rpartition("(")[2].rstrip(")") if compared.endswith(")") else "difference"
    return textwrap.fill(unit, 14)


def _name_rows(axis: Axes, rows: Mapping[tuple[str, str], float]) -> None:
    axis.set_yticks(list(rows.values()), [_short(choice) for _, choice in rows], fontsize=5.5)
    firsts: dict[str, float] = {}
    for (setting, _), row in rows.items():
        firsts.setdefault(setting, row)
    for setting, row in firsts.items():
        axis.annotate(
            textwrap.fill(setting, _LABEL),
            (0, row - 0.62),
            xycoords=("axes fraction", "data"),
            xytext=(-3, 0),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=5.5,
            fontweight="bold",
            annotation_clip=False,
        )


def _short(choice: str, longest: int = 34) -> str:
    return choice if len(choice) <= longest else f"{choice[: longest - 1]}…"
