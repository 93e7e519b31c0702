"""From the parameters of a synthetic song to its sound: a small band that repeats itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from replication.arrays import Floats

__all__ = ["PARAMETERS", "SAMPLING_RATE", "play"]

SAMPLING_RATE = 22050
"""In Hz."""


class _Timbre(NamedTuple):
    """Harmonic h has amplitude h^-slope; sound grows for ``attack``, falls as exp(-t / decay)."""

    semitones: int  # from the tonic
    slope: float
    attack: float  # s
    decay: float  # s
    beats: float  # that a note lasts


_PITCHED = {
    "guitar": _Timbre(0, 1.3, 0.004, 0.25, 1.5),
    "distorted": _Timbre(-12, 0.5, 0.006, 2.0, 1.0),
    "piano": _Timbre(0, 1.9, 0.008, 0.5, 1.5),
    "strings": _Timbre(0, 1.0, 0.15, 2.0, 4.0),
    "voice": _Timbre(7, 1.2, 0.05, 1.0, 1.0),
    "bass": _Timbre(-24, 2.2, 0.01, 0.4, 1.0),
}
_LAYERS = (*_PITCHED, "drums")

PARAMETERS = (
    *("tempo", "minor", "loudness", "contrast", "brightness"),
    *("density", "register", "noise", "swelling"),
    *_LAYERS,
)
"""What tags act on: each zero on average with a standard deviation of one between songs. Those that
are called like a layer say how loudly it plays, or not at all."""

_SILENT_BELOW = -0.2
_SCALES = {False: (0, 2, 4, 5, 7, 9, 11), True: (0, 2, 3, 5, 7, 8, 10)}
# In eighths. Sections are verse and chorus in turn.
_BAR, _SECTION = 8, 16


def play(
    z: Mapping[str, float], seconds: float, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Compose and play a song: verse and chorus with two chords each, a pattern for each layer.

    Parameters
    ----------
    z : mapping of str to float
        A value for each of :data:`PARAMETERS`.
    seconds : float
        Duration in s.
    rng : numpy.random.Generator
        Decides all that the parameters leave open. What it draws does not depend on them.

    Returns
    -------
    ndarray of float32, shape (round(22050 * seconds),)
        Samples between -1 and 1.
    """
    eighth = 30 / (105 * 2 ** (0.4 * z["tempo"]))
    tonic = 57 + int(rng.integers(-5, 6)) + round(4 * z["register"])
    scale = _SCALES[z["minor"] > 0]
    chords = rng.choice([0, 3, 4, 5], size=(2, _SECTION // _BAR))
    # Of each layer, section and eighth of a bar.
    pattern = (len(_LAYERS), 2, _BAR)
    thirds = 2 * rng.integers(0, 3, size=pattern)
    chosen = rng.random(pattern) < _share(z["density"])
    chosen[:, :, 0] = True
    swells = rng.random(pattern) < _share(2 * (z["swelling"] - 1))
    drums = _drum_sounds(rng)
    mix = np.zeros(round(SAMPLING_RATE * seconds))
    contrast = float(np.clip(2 + 3 * z["contrast"], 0, 10))
    leader = max(_PITCHED, key=lambda layer: z[layer])
    for number, layer in enumerate(_LAYERS):
        if z[layer] <= _SILENT_BELOW and layer != leader:
            continue
        for when in range(int(np.ceil(seconds / eighth))):
            section, bar, place = when // _SECTION % 2, when // _BAR % 2, when % _BAR
            at = number, section, place
            if layer == "drums":
                sound = drums[place % len(drums)]
            elif not chosen[at]:
                continue
            else:
                octave, degree = divmod(int(chords[section, bar] + thirds[at]), len(scale))
                midi = tonic + _PITCHED[layer].semitones + 12 * octave + scale[degree]
                hertz = 440 * 2 ** ((midi - 69) / 12)
                sound = _note(_PITCHED[layer], hertz, 2 * eighth, z["brightness"])
            level = 4 * max(z[layer], _SILENT_BELOW) + contrast * (-1) ** section  # dB
            start = int(when * eighth * SAMPLING_RATE)
            kept = sound[:: -1 if swells[at] else 1][: mix.size - start]
            mix[start : start + kept.size] += 10 ** (level / 20) * kept
    noise = rng.standard_normal(mix.size)
    mix += _rms(mix) * 10 ** ((-34 + 7 * z["noise"]) / 20) * noise
    mix *= 10 ** ((-21 + 3 * z["loudness"]) / 20) / _rms(mix)
    return np.tanh(mix).astype(np.float32)


def _share(z: float) -> float:
    """Map a parameter to a share between 0 and 1."""
    return float(1 / (1 + np.exp(-z)))


def _rms(signal: Floats) -> float:
    return float(np.sqrt(np.mean(signal**2)))


def _note(timbre: _Timbre, hertz: float, beat: float, brightness: float) -> Floats:
    """Play a note of unit power at rest, with no harmonic above half the sampling rate."""
    h = np.arange(1, int(min(SAMPLING_RATE / 2 / hertz, 40)) + 1)
    spectrum = np.zeros(1025, dtype=complex)
    # Phases that grow with the square keep the peak of many harmonics low.
    spectrum[h] = h ** (0.25 * brightness - timbre.slope) * np.exp(1j * np.pi * h**2 / h.size)
    period = np.fft.irfft(spectrum)
    t = np.arange(int(timbre.beats * beat * SAMPLING_RATE)) / SAMPLING_RATE
    wave = period[(hertz * t * period.size).astype(np.int64) % period.size] / _rms(period)
    # The end of a note is taken back within 30 ms, so that it does not click.
    ends = np.minimum(t / timbre.attack, 1) * np.minimum((t[-1] - t) / 0.03, 1)
    return wave * ends * np.exp(-t / timbre.decay)


def _drum_sounds(rng: np.random.Generator) -> list[Floats]:
    """Kick, hat, snare and hat."""
    t = np.arange(int(0.25 * SAMPLING_RATE)) / SAMPLING_RATE
    noise = rng.standard_normal(t.size)
    kick = 4.0 * np.sin(2 * np.pi * 60 * t) * np.exp(-t / 0.08)
    snare = 1.6 * (noise + np.sin(2 * np.pi * 190 * t)) * np.exp(-t / 0.05)
    hat = 0.5 * np.diff(noise, n=2, prepend=np.zeros(2)) * np.exp(-t / 0.02)
    return [kick, hat, snare, hat]
