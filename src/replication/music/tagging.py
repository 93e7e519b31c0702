r"""Models of songs and tags for automatic music tagging (NIPS 2012, section 4.2).

The paper: "for each song the EM algorithm is used to learn a H3Ms with K(s) = 6 components [...].
Then, for each tag, the relevant song-level H3Ms are pooled together and the VHEM-H3M algorithm is
used to learn the final H3M tag model with K = 3 components." The extended paper (JMLR 15, 2014,
section 6.3) adds :math:`N = N_v N_t K^{(s)}` virtual sequences of ten steps, with
:math:`N_v = 1000` and :math:`N_t` songs that have the tag, sequences of 125 frames that overlap by
80 %, and that direct EM had to do with fewer: without overlap, 73 % of them.

Three steps, each the work of one job for some songs or folds: :func:`fit_song_models`,
:func:`fit_tag_models`, :func:`score_songs`. Song models never see a tag, and a tag's model in a
fold only sees songs outside it. What comes out is scored in
:mod:`replication.music.evaluation`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from time import process_time
from typing import Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp

from replication.data.manifest import groups_of
from replication.music.annotations import modelled_tags, read_annotations, scored_tags
from replication.music.mfcc import cut_sequences
from replication.music.scores import mean_log_likelihoods
from replication.registry import SONG_MODELS
from replication.seeds import repetition_seed
from vhem import (
    EMH3M,
    H3M,
    HEMDTM,
    HEMGMM,
    HMM,
    SHEM,
    VHEM,
    DynamicTexture,
    DynamicTextureMixture,
    PPKSpectralClustering,
    fit_dynamic_texture,
)

__all__ = [
    "FeatureFiles",
    "Pool",
    "SequenceSettings",
    "SongSettings",
    "SongSplit",
    "TagSettings",
    "block_of_songs",
    "fit_direct",
    "fit_song_models",
    "fit_tag_models",
    "mean_scores",
    "pools_from_arrays",
    "pools_to_arrays",
    "read_base",
    "score_songs",
    "song_groups",
]

# Enough that a batch keeps the loop over time busy; 80 MB of whole songs.
_SONGS_AT_A_TIME = 25

Array = npt.NDArray[np.float64]
Frames = npt.NDArray[np.float32]
Mixture = H3M | DynamicTextureMixture


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


@dataclass(frozen=True)
class TagSettings:
    """Sizes of the models of tags and how they are learned.

    Parameters
    ----------
    n_components : int
        Components of a tag's mixture, K.
    n_gaussians : int
        Gaussians of a tag's GMM, for HEM-GMM.
    virtual_samples : float
        Virtual sequences of each component of a song, N_v.
    length : int
        Steps of virtual and sampled sequences, and of the kernel; tau.
    power : float
        Power of the probability product kernel, lambda.
    kernel_root : float
        The affinity is this root of the kernel; 1 is the published method.
    em_overlap, em_share : float
        Overlap of the sequences of direct EM, and the share of them that it uses.
    shem_samples : int
        Sequences that SHEM samples from each component of a song.
    n_init, max_iter : int
        Random starts, and the largest number of iterations.
    seconds : float
        Processor time after which a method gives up on the tags that are left of a fold.
    """

    n_components: int
    n_gaussians: int
    virtual_samples: float
    length: int
    power: float
    kernel_root: float
    em_overlap: float
    em_share: float
    shem_samples: int
    n_init: int
    max_iter: int
    seconds: float


@dataclass(frozen=True)
class SongSplit:
    """Songs, the tags that take part, which fits which, and the fold in which a song is tested.

    Parameters
    ----------
    songs, tags : ndarray of str
    annotations : ndarray of bool, shape (n_songs, n_tags)
    folds : ndarray of int, shape (n_songs,)
    scored : ndarray of bool, shape (n_tags,)
        Tags whose scores count. The others have a model and compete for a song with all.
    """

    songs: npt.NDArray[np.str_]
    tags: npt.NDArray[np.str_]
    annotations: npt.NDArray[np.bool_]
    folds: npt.NDArray[np.int64]
    scored: npt.NDArray[np.bool_]

    @classmethod
    def from_folder(
        cls,
        folder: str | os.PathLike[str],
        songs: Sequence[str],
        *,
        vocabulary: Literal["scored", "modelled"],
        min_songs: int,
        n_folds: int,
        seed: int,
        experiment: str,
        groups: npt.NDArray[np.int_] | None = None,
    ) -> Self:
        """Deal the songs at hand out to folds at random.

        Parameters
        ----------
        folder : path-like
            Folder of the annotations.
        songs : sequence of str
            Songs with a recording.
        vocabulary : {"scored", "modelled"}
            Tags among which the semantic multinomials of songs are distributed: those with enough
            songs, or all but the repeating ones. Scores are of those with enough songs either way.
        min_songs : int
            Songs at hand that a scored tag must have.
        n_folds, seed, experiment
            Number of folds, and what decides them.
        groups : ndarray of int, shape (n_songs,), optional
            Songs of one number are copies and go to one fold, see :func:`song_groups`.

        Raises
        ------
        ValueError
            If there are fewer songs than folds, copies counted once, or no tag has enough songs.
        """
        _, group = np.unique(
            np.arange(len(songs)) if groups is None else groups, return_inverse=True
        )
        n_groups = int(group.max(initial=-1)) + 1
        if not 2 <= n_folds <= n_groups:
            copies = "" if n_groups == len(songs) else f", of which {n_groups} differ,"
            raise ValueError(
                f"n_folds: {n_folds} folds of {len(songs)} songs{copies} cannot be made"
            )
        at_hand = read_annotations(folder).select(songs=songs)
        scored = scored_tags(at_hand, min_songs)
        tags = scored if vocabulary == "scored" else modelled_tags(at_hand)
        rng = np.random.default_rng(repetition_seed(seed, f"{experiment}/folds", 0))
        return cls(
            songs=np.array(songs),
            tags=np.array(tags),
            annotations=at_hand.select(tags=tags).hard,
            folds=(rng.permutation(n_groups) % n_folds)[group],
            scored=np.isin(tags, scored),
        )

    def training_songs(self, tag: int, fold: int) -> list[str]:
        """Songs that have a tag, given by its number, and are not tested in the fold."""
        return self.songs[self.annotations[:, tag] & (self.folds != fold)].tolist()

    def learnable(self, fold: int) -> list[int]:
        """Numbers of the tags that have training songs in the fold."""
        return [tag for tag in range(len(self.tags)) if self.training_songs(tag, fold)]

    def test_songs(self, fold: int) -> list[str]:
        """Songs that are tested in the fold."""
        return self.songs[self.folds == fold].tolist()

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return arrays that can be saved, see :meth:`from_arrays`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Rebuild what :meth:`to_arrays` returned."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})


@dataclass(frozen=True, eq=False)
class Pool:
    """The mixtures of many songs, or of many tags, in one.

    Parameters
    ----------
    mixture : H3M or DynamicTextureMixture
        Components of all owners. Each owner has the same part of the weights.
    owners : ndarray of str, shape (n_components,)
        Song or tag that each component belongs to; those of one owner stand together.
    """

    mixture: Mixture
    owners: npt.NDArray[np.str_]

    @classmethod
    def join(cls, mixtures: Mapping[str, Mixture]) -> Self:
        """Put the mixture of every owner into one pool."""
        parts = list(mixtures.values())
        owners = np.repeat(list(mixtures), [len(part) for part in parts])
        return cls(_stacked(parts, 1 / len(parts)), owners)

    def select(self, owners: Sequence[str]) -> Pool:
        """Return the pool of some owners, in the given order.

        Raises
        ------
        KeyError
            If an owner has no component.
        """
        chosen = [np.flatnonzero(self.owners == owner) for owner in owners]
        for owner, rows in zip(owners, chosen, strict=True):
            if not rows.size:
                raise KeyError(f"the pool has no model of {owner!r}")
        rows = np.concatenate(chosen)
        arrays = {field.name: getattr(self.mixture, field.name)[rows] for field in _of(self)}
        arrays["weights"] = arrays["weights"] / arrays["weights"].sum()
        return Pool(type(self.mixture)(**arrays), self.owners[rows])

    def log_likelihoods(self, sequences: Sequence[npt.ArrayLike] | Frames) -> Array:
        """Log-likelihood of each sequence under the mixture of each owner.

        All components of all owners go through one batched forward pass.

        Parameters
        ----------
        sequences : sequence of array-like of shape (T_i, d)

        Returns
        -------
        ndarray, shape (n, n_owners)
            In nats; owners in the order of their first component.
        """
        joint = self.mixture.component_log_likelihoods(list(sequences))
        firsts = self._firsts()
        own = np.add.reduceat(self.mixture.weights, firsts)
        sizes = np.diff(np.append(firsts, len(self.owners)))
        with np.errstate(divide="ignore"):
            joint = joint + np.log(self.mixture.weights / np.repeat(own, sizes))
        return np.stack(
            [logsumexp(part, axis=1) for part in np.split(joint, firsts[1:], axis=1)], axis=1
        )

    def names(self) -> list[str]:
        """Owners in the order of their first component."""
        return self.owners[self._firsts()].tolist()

    def _firsts(self) -> npt.NDArray[np.int64]:
        changes = np.flatnonzero(self.owners[1:] != self.owners[:-1]) + 1
        return np.concatenate([[0], changes])

    def to_arrays(self, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
        """Return arrays that can be saved, see :meth:`from_arrays`."""
        arrays = {field.name: getattr(self.mixture, field.name) for field in _of(self)}
        arrays["owners"] = self.owners
        return {prefix + name: array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "") -> Self:
        """Rebuild what :meth:`to_arrays` returned."""
        kind = H3M if f"{prefix}transmat" in arrays else DynamicTextureMixture
        mixture = kind(*(arrays[prefix + field.name] for field in fields(kind)))
        return cls(mixture, arrays[f"{prefix}owners"])

    @classmethod
    def from_files(cls, files: Iterable[Mapping[str, npt.NDArray[Any]]]) -> Self:
        """Join pools that were saved apart; each owner gets the same weight."""
        pools = [cls.from_arrays(file) for file in files]
        counts = [len(pool.names()) for pool in pools]
        scaled = _stacked([pool.mixture for pool in pools], np.array(counts) / sum(counts))
        return cls(scaled, np.concatenate([pool.owners for pool in pools]))


def _of(pool: Pool) -> Any:
    return fields(pool.mixture)


def _stacked(mixtures: Sequence[Mixture], shares: npt.ArrayLike) -> Mixture:
    """One mixture of the components of several, each of which gets its share of the weights."""
    sizes = [len(mixture) for mixture in mixtures]
    scales = np.repeat(np.broadcast_to(shares, len(mixtures)), sizes)
    weights = np.concatenate([mixture.weights for mixture in mixtures]) * scales
    parts = [part for mixture in mixtures for part in mixture]
    if isinstance(mixtures[0], H3M):
        # A tag of few songs may have fewer Gaussians than others.
        return H3M.from_hmms(cast(list[HMM], parts), weights)
    return DynamicTextureMixture.from_systems(cast(list[DynamicTexture], parts), weights)


class FeatureFiles(Mapping[str, Frames]):
    """Features of songs in several files, read when they are asked for.

    Parameters
    ----------
    paths : iterable of path-like
        Files of :func:`replication.music.mfcc.write_features`.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._paths: dict[str, Path] = {}
        for path in map(Path, paths):
            with np.load(path) as archive:
                self._paths.update(dict.fromkeys(archive.files, path))

    def __getitem__(self, song: str) -> Frames:
        """Read the features of a song."""
        with np.load(self._paths[song]) as archive:
            frames: Frames = archive[song]
        return frames

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def block_of_songs(manifest: pd.DataFrame, block: int, n_blocks: int) -> pd.DataFrame:
    """Rows of a manifest with the songs of a block: every ``n_blocks``-th song that is used.

    The number of blocks is known before the songs are.
    """
    used = manifest[(manifest["label"] == "song") & (manifest["status"] == "used")]
    return used.iloc[block::n_blocks]


