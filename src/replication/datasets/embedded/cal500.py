"""Synthetic songs in the layout of CAL500: sound made from tags, tags annotated with noise.

Two collections, for two questions.

:func:`write`, the default data set. A song is composed and played from its tags: each tag
moves some of the song's :data:`PARAMETERS` (tempo, mode, loudness, attack, instruments, percussion
and so on) by an effect in units of the variation between songs that has nothing to do with tags.
A genre and four moods (energy, valence, acoustic, vocal) make tags co-occur; alternatively an
annotation matrix is given. Several tags exist only in the order of sounds: tempo, syncopation,
sections of unlike loudness, notes that swell instead of fading, voices that take turns.

:func:`write_order_songs`, a construction. Six sounds are played equally often in every song, and
tags differ only in which sounds alternate with each other: the distribution of frames is the
same under every tag, so that a model of frames (HEM-GMM) can learn nothing, and a model of
sequences can.

Annotation noise. Listeners do not hear everything. The songs are not made from the annotations H
but from generating tags G, in which each annotated tag is missing with probability
:data:`MISS_RATE`, and other tags are there so often that each keeps its share p of songs:

    P(G = 0 | H = 1) = m,    P(G = 1 | H = 0) = m p / (1 - p),    thus P(H = 1 | G = 1) = 1 - m.

Sound can tell no more than G; the scores of someone who knows G are the ceiling of every method
(:func:`oracle_probabilities`).

FROZEN. The seeds, the effects, the rates and the margin :data:`ORDER_MARGIN` were fixed before any
of the methods under test had been run on the songs. Their only tuning target is named in
``docs/embedded_data.md``. Changing one changes the data set.

Song k does not depend on how many songs are made, and no song on another.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import numpy.typing as npt
import soundfile
from scipy.signal import lfilter

from replication.datasets.song_annotations import Annotations, modelled_tags, write_annotations
from replication.io import atomic_path

__all__ = [
    "AUDIO_FOLDER",
    "MISS_RATE",
    "ORDER_MARGIN",
    "ORDER_MISS_RATE",
    "PARAMETERS",
    "TAGS",
    "VERSION",
    "Tag",
    "compose",
    "generating_tags",
    "oracle_probabilities",
    "order_annotations",
    "order_song",
    "render",
    "song_annotations",
    "song_parameters",
    "tag_shares",
    "vocabulary",
    "write",
    "write_order_songs",
]

Floats = npt.NDArray[np.float64]
Signal = npt.NDArray[np.float32]

VERSION = 1
"""Raised whenever the output for given parameters changes, so that older raw files are remade."""

AUDIO_FOLDER = "CAL500_32kps"
SAMPLING_RATE = 22050
MISS_RATE = 0.2
"""Share of annotated tags that cannot be heard, m."""
ORDER_MISS_RATE = 0.1
"""Share of songs of the order collection that are annotated with another tag."""
ORDER_MARGIN = 0.15
"""How much mean AROC a method for sequences must have above HEM-GMM on the order collection."""

_SEED = 20120501
_ORDER_SEED = 20120502
# The number of no song: draws for the thresholds of tags.
_REFERENCE = 1 << 31
# Independent streams of a song's random numbers.
_STYLE, _HEARING, _NUISANCE, _SCORE = range(4)

PARAMETERS = (
    "tempo",
    "minor",
    "loudness",
    "contrast",
    "brightness",
    "softness",
    "density",
    "register",
    "vibrato",
    "noise",
    "syncopation",
    "repetition",
    "swelling",
    "turns",
    "guitar",
    "distorted",
    "piano",
    "strings",
    "synth",
    "male",
    "female",
    "bass",
    "drums",
    "hand_drums",
)
"""What tags act on: each zero on average with a standard deviation of one between songs."""

_MOODS = ("energy", "valence", "acoustic", "vocal")
# Share of songs and mean mood of each genre.
_GENRES: dict[str, tuple[float, tuple[float, float, float, float]]] = {
    "Genre-Rock": (0.24, (1.0, 0.0, -0.6, 0.5)),
    "Genre-Folk": (0.20, (-0.6, 0.2, 1.2, 0.6)),
    "Genre-Jazz": (0.18, (-0.2, 0.2, 0.7, -0.6)),
    "Genre-Electronica": (0.20, (0.7, 0.1, -1.4, -0.6)),
    "Genre-Classical": (0.18, (-0.7, -0.1, 1.0, -1.2)),
}


@dataclass(frozen=True)
class Tag:
    """How a tag sounds and when it occurs.

    Parameters
    ----------
    effects : dict of str to float
        Parameter to shift, in standard deviations of the variation between songs.
    share : float
        Share of songs that have the tag.
    moods : tuple of four float
        Loadings on energy, valence, acoustic and vocal. Not used by genres.
    """

    effects: dict[str, float]
    share: float
    moods: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


TAGS: dict[str, Tag] = {
    "Genre-Rock": Tag({"distorted": 1.2, "drums": 1.0, "bass": 0.6, "loudness": 0.6}, 0.24),
    "Genre-Folk": Tag({"guitar": 1.4, "drums": -1.0, "tempo": -0.3, "hand_drums": 0.4}, 0.20),
    "Genre-Jazz": Tag({"piano": 0.9, "bass": 0.9, "syncopation": 1.5, "brightness": -0.5}, 0.18),
    "Genre-Electronica": Tag({"synth": 1.6, "repetition": 1.2, "drums": 0.5, "tempo": 0.5}, 0.20),
    "Genre-Classical": Tag({"strings": 1.5, "piano": 0.5, "drums": -1.5, "contrast": 0.6}, 0.18),
    "Instrument_-_Acoustic_Guitar": Tag({"guitar": 2.5}, 0.28, (-0.3, 0.1, 1.0, 0.2)),
    "Instrument_-_Electric_Guitar_(distorted)": Tag(
        {"distorted": 2.5}, 0.25, (1.0, -0.2, -0.6, 0.0)
    ),
    "Instrument_-_Piano": Tag({"piano": 2.5}, 0.28, (-0.5, 0.1, 0.6, -0.2)),
    "Instrument_-_String_Ensemble": Tag({"strings": 2.5}, 0.22, (-0.6, -0.1, 0.6, -0.5)),
    "Instrument_-_Synthesizer": Tag({"synth": 2.5}, 0.28, (0.4, 0.0, -1.2, -0.1)),
    "Instrument_-_Bass": Tag({"bass": 2.5}, 0.40, (0.6, 0.2, -0.2, 0.1)),
    "Instrument_-_Drum_Set": Tag({"drums": 2.5}, 0.45, (1.0, 0.1, -0.6, 0.1)),
    "Instrument_-_Hand_Drums": Tag({"hand_drums": 2.5}, 0.20, (0.1, 0.3, 0.6, 0.0)),
    "Instrument_-_Male_Lead_Vocals": Tag({"male": 2.5}, 0.40, (0.1, 0.0, 0.0, 1.0)),
    "Instrument_-_Female_Lead_Vocals": Tag({"female": 2.5}, 0.28, (0.0, 0.2, 0.0, 1.0)),
    "Song-Fast_Tempo": Tag({"tempo": 1.6}, 0.30, (1.0, 0.3, -0.1, 0.0)),
    "NOT-Song-Fast_Tempo": Tag({"tempo": -1.6}, 0.30),
    "Song-High_Energy": Tag({"loudness": 1.0, "density": 1.0}, 0.35, (1.4, 0.2, -0.2, 0.0)),
    "Song-Heavy_Beat": Tag({"drums": 1.2, "bass": 0.8}, 0.28, (1.2, 0.0, -0.5, 0.0)),
    "Song-Changing_Energy_Level": Tag({"contrast": 2.5}, 0.22, (0.0, -0.2, 0.4, -0.3)),
    "Emotion-Calming_/_Soothing": Tag(
        {"tempo": -0.6, "loudness": -0.8, "softness": 1.0, "density": -0.8},
        0.32,
        (-1.3, 0.3, 0.4, -0.1),
    ),
    "Emotion-Happy": Tag({"minor": -1.5, "tempo": 0.4}, 0.32, (0.4, 1.3, 0.0, 0.1)),
    "Emotion-Sad": Tag({"minor": 1.5, "tempo": -0.5}, 0.24, (-0.6, -1.3, 0.1, 0.1)),
    "Emotion-Angry_/_Agressive": Tag(
        {"loudness": 0.8, "distorted": 0.6, "brightness": 0.8, "noise": 0.8},
        0.20,
        (1.1, -0.9, -0.4, 0.1),
    ),
    "Emotion-Bizarre_/_Weird": Tag({"swelling": 2.5}, 0.20, (0.1, -0.4, -0.3, -0.4)),
    "Emotion-Tender_/_Soft": Tag(
        {"softness": 0.8, "brightness": -0.9, "vibrato": 1.0}, 0.28, (-1.2, 0.1, 0.4, 0.3)
    ),
    "Usage-At_a_party": Tag(
        {"drums": 0.8, "tempo": 0.5, "repetition": 0.8}, 0.25, (1.1, 0.7, -0.4, 0.1)
    ),
    "Usage-Going_to_sleep": Tag(
        {"loudness": -1.0, "tempo": -0.6, "brightness": -0.6}, 0.22, (-1.3, 0.0, 0.5, -0.2)
    ),
    "Vocals-High-pitched": Tag({"register": 1.8}, 0.22, (0.2, 0.3, 0.0, 0.5)),
    "Vocals-Call_&_Response": Tag({"turns": 2.5}, 0.20, (0.2, 0.2, 0.1, 0.5)),
    # Too rare to be scored, as two thirds of the published tags' tail are.
    "Genre-Gospel": Tag({"female": 0.8, "turns": 0.8}, 0.04, (0.2, 0.6, 0.3, 0.8)),
    "Vocals-Screaming": Tag({"noise": 1.5, "register": 0.8}, 0.03, (1.2, -0.8, -0.4, 0.4)),
}
"""The default vocabulary without the tags that the rule of CAL500 leaves out."""

# Left out by the rule of CAL500; each fits half of the songs that its first tag fits.
_REPEATING = {
    "Genre-Best-Rock": "Genre-Rock",
    "Genre-Best-Jazz": "Genre-Jazz",
    "Instrument_-_Acoustic_Guitar-Solo": "Instrument_-_Acoustic_Guitar",
    "Instrument_-_Piano-Solo": "Instrument_-_Piano",
}


def _generator(seed: int, *key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *key])))


# --- tags ---------------------------------------------------------------------------------------


def vocabulary(n_tags: int = len(TAGS)) -> dict[str, Tag]:
    """Return the tags that songs are made from: the named ones, then as many more as asked for.

    Parameters
    ----------
    n_tags : int, default 32
        Number of tags, at least those of :data:`TAGS`. The paper's size is 149.

    Returns
    -------
    dict of str to Tag
        Further tags are called ``Song-Quality_033`` and so on; their effects, shares and moods
        are drawn from their names.

    Raises
    ------
    ValueError
        If ``n_tags`` is smaller.
    """
    if n_tags < len(TAGS):
        raise ValueError(f"n_tags must be at least {len(TAGS)}, got {n_tags}")
    names = [f"Song-Quality_{number:03d}" for number in range(len(TAGS) + 1, n_tags + 1)]
    return TAGS | {name: _drawn_tag(name) for name in names}


def _drawn_tag(name: str) -> Tag:
    """Effects of a tag that nobody has described: drawn from its name, opposite for ``NOT-``."""
    sign = -1.0 if name.startswith("NOT-") else 1.0
    digest = hashlib.sha256(name.removeprefix("NOT-").encode()).digest()
    rng = _generator(int.from_bytes(digest[:8], "big"))
    chosen = rng.choice(len(PARAMETERS), size=3, replace=False)
    sizes = sign * rng.choice([-1, 1], size=3) * rng.uniform(0.6, 1.4, size=3)
    energy, valence, acoustic, vocal = (float(value) for value in rng.normal(0, 0.7, size=4))
    return Tag(
        {PARAMETERS[index]: float(size) for index, size in zip(chosen, sizes, strict=True)},
        float(rng.uniform(0.06, 0.4)),
        (energy, valence, acoustic, vocal),
    )


def song_annotations(n_songs: int, n_tags: int = len(TAGS), *, seed: int = 0) -> Annotations:
    """Annotations H of the default songs.

    Parameters
    ----------
    n_songs : int
        Number of songs.
    n_tags : int, default 32
        As in :func:`vocabulary`.
    seed : int, default 0
        Another seed gives another collection of the same kind.

    Returns
    -------
    Annotations
        With ``n_tags`` tags and four more that repeat tags and are left out by the rule of CAL500.
    """
    tags = vocabulary(n_tags)
    thresholds = _thresholds(tags)
    firsts = [list(tags).index(first) for first in _REPEATING.values()]
    hard = np.zeros((n_songs, n_tags + len(_REPEATING)), dtype=bool)
    for song in range(n_songs):
        rng = _generator(_SEED, seed, song, _STYLE)
        repeats = rng.random(len(_REPEATING)) < 0.5
        genres, moods = _draw_style(rng, 1)
        scores = _tag_scores(tags, genres, moods, rng.standard_normal((1, n_tags)))
        hard[song, :n_tags] = scores[0] > thresholds
        hard[song, n_tags:] = repeats & hard[song, firsts]
    names = tuple(f"synthetic_band_{song:04d}-song_{song:04d}" for song in range(n_songs))
    return Annotations(names, (*tags, *_REPEATING), hard, np.where(hard, 0.8, 0.0))


def generating_tags(
    annotations: Annotations, shares: npt.ArrayLike, *, seed: int = 0
) -> npt.NDArray[np.bool_]:
    """Tags G that the songs are made from: the annotations H as seen through annotation noise.

    Of a tag with share p <= 1/2, P(G = 0 | H = 1) = m and P(G = 1 | H = 0) = m p / (1 - p); of a
    more frequent tag the same holds for its absence. Either way P(G = 1) = p.

    Parameters
    ----------
    annotations : Annotations
        H.
    shares : array-like, shape (n_tags,)
        Share p of songs that have each tag: of a drawn vocabulary its shares, of a given matrix
        its column means.
    seed : int, default 0
        As in :func:`song_annotations`.

    Returns
    -------
    ndarray of bool, shape (n_songs, n_tags)
    """
    dropped, added = _noise_rates(np.asarray(shares, dtype=np.float64))
    draws = np.array(
        [
            _generator(_SEED, seed, song, _HEARING).random(len(annotations.tags))
            for song in range(len(annotations.songs))
        ]
    )
    return np.where(annotations.hard, draws >= dropped, draws < added)


def oracle_probabilities(generating: npt.NDArray[np.bool_], shares: npt.ArrayLike) -> Floats:
    """P(H = 1 | G), the scores of an oracle that hears every generating tag.

    Parameters
    ----------
    generating : ndarray of bool, shape (n_songs, n_tags)
        G, of :func:`generating_tags`.
    shares : array-like, shape (n_tags,)
        As there.

    Returns
    -------
    ndarray, shape (n_songs, n_tags)
        By Bayes' rule, tag by tag.
    """
    p = np.asarray(shares, dtype=np.float64)
    dropped, added = _noise_rates(p)
    heard = np.where(generating, 1 - dropped, dropped)
    false = np.where(generating, added, 1 - added)
    evidence = p * heard + (1 - p) * false
    return np.divide(p * heard, evidence, out=np.zeros(generating.shape), where=evidence > 0)


def tag_shares(tags: Sequence[str], n_tags: int = len(TAGS)) -> Floats:
    """Share of songs that each tag of :func:`song_annotations` has in the long run.

    Parameters
    ----------
    tags : sequence of str
        Names of tags.
    n_tags : int, default 32
        As in :func:`vocabulary`.

    Returns
    -------
    ndarray, shape (n_tags,)
        A tag that repeats another one has half of its share.

    Raises
    ------
    KeyError
        If a tag is not of the vocabulary.
    """
    known = {name: tag.share for name, tag in vocabulary(n_tags).items()}
    known |= {name: known[first] / 2 for name, first in _REPEATING.items()}
    return np.array([known[tag] for tag in tags])


def _noise_rates(p: Floats) -> tuple[Floats, Floats]:
    """P(G = 0 | H = 1) and P(G = 1 | H = 0) of tags with shares p."""
    rarer, commoner = np.minimum(p, 1 - p), np.maximum(p, 1 - p)
    balance = MISS_RATE * rarer / commoner
    return np.where(p <= 0.5, MISS_RATE, balance), np.where(p <= 0.5, balance, MISS_RATE)


def _draw_style(rng: np.random.Generator, n: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Draw numbers of genres, shape (n,), and moods, shape (n, 4)."""
    edges = np.cumsum([share for share, _ in _GENRES.values()])
    genres = np.searchsorted(edges[:-1], rng.random(n), side="right")
    means = np.array([mean for _, mean in _GENRES.values()])
    return genres, means[genres] + 0.8 * rng.standard_normal((n, len(_MOODS)))


