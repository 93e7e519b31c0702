"""Models of songs, which never see a tag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import process_time
from typing import Any

from replication.music.mfcc import Frames, cut_sequences
from replication.music.tagging.pools import Mixture, Pool
from replication.seeds import repetition_seed
from vhem import (
    EMH3M,
    H3M,
    HEMDTM,
    DynamicTextureMixture,
    fit_dynamic_texture,
)

__all__ = ["SequenceSettings", "SongSettings", "fit_song_models"]


@dataclass(frozen=True)
class SequenceSettings:
    """How a song is cut into sequences.

    Parameters
    ----------
    length : int
        Frames in a sequence, T.
    overlap : float
        Share of a sequence that the next one repeats, where models of songs are learned.
    """

    length: int
    overlap: float


@dataclass(frozen=True)
class SongSettings:
    """Sizes of the models of songs and how they are learned.

    Parameters
    ----------
    n_components, n_states, n_mix : int
        HMMs of a song, K(s); hidden states of each; Gaussians of a state.
    n_gaussians : int
        Gaussians of a song's GMM, for HEM-GMM.
    dtm_states, dtm_components, dtm_overlap : int, int, float
        Dimension of a dynamic texture's state, textures of a song, and the overlap of the sequences
        that textures are learned from.
    n_init, max_iter : int
        Random starts, and the largest number of iterations.
    covariance_floor : float
        Smallest variance, in squared units of the features.
    """

    n_components: int
    n_states: int
    n_mix: int
    n_gaussians: int
    dtm_states: int
    dtm_components: int
    dtm_overlap: float
    n_init: int
    max_iter: int
    covariance_floor: float


def _fit_h3m(
    frames: Frames, n_components: int, sequences: SequenceSettings, songs: SongSettings, state: int
) -> H3M:
    return (
        EMH3M(
            n_components,
            songs.n_states,
            songs.n_mix,
            n_init=songs.n_init,
            max_iter=songs.max_iter,
            covariance_floor=songs.covariance_floor,
            random_state=state,
        )
        .fit(list(cut_sequences(frames, sequences.length, sequences.overlap)))
        .model_
    )


def _fit_gmm(frames: Frames, songs: SongSettings, state: int) -> H3M:
    """Fit a Gaussian mixture, as an HMM of one state, to the frames of a song."""
    mixture = EMH3M(
        1,
        1,
        songs.n_gaussians,
        n_init=songs.n_init,
        max_iter=songs.max_iter,
        covariance_floor=songs.covariance_floor,
        random_state=state,
    )
    return mixture.fit([frames]).model_


def _fit_textures(
    frames: Frames, sequences: SequenceSettings, songs: SongSettings, state: int
) -> DynamicTextureMixture:
    """Fit a dynamic texture to each sequence and reduce them to a few by HEM-DTM."""
    systems = [
        fit_dynamic_texture(sequence, songs.dtm_states)
        for sequence in cut_sequences(frames, sequences.length, songs.dtm_overlap)
    ]
    hem = HEMDTM(
        min(songs.dtm_components, len(systems)),
        n_init=songs.n_init,
        max_iter=songs.max_iter,
        random_state=state,
    )
    return hem.fit(systems).model_


_SongFit = Callable[[Frames, SequenceSettings, SongSettings, int], Mixture]
_SONG_FITS: Mapping[str, _SongFit] = {
    "h3m": lambda frames, cut, songs, state: _fit_h3m(
        frames, songs.n_components, cut, songs, state
    ),
    "hmm": lambda frames, cut, songs, state: _fit_h3m(frames, 1, cut, songs, state),
    "hmm_pair": lambda frames, cut, songs, state: _fit_h3m(frames, 2, cut, songs, state),
    "gmm": lambda frames, cut, songs, state: _fit_gmm(frames, songs, state),
    "dtm": _fit_textures,
}


def fit_song_models(
    kind: str,
    features: Mapping[str, Frames],
    sequences: SequenceSettings,
    songs: SongSettings,
    *,
    seed: int,
    experiment: str,
) -> tuple[Pool, list[dict[str, Any]]]:
    """Learn a model of each song of a block.

    Parameters
    ----------
    kind : str
        A key of :data:`replication.registry.FEATURES_OF_KIND`: ``h3m``, ``hmm`` (an H3M of one
        component), ``hmm_pair`` (of two), ``gmm``, ``dtm``.
    features : mapping of str to ndarray of shape (n_frames, n_features)
        Songs of the block.
    sequences : SequenceSettings
    songs : SongSettings
    seed : int
    experiment : str

    Returns
    -------
    models : Pool
        Owners are songs. A song's model does not depend on its block.
    timings : list of dict
        A row with the metric ``seconds``: processor time of the block, without compiling.

    Raises
    ------
    ValueError
        If a song is too short for its model; the message names it.
    """

    def fit(song: str, sizes: SongSettings, state: int) -> Mixture:
        try:
            return _SONG_FITS[kind](features[song], sequences, sizes, state)
        except ValueError as error:
            raise ValueError(f"song {song}: {error}") from error

    fit(next(iter(features)), _quick(songs), 0)
    begun = process_time()
    models = {
        song: fit(song, songs, repetition_seed(seed, f"{experiment}/{kind}/{song}", 0))
        for song in features
    }
    seconds = process_time() - begun
    row = {"method": kind, "item": "songs", "metric": "seconds", "value": seconds}
    return Pool.join(models), [row]


def _quick(songs: SongSettings) -> SongSettings:
    """Make settings that go through all code once, so that no compiling is timed."""
    return SongSettings(**{**vars(songs), "n_init": 1, "max_iter": 1})