def song_groups(songs: pd.DataFrame, features: Mapping[str, Frames]) -> npt.NDArray[np.int_]:
    """Find the songs that are one recording under two names.

    Files may be equal, or differ in what is not sound (tags, the container): then their features
    are equal.

    Parameters
    ----------
    songs : pandas.DataFrame
        Rows of a manifest.
    features : mapping of str to ndarray of shape (n_frames, n_features)
        Of these songs.

    Returns
    -------
    ndarray of int, shape (n_songs,)
        Equal numbers for copies, which are named on standard output.
    """
    sums = [hashlib.sha256(features[song].tobytes()).hexdigest() for song in songs["id"]]
    _, sounds = np.unique(sums, return_inverse=True)
    groups = groups_of(songs.assign(group=sounds))
    assert groups is not None
    for _, copies in songs["id"].groupby(groups):
        if len(copies) > 1:
            print(f"one recording, kept in one fold: {', '.join(copies)}")
    return groups


# --- models of songs ----------------------------------------------------------------------------


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


# --- models of tags -----------------------------------------------------------------------------


def _hmms(base: Pool) -> H3M:
    if not isinstance(base.mixture, H3M):
        raise TypeError(f"models of songs are a {type(base.mixture).__name__}, expected an H3M")
    return base.mixture


