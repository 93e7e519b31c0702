"""One look for all figures: fonts, colours, the note on the data, and byte-stable files."""

from __future__ import annotations

import re
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
    "PANEL_LETTERS",
    "PANEL_TITLES",
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
    marker: str = "o"
    beyond_paper: bool = False


# Okabe and Ito's colours, which stay apart under the common kinds of colour blindness. Methods on
# densities have square markers and broken lines, those on sliced Wasserstein geometry round ones
# and full lines, so that the distinction survives a print in grey.
_GREY, _ORANGE, _SKY, _GREEN = "#5B5B5B", "#C27C00", "#3A9BD1", "#009E73"
_BLUE, _VERMILLION, _PURPLE = "#0072B2", "#D55E00", "#A85A8A"

METHODS = {
    "pca": Method("PCA of densities", _GREY, "--", "s"),
    "sw_kpca": Method("SW kernel PCA", _BLUE),
    "linear": Method("Linear", _GREY, "--", "s"),
    "rbf": Method("RBF", _ORANGE, "--", "s"),
    "sw_gaussian": Method("SW-RBF", _VERMILLION),
    "sw_polynomial": Method(r"SW-Polynomial $\langle\phi,\phi\rangle^d$", _GREEN),
    "sw_polynomial_1": Method(r"SW-Polynomial $(\langle\phi,\phi\rangle+1)^d$", _BLUE),
    "polynomial": Method(r"Polynomial $\langle I,I\rangle^d$", _SKY, "--", "s", True),
    "polynomial_1": Method(r"Polynomial $(\langle I,I\rangle+1)^d$", _SKY, "--", "D", True),
    "sw_polynomial_train": Method(
        r"SW-Polynomial $\langle\phi,\phi\rangle^d$, train template", _GREEN, "-.", "v", True
    ),
    "sw_polynomial_1_train": Method(
        r"SW-Polynomial $(\langle\phi,\phi\rangle+1)^d$, train template", _BLUE, "-.", "v", True
    ),
    "hellinger_rbf": Method("RBF on root densities (Hellinger)", _PURPLE, ":", "s", True),
    "chi_squared": Method(r"Exponential $\chi^2$", _PURPLE, ":", "D", True),
    "sw_mean_gaussian": Method("SW-RBF, mean shift only", _VERMILLION, "-.", "<", True),
    "sw_centred_gaussian": Method("SW-RBF, without mean shift", _VERMILLION, "-.", ">", True),
    "hog_linear": Method("Linear on raw HOG", _GREY, ":", "^", True),
    "kmeans": Method("k-means on densities", _GREY, "--", "s"),
    "sw_kmeans": Method("SW k-means", _BLUE),
    "sw_gaussian_kmeans": Method("SW-RBF k-means", _VERMILLION),
    "sw_polynomial_kmeans": Method("SW-polynomial k-means", _GREEN),
    "rbf_kmeans": Method("RBF k-means", _ORANGE, "--", "s", True),
    "vhem": Method("VHEM-H3M", _VERMILLION),
    "ppk_sc": Method("PPK-SC", _BLUE, "--", "s"),
    "ppk_sc_vhem": Method("PPK-SC, VHEM centres", _BLUE, "-.", "D"),
    "ppk_sc_literal": Method("PPK-SC, kernel itself", _SKY, "--", "s"),
    "ppk_sc_literal_vhem": Method("PPK-SC, kernel itself, VHEM centres", _SKY, "-.", "D"),
    "em_h3m": Method("EM-H3M", _BLUE, "--", "s"),
}

#: Titles of the panels of one experiment.
PANEL_TITLES = {"textures": "Textures", "faces": "Animal faces"}
#: Its letter in the paper's Figures 3 and 4, which it keeps in a figure of one panel.
PANEL_LETTERS = {"textures": "a", "faces": "b"}

_RC: Any = {
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

    Equal figures give equal bytes: no file carries a date. All formats share one layout.
    """
    # Matplotlib would search for the layout again for each file: a third of a figure's time.
    figure.set_dpi(mpl.rcParams["savefig.dpi"])
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    metadata: dict[str, dict[str, Any]] = {
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
        ".png": {"Software": None},
    }
    for path in map(Path, paths):
        with atomic_path(path) as temporary:
            figure.savefig(temporary, metadata=metadata[path.suffix])
            if path.suffix == ".svg":
                _number_clip_paths(temporary)


def _number_clip_paths(path: Path) -> None:
    """Name the clip paths of an SVG file by their order.

    Matplotlib names them by a hash of their places, which a search for the layout finds anew to
    fifteen digits and not to the last one, so that equal figures would differ in these names.
    """
    text = path.read_text(encoding="utf-8")
    names = re.findall(r'<clipPath id="(\w+)"', text)
    numbers = {name: f"clip{number}" for number, name in enumerate(names)}
    references = re.compile(r'(?<=id=")\w+(?=")|(?<=url\(#)\w+(?=\))')
    text = references.sub(lambda found: numbers.get(found[0], found[0]), text)
    path.write_text(text, encoding="utf-8")
