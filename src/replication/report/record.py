"""What a run was: configuration, versions, data and code, as ``results/<run>/run.json``."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import numpy as np
from packaging.requirements import Requirement

from replication.io import sha256_of
from replication.registry import RESOURCES

__all__ = ["describe_dictionary", "describe_run"]

_DISTRIBUTION = "distributions-as-data"

#: A longer list of training images is recorded as their number and a checksum.
_LISTED_IMAGES = 100


def describe_run(
    config: Mapping[str, Any],
    data: Sequence[Mapping[str, Any]],
    lock: str | Path,
    dictionaries: Mapping[str, str | Path] | None = None,
    *,
    files: Iterable[str | Path] = (),
    run: Path = Path(),
) -> dict[str, Any]:
    """Describe a run well enough to repeat it.

    Parameters
    ----------
    config : mapping
        The configuration without the folder of the archives.
    data : sequence of mappings
        The summary of each data set in use (origin, number of files, ...).
    lock : path-like
        The lock file that the environment was installed from.
    dictionaries : mapping of str to path-like, optional
        From a variant of the faces to its dictionary of HOGgles, for
        :func:`describe_dictionary`; variants without one of their own use that of ``main``.
    files : iterable of path-like
        What the run promises: scores, figures, tables, ...
    run : pathlib.Path
        Folder that the record's ``files`` are relative to.

    Returns
    -------
    dict
        ``config``, ``data``, ``files`` (path to SHA-256), ``dictionaries``, ``python``,
        ``packages`` (name to version), ``lock_sha256`` and ``git`` (commit and whether the tree
        differed from it; ``None`` outside a checkout).
    """
    return {
        "config": dict(config),
        "data": list(data),
        "files": {Path(file).relative_to(run).as_posix(): sha256_of(file) for file in files},
        "dictionaries": {
            variant: describe_dictionary(path) for variant, path in (dictionaries or {}).items()
        },
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": _versions(),
        "lock_sha256": sha256_of(lock),
        "git": _git_state(),
    }


def describe_dictionary(path: str | Path) -> dict[str, Any]:
    """Say what a dictionary of HOGgles was learned from, or which file it was read from.

    Parameters
    ----------
    path : path-like
        As written by :meth:`replication.images.hoggles.dictionary.PairedDictionary.save`.

    Returns
    -------
    dict
        The dictionary's origin, its ``n_atoms``, ``penalty`` and ``cell``. A dictionary read from
        ``pd.mat`` does not know its ``training`` and hence its ``leakage``: both are ``None``, and
        ``file`` and ``sha256`` name what was read. Of many training images, ``images`` holds their
        number and the checksum of the list of names and checksums.
    """
    with np.load(path) as content:
        origin = json.loads(str(content["origin"]))
        numbers = {
            "n_atoms": len(content["hog"]),
            "penalty": float(content["penalty"]),
            "cell": int(content["cell"]),
        }
    images = origin.get("images", {})
    if len(images) > _LISTED_IMAGES:
        listed = json.dumps(images, sort_keys=True, ensure_ascii=True)
        origin["images"] = {
            "number": len(images),
            "sha256_of_list": hashlib.sha256(listed.encode()).hexdigest(),
        }
    return {"training": None, "leakage": None, **origin, **numbers}


def _versions() -> dict[str, str]:
    """Return the installed versions of the project and of what it directly needs."""
    names = {_DISTRIBUTION}
    for line in requires(_DISTRIBUTION) or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": "workflow"}):
            names.add(requirement.name)
    return {name: version(name) for name in sorted(names)}


def _git_state() -> dict[str, Any] | None:
    """Return the commit of the checkout that this file belongs to, if there is one."""
    root = RESOURCES.parent
    try:
        commit = _git(root, "rev-parse", "HEAD")
        dirty = bool(_git(root, "status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": commit, "dirty": dirty}


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()
