"""How long the frames of a recording are, in samples, at any sampling rate.

The papers' frames last 46 ms and begin 23 ms apart. At 22,050 Hz these are 1,024 and 512 samples;
at other rates the numbers change and the durations stay, so that a sequence of 125 frames is as
long as before.
"""

from __future__ import annotations

from typing import TypedDict

__all__ = ["SAMPLING_RATE", "Framing", "frame_seconds", "framing"]

SAMPLING_RATE = 22050
"""Rate in Hz at which a step is 512 samples."""
_HOP = 512


class Framing(TypedDict):
    """Arguments of :class:`replication.music.mfcc.MFCC` and ``LogMel``."""

    sampling_rate: int
    window: int
    hop: int
    f_max: float


def framing(sampling_rate: int) -> Framing:
    """Give the lengths of frames, half of which overlap, and the highest frequency in Hz.

    Examples
    --------
    >>> framing(11025)
    {'sampling_rate': 11025, 'window': 512, 'hop': 256, 'f_max': 5512.5}
    """
    hop = round(sampling_rate * _HOP / SAMPLING_RATE)
    return Framing(sampling_rate=sampling_rate, window=2 * hop, hop=hop, f_max=sampling_rate / 2)


def frame_seconds(n_frames: int, sampling_rate: int) -> float:
    """Give the duration of so many frames in s."""
    lengths = framing(sampling_rate)
    return (lengths["window"] + (n_frames - 1) * lengths["hop"]) / sampling_rate
