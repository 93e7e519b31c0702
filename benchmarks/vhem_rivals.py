"""Measure VHEM and its rivals on one set of 56 HMMs and write a table into docs/performance.md.

Needs no data: eight classes of synthetic sequences in 93 dimensions, with the class sizes of the
motion experiment. Classes differ in posture (means), or only in the order of postures
(transitions). Level 1 is one HMM (S = 4, M = 2) and one dynamic texture (n = 7) a sequence; every
method makes 8 clusters of them from the same number of starts. Times are seconds of the processor,
one thread, compiled code warmed up. Takes some minutes.

    python benchmarks/vhem_rivals.py --output docs/performance.md
"""

from __future__ import annotations

import argparse
import platform
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, rand_score
from threadpoolctl import threadpool_limits

from vhem import (
    EMH3M,
    H3M,
    HEMDTM,
    HEMGMM,
    HMM,
    SHEM,
    VHEM,
    DynamicTexture,
    ParameterKMeans,
    PPKSpectralClustering,
    SampledKLClustering,
    fit_dynamic_texture,
    probability_product_kernel,
)

BEGIN, END = "<!-- begin: vhem_rivals -->", "<!-- end: vhem_rivals -->"
CLASS_SIZES = (9, 4, 11, 9, 4, 6, 7, 6)
N_STATES, N_MIX, N_FEATURES, N_POSTURE = 4, 2, 93, 6
N_CLUSTERS, N_STARTS = 8, 3
FRAMES = 200

Integers = NDArray[np.int64]


