"""Twenty-five synthetic textures in the raw layout of the UIUC texture database.

Each class is one *surface*, a periodic map of reflectance and relief: one of a few patterns with
the numbers of a row of :data:`_MATERIALS`. Each image is a *view* of it: a random patch, turned,
tilted, nearer or farther, under light from a random direction.

Surface ``c`` depends on (seed, c) only and image ``k`` of it on (seed, c, k) only, so a run with
more images keeps those that it shares with a smaller one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.ndimage import affine_transform
from scipy.spatial import cKDTree

from replication.arrays import Floats, Integers, Pixels
from replication.images.uiuc_texture import CLASSES
from replication.standins.camera import photograph, smooth_noise, write_classes

__all__ = ["write"]

_SIDE = 512  # pixels of a surface
_VIEWED = 420  # of them across an image, on average


class _Material(NamedTuple):
    """What a surface is made of.

    A pattern gives a number at each pixel, which rises from 0 to 1 around ``edge`` within ``soft``;
    reflectance (from ``dark`` to ``light``) and relief follow that rise.
    """

    pattern: str
    across: int  # grains, cells or periods in the width of the surface
    down: int  # and in its height
    edge: float
    soft: float
    dark: float
    light: float
    depth: float  # height of the pattern in pixels
    bend: float = 0.0  # how far the pattern is distorted, in pixels
    tones: float = 0.0  # range of the reflectance between cells or blocks


_MATERIALS = {
    "T01_bark1": _Material("cracks", 12, 2, 0.5, 0.8, 0.22, 0.58, 14),
    "T02_bark2": _Material("spots", 36, 28, -0.28, 0.2, 0.62, 0.30, -3),
    "T03_bark3": _Material("spots", 9, 52, -0.34, 0.2, 0.74, 0.26, -3, 5, 0.2),
    "T04_wood1": _Material("stripes", 16, 0, 0.3, 1.6, 0.58, 0.34, 1, 22),
    "T05_wood2": _Material("cracks", 20, 2, 0.4, 0.3, 0.20, 0.58, 2),
    "T06_wood3": _Material("spots", 76, 12, -0.3, 0.24, 0.52, 0.32, -1, 4, 0.2),
    "T07_water": _Material("noise", 4, 16, 1.2, 3.0, 0.32, 0.60, 8),
    "T08_granite": _Material("cells", 68, 68, 0.0, 0.02, 0.4, 0.44, 0, 3, 0.45),
    "T09_marble": _Material("cells", 9, 9, 0.18, 0.12, 0.36, 0.56, 0, 18, 0.24),
    "T10_floor1": _Material("spots", 42, 42, -0.36, 0.14, 0.30, 0.52, 0, 3, 0.35),
    "T11_floor2": _Material("cells", 50, 50, 0.14, 0.14, 0.38, 0.50, 0, 2, 0.45),
    "T12_pebbles": _Material("cells", 25, 22, 0.28, 0.5, 0.14, 0.54, 9, 4, 0.28),
    "T13_wall": _Material("blocks", 3, 4, 5.0, 6.0, 0.30, 0.50, 7, 5, 0.18),
    "T14_brick1": _Material("blocks", 8, 20, 4.0, 4.0, 0.56, 0.34, 3, 2, 0.36),
    "T15_brick2": _Material("blocks", 5, 14, 5.0, 3.0, 0.66, 0.38, -2.4, 0, 0.12),
    "T16_glass1": _Material("lattice", 22, 22, 0.0, 1.2, 0.32, 0.60, 4, 14),
    "T17_glass2": _Material("noise", 68, 68, 0.0, 3.0, 0.43, 0.51, 3),
    "T18_carpet1": _Material("spots", 64, 52, -0.4, 0.5, 0.12, 0.46, 5, 0, 0.36),
    "T19_carpet2": _Material("noise", 20, 20, -0.6, 2.2, 0.24, 0.52, 16),
    "T20_upholstery": _Material("lattice", 18, 20, 0.6, 0.5, 0.14, 0.50, 1),
    "T21_wallpaper": _Material("cracks", 12, 3, 0.4, 0.8, 0.46, 0.52, -7),
    "T22_fur": _Material("noise", 60, 8, 0.0, 3.5, 0.30, 0.62, 3),
    "T23_knit": _Material("stitches", 32, 28, 0.0, 1.4, 0.24, 0.56, 3.4, 2),
    "T24_corduroy": _Material("stripes", 28, 0, 0.0, 1.8, 0.14, 0.56, 3.4, 1.5),
    "T25_plaid": _Material("tartan", 7, 7, 0.0, 3.0, 0.12, 0.62, 0.3),
}


def _cells(
    rng: np.random.Generator, u: Floats, v: Floats, across: int, down: int
) -> tuple[Floats, Integers]:
    """Distances to the two nearest of jittered points, and which is the nearest."""
    points = np.indices((across, down)).reshape(2, -1).T + rng.random((across * down, 2))
    tree = cKDTree(points, boxsize=(across, down))
    distances, nearest = tree.query(np.stack([u % across, v % down], axis=-1), k=2)
    return np.moveaxis(distances, -1, 0), nearest[..., 0]


def _pattern(rng: np.random.Generator, material: _Material) -> tuple[Floats, Integers]:
    """Value of a pattern, and the number of the cell or block that a pixel belongs to, or 0."""
    across, down, bend = material.across, material.down, material.bend
    shape, reach = (_SIDE, _SIDE), (1.5 * bend + 9,) * 2
    row, column = np.indices(shape) + [bend * smooth_noise(rng, shape, *reach) for _ in range(2)]
    u, v = column * across / _SIDE, row * down / _SIDE
    x, y = 2 * np.pi * u, 2 * np.pi * v
    cell = np.zeros(shape, dtype=np.intp)
    match material.pattern:
        case "noise":
            value = smooth_noise(rng, shape, _SIDE / down / 5, _SIDE / across / 5)
        case "cracks":
            value = np.abs(smooth_noise(rng, shape, _SIDE / down / 5, _SIDE / across / 5))
        case "cells":
            (first, second), cell = _cells(rng, u, v, across, down)
            value = second - first
        case "spots":
            (first, _), cell = _cells(rng, u, v, across, down)
            value = -first
        case "blocks":
            # Courses in a running bond; the value is the distance from the joint in pixels.
            along = u + np.floor(v) % 2 / 2
            gaps = ((0.5 - abs(at % 1 - 0.5)) * _SIDE / n for at, n in ((along, across), (v, down)))
            value = np.minimum(*gaps)
            cell = (np.floor(v) * across + np.floor(along)).astype(np.intp)
        case "stripes":
            value = np.cos(x + y)
        case "lattice":
            value = np.cos(x) * np.cos(y)
        case "tartan":
            value = sum(np.cos(angle) + np.cos(3 * angle) for angle in (x, y))
        case "stitches":
            # Each column of stitches is a row of V.
            value = np.cos(y + 2.2 * np.abs(np.arcsin(np.sin(x / 2))))
        case unknown:
            raise ValueError(f"no such pattern: {unknown}")
    return value, cell


def _surface(rng: np.random.Generator, material: _Material) -> Floats:
    """Reflectance, and slopes downwards and to the right."""
    value, cell = _pattern(rng, material)
    rise = np.clip((value - material.edge) / material.soft + 0.5, 0, 1)
    grain = smooth_noise(rng, value.shape, 1.5, 1.5)
    tone = material.tones * (rng.random(997)[cell % 997] - 0.5)
    reflectance = material.dark + rise * (material.light - material.dark + tone) + 0.025 * grain
    relief = material.depth * rise + 0.3 * grain
    slopes = [(np.roll(relief, -1, axis) - np.roll(relief, 1, axis)) / 2 for axis in (0, 1)]
    return np.stack([reflectance, *slopes])


def _view(rng: np.random.Generator, surface: Floats, width: int, height: int) -> Pixels:
    """Photograph a random patch of a surface from afar."""
    azimuth, turn, toward = rng.uniform(0, 2 * math.pi, 3)
    elevation, tilt = np.radians([rng.uniform(40, 75), 50 * math.sqrt(rng.random())])
    slope = math.sin(azimuth) * surface[1] + math.cos(azimuth) * surface[2]
    lit = surface[0] * (0.35 + 0.65 * np.maximum(1 - slope / math.tan(elevation), 0))
    # Two samples a pixel each way, so that two sizes show the same view.
    scale = math.exp(rng.uniform(math.log(0.55), math.log(1.35))) * _VIEWED / (2 * width)
    first, second = (
        np.array([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]) for a in (turn, toward)
    )
    seen = affine_transform(
        lit,
        scale * first @ np.diag([1 / math.cos(tilt), 1]) @ second,
        offset=rng.uniform(0, _SIDE, 2),
        output_shape=(2 * height, 2 * width),
        order=1,
        mode="grid-wrap",
    )
    return photograph(rng, seen.reshape(height, 2, width, 2).mean(axis=(1, 3)))


def write(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    images_per_class: int = 20,
    width: int = 320,
    height: int = 240,
    n_jobs: int | None = None,
) -> None:
    """Write the synthetic textures as ``T01_bark1/T01_01.jpg`` ... under a folder.

    Parameters
    ----------
    folder, seed, n_jobs
        See :mod:`replication.standins`.
    images_per_class : int, default 20
        Number of views of each surface, at most 99.
    width, height : int, default 320 and 240
        Size of the images in pixels. The published images have 640 x 480.
    """

    def draw(name: str) -> Iterator[tuple[str, Pixels]]:
        number = CLASSES.index(name) + 1
        surface = _surface(np.random.default_rng([seed, number, 0]), _MATERIALS[name])
        for index in range(1, images_per_class + 1):
            rng = np.random.default_rng([seed, number, index])
            yield f"{name}/T{number:02d}_{index:02d}.jpg", _view(rng, surface, width, height)

    write_classes(folder, CLASSES, draw, n_jobs)
