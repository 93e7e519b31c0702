"""Generators that write synthetic data in the layout of the published data sets."""

from __future__ import annotations

from replication.datasets.catalog import read_published
from replication.datasets.manifest import Prepared, RawFolder, Request, build_table, standing
from replication.io import sha256_of

__all__ = ["from_generator"]


def from_generator(request: Request) -> Prepared:
    """Write the synthetic stand-in of a data set, unless it stands there already, and list it."""
    dataset = request.dataset
    identity = {
        "source": "embedded",
        "version": dataset.generator_version,
        "seed": request.seed,
        "sizes": dict(request.sizes),
    }
    folder = RawFolder(request.raw, identity)
    sums: dict[str, str] = folder.load().get("files", {})
    if not sums or standing(folder.path, sums) != sums:
        folder.clear()
        dataset.generate(folder.path, seed=request.seed, n_jobs=request.n_jobs, **request.sizes)
        files = (path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*"))
        sums = {file: sha256_of(folder.path / file) for file in files if dataset.identify(file)}
        folder.save({"files": sums})
    folder.finish()
    return Prepared(
        dataset=dataset.name,
        title=f"stand-in for the {read_published(dataset.name).title}",
        items=dataset.items,
        source="embedded",
        origin="synthetic",
        table=build_table(dataset, "synthetic", used=sums),
        archives={},
        ignored=(),
    )