def _tag_scores(
    tags: dict[str, Tag], genres: npt.NDArray[np.int64], moods: Floats, chance: Floats
) -> Floats:
    """Compute what must exceed a tag's threshold, shape (n, n_tags); of ``NOT-X`` minus X's."""
    scores = moods @ np.array([tag.moods for tag in tags.values()]).T + chance
    names = list(tags)
    for number, genre in enumerate(_GENRES):
        scores[:, names.index(genre)] = np.where(genres == number, 1.0, -1.0)
    for column, name in enumerate(names):
        if name.startswith("NOT-"):
            scores[:, column] = -scores[:, names.index(name[4:])]
    return scores


def _thresholds(tags: dict[str, Tag]) -> Floats:
    """Thresholds that give each tag its share of songs, from draws that serve no song."""
    n = 4000
    genres, moods = _draw_style(_generator(_SEED, _REFERENCE), n)
    # A stream a tag: thresholds do not depend on the tags that follow. From one on, because a key
    # that ends in zeros is the key without them.
    chance = [
        _generator(_SEED, _REFERENCE, column).standard_normal(n)
        for column in range(1, len(tags) + 1)
    ]
    scores = _tag_scores(tags, genres, moods, np.transpose(chance))
    return np.array(
        [
            0.0 if name in _GENRES else np.quantile(column, 1 - tag.share)
            for (name, tag), column in zip(tags.items(), scores.T, strict=True)
        ]
    )


