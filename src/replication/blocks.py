"""Carry finished blocks of repetitions from one run to the next, or refuse to.

A full cross-validation takes longer than one sitting. Its blocks survive a kill where they are; to
go on elsewhere, or after ``results/`` is gone, they are exported and imported again:

    python -m replication.blocks export <folder> --configfile configs/paper.yaml
    python -m replication.blocks import <folder> --configfile configs/paper.yaml

An export asks Snakemake first: blocks of older settings, images or code than the present ones,
which it would compute again, are not given the present ones' identity.

Blocks of the faces that are worth keeping stand in ``docs/results/animal_faces/blocks/``.

Beside the blocks stands ``identity.json``: the settings that decide their numbers, and checksums of
the list of images and of the source code. An import compares it with the run's own and refuses at
the first difference; comparing results of two programs in one table would be worse than computing
them again. It also has the checksum of each file of the export, and an import takes all of them as
they were exported, or none.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from replication.dependencies import code_digest
from replication.digests import check_digests, check_sums
from replication.io import (
    AlteredFileError,
    atomic_folder,
    atomic_path,
    read_json,
    sha256_of,
    write_json,
)
from replication.settings import ConfigError, check_config, load_config, svm_blocks

__all__ = ["BlockError", "export_blocks", "identity", "import_blocks", "main"]

_IDENTITY = "identity.json"

#: Settings of an experiment that decide the score of a repetition. Numbers of repetitions and
#: lists of kernels do not: what a block holds is seen from the block.
_SETTINGS = ("images", "dictionary", "density", "cooccurrence", "sliced_wasserstein")
_SVM_SETTINGS = ("folds", "inner_folds", "C", "gamma", "degree")

#: List of the images of an experiment, in the run's folder.
_IMAGES = {"faces": "features/faces/main/images.csv", "textures": "data/uiuc_texture.csv"}


class BlockError(ValueError):
    """Blocks cannot be exported, or do not belong to this run."""


def identity(
    config: Mapping[str, Any], run: Path, experiment: str, scripts: Collection[Path]
) -> dict[str, Any]:
    """Say what decides the numbers of an experiment's blocks.

    Parameters
    ----------
    config : mapping
        The whole configuration of the run.
    run : pathlib.Path
        ``results/<run>``.
    experiment : {"faces", "textures"}
    scripts : collection of pathlib.Path
        Scripts that compute a block from the images.

    Returns
    -------
    dict
        ``seed``, ``settings``, ``images_sha256`` and ``code``, see
        :func:`replication.dependencies.code_digest`.

    Raises
    ------
    BlockError
        If the run has no list of images yet.
    """
    if experiment not in _IMAGES:
        raise BlockError(f"experiment {experiment!r} has no blocks; allowed: {', '.join(_IMAGES)}")
    images = run / _IMAGES[experiment]
    if not images.is_file():
        raise BlockError(f"{images} is missing: the run has not come so far")
    settings = config["experiments"][experiment]
    return {
        "experiment": experiment,
        "seed": config["seed"],
        "settings": {
            **{key: settings[key] for key in _SETTINGS if key in settings},
            "svm": {key: settings["svm"][key] for key in _SVM_SETTINGS},
        },
        "images_sha256": sha256_of(images),
        "code": code_digest(*scripts),
    }


def _wanted(config: Mapping[str, Any], experiment: str) -> dict[str, list[str]]:
    """Names of the run's blocks at its main settings, and the kernels of each."""
    return svm_blocks(config["experiments"][experiment]["svm"])


