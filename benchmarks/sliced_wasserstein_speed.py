"""Measure the speed and the memory of the sliced Wasserstein embedding.

Needs no data: the densities are co-occurrence matrices of random smooth textures. Writes only its
own section of the document; takes a few minutes on two cores that have nothing else to do.

    python benchmarks/sliced_wasserstein_speed.py --output docs/performance.md
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from sliced_wasserstein import SlicedWassersteinEmbedding, squared_distances

BEGIN, END = "<!-- begin: sliced_wasserstein -->", "<!-- end: sliced_wasserstein -->"
THREADS = min(2, os.cpu_count() or 1)
SMALL = {"n_angles": 20, "n_quantiles": 32}


def cooccurrences(n: int, levels: int, seed: int = 0) -> NDArray[np.float64]:
    """Co-occurrence matrices of smooth random textures of about 300,000 pixels."""
    rng = np.random.default_rng(seed)
    matrices = np.zeros((n, levels, levels))
    field = rng.standard_normal((480, 640))
    for matrix in matrices:
        texture = gaussian_filter(field, rng.uniform(0.5, 3.0), mode="wrap")
        texture = rng.uniform(0.2, 0.8) + rng.uniform(0.05, 0.2) * texture / texture.std()
        grey = (np.clip(texture, 0, 1 - 1e-9) * levels).astype(np.int64)
        for axis in (0, 1):
            pairs = grey * levels + np.roll(grey, 1, axis=axis)
            matrix += np.bincount(pairs.ravel(), minlength=levels**2).reshape(levels, levels)
        matrix += matrix.T.copy()
        matrix /= matrix.sum()
    return matrices


def best_of(repeats: int, call: Callable[[], object]) -> tuple[float, float]:
    """Least wall-clock and least processor seconds of some calls."""
    wall, cpu = [], []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        call()
        wall.append(time.perf_counter() - start[0])
        cpu.append(time.process_time() - start[1])
    return min(wall), min(cpu)


def pot_seconds_per_pair(matrices: NDArray[np.float64], n_pairs: int) -> float:
    """Median processor seconds of POT for one pair at the same angles, on the support only."""
    import ot

    angles = (np.arange(60) + 0.5) * np.pi / 60
    projections = np.stack([np.cos(angles), np.sin(angles)])
    clouds = []
    for matrix in matrices[: n_pairs + 1]:
        rows, cols = np.nonzero(matrix)
        clouds.append((np.column_stack([cols, rows]).astype(float), matrix[rows, cols]))
    seconds = []
    for (x, a), (y, b) in itertools.pairwise(clouds):
        start = time.process_time()
        ot.sliced_wasserstein_distance(x, y, a, b, projections=projections)
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def chunks(n: int) -> Iterator[NDArray[np.float32]]:
    """Random 64 x 64 densities, 500 at a time."""
    rng = np.random.default_rng(0)
    for start in range(0, n, 500):
        yield rng.random((min(500, n - start), 64, 64), dtype=np.float32)


def stream(n: int, folder: Path) -> None:
    """Embed n images into a memory map and print seconds and peak memory (in a fresh process)."""
    import resource

    embedding = SlicedWassersteinEmbedding(**SMALL, n_jobs=THREADS).fit(chunks(500))
    shape = (n, SMALL["n_angles"] * SMALL["n_quantiles"])
    out = np.lib.format.open_memmap(folder / "z.npy", "w+", np.float32, shape)
    start = time.perf_counter(), time.process_time()
    embedding.transform(chunks(n), out=out)
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    out.flush()
    # The pages of the map itself belong to the file and can be dropped at any time.
    status = Path("/proc/self/status").read_text()
    anonymous = int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{wall} {cpu} {anonymous} {peak}")


def streamed(n: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--stream", str(n), "--folder", folder]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(value) for value in result.stdout.split()]


def section() -> str:
    """Measure and return the section."""
    few = cooccurrences(8, 64)
    SlicedWassersteinEmbedding().fit_transform(few)  # compiles
    matrices = cooccurrences(1000, 64)
    dense = np.random.default_rng(0).random((1000, 64, 64))
    lines = [
        BEGIN,
        "## sliced_wasserstein",
        "",
        "Written by `python benchmarks/sliced_wasserstein_speed.py --output docs/performance.md`.",
        "Data: synthetic (co-occurrence matrices of random smooth textures, "
        f"{np.mean(matrices > 0):.0%} of the entries not zero; uniform random images).",
        f"{platform.machine()}, {os.cpu_count()} cores, numpy {np.__version__}. Compilation apart; "
        "least of three runs. Processor seconds are summed over threads and do not suffer from "
        "other programs.",
        "",
        "### From 1,000 densities of 64 x 64 to their distance matrix",
        "",
        "Default settings (60 angles, 128 quantiles, box footprint), result 1,000 x 1,000 float64.",
        "",
        "| data | threads | wall s | processor s |",
        "|---|---|---|---|",
    ]
    processor = {}
    for name, images in (("co-occurrence", matrices), ("dense", dense)):
        for n_jobs in dict.fromkeys((1, THREADS)):
            embedding = SlicedWassersteinEmbedding(n_jobs=n_jobs)
            wall, cpu = best_of(
                3, lambda e=embedding, x=images: squared_distances(e.fit_transform(x))
            )
            processor.setdefault(name, cpu)
            lines.append(f"| {name} | {n_jobs} | {wall:.2f} | {cpu:.2f} |")
    pot = pot_seconds_per_pair(matrices, 20)
    ratio = pot * 499_500 / processor["co-occurrence"]
    lines += [
        "",
        f"POT takes {1e3 * pot:.1f} ms of processor time for one pair at the same 60 angles, given "
        f"only the pixels that are not zero (median of 20 pairs), hence {pot * 499_500:,.0f} s for "
        f"all 499,500 pairs: {ratio:,.0f} times as much.",
        "",
        "### Larger images",
        "",
        "| image | threads | wall ms per image | processor ms per image |",
        "|---|---|---|---|",
    ]
    for levels, n in ((64, 256), (128, 256), (256, 256)):
        images = cooccurrences(n, levels)
        fill = np.mean(images > 0)
        for n_jobs in dict.fromkeys((1, THREADS)):
            embedding = SlicedWassersteinEmbedding(n_jobs=n_jobs).fit(images[:2])
            wall, cpu = best_of(3, lambda e=embedding, x=images: e.transform(x))
            lines.append(
                f"| co-occurrence {levels} x {levels}, {fill:.0%} filled | {n_jobs} "
                f"| {1e3 * wall / n:.2f} | {1e3 * cpu / n:.2f} |"
            )
    lines += [
        "",
        "### Many images, streamed into a memory map",
        "",
        f"64 x 64 images in chunks of 500, {SMALL['n_angles']} angles, {SMALL['n_quantiles']} "
        f"quantiles, {THREADS} threads. Times include making the random images. Memory: what the "
        "process itself holds at the end; the peak also counts the pages of the map.",
        "",
        "| images | wall s | processor s | own memory MB | peak MB |",
        "|---|---|---|---|---|",
    ]
    for n in (1_000, 10_000, 100_000):
        wall, cpu, anonymous, peak = streamed(n)
        lines.append(f"| {n:,} | {wall:.1f} | {cpu:.1f} | {anonymous:.0f} | {peak:.0f} |")
    return "\n".join([*lines, "", END])


def write_section(path: Path, text: str) -> None:
    """Replace the marked section of the document, or append it."""
    document = path.read_text(encoding="utf-8") if path.exists() else "# Performance\n"
    marked = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if marked.search(document):
        document = marked.sub(lambda _: text, document)
    else:
        document = f"{document.rstrip()}\n\n{text}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--stream", type=int, help="used by the command itself")
    parser.add_argument("--folder", type=Path, help="used by the command itself")
    arguments = parser.parse_args()
    if arguments.stream:
        stream(arguments.stream, arguments.folder)
    elif arguments.output:
        write_section(arguments.output, section())
    else:
        parser.error("name the document: --output")


if __name__ == "__main__":
    main()