# --- from tags to a score -----------------------------------------------------------------------


def song_parameters(
    present: npt.NDArray[np.bool_],
    tags: Sequence[str],
    shares: npt.ArrayLike,
    song: int,
    *,
    seed: int = 0,
) -> dict[str, float]:
    """Parameters of a song: effects of its tags plus what has nothing to do with tags.

    z = 3 tanh((Σ_tag effect (g - p) + ε) / 3), ε standard normal: the squashing keeps songs with
    very many tags playable.

    Parameters
    ----------
    present : ndarray of bool, shape (n_tags,)
        Generating tags g of the song.
    tags : sequence of str
        Their names. A name that :data:`TAGS` does not know gets effects drawn from the name; a
        tag that the rule of CAL500 leaves out has none.
    shares : array-like, shape (n_tags,)
        Share p of each tag.
    song : int
        Number of the song, which decides ε.
    seed : int, default 0
        As in :func:`song_annotations`.

    Returns
    -------
    dict of str to float
        A value for each of :data:`PARAMETERS`.
    """
    chance = _generator(_SEED, seed, song, _NUISANCE).standard_normal(len(PARAMETERS))
    moved = chance + (present - np.asarray(shares, dtype=np.float64)) @ _effects(tuple(tags))
    return dict(zip(PARAMETERS, (3 * np.tanh(moved / 3)).tolist(), strict=True))


