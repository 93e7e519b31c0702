"""A construction: songs whose tags differ only in the order of sounds.

Six sounds are played equally often in every song, and tags differ only in which sounds alternate
with each other: the distribution of frames is the same under every tag, so that a model of frames
(HEM-GMM) can learn nothing, and a model of sequences can. Its seeds, rates
and margin were fixed before any of the methods under test had been run on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from replication.music.annotations import Annotations
from replication.standins.song_sound import SAMPLING_RATE
from replication.standins.song_tags import HEARING, SCORE, STYLE, stream

__all__ = ["ORDER_MARGIN", "ORDER_MISS_RATE", "ORDER_SEED", "order_annotations", "order_song"]

Floats = npt.NDArray[np.float64]
Signal = npt.NDArray[np.float32]

ORDER_MISS_RATE = 0.1
"""Share of songs of the order collection that are annotated with another tag."""
ORDER_MARGIN = 0.15
"""How much mean AROC a method for sequences must have above HEM-GMM on the order collection."""

ORDER_SEED = 20120502
"""Of this collection."""

# Lengths of the order collection in samples. Frames hop by 512 samples and last 1,024, derivatives
# reach one frame to either side: 2,048 samples in all. A gap as long keeps every feature vector
# from seeing two notes, and lengths of whole hops let equal notes give equal feature vectors.
_HOP = 512
_NOTE, _GAP = 6 * _HOP, 4 * _HOP
_SLOT = _NOTE + _GAP
# The five ways to pair six sounds in which no pair occurs twice.
_PAIRINGS = tuple(
    ((5, r), ((r + 1) % 5, (r - 1) % 5), ((r + 2) % 5, (r - 2) % 5)) for r in range(5)
)


def order_annotations(n_songs: int, *, seed: int = 0) -> tuple[Annotations, npt.NDArray[np.bool_]]:
    """Annotations and generating tags of the order collection.

    Each song is made from one of five tags, each of which comes once in five consecutive songs,
    and annotated with it, or with probability :data:`ORDER_MISS_RATE` with another one.

    Parameters
    ----------
    n_songs : int
        Number of songs.
    seed : int, default 0
        All draws follow from it.

    Returns
    -------
    annotations : Annotations
    generating : ndarray of bool, shape (n_songs, 5)
        Its scores are the ceiling: no order of songs or tags is better founded.
    """
    n_tags = len(_PAIRINGS)
    generating = np.zeros((n_songs, n_tags), dtype=bool)
    hard = np.zeros_like(generating)
    for song in range(n_songs):
        turn, place = divmod(song, n_tags)
        tag = stream(ORDER_SEED, seed, turn, STYLE).permutation(n_tags)[place]
        rng = stream(ORDER_SEED, seed, song, HEARING)
        wrong = rng.random() < ORDER_MISS_RATE
        generating[song, tag] = True
        hard[song, (tag + wrong * rng.integers(1, n_tags)) % n_tags] = True
    names = tuple(f"order_band_{song:04d}-song_{song:04d}" for song in range(n_songs))
    tags = tuple(f"Song-Order_{number}" for number in range(1, n_tags + 1))
    return Annotations(names, tags, hard, np.where(hard, 0.8, 0.0)), generating


def order_song(tag: int, song: int, seconds: float = 15.0, *, seed: int = 0) -> Signal:
    """Play a song of the order collection.

    Six sounds make three pairs, and each third of the song is one pair in alternation. The tag
    decides on the pairs, chance on their order. All sounds are played equally often, apart by
    silence but for a hum whose period is one hop: under every tag the same frames occur, with the
    same derivatives, in another order (a weak noise on top is drawn alike for all tags). What is
    left to tell tags apart is which sounds stand within the same seconds.

    Parameters
    ----------
    tag : int
        Number of the pairing, 0 to 4.
    song : int
        Number of the song; it decides tuning, loudness of the sounds, hum and order.
    seconds : float, default 15
        Duration in s.
    seed : int, default 0
        All draws follow from it.

    Returns
    -------
    ndarray of float32, shape (round(22050 * seconds),)
        Samples between -1 and 1.
    """
    rng = stream(ORDER_SEED, seed, song, SCORE)
    signal = _order_signal(tag, seconds, rng)
    # Without it all frames between notes would be equal, and their variance zero.
    return (signal + 0.0005 * rng.standard_normal(signal.size)).astype(np.float32)


def _order_signal(tag: int, seconds: float, rng: np.random.Generator) -> Floats:
    """Play notes and hum; the numbers that are drawn do not depend on the tag."""
    n = round(SAMPLING_RATE * seconds)
    slots = (n - _GAP) // _SLOT // 6 * 2  # of a third, an even number
    sounds = _order_sounds(rng)
    phases = rng.uniform(0, 2 * np.pi, size=8)
    angles = 2 * np.pi * np.arange(_HOP) / _HOP
    hum = 0.003 * sum(np.sin(m * angles + phase) for m, phase in enumerate(phases, start=1))
    signal = np.resize(hum, n)
    order = rng.permuted(np.array(_PAIRINGS[tag])[rng.permutation(3)], axis=1)
    for number, sound in enumerate(np.tile(order, slots // 2).ravel()):
        start = _GAP + number * _SLOT
        signal[start : start + _NOTE] += sounds[sound]
    return signal


def _order_sounds(rng: np.random.Generator) -> Floats:
    """Six sounds of unlike spectra, shape (6, samples of a note)."""
    t = np.arange(_NOTE) / SAMPLING_RATE
    tuning = 2 ** rng.uniform(-1 / 3, 1 / 3)
    angle = 2 * np.pi * tuning * t

    def harmonic(hertz: float, slope: float, numbers: Sequence[float]) -> Floats:
        return np.sum([h**-slope * np.sin(hertz * h * angle + h * h) for h in numbers], axis=0)

    low, high = rng.standard_normal((2, _NOTE))
    sounds = np.array(
        [
            harmonic(110, 0.7, range(1, 30)),
            harmonic(220, 2.5, range(1, 6)),
            harmonic(330, 1.0, range(1, 20, 2)),
            harmonic(520, 0.5, (1, 2.76, 5.4, 8.93)),
            lfilter([0.05], [1, -0.95], low),
            np.diff(high, n=2, prepend=np.zeros(2)),
        ]
    )
    sounds *= np.minimum(t / 0.01, 1) * np.exp(-t / 0.06) * (1 - t / t[-1])
    rms = np.sqrt(np.mean(sounds**2, axis=1, keepdims=True))
    return sounds * 0.08 * 10 ** (rng.uniform(-2, 2, size=(6, 1)) / 20) / rms
