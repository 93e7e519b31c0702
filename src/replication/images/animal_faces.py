"""The LHI animal faces: heads of 20 kinds of animals in web photographs, ``Image/BearHead/...``.

The archive has 2,420 images in 21 folders. Its files follow no rule: there are names with blanks,
commas and brackets, a BMP, a real GIF and a JPEG that is called one, a JPEG called ``..._2jpg``,
grey and palette images, and sides from 25 to 2,529 pixels. Every file inside a class folder whose
name ends like an image's counts as one, and is opened by its content; others (``readme.txt``,
``Thumbs.db``, ``._bear.jpg``) are left out and counted.

"21 classes with 114 images on average" (CVPR 2016) are probably the 21 folders without copies of
one photograph, 113.9 on average; with copies they have 115.2, and the 20 animals without the folder
``Natural``, which holds 8 scenes, 120.6. :func:`select_faces` makes the choice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from PIL import Image

from replication.arrays import Integers, Pixels
from replication.data.catalog import DataSet
from replication.data.images import ImageFileError, load_rgb
from replication.data.manifest import raw_files
from replication.images.classes import FACE_CLASSES as CLASSES

__all__ = [
    "CLASSES",
    "DATASET",
    "duplicate_groups",
    "find_copies",
    "load_faces",
    "load_native_faces",
    "select_faces",
]

# Also those that cannot be read: a picture is never left out as if it were a note.
_SUFFIXES = r"jpe?g|jpe|jfif|jp2|png|gif|bmp|tiff?|webp|p[bgpn]m|hei[cf]|avif|psd|svg|eps"
_IMAGE = re.compile(rf"Image/(?P<label>\w+)/(?P<file>[^/.][^/]*(?i:{_SUFFIXES}))")
_SCENES = "Natural"
_THUMBNAIL = 16
_COMPARED = 128
_SHORTEST, _LONGEST = 56, 256


def _identify(file: str) -> tuple[str, str] | None:
    match = _IMAGE.fullmatch(file)
    if match is None or match["label"] not in CLASSES:
        return None
    # Names repeat from class to class, and a suffix may be all that tells two files apart.
    return f"{match['label']}/{match['file']}", match["label"]


def _fault_of(path: Path) -> str | None:
    try:
        load_rgb(path)
    except ImageFileError as error:
        return error.fault
    return None


DATASET = DataSet(
    name="animal_faces",
    items="images",
    identify=_identify,
    fault_of=_fault_of,
    max_archive_bytes=1 << 30,
)
"""The published archive holds 39 MB."""


def find_copies(
    manifest: pd.DataFrame, raw: str | os.PathLike[str], *, n_jobs: int | None = None
) -> pd.DataFrame:
    """List all images and which of them are copies of one photograph.

    Parameters
    ----------
    manifest : pandas.DataFrame
        Rows of a manifest.
    raw : path-like
        Folder that the manifest's files are relative to.
    n_jobs : int, optional
        Number of processes (joblib's convention). The result does not depend on it.

    Returns
    -------
    pandas.DataFrame
        The rows with the column ``group``, see :func:`duplicate_groups`.
    """
    # Thumbnails of thumbnails: copies of other sizes are compared on one grid.
    faces = load_faces(raw_files(manifest, raw), _COMPARED, n_jobs=n_jobs)
    return manifest.assign(group=duplicate_groups(faces))


def select_faces(images: pd.DataFrame, *, natural: bool, copies: bool) -> pd.DataFrame:
    """Choose what the paper's "21 classes" with "the average number of images [...] 114" are.

    The published archive has 21 folders of 2,420 images, 115.2 on average; without the copies that
    are found in it there are 2,391, 113.9 on average.

    Parameters
    ----------
    images : pandas.DataFrame
        Rows with the columns ``label`` and ``group``, see :func:`find_copies`.
    natural : bool
        ``True``: all 21 folders, which is the number of classes that the paper gives. ``False``:
        the 20 animals, without the folder of scenes.
    copies : bool
        Whether copies of an image that takes part do so too; otherwise the first of a group does.

    Returns
    -------
    pandas.DataFrame
        The chosen rows, in their order and with their index.
    """
    if not natural:
        images = images[images["label"] != _SCENES]
    return images if copies else images.drop_duplicates("group")


def load_faces(
    paths: Sequence[str | os.PathLike[str]], side: int = 128, *, n_jobs: int | None = None
) -> Pixels:
    """Load colour images and bring them all to one square.

    Densities can only be compared on one grid. Images that are not square are stretched, not
    cropped: the published images are crops of heads already. Bicubic interpolation over an area
    that grows with the reduction keeps fine structure from aliasing.

    Parameters
    ----------
    paths : sequence of path-like
        Image files, read by :func:`replication.data.images.load_rgb`.
    side : int, default 128
        Height and width of the result in pixels.
    n_jobs : int, optional
        Number of processes (joblib's convention). The result does not depend on it.

    Returns
    -------
    ndarray of uint8, shape (n_paths, side, side, 3)

    Raises
    ------
    ValueError
        If ``paths`` is empty, ``side`` is not positive, or a file is no usable image; the message
        then names the file.
    """
    if len(paths) == 0:
        raise ValueError("paths is empty: there is no image to load")
    if side < 1:
        raise ValueError(f"side must be positive, got {side}")
    faces = joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(_load_face)(path, side) for path in paths)
    return np.stack(faces)


def load_native_faces(
    paths: Sequence[str | os.PathLike[str]], *, n_jobs: int | None = None
) -> list[Pixels]:
    """Load colour images at their own sizes, as far as an inversion of HOG features allows.

    Parameters
    ----------
    paths, n_jobs
        As for :func:`load_faces`.

    Returns
    -------
    list of ndarray of uint8, shape (height, width, 3)
        An image whose longer side exceeds 256 pixels is reduced to it, and one whose shorter side
        is below 56 pixels, seven cells of 8, is enlarged to it: the published sides are 25 to
        2,529 pixels, 150 at the median.

    Raises
    ------
    ValueError
        If a file is no usable image; the message names it.
    """
    return list(joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(_load_native)(p) for p in paths))


def _load_native(path: str | os.PathLike[str]) -> Pixels:
    picture = Image.fromarray(load_rgb(path))
    factor = max(min(1.0, _LONGEST / max(picture.size)), _SHORTEST / min(picture.size))
    width, height = (min(_LONGEST, round(factor * side)) for side in picture.size)
    return np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC))


def _load_face(path: str | os.PathLike[str], side: int) -> Pixels:
    picture = Image.fromarray(load_rgb(path))
    return np.asarray(picture.resize((side, side), Image.Resampling.BICUBIC))


def duplicate_groups(faces: Pixels, min_correlation: float = 0.97) -> Integers:
    """Give copies of one photograph a common number.

    Copies are found by correlation of their 16 x 16 pixel grey thumbnails, also mirrored; this
    survives another file format, size or compression, though not another crop. What is alike in
    pairs is joined into groups. A protocol that splits by group never has a photograph in training
    and a copy of it in the test.

    Parameters
    ----------
    faces : ndarray of uint8, shape (n_images, side, side, 3)
        Images of one size, as :func:`load_faces` returns them; at least 16 pixels wide.
    min_correlation : float, default 0.97
        Correlation of two thumbnails from which on they are taken for copies. In the published
        set every pair above the default was seen to be one photograph; the first pair of different
        photographs has 0.965.

    Returns
    -------
    ndarray of int, shape (n_images,)
        Group of each image: the position of the group's first image, so that an image without a
        copy is alone in the group of its own position.
    """
    thumbnails = np.stack(
        [
            np.asarray(
                Image.fromarray(face)
                .convert("L")
                .resize((_THUMBNAIL, _THUMBNAIL), Image.Resampling.BOX),
                dtype=np.float64,
            )
            for face in faces
        ]
    )
    thumbnails -= thumbnails.mean(axis=(1, 2), keepdims=True)
    norms = np.linalg.norm(thumbnails, axis=(1, 2), keepdims=True)
    # Uniform images have no pattern to compare.
    thumbnails /= np.where(norms > 0, norms, 1)
    flat = thumbnails.reshape(len(faces), -1)
    mirrored = thumbnails[:, :, ::-1].reshape(len(faces), -1)
    alike = np.maximum(flat @ flat.T, flat @ mirrored.T) >= min_correlation
    from scipy.sparse.csgraph import connected_components  # as in groups_of

    _, component = connected_components(alike, directed=False)
    _, first = np.unique(component, return_index=True)
    groups: Integers = first[component]
    return groups
