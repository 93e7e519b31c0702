"""Tags of the synthetic songs: which song has which, and what a tag does to a song.

The rules are told in :mod:`replication.standins.cal500`. Nothing here makes a sound, and
nothing slow is imported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from replication.music.annotations import Annotations
from replication.standins.song_sound import LAYERS

__all__ = [
    "HEARING",
    "MISS_RATE",
    "NUISANCE",
    "PARAMETERS",
    "SCORE",
    "SEED",
    "STYLE",
    "TAGS",
    "Tag",
    "generating_tags",
    "oracle_probabilities",
    "song_annotations",
    "song_parameters",
    "stream",
    "tag_shares",
    "vocabulary",
]

Floats = npt.NDArray[np.float64]

MISS_RATE = 0.2
"""Share of annotated tags that cannot be heard, m."""

SEED = 20120501
"""Of the default collection."""
# The number of no song: draws for the thresholds of tags.
_REFERENCE = 1 << 31
STYLE, HEARING, NUISANCE, SCORE = range(4)
"""Independent streams of a song's random numbers."""

PARAMETERS = (
    *("tempo", "minor", "loudness", "contrast", "brightness"),
    *("density", "register", "noise", "swelling"),
    *LAYERS,
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
    "Genre-Rock": Tag({"distorted": 1.2, "drums": 1.0, "loudness": 0.6}, 0.24),
    "Genre-Folk": Tag({"guitar": 1.4, "drums": -1.0, "hand_drums": 0.4}, 0.20),
    "Genre-Jazz": Tag({"piano": 1.2, "bass": 1.2, "brightness": -0.5}, 0.18),
    "Genre-Electronica": Tag({"synth": 1.6, "drums": 0.5, "tempo": 0.5}, 0.20),
    "Genre-Classical": Tag({"strings": 1.5, "drums": -1.5, "contrast": 0.6}, 0.18),
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
        {"loudness": -1.0, "density": -1.0}, 0.32, (-1.3, 0.3, 0.4, -0.1)
    ),
    "Emotion-Happy": Tag({"minor": -1.5, "tempo": 0.4}, 0.32, (0.4, 1.3, 0.0, 0.1)),
    "Emotion-Sad": Tag({"minor": 1.5, "tempo": -0.5}, 0.24, (-0.6, -1.3, 0.1, 0.1)),
    "Emotion-Angry_/_Agressive": Tag(
        {"noise": 1.0, "brightness": 1.0}, 0.20, (1.1, -0.9, -0.4, 0.1)
    ),
    "Emotion-Bizarre_/_Weird": Tag({"swelling": 2.5}, 0.20, (0.1, -0.4, -0.3, -0.4)),
    "Emotion-Tender_/_Soft": Tag({"brightness": -1.5, "noise": -0.5}, 0.28, (-1.2, 0.1, 0.4, 0.3)),
    "Usage-At_a_party": Tag({"drums": 0.8, "tempo": 0.8}, 0.25, (1.1, 0.7, -0.4, 0.1)),
    "Usage-Going_to_sleep": Tag({"loudness": -1.0, "tempo": -0.8}, 0.22, (-1.3, 0.0, 0.5, -0.2)),
    "Vocals-High-pitched": Tag({"register": 1.8}, 0.22, (0.2, 0.3, 0.0, 0.5)),
    "Vocals-Call_&_Response": Tag({"male": 1.0, "female": 1.5}, 0.20, (0.2, 0.2, 0.1, 0.5)),
    # Too rare to be scored, as two thirds of the published tags' tail are.
    "Genre-Gospel": Tag({"female": 0.8, "bass": 0.8}, 0.04, (0.2, 0.6, 0.3, 0.8)),
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


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random numbers of a key, whatever else is drawn."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *key])))


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
    rng = stream(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
    chosen = rng.choice(len(PARAMETERS), size=3, replace=False)
    sizes = rng.choice([-1, 1], size=3) * rng.uniform(0.6, 1.4, size=3)
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
        rng = stream(SEED, seed, song, STYLE)
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

    P(G = 0 | H = 1) = m and P(G = 1 | H = 0) = m p / (1 - p), so that P(G = 1) = p.

    Parameters
    ----------
    annotations : Annotations
        H.
    shares : array-like, shape (n_tags,)
        Share p of songs that have each tag, see :func:`tag_shares`.
    seed : int, default 0
        As in :func:`song_annotations`.

    Returns
    -------
    ndarray of bool, shape (n_songs, n_tags)
    """
    p = np.asarray(shares, dtype=np.float64)
    draws = np.array(
        [
            stream(SEED, seed, song, HEARING).random(len(annotations.tags))
            for song in range(len(annotations.songs))
        ]
    )
    return np.where(annotations.hard, draws >= MISS_RATE, draws < MISS_RATE * p / (1 - p))


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
    # The noise keeps shares: P(G) = P(H), and both errors are the same share of all songs.
    return np.where(generating, 1 - MISS_RATE, MISS_RATE * p / (1 - p))


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
    genres, moods = _draw_style(stream(SEED, _REFERENCE), n)
    # A stream a tag: thresholds do not depend on the tags that follow. From one on, because a key
    # that ends in zeros is the key without them.
    chance = [
        stream(SEED, _REFERENCE, column).standard_normal(n) for column in range(1, len(tags) + 1)
    ]
    scores = _tag_scores(tags, genres, moods, np.transpose(chance))
    return np.array(
        [
            0.0 if name in _GENRES else np.quantile(column, 1 - tag.share)
            for (name, tag), column in zip(tags.items(), scores.T, strict=True)
        ]
    )


def song_parameters(
    present: npt.NDArray[np.bool_], tags: dict[str, Tag], song: int, *, seed: int = 0
) -> dict[str, float]:
    """Parameters of a song: effects of its tags plus what has nothing to do with tags.

    z = 3 tanh((Σ_tag effect (g - p) + ε) / 3), ε standard normal: the squashing keeps songs with
    very many tags playable.

    Parameters
    ----------
    present : ndarray of bool, shape (n_tags,)
        Generating tags g of the song.
    tags : dict of str to Tag
        Of :func:`vocabulary`.
    song : int
        Number of the song, which decides ε.
    seed : int, default 0
        As in :func:`song_annotations`.

    Returns
    -------
    dict of str to float
        A value for each of :data:`PARAMETERS`.
    """
    moved = stream(SEED, seed, song, NUISANCE).standard_normal(len(PARAMETERS))
    for there, tag in zip(present, tags.values(), strict=True):
        for parameter, size in tag.effects.items():
            moved[PARAMETERS.index(parameter)] += size * (there - tag.share)
    return dict(zip(PARAMETERS, (3 * np.tanh(moved / 3)).tolist(), strict=True))