@functools.cache
def _effects(tags: tuple[str, ...]) -> Floats:
    effects = np.zeros((len(tags), len(PARAMETERS)))
    kept = modelled_tags(
        Annotations((), tags, np.zeros((0, len(tags)), bool), np.zeros((0, len(tags))))
    )
    for tag in kept:
        known = TAGS[tag] if tag in TAGS else _drawn_tag(tag)
        for parameter, size in known.effects.items():
            effects[tags.index(tag), PARAMETERS.index(parameter)] = size
    return effects


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
        Of :func:`song_parameters`.
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
        Of :func:`song_parameters`: brightness, softness, vibrato, noise and loudness are played.
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


# --- the two collections ------------------------------------------------------------------------


def write(
    folder: str | os.PathLike[str],
    *,
    songs: int = 100,
    seconds: int = 15,
    tags: int = len(TAGS),
    annotations: Annotations | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> None:
    """Write the default collection in the layout of CAL500, recordings as 16-bit FLAC.

    Parameters
    ----------
    folder : path-like
        Folder to write to.
    songs : int, default 100
        Number of songs. With the defaults, 30 modelled tags have at least 10 songs each.
    seconds : int, default 15
        Duration of a song in s, at least 4.
    tags : int, default 32
        Number of modelled tags, at least 32; the paper's size is 149. Not used if annotations are
        given.
    annotations : Annotations, optional
        Synthesise songs for these annotations, at most the first ``songs`` of them, instead of
        drawn ones.
    seed : int, default 0
        Another seed gives another collection of the same kind.
    n_jobs : int, optional
        Number of processes (joblib's convention). The result does not depend on it.

    Raises
    ------
    ValueError
        If a size is out of range.
    """
    folder = Path(folder)
    _check_sizes(songs, seconds)
    if annotations is None:
        annotations = song_annotations(songs, tags, seed=seed)
        shares = tag_shares(annotations.tags, tags)
    else:
        shares = annotations.hard.mean(axis=0)
        annotations = annotations.select(songs=annotations.songs[:songs])
    present = generating_tags(annotations, shares, seed=seed)
    joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_write_song)(
            folder,
            name,
            song_parameters(present[song], annotations.tags, shares, song, seed=seed),
            seconds,
            (seed, song),
        )
        for song, name in enumerate(annotations.songs)
    )
    # Last, so that a folder with annotations has its recordings.
    write_annotations(folder, annotations)


