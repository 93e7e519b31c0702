"""Sequences of feature vectors that stand for motions, as they pass from job to job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from replication.arrays import AnyArray, Floats, Texts
from replication.motion.cmu_mocap import Recordings
from replication.motion.skeleton import motion_features

__all__ = ["MotionSet"]


@dataclass(frozen=True)
class MotionSet:
    """Sequences of feature vectors with what is known about them.

    Parameters
    ----------
    sequences : list of ndarray of shape (n_frames_i, n_features)
    ids, labels, subjects : ndarray of str, shape (n,)
        Name of each sequence, its class, and who moved.
    """

    sequences: list[Floats]
    ids: Texts
    labels: Texts
    subjects: Texts

    @classmethod
    def from_recordings(cls, recordings: Recordings, **features: Any) -> MotionSet:
        """Compute the features, see :func:`replication.motion.skeleton.motion_features`."""
        return cls(
            sequences=motion_features(recordings.motions, **features),
            ids=np.array([recording.listed.id for recording in recordings.recordings]),
            labels=np.array(recordings.labels),
            subjects=np.array(recordings.subjects),
        )

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return arrays that can be saved, see :meth:`from_arrays`."""
        return {
            "frames": np.concatenate(self.sequences),
            "lengths": np.array([len(sequence) for sequence in self.sequences]),
            "ids": self.ids,
            "labels": self.labels,
            "subjects": self.subjects,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> MotionSet:
        """Rebuild what :meth:`to_arrays` returned."""
        ends = np.cumsum(arrays["lengths"])
        return cls(
            sequences=np.split(arrays["frames"], ends[:-1]),
            ids=arrays["ids"],
            labels=arrays["labels"],
            subjects=arrays["subjects"],
        )
