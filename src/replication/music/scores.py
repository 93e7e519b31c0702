"""Scores of automatic music tagging: annotation (P, R, F) and retrieval (MAP, P@k, AROC).

The path from models to scores (Turnbull, Barrington, Torres, Lanckriet, IEEE TASLP 16(2), 2008;
Coviello, Chan, Lanckriet, NIPS 2012, section 4.2, whose settings are told in JMLR 15, 2014):

1. A song is a set of F fragments of T frames. Its score under the model of tag w is the mean
   log-likelihood of a frame, s_w = (1 / (F T)) Σ_f log p(y_f | w): the logarithm of the geometric
   mean over fragments, divided by the length of a fragment (:func:`mean_log_likelihoods`).
2. Bayes' rule turns the scores into the song's semantic multinomial, the distribution
   p(w | song) ∝ p(w) exp(s_w) over the tags (:func:`semantic_multinomial`).
3. Annotation: each song gets its k most probable tags; precision, recall and F are computed per
   tag (:func:`annotation_scores`).
4. Retrieval: for each tag the songs are ranked by its probability (:func:`retrieval_scores`).
5. Each score is averaged over folds per tag, then over tags (:func:`mean_over_tags`).

Ties. No score here depends on the order of songs or tags: where the cut after k ranks falls into a
group of m equal values with room for r of them, each of the group counts r / m, the expectation
over random orders. Average precision takes a group of equal values as one threshold, the area
under the ROC curve counts a tied pair one half; both are scikit-learn's definitions.

Undefined values are NaN and are left out of averages: every score of a tag without positive songs,
and the AROC of a tag without negative ones. A tag that is never used for annotation has recall and
F zero; its precision 0 / 0 follows a rule that the caller chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import log_softmax

from replication.arrays import Bools, Floats

__all__ = [
    "AnnotationScores",
    "EmptyPrecision",
    "RetrievalScores",
    "annotation_scores",
    "mean_log_likelihoods",
    "mean_over_tags",
    "retrieval_scores",
    "semantic_multinomial",
    "top_shares",
]

EmptyPrecision = Literal["prior", "zero", "skip"]


@dataclass(frozen=True)
class AnnotationScores:
    """Scores of annotation, one value a tag.

    Attributes
    ----------
    precision, recall, f_score : ndarray, shape (n_tags,)
        NaN where undefined, see the module's text.
    """

    precision: Floats
    recall: Floats
    f_score: Floats


@dataclass(frozen=True)
class RetrievalScores:
    """Scores of retrieval, one value a tag.

    Attributes
    ----------
    average_precision, precision_at_k, aroc : ndarray, shape (n_tags,)
        NaN where undefined, see the module's text.
    """

    average_precision: Floats
    precision_at_k: Floats
    aroc: Floats


def mean_log_likelihoods(
    log_likelihoods: npt.ArrayLike, song: npt.ArrayLike, n_songs: int, length: int
) -> Floats:
    """Mean log-likelihood of a frame, per song and tag.

    s[i, w] = (1 / (F_i T)) Σ_{f of song i} log p(y_f | w), with F_i the song's fragments and T
    frames in each.

    Parameters
    ----------
    log_likelihoods : array-like, shape (n_fragments, n_tags)
        log p(y_f | w) in nats of all fragments of all songs.
    song : array-like of int, shape (n_fragments,)
        Row of the result, 0 to ``n_songs - 1``, to which a fragment belongs. Any order.
    n_songs : int
        Number of songs.
    length : int
        Frames in a fragment, T.

    Returns
    -------
    ndarray, shape (n_songs, n_tags)
        Nats a frame.

    Raises
    ------
    ValueError
        If shapes disagree, a song has no fragment, or a value is NaN or +inf. The value -inf, a
        fragment that a model excludes, is kept.
    """
    values = np.asarray(log_likelihoods, dtype=np.float64)
    rows = np.asarray(song)
    if values.ndim != 2 or rows.shape != values.shape[:1]:
        raise ValueError(
            "log_likelihoods must have shape (n_fragments, n_tags) and song (n_fragments,), "
            f"got {values.shape} and {rows.shape}"
        )
    if length < 1:
        raise ValueError(f"length must be at least 1 frame, got {length}")
    if not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"song must hold integers, got {rows.dtype}")
    if rows.size and not (rows.min() >= 0 and rows.max() < n_songs):
        raise ValueError(
            f"song must lie between 0 and {n_songs - 1}, got {rows.min()} to {rows.max()}"
        )
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        fragment, tag = np.argwhere(bad)[0]
        raise ValueError(
            f"log_likelihoods of fragment {fragment} (song {rows[fragment]}) under tag {tag} "
            f"is {values[fragment, tag]}"
        )
    fragments = np.bincount(rows, minlength=n_songs)
    if (fragments == 0).any():
        raise ValueError(f"song {int(np.argmin(fragments))} has no fragment")
    sums = np.zeros((n_songs, values.shape[1]))
    np.add.at(sums, rows, values)
    return sums / (fragments[:, None] * length)


def semantic_multinomial(scores: npt.ArrayLike, tag_prior: npt.ArrayLike | None = None) -> Floats:
    """Distribution over tags of each song, by Bayes' rule.

    p(w | song) = p(w) exp(s_w) / Σ_v p(v) exp(s_v).

    Parameters
    ----------
    scores : array-like, shape (n_songs, n_tags)
        Mean log-likelihoods s, of :func:`mean_log_likelihoods`.
    tag_prior : array-like, shape (n_tags,), optional
        Positive weights proportional to p(w). Default uniform, the papers state none.

    Returns
    -------
    ndarray, shape (n_songs, n_tags)
        Rows sum to one.

    Raises
    ------
    ValueError
        If ``scores`` is not two-dimensional, holds NaN or +inf, or gives -inf to a song under
        every tag, or if the prior has another length or a value that is not positive.
    """
    logits = _finite_matrix(scores, "scores", allow_minus_infinity=True)
    if tag_prior is not None:
        prior = np.asarray(tag_prior, dtype=np.float64)
        if prior.shape != logits.shape[1:] or not (np.isfinite(prior) & (prior > 0)).all():
            raise ValueError(
                f"tag_prior must hold {logits.shape[1]} positive values, one a tag, "
                f"got shape {prior.shape}"
            )
        logits = logits + np.log(prior)
    hopeless = np.isneginf(logits).all(axis=1)
    if hopeless.any():
        raise ValueError(f"scores of song {int(np.argmax(hopeless))} are -inf under every tag")
    return np.exp(log_softmax(logits, axis=1))


def top_shares(values: npt.ArrayLike, k: int, axis: int) -> Floats:
    """Membership of each entry in the ``k`` largest along an axis, ties shared.

    Parameters
    ----------
    values : array-like, two-dimensional
        Values to rank.
    k : int
        Number of entries to choose, 1 to the length of ``axis``.
    axis : int
        Axis along which entries compete.

    Returns
    -------
    ndarray, shape of ``values``
        1 for an entry that is among the ``k`` largest in every order of equal entries, 0 for one
        that is in none, r / m for each of m equal entries that share the last r places. Sums to
        ``k`` along ``axis``.

    Raises
    ------
    ValueError
        If ``k`` is out of range or a value is not finite.

    Examples
    --------
    >>> top_shares([[0.5, 0.2, 0.2, 0.1]], k=2, axis=1)
    array([[1. , 0.5, 0.5, 0. ]])
    """
    array = _finite_matrix(values, "values")
    n = array.shape[axis]
    if not 1 <= k <= n:
        raise ValueError(f"k must lie between 1 and the {n} entries to choose from, got {k}")
    cut = np.take(np.sort(array, axis=axis), [n - k], axis=axis)
    above = array > cut
    level = array == cut
    room = k - above.sum(axis=axis, keepdims=True)
    return above + level * (room / level.sum(axis=axis, keepdims=True))


def annotation_scores(
    multinomial: npt.ArrayLike,
    annotations: npt.ArrayLike,
    *,
    n_annotated: int = 10,
    empty_precision: EmptyPrecision = "prior",
    tag_prior: npt.ArrayLike | None = None,
) -> AnnotationScores:
    """Precision, recall and F of each tag when every song gets its most probable tags.

    With |w_H| songs that have tag w, |w_A| songs annotated with it, and |w_C| of these rightly:
    P = |w_C| / |w_A|, R = |w_C| / |w_H|, F = 2 P R / (P + R). F is computed per tag, so the mean
    of F is not the harmonic mean of mean P and mean R.

    Parameters
    ----------
    multinomial : array-like, shape (n_songs, n_tags)
        Semantic multinomials of the test songs; only their order within a song matters.
    annotations : array-like of bool, shape (n_songs, n_tags)
        True tags.
    n_annotated : int, default 10
        Tags given to each song.
    empty_precision : {"prior", "zero", "skip"}
        Precision of a tag that no song was given: the tag's prior, as if songs had been drawn at
        random (Turnbull et al., 2008); zero; or NaN, so that the mean of P leaves the tag out.
        Recall and F of such a tag are zero in each case.
    tag_prior : array-like, shape (n_tags,), optional
        Prior of each tag for ``empty_precision="prior"``; default its share of ``annotations``,
        which is what annotating these songs at random would score.

    Returns
    -------
    AnnotationScores
        NaN throughout for tags without a true song.

    Raises
    ------
    ValueError
        If shapes disagree, a value is not finite or an argument is out of range.

    Examples
    --------
    >>> scores = annotation_scores(
    ...     [[0.7, 0.3], [0.6, 0.4]], [[True, False], [False, True]], n_annotated=1
    ... )
    >>> scores.precision, scores.recall
    (array([0.5, 0.5]), array([1., 0.]))
    """
    values, truth = _values_and_truth(multinomial, annotations, "multinomial")
    if empty_precision not in get_args(EmptyPrecision):
        raise ValueError(
            f"empty_precision must be one of {get_args(EmptyPrecision)}, got {empty_precision!r}"
        )
    given = top_shares(values, n_annotated, axis=1)
    annotated = given.sum(axis=0)
    correct = (given * truth).sum(axis=0)
    positives = truth.sum(axis=0)

    if empty_precision == "prior":
        empty = truth.mean(axis=0) if tag_prior is None else np.asarray(tag_prior, dtype=np.float64)
        if empty.shape != positives.shape or not ((empty >= 0) & (empty <= 1)).all():
            raise ValueError(
                f"tag_prior must hold {positives.size} probabilities, one a tag, "
                f"got shape {empty.shape}"
            )
    else:
        empty = np.full(positives.shape, 0.0 if empty_precision == "zero" else np.nan)
    precision = np.where(annotated > 0, correct / np.where(annotated > 0, annotated, 1.0), empty)
    recall = correct / np.maximum(positives, 1)
    # 2 |w_C| / (|w_A| + |w_H|) equals the harmonic mean and is 0 where |w_C| is.
    f_score = 2 * correct / np.maximum(annotated + positives, 1)
    scored = positives > 0
    return AnnotationScores(
        *(np.where(scored, score, np.nan) for score in (precision, recall, f_score))
    )


def retrieval_scores(
    multinomial: npt.ArrayLike, annotations: npt.ArrayLike, *, k: int = 10
) -> RetrievalScores:
    """Average precision, precision at k and area under the ROC curve of each tag.

    For each tag the songs are ranked by its probability. AP = Σ_i (R_i - R_{i-1}) P_i over the
    distinct probabilities, which without ties is the mean of the precision at each true song.
    P@k = (true songs among the first k) / k. AROC is the probability that a true song stands
    before another one, a tie counting one half.

    Parameters
    ----------
    multinomial : array-like, shape (n_songs, n_tags)
        Semantic multinomials of the test songs.
    annotations : array-like of bool, shape (n_songs, n_tags)
        True tags.
    k : int, default 10
        Rank of P@k, at most the number of songs.

    Returns
    -------
    RetrievalScores
        NaN for tags without a true song; AROC also for tags that all songs have.

    Raises
    ------
    ValueError
        If shapes disagree, a value is not finite or ``k`` is out of range.
    """
    values, truth = _values_and_truth(multinomial, annotations, "multinomial")
    n_songs = len(values)
    positives = truth.sum(axis=0)
    negatives = n_songs - positives

    order = np.argsort(-values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, order, axis=0)
    hits = np.take_along_axis(truth, order, axis=0)
    # Every song is judged at the end of its group of equal values: the last rank of the group.
    ends = np.ones(values.shape, dtype=bool)
    ends[:-1] = ranked[:-1] != ranked[1:]
    rank = np.where(ends, np.arange(n_songs)[:, None], n_songs - 1)
    last = np.minimum.accumulate(rank[::-1], axis=0)[::-1]
    precision = np.take_along_axis(np.cumsum(hits, axis=0), last, axis=0) / (last + 1)
    average_precision = (precision * hits).sum(axis=0) / np.maximum(positives, 1)

    precision_at_k = (top_shares(values, k, axis=0) * truth).sum(axis=0) / k

    ranks_of_true = (pd.DataFrame(values).rank().to_numpy() * truth).sum(axis=0)
    pairs_won = ranks_of_true - positives * (positives + 1) / 2
    aroc = pairs_won / np.maximum(positives * negatives, 1)

    scored = positives > 0
    return RetrievalScores(
        average_precision=np.where(scored, average_precision, np.nan),
        precision_at_k=np.where(scored, precision_at_k, np.nan),
        aroc=np.where(scored & (negatives > 0), aroc, np.nan),
    )


def mean_over_tags(folds: Sequence[npt.ArrayLike]) -> tuple[float, int]:
    """Average a score over the folds of each tag, then over tags.

    Parameters
    ----------
    folds : sequence of array-like, each of shape (n_tags,)
        One score of all tags, in each fold; NaN where undefined.

    Returns
    -------
    mean : float
        Mean over the tags that have a value in some fold; NaN if none has.
    n_tags : int
        How many tags that are.

    Raises
    ------
    ValueError
        If there is no fold or folds differ in length.
    """
    if len(folds) == 0:
        raise ValueError("folds is empty: there is no score to average")
    values = np.array([np.asarray(fold, dtype=np.float64) for fold in folds])
    if values.ndim != 2:
        raise ValueError("each fold must hold one value a tag")
    defined = ~np.isnan(values)
    count = defined.sum(axis=0)
    scored = count > 0
    if not scored.any():
        return float("nan"), 0
    per_tag = np.where(defined, values, 0.0).sum(axis=0)[scored] / count[scored]
    return float(per_tag.mean()), int(scored.sum())


def _finite_matrix(
    values: npt.ArrayLike, name: str, *, allow_minus_infinity: bool = False
) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} must have shape (n_songs, n_tags), got {array.shape}")
    bad = ~np.isfinite(array)
    if allow_minus_infinity:
        bad &= ~np.isneginf(array)
    if bad.any():
        song, tag = np.argwhere(bad)[0]
        raise ValueError(f"{name} of song {song} and tag {tag} is {array[song, tag]}")
    return array


def _values_and_truth(
    values: npt.ArrayLike, annotations: npt.ArrayLike, name: str
) -> tuple[Floats, Bools]:
    array = _finite_matrix(values, name)
    truth = np.asarray(annotations)
    if truth.shape != array.shape:
        raise ValueError(
            f"{name} and annotations must have the same shape (n_songs, n_tags), "
            f"got {array.shape} and {truth.shape}"
        )
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("annotations must hold only 0 and 1")
    return array, truth.astype(bool)
