"""Measure the grid search of the SVM protocol beside scikit-learn's; write docs/performance.md.

Run: ``python benchmarks/grid_search.py`` on an otherwise idle machine (about two minutes). Both do
the same search on the same folds: Gaussian kernels, seven values of gamma and seven of C, three
inner folds, then a fit to the whole training part. Times are processor times of one thread. The
promise that it checks, with an exit status of 1 if it is broken: both choose the same parameters.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits
from vhem_speed import ROOT, replace_section, table

from replication.images.svm import Grid, cross_validate
from sliced_wasserstein import median_squared_distance, squared_distances

BEGIN, END = "<!-- begin: grid search -->", "<!-- end: grid search -->"
GRID = Grid(C=[10.0**k for k in range(-2, 5)], gamma=[4.0**k for k in range(-3, 4)], degree=[])
#: Classes, members of a class, and how far members lie from their centre.
SETS = {
    "as easy as the textures": (25, 20, 1.0),
    "harder": (25, 20, 2.0),
    "as many as the faces": (21, 115, 1.5),
}
SEED, N_FOLDS, N_INNER = 2016, 5, 3


def compare(n_classes: int, n_members: int, spread: float) -> tuple[tuple[str, ...], bool]:
    """One row of the table, and whether both chose the same."""
    rng = np.random.default_rng(SEED)
    labels = np.repeat(np.arange(n_classes), n_members)
    points = rng.normal(size=(n_classes, 10))[labels]
    points += spread * rng.normal(size=points.shape)
    distance = squared_distances(points)

    begun = time.process_time()
    rows = cross_validate(
        lambda name, train: distance,
        labels,
        ["rbf"],
        GRID,
        repeats=[0],
        n_folds=N_FOLDS,
        n_inner_folds=N_INNER,
        seed=SEED,
        experiment="benchmark",
    )
    ours = time.process_time() - begun
    values = {m: [row["value"] for row in rows if row["metric"] == m] for m in ("C", "parameter")}

    begun = time.process_time()
    state, theirs_chose, accuracy = rows[0]["seed"], [], []
    outer = StratifiedKFold(N_FOLDS, shuffle=True, random_state=state)
    for fold, (train, test) in enumerate(outer.split(points, labels)):
        gamma = np.array(GRID.gamma) / median_squared_distance(distance[np.ix_(train, train)])
        inner = StratifiedKFold(N_INNER, shuffle=True, random_state=state + fold + 1)
        search = GridSearchCV(SVC(cache_size=500), {"C": GRID.C, "gamma": gamma}, cv=inner)
        search.fit(points[train], labels[train])
        accuracy.append(search.score(points[test], labels[test]))
        chosen = GRID.gamma[list(gamma).index(search.best_params_["gamma"])]
        theirs_chose.append((search.best_params_["C"], chosen))
    theirs = time.process_time() - begun

    same = list(zip(values["C"], values["parameter"], strict=True)) == theirs_chose
    row = (
        f"{n_classes} x {n_members}",
        f"{np.mean(accuracy):.0%}",
        f"{ours:.1f}",
        f"{theirs:.1f}",
        f"{theirs / ours:.1f}",
        "yes" if same else "NO",
    )
    return row, same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "performance.md")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        rows, same = zip(*(compare(*parameters) for parameters in SETS.values()), strict=True)
    head = ("images", "accuracy", "ours, s", "GridSearchCV, s", "ratio", "same choices")
    section = "\n".join(
        [
            "## Nested grid search of the SVM protocol",
            "",
            f"`python benchmarks/grid_search.py`, scikit-learn {sklearn.__version__}, Python "
            f"{platform.python_version()}. Synthetic points around random centres in ten "
            "dimensions; five outer folds, three inner ones, 49 cells. What is saved: cells that "
            "cannot win any more, values of C beyond the one at which no support vector is at its "
            "bound, and kernels that scikit-learn computes anew for each cell.",
            "",
            table(head, list(rows)),
            "",
        ]
    )
    print(section)
    replace_section(arguments.output, section, BEGIN, END)
    if not all(same):
        raise SystemExit("the two searches chose different parameters")


if __name__ == "__main__":
    main()
