"""Scores of the music experiment per tag and fold, and on resampled songs (NIPS 2012, Table 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from replication.arrays import AnyArray, Floats
from replication.music.scores import (
    EmptyPrecision,
    annotation_scores,
    mean_over_tags,
    retrieval_scores,
    semantic_multinomial,
)
from replication.music.tagging.songs import SongSplit
from replication.seeds import repetition_seed

__all__ = [
    "ScoringSettings",
    "evaluate_tagging",
    "join_folds",
    "resample_songs",
    "score_tags",
    "song_stage",
    "tag_rows",
    "tags_given_up",
]


@dataclass(frozen=True)
class ScoringSettings:
    """How annotation and retrieval are scored.

    Parameters
    ----------
    annotated : int
        Tags that each song gets.
    retrieved : int
        Songs that are looked at for the precision at the top of a ranking.
    empty_precision : {"prior", "zero", "skip"}
        Precision of a tag that no song gets, see
        :func:`replication.music.scores.annotation_scores`.
    """

    annotated: int
    retrieved: int
    empty_precision: EmptyPrecision


def join_folds(
    split: SongSplit, blocks: Iterable[Mapping[str, AnyArray]]
) -> dict[str, dict[int, Floats]]:
    """Bring the folds of each method together.

    Parameters
    ----------
    split : SongSplit
    blocks : iterable of mapping
        What :func:`replication.music.tagging.scoring.score_songs` found, several blocks of folds a
        method.

    Returns
    -------
    dict of dict of ndarray
        For each method and fold the scores, shape (n_songs, n_tags). A fold in which a method gave
        up on some tags is left out: fewer tags would be easier to tell apart.
    """
    joined: dict[str, dict[int, Floats]] = {}
    for block in blocks:
        for fold in block["folds"].tolist():
            scores = block["scores"][split.folds == fold][:, split.learnable(fold)]
            if np.isnan(scores).any():
                continue
            joined.setdefault(str(block["method"]), {})[fold] = block["scores"]
    return joined


def tags_given_up(
    split: SongSplit, blocks: Iterable[Mapping[str, AnyArray]]
) -> list[dict[str, Any]]:
    """Count the tags that methods gave up on, the folds of which :func:`join_folds` leaves out.

    Parameters
    ----------
    split, blocks
        As for :func:`join_folds`.

    Returns
    -------
    list of dict
        A row with the metric ``tags_given_up`` for each such method and fold.
    """
    rows = []
    for block in blocks:
        for fold in block["folds"].tolist():
            scores = block["scores"][split.folds == fold][:, split.learnable(fold)]
            count = int(np.isnan(scores).any(axis=0).sum())
            if count:
                method = str(block["method"])
                rows.append(
                    {"method": method, "fold": fold, "metric": "tags_given_up", "value": count}
                )
    return rows


def evaluate_tagging(
    split: SongSplit, found: Mapping[str, Mapping[int, Floats]], scoring: ScoringSettings
) -> list[dict[str, Any]]:
    """Score every method, fold and tag.

    Parameters
    ----------
    split : SongSplit
    found : mapping of str to mapping
        See :func:`join_folds`.
    scoring : ScoringSettings

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table` with the tag as ``item`` and
        the metrics ``precision``, ``recall``, ``f_score``, ``average_precision``,
        ``precision_at_k`` and ``aroc``; undefined scores, and those of tags that are modelled only,
        have no row. ``precision`` and ``f_score`` come under the other rules for
        ``empty_precision`` too, as the variants ``empty_precision_zero`` and so on.
    """
    rows = []
    for method, folds in found.items():
        for fold, scores in folds.items():
            songs = np.flatnonzero(split.folds == fold)
            columns, by_metric = _score(split, scores, songs, scoring)
            shared = {"method": method, "fold": fold}
            tags = split.tags[columns].tolist()
            for metric, values in by_metric.items():
                rows += tag_rows(tags, values, {**shared, "metric": metric})
    # Last, so that what a run without variants has stands as it stood.
    for rule in get_args(EmptyPrecision):
        if rule == scoring.empty_precision:
            continue
        other = replace(scoring, empty_precision=rule)
        for method, folds in found.items():
            for fold, scores in folds.items():
                songs = np.flatnonzero(split.folds == fold)
                columns, by_metric = _score(split, scores, songs, other)
                shared = {"method": method, "fold": fold, "variant": f"empty_precision_{rule}"}
                tags = split.tags[columns].tolist()
                for metric in ("precision", "f_score"):
                    rows += tag_rows(tags, by_metric[metric], {**shared, "metric": metric})
    return rows


def tag_rows(
    tags: Sequence[str], values: Floats, shared: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Rows of one metric: what they share, and a tag's value; undefined ones are left out."""
    return [
        {**shared, "item": tag, "value": value}
        for tag, value in zip(tags, values.tolist(), strict=True)
        if not np.isnan(value)
    ]


def _score(
    split: SongSplit,
    scores: Floats,
    songs: npt.NDArray[np.int64],
    scoring: ScoringSettings,
) -> tuple[npt.NDArray[np.int64], dict[str, Floats]]:
    """Scores of scored tags that have a model, on some songs of one fold (with repetitions).

    All tags that have a model compete for the songs.
    """
    columns = np.flatnonzero(~np.isnan(scores[songs[0]]))
    multinomial = semantic_multinomial(scores[np.ix_(songs, columns)])
    return score_tags(split, multinomial, songs, columns, scoring)


def score_tags(
    split: SongSplit,
    probabilities: Floats,
    songs: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    scoring: ScoringSettings,
) -> tuple[npt.NDArray[np.int64], dict[str, Floats]]:
    """Score probabilities of tags.

    Parameters
    ----------
    split : SongSplit
    probabilities : ndarray, shape (n, m)
        Of some songs and the tags that compete for them.
    songs, columns : ndarray of int, shapes (n,) and (m,)
        Their numbers.
    scoring : ScoringSettings

    Returns
    -------
    tags : ndarray of int
        Those of the tags that are scored.
    scores : dict of ndarray
        For each metric a value a tag, NaN where undefined.
    """
    truth = split.annotations[np.ix_(songs, columns)]
    annotation = annotation_scores(
        probabilities,
        truth,
        n_annotated=scoring.annotated,
        empty_precision=scoring.empty_precision,
    )
    retrieval = retrieval_scores(probabilities, truth, k=scoring.retrieved)
    counts = split.scored[columns]
    return columns[counts], {
        metric: values[counts] for metric, values in (vars(annotation) | vars(retrieval)).items()
    }


def resample_songs(
    split: SongSplit,
    found: Mapping[str, Mapping[int, Floats]],
    scoring: ScoringSettings,
    *,
    draws: int,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    """Score the same models on test songs drawn with replacement.

    Tags are correlated, so that a test over tags takes them for more evidence than they are; songs
    are drawn independently. What varies here is the test songs only, not the learning.

    Parameters
    ----------
    split, found, scoring
        As for :func:`evaluate_tagging`.
    draws, seed, experiment
        Number of draws, and what decides them.

    Returns
    -------
    list of dict
        Rows with the metrics ``resampled_precision`` and so on, each the mean over folds and then
        tags, with the draw as ``repeat``. A draw takes the same songs for all methods, so that
        differences are paired. Methods may lack folds, see :func:`join_folds`. So that any two can
        be compared, each is scored on all its folds and on those that it shares with others: the
        ``item`` names the folds, as in ``0,2``, and stays empty for all of them.
    """
    folds = np.unique(split.folds).tolist()
    # All folds come first.
    sets = sorted(_sets_of_folds(found.values()), key=lambda chosen: (-len(chosen), chosen))
    rows: list[dict[str, Any]] = []
    partial: list[dict[str, Any]] = []
    for draw in range(draws):
        state = repetition_seed(seed, f"{experiment}/resampling", draw)
        rng = np.random.default_rng(state)
        songs = {
            f: rng.choice(np.flatnonzero(split.folds == f), (split.folds == f).sum()) for f in folds
        }
        for method, by_fold in found.items():
            collected = _over_folds(split, by_fold, songs, scoring)
            for chosen in sets:
                if not by_fold.keys() >= set(chosen):
                    continue
                every = list(chosen) == folds
                item = "" if every else ",".join(map(str, chosen))
                shared = {"method": method, "item": item, "repeat": draw, "seed": state}
                for metric, values in collected.items():
                    value = mean_over_tags([values[fold] for fold in chosen])[0]
                    row = {**shared, "metric": f"resampled_{metric}", "value": value}
                    (rows if every else partial).append(row)
    return rows + partial


def _sets_of_folds(found: Iterable[Mapping[int, Floats]]) -> set[tuple[int, ...]]:
    """List the sets of folds that methods have, and all that some of them share."""
    sets = {frozenset(by_fold) for by_fold in found}
    while more := {a & b for a in sets for b in sets} - sets:
        sets |= more
    return {tuple(sorted(chosen)) for chosen in sets if chosen}


def _over_folds(
    split: SongSplit,
    by_fold: Mapping[int, Floats],
    songs: Mapping[int, npt.NDArray[np.int64]],
    scoring: ScoringSettings,
) -> dict[str, dict[int, Floats]]:
    """Each metric with its values of all tags, by fold."""
    collected: dict[str, dict[int, Floats]] = {}
    for fold, scores in by_fold.items():
        columns, by_metric = _score(split, scores, songs[fold], scoring)
        for metric, values in by_metric.items():
            every = np.full(len(split.tags), np.nan)
            every[columns] = values
            collected.setdefault(metric, {})[fold] = every
    return collected


def song_stage(
    timings: Iterable[Mapping[str, Any]], kinds: Mapping[str, str | None], methods: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Rows of seconds of a song stage for every method that starts from its models.

    Parameters
    ----------
    timings : iterable of mapping
        Rows of :func:`replication.music.tagging.song_models.fit_song_models`, whose method is
        the kind of model, and other rows, which are handed on.
    kinds : mapping of str to str
        Method -> kind of song models.
    methods : iterable of str
        Methods of the run.
    """
    methods = list(methods)
    for row in timings:
        if (row["item"], row["metric"]) != ("songs", "seconds"):
            yield dict(row)
            continue
        for method in methods:
            if kinds[method] == row["method"]:
                yield {**row, "method": method}