def export_blocks(
    config: Mapping[str, Any],
    run: Path,
    destination: Path,
    experiment: str,
    scripts: Collection[Path],
) -> list[str]:
    """Copy the finished blocks of a run, gzipped, and say what they were computed with.

    Parameters
    ----------
    config, run, experiment, scripts
        See :func:`identity`.
    destination : pathlib.Path
        Folder for the blocks. Blocks of the same identity that are already there stay.

    Returns
    -------
    list of str
        Names of the blocks copied.

    Raises
    ------
    BlockError
        If there is no block, one is altered, or the folder holds altered blocks or such of another
        identity.
    """
    own = identity(config, run, experiment, scripts)
    finished = [
        name
        for name in _wanted(config, experiment)
        if all(file.is_file() for file in _places(run, experiment, name))
    ]
    if not finished:
        raise BlockError(f"{run}: no block of {experiment} is finished")
    sources = {
        f"{kind}/{name}.gz": file
        for name in finished
        for kind, file in zip(("scores", "timing"), _places(run, experiment, name), strict=True)
    }
    try:
        check_digests(sources.values())
    except AlteredFileError as error:
        raise BlockError(f"{error}; make it again first") from None
    files = {}
    if (destination / _IDENTITY).exists():
        theirs = _exported_identity(destination, replaced=sources)
        files = theirs.pop("files")
        _compare(theirs, own, destination)
    with atomic_folder(destination) as folder:
        for packed, file in sources.items():
            with atomic_path(folder / packed) as temporary:
                # Without a time stamp equal tables give equal bytes.
                temporary.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
            files[packed] = sha256_of(folder / packed)
        write_json(folder / _IDENTITY, {**own, "files": files})
    return finished


def _exported_identity(folder: Path, replaced: Collection[str] = ()) -> dict[str, Any]:
    """Read what an export says of itself; all files but the replaced are as they were exported."""
    path = folder / _IDENTITY
    try:
        theirs: dict[str, Any] = read_json(path)
        check_sums(folder, {k: v for k, v in theirs["files"].items() if k not in replaced})
    except FileNotFoundError:
        raise BlockError(f"{path} is missing: no exported blocks") from None
    except AlteredFileError as error:
        raise BlockError(f"{error}; export the blocks again") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BlockError(
            f"{path} is no identity with checksums: export the blocks again, into another folder"
        ) from None
    return theirs


def import_blocks(
    config: Mapping[str, Any],
    run: Path,
    source: Path,
    experiment: str,
    scripts: Collection[Path],
) -> tuple[list[str], list[str]]:
    """Put exported blocks where the run would compute them.

    The run must have come as far as its matrices: a block that is older than what it follows from
    would be computed again.

    Parameters
    ----------
    config, run, experiment, scripts
        See :func:`identity`.
    source : pathlib.Path
        Folder written by :func:`export_blocks`.

    Returns
    -------
    imported, ignored : list of str
        Blocks now in the run, and those that it does not ask for, because its numbers of
        repetitions, its block size or its kernels are others.

    Raises
    ------
    BlockError
        If a file of the export is missing or altered, the blocks were computed with other
        settings, images or code, or the run has not come far enough.
    """
    theirs = _exported_identity(source)
    files = theirs.pop("files")
    matrices = run / f"models/{experiment}/main/matrices.npz"
    if not matrices.is_file():
        raise BlockError(f"{matrices} is missing: make it first (make reproduce TARGET={matrices})")
    _compare(theirs, identity(config, run, experiment, scripts), source)
    wanted = _wanted(config, experiment)
    imported, ignored = [], []
    for packed in sorted(file for file in files if file.startswith("scores/")):
        name = Path(packed).name.removesuffix(".gz")
        methods = set(pd.read_csv(source / packed, keep_default_na=False)["method"])
        if methods != set(wanted.get(name, [])):
            ignored.append(name)
            continue
        scores, timing = _places(run, experiment, name)
        # The scores last: a block with scores is finished.
        for kind, file in (("timing", timing), ("scores", scores)):
            with atomic_path(file) as temporary:
                content = (source / kind / f"{name}.gz").read_bytes()
                temporary.write_bytes(gzip.decompress(content))
        imported.append(name)
    return imported, ignored


