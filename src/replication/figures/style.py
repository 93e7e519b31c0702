"""One look for all figures: fonts, colours, the note on the data, and byte-stable files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from replication.io import atomic_path

__all__ = [
    "COLUMN_WIDTH",
    "METHODS",
    "PAGE_WIDTH",
    "Method",
    "add_data_note",
    "save_figure",
    "use_style",
]

#: Widths in inches of one column and of a full page of the proceedings.
COLUMN_WIDTH = 3.4
PAGE_WIDTH = 7.0


class Method(NamedTuple):
    """How a method looks in every figure."""

    label: str
    colour: str
    line: str = "-"


# Okabe and Ito's colours, which stay apart under the common kinds of colour blindness. Line
# styles repeat the distinction for prints in grey.
METHODS = {
    "pca": Method("PCA of densities", "#5B5B5B", "--"),
    "sw_kpca": Method("SW kernel PCA", "#0072B2", "-"),
}

_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # Without a fixed salt every SVG carries other ids, and equal figures differ in their bytes.
    "svg.hashsalt": "distributions-as-data",
}


def use_style() -> None:
    """Make the project's style matplotlib's current one, free of the user's own settings."""
    mpl.use("agg")
    mpl.rcdefaults()
    mpl.rcParams.update(_RC)


def add_data_note(figure: Figure, notes: Iterable[Mapping[str, Any]]) -> None:
    """Say inside the figure which data it shows.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    notes : iterable of mappings
        Data summaries (``results/<run>/data/<dataset>.json``) with the keys ``title``,
        ``origin`` and ``coverage``.
    """
    parts = []
    for note in notes:
        kind = "SYNTHETIC DATA" if note["origin"] == "synthetic" else "real data"
        parts.append(f"{kind}: {note['title']}, {note['coverage']}")
    figure.supxlabel("; ".join(parts), x=0.995, ha="right", fontsize=6, color="#5B5B5B")


def save_figure(figure: Figure, paths: Iterable[str | Path]) -> None:
    """Write a figure to each path, in the format of its suffix, atomically.

    Equal figures give equal bytes: no file carries a date.
    """
    metadata: dict[str, dict[str, Any]] = {
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
        ".png": {"Software": None},
    }
    for path in map(Path, paths):
        with atomic_path(path) as temporary:
            figure.savefig(temporary, metadata=metadata[path.suffix])
