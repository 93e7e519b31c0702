"""Measure the speed and memory of ``vhem`` and write them into docs/performance.md.

Run: ``python benchmarks/vhem_speed.py`` on an otherwise idle machine (about five minutes).
Times are processor times of one thread, compilation apart, the smallest of several runs: other
work on the machine disturbs them little. The comparisons:

- EM: one iteration of an HMM against hmmlearn's GMMHMM on the same data and start;
- VHEM: one full iteration against the plain NumPy version that the tests use as an oracle;
- growth with the number of base HMMs, in a process of its own whose peak memory is read.
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

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "vhem"))

import vhem_oracle as oracle  # noqa: E402
from vhem_examples import noisy_copies, random_h3m, random_hmm  # noqa: E402

from vhem import EMH3M, H3M, VHEM  # noqa: E402

BEGIN, END = "<!-- begin: vhem -->", "<!-- end: vhem -->"


def smallest(function: Callable[[], object], runs: int) -> float:
    """Smallest processor time of several runs, after one that compiles and warms up."""
    function()
    times = []
    for _ in range(runs):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def per_iteration(fit: Callable[[int], object], runs: int, more: int = 4) -> float:
    """Seconds per EM iteration: what ``more`` extra iterations add, set-up apart."""
    return (smallest(lambda: fit(1 + more), runs) - smallest(lambda: fit(1), runs)) / more


def em_rows() -> list[tuple[str, ...]]:
    rng = np.random.default_rng(0)
    start = random_hmm(rng, 5, 8, 39)
    sequences = list(start.sample(80, 125, random_state=0)[0])
    frames, lengths = np.concatenate(sequences), [125] * 80

    def hmmlearn_fit(n_iter: int) -> None:
        model = start.to_hmmlearn()
        model.set_params(n_iter=n_iter, init_params="", tol=-np.inf)
        model.fit(frames, lengths)

    reference = per_iteration(hmmlearn_fit, runs=2, more=3)
    rows = [("hmmlearn GMMHMM", f"{1e3 * reference:.0f}", "1")]
    for dtype in (np.float64, np.float32):

        def fit(n_iter: int, dtype: type = dtype) -> None:
            EMH3M(1, 5, 8, tol=None, max_iter=n_iter, dtype=dtype).fit(
                sequences, init=H3M.from_hmms([start])
            )

        seconds = per_iteration(fit, runs=3)
        name = f"`EMH3M`, {np.dtype(dtype).name}"
        rows.append((name, f"{1e3 * seconds:.1f}", f"{reference / seconds:.0f}"))
    return rows


def vhem_rows() -> list[tuple[str, ...]]:
    rows = []
    rng = np.random.default_rng(0)
    # The oracle takes a second or two a run at 125 steps: once for the size that is promised.
    for n_base, n_reduced, S, M, d, lengths in (
        (360, 3, 5, 8, 39, (10,)),
        (480, 3, 5, 8, 39, (10, 125)),
        (56, 8, 4, 2, 93, (10,)),
    ):
        start = random_h3m(rng, n_reduced, S, M, d)
        base, _ = noisy_copies(rng, list(start), n_base // n_reduced, noise=0.3)
        for tau in lengths:
            for kind, samples in (("hard", 1e4 * n_base), ("soft", 1e-3)):
                e = oracle.e_step(base, start, samples, tau)
                runs = 3 if tau == 10 else 1
                e_seconds = smallest(
                    lambda s=samples, t=tau, b=base, r=start: oracle.e_step(b, r, s, t), runs
                )
                m_seconds = smallest(lambda b=base, r=start, e=e: oracle.m_step(b, r, e), runs)

                def fit(
                    n_iter: int,
                    samples: float = samples,
                    tau: int = tau,
                    base: H3M = base,
                    start: H3M = start,
                ) -> None:
                    VHEM(
                        len(start),
                        virtual_samples=samples,
                        virtual_length=tau,
                        init=start,
                        tol=None,
                        max_iter=n_iter,
                    ).fit(base)

                seconds = per_iteration(fit, runs=3)
                both = e_seconds + m_seconds
                rows.append(
                    (
                        f"{n_base} → {n_reduced}",
                        f"{S}, {M}, {d}",
                        str(tau),
                        kind,
                        f"{1e3 * e_seconds:.0f} + {1e3 * m_seconds:.0f}",
                        f"{1e3 * seconds:.1f}",
                        f"{both / seconds:.1f}",
                    )
                )
    return rows


def grow(n_base: int) -> None:
    """Print seconds per E-step and peak memory (MiB) of a large reduction."""
    rng = np.random.default_rng(0)
    start = random_h3m(rng, 50, 5, 2, 13, spread=3.0)
    owner = rng.integers(0, 50, n_base)
    means = start.means[owner]
    means += 0.3 * rng.standard_normal(means.shape)
    base = H3M(
        np.full(n_base, 1.0 / n_base),
        start.startprob[owner],
        start.transmat[owner],
        start.mixture_weights[owner],
        means,
        start.covars[owner],
    )
    del means

    # One E-step with its statistics; an M-step adds milliseconds.
    vhem = VHEM(50, init=start, tol=None, max_iter=0)
    vhem.fit(start)  # compiles or loads the compiled kernels
    begin = time.process_time()
    vhem.fit(base)
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(seconds, peak)


def growth_rows() -> list[tuple[str, ...]]:
    rows = []
    for n_base in (1_000, 10_000, 100_000):
        command = [sys.executable, __file__, "--grow", str(n_base)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds, peak = map(float, output.split())
        rows.append(
            (f"{n_base:,}", f"{seconds:.2f}", f"{1e6 * seconds / n_base:.0f}", f"{peak:,.0f}")
        )
    return rows


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def report() -> str:
    return "\n\n".join(
        [
            "## `vhem`",
            "Written by `python benchmarks/vhem_speed.py` on synthetic models; processor time of "
            "one thread, "
            "compilation apart, "
            f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}.",
            "One EM iteration of one HMM on 80 sequences of 125 frames, d = 39, 5 states, "
            "8 Gaussians each:",
            table(("program", "ms", "times as fast"), em_rows()),
            "One VHEM iteration (E-step and M-step) against the NumPy oracle of the tests, E + M. "
            "Hard: N = 10⁴ per base HMM; soft: all assignments positive.",
            table(
                ("models", "S, M, d", "τ", "assignments", "oracle ms", "ms", "times as fast"),
                vhem_rows(),
            ),
            "Growth with the number of base HMMs, 50 clusters, S = 5, M = 2, d = 13, τ = 10:",
            table(
                ("base HMMs", "s per E-step", "µs per base HMM", "peak memory, MiB"),
                growth_rows(),
            ),
        ]
    )


def replace_section(path: Path, section: str, begin: str = BEGIN, end: str = END) -> None:
    """Put the section between its marks, or at the end of the file."""
    text = path.read_text(encoding="utf-8") if path.exists() else "# Performance\n"
    block = f"{begin}\n{section}\n{end}"
    if begin in text:
        before, rest = text.split(begin, 1)
        text = before + block + rest.split(end, 1)[1]
    else:
        text = text.rstrip("\n") + f"\n\n{block}\n"
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grow", type=int, help="measure only this many base HMMs and print")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "performance.md")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if arguments.grow:
            grow(arguments.grow)
            return
        section = report()
    print(section)
    replace_section(arguments.output, section)


if __name__ == "__main__":
    main()
