"""Which source files a script is made of, so that editing one repeats the jobs that it decides.

The list of a script's modules is read from the text of its imports, transitively, inside ``src``.
A name that a package only passes on leads to the module that defines it, not to everything that
the package holds. What is digested of a module is what it does: comments, docstrings and layout
may change, and so may the modules of :data:`PLUMBING`.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["PLUMBING", "code_digest", "modules_of"]

PLUMBING: Mapping[str, str] = {
    "replication.io": "files and logs; what a table or array holds is its writer's",
    "replication.digests": "checks that files are what was written",
    "replication.registry": "names; what of them decides a job is in the job's files and settings",
    "replication.dependencies": "this module",
    "replication.data.archives": "unpacks files, which are checked by their sums",
    "replication.data.download": "fetches files, which are checked by their sums",
    "replication.data.sources": "chooses the source; raw files have their sums in the manifest",
    "replication.data.catalog": "addresses, terms and sums of published files",
    "replication.settings": "checks what the rules hand to a job as its settings",
    "replication.settings.files": "the same",
    "replication.settings.rules": "the same",
}
"""Modules that cannot change a number, each with the reason: a better message repeats no SVM."""

_SOURCE = Path(__file__).resolve().parents[1]


def modules_of(*roots: str | Path) -> dict[str, Path]:
    """Find the modules that scripts and modules are made of, but for the plumbing.

    Parameters
    ----------
    *roots : str or pathlib.Path
        Dotted names of modules below ``src``, which count themselves, and paths of scripts.

    Returns
    -------
    dict
        Dotted name to file, sorted by name.
    """
    found: dict[str, Path] = {}
    waiting = [
        name for root in roots for name in ([root] if isinstance(root, str) else _imported(root))
    ]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if path is None:
            raise ValueError(f"no module {name!r} below {_SOURCE}")
        if name not in found and name not in PLUMBING:
            found[name] = path
            waiting += _imported(path)
    return dict(sorted(found.items()))


def code_digest(*roots: str | Path) -> str:
    """Digest what scripts and the modules that they are made of do.

    Parameters
    ----------
    *roots : str or pathlib.Path
        See :func:`modules_of`.
    """
    digest = hashlib.sha256()
    scripts = {root.name: root for root in sorted(roots, key=str) if isinstance(root, Path)}
    for name, path in [*scripts.items(), *modules_of(*roots).items()]:
        digest.update(f"{name}\n{_read(path).deeds}\n".encode())
    return digest.hexdigest()[:16]


class _Text(NamedTuple):
    """What a source file says: imports as (module, name), names it passes on, and the rest."""

    imports: tuple[tuple[str, str], ...]
    passed_on: Mapping[str, tuple[str, str]]
    deeds: str


def _read(path: Path) -> _Text:
    return _parse(path, path.read_text(encoding="utf-8"))


@functools.cache
def _parse(path: Path, text: str) -> _Text:
    tree = ast.parse(text, str(path))
    imports: list[tuple[str, str]] = []
    passed_on: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = _source_of(node, path)
            imports += [(module, alias.name) for alias in node.names]
            if node in tree.body:
                passed_on |= {a.asname or a.name: (module, a.name) for a in node.names}
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # Texts that stand alone: docstrings, also those of attributes.
            node.body = [line for line in body if not _is_text(line)] or [ast.Pass()]  # type: ignore[attr-defined]
    return _Text(tuple(imports), passed_on, ast.unparse(tree))


def _is_text(line: ast.AST) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def _source_of(node: ast.ImportFrom, path: Path) -> str:
    """Return the full name of what a statement imports from."""
    above = path.relative_to(_SOURCE).parts[: -node.level] if node.level else ()
    return ".".join([*above, *([node.module] if node.module else [])])


def _imported(path: Path) -> list[str]:
    """List the modules below ``src`` that define what a file imports, wherever in it."""
    return [
        _definer(module, name) if name else module
        for module, name in _read(path).imports
        if (_SOURCE / module.partition(".")[0]).is_dir()
    ]


def _definer(module: str, name: str) -> str:
    """Return the module that a name of a module comes from, if that only passes it on."""
    if _file(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    path = _file(module)
    if path is not None and path.name == "__init__.py" and name in _read(path).passed_on:
        return _definer(*_read(path).passed_on[name])
    return module


@functools.cache
def _file(name: str) -> Path | None:
    path = _SOURCE.joinpath(*name.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)
