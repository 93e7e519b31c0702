"""Measure how ``vhem`` grows with the number of HMMs and write it into docs/performance.md.

Run: ``python benchmarks/vhem_scale.py`` on an otherwise idle machine (about five minutes). Each row
is measured in a process of its own, whose peak memory is read. Times are processor times of one
thread, compilation apart. The promises that it checks, with an exit status of 1 if one is broken:

- VHEM reduces 100,000 HMMs to 50 within 2 GiB, in a time that is linear in their number: a base HMM
  costs at most twice as much among 100,000 as among 10,000;
- the kernel of 3,000 HMMs and their spectral clustering fit into 1 GiB.
"""

from __future__ import annotations

import argparse
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits
from vhem_speed import ROOT, replace_section, table

from vhem import H3M, VHEM, PPKSpectralClustering

BEGIN, END = "<!-- begin: vhem scale -->", "<!-- end: vhem scale -->"
N_CLUSTERS, N_STATES, N_MIX, N_FEATURES = 50, 3, 1, 4
BASE_SIZES = (1_000, 10_000, 100_000)
KERNEL_SIZES = (300, 1_000, 3_000)
MEBIBYTES = {"vhem": 2048, "ppk": 1024}


def noisy_mixture(n: int, n_prototypes: int) -> tuple[H3M, H3M]:
    """Return noisy copies of some HMMs, made array by array, and the originals."""
    rng = np.random.default_rng(0)
    shape = (n_prototypes, N_STATES, N_MIX)
    prototypes = H3M(
        np.full(n_prototypes, 1 / n_prototypes),
        np.full(shape[:2], 1 / N_STATES),
        rng.dirichlet(np.full(N_STATES, 3.0), size=shape[:2]),
        np.full(shape, 1 / N_MIX),
        3.0 * rng.normal(size=(*shape, N_FEATURES)),
        np.ones((*shape, N_FEATURES)),
    )
    owner = rng.integers(0, n_prototypes, n)
    means = prototypes.means[owner] + 0.3 * rng.normal(size=(n, *shape[1:], N_FEATURES))
    copies = H3M(
        np.full(n, 1 / n),
        prototypes.startprob[owner],
        prototypes.transmat[owner],
        prototypes.mixture_weights[owner],
        means,
        prototypes.covars[owner],
    )
    return copies, prototypes


def grow_vhem(n: int) -> Callable[[], object]:
    base, start = noisy_mixture(n, N_CLUSTERS)
    # Two E-steps with their statistics and one M-step.
    vhem = VHEM(N_CLUSTERS, init=start, tol=None, max_iter=1)
    vhem.fit(start)  # compiles or loads the compiled kernels
    return lambda: vhem.fit(base)


def grow_ppk(n: int) -> Callable[[], object]:
    base, start = noisy_mixture(n, 8)
    ppk = PPKSpectralClustering(8, random_state=0)
    ppk.fit(start)
    return lambda: ppk.fit(base)


GROWING = {"vhem": grow_vhem, "ppk": grow_ppk}


def measure(what: str, n: int) -> tuple[float, float]:
    """Processor seconds and peak memory (MiB), in a fresh process."""
    command = [sys.executable, __file__, "--measure", what, str(n)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, peak = map(float, output.split())
    return seconds, peak


def report(base_sizes: tuple[int, ...], kernel_sizes: tuple[int, ...]) -> tuple[str, list[str]]:
    """Return the section of docs/performance.md and the promises that are broken."""
    broken, tables = [], {}
    for what, sizes, unit in (
        ("vhem", base_sizes, "µs per base HMM"),
        ("ppk", kernel_sizes, "µs per pair"),
    ):
        rows, costs = [], {}
        for n in sizes:
            seconds, peak = measure(what, n)
            pieces = n if what == "vhem" else n * (n + 1) / 2
            costs[n] = 1e6 * seconds / pieces
            rows.append((f"{n:,}", f"{seconds:.2f}", f"{costs[n]:.2f}", f"{peak:,.0f}"))
            if peak > MEBIBYTES[what]:
                broken.append(f"{what}, {n:,} HMMs: {peak:,.0f} MiB > {MEBIBYTES[what]:,} MiB")
        if what == "vhem" and len(sizes) > 1 and costs[sizes[-1]] > 2 * costs[sizes[-2]]:
            broken.append(f"vhem: a base HMM costs {costs} µs, which is not linear")
        tables[what] = table(("HMMs", "s", unit, "peak memory, MiB"), rows)
    section = "\n\n".join(
        [
            "## `vhem` with many HMMs",
            "Written by `python benchmarks/vhem_scale.py` on synthetic models; processor time of "
            "one thread, "
            "compilation apart, each row in a process of its own, "
            f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}.",
            f"`VHEM` to {N_CLUSTERS} clusters, S = {N_STATES}, M = {N_MIX}, d = {N_FEATURES}, "
            "τ = 10; two E-steps with their statistics and an M-step:",
            tables["vhem"],
            "`PPKSpectralClustering` to 8 clusters, the same HMMs; kernel, eigenvectors and "
            "k-means:",
            tables["ppk"],
        ]
    )
    return section, broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", nargs=2, help="measure one method with so many HMMs and print")
    parser.add_argument("--small", action="store_true", help="small sizes, nothing is written")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "performance.md")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if arguments.measure:
            what, n = arguments.measure
            work = GROWING[what](int(n))
            begun = time.process_time()
            work()
            seconds = time.process_time() - begun
            print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            return
    sizes = (BASE_SIZES[:2], KERNEL_SIZES[:2]) if arguments.small else (BASE_SIZES, KERNEL_SIZES)
    section, broken = report(*sizes)
    print(section)
    if not arguments.small:
        replace_section(arguments.output, section, BEGIN, END)
    if broken:
        raise SystemExit("\n".join(broken))


if __name__ == "__main__":
    main()
