"""Which images a paired dictionary is learned from.

``sample_photographs``
    Photographs that installed packages ship (:func:`.dictionary.sample_photographs`).
``with_textures``
    These, and the first image of each texture class: one each, lest they outnumber photographs.
``faces``
    The faces that are inverted afterwards. The dictionary has then seen test images: unsupervised
    leakage, which the origin of the dictionary says.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from replication.arrays import Pixels
from replication.data.images import load_grey
from replication.data.manifest import raw_files
from replication.images.animal_faces import load_faces
from replication.images.hoggles.dictionary import (
    PairedDictionary,
    learn_dictionary,
    read_pd_mat,
    sample_photographs,
)

__all__ = ["TRAINING_SETS", "make_dictionary"]

TRAINING_SETS = ("sample_photographs", "with_textures", "faces")


def make_dictionary(
    training: str,
    file: str,
    *,
    manifest: pd.DataFrame,
    raw: str | Path,
    side: int,
    n_atoms: int,
    penalty: float,
    n_windows: int,
    n_steps: int,
    random_state: int,
) -> PairedDictionary:
    """Learn a paired dictionary from one of the training sets, or read the published one.

    Parameters
    ----------
    training : {"sample_photographs", "with_textures", "faces"}
        See the module's text.
    file : str
        A user's copy of the published dictionary (``pd.mat``), which is read and not learned; its
        own numbers replace those given here. Empty: learn.
    manifest : pandas.DataFrame
        Images of the data set that ``training`` names: the textures or the faces.
    raw : path-like
        Folder that the manifest's files are relative to.
    side : int
        Side in pixels to which faces are brought.
    n_atoms, penalty, n_windows, n_steps, random_state
        See :func:`replication.images.hoggles.dictionary.learn_dictionary`.

    Returns
    -------
    PairedDictionary
        Its origin also names the training set, and whether test images were in it (``leakage``).

    Raises
    ------
    ValueError
        If ``training`` is unknown, or as the functions that learn and read raise it.
    """
    if training not in TRAINING_SETS:
        raise ValueError(f"training must be one of {', '.join(TRAINING_SETS)}, got {training!r}")
    if file:
        return read_pd_mat(file)
    faces = training == "faces"
    images = _grey_faces(manifest, Path(raw), side) if faces else sample_photographs()
    if training == "with_textures":
        first = manifest.groupby("label", sort=True).head(1)
        files = raw_files(first, raw)
        images = {**images, **dict(zip(first["file"], map(load_grey, files), strict=True))}
    learned = learn_dictionary(
        images,
        n_atoms,
        penalty=penalty,
        n_windows=n_windows,
        n_steps=n_steps,
        random_state=random_state,
    )
    labelled = {**learned.origin, "training": training, "leakage": faces}
    return dataclasses.replace(learned, origin=labelled)


def _grey_faces(manifest: pd.DataFrame, raw: Path, side: int) -> dict[str, Pixels]:
    faces = load_faces(raw_files(manifest, raw), side)
    return {
        name: np.asarray(Image.fromarray(face).convert("L"))
        for name, face in zip(manifest["file"], faces, strict=True)
    }
