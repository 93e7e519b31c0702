r"""How well hierarchies of motions agree with the classes (NIPS 2012, Table 2 and Figure 1).

On every level a sequence has the label of its cluster, composed on the way up. Scored are

- the Rand index, "the probability that any pair of motion sequences are correctly clustered with
  respect to each other", and the adjusted one, whose value for random labels is 0;
- the data log-likelihood :math:`\sum_i \log p(y_i \mid \mathcal{M}_{c(i)})` of the whole sequences
  under the centres of their clusters, in nats;
- for each pair of classes the share of their pairs of sequences that share a cluster, and for each
  class the mean share of its own kind in the clusters of its members.

Trials differ in random starts only. How far a score would move with other sequences is seen by
drawing trials and sequences with replacement, labels fixed. A pair of draws of one sequence is left
out: it is together in any clustering.

Trials on which a method failed have no scores; they are counted and listed. Nor has a level whose
clusters are decided by rounding in any trial: the mean would be another one on another machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd

from replication.arrays import AnyArray
from replication.motion.cmu_mocap import Recordings
from replication.motion.sequences import MotionSet
from replication.motion.skeleton import (
    Pose,
    forward_kinematics,
    mean_skeleton,
    pose,
    refer,
    rest_sides,
)
from replication.registry import MOTION_METHODS
from replication.seeds import repetition_seed

__all__ = [
    "FIRST_LEVEL",
    "cluster_exemplars",
    "determined_levels",
    "join_blocks",
    "list_failures",
    "median_trial",
    "resample_hierarchies",
    "score_hierarchies",
    "shown_hierarchies",
]

#: The paper's number of the first level that has clusters; the HMMs of the sequences are level 1.
FIRST_LEVEL = 2


def join_blocks(
    blocks: Iterable[Mapping[str, AnyArray]],
) -> dict[str, dict[str, AnyArray]]:
    """Bring the trials of each method together.

    Parameters
    ----------
    blocks : iterable of mapping
        What :func:`replication.motion.protocol.cluster_motions` found, blocks of methods and
        trials.

    Returns
    -------
    dict of dict of ndarray
        For each method the same arrays with all its trials; methods in the registry's order.
    """
    parts = list(blocks)
    rows = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    methods = rows.pop("methods")
    return {
        method: {key: column[methods == method] for key, column in rows.items()}
        for method in MOTION_METHODS
        if method in methods
    }


def determined_levels(runs: Mapping[str, AnyArray]) -> AnyArray:
    """Say of which levels the method's input decides the clusters, in all trials.

    Parameters
    ----------
    runs : mapping of str to ndarray
        What :func:`replication.motion.protocol.cluster_motions` found by one method.

    Returns
    -------
    ndarray of shape (L,), bool
    """
    # A failure and a method that cannot be undetermined have NaN.
    found: AnyArray = ~(runs["determined"] == 0).any(axis=0)
    return found


def score_hierarchies(
    labels: AnyArray,
    subjects: AnyArray,
    found: Mapping[str, Mapping[str, AnyArray]],
) -> list[dict[str, Any]]:
    """Score the clusters of every method, trial and level.

    Parameters
    ----------
    labels, subjects : ndarray of shape (n,)
        Class of each sequence and who moved. The clustering by subjects is scored too, as the
        method ``subject``: what a method gets that recognises bodies instead of motions.
    found : mapping of str to mapping
        What :func:`replication.motion.protocol.cluster_motions` found, by method.

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table`. With the level as ``item``:
        ``rand_index``, ``adjusted_rand_index``, ``log_likelihood``, ``iterations``,
        ``converged``, ``graph_parts`` and ``determined`` (of methods that have such a graph, and
        only these two if a trial is not determined), or only ``failed``. With a class as ``item``:
        ``precision_at_level_2`` and so on; with a pair of classes: ``together_at_level_2`` and so
        on. Without an item ``drawn``: the trial that :func:`median_trial` chooses.
    """
    rows: list[dict[str, Any]] = []
    for method, runs in found.items():
        determined = determined_levels(runs)
        if determined.all() and not all(runs["failures"]):
            at = median_trial(labels, runs)
            drawn = {"item": "", "repeat": int(runs["trials"][at]), "seed": int(runs["seeds"][at])}
            rows += _rows({"method": method, **drawn}, {"drawn": 1.0})
        for t, (trial, state) in enumerate(zip(runs["trials"], runs["seeds"], strict=True)):
            shared = {"method": method, "repeat": int(trial), "seed": int(state)}
            for at, clusters in enumerate(runs["labels"][t]):
                here = {**shared, "item": at + FIRST_LEVEL}
                if runs["failures"][t]:
                    rows += _rows(here, {"failed": 1.0})
                    continue
                scores = {metric: runs[metric][t, at] for metric in ("graph_parts", "determined")}
                if determined[at]:
                    rows += _score_level(shared, at + FIRST_LEVEL, labels, clusters)
                    scores["log_likelihood"] = runs["log_likelihoods"][t, at].sum()
                    scores |= {
                        metric: runs[metric][t, at] for metric in ("converged", "iterations")
                    }
                rows += _rows(
                    here, {metric: float(x) for metric, x in scores.items() if not np.isnan(x)}
                )
    n_levels = next(iter(found.values()))["labels"].shape[1]
    for level in range(FIRST_LEVEL, FIRST_LEVEL + n_levels):
        rows += _score_level({"method": "subject"}, level, labels, subjects)
    return rows


def list_failures(found: Mapping[str, Mapping[str, AnyArray]]) -> pd.DataFrame:
    """List the trials on which a method failed.

    Parameters
    ----------
    found : mapping of str to mapping
        What :func:`replication.motion.protocol.cluster_motions` found, by method.

    Returns
    -------
    pandas.DataFrame
        Columns ``method``, ``repeat``, ``reason`` and ``log``, the file with the traceback.
    """
    rows = [
        {"method": method, "repeat": int(trial), "reason": str(reason), "log": str(log)}
        for method, runs in found.items()
        for trial, reason, log in zip(runs["trials"], runs["failures"], runs["logs"], strict=True)
        if reason
    ]
    return pd.DataFrame(rows, columns=["method", "repeat", "reason", "log"])


def _rows(shared: Mapping[str, Any], scores: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    for metric, value in scores.items():
        yield {**shared, "metric": metric, "value": value}


def _rand_indices(labels: AnyArray, clusters: AnyArray) -> dict[str, float]:
    """Count pairs for the Rand index and the adjusted one (Hubert and Arabie).

    As scikit-learn's, whose import would take longer than all else that scores motions.
    """
    alike, together = labels[:, None] == labels, clusters[:, None] == clusters
    n_pairs = len(labels) * (len(labels) - 1)
    both = int((alike & together).sum()) - len(labels)
    alike_only, together_only = int((alike & ~together).sum()), int((together & ~alike).sum())
    neither = n_pairs - both - alike_only - together_only
    by_chance = (both + alike_only) * (alike_only + neither)
    by_chance += (both + together_only) * (together_only + neither)
    excess = 2 * (both * neither - alike_only * together_only)
    differ = alike_only + together_only
    return {
        "rand_index": (both + neither) / n_pairs,
        "adjusted_rand_index": excess / by_chance if differ else 1.0,
    }


def _score_level(
    shared: Mapping[str, Any], level: int, labels: AnyArray, clusters: AnyArray
) -> Iterator[dict[str, Any]]:
    """Rows on how the clusters of a level agree with the classes."""
    yield from _rows({**shared, "item": level}, _rand_indices(labels, clusters))
    classes = np.unique(labels)
    same_cluster = clusters[:, None] == clusters
    shares = same_cluster / same_cluster.sum(axis=1, keepdims=True)
    for name in classes:
        members = labels == name
        precision = float(shares[np.ix_(members, members)].sum(axis=1).mean())
        yield from _rows({**shared, "item": name}, {f"precision_at_level_{level}": precision})
    different_sequences = ~np.eye(len(labels), dtype=bool)
    for a, b in combinations_with_replacement(classes, 2):
        pairs = np.outer(labels == a, labels == b) & different_sequences
        # A class of one sequence has no pairs of its own.
        if pairs.any():
            together = float(same_cluster[pairs].mean())
            yield from _rows(
                {**shared, "item": f"{a}/{b}"}, {f"together_at_level_{level}": together}
            )


def resample_hierarchies(
    labels: AnyArray,
    subjects: AnyArray,
    found: Mapping[str, Mapping[str, AnyArray]],
    *,
    draws: int,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    """Score what was found on trials and sequences drawn with replacement.

    Parameters
    ----------
    labels, subjects, found
        As for :func:`score_hierarchies`; all methods have the same trials.
    draws : int
    seed : int
    experiment : str

    Returns
    -------
    list of dict
        Rows with the metrics ``resampled_rand_index`` and ``resampled_log_likelihood``, the level
        as ``item`` and the draw as ``repeat``. A draw takes the same trials and sequences for all
        methods, so that differences are paired; of these trials a method's scores come from those
        on which it did not fail, and there are none if it failed on all, nor of levels that are
        not determined.
    """
    n = len(labels)
    first = next(iter(found.values()))["labels"]
    n_trials, n_levels, _ = first.shape
    same_class = labels[:, None] == labels
    by_subject = subjects[:, None] == subjects
    shape = (n_levels, n_trials, n, n)
    agreements = {"subject": np.broadcast_to(by_subject == same_class, shape)}
    for method, runs in found.items():
        clusters = np.swapaxes(runs["labels"], 0, 1)
        together = clusters[..., :, None] == clusters[..., None, :]
        agreements[method] = together == same_class
    levels = {method: np.flatnonzero(determined_levels(runs)) for method, runs in found.items()}
    levels["subject"] = np.arange(n_levels)
    rows: list[dict[str, Any]] = []
    for draw in range(draws):
        state = repetition_seed(seed, f"{experiment}/resampling", draw)
        rng = np.random.default_rng(state)
        trials = np.bincount(rng.integers(n_trials, size=n_trials), minlength=n_trials) / n_trials
        counts = np.bincount(rng.integers(n, size=n), minlength=n)
        pairs = np.outer(counts, counts)
        np.fill_diagonal(pairs, 0)
        for method, agreement in agreements.items():
            worked = found[method]["failures"] == "" if method in found else np.ones(n_trials, bool)
            share = trials[worked].sum()
            if share == 0:
                continue
            weights = trials[worked] / share
            rand = np.einsum("t,ltij,ij->l", weights, agreement[:, worked], pairs, optimize=True)
            scores = {"resampled_rand_index": rand / pairs.sum()}
            if method in found:
                scores["resampled_log_likelihood"] = np.einsum(
                    "t,tli,i->l", weights, found[method]["log_likelihoods"][worked], counts
                )
            shared = {"method": method, "repeat": draw, "seed": state}
            for at in levels[method]:
                values = {metric: float(value[at]) for metric, value in scores.items()}
                rows += _rows({**shared, "item": at + FIRST_LEVEL}, values)
    return rows


def median_trial(labels: AnyArray, runs: Mapping[str, AnyArray]) -> int:
    """Choose the trial to be shown: its Rand indices are nearest to the medians of all trials.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Class of each sequence.
    runs : mapping of str to ndarray
        What :func:`replication.motion.protocol.cluster_motions` found.

    Returns
    -------
    int
        Position of the trial with the smallest sum over levels of absolute differences between
        its Rand index and the median; the first one if several are equally near. Trials on which
        the method failed take no part.

    Raises
    ------
    ValueError
        If it failed on all.
    """
    worked = np.flatnonzero(runs["failures"] == "")
    if not worked.size:
        raise ValueError(f"the method failed on every trial: {runs['failures'][0]}")
    rand = np.array(
        [
            [_rand_indices(labels, level)["rand_index"] for level in runs["labels"][trial]]
            for trial in worked
        ]
    )
    return int(worked[np.abs(rand - np.median(rand, axis=0)).sum(axis=1).argmin()])


def shown_hierarchies(
    motions: MotionSet, found: Mapping[str, Mapping[str, AnyArray]]
) -> pd.DataFrame:
    """List the clusters of each method in the trial that :func:`median_trial` chooses.

    Parameters
    ----------
    motions : MotionSet
    found : mapping of str to mapping
        What :func:`replication.motion.protocol.cluster_motions` found, by method.

    Returns
    -------
    pandas.DataFrame
        A row a method, level and sequence: ``method``, ``trial``, ``level``, ``sequence``,
        ``class`` and ``cluster``. A method that failed on every trial has no rows.
    """
    tables = []
    for method, runs in found.items():
        if all(runs["failures"]):
            continue
        at = median_trial(motions.labels, runs)
        for level, clusters in enumerate(runs["labels"][at], start=FIRST_LEVEL):
            columns = {
                "method": method,
                "trial": runs["trials"][at],
                "level": level,
                "sequence": motions.ids,
                "class": motions.labels,
                "cluster": clusters,
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def cluster_exemplars(
    recordings: Recordings, motions: MotionSet, runs: Mapping[str, AnyArray]
) -> dict[str, AnyArray]:
    """Choose a motion that shows each cluster of the first level of the trial that is shown.

    Parameters
    ----------
    recordings : Recordings
        The recorded motions.
    motions : MotionSet
        The same sequences as features.
    runs : mapping of str to ndarray
        What :func:`replication.motion.protocol.cluster_motions` found by one method.

    Returns
    -------
    dict of ndarray
        For each cluster that has sequences the one with the highest log-likelihood per frame
        under the cluster's centre: ``titles`` (sizes of the classes in the cluster), ``lengths``
        and, for all frames one after the other, ``positions`` (n_frames, n_joints, 3) of the mean
        skeleton in metres, seen as ``plot_stick_figures`` wants them;
        ``parents`` and ``sides`` of the joints.
    """
    at = median_trial(motions.labels, runs)
    clusters = runs["labels"][at, 0]
    lengths = np.array([len(sequence) for sequence in motions.sequences])
    per_frame = runs["log_likelihoods"][at, 0] / lengths
    skeleton = mean_skeleton([recording.motion.skeleton for recording in recordings.recordings])
    titles, positions = [], []
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        counts = Counter(motions.labels[members].tolist())
        titles.append("\n".join(f"{count} {name}" for name, count in counts.most_common()))
        exemplar = recordings.motions[members[per_frame[members].argmax()]]
        moved = pose(exemplar.skeleton, exemplar.values)
        # Turned to face z, above one spot, at its own height.
        height = moved.translation * [0.0, 1.0, 0.0]
        facing = Pose(height, refer(moved, "root_heading").rotations)
        positions.append(forward_kinematics(skeleton, facing))
    return {
        "titles": np.array(titles),
        "lengths": np.array([len(frames) for frames in positions]),
        "positions": np.concatenate(positions),
        "parents": skeleton.parents,
        "sides": rest_sides(skeleton),
    }