def _planned(config: Mapping[str, Any], options: argparse.Namespace, *arguments: str) -> str:
    """Ask Snakemake what it would do."""
    command = [sys.executable, "-m", "snakemake", *arguments, "--dry-run", "--cores", "1"]
    command += ["--configfile", *map(str, options.configfile)]
    if options.allow_subset:
        command += ["--config", f"allow_subset={options.allow_subset}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise BlockError(f"Snakemake refuses to plan {arguments[0]}: {done.stderr.strip()}")
    return done.stdout + done.stderr


def _scripts(config: Mapping[str, Any], run: Path, options: argparse.Namespace) -> set[Path]:
    """Find the scripts that compute a block from the images."""
    block = next(iter(_wanted(config, options.experiment)))
    scores, _ = _places(run, options.experiment, block)
    plan = _planned(config, options, str(scores), "--forceall")
    rules = re.findall(r"^(?:local)?rule (\w+):", plan, re.MULTILINE)
    files = {Path(f"workflow/scripts/images/{rule}.py").absolute() for rule in rules}
    return {file for file in files if file.is_file()}


def _check_current(config: Mapping[str, Any], run: Path, options: argparse.Namespace) -> None:
    """Raise an error if Snakemake would compute a finished block again."""
    finished = [
        str(scores)
        for name in _wanted(config, options.experiment)
        for scores in [_places(run, options.experiment, name)[0]]
        if scores.is_file()
    ]
    if finished and "Nothing to be done" not in _planned(config, options, *finished):
        raise BlockError(
            f"{run}: finished blocks do not belong to the present settings, images and code: "
            "Snakemake would compute them again, so they are not exported"
        )


def _places(run: Path, experiment: str, name: str) -> tuple[Path, Path]:
    return run / f"runs/{experiment}/main/{name}", run / f"timings/{experiment}/main/{name}"


def _compare(theirs: Mapping[str, Any], own: Mapping[str, Any], folder: Path) -> None:
    """Raise an error that names what differs."""
    differences = [
        f"{key}: {_short(there)} there, {_short(here)} here"
        for key, there, here in _flat(theirs, own)
        if there != here
    ]
    if differences:
        raise BlockError(
            f"{folder}: the blocks do not belong to this run:\n  " + "\n  ".join(differences)
        )


def _flat(theirs: Any, own: Any, key: str = "") -> list[tuple[str, Any, Any]]:
    if not (isinstance(theirs, Mapping) and isinstance(own, Mapping)):
        return [(key, theirs, own)]
    return [
        entry
        for name in sorted({*theirs, *own})
        for entry in _flat(theirs.get(name), own.get(name), f"{key}.{name}".removeprefix("."))
    ]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}..."


def main(arguments: Sequence[str] | None = None) -> int:
    """Export or import blocks from the command line; 1 if they do not fit."""
    parser = argparse.ArgumentParser(prog="python -m replication.blocks", description=__doc__)
    parser.add_argument("action", choices=["export", "import"])
    parser.add_argument("folder", type=Path, help="folder of the exported blocks")
    parser.add_argument("--configfile", nargs="+", default=[Path("config.yaml")], type=Path)
    parser.add_argument("--experiment", default="faces", choices=sorted(_IMAGES))
    parser.add_argument("--allow-subset", choices=["true", "false"], help="as in the run")
    options = parser.parse_args(arguments)
    try:
        config = load_config([Path("config.yaml"), *options.configfile])
        # Before Snakemake reads the files, which runs code that they may hold.
        check_config(config)
        run = Path("results", config["run"])
        scripts = _scripts(config, run, options)
        if options.action == "export":
            _check_current(config, run, options)
            exported = export_blocks(config, run, options.folder, options.experiment, scripts)
            print(f"{len(exported)} blocks exported to {options.folder}")
        else:
            imported, ignored = import_blocks(
                config, run, options.folder, options.experiment, scripts
            )
            print(f"{len(imported)} blocks imported, {len(ignored)} not asked for by this run")
    except (BlockError, ConfigError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
