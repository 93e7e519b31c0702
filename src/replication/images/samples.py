"""One image of each class with its density and its embedding (CVPR 2016, Figures 1 and 2)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from replication.arrays import AnyArray, Floats32, Pixels
from replication.data.images import load_grey, load_rgb
from replication.data.manifest import raw_files
from sliced_wasserstein import SlicedWassersteinEmbedding

__all__ = ["sample_panels"]


def sample_panels(
    manifest: pd.DataFrame,
    densities: Floats32,
    raw: str | Path,
    embedding: SlicedWassersteinEmbedding,
    *,
    colour: bool = False,
    not_shown: Collection[str] = (),
    thumbnail: int = 200,
) -> dict[str, AnyArray]:
    r"""Collect the first image of each class, its density and its transport maps.

    Parameters
    ----------
    manifest : pandas.DataFrame
        The images in use, in the order of ``densities``.
    densities : ndarray of shape (n, height, width)
    raw : path-like
        Folder that the manifest's files are relative to.
    embedding : SlicedWassersteinEmbedding
        Not yet fitted; it is fitted on all densities, since the paper's template is their mean.
    colour : bool
        Whether to keep the images' colours.
    not_shown : collection of str
        Classes of which no sample is taken.
    thumbnail : int
        Longest side of the stored images in pixels.

    Returns
    -------
    dict of ndarrays
        ``labels`` (c,), ``images`` (c, h, w) or (c, h, w, 3) uint8 padded with white, ``densities``
        (c, height, width), ``phi`` (c, n_angles, n_t), i.e.
        :math:`(f_i(t, \theta) - t)\sqrt{\mathcal{R}I_0(t, \theta)}` (Equation 15), ``angles``
        in radians and ``t`` in pixels.
    """
    shown = manifest.reset_index(drop=True)
    shown = shown[~shown["label"].isin(not_shown)]
    first = shown.groupby("label", sort=True).head(1)
    first = first.sort_values("label", kind="stable")
    chosen = np.array(densities[first.index])
    embedding.fit(densities)
    return {
        "labels": first["label"].to_numpy(dtype=str),
        "images": _thumbnails(raw_files(first, raw), thumbnail, colour),
        "densities": chosen,
        "phi": embedding.transport_maps(chosen).astype(np.float32),
        "angles": np.asarray(embedding.angles_),
        "t": np.asarray(embedding.t_grid_),
    }


def _thumbnails(files: list[Path], side: int, colour: bool) -> Pixels:
    """Shrink images to fit a square of ``side`` pixels and centre them on a common canvas."""
    small = []
    for file in files:
        picture = Image.fromarray(load_rgb(file) if colour else load_grey(file))
        picture.thumbnail((side, side))
        small.append(np.asarray(picture))
    height = max(image.shape[0] for image in small)
    width = max(image.shape[1] for image in small)
    canvas = np.full((len(small), height, width, *small[0].shape[2:]), 255, dtype=np.uint8)
    for target, image in zip(canvas, small, strict=True):
        top, left = (height - image.shape[0]) // 2, (width - image.shape[1]) // 2
        target[top : top + image.shape[0], left : left + image.shape[1]] = image
    return canvas
