"""Measure how much of SW is a low-pass filter of the pictures and write docs/low_pass.md.

Run, after ``make reproduce``: ``python benchmarks/low_pass.py results/paper faces``. What is
measured, and why, stands at the head of the page that it completes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from vhem_speed import ROOT, replace_section, table

from replication.data.manifest import groups_of, read_manifest
from replication.images.svm import FAMILIES, Grid, cross_validate
from replication.io import read_json, read_metrics
from replication.registry import EXPERIMENTS
from replication.report.statistics import corrected_resampled_t
from sliced_wasserstein import squared_distances

IMAGES = {"faces": "features/faces/main/images.csv", "textures": "data/uiuc_texture.csv"}
EXPONENTS = (0, 1, 2, 3, 4)
HEADER = (
    *("p", "correlation with SW^2", "rank correlation"),
    *("accuracy, %", "less that of the Euclidean RBF kernel, points"),
)


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


def against(found: pd.Series, euclidean: pd.Series) -> tuple[str, str]:
    """Mean accuracy, and its difference from the Euclidean kernel's on the same folds."""
    difference = 100 * (found - euclidean)
    n_folds = difference.index.get_level_values("fold").nunique()
    value, low, high = corrected_resampled_t(difference, test_share=1 / n_folds)
    interval = "" if low == high else f" [{low:+.1f}, {high:+.1f}]"
    return f"{100 * found.mean():.1f}", f"{value:+.1f}{interval}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="results/<run>")
    parser.add_argument("experiment", choices=["faces", "textures"])
    parser.add_argument("--repeats", type=int, default=2, help="of the cross-validation")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "low_pass.md")
    arguments = parser.parse_args()
    run, experiment = arguments.run, arguments.experiment
    data = read_json(run / f"data/{EXPERIMENTS[experiment].dataset}.json")
    images = read_manifest(run / IMAGES[experiment])
    config = read_json(run / "run.json")["config"]
    svm = config["experiments"][experiment]["svm"]
    scores = read_metrics([run / f"metrics/{experiment}_svm.csv"])
    densities = np.load(run / f"features/{experiment}/main/densities.npy", mmap_mode="r")
    sw_distance = np.load(run / f"models/{experiment}/main/matrices.npz")["sw_distance"]
    pairs = np.triu_indices(len(densities), 1)

    def accuracy(distance: NDArray[np.float64]) -> pd.Series:
        rows = cross_validate(
            lambda name, train: {FAMILIES["rbf"].matrix: distance}[name],
            images["label"].to_numpy(),
            ["rbf"],
            Grid(**{key: svm[key] for key in Grid._fields}),
            repeats=range(arguments.repeats),
            n_folds=svm["folds"],
            n_inner_folds=svm["inner_folds"],
            groups=groups_of(images),
            seed=config["seed"],
            experiment=experiment,
        )
        table = pd.DataFrame(rows)
        table = table[table["metric"] == "accuracy"]
        return table.set_index(["repeat", "fold"])["value"]

    def in_the_run(method: str) -> pd.Series:
        rows = scores[(scores["metric"] == "accuracy") & (scores["variant"] == "")]
        rows = rows[(rows["method"] == method) & (rows["repeat"] < arguments.repeats)]
        return rows.set_index(["repeat", "fold"])["value"]

    rows = []
    euclidean, sw = in_the_run("rbf"), in_the_run("sw_gaussian")
    for exponent in EXPONENTS:
        distance = filtered_distances(densities, exponent)
        both = sw_distance[pairs], distance[pairs]
        linear, rank = pearsonr(*both).statistic, spearmanr(*both).statistic
        found = accuracy(distance)
        if exponent == 0 and abs(found - euclidean).max() > 0.02:
            raise SystemExit(f"p = 0 is not the run's RBF kernel: {found - euclidean}")
        rows.append((str(exponent), f"{linear:.3f}", f"{rank:.3f}", *against(found, euclidean)))
        print(*rows[-1], flush=True)
    rows.append(("SW", "1.000", "1.000", *against(sw, euclidean)))
    spread = np.mean([density.std() / density.mean() for density in densities])
    section = "\n".join(
        [
            f"## SW as a filter: {experiment} ({data['origin']} data)",
            "",
            f"`python benchmarks/low_pass.py <run> {experiment} --repeats {arguments.repeats}`: "
            f"all pairs of {len(densities):,} densities of {densities.shape[1]} x "
            f"{densities.shape[2]} pixels. Standard deviation over mean of a density, averaged: "
            f"{spread:.2g} (0: uniform). Accuracy: {arguments.repeats} repetitions of "
            f"{svm['folds']} folds; in brackets 95 % of the corrected resampled t.",
            "",
            table(HEADER, rows),
            "",
        ]
    )
    print(section)
    mark = f"low pass {experiment}"
    replace_section(arguments.output, section, f"<!-- begin: {mark} -->", f"<!-- end: {mark} -->")


if __name__ == "__main__":
    main()