def class_models(rng: np.random.Generator) -> list[HMM]:
    """Eight HMMs; numbers 2k and 2k + 1 share their postures and differ in their order."""
    models = []
    subspace = rng.standard_normal((N_POSTURE, N_FEATURES)) / np.sqrt(N_POSTURE)
    forwards = 0.85 * np.eye(N_STATES) + 0.15 * np.roll(np.eye(N_STATES), 1, axis=1)
    for _ in range(len(CLASS_SIZES) // 2):
        postures = rng.standard_normal((N_STATES, 1, N_POSTURE))
        postures = postures + 0.3 * rng.standard_normal((N_STATES, N_MIX, N_POSTURE))
        for transmat in (forwards, forwards.T):
            models.append(
                HMM(
                    np.full(N_STATES, 1 / N_STATES),
                    transmat,
                    np.full((N_STATES, N_MIX), 1 / N_MIX),
                    postures @ subspace,
                    np.full((N_STATES, N_MIX, N_FEATURES), 0.1),
                )
            )
    return models


def sequences_of(models: list[HMM], rng: np.random.Generator) -> tuple[list[Any], Integers]:
    """One sequence for each member of each class, from a jittered copy of the class's model."""
    labels = np.repeat(np.arange(len(models)), CLASS_SIZES)
    sequences = []
    for label in labels:
        model = models[label]
        # A person's own way of moving: an offset of all postures, and of each.
        means = model.means + 0.25 * rng.standard_normal(N_FEATURES)
        means = means + 0.15 * rng.standard_normal(means.shape)
        own = HMM(model.startprob, model.transmat, model.weights, means, model.covars)
        sequences.append(own.sample(1, FRAMES, rng)[0][0])
    return sequences, labels


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of one call and the processor seconds it took."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def warm_up(estimator: Any, arguments: tuple[Any, ...]) -> None:
    """Fit a copy as briefly as it can be done, so that everything is compiled."""
    brief = clone(estimator).set_params(n_init=1)
    if "max_iter" in brief.get_params():
        brief.set_params(max_iter=1)
    brief.fit(*arguments)


def bag_labels(hem: HEMGMM, h3m: H3M) -> Integers:
    """Component that most of an HMM's Gaussians, weighted, are assigned to."""
    shares = hem.responsibilities_.reshape(len(h3m), -1, N_CLUSTERS)
    weights = h3m.mixture_weights.reshape(len(h3m), -1, 1)
    return (shares * weights).sum(axis=1).argmax(axis=1)


def rival_rows(seed: int) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    sequences, labels = sequences_of(class_models(rng), rng)

    def hmms() -> H3M:
        fit = EMH3M(1, N_STATES, N_MIX, n_init=2, covariance_floor=1e-3, random_state=seed)
        return H3M.from_hmms([fit.fit([sequence]).model_[0] for sequence in sequences])

    def textures() -> list[DynamicTexture]:
        return [fit_dynamic_texture(sequence, 7, covariance_floor=1e-3) for sequence in sequences]

    EMH3M(1, N_STATES, N_MIX, n_init=1, max_iter=1).fit(sequences[:1])  # compiles
    base, hmm_seconds = timed(hmms)
    systems, texture_seconds = timed(textures)
    shared = {"n_init": N_STARTS, "random_state": seed}
    bag_weights = (base.weights[:, None, None] * base.mixture_weights).ravel() / N_STATES
    bag = bag_weights, base.means.reshape(-1, N_FEATURES), base.covars.reshape(-1, N_FEATURES)
    per_hmm = len(base)
    methods: list[tuple[str, Any, tuple[Any, ...], float]] = [
        ("VHEM", VHEM(N_CLUSTERS, **shared), (base,), hmm_seconds),
        ("PPK-SC, nearest HMM", PPKSpectralClustering(N_CLUSTERS, **shared), (base,), hmm_seconds),
        (
            "PPK-SC, root τ d, nearest HMM",
            PPKSpectralClustering(N_CLUSTERS, root=10 * N_FEATURES, **shared),
            (base,),
            hmm_seconds,
        ),
        (
            "PPK-SC, root τ d, VHEM centres",
            PPKSpectralClustering(N_CLUSTERS, root=10 * N_FEATURES, centers="vhem", **shared),
            (base,),
            hmm_seconds,
        ),
        ("SHEM, 10 an HMM", SHEM(N_CLUSTERS, 10 * per_hmm, **shared), (base,), hmm_seconds),
        ("SHEM, 50 an HMM", SHEM(N_CLUSTERS, 50 * per_hmm, **shared), (base,), hmm_seconds),
        (
            "EM on the sequences",
            EMH3M(N_CLUSTERS, N_STATES, N_MIX, covariance_floor=1e-3, **shared),
            (sequences,),
            0.0,
        ),
        (
            "HEM-DTM",
            HEMDTM(N_CLUSTERS, covariance_floor=1e-3, **shared),
            (systems,),
            texture_seconds,
        ),
        ("HEM-GMM (bag of Gaussians)", HEMGMM(N_CLUSTERS, **shared), bag, hmm_seconds),
        ("k-means on parameters", ParameterKMeans(N_CLUSTERS, **shared), (base,), hmm_seconds),
        (
            "sampled KL, spectral",
            SampledKLClustering(N_CLUSTERS, **shared),
            (base,),
            hmm_seconds,
        ),
    ]
    rows = []
    for name, estimator, arguments, level_1 in methods:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warm_up(estimator, arguments)
            fitted, seconds = timed(lambda e=estimator, a=arguments: e.fit(*a))
        found = bag_labels(fitted, base) if isinstance(fitted, HEMGMM) else fitted.labels_
        stages = getattr(fitted, "timings_", {"em": seconds})
        total = sum(stages.values())
        # The stages were timed by the clock; here they share out the processor's seconds.
        shares = ", ".join(f"{key} {seconds * value / total:.2f}" for key, value in stages.items())
        rows.append(
            (
                name,
                f"{level_1:.2f}",
                f"{seconds:.2f}",
                shares,
                str(getattr(fitted, "n_iter_", "")),
                ("yes" if fitted.converged_ else "no") + (" (warned)" if caught else ""),
                f"{rand_score(labels, found):.3f}",
                f"{adjusted_rand_score(labels, found):.3f}",
            )
        )
        print(" | ".join(rows[-1]), flush=True)
    return rows


def growth_rows() -> list[tuple[str, ...]]:
    """Cost of one VHEM iteration and of the kernel matrix as the number of HMMs grows."""
    rng = np.random.default_rng(0)
    models = class_models(rng)
    rows = []
    for n_models in (56, 112, 224, 448):
        base = H3M.from_hmms([models[i % len(models)] for i in range(n_models)])
        start = H3M.from_hmms(models)

        def vhem(max_iter: int, base: H3M = base, start: H3M = start) -> float:
            estimator = VHEM(N_CLUSTERS, init=start, tol=None, max_iter=max_iter)
            return min(timed(lambda: estimator.fit(base))[1] for _ in range(3))

        iteration = (vhem(12) - vhem(2)) / 10
        kernel = min(
            timed(lambda base=base: probability_product_kernel(base, log=True))[1] for _ in range(2)
        )
        rows.append(
            (
                str(n_models),
                f"{1e3 * iteration:.1f}",
                f"{1e6 * iteration / n_models:.0f}",
                f"{1e3 * kernel:.0f}",
                f"{1e6 * kernel / n_models:.0f}",
            )
        )
        print(" | ".join(rows[-1]), flush=True)
    return rows


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def report(seed: int) -> str:
    columns = ("method", "level 1", "fit", "stages", "iterations", "converged", "Rand", "ARI")
    growth = ("HMMs", "VHEM iteration, ms", "µs per HMM", "kernel matrix, ms", "µs per HMM")
    return "\n\n".join(
        [
            BEGIN,
            "## VHEM and its rivals on synthetic data",
            "Written by `python benchmarks/vhem_rivals.py --output docs/performance.md`; seconds "
            f"of the processor, one thread, Python {platform.python_version()}, NumPy "
            f"{np.__version__}, {platform.machine()}. {sum(CLASS_SIZES)} sequences of {FRAMES} "
            f"frames in {N_FEATURES} dimensions from 8 classes into 8 clusters, S = {N_STATES}, "
            f"M = {N_MIX}, τ = 10, {N_STARTS} starts each. The data are made by this script: the "
            "Rand indices show that the methods work, not which one is better on real data.",
            table(columns, rival_rows(seed)),
            "The same classes repeated, 8 clusters: the cost of an HMM does not depend on how "
            "many there are for VHEM and grows with their number for the kernel.",
            table(growth, growth_rows()),
            END,
        ]
    )


def replace_section(document: Path, section: str) -> None:
    """Put the section in its place in the document, or at its end."""
    text = document.read_text(encoding="utf-8") if document.exists() else "# Performance\n"
    marked = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if marked.search(text):
        text = marked.sub(lambda _: section, text)
    else:
        text = text.rstrip("\n") + f"\n\n{section}\n"
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="document whose section is replaced")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        section = report(arguments.seed)
    if arguments.output:
        replace_section(arguments.output, section)


if __name__ == "__main__":
    main()