def _fit_vhem(base: Pool, songs: SongSettings, tags: TagSettings, state: int) -> H3M:
    n_base = len(base.mixture)
    vhem = VHEM(
        min(tags.n_components, n_base),
        virtual_samples=tags.virtual_samples * n_base,
        virtual_length=tags.length,
        n_init=tags.n_init,
        max_iter=tags.max_iter,
        random_state=state,
    )
    return vhem.fit(_hmms(base)).model_


def _fit_ppk(base: Pool, songs: SongSettings, tags: TagSettings, state: int) -> H3M:
    clustering = PPKSpectralClustering(
        min(tags.n_components, len(base.mixture)),
        power=tags.power,
        length=tags.length,
        root=tags.kernel_root,
        centers="nearest",
        n_init=tags.n_init,
        random_state=state,
    )
    return clustering.fit(_hmms(base)).model_


def _fit_shem(base: Pool, songs: SongSettings, tags: TagSettings, state: int) -> H3M:
    n_base = len(base.mixture)
    # A component of a small weight must get a sample of its own.
    equal = H3M.from_hmms(list(_hmms(base)))
    shem = SHEM(
        min(tags.n_components, n_base),
        n_samples=tags.shem_samples * n_base,
        length=tags.length,
        n_init=tags.n_init,
        max_iter=tags.max_iter,
        covariance_floor=songs.covariance_floor,
        random_state=state,
    )
    return shem.fit(equal).model_


