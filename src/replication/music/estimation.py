r"""Learning in two stages against learning from all data at once (NIPS 2012, end of section 4).

The paper: "Relative to direct EM estimation on the entire data, VHEM-H3M is more time- and
memory-efficient. [...] the intermediate models implicitly provide more 'samples' (virtual
variations of each time-series) to the final VHEM stage. This acts as a form of regularization that
prevents over-fitting." It shows no experiment on that; this is one:

* over-fitting is the log-likelihood of the training songs of a tag minus that of its test songs,
  in nats a frame, under the tag's model;
* direct EM learns from the sequences that it had in Table 3 (``em_h3m``) and, at equal data, from
  all those that the song models were learned from (``em_h3m_dense``);
* the number of virtual samples is varied;
* memory is the peak of what Python and NumPy allocate, in a process of its own.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from replication.music.mfcc import Frames
from replication.music.tagging.pools import Pool
from replication.music.tagging.scoring import mean_scores
from replication.music.tagging.song_models import SequenceSettings, SongSettings, fit_song_models
from replication.music.tagging.songs import SongSplit
from replication.music.tagging.tag_models import TagSettings, fit_direct, fit_tag_models
from replication.seeds import repetition_seed

__all__ = ["compare_estimation", "measure_memory", "peak_of", "spread_tags"]

_FOLD = 0


def spread_tags(split: SongSplit, n_tags: int) -> list[int]:
    """Numbers of tags that have training and test songs, spread from rare to frequent."""
    usable = [
        tag
        for tag in range(len(split.tags))
        if split.training_songs(tag, _FOLD)
        and (split.annotations[:, tag] & (split.folds == _FOLD)).any()
    ]
    by_size = sorted(usable, key=lambda tag: (int(split.annotations[:, tag].sum()), tag))
    places = np.linspace(0, len(by_size) - 1, min(n_tags, len(by_size))).round().astype(int)
    return [by_size[place] for place in places]


def compare_estimation(
    base: Pool,
    features: Mapping[str, Frames],
    split: SongSplit,
    sequences: SequenceSettings,
    songs: SongSettings,
    tags: TagSettings,
    *,
    n_tags: int,
    virtual_samples: Sequence[float],
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    """Compare the fit to training and test songs, in the first fold.

    Parameters
    ----------
    base : Pool
        H3Ms of the songs.
    features : mapping of str to ndarray of shape (n_frames, n_features)
    split : SongSplit
    sequences, songs, tags
        Settings, see :mod:`replication.music.tagging`.
    n_tags : int
        Tags that are looked at, from the rarest to the most frequent.
    virtual_samples : sequence of float
        Numbers that are tried in place of :attr:`TagSettings.virtual_samples`.
    seed, experiment
        What decides random starts.

    Returns
    -------
    list of dict
        Rows with the tag as ``item`` and the metrics ``train_log_likelihood``,
        ``test_log_likelihood`` and ``over_fitting`` (their difference), in nats a frame, of
        the methods ``vhem``, ``em_h3m`` and ``em_h3m_dense``; other numbers of virtual samples are
        the variants ``virtual_samples_1`` and so on.
    """
    rows: list[dict[str, Any]] = []
    for tag in spread_tags(split, n_tags):
        one = replace(
            split,
            tags=split.tags[[tag]],
            annotations=np.ascontiguousarray(split.annotations[:, [tag]]),
        )
        train = one.training_songs(0, _FOLD)
        test = one.songs[one.annotations[:, 0] & (one.folds == _FOLD)].tolist()
        for method, variant, model in _estimates(
            base, features, one, sequences, songs, tags, virtual_samples, seed, experiment
        ):
            fit, generalisation = (
                float(mean_scores(model, features, part, sequences.length).mean())
                for part in (train, test)
            )
            for metric, value in (
                ("train_log_likelihood", fit),
                ("test_log_likelihood", generalisation),
                ("over_fitting", fit - generalisation),
            ):
                rows.append(
                    {
                        "method": method,
                        "variant": variant,
                        "item": str(split.tags[tag]),
                        "fold": _FOLD,
                        "metric": metric,
                        "value": value,
                    }
                )
    return rows


def _estimates(
    base: Pool,
    features: Mapping[str, Frames],
    one: SongSplit,
    sequences: SequenceSettings,
    songs: SongSettings,
    tags: TagSettings,
    virtual_samples: Sequence[float],
    seed: int,
    experiment: str,
) -> Iterator[tuple[str, str, Pool]]:
    """Yield method, variant and model of one tag."""
    dense = replace(tags, em_overlap=sequences.overlap, em_share=1.0)
    work: list[tuple[str, str, Pool | Mapping[str, Frames], TagSettings]] = [
        ("vhem", "", base, tags),
        ("em_h3m", "", features, tags),
        ("em_h3m_dense", "", features, dense),
    ]
    for n in virtual_samples:
        work.append(("vhem", f"virtual_samples_{n:g}", base, replace(tags, virtual_samples=n)))
    for method, variant, source, settings in work:
        models, _ = fit_tag_models(
            method.removesuffix("_dense"),
            source,
            one,
            [_FOLD],
            sequences,
            songs,
            settings,
            seed=seed,
            experiment=experiment,
        )
        yield method, variant, models[_FOLD]


def peak_of(work: Callable[[], object]) -> int:
    """Return the largest number of bytes that are allocated at a time while ``work`` runs.

    What is allocated before does not count. Arrays that compiled code makes for itself are not
    seen; those of the methods here are NumPy's.
    """
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure_memory(
    base: Callable[[], Pool],
    features: Mapping[str, Frames],
    split: SongSplit,
    sequences: SequenceSettings,
    songs: SongSettings,
    tags: TagSettings,
    *,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    """Peak memory of learning the model of the most frequent tag, reading included.

    Parameters
    ----------
    base : callable
        Reads the H3Ms of the songs.
    features : mapping of str to ndarray of shape (n_frames, n_features)
        Read song by song.
    split, sequences, songs, tags, seed, experiment
        As for :func:`compare_estimation`.

    Returns
    -------
    list of dict
        Rows with the metric ``peak_bytes``: of ``vhem`` for the stages ``songs`` (one song at a
        time) and ``tags``, of ``em_h3m`` and ``em_h3m_dense`` for ``tags``. One iteration each:
        memory does not grow with more.
    """
    quick_songs = replace(songs, n_init=1, max_iter=1)
    quick = replace(tags, n_init=1, max_iter=1)
    tag = int(split.annotations.sum(axis=0).argmax())
    training = split.training_songs(tag, _FOLD)
    longest = max(training, key=lambda song: len(features[song]))
    state = repetition_seed(seed, f"{experiment}/memory", 0)
    one = replace(split, tags=split.tags[[tag]], annotations=split.annotations[:, [tag]])
    shared: dict[str, Any] = {"seed": seed, "experiment": experiment}

    def one_song() -> None:
        song = {longest: features[longest]}
        fit_song_models("h3m", song, sequences, quick_songs, **shared)

    def from_songs() -> None:
        fit_tag_models("vhem", base(), one, [_FOLD], sequences, songs, quick, **shared)

    def direct(overlap: float, share: float) -> None:
        frames = (features[song] for song in training)
        cut = SequenceSettings(sequences.length, overlap)
        fit_direct(frames, cut, share, songs, quick, state)

    work: list[tuple[str, str, Callable[[], None]]] = [
        ("vhem", "songs", one_song),
        ("vhem", "tags", from_songs),
        ("em_h3m", "tags", lambda: direct(tags.em_overlap, tags.em_share)),
        ("em_h3m_dense", "tags", lambda: direct(sequences.overlap, 1.0)),
    ]
    for _, _, function in work:
        function()  # compiling allocates, too
    return [
        {
            "method": method,
            "item": stage,
            "fold": _FOLD,
            "metric": "peak_bytes",
            "value": peak_of(function),
        }
        for method, stage, function in work
    ]
