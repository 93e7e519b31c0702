r"""How good the pictures of :mod:`.inverses` are, in numbers that may be published.

A residual of 0.001 says nothing by itself: densities of photographs are nearly uniform, and the
slices of any two of them are close. Errors are therefore divided by what the uniform picture, which
shows nothing, would have had.

A module of its own: pictures that stand need not be computed again for another score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from replication.arrays import AnyArray, Floats
from sliced_wasserstein.inversion import projection_matrix, slice_residuals
from sliced_wasserstein.projection import directions_from_angles, half_circle_angles

__all__ = ["inverse_rows", "slice_distances_from_uniform"]


def slice_distances_from_uniform(images: npt.NDArray[np.floating], n_angles: int) -> Floats:
    """Measure how far the slices of pictures are from those of the uniform picture.

    Parameters
    ----------
    images : ndarray of shape (n, height, width)
        Densities, each with sum 1.
    n_angles : int
        Equispaced angles of the half-circle.

    Returns
    -------
    ndarray of shape (n,)
        Mean over angles of the L1 distance between slices in bins of one pixel, which is the
        measure of the residuals of
        :meth:`sliced_wasserstein.SlicedWassersteinEmbedding.inverse_transform`: from 0 to 2.
    """
    flat = images.reshape(len(images), -1).astype(np.float64)
    directions = directions_from_angles(half_circle_angles(n_angles))
    matrix = projection_matrix(images.shape[1:], directions)
    slices = (matrix @ flat.T).T.reshape(len(flat), n_angles, -1)
    return slice_residuals(np.full_like(flat, 1 / flat.shape[1]), slices, matrix)


def inverse_rows(panels: Mapping[str, AnyArray], n_angles: int) -> list[dict[str, Any]]:
    r"""Score inverted points of the embedding.

    Parameters
    ----------
    panels : mapping
        As :func:`replication.images.inverses.inverse_panels` returns it.
    n_angles : int
        Angles of the embedding that was inverted.

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table`. The method is the kind of
        picture, the item its title; that of the k-th centre, from 0, begins with ``cluster k``.
        The order is that of the pictures. With z the picture, p the slices asked for, A the
        projection and u the uniform picture:

        ``residual``
            :math:`\|Az - p\|_1` a slice
        ``relative_residual``
            :math:`\|Az - p\|_1 / \|Az - Au\|_1`. The slices asked for are not kept; with p in
            the place of Az below, r would be between r / (1 + r) and r / (1 - r).
        ``decision``
            decision value of the SVM at the picture, along the normal only
        ``l1_from_uniform``
            :math:`\|z - u\|_1` over pixels, of barycentres and Euclidean means only
        ``l1_to_mean``
            :math:`\|z - m\|_1` of a barycentre and the Euclidean mean m of the same densities

        A mean has no residual, for it is not inverted.

    Raises
    ------
    ValueError
        If a barycentre has no Euclidean mean of its title.
    """
    kinds, titles = panels["kind"].tolist(), panels["title"].tolist()
    images = panels["images"].astype(np.float64)
    from_uniform = slice_distances_from_uniform(images, n_angles)
    l1_from_uniform = np.abs(images - 1 / images[0].size).sum(axis=(1, 2))
    means = {
        title: image
        for kind, title, image in zip(kinds, titles, images, strict=True)
        if kind == "mean"
    }
    residuals = panels["residuals"].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = residuals / from_uniform
    rows = []
    n_centres = 0
    for i, (kind, title) in enumerate(zip(kinds, titles, strict=True)):
        scores = {}
        if np.isfinite(residuals[i]):
            scores["residual"], scores["relative_residual"] = residuals[i], relative[i]
        if np.isfinite(panels["decisions"][i]):
            scores["decision"] = panels["decisions"][i]
        if kind in ("barycentre", "mean"):
            scores["l1_from_uniform"] = l1_from_uniform[i]
        if kind == "barycentre":
            if title not in means:
                raise ValueError(
                    f"panels: the barycentre {title!r} has no Euclidean mean beside it"
                )
            scores["l1_to_mean"] = np.abs(images[i] - means[title]).sum()
        item = title
        if kind == "centre":
            # Two clusters can have equal titles.
            item = f"cluster {n_centres}: {title}"
            n_centres += 1
        rows += [
            {"method": kind, "item": item, "metric": metric, "value": float(value)}
            for metric, value in scores.items()
        ]
    return rows