def _fit_hem_gmm(base: Pool, songs: SongSettings, tags: TagSettings, state: int) -> H3M:
    mixture = _hmms(base)
    d = mixture.n_features
    weights = (mixture.weights[:, None] * mixture.mixture_weights[:, 0]).ravel()
    hem = HEMGMM(
        min(tags.n_gaussians, int((weights > 0).sum())),
        virtual_samples=tags.virtual_samples * len(weights),
        n_init=tags.n_init,
        max_iter=tags.max_iter,
        random_state=state,
    )
    model = hem.fit(weights, mixture.means.reshape(-1, d), mixture.covars.reshape(-1, d)).model_
    return H3M.from_hmms([model])


def _fit_hem_dtm(
    base: Pool, songs: SongSettings, tags: TagSettings, state: int
) -> DynamicTextureMixture:
    mixture = base.mixture
    if not isinstance(mixture, DynamicTextureMixture):
        raise TypeError(f"models of songs are a {type(mixture).__name__}, expected textures")
    hem = HEMDTM(
        min(tags.n_components, len(mixture)),
        virtual_samples=tags.virtual_samples * len(mixture),
        virtual_length=tags.length,
        n_init=tags.n_init,
        max_iter=tags.max_iter,
        random_state=state,
    )
    return hem.fit(mixture).model_


