r"""Repeated, nested, stratified cross-validation of kernel SVMs (CVPR 2016, section 5, Figure 4).

The paper: "a five fold cross validation scheme [...] in which 20% of each class is held out for
testing and the rest is used for training and parameter estimation. The hyper parameters of the
kernels are calculated through grid search. The classification experiments were repeated 100
times". Here every repetition is one stratified five-fold partition, the same for all kernels.
Within each outer training part a stratified inner cross-validation chooses the parameters, and
the machine is trained again on the whole part.

A kernel family turns one precomputed matrix of inner products :math:`G` or squared distances
:math:`D` into kernels:

=============  =================================================  =====================
form           kernel                                             parameter
=============  =================================================  =====================
``linear``     :math:`G / s^2`                                    --
``gaussian``   :math:`\exp(-g\, D / \mathrm{median}(D))`          :math:`g`
``polynomial`` :math:`(G / s^2 + c_0)^d`                          :math:`d`
=============  =================================================  =====================

With :math:`s^2` the :func:`sliced_wasserstein.kernel_scale`, and the median over pairs, both of the
outer training part, neither the unit of length nor the number of bins decides what a grid means and
nothing is learnt from a test row. The paper mentions no such units: the other reading,
``scale: raw``, sets :math:`s^2` and the median to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import sklearn
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from replication.arrays import AnyArray, Bools, Floats, Indices
from replication.images.kernels import FAMILIES, KernelFamily
from replication.images.multiclass import SCHEMES, machine
from replication.seeds import repetition_seed
from sliced_wasserstein import kernel_scale, median_squared_distance

__all__ = [
    "Grid",
    "cross_validate",
    "stratified_folds",
]


class Grid(NamedTuple):
    """Values that the grid search tries, ascending, and whether they are in units of the data."""

    C: Sequence[float]
    gamma: Sequence[float]
    degree: Sequence[int]
    scale: Literal["relative", "raw"] = "relative"

    def parameters(self, form: str) -> Sequence[float]:
        """Return the kernel parameters that belong to a form of kernel."""
        return {"linear": [1.0], "gaussian": self.gamma, "polynomial": self.degree}[form]


#: Gives the matrix of a name for an outer training part; most do not depend on it.
MatrixOf = Callable[[str, Indices], Floats]


def stratified_folds(
    labels: AnyArray, groups: AnyArray | None, n_folds: int, random_state: int
) -> list[tuple[Indices, Indices]]:
    """Split into stratified folds that never separate the members of a group.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    groups : ndarray of shape (n,) or None
        Images that must stay together (duplicates); ``None`` if all may be separated.
    n_folds : int
    random_state : int

    Returns
    -------
    list of (train, test)
        Arrays of indices, ascending.

    Raises
    ------
    ValueError
        If a class has fewer members, or groups of members, than folds, or its groups are so
        unequal that a training part is left without it.
    """
    # A group that spans classes counts in each of them.
    members = np.arange(len(labels)) if groups is None else groups
    kind = "members" if groups is None else "members that are no copies of each other"
    counts = {label: len(np.unique(members[labels == label])) for label in np.unique(labels)}
    smallest = min(counts, key=counts.__getitem__)
    if counts[smallest] < n_folds:
        raise ValueError(
            f"class '{smallest}' has {counts[smallest]} {kind}, too few for {n_folds} folds"
        )
    Splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = Splitter(n_folds, shuffle=True, random_state=random_state)
    folds = list(splitter.split(np.zeros(len(labels)), labels, groups))
    for fold, (train, _) in enumerate(folds):
        # A machine never predicts what it was not shown: its accuracy would be low without a word.
        if len(lacking := np.setdiff1d(labels, labels[train])):
            raise ValueError(
                f"class '{lacking[0]}' is missing from the training part of fold {fold} of "
                f"{n_folds}: all {kind} fell into its test part; ask for another number of folds"
            )
    return folds


def cross_validate(
    matrix_of: MatrixOf,
    labels: AnyArray,
    methods: Iterable[str],
    grid: Grid,
    *,
    repeats: Iterable[int],
    n_folds: int = 5,
    n_inner_folds: int = 3,
    groups: AnyArray | None = None,
    multiclass_methods: Collection[str] = (),
    multiclass_repeats: int = 0,
    seed: int,
    experiment: str,
) -> list[dict[str, Any]]:
    """Score kernel SVMs by repeated nested cross-validation on common splits.

    Parameters
    ----------
    matrix_of : callable
        ``matrix_of(name, train)`` returns the (n, n) matrix of a name, see :data:`FAMILIES`;
        ``train`` are the rows that a fitted quantity may use.
    labels : ndarray of shape (n,)
    methods : iterable of str
        Keys of :data:`FAMILIES`.
    grid : Grid
    repeats : iterable of int
        Numbers of the repetitions to do; a repetition's result depends only on its number.
    n_folds, n_inner_folds : int
    groups : ndarray of shape (n,), optional
        See :func:`stratified_folds`.
    multiclass_methods : collection of str
        Methods whose binary machines are put together in the other ways too that the paper names,
        see :data:`replication.images.multiclass.SCHEMES`, with the parameters that the grid search
        chose for one-versus-one votes.
    multiclass_repeats : int
        Repetitions below this number of which that is done.
    seed : int
    experiment : str
        Part of the seed and of the rows.

    Returns
    -------
    list of dict
        Rows for :func:`replication.report.metrics.metric_table`, for each method, repetition
        and fold: ``accuracy`` and the choices ``C``, ``parameter``, ``on_edge`` (1 if a choice
        stands on an end of its grid); ``accuracy`` of other schemes has the scheme as ``variant``.
    """
    rows = []
    for repeat, fold, state, train, test, inner in _nested_folds(
        labels, groups, repeats, n_folds, n_inner_folds, seed, experiment
    ):
        for method in methods:
            choice = _choose(FAMILIES[method], matrix_of, labels, train, test, inner, grid)
            scores = _score_choice(choice, labels[train], labels[test])
            shared = {"method": method, "repeat": repeat, "fold": fold, "seed": state}
            rows += [{**shared, "metric": m, "value": value} for m, value in scores.items()]
            if method not in multiclass_methods or repeat >= multiclass_repeats:
                continue
            for scheme, predict in SCHEMES.items():
                predicted = predict(choice.square, labels[train], choice.cross, choice.C)
                accuracy = float(np.mean(predicted == labels[test]))
                rows.append({**shared, "variant": scheme, "metric": "accuracy", "value": accuracy})
    return rows


def _nested_folds(
    labels: AnyArray,
    groups: AnyArray | None,
    repeats: Iterable[int],
    n_folds: int,
    n_inner_folds: int,
    seed: int,
    experiment: str,
) -> Iterator[tuple[int, int, int, Indices, Indices, list[tuple[Indices, Indices]]]]:
    """Yield repetition, fold, seed, training rows, test rows and the inner folds of the former."""
    for repeat in repeats:
        state = repetition_seed(seed, f"{experiment}/svm", repeat)
        for fold, (train, test) in enumerate(stratified_folds(labels, groups, n_folds, state)):
            inner_groups = None if groups is None else groups[train]
            inner = stratified_folds(labels[train], inner_groups, n_inner_folds, state + fold + 1)
            yield repeat, fold, state, train, test, inner


@dataclass(frozen=True)
class _Choice:
    """What the grid search chose on a training part, and the kernels that follow from it."""

    C: float
    parameter: float
    on_edge: bool
    square: Floats
    cross: Floats


# Thousands of small machines are trained here. Checking the input of each one, which is checked
# once below, and comparing names instead of numbers takes a quarter of the time.
@sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
def _choose(
    family: KernelFamily,
    matrix_of: MatrixOf,
    labels: AnyArray,
    train: Indices,
    test: Indices,
    inner: list[tuple[Indices, Indices]],
    grid: Grid,
) -> _Choice:
    """Search the grid by the inner folds of the training part."""
    matrix = matrix_of(family.matrix, train)
    numbers = np.unique(labels[train], return_inverse=True)[1]
    square, cross = matrix[np.ix_(train, train)], matrix[np.ix_(test, train)]
    if not (np.isfinite(square).all() and np.isfinite(cross).all()):
        raise ValueError(f"matrix {family.matrix!r} contains values that are NaN or infinite")
    if grid.scale == "relative":
        scale = _training_scale(family, square)
        square, cross = square / scale, cross / scale
    parameters = grid.parameters(family.form)
    best, best_C = _search(family, square, numbers, inner, parameters, grid.C)
    on_edge = best_C in (0, len(grid.C) - 1) or (
        len(parameters) > 1 and best in (0, len(parameters) - 1)
    )
    return _Choice(
        C=float(grid.C[best_C]),
        parameter=float(parameters[best]),
        on_edge=on_edge,
        square=_kernel(family, square, parameters[best]),
        cross=_kernel(family, cross, parameters[best]),
    )


def _score_choice(choice: _Choice, train: AnyArray, test: AnyArray) -> dict[str, float]:
    """Train on all of the training part, score the test part; both are given by their labels."""
    predicted = machine(choice.C).fit(choice.square, train).predict(choice.cross)
    return {
        "accuracy": float(np.mean(predicted == test)),
        "C": choice.C,
        "parameter": choice.parameter,
        "on_edge": float(choice.on_edge),
    }


def _training_scale(family: KernelFamily, square: Floats) -> float:
    """Kernel scale, or median squared distance, of the training part."""
    if family.form == "gaussian":
        scale, name = median_squared_distance(square), "median distance"
    else:
        scale, name = kernel_scale(np.diagonal(square)), "mean norm"
    if scale == 0:
        raise ValueError(f"matrix {family.matrix!r} has no scale: its {name} is 0 in training")
    return scale


def _kernel(family: KernelFamily, scaled: Floats, parameter: float) -> Floats:
    """Evaluate a family's kernel on inner products or squared distances in units of the scale."""
    if family.form == "gaussian":
        return np.exp(-parameter * scaled)
    if family.form == "polynomial":
        return (scaled + family.coef0) ** int(parameter)
    return scaled


