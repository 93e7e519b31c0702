"""Songs: their features in files, copies among them, and the folds they are dealt out to."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from replication.arrays import AnyArray, Bools, Integers, Texts
from replication.data.manifest import groups_of
from replication.music.annotations import modelled_tags, read_annotations, scored_tags
from replication.music.mfcc import Frames
from replication.seeds import repetition_seed

__all__ = ["FeatureFiles", "SongSplit", "block_of_songs", "song_groups"]


class FeatureFiles(Mapping[str, Frames]):
    """Features of songs in several files, read when they are asked for.

    Parameters
    ----------
    paths : iterable of path-like
        Files of :func:`replication.music.mfcc.write_features`.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._paths: dict[str, Path] = {}
        for path in map(Path, paths):
            with np.load(path) as archive:
                self._paths.update(dict.fromkeys(archive.files, path))

    def __getitem__(self, song: str) -> Frames:
        """Read the features of a song."""
        with np.load(self._paths[song]) as archive:
            frames: Frames = archive[song]
        return frames

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def block_of_songs(manifest: pd.DataFrame, block: int, n_blocks: int) -> pd.DataFrame:
    """Rows of a manifest with the songs of a block: every ``n_blocks``-th song that is used.

    The number of blocks is known before the songs are.
    """
    used = manifest[(manifest["label"] == "song") & (manifest["status"] == "used")]
    return used.iloc[block::n_blocks]


def song_groups(songs: pd.DataFrame, features: Mapping[str, Frames]) -> Integers:
    """Find the songs that are one recording under two names.

    Files may be equal, or differ in what is not sound (tags, the container): then their features
    are equal.

    Parameters
    ----------
    songs : pandas.DataFrame
        Rows of a manifest.
    features : mapping of str to ndarray of shape (n_frames, n_features)
        Of these songs.

    Returns
    -------
    ndarray of int, shape (n_songs,)
        Equal numbers for copies, which are named on standard output.
    """
    sums = [hashlib.sha256(features[song].tobytes()).hexdigest() for song in songs["id"]]
    _, sounds = np.unique(sums, return_inverse=True)
    groups = groups_of(songs.assign(group=sounds))
    assert groups is not None
    for _, copies in songs["id"].groupby(groups):
        if len(copies) > 1:
            print(f"one recording, kept in one fold: {', '.join(copies)}")
    return groups


@dataclass(frozen=True)
class SongSplit:
    """Songs, the tags that take part, which fits which, and the fold in which a song is tested.

    Parameters
    ----------
    songs, tags : ndarray of str
    annotations : ndarray of bool, shape (n_songs, n_tags)
    folds : ndarray of int, shape (n_songs,)
    scored : ndarray of bool, shape (n_tags,)
        Tags whose scores count. The others have a model and compete for a song with all.
    """

    songs: Texts
    tags: Texts
    annotations: Bools
    folds: npt.NDArray[np.int64]
    scored: Bools

    @classmethod
    def from_folder(
        cls,
        folder: str | os.PathLike[str],
        songs: Sequence[str],
        *,
        vocabulary: Literal["scored", "modelled"],
        min_songs: int,
        n_folds: int,
        seed: int,
        experiment: str,
        groups: Integers | None = None,
    ) -> Self:
        """Deal the songs at hand out to folds at random.

        Parameters
        ----------
        folder : path-like
            Folder of the annotations.
        songs : sequence of str
            Songs with a recording.
        vocabulary : {"scored", "modelled"}
            Tags among which the semantic multinomials of songs are distributed: those with enough
            songs, or all but the repeating ones. Scores are of those with enough songs either way.
        min_songs : int
            Songs at hand that a scored tag must have.
        n_folds, seed, experiment
            Number of folds, and what decides them.
        groups : ndarray of int, shape (n_songs,), optional
            Songs of one number are copies and go to one fold, see :func:`song_groups`.

        Raises
        ------
        ValueError
            If there are fewer songs than folds, copies counted once, or no tag has enough songs.
        """
        _, group = np.unique(
            np.arange(len(songs)) if groups is None else groups, return_inverse=True
        )
        n_groups = int(group.max(initial=-1)) + 1
        if not 2 <= n_folds <= n_groups:
            copies = "" if n_groups == len(songs) else f", of which {n_groups} differ,"
            raise ValueError(
                f"n_folds: {n_folds} folds of {len(songs)} songs{copies} cannot be made"
            )
        at_hand = read_annotations(folder).select(songs=songs)
        scored = scored_tags(at_hand, min_songs)
        tags = scored if vocabulary == "scored" else modelled_tags(at_hand)
        rng = np.random.default_rng(repetition_seed(seed, f"{experiment}/folds", 0))
        return cls(
            songs=np.array(songs),
            tags=np.array(tags),
            annotations=at_hand.select(tags=tags).hard,
            folds=(rng.permutation(n_groups) % n_folds)[group],
            scored=np.isin(tags, scored),
        )

    def training_songs(self, tag: int, fold: int) -> list[str]:
        """Songs that have a tag, given by its number, and are not tested in the fold."""
        return self.songs[self.annotations[:, tag] & (self.folds != fold)].tolist()

    def learnable(self, fold: int) -> list[int]:
        """Numbers of the tags that have training songs in the fold."""
        return [tag for tag in range(len(self.tags)) if self.training_songs(tag, fold)]

    def test_songs(self, fold: int) -> list[str]:
        """Songs that are tested in the fold."""
        return self.songs[self.folds == fold].tolist()

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return arrays that can be saved, see :meth:`from_arrays`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Self:
        """Rebuild what :meth:`to_arrays` returned."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})
