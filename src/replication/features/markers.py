"""Positions of markers on the body, as sequences of feature vectors.

In the extended paper a frame is x, y and z of 41 markers, 123 numbers. What of the body's place is
taken away is the ``reference``, as for the joints of a skeleton
(:mod:`replication.features.skeleton`); the root is the mean of the four waist markers. Which of a
file's axes is vertical is found from the body: the one along which head and toes differ most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from replication.datasets.c3d import MarkerRecording
from replication.features.skeleton import Reference, Scaling, standardised

__all__ = ["marker_features", "vertical_axis"]

Array = npt.NDArray[np.float64]

_HEAD = ("RFHD", "LFHD", "RBHD", "LBHD")
_TOES = ("LTOE", "RTOE")
_WAIST = ("LFWT", "RFWT", "LBWT", "RBWT")


def marker_features(
    recordings: Sequence[MarkerRecording],
    *,
    reference: Reference = "horizontal",
    frame_rate_hz: float = 120.0,
    scaling: Scaling = "none",
) -> list[Array]:
    """Turn recorded markers into sequences of feature vectors.

    Parameters
    ----------
    recordings : sequence of MarkerRecording
        With the same markers, four of them on the waist.
    reference : {"world", "horizontal", "root"}
        What is taken away in each frame: nothing, the root's place on the floor, the root's place.
    frame_rate_hz : float
        Frames a second of the result; markers move in straight lines between frames.
    scaling : {"none", "standard"}
        ``standard`` gives each column the mean 0 and the standard deviation 1 over all frames.

    Returns
    -------
    list of ndarray of shape (n_frames_i, 3 * n_markers)
        Metres; marker by marker, in the file's axes.

    Raises
    ------
    ValueError
        If the reference needs joints, there is no recording, or their markers differ.
    """
    if reference not in ("world", "horizontal", "root"):
        raise ValueError(
            f"reference must be one of world, horizontal, root for markers; got {reference!r}"
        )
    if len({recording.markers for recording in recordings}) != 1:
        raise ValueError("recordings: expected at least one, all with the same markers")
    sequences = []
    for recording in recordings:
        positions = _resampled(recording, frame_rate_hz)
        if reference != "world":
            root = positions[:, _columns(recording, _WAIST)].mean(axis=1)
            if reference == "horizontal":
                root[:, vertical_axis(recording)] = 0.0
            positions = positions - root[:, np.newaxis]
        sequences.append(positions.reshape(len(positions), -1))
    return standardised(sequences) if scaling == "standard" else sequences


def vertical_axis(recording: MarkerRecording) -> int:
    """Index of the axis along which the head is farthest from the toes, in the median frame."""
    head, toes = (
        recording.positions[:, _columns(recording, names)].mean(axis=1) for names in (_HEAD, _TOES)
    )
    return int(np.abs(np.median(head - toes, axis=0)).argmax())


def _columns(recording: MarkerRecording, names: Sequence[str]) -> list[int]:
    return [recording.markers.index(name) for name in names]


def _resampled(recording: MarkerRecording, frame_rate_hz: float) -> Array:
    """Positions at other times; those of the first frame and of what follows evenly."""
    positions = recording.positions
    if frame_rate_hz == recording.frame_rate_hz:
        return positions
    last = (len(positions) - 1) / recording.frame_rate_hz
    times = np.arange(int(last * frame_rate_hz + 1e-9) + 1) / frame_rate_hz
    frames = times * recording.frame_rate_hz
    before = np.minimum(frames.astype(int), len(positions) - 1)
    after = np.minimum(before + 1, len(positions) - 1)
    share = (frames - before)[:, np.newaxis, np.newaxis]
    return (1 - share) * positions[before] + share * positions[after]
