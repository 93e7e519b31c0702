"""Images, densities and embeddings of each class: a sample, and means (CVPR 2016, Figures 1, 2)."""

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

#: A mean of fewer images could show one of them.
_LEAST_IN_A_MEAN = 4


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
    r"""Collect each class's first image, its density and transport maps, and the class's means.

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
        Classes of which no sample is taken; a mean shows nobody.
    thumbnail : int
        Longest side of the stored images in pixels.

    Returns
    -------
    dict of ndarrays
        ``labels`` (c,), ``images`` (c, h, w) or (c, h, w, 3) uint8 padded with white, ``densities``
        (c, height, width), ``phi`` (c, n_angles, n_t), i.e.
        :math:`(f_i(t, \theta) - t)\sqrt{\mathcal{R}I_0(t, \theta)}` (Equation 15), ``angles``
        in radians and ``t`` in pixels; of each class with 4 images or more ``mean_labels``,
        ``mean_densities`` and ``mean_phi``, the mean of the phi of its images. Up to the root that
        is the mean of their quantile functions, as in a barycentre; phi of the mean density would
        be something else.
    """
    images = manifest.reset_index(drop=True)
    shown = images[~images["label"].isin(not_shown)]
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
        **_class_means(images["label"], densities, embedding),
    }


def _class_means(
    labels: pd.Series, densities: Floats32, embedding: SlicedWassersteinEmbedding
) -> dict[str, AnyArray]:
    counts = labels.value_counts().sort_index()
    kept = [str(label) for label, count in counts.items() if count >= _LEAST_IN_A_MEAN]
    means = np.empty((len(kept), *densities.shape[1:]))
    phi = np.empty((len(kept), embedding.n_angles, len(embedding.t_grid_)), dtype=np.float32)
    for k, label in enumerate(kept):
        own = np.array(densities[labels == label])
        means[k] = own.mean(axis=0, dtype=np.float64)
        phi[k] = embedding.transport_maps(own).mean(axis=0)
    return {"mean_labels": np.array(kept, dtype=str), "mean_densities": means, "mean_phi": phi}


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
