"""What must fit together in a configuration, as a list of rules.

The schema says what each value may be. A rule says how large it may be beside other settings and
the data, so that no job finds that out after others have worked for hours. Of synthetic data all
numbers are known beforehand, of real data the published ones; :func:`check_counts` applies the same
rules again to what was found. Experiments whose data set takes no part are not looked at.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from replication.music.framing import framing
from replication.registry import EXPERIMENTS
from replication.settings.files import ConfigError

__all__ = ["Counts", "check_counts", "check_rules", "count_members", "shown"]

#: Numbers of a densities' embedding that the memory of a computer holds for all images.
_LARGEST_EMBEDDING = 131_072
#: Sequences of the classes of motions (resources/motions.tsv); seconds of the shortest stand-in.
_MOTIONS = (11, 9, 9, 7, 6, 6, 4, 4)
_SHORTEST_MOTION_S = 1.1


@dataclass(frozen=True)
class Counts:
    """How much data an experiment has; infinite where that is not known.

    Parameters
    ----------
    items : float
        Images, sequences or songs.
    smallest_class : float
        Members of the smallest class, copies counted once.
    rows, columns : float
        Pixels of the smallest image.
    frames : float
        Frames of the shortest sequence or song.
    tags : float
        Tags that are scored.
    """

    items: float = math.inf
    smallest_class: float = math.inf
    rows: float = math.inf
    columns: float = math.inf
    frames: float = math.inf
    tags: float = math.inf


class View:
    """Settings of an experiment with the changes of a variant, and what is known of its data."""

    def __init__(
        self, config: Mapping[str, Any], experiment: str, variant: str, counts: Counts | None
    ) -> None:
        self.data = config["datasets"][EXPERIMENTS[experiment].dataset]
        main = config["experiments"][experiment]
        changes = {} if variant == "main" else main["sensitivity"]["variants"][variant]
        parts = {part: {**main[part], **changed} for part, changed in changes.items()}
        self.settings = {**main, **parts}
        found = {name: n for name, n in vars(counts or Counts()).items() if math.isfinite(n)}
        self.counts = replace(_COUNTS[experiment](self), **found)

    @property
    def embedded(self) -> Any:
        """Sizes of the synthetic data, or None if the data are real."""
        return self.data["embedded"] if self.data["source"] == "embedded" else None

    def __getitem__(self, key: str) -> Any:
        """Return the setting at a dotted path; of the data set after ``data.``."""
        root = {"data": self.data} if key.startswith("data.") else self.settings
        return reduce(lambda part, name: part[name], key.split("."), root)


def _count_textures(view: View) -> Counts:
    size = view.embedded or {"images_per_class": 40, "height": 480, "width": 640}
    n = size["images_per_class"]
    return Counts(25 * n, n, rows=size["height"], columns=size["width"])


def _count_faces(view: View) -> Counts:
    natural = view["images.natural"]
    if view.embedded is None:
        n = 2420 if view["images.copies"] else 2391
        return Counts(n, 8) if natural else Counts(n - 8, 100)
    n = view.embedded["images_per_class"]
    return Counts((21 if natural else 20) * n, n)


def _count_motions(view: View) -> Counts:
    if view.embedded is None:
        return Counts(sum(_MOTIONS))
    most = view.embedded["max_sequences_per_class"]
    frames = int(_SHORTEST_MOTION_S * view["features.frame_rate_hz"]) + 1
    return Counts(sum(min(n, most) for n in _MOTIONS), frames=frames)


def _count_songs(view: View) -> Counts:
    size = view.embedded or {"songs": 502, "seconds": math.inf, "tags": 174}
    return Counts(size["songs"], frames=_frames(size["seconds"], view), tags=size["tags"])


def _frames(seconds: float, view: View) -> float:
    if math.isinf(seconds):  # its whole part would be no number
        return seconds
    lengths = framing(view["features.sampling_rate"])
    return (lengths["sampling_rate"] * seconds - lengths["window"]) // lengths["hop"] + 1


_COUNTS: Mapping[str, Callable[[View], Counts]] = {
    "textures": _count_textures,
    "faces": _count_faces,
    "motion": _count_motions,
    "music": _count_songs,
}


class Rule(NamedTuple):
    """What a setting may be beside others."""

    experiments: tuple[str, ...]
    key: str
    fault: Callable[[Any, View], str | None]
    """Of the value and the view: what is allowed, or None if all is well."""


def _at_most(bound: Callable[[View], float], meaning: str) -> Callable[[Any, View], str | None]:
    """Allow a number, or the largest of a list, up to a bound."""

    def fault(value: Any, view: View) -> str | None:
        largest = max(value) if isinstance(value, list) else value
        limit = bound(view)
        # A part of what is not known is no number, and no limit.
        return f"allowed: at most {limit:g} ({meaning})" if largest > limit else None

    return fault


def _training_members(view: View) -> float:
    """Members of the smallest class outside the largest fold."""
    members = view.counts.smallest_class
    return members - -(-members // view["svm.folds"])


def _fewest_songs(view: View) -> float:
    """Songs of the smaller collection: those that differ in order only go the same way."""
    return min(view.counts.items, view["order.songs"])


def _fewest_frames(view: View) -> float:
    return min(view.counts.frames, _frames(view["order.seconds"], view))


def _sequences_of_song(view: View) -> float:
    length, overlap = view["features.sequence_length"], view["features.overlap"]
    step = max(1, round(length * (1 - overlap)))
    return max(0, (_fewest_frames(view) - length) // step + 1)


def _windows(view: View) -> float:
    """Windows that a dictionary is learned from; those of photographs are many."""
    n = view["dictionary.n_windows"]
    if view["dictionary.training"] == "faces":
        n = min(n, view.counts.items * (view["images.side"] // 8 - 6) ** 2)
    return n // 2


def _beyond_image(offsets: Sequence[Sequence[int]], view: View) -> str | None:
    # Beyond the half few pairs of pixels are left, and images become equal.
    rows, columns = view.counts.rows / 2, view.counts.columns / 2
    if all(abs(row) <= rows and abs(column) <= columns for row, column in offsets):
        return None
    return f"allowed: at most {rows:g} rows and {columns:g} columns, half of an image"


def _too_few_to_train(folds: int, view: View) -> str | None:
    # Pairwise coupling splits a training part into three.
    if not _training_members(view) < 3:
        return None
    members = view.counts.smallest_class
    return f"allowed: folds that leave 3 of the {members:g} images of a class to train on"


def _kernels_in_two_lists(svm: Mapping[str, Any], view: View) -> str | None:
    """Name the kernels that would be scored twice, each time with a row of its own."""
    lists_of: dict[str, list[str]] = {}
    for name in ("paper_methods", "extra_methods", "slow_methods"):
        for kernel in svm[name]:
            lists_of.setdefault(kernel, []).append(name)
    twice = [
        f"kernel {kernel!r} is in {' and in '.join(names)}; it belongs in one of them"
        for kernel, names in lists_of.items()
        if len(names) > 1
    ]
    return "; ".join(twice) or None


def _classes_left_out(classes: Sequence[str], view: View) -> str | None:
    out = set(view["samples.not_shown"]) | (set() if view["images.natural"] else {"Natural"})
    wrong = [name for name in classes if name in out]
    reason = "not 'Natural' without images.natural, and none of samples.not_shown"
    return f"allowed: classes that take part and are shown ({reason})" if wrong else None


def _no_dictionary(file: str, view: View) -> str | None:
    if not file:
        return None
    path = Path(file)
    if not path.is_file():
        return f"allowed: a file; there is {'a folder' if path.is_dir() else 'none'}"
    with path.open("rb") as content:
        start = content.read(8)
    is_matlab = start.startswith((b"MATLAB", b"\x89HDF"))
    return None if is_matlab else "allowed: a MATLAB file (pd.mat), and this is none"


def _small_sides(side: int, view: View) -> str | None:
    largest = view["data.embedded.max_side"]
    return f"allowed: at most max_side ({largest})" if view.embedded and side > largest else None


def _too_many_pixels(size: Mapping[str, int], view: View) -> str | None:
    n = 25 * math.prod(size.values())
    return f"allowed: at most 4e9 pixels in all, not {n:.2g}" if view.embedded and n > 4e9 else None


def _in_both(once: Sequence[str], view: View) -> str | None:
    both = [method for method in once if method in view["methods"]]
    return (
        "allowed: methods that are not in music.methods, whose folds are all run" if both else None
    )


def _too_few_tags(min_songs: int, view: View) -> str | None:
    if view.counts.tags >= 2:
        return None
    return f"allowed: less, so that 2 tags or more are scored and not {view.counts.tags:g}"


_IMAGES = ("textures", "faces")
_RULES = (
    Rule(("textures",), "data.embedded", _too_many_pixels),
    Rule(("faces",), "data.embedded.min_side", _small_sides),
    Rule(_IMAGES, "svm", _kernels_in_two_lists),
    Rule(
        _IMAGES,
        "svm.folds",
        _at_most(lambda view: view.counts.smallest_class, "images of the smallest class"),
    ),
    Rule(_IMAGES, "svm.folds", _too_few_to_train),
    Rule(
        _IMAGES,
        "svm.inner_folds",
        _at_most(_training_members, "images of the smallest class in a training part"),
    ),
    Rule(
        _IMAGES,
        "variance.components",
        _at_most(
            lambda view: round(view["variance.share"] * view.counts.items) - 1,
            "one less than the images of a subset",
        ),
    ),
    Rule(
        _IMAGES, "identities.n_samples", _at_most(lambda view: view.counts.items, "all the images")
    ),
    Rule(
        _IMAGES,
        "kmeans.sweep_repeats",
        _at_most(lambda view: view["kmeans.repeats"], "kmeans.repeats"),
    ),
    Rule(
        _IMAGES,
        "sliced_wasserstein.n_quantiles",
        _at_most(
            lambda view: (
                _LARGEST_EMBEDDING
                // max(
                    view[f"{part}.n_angles"]
                    for part in ("sliced_wasserstein", "samples", "inverses")
                )
            ),
            f"with the angles {_LARGEST_EMBEDDING} numbers an image",
        ),
    ),
    Rule(("textures",), "cooccurrence.offsets", _beyond_image),
    Rule(("faces",), "inverses.classes", _classes_left_out),
    Rule(("faces",), "dictionary.file", _no_dictionary),
    Rule(("faces",), "dictionary.n_atoms", _at_most(_windows, "half of the windows to learn from")),
    Rule(("faces",), "hoggles.blocks", _at_most(lambda view: view.counts.items, "images")),
    Rule(("motion",), "hierarchy.levels", _at_most(lambda view: view.counts.items, "sequences")),
    Rule(
        ("motion",),
        "hierarchy.dtm_states",
        _at_most(lambda view: view.counts.frames, "frames of the shortest sequence"),
    ),
    Rule(
        ("motion",),
        "hmms.n_states",
        _at_most(
            lambda view: view.counts.frames // view["hmms.n_mix"],
            "a Gaussian for each frame of the shortest sequence",
        ),
    ),
    Rule(("music",), "once", _in_both),
    Rule(("music",), "features.blocks", _at_most(_fewest_songs, "songs")),
    Rule(
        ("music",),
        "features.sequence_length",
        _at_most(_fewest_frames, "frames of the shortest song"),
    ),
    Rule(("music",), "split.folds", _at_most(_fewest_songs, "songs")),
    Rule(("music",), "split.min_songs", _at_most(lambda view: view.counts.items, "songs")),
    Rule(("music",), "split.min_songs", _too_few_tags),
    Rule(
        ("music",),
        "songs.n_states",
        _at_most(
            lambda view: view["features.sequence_length"] // view["songs.n_mix"],
            "a Gaussian for each frame of a sequence",
        ),
    ),
    Rule(("music",), "songs.n_components", _at_most(_sequences_of_song, "sequences of a song")),
    Rule(
        ("music",),
        "songs.n_gaussians",
        _at_most(_fewest_frames, "frames of the shortest song"),
    ),
    Rule(
        ("music",),
        "songs.dtm_states",
        _at_most(
            lambda view: min(view["features.mel_bands"], view["features.sequence_length"]),
            "bands of a frame and frames of a sequence",
        ),
    ),
    Rule(
        ("music",),
        "scoring.retrieved",
        _at_most(lambda view: _fewest_songs(view) // view["split.folds"], "songs of a fold"),
    ),
    Rule(("music",), "scoring.annotated", _at_most(lambda view: view.counts.tags, "tags")),
    Rule(("music",), "estimation.n_tags", _at_most(lambda view: view.counts.tags, "tags")),
)


def check_rules(config: Mapping[str, Any], faulty: Sequence[Sequence[str]]) -> list[str]:
    """List what does not fit together, a line each.

    Parameters
    ----------
    config : mapping
        The merged configuration.
    faulty : sequence of sequence of str
        Paths of keys that the schema refuses; experiments with such a key are not looked at.

    Returns
    -------
    list of str
    """
    broken = {path[1] for path in faulty if len(path) > 1}
    sections = [_section(config, name) for name in ("datasets", "experiments")]
    faults = []
    for experiment, dataset in ((name, e.dataset) for name, e in EXPERIMENTS.items()):
        data, settings = _section(sections[0], dataset), _section(sections[1], experiment)
        if data and settings and not broken & {experiment, dataset} and data["enabled"]:
            faults += _faults(config, experiment)
    if sections[0] and not any(map(_takes_part, sections[0].values())):
        faults.append("'datasets': none takes part; allowed: one or more with enabled: true")
    return faults


def _section(config: Any, name: str) -> Mapping[str, Any]:
    """Return a part of a configuration; nothing if it is not as the schema wants it."""
    part = config.get(name) if isinstance(config, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _takes_part(data: Any) -> bool:
    return not isinstance(data, Mapping) or data.get("enabled") is not False


def count_members(labels: Iterable[str], groups: Iterable[int] | None = None) -> Counts:
    """Count images and the members of the smallest class.

    Parameters
    ----------
    labels : iterable of str
        Class of each image.
    groups : iterable of int, optional
        Group of each image; those of one group count once, as they must stay together.

    Returns
    -------
    Counts
    """
    labels = list(labels)
    members: dict[str, set[int]] = {}
    for label, group in zip(labels, range(len(labels)) if groups is None else groups, strict=True):
        members.setdefault(label, set()).add(group)
    return Counts(len(labels), smallest_class=min(map(len, members.values())))


def check_counts(
    config: Mapping[str, Any], experiment: str, counts: Counts, variant: str | None = None
) -> None:
    """Raise an error if settings do not fit the data that were found.

    To be called by the first job that knows: what it reads of the configuration for that is no
    parameter of its result.

    Parameters
    ----------
    config : mapping
        The merged configuration, which the schema allows.
    experiment : str
        Nothing is checked if its data set takes no part.
    counts : Counts
    variant : str, optional
        The only variant whose data these are, or ``main``.

    Raises
    ------
    ConfigError
        In one line.
    """
    if not config["datasets"][EXPERIMENTS[experiment].dataset]["enabled"]:
        return
    if faults := _faults(config, experiment, counts, variant):
        raise ConfigError(f"the configuration does not fit the data: {'; '.join(faults)}")


def _faults(
    config: Mapping[str, Any],
    experiment: str,
    counts: Counts | None = None,
    only: str | None = None,
) -> list[str]:
    settings = config["experiments"][experiment]
    names = ["main", *settings.get("sensitivity", {"variants": ()})["variants"]]
    views = {name: View(config, experiment, name, counts) for name in ([only] if only else names)}
    faults = []
    for rule in (rule for rule in _RULES if experiment in rule.experiments):
        place = f"experiments.{experiment}.{rule.key}"
        if rule.key.startswith("data."):
            place = f"datasets.{EXPERIMENTS[experiment].dataset}.{rule.key.removeprefix('data.')}"
        for name, view in views.items():
            if name != "main":
                place = f"experiments.{experiment}.sensitivity.variants.{name}.{rule.key}"
            if fault := rule.fault(view[rule.key], view):
                faults.append(_line(place, view[rule.key], fault))
                break
    return faults


def _line(place: str, value: Any, fault: str) -> str:
    if isinstance(value, Mapping):
        return f"{place!r}: {fault}"
    return f"{place!r} is {shown(value)}; {fault}"


def shown(value: Any) -> str:
    """Show a value of a configuration in at most some dozen letters."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring = 3, 12, 4, 60
