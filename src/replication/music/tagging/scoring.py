"""Scores of test songs under the models of tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np

from replication.arrays import AnyArray, Floats
from replication.music.mfcc import Frames, cut_sequences
from replication.music.scores import mean_log_likelihoods
from replication.music.tagging.pools import Pool
from replication.music.tagging.song_models import SequenceSettings
from replication.music.tagging.songs import SongSplit

__all__ = ["mean_scores", "score_songs"]

# Enough that a batch keeps the loop over time busy; 80 MB of whole songs.
_SONGS_AT_A_TIME = 25


def mean_scores(
    models: Pool, features: Mapping[str, Frames], songs: Sequence[str], length: int
) -> Floats:
    """Mean log-likelihood of a frame of each song under each owner's mixture.

    Parameters
    ----------
    models : Pool
    features : mapping of str to ndarray of shape (n_frames, n_features)
    songs : sequence of str
        Songs to score. A few at a time are in memory, and go through one batch.
    length : int
        Frames in a sequence; sequences do not overlap here.

    Returns
    -------
    ndarray, shape (n_songs, n_owners)
        Nats a frame, see :func:`replication.music.scores.mean_log_likelihoods`.
    """
    rows = []
    for first in range(0, len(songs), _SONGS_AT_A_TIME):
        part = songs[first : first + _SONGS_AT_A_TIME]
        cut = [cut_sequences(features[song], length, 0.0) for song in part]
        owner = np.repeat(np.arange(len(part)), [len(sequences) for sequences in cut])
        log_likelihoods = models.log_likelihoods(np.concatenate(cut))
        rows.append(mean_log_likelihoods(log_likelihoods, owner, len(part), length))
    return np.concatenate(rows)


def score_songs(
    method: str,
    models: Mapping[int, Pool],
    features: Mapping[str, Frames],
    split: SongSplit,
    sequences: SequenceSettings,
) -> tuple[dict[str, AnyArray], list[dict[str, Any]]]:
    """Score the test songs of each fold under the models of all tags.

    Parameters
    ----------
    method : str
        A key of :data:`replication.registry.SONG_MODELS`.
    models : mapping of int to Pool
        Models of tags of each fold, as
        :func:`replication.music.tagging.tag_models.fit_tag_models` returns them.
    features : mapping of str to ndarray of shape (n_frames, n_features)
        Songs, with the features that the method is of.
    split : SongSplit
    sequences : SequenceSettings

    Returns
    -------
    scores : dict of ndarray
        ``method`` (), ``folds`` (F,) and ``scores`` (n_songs, n_tags) in nats a frame: NaN for
        songs of other folds, and for tags without a model in the song's fold.
    timings : list of dict
        Rows with the metric ``seconds`` for each fold.
    """
    scores = np.full(split.annotations.shape, np.nan)
    column = {tag: number for number, tag in enumerate(split.tags.tolist())}
    timings = []
    for fold, pool in models.items():
        begun = process_time()
        columns = np.array([column[tag] for tag in pool.names()])
        rows = np.flatnonzero(split.folds == fold)
        found = mean_scores(pool, features, split.test_songs(fold), sequences.length)
        scores[np.ix_(rows, columns)] = found
        timings.append(
            {
                "method": method,
                "item": "scores",
                "fold": fold,
                "metric": "seconds",
                "value": process_time() - begun,
            }
        )
    arrays = {"method": np.array(method), "folds": np.array(list(models)), "scores": scores}
    return arrays, timings