def _write_song(
    folder: Path, name: str, parameters: dict[str, float], seconds: float, key: tuple[int, int]
) -> None:
    rng = _generator(_SEED, *key, _SCORE)
    notes = compose(parameters, seconds, rng)
    _write_flac(folder, name, render(notes, parameters, seconds, rng))


def _write_flac(folder: Path, name: str, signal: Signal) -> None:
    with atomic_path(folder / AUDIO_FOLDER / f"{name}.flac") as temporary:
        soundfile.write(temporary, signal, SAMPLING_RATE, format="FLAC", subtype="PCM_16")


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
        As in :func:`song_annotations`.

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
        tag = _generator(_ORDER_SEED, seed, turn, _STYLE).permutation(n_tags)[place]
        rng = _generator(_ORDER_SEED, seed, song, _HEARING)
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
        As in :func:`song_annotations`.

    Returns
    -------
    ndarray of float32, shape (round(22050 * seconds),)
        Samples between -1 and 1.
    """
    rng = _generator(_ORDER_SEED, seed, song, _SCORE)
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


def write_order_songs(
    folder: str | os.PathLike[str], *, songs: int = 60, seconds: int = 15, seed: int = 0
) -> None:
    """Write the order collection in the layout of CAL500, recordings as 16-bit FLAC.

    Parameters
    ----------
    folder : path-like
        Folder to write to.
    songs : int, default 60
        Number of songs, twelve a tag.
    seconds : int, default 15
        Duration of a song in s, at least 4.
    seed : int, default 0
        As in :func:`song_annotations`.

    Raises
    ------
    ValueError
        If a size is out of range.
    """
    folder = Path(folder)
    _check_sizes(songs, seconds)
    annotations, generating = order_annotations(songs, seed=seed)
    for song, name in enumerate(annotations.songs):
        tag = int(generating[song].argmax())
        _write_flac(folder, name, order_song(tag, song, seconds, seed=seed))
    write_annotations(folder, annotations)


def _check_sizes(songs: int, seconds: float) -> None:
    if songs < 1:
        raise ValueError(f"songs must be at least 1, got {songs}")
    if seconds < 4:
        raise ValueError(f"seconds must be at least 4, got {seconds:g}")
