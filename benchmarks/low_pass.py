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

from replication.io import read_json
from replication.sharing import DATASET_OF
from sliced_wasserstein import squared_distances

N_SAMPLES, SEED = 400, 2016
EXPONENTS = (0, 1, 2, 3, 4)


def filtered_distances(densities: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Squared distances with the weight ``|k|^-exponent``; zero padding keeps ends apart."""
    shape = tuple(2 * side for side in densities.shape[1:])
    spectrum = np.fft.fft2(densities, s=shape)
    radius = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.fftfreq(shape[1]))
    radius[0, 0] = np.inf  # all masses are equal
    weighted = (spectrum / radius ** (exponent / 2)).reshape(len(densities), -1)
    return squared_distances(np.hstack([weighted.real, weighted.imag]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="results/<run>")
    parser.add_argument("experiment", choices=["faces", "textures"])
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "low_pass.md")
    arguments = parser.parse_args()
    run, experiment = arguments.run, arguments.experiment
    data = read_json(run / f"data/{DATASET_OF[experiment]}.json")
    densities = np.load(run / f"features/{experiment}/main/densities.npy", mmap_mode="r")
    squared = np.load(run / f"models/{experiment}/main/matrices.npz")["sw_distance"]
    rng = np.random.default_rng(SEED)
    sample = np.sort(rng.choice(len(densities), min(N_SAMPLES, len(densities)), replace=False))
    chosen = np.asarray(densities[sample], dtype=np.float64)
    pairs = np.triu_indices(len(sample), 1)
    sw = squared[np.ix_(sample, sample)][pairs]
    rows = []
    for exponent in EXPONENTS:
        other = filtered_distances(chosen, exponent)[pairs]
        linear, rank = pearsonr(sw, other).statistic, spearmanr(sw, other).statistic
        rows.append((str(exponent), f"{linear:.3f}", f"{rank:.3f}"))
    spread = (chosen.std(axis=(1, 2)) / chosen.mean(axis=(1, 2))).mean()
    section = "\n".join(
        [
            f"## SW as a filter: {experiment} ({data['origin']} data)",
            "",
            f"`python benchmarks/low_pass.py <run> {experiment}`: all pairs of {len(sample)} "
            f"densities of {densities.shape[1]} x {densities.shape[2]} pixels. Standard deviation "
            f"over mean of a density, averaged: {spread:.2g} (0: uniform).",
            "",
            table(("p", "correlation with SW^2", "rank correlation"), rows),
            "",
        ]
    )
    print(section)
    mark = f"low pass {experiment}"
    replace_section(arguments.output, section, f"<!-- begin: {mark} -->", f"<!-- end: {mark} -->")


if __name__ == "__main__":
    main()
