"""Tags of the synthetic songs: which song has which, and what a tag does to a song.

The names are those of CAL500, then numbers, and mean nothing here: each tag moves one parameter of
the sound, and tags that share moods go together. The rules are told in
:mod:`replication.standins.cal500`. Nothing here makes a sound, and nothing slow is imported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from replication.arrays import Bools, Floats
from replication.music.annotations import Annotations
from replication.standins.song_sound import PARAMETERS

__all__ = [
    "HEARING",
    "MISS_RATE",
    "NAMES",
    "SCORE",
    "SEED",
    "STYLE",
    "Collection",
    "draw_collection",
    "song_parameters",
    "stream",
]

MISS_RATE = 0.2
"""Share of annotated tags that cannot be heard, m."""

SEED = 20120501
"""Of the default collection."""
STYLE, HEARING, NUISANCE, SCORE = range(4)
"""Independent streams of a song's random numbers."""

NAMES = tuple(
    f"{category}{name}"
    for category, names in {
        "Genre-": "Rock Folk Jazz Electronica Classical Gospel",
        "Instrument_-_": "Piano Bass Drum_Set Hand_Drums Acoustic_Guitar Synthesizer "
        "String_Ensemble Electric_Guitar_(distorted) Male_Lead_Vocals Female_Lead_Vocals",
        "Song-": "Fast_Tempo High_Energy Heavy_Beat Changing_Energy_Level Positive_Feelings",
        "Emotion-": "Calming_/_Soothing Happy Sad Angry_/_Agressive Bizarre_/_Weird Tender_/_Soft",
        "Usage-": "At_a_party Going_to_sleep",
        "Vocals-": "High-pitched Call_&_Response Screaming",
    }.items()
    for name in names.split()
)
"""The default vocabulary without the tags that the rule of CAL500 leaves out."""

# Left out by the rule of CAL500; each fits half of the songs that its first tag fits.
_REPEATING = {
    "Genre-Best-Rock": "Genre-Rock",
    "Genre-Best-Jazz": "Genre-Jazz",
    "Instrument_-_Piano-Solo": "Instrument_-_Piano",
    "Instrument_-_Acoustic_Guitar-Solo": "Instrument_-_Acoustic_Guitar",
}
_N_MOODS = 4
# The number of no song: draws for tags.
_TAG = 1 << 31


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random numbers of a key, whatever else is drawn."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *key])))


class _Tags(NamedTuple):
    """A vocabulary: an entry or a row a tag."""

    names: list[str]
    shares: Floats  # of the songs that have it
    moods: Floats  # loadings on a song's moods, which make tags co-occur
    effects: Floats  # on PARAMETERS, in standard deviations between songs without the tag


def _vocabulary(n_tags: int) -> _Tags:
    """As many tags as there are parameters, each of which moves one, then their opposites."""
    names = [
        *NAMES,
        *(f"Song-Quality_{number:03d}" for number in range(len(NAMES) + 1, n_tags + 1)),
    ]
    turn, moved = np.divmod(np.arange(n_tags), len(PARAMETERS))
    sign = ((-1.0) ** turn)[:, np.newaxis]
    shares = [stream(SEED, _TAG, number).uniform(0.06, 0.45) for number in range(1, n_tags + 1)]
    moods = stream(SEED, _TAG).normal(size=(len(PARAMETERS), _N_MOODS))[moved]
    return _Tags(names, np.array(shares), sign * moods, 2.5 * sign * np.eye(len(PARAMETERS))[moved])


class Collection(NamedTuple):
    """Who says what of the default songs; rows are songs, columns the tags of the annotations.

    Attributes
    ----------
    annotations : Annotations
        H, with the tags asked for and four more that the rule of CAL500 leaves out.
    generating : ndarray of bool
        G, the tags that songs are made from: H as seen through the annotation noise.
    oracle : ndarray
        P(H = 1 | G), the scores of an oracle that hears every generating tag.
    """

    annotations: Annotations
    generating: Bools
    oracle: Floats


def draw_collection(songs: int, tags: int = len(NAMES), *, seed: int = 0) -> Collection:
    """Draw the default songs' tags, of which 32 or more get a model (149 in the paper)."""
    vocabulary = _vocabulary(tags)
    firsts = [vocabulary.names.index(first) for first in _REPEATING.values()]
    p = np.append(vocabulary.shares, vocabulary.shares[firsts] / 2)
    # Scores are normal with this spread, so that each tag has its share of songs.
    thresholds = -ndtri(vocabulary.shares) * np.sqrt(1 + (vocabulary.moods**2).sum(axis=1))
    hard, noise = np.zeros((songs, p.size), dtype=bool), np.zeros((songs, p.size))
    for song in range(songs):
        rng = stream(SEED, seed, song, STYLE)
        repeats = rng.random(len(firsts)) < 0.5
        scores = vocabulary.moods @ rng.standard_normal(_N_MOODS) + rng.standard_normal(tags)
        hard[song, :tags] = scores > thresholds
        hard[song, tags:] = repeats & hard[song, firsts]
        noise[song] = stream(SEED, seed, song, HEARING).random(p.size)
    false_alarm = MISS_RATE * p / (1 - p)
    generating = np.where(hard, noise >= MISS_RATE, noise < false_alarm)
    # By Bayes' rule: the noise keeps shares, so both errors are the same share of all songs.
    oracle = np.where(generating, 1 - MISS_RATE, false_alarm)
    names = tuple(f"synthetic_band_{song:04d}-song_{song:04d}" for song in range(songs))
    annotations = Annotations(
        names, (*vocabulary.names, *_REPEATING), hard, np.where(hard, 0.8, 0.0)
    )
    return Collection(annotations, generating, oracle)


def song_parameters(present: Bools, song: int, *, seed: int = 0) -> dict[str, float]:
    """Parameters of a song: effects of its tags plus what has nothing to do with tags.

    z = 3 tanh((Σ_tag effect (g - p) + ε) / 3), ε standard normal: the squashing keeps songs with
    very many tags playable.

    Parameters
    ----------
    present : ndarray of bool, shape (n_tags,)
        Generating tags g of the song, without those that repeat others.
    song, seed : int
        Decide ε.
    """
    vocabulary = _vocabulary(present.size)
    moved = stream(SEED, seed, song, NUISANCE).standard_normal(len(PARAMETERS))
    moved += (present - vocabulary.shares) @ vocabulary.effects
    return dict(zip(PARAMETERS, (3 * np.tanh(moved / 3)).tolist(), strict=True))