def fit_direct(
    songs_frames: Iterable[Frames],
    sequences: SequenceSettings,
    share: float,
    songs: SongSettings,
    tags: TagSettings,
    state: int,
) -> H3M:
    """Learn a tag's H3M by EM from the sequences of its songs (EM-H3M).

    Parameters
    ----------
    songs_frames : iterable of ndarray of shape (n_frames, n_features)
        Songs that have the tag.
    sequences : SequenceSettings
        How they are cut.
    share : float
        Share of the sequences that is used, spread evenly over all of them.
    songs, tags : SongSettings, TagSettings
        States and Gaussians are those of songs, as for the other methods.
    state : int
        Seed.
    """
    cut = [
        sequence
        for frames in songs_frames
        for sequence in cut_sequences(frames, sequences.length, sequences.overlap)
    ]
    kept = max(1, round(share * len(cut)))
    chosen = [cut[i] for i in np.linspace(0, len(cut) - 1, kept).round().astype(int)]
    em = EMH3M(
        min(tags.n_components, len(chosen)),
        songs.n_states,
        songs.n_mix,
        n_init=tags.n_init,
        max_iter=tags.max_iter,
        covariance_floor=songs.covariance_floor,
        random_state=state,
    )
    return em.fit(chosen).model_


_TagFit = Callable[[Pool, SongSettings, TagSettings, int], Mixture]
_TAG_FITS: Mapping[str, _TagFit] = {
    "vhem": _fit_vhem,
    "ppk_sc": _fit_ppk,
    "ppk_sc_pair": _fit_ppk,
    "shem": _fit_shem,
    "hem_dtm": _fit_hem_dtm,
    "hem_gmm": _fit_hem_gmm,
}


def read_base(method: str, files: Sequence[str | os.PathLike[str]]) -> Pool | Mapping[str, Frames]:
    """Read what the models of tags are learned from: models of songs, or for EM their features."""
    if SONG_MODELS[method] is None:
        return FeatureFiles(files)
    return Pool.from_files(map(np.load, files))


def pools_to_arrays(pools: Mapping[int, Pool]) -> dict[str, npt.NDArray[Any]]:
    """Return arrays of the pools of several folds that can be saved together."""
    arrays = {"folds": np.array(list(pools))}
    for fold, pool in pools.items():
        arrays |= pool.to_arrays(f"{fold}_")
    return arrays


def pools_from_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[int, Pool]:
    """Rebuild what :func:`pools_to_arrays` returned."""
    return {fold: Pool.from_arrays(arrays, f"{fold}_") for fold in arrays["folds"].tolist()}


def fit_tag_models(
    method: str,
    base: Pool | Mapping[str, Frames],
    split: SongSplit,
    folds: Iterable[int],
    sequences: SequenceSettings,
    songs: SongSettings,
    tags: TagSettings,
    *,
    seed: int,
    experiment: str,
) -> tuple[dict[int, Pool], list[dict[str, Any]]]:
    """Learn a model of each tag in each fold from the songs outside the fold.

    Parameters
    ----------
    method : str
        A key of :data:`replication.registry.SONG_MODELS`.
    base : Pool, or mapping of str to ndarray
        Models of the songs, or for ``em_h3m`` their features.
    split : SongSplit
    folds : iterable of int
    sequences : SequenceSettings
    songs : SongSettings
    tags : TagSettings
    seed : int
    experiment : str

    Returns
    -------
    models : dict of int to Pool
        For each fold the models; owners are tags. A tag without training songs has none.
    timings : list of dict
        For each fold rows with the metrics ``seconds`` (processor time, without compiling) and
        ``tags_given_up`` (after :attr:`TagSettings.seconds`).
    """
    direct = SequenceSettings(sequences.length, tags.em_overlap)

    def fit(tag: int, fold: int, settings: TagSettings) -> Mixture:
        state = repetition_seed(seed, f"{experiment}/{method}/{split.tags[tag]}", fold)
        training = split.training_songs(tag, fold)
        if isinstance(base, Pool):
            return _TAG_FITS[method](base.select(training), songs, settings, state)
        frames = (base[song] for song in training)
        return fit_direct(frames, direct, tags.em_share, songs, settings, state)

    quick = TagSettings(**{**vars(tags), "n_init": 1, "max_iter": 1, "shem_samples": 1})
    models: dict[int, Pool] = {}
    timings: list[dict[str, Any]] = []
    for fold in folds:
        there = split.learnable(fold)
        if not models:
            fit(there[0], fold, quick)
        begun = process_time()
        learned: dict[str, Mixture] = {}
        for tag in there:
            learned[str(split.tags[tag])] = fit(tag, fold, tags)
            if process_time() - begun > tags.seconds:
                break
        seconds = process_time() - begun
        models[fold] = Pool.join(learned)
        for metric, value in (
            ("seconds", seconds),
            ("tags_given_up", len(there) - len(learned)),
        ):
            timings.append(
                {"method": method, "item": "tags", "fold": fold, "metric": metric, "value": value}
            )
    return models, timings


