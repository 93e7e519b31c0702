"""Measure how well inverted HOG features resemble the photographs, and how long they take.

For the LHI animal faces, found through the environment variable REPLICATION_ARCHIVES, prints for
each dictionary the correlation of the inverse with the grey image, class by class, and the seconds
a face. Run from the repository:

    REPLICATION_ARCHIVES=<folder> python benchmarks/hoggles_quality.py --atoms 32 128
    REPLICATION_ARCHIVES=<folder> python benchmarks/hoggles_quality.py results/.../dictionary.npz

Photographs are unpacked into a temporary folder only; no picture is written.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from replication.data.sources import prepare
from replication.images.animal_faces import load_faces
from replication.images.hoggles.dictionary import (
    PairedDictionary,
    learn_dictionary,
    read_pd_mat,
    sample_photographs,
)
from replication.images.hoggles.inversion import hoggles


def some_faces(per_class: int, side: int) -> tuple[list[str], np.ndarray]:
    """Labels and images of the first faces of every class."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw"
        prepared = prepare(
            "animal_faces",
            source="archives",
            raw=raw,
            archives=os.environ["REPLICATION_ARCHIVES"],
            allow_subset=True,
        )
        chosen = prepared.manifest.groupby("label").head(per_class)
        return list(chosen["label"]), load_faces([raw / file for file in chosen["file"]], side)


def read(path: Path) -> PairedDictionary:
    return read_pd_mat(path) if path.suffix == ".mat" else PairedDictionary.load(path)


def correlations(faces: np.ndarray, inverses: np.ndarray) -> list[float]:
    grey = faces @ np.array([0.299, 0.587, 0.114])
    return [
        float(np.corrcoef(one.ravel(), two.ravel())[0, 1])
        for one, two in zip(grey, inverses, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dictionaries", nargs="*", type=Path, help="dictionaries to compare")
    parser.add_argument("--atoms", nargs="*", type=int, default=[], help="sizes to learn")
    parser.add_argument("--steps", type=int, default=100, help="minibatches of learning")
    parser.add_argument("--per-class", type=int, default=5)
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()

    pairs = {path.name: read(path) for path in arguments.dictionaries}
    for n_atoms in arguments.atoms:
        start = time.process_time()
        pairs[f"K={n_atoms}"] = learn_dictionary(
            sample_photographs(), n_atoms, n_steps=arguments.steps
        )
        print(f"K={n_atoms}: {time.process_time() - start:.0f} s of processor time to learn")
    labels, faces = some_faces(arguments.per_class, arguments.side)
    columns = {}
    for name, pair in pairs.items():
        wall, processor = time.perf_counter(), time.process_time()
        inverses = hoggles(faces, pair, n_jobs=arguments.jobs)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        columns[name] = correlations(faces, inverses)
        # With more jobs the processor time is spent in processes that this one does not see.
        spent = f", {processor / len(faces):.2f} s of processor time" if arguments.jobs == 1 else ""
        print(f"{name}: {wall / len(faces):.2f} s a face with {arguments.jobs} jobs{spent}")
    table = pd.DataFrame(columns).groupby(pd.Series(labels, name="class")).mean()
    table.loc["mean of classes"] = table.mean()
    print(table.round(3).to_string())


if __name__ == "__main__":
    main()
