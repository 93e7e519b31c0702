"""Figure ``extra_definiteness``: the kernel of plain transport fails where the sliced one holds."""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from replication.report.style import PAGE_WIDTH, add_data_note, use_style

__all__ = ["plot_definiteness"]

_LOOKS = {
    "wasserstein": ("2-D Wasserstein (exact)", "#D55E00", "--"),
    "sliced": ("Sliced Wasserstein", "#0072B2", "-"),
}


def plot_definiteness(table: pd.DataFrame) -> Figure:
    r"""Draw least eigenvalues of Gaussian kernels and the spectra of centred distances.

    Parameters
    ----------
    table : pandas.DataFrame
        Tidy, with the columns ``distance`` (``wasserstein`` or ``sliced``), ``quantity``, ``x``
        and ``value``. ``least_eigenvalue``: the least eigenvalue of
        :math:`\exp(-\gamma D^2)` over the largest, at ``x`` = gamma times the median of
        :math:`D^2`. ``centred_eigenvalue``: the ``x``-th eigenvalue of :math:`-HD^2H/2` over the
        largest.

    Returns
    -------
    matplotlib.figure.Figure
    """
    use_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(PAGE_WIDTH, 2.6), layout="constrained")
    for distance, (label, colour, line) in _LOOKS.items():
        rows = table[table["distance"] == distance]
        least = rows[rows["quantity"] == "least_eigenvalue"].sort_values("x")
        left.plot(least["x"], least["value"], line, color=colour, label=label)
        centred = rows[rows["quantity"] == "centred_eigenvalue"].sort_values("x")
        right.plot(centred["x"], centred["value"], line, color=colour, marker=".", label=label)
    left.set_xscale("log")
    left.set_yscale("symlog", linthresh=1e-4)
    left.set_xlabel(r"$\gamma\,\times$ median squared distance")
    left.set_ylabel("Least eigenvalue / largest")
    left.set_title(r"(a) Kernel $\exp(-\gamma D^2)$")
    right.set_yscale("symlog", linthresh=1e-3)
    right.set_xlabel("Index")
    right.set_ylabel("Eigenvalue / largest")
    right.set_title(r"(b) Centred distances $-HD^2H/2$")
    for axes in (left, right):
        axes.axhline(0, color="black", linewidth=0.6)
        axes.margins(x=0.02)
    right.legend(loc="upper right")
    n_densities = int(table.loc[table["quantity"] == "centred_eigenvalue", "x"].nunique())
    note = {
        "origin": "synthetic",
        "title": "pairs of squares in the plane",
        "coverage": f"{n_densities} densities",
    }
    add_data_note(figure, [note])
    return figure