# --- scores of songs ----------------------------------------------------------------------------


def mean_scores(
    models: Pool, features: Mapping[str, Frames], songs: Sequence[str], length: int
) -> Array:
    """Mean log-likelihood of a frame of each song under each owner's mixture.

    Parameters
    ----------
    models : Pool
    features : mapping of str to ndarray of shape (n_frames, n_features)
    songs : sequence of str
        Songs to score. A few at a time are in memory, and go through one batch.
    length : int
        Frames in a sequence; sequences do not overlap here.

    Returns
    -------
    ndarray, shape (n_songs, n_owners)
        Nats a frame, see :func:`replication.music.scores.mean_log_likelihoods`.
    """
    rows = []
    for first in range(0, len(songs), _SONGS_AT_A_TIME):
        part = songs[first : first + _SONGS_AT_A_TIME]
        cut = [cut_sequences(features[song], length, 0.0) for song in part]
        owner = np.repeat(np.arange(len(part)), [len(sequences) for sequences in cut])
        log_likelihoods = models.log_likelihoods(np.concatenate(cut))
        rows.append(mean_log_likelihoods(log_likelihoods, owner, len(part), length))
    return np.concatenate(rows)


def score_songs(
    method: str,
    models: Mapping[int, Pool],
    features: Mapping[str, Frames],
    split: SongSplit,
    sequences: SequenceSettings,
) -> tuple[dict[str, npt.NDArray[Any]], list[dict[str, Any]]]:
    """Score the test songs of each fold under the models of all tags.

    Parameters
    ----------
    method : str
        A key of :data:`replication.registry.SONG_MODELS`.
    models : mapping of int to Pool
        Models of tags of each fold, as :func:`fit_tag_models` returns them.
    features : mapping of str to ndarray of shape (n_frames, n_features)
        Songs, with the features that the method is of.
    split : SongSplit
    sequences : SequenceSettings

    Returns
    -------
    scores : dict of ndarray
        ``method`` (), ``folds`` (F,) and ``scores`` (n_songs, n_tags) in nats a frame: NaN for
        songs of other folds, and for tags without a model in the song's fold.
    timings : list of dict
        Rows with the metric ``seconds`` for each fold.
    """
    scores = np.full(split.annotations.shape, np.nan)
    column = {tag: number for number, tag in enumerate(split.tags.tolist())}
    timings = []
    for fold, pool in models.items():
        begun = process_time()
        columns = np.array([column[tag] for tag in pool.names()])
        rows = np.flatnonzero(split.folds == fold)
        found = mean_scores(pool, features, split.test_songs(fold), sequences.length)
        scores[np.ix_(rows, columns)] = found
        timings.append(
            {
                "method": method,
                "item": "scores",
                "fold": fold,
                "metric": "seconds",
                "value": process_time() - begun,
            }
        )
    arrays = {"method": np.array(method), "folds": np.array(list(models)), "scores": scores}
    return arrays, timings
