"""How much an inverted face resembles the photograph, and what the classes consist of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from replication.arrays import Floats, Pixels

__all__ = ["grey_correlations", "inversion_rows"]

#: Luma of ITU-R BT.601, which image libraries use for grey.
_LUMA = np.array([0.299, 0.587, 0.114])


def grey_correlations(faces: Pixels, inverses: npt.NDArray[np.floating]) -> Floats:
    """Correlate inverted faces with the grey photographs, pixel by pixel.

    Parameters
    ----------
    faces : ndarray of uint8, shape (n, side, side, 3)
    inverses : ndarray of float, shape (n, side, side)

    Returns
    -------
    ndarray of float64, shape (n,)
        Pearson correlations; 0 where an image is constant.

    Raises
    ------
    ValueError
        If the shapes do not belong together.
    """
    if faces.shape[:3] != inverses.shape:
        raise ValueError(f"inverses of shape {inverses.shape} of faces of shape {faces.shape}")
    correlations = np.zeros(len(faces))
    for i, (face, inverse) in enumerate(zip(faces, inverses, strict=True)):
        grey, found = (face @ _LUMA).ravel(), inverse.ravel().astype(np.float64)
        grey, found = grey - grey.mean(), found - found.mean()
        norm = np.linalg.norm(grey) * np.linalg.norm(found)
        correlations[i] = grey @ found / norm if norm > 0 else 0.0
    return correlations


def inversion_rows(
    images: pd.DataFrame,
    faces: Pixels,
    inverses: Mapping[str, npt.NDArray[np.floating]],
    chosen: pd.DataFrame,
) -> list[dict[str, Any]]:
    """Score inverted faces by class, for each dictionary.

    Parameters
    ----------
    images : pandas.DataFrame
        All images with the columns ``label`` and ``group``.
    faces : ndarray of uint8, shape (n, side, side, 3)
    inverses : mapping of str to ndarray of shape (n, side, side)
        From variant to its HOGgles; ``main`` are the experiment's own.
    chosen : pandas.DataFrame
        Those of the images that take part in the experiment.

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table` with the class as ``item``:
        ``grey_correlation`` of each variant (the mean of the classes has the item ``all``), and
        once ``images``, ``copies``, the images beyond the first of each group, and ``used``,
        those that take part.
    """
    labels = images["label"]
    rows: list[dict[str, Any]] = []
    for variant, inverted in inverses.items():
        shared = {
            "method": "hoggles",
            "variant": "" if variant == "main" else variant,
            "metric": "grey_correlation",
        }
        means = pd.Series(grey_correlations(faces, inverted)).groupby(labels.to_numpy()).mean()
        scores = {**means.to_dict(), "all": means.mean()}
        rows += [{**shared, "item": item, "value": value} for item, value in scores.items()]
    used = chosen["label"].value_counts()
    for label, members in images.groupby("label", sort=True):
        counts = {
            "images": len(members),
            "copies": len(members) - members["group"].nunique(),
            "used": int(used.get(label, 0)),
        }
        rows += [
            {"method": "data", "item": label, "metric": metric, "value": value}
            for metric, value in counts.items()
        ]
    return rows