def _search(
    family: KernelFamily,
    square: Floats,
    labels: AnyArray,
    inner: list[tuple[Indices, Indices]],
    parameters: Sequence[float],
    Cs: Sequence[float],
) -> tuple[int, int]:
    """Find the cell of the grid that is best on average over the inner folds.

    Branch and bound: after each fold the cell that leads is scored on the folds to come. A cell
    that would lag behind it even if it made no further mistake is not trained again. What is found
    is what the whole grid would give, at about half of its cost if the best cells are good.
    """
    accuracy = np.zeros((len(inner), len(parameters), len(Cs)))
    known = np.zeros(accuracy.shape, dtype=bool)
    possible = np.ones(accuracy.shape[1:], dtype=bool)

    def score(fold: int, cells: Bools) -> None:
        fit, validate = inner[fold]
        for i, parameter in enumerate(parameters):
            if not cells[i].any():
                continue
            accuracy[fold, i, cells[i]] = _accuracy_path(
                _kernel(family, square[np.ix_(fit, fit)], parameter),
                labels[fit],
                _kernel(family, square[np.ix_(validate, fit)], parameter),
                labels[validate],
                np.asarray(Cs)[cells[i]],
            )
        known[fold] |= cells

    for fold in range(len(inner)):
        score(fold, possible & ~known[fold])
        leader = np.zeros_like(possible)
        leader.flat[accuracy[: fold + 1].sum(axis=0).argmax()] = True
        for later in range(fold + 1, len(inner)):
            score(later, leader & ~known[later])
        at_most = np.where(known, accuracy, 1).sum(axis=0)
        possible &= at_most > accuracy.sum(axis=0).max() - 1e-9
    return _first_maximum(accuracy.sum(axis=0))


def _accuracy_path(
    kernel: Floats,
    labels: AnyArray,
    cross: Floats,
    truth: AnyArray,
    Cs: Sequence[float] | Floats,
) -> Floats:
    """Accuracy for ascending C, trained only until C stops to matter.

    If no support vector is at its bound for some C, then the bounds of every larger C bind none
    either: by the Karush-Kuhn-Tucker conditions the machine stays the same.
    """
    path = np.empty(len(Cs))
    for i, C in enumerate(Cs):
        fitted = machine(C).fit(kernel, labels)
        path[i:] = np.mean(fitted.predict(cross) == truth)
        if np.abs(fitted.dual_coef_).max() < C:
            break
    return path


def _first_maximum(accuracy: Floats) -> tuple[int, int]:
    """Find the best cell; among equals the one of smallest C, then of smallest parameter.

    The smallest C is the most regularised machine, the smallest parameter the smoothest kernel.
    """
    best = np.argwhere(accuracy >= accuracy.max() - 1e-12)
    parameter, C = min(best.tolist(), key=lambda cell: (cell[1], cell[0]))
    return parameter, C
