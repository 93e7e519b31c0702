"""From the parameters of a synthetic song to its score, and from the score to sound.

The parameters are those of :mod:`replication.standins.song_tags`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

__all__ = ["SAMPLING_RATE", "Note", "compose", "render"]

Floats = npt.NDArray[np.float64]
Signal = npt.NDArray[np.float32]

SAMPLING_RATE = 22050
"""In Hz."""


@dataclass(frozen=True)
class Note:
    """A note of the score.

    Attributes
    ----------
    sound : str
        Instrument or drum.
    start, duration : float
        In s.
    hertz : float
        Fundamental frequency; of drums unused.
    gain : float
        Amplitude.
    swells : bool
        Whether the note grows and stops instead of starting and fading.
    """

    sound: str
    start: float
    duration: float
    hertz: float
    gain: float
    swells: bool = False


_HARMONY = ("guitar", "distorted", "piano", "strings", "synth")
_VOICES = ("male", "female")
# Layers below this level are silent.
_PRESENT = -0.2
# Sound, onset in beats, semitones above the tonic.
_Stroke = tuple[str, float, int]
_SCALES = {False: (0, 2, 4, 5, 7, 9, 11), True: (0, 2, 3, 5, 7, 8, 10)}
_BEATS_A_BAR, _BARS_A_SECTION = 4, 2
# The form of a song, over and over: verse, chorus, verse, bridge.
_FORM = (0, 1, 0, 2)
_OCTAVE = {
    "guitar": 0,
    "distorted": -12,
    "piano": 0,
    "strings": 0,
    "synth": 12,
    "male": -5,
    "female": 7,
    "bass": -24,
}


def compose(parameters: dict[str, float], seconds: float, rng: np.random.Generator) -> list[Note]:
    """Write the score of a song.

    Sections of two bars follow the form verse, chorus, verse, bridge; each kind of section has its
    own two chords, melody and loudness, so that a song has parts that return.

    Parameters
    ----------
    parameters : dict of str to float
        Of :func:`replication.standins.song_tags.song_parameters`.
    seconds : float
        Duration in s.
    rng : numpy.random.Generator
        Decides all that the parameters leave open.

    Returns
    -------
    list of Note
        All of them start before ``seconds``.
    """
    z = parameters
    beat = 60 / (105 * 2 ** (0.4 * z["tempo"]))
    tonic = 57 + int(rng.integers(-5, 6)) + round(4 * z["register"])
    scale = _SCALES[z["minor"] > 0]
    gains = _layer_gains(z)
    sung = [voice for voice in _VOICES if voice in gains]
    leads = sung or [max(_HARMONY, key=lambda layer: z[layer])]
    contrast = float(np.clip(2 + 3 * z["contrast"], 0, 10))
    chords = rng.choice([0, 3, 4, 5], size=(len(set(_FORM)), _BARS_A_SECTION))
    motifs = [_motif(z, rng) for _ in range(len(set(_FORM)) * _BARS_A_SECTION)]
    bar = _BEATS_A_BAR * beat
    notes: list[Note] = []
    for number in range(int(np.ceil(seconds / bar))):
        section = number // _BARS_A_SECTION
        kind = _FORM[section % len(_FORM)]
        place = number % _BARS_A_SECTION
        level = 10 ** (((-1) ** section) * contrast / 20)
        degree = int(chords[kind, place])
        # Repetitive music says the same in every bar.
        repeated = rng.random() < _share(1.5 * z["repetition"])
        motif = motifs[0] if repeated else motifs[kind * _BARS_A_SECTION + place]
        hush = 10 ** (-30 * _share(2 * (z["turns"] - 1)) / 20)
        singing = number % 2 == 0
        start = number * bar
        for layer, gain in gains.items():
            turn = 1.0
            if layer in leads or layer in _HARMONY:
                turn = 1.0 if (layer in leads) == singing else hush
            loud = gain * level * turn
            strokes = (
                [(layer, onset, _pitch(scale, degree + step)) for onset, step in motif]
                if layer in leads
                else _accompaniment(layer, z, scale, degree, rng)
            )
            for sound, onset, pitch in strokes:
                swing = 0.17 * _share(1.5 * z["syncopation"]) * (onset % 1 == 0.5)
                midi = tonic + _OCTAVE.get(layer, 0) + pitch
                notes.append(
                    Note(
                        sound=sound,
                        start=start + (onset + swing) * beat,
                        duration=_LENGTHS.get(layer, 1.0) * beat,
                        hertz=440 * 2 ** ((midi - 69) / 12),
                        gain=loud * float(rng.uniform(0.8, 1.0)),
                        swells=bool(rng.random() < _share(2 * (z["swelling"] - 1))),
                    )
                )
    return [note for note in notes if note.start < seconds]


# How long notes last, in beats.
_LENGTHS = {"guitar": 1.5, "distorted": 0.9, "piano": 1.5, "strings": 4.0, "synth": 0.4}


def _share(z: float) -> float:
    """Map a parameter to a share between 0 and 1."""
    return float(1 / (1 + np.exp(-z)))


def _layer_gains(z: dict[str, float]) -> dict[str, float]:
    """Gain of each layer that is present, always at least one that has pitch."""
    layers = (*_HARMONY, *_VOICES, "bass", "drums", "hand_drums")
    present = {layer for layer in layers if z[layer] > _PRESENT}
    if not present & {*_HARMONY, *_VOICES}:
        present.add(max(_HARMONY, key=lambda layer: z[layer]))
    return {
        layer: float(10 ** (4 * max(z[layer], _PRESENT) / 20))
        for layer in layers
        if layer in present
    }


def _onsets(z: dict[str, float], rng: np.random.Generator) -> list[float]:
    """Draw the eighths of a bar that sound: more of them if dense, more off-beats if swung."""
    dense, off = _share(z["density"]), _share(1.5 * z["syncopation"])
    on_beat, off_beat = (0.4 + 0.6 * dense) * (1.2 - 0.6 * off), dense * (0.3 + 0.9 * off)
    eighths = np.arange(2 * _BEATS_A_BAR) / 2
    chosen = rng.random(eighths.size) < np.where(eighths % 1 == 0, on_beat, off_beat)
    return [float(onset) for onset in eighths[chosen]] or [0.0]


def _motif(z: dict[str, float], rng: np.random.Generator) -> list[tuple[float, int]]:
    """Draw a bar of melody: onsets in beats and steps of the scale, a random walk."""
    onsets = _onsets(z, rng)
    steps = np.clip(np.cumsum(rng.integers(-2, 3, size=len(onsets))), -3, 7)
    return [(onset, int(step)) for onset, step in zip(onsets, steps, strict=True)]


def _pitch(scale: tuple[int, ...], step: int) -> int:
    octave, degree = divmod(step, len(scale))
    return 12 * octave + scale[degree]


def _accompaniment(
    layer: str, z: dict[str, float], scale: tuple[int, ...], degree: int, rng: np.random.Generator
) -> list[_Stroke]:
    """Write what a layer that does not lead plays in one bar."""
    triad = [_pitch(scale, degree + step) for step in (0, 2, 4)]
    if layer == "drums":
        beats = {"kick": (0.0, 2.0), "snare": (1.0, 3.0), "hat": np.arange(0.0, 4.0, 0.5).tolist()}
        return [(drum, onset, 0) for drum, onsets in beats.items() for onset in onsets]
    if layer == "strings":
        return [(layer, 0.0, pitch) for pitch in triad]
    onsets = _onsets(z, rng)
    if layer == "hand_drums":
        return [(layer, onset, 0) for onset in onsets]
    if layer == "bass":
        return [(layer, onset, triad[0]) for onset in sorted({0.0, 2.0, *onsets[:3]})]
    if layer in ("guitar", "synth"):
        return [(layer, onset, triad[index % 3]) for index, onset in enumerate(onsets)]
    voicing = triad if layer == "piano" else [triad[0], triad[0] + 7]
    return [(layer, onset, pitch) for onset in onsets for pitch in voicing]


# --- from a score to sound ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Timbre:
    """Harmonic h has amplitude h^-slope (odd ones only if ``hollow``), shaped by formants in Hz."""

    slope: float
    attack: float  # s
    decay: float  # s; 0: sustained
    vibrato: float = 0.0  # cents at rest
    hollow: bool = False
    formants: tuple[float, ...] = ()


_TIMBRES = {
    "guitar": _Timbre(slope=1.3, attack=0.004, decay=0.25),
    "distorted": _Timbre(slope=0.8, attack=0.006, decay=0.0),
    "piano": _Timbre(slope=1.9, attack=0.008, decay=0.5),
    "strings": _Timbre(slope=1.0, attack=0.15, decay=0.0, vibrato=12.0),
    "synth": _Timbre(slope=0.7, attack=0.003, decay=0.0, hollow=True),
    "male": _Timbre(slope=1.2, attack=0.05, decay=0.0, vibrato=25.0, formants=(600, 1100, 2500)),
    "female": _Timbre(slope=1.2, attack=0.05, decay=0.0, vibrato=25.0, formants=(850, 1700, 3200)),
    "bass": _Timbre(slope=2.2, attack=0.01, decay=0.4),
}
_TABLE = 4096
_VIBRATO_HERTZ = 5.5
_RELEASE = 0.03


def render(
    notes: Sequence[Note], parameters: dict[str, float], seconds: float, rng: np.random.Generator
) -> Signal:
    """Play a score.

    Parameters
    ----------
    notes : sequence of Note
        Of :func:`compose`.
    parameters : dict of str to float
        Of :func:`replication.standins.song_tags.song_parameters`: brightness, softness,
        vibrato, noise and loudness are played.
    seconds : float
        Duration in s.
    rng : numpy.random.Generator
        Decides the noises.

    Returns
    -------
    ndarray of float32, shape (round(22050 * seconds),)
        Samples between -1 and 1.
    """
    z = parameters
    n = round(SAMPLING_RATE * seconds)
    clean, driven = np.zeros(n), np.zeros(n)
    drums = _drum_sounds(rng)
    tables: dict[tuple[str, float], Floats] = {}
    for note in notes:
        start = int(note.start * SAMPLING_RATE)
        if note.sound in _TIMBRES:
            key = (note.sound, note.hertz)
            if key not in tables:
                tables[key] = _wavetable(_TIMBRES[note.sound], note.hertz, z["brightness"])
            sound = _play(_TIMBRES[note.sound], tables[key], note, z)
        else:
            sound = _strike(note, drums, rng)
        target = driven if note.sound == "distorted" else clean
        kept = sound[: n - start]
        target[start : start + kept.size] += note.gain * kept
    # Overdrive: the sum of the strings of a chord is bent, not each string.
    mix = clean + 0.4 * np.tanh(5 * driven)
    mix += _rms(mix) * 10 ** ((-34 + 7 * z["noise"]) / 20) * _pink_noise(n, rng)
    mix *= 10 ** ((-21 + 3 * z["loudness"]) / 20) / _rms(mix)
    return np.tanh(mix).astype(np.float32)


def _rms(signal: Floats) -> float:
    return float(np.sqrt(np.mean(signal**2)))


def _wavetable(timbre: _Timbre, hertz: float, brightness: float) -> Floats:
    """One period of a note, with no harmonic above half the sampling rate."""
    h = np.arange(1, int(min(SAMPLING_RATE / 2 / hertz, 60)) + 1)
    amplitude = h ** (0.25 * brightness - timbre.slope)
    if timbre.hollow:
        amplitude = amplitude * (h % 2)
    if timbre.formants:
        distance = np.abs(np.log2(h[:, None] * hertz / np.array(timbre.formants)))
        amplitude = amplitude * (0.08 + np.exp(-((distance / 0.25) ** 2)).sum(axis=1))
    spectrum = np.zeros(_TABLE // 2 + 1, dtype=complex)
    # Phases that grow with the square keep the peak of many harmonics low.
    spectrum[1 : h.size + 1] = amplitude * np.exp(1j * np.pi * h**2 / h.size)
    period = np.fft.irfft(spectrum, _TABLE)
    return period / _rms(period)


def _play(timbre: _Timbre, table: Floats, note: Note, z: dict[str, float]) -> Floats:
    t = np.arange(int((note.duration + _RELEASE) * SAMPLING_RATE)) / SAMPLING_RATE
    cycles = note.hertz * t
    if timbre.vibrato:
        depth = timbre.vibrato * 2 ** z["vibrato"] / 1200 * np.log(2)
        rate = 2 * np.pi * _VIBRATO_HERTZ
        cycles = cycles + note.hertz * depth / rate * (1 - np.cos(rate * t))
    wave = table[(cycles * _TABLE).astype(np.int64) % _TABLE]
    attack = timbre.attack * 2 ** (1.3 * z["softness"])
    envelope = np.minimum(t / attack, 1.0)
    if timbre.decay:
        envelope = envelope * np.exp(-t / timbre.decay)
    if note.swells:
        # A sustained note has no fading to turn round.
        envelope = envelope[::-1] if timbre.decay else envelope * t / t[-1]
    return wave * envelope * np.minimum((t[-1] - t) / _RELEASE, 1.0)


def _drum_sounds(rng: np.random.Generator) -> dict[str, Floats]:
    """Kick, snare, hi-hat and hand drum of one song."""
    t = np.arange(int(0.25 * SAMPLING_RATE)) / SAMPLING_RATE
    noise = rng.standard_normal(t.size)
    hiss = np.diff(noise, n=2, prepend=np.zeros(2))
    tuning = 2 ** rng.uniform(-0.25, 0.25)
    return {
        "kick": 4.0
        * np.sin(2 * np.pi * tuning * (50 * t + 4 * (1 - np.exp(-t / 0.03))))
        * np.exp(-t / 0.08),
        "snare": 1.6 * (noise + np.sin(2 * np.pi * 190 * tuning * t)) * np.exp(-t / 0.05),
        "hat": 0.5 * hiss * np.exp(-t / 0.02),
        "hand": 4.0 * np.sin(2 * np.pi * 320 * tuning * t) * np.exp(-t / 0.05)
        + noise * np.exp(-t / 0.008),
    }


def _strike(note: Note, drums: dict[str, Floats], rng: np.random.Generator) -> Floats:
    """Play a stroke of the drum set or the hand drum."""
    if note.sound == "hand_drums":
        # Hitting the rim or the middle sounds higher or lower.
        return drums["hand"][:: int(rng.integers(1, 3))]
    return drums[note.sound]


def _pink_noise(n: int, rng: np.random.Generator) -> Floats:
    """Noise that falls by 3 dB an octave, of unit power (Kellet's economical filter)."""
    white = rng.standard_normal(n)
    pink = 0.1848 * white
    for pole, weight in ((0.99765, 0.0990460), (0.96300, 0.2965164), (0.57000, 1.0526913)):
        pink += lfilter([weight], [1, -pole], white)
    return pink / _rms(pink)
