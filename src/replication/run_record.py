"""What a run was: configuration, versions, data and code, as ``results/<run>/run.json``."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from replication.io import sha256_of

__all__ = ["describe_run"]

_DISTRIBUTION = "distributions-as-data"


def describe_run(
    config: Mapping[str, Any], data: Sequence[Mapping[str, Any]], lock: str | Path
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

    Returns
    -------
    dict
        ``config``, ``data``, ``python``, ``packages`` (name to version), ``lock_sha256`` and
        ``git`` (commit and whether the tree differed from it; ``None`` outside a checkout).
    """
    return {
        "config": dict(config),
        "data": list(data),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": _versions(),
        "lock_sha256": sha256_of(lock),
        "git": _git_state(),
    }


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
    root = Path(__file__).resolve().parents[2]
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
