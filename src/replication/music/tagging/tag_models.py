"""Models of tags, each learned from the songs outside a fold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from replication.music.mfcc import Frames, cut_sequences
from replication.music.tagging.pools import Mixture, Pool
from replication.music.tagging.song_models import SequenceSettings, SongSettings
from replication.music.tagging.songs import FeatureFiles, SongSplit
from replication.registry import SONG_MODELS
from replication.seeds import repetition_seed
from vhem import (
    EMH3M,
    H3M,
    HEMDTM,
    HEMGMM,
    SHEM,
    VHEM,
    DynamicTextureMixture,
    PPKSpectralClustering,
)

__all__ = ["TagSettings", "fit_direct", "fit_tag_models", "read_base"]


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
    kernel_root : 1, "frame" or "value"
        The affinity is this root of the kernel, see :class:`vhem.PPKSpectralClustering`; 1 is the
        published method.
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
    kernel_root: int | str
    em_overlap: float
    em_share: float
    shem_samples: int
    n_init: int
    max_iter: int
    seconds: float


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
