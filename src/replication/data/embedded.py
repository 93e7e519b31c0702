"""The source ``embedded``: synthetic data in the layout of the published data sets.

This module alone loads a generator of :mod:`replication.standins`, by the name that
:func:`replication.registry.standin_of` gives.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from replication.data.catalog import read_published
from replication.data.manifest import Prepared, RawFolder, Request, build_table, standing
from replication.dependencies import code_digest
from replication.io import sha256_of
from replication.registry import standin_of

__all__ = ["from_generator", "sizes_of"]


def _generator(dataset: str) -> Any:
    return importlib.import_module(standin_of(dataset))


def sizes_of(dataset: str) -> dict[str, int]:
    """Return the sizes that a data set's generator takes, with their defaults."""
    parameters = inspect.signature(_generator(dataset).write).parameters.values()
    return {
        p.name: p.default for p in parameters if isinstance(p.default, int) and p.name != "seed"
    }


def from_generator(request: Request) -> Prepared:
    """Write the synthetic stand-in of a data set, unless it stands there already, and list it."""
    dataset = request.dataset
    generator = _generator(dataset.name)
    identity = {
        "source": "embedded",
        "code": code_digest(standin_of(dataset.name)),
        "seed": request.seed,
        "sizes": dict(request.sizes),
    }
    folder = RawFolder(request.raw, identity)
    sums: dict[str, str] = folder.load().get("files", {})
    if not sums or standing(folder.path, sums) != sums:
        folder.clear()
        generator.write(folder.path, seed=request.seed, n_jobs=request.n_jobs, **request.sizes)
        files = (path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*"))
        sums = {file: sha256_of(folder.path / file) for file in files if dataset.identify(file)}
        folder.save({"files": sums})
    folder.finish()
    return Prepared(
        dataset=dataset.name,
        title=f"stand-in for the {read_published(dataset.name).title}",
        items=dataset.items,
        counted=dataset.counted or dataset.items,
        beside=dataset.beside,
        source="embedded",
        origin="synthetic",
        table=build_table(dataset, "synthetic", used=sums),
        archives={},
        ignored=(),
    )
