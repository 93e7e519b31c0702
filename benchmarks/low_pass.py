"""Measure how much of SW is a low-pass filter of the pictures and write docs/low_pass.md.

Run, after ``make reproduce``: ``python benchmarks/low_pass.py results/paper faces``. What is
measured, and why, stands at the head of the page that it completes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from vhem_speed import ROOT, replace_section, table

from replication.datasets.manifest import groups_of, read_manifest
from replication.io import read_json
from replication.protocols.svm import FAMILIES, Grid, cross_validate
from replication.sharing import DATASET_OF
from sliced_wasserstein import squared_distances

EXPONENTS = (0, 1, 2, 3, 4)


def filtered_distances(densities: NDArray[np.float32], exponent: int) -> NDArray[np.float64]:
    """Squared distances with the weight ``|k|^-exponent``; zero padding keeps ends apart."""
    shape = tuple(2 * side for side in densities.shape[1:])
    radius = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1]))
    radius[0, 0] = np.inf  # all masses are equal
    weight = radius ** (-exponent / 2)
    # Real pictures: half of the plane, but its first and last column, stands for both halves.
    weight[:, 1:-1] *= np.sqrt(2)
    parts = []
    for density in densities:
        weighted = weight * np.fft.rfft2(density, s=shape) / np.sqrt(np.prod(shape))
        parts.append(np.stack([weighted.real, weighted.imag]).astype(np.float32).ravel())
    return squared_distances(np.stack(parts))


def accuracies(
    distance: NDArray[np.float64], labels: NDArray, groups: NDArray | None, config: dict, **protocol
) -> NDArray[np.float64]:
    """Accuracy of a Gaussian-kernel SVM on given squared distances, by the run's protocol."""
    svm = config["experiments"][protocol["experiment"]]["svm"]
    rows = cross_validate(
        lambda name, train: {FAMILIES["rbf"].matrix: distance}[name],
        labels,
        ["rbf"],
        Grid(svm["C"], svm["gamma"], svm["degree"]),
        n_folds=svm["folds"],
        n_inner_folds=svm["inner_folds"],
        groups=groups,
        seed=config["seed"],
        **protocol,
    )
    return np.array([row["value"] for row in rows if row["metric"] == "accuracy"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="results/<run>")
    parser.add_argument("experiment", choices=["faces", "textures"])
    parser.add_argument("--repeats", type=int, default=2, help="of the cross-validation")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "low_pass.md")
    arguments = parser.parse_args()
    run, experiment = arguments.run, arguments.experiment
    data = read_json(run / f"data/{DATASET_OF[experiment]}.json")
    manifest = read_manifest(run / f"data/{DATASET_OF[experiment]}.csv")
    config = read_json(run / "run.json")["config"]
    densities = np.load(run / f"features/{experiment}/main/densities.npy", mmap_mode="r")
    sw_distance = np.load(run / f"models/{experiment}/main/matrices.npz")["sw_distance"]
    pairs = np.triu_indices(len(densities), 1)

    def accuracy(distance: NDArray[np.float64]) -> str:
        labels = manifest["label"].to_numpy()
        protocol = {"repeats": range(arguments.repeats), "experiment": experiment}
        scores = accuracies(distance, labels, groups_of(manifest), config, **protocol)
        return f"{100 * scores.mean():.1f}"

    rows = []
    for exponent in EXPONENTS:
        distance = filtered_distances(densities, exponent)
        both = sw_distance[pairs], distance[pairs]
        linear, rank = pearsonr(*both).statistic, spearmanr(*both).statistic
        rows.append((str(exponent), f"{linear:.3f}", f"{rank:.3f}", accuracy(distance)))
        print(*rows[-1], flush=True)
    rows.append(("SW", "1.000", "1.000", accuracy(sw_distance)))
    spread = np.mean([density.std() / density.mean() for density in densities])
    section = "\n".join(
        [
            f"## SW as a filter: {experiment} ({data['origin']} data)",
            "",
            f"`python benchmarks/low_pass.py <run> {experiment} --repeats {arguments.repeats}`: "
            f"all pairs of {len(densities):,} densities of {densities.shape[1]} x "
            f"{densities.shape[2]} pixels. Standard deviation over mean of a density, averaged: "
            f"{spread:.2g} (0: uniform).",
            "",
            table(("p", "correlation with SW^2", "rank correlation", "accuracy, %"), rows),
            "",
        ]
    )
    print(section)
    mark = f"low pass {experiment}"
    replace_section(arguments.output, section, f"<!-- begin: {mark} -->", f"<!-- end: {mark} -->")


if __name__ == "__main__":
    main()
