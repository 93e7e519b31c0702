"""What nobody exceeds on synthetic songs: the scores of one who knows how they were made.

Annotations are noisy: a fifth of a song's tags cannot be heard in it, see
:mod:`replication.standins.cal500`. An oracle knows the tags that a song was made from, but not the
noise; who reads the annotations themselves is bounded by the number of tags that each song is
given. Both are scored on the same folds and with the same settings as the methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from replication.arrays import Floats
from replication.music.evaluation import ScoringSettings, score_tags, tag_rows
from replication.music.tagging.songs import SongSplit
from replication.standins.song_tags import draw_collection

__all__ = ["ceilings", "evaluate_ceilings"]


def ceilings(split: SongSplit, *, songs: int, tags: int, seed: int) -> dict[str, Floats]:
    """Probabilities of tags by those who know how the default songs were made.

    Parameters
    ----------
    split : SongSplit
        Of synthetic songs.
    songs, tags, seed : int
        What they were made with, see :func:`replication.standins.song_tags.draw_collection`.

    Returns
    -------
    dict of ndarray, shape (n_songs, n_tags)
        ``oracle``, the probability of an annotation given the tags that a song was made from, and
        ``annotations``, the annotations themselves.

    Raises
    ------
    ValueError
        If the annotations are not those that these numbers give.
    """
    drawn, _, oracle = draw_collection(songs, tags, seed=seed)
    rows = [drawn.songs.index(song) for song in split.songs.tolist()]
    columns = [drawn.tags.index(tag) for tag in split.tags.tolist()]
    grid = np.ix_(rows, columns)
    if not np.array_equal(drawn.hard[grid], split.annotations):
        raise ValueError(
            f"annotations are not those of {songs} songs with {tags} tags and seed {seed}"
        )
    return {"oracle": oracle[grid], "annotations": split.annotations.astype(np.float64)}


def evaluate_ceilings(
    split: SongSplit, probabilities: Mapping[str, Floats], scoring: ScoringSettings
) -> list[dict[str, Any]]:
    """Score every ceiling (see :func:`ceilings`), fold and tag.

    Returns
    -------
    list of dict
        Rows as of :func:`replication.music.evaluation.evaluate_tagging`, of the variant
        ``ceiling``, so that nobody takes a ceiling for a method. Probabilities rank songs and tags
        as they are: to divide by their sum, as for semantic multinomials, would make an oracle
        worse.
    """
    rows = []
    for method, values in probabilities.items():
        for fold in np.unique(split.folds).tolist():
            songs = np.flatnonzero(split.folds == fold)
            # Those that methods can learn.
            columns = np.array(split.learnable(fold))
            tags, by_metric = score_tags(
                split, values[np.ix_(songs, columns)], songs, columns, scoring
            )
            for metric, scores in by_metric.items():
                shared = {"method": method, "variant": "ceiling", "fold": fold, "metric": metric}
                rows += tag_rows(split.tags[tags].tolist(), scores, shared)
    return rows
