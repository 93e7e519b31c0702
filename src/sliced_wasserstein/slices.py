"""Bin-averaged quantile functions of the slices of many images, direction by direction.

The slices themselves are those of :mod:`sliced_wasserstein.projection`, the averages those of
:mod:`sliced_wasserstein.quantiles`. Here both are put together for batches, in threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from sliced_wasserstein._checks import thread_count
from sliced_wasserstein._compile import compiled
from sliced_wasserstein._types import Booleans, Floats
from sliced_wasserstein.projection import (
    deposit_space,
    line_extents,
    line_plan,
    pixel_positions,
    slice_masses,
)
from sliced_wasserstein.quantiles import bin_means

__all__ = ["DEFAULT_N_QUANTILES", "DEFAULT_OVERSAMPLING", "Footprint", "slice_quantiles"]

Footprint = Literal["box", "point"]

DEFAULT_N_QUANTILES = 128
DEFAULT_OVERSAMPLING = 8


def slice_quantiles(
    rows: Floats,
    shape: tuple[int, int],
    directions: Floats,
    edges: Floats,
    footprint: Footprint,
    oversampling: int,
    n_jobs: int | None,
) -> Floats:
    """Return the bin-averaged quantile functions of the slices of images.

    Parameters
    ----------
    rows : ndarray of shape (n, height * width)
        Densities.
    shape : (int, int)
        Height and width.
    directions : ndarray of shape (n_directions, 2)
        Unit vectors.
    edges : ndarray of shape (n_quantiles + 1,)
        Edges of the bins of u.
    footprint, oversampling, n_jobs
        See :class:`SlicedWassersteinEmbedding`.

    Returns
    -------
    ndarray of shape (n_directions, n, n_quantiles)
        Means (px).
    """
    quantiles = np.empty((len(directions), len(rows), len(edges) - 1))
    edges = np.array(edges)  # those of an estimator loaded as a memory map are read-only
    if footprint == "box":
        fill = _box_filler(rows.reshape(-1, *shape), directions, edges, oversampling, quantiles)
    else:
        fill = _point_filler(rows, pixel_positions(shape), directions, edges, quantiles)
    pairs = _transposed_pairs(directions)
    # Threads, because the loops release the interpreter lock; over directions, so that every
    # number is computed by one thread in one order.
    n_threads = thread_count(n_jobs, len(pairs))
    Parallel(n_jobs=n_threads, require="sharedmem")(delayed(fill)(pair) for pair in pairs)
    return quantiles


class _Pair(NamedTuple):
    """Two directions that transposition exchanges, up to a sign; one alone pairs with itself."""

    first: int
    second: int
    opposite: bool


def _transposed_pairs(directions: Floats) -> list[_Pair]:
    """Pair each direction (a, b) with (b, a) or (-b, -a), if that is among the directions."""
    cosines = directions @ directions[:, ::-1].T
    pairs, done = [], set()
    for k, row in enumerate(cosines):
        if k in done:
            continue
        other = next((j for j in np.flatnonzero(np.abs(row) > 1 - 1e-14) if j not in done), k)
        done |= {k, int(other)}
        pairs.append(_Pair(k, int(other), bool(row[other] < 0)))
    return pairs


def _box_filler(
    images: Floats,
    directions: Floats,
    edges: Floats,
    oversampling: int,
    quantiles: Floats,
) -> Callable[[_Pair], None]:
    """Return the function that fills ``quantiles[k]`` for images of unit squares.

    An image that equals its transpose, such as a symmetric co-occurrence matrix, has the same
    slice in both directions of a pair: half of its slices are copies.
    """
    height, width = images.shape[1:]
    symmetric = np.zeros(len(images), dtype=np.bool_)
    if height == width:
        _find_symmetric(images, symmetric)
    columns = images
    if not symmetric.all():
        columns = np.ascontiguousarray(images.transpose(0, 2, 1))
    extents = {True: line_extents(images), False: line_extents(columns)}

    def compute(k: int, which: Booleans) -> None:
        plan = line_plan((height, width), directions[k], oversampling)
        _box_quantiles(
            images if plan.by_rows else columns,
            np.flatnonzero(which),
            *extents[plan.by_rows],
            plan.first,
            plan.weights,
            oversampling,
            plan.reverse,
            np.empty(deposit_space(plan.grid, oversampling)),
            plan.grid.edges[:-1],
            plan.grid.step,
            edges,
            quantiles[k],
        )

    def fill(pair: _Pair) -> None:
        compute(pair.first, np.ones(len(images), dtype=np.bool_))
        if pair.second == pair.first:
            return
        compute(pair.second, ~symmetric)
        # Along the opposite direction the quantile function is -Q(1 - u).
        slices = quantiles[pair.first, symmetric]
        quantiles[pair.second, symmetric] = -slices[:, ::-1] if pair.opposite else slices

    return fill


def _point_filler(
    rows: Floats,
    positions: Floats,
    directions: Floats,
    edges: Floats,
    quantiles: Floats,
) -> Callable[[_Pair], None]:
    """Return the function that fills ``quantiles[k]`` for images of points."""

    def fill(pair: _Pair) -> None:
        for k in {pair.first, pair.second}:
            t = positions @ directions[k]
            # One order for all images: they share their pixels.
            order = np.argsort(t, kind="stable")
            _point_quantiles(rows, order, t[order], edges, quantiles[k])

    return fill


@compiled()
def _find_symmetric(images, symmetric):  # type: ignore[no-untyped-def]
    """Tell which images equal their transposes; most others differ in their first pixels."""
    for n in range(images.shape[0]):
        same = True
        for i in range(images.shape[1]):
            for j in range(i):
                if images[n, i, j] != images[n, j, i]:
                    same = False
                    break
            if not same:
                break
        symmetric[n] = same


@compiled()
def _box_quantiles(  # type: ignore[no-untyped-def]
    lines,
    which,
    starts,
    stops,
    first,
    weights,
    oversampling,
    reverse,
    deposits,
    lefts,
    step,
    edges,
    out,
):
    masses = np.empty(lefts.shape[0])
    for i in which:
        slice_masses(
            lines[i], starts[i], stops[i], first, weights, oversampling, reverse, deposits, masses
        )
        bin_means(lefts, step, masses, edges, out[i])


@compiled()
def _point_quantiles(rows, order, t, edges, out):  # type: ignore[no-untyped-def]
    masses = np.empty(t.shape[0])
    for i in range(rows.shape[0]):
        for p in range(t.shape[0]):
            masses[p] = rows[i, order[p]]
        bin_means(t, 0.0, masses, edges, out[i])
