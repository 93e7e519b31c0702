"""Twenty-five synthetic textures in the raw layout of the UIUC texture database.

The published data set shows each of 25 materials from 40 viewpoints. Here each class is one
*surface*, a periodic map of reflectance and relief; each image is a *view* of it: a random patch,
turned, tilted in perspective, nearer or farther, folded if it is cloth, under light from a random
direction, with a random exposure, focus and sensor noise. A surface is one of a few patterns
(noise, cracks, cells, spots, courses of blocks, stripes, a lattice, stitches) with the numbers of
a row of :data:`_MATERIALS`.

Surface ``c`` depends on (seed, c) only and image ``k`` of it on (seed, c, k) only, so a run with
more images or other classes keeps the images that it shares with a smaller one. Two sizes show the
same views at different resolution, but not the same sensor noise.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.ndimage
from PIL import Image

from replication.images.uiuc_texture import CLASSES
from replication.io import atomic_path

__all__ = ["VERSION", "write"]

VERSION = 2
"""Raised whenever the output for given parameters changes, so that older raw files are remade."""

Field = npt.NDArray[np.floating[Any]]

_SIDE = 1024  # pixels of a surface; one surface pixel is about one pixel of a 640 x 480 image
_NOMINAL_WIDTH = 640
_FOCAL = 1.6  # focal length of the camera in image widths
_JPEG_QUALITY = 90
_LEVELS = 4  # of a surface: at full size and repeatedly halved, for distant views


@dataclass(frozen=True)
class _Material:
    """What a surface is made of.

    A pattern gives a signed number at each pixel, which rises from 0 to 1 around ``edge`` within
    ``soft``; reflectance and relief follow that rise.
    """

    pattern: str
    across: float  # grains, cells or periods in the width of the surface
    down: float  # and in its height
    edge: float
    soft: float
    dark: float  # reflectance where the pattern is 0
    light: float  # where it is 1
    depth: float  # height of the pattern in pixels
    tones: float = 0.0  # range of the reflectance between cells or blocks
    bend: float = 0.0  # how far the pattern is distorted, in pixels
    grain: tuple[float, float, float] = (8.0, 8.0, 0.03)  # pixels across and down, reflectance
    fold: float = 0.0  # depth of the folds of a cloth in pixels


_MATERIALS = {
    "T01_bark1": _Material(
        "cracks", 12, 2, -0.45, 0.8, 0.22, 0.58, 14, bend=7, grain=(12, 24, 0.06)
    ),
    "T02_bark2": _Material("spots", 48, 39, -0.28, 0.2, 0.62, 0.30, -3, grain=(60, 60, 0.07)),
    "T03_bark3": _Material(
        "spots", 12, 69, -0.34, 0.2, 0.74, 0.26, -3, 0.2, bend=5, grain=(40, 40, 0.06)
    ),
    "T04_wood1": _Material("stripes", 22, 0, 0.3, 1.6, 0.54, 0.36, 1, bend=22, grain=(4, 50, 0.04)),
    "T05_wood2": _Material(
        "cracks", 26, 3, -0.15, 0.2, 0.20, 0.58, 2, bend=6, grain=(6, 40, 0.025)
    ),
    "T06_wood3": _Material(
        "spots", 100, 16, -0.3, 0.24, 0.52, 0.32, -1, 0.2, bend=4, grain=(5, 50, 0.05)
    ),
    "T07_water": _Material("noise", 5, 22, 1.2, 3.0, 0.32, 0.60, 8, grain=(200, 200, 0.03)),
    "T08_granite": _Material("cells", 90, 90, 0, 0.02, 0.4, 0.44, 0, 0.45, bend=3),
    "T09_marble": _Material(
        "cells", 12, 12, 0.18, 0.12, 0.36, 0.56, 0, 0.24, bend=18, grain=(40, 40, 0.06)
    ),
    "T10_floor1": _Material("spots", 56, 56, -0.36, 0.14, 0.30, 0.52, 0, 0.35, bend=3),
    "T11_floor2": _Material("cells", 67, 67, 0.14, 0.14, 0.38, 0.50, 0, 0.45, bend=2),
    "T12_pebbles": _Material(
        "cells", 33, 29, 0.28, 0.5, 0.14, 0.54, 9, 0.28, bend=4, grain=(14, 14, 0.03)
    ),
    "T13_wall": _Material("blocks", 4, 6, 5, 6, 0.30, 0.50, 7, 0.18, bend=5, grain=(60, 60, 0.07)),
    "T14_brick1": _Material(
        "blocks", 10, 26, 4, 4, 0.56, 0.34, 3, 0.36, bend=2, grain=(16, 16, 0.07)
    ),
    "T15_brick2": _Material("blocks", 6, 18, 5, 3, 0.66, 0.38, -2.4, 0.12),
    "T16_glass1": _Material("lattice", 30, 30, 0.0, 1.2, 0.32, 0.60, 4, bend=14),
    "T17_glass2": _Material("noise", 90, 90, 0, 3, 0.43, 0.51, 2.5, grain=(300, 300, 0.02)),
    "T18_carpet1": _Material("spots", 85, 69, -0.4, 0.5, 0.12, 0.46, 5, 0.36),
    "T19_carpet2": _Material(
        "noise", 26, 26, -0.6, 2.2, 0.24, 0.52, 16, bend=9, grain=(9, 9, 0.05)
    ),
    "T20_upholstery": _Material(
        "lattice", 34, 40, 0.6, 0.5, 0.14, 0.50, 1, grain=(4, 4, 0.03), fold=10
    ),
    "T21_wallpaper": _Material(
        "cracks", 16, 4, -0.4, 0.8, 0.46, 0.52, -7, bend=16, grain=(20, 20, 0.015)
    ),
    "T22_fur": _Material("noise", 80, 10, 0, 3.5, 0.30, 0.62, 3, bend=60, grain=(4, 30, 0.06)),
    "T23_knit": _Material("stitches", 64, 58, 0, 1.4, 0.24, 0.56, 3.4, bend=2, fold=14),
    "T24_corduroy": _Material("stripes", 56, 0, 0, 1.8, 0.14, 0.56, 3.4, bend=1.5, fold=16),
    "T25_plaid": _Material("tartan", 9, 9, 0, 1.5, 0.12, 0.62, 0.3, grain=(4, 4, 0.03), fold=16),
}


def _noise(rng: np.random.Generator, across: float, down: float) -> Field:
    """Periodic noise of unit variance around a wavelength in pixels."""
    fx = scipy.fft.rfftfreq(_SIDE).astype(np.float32)[None, :] * np.float32(across)
    fy = scipy.fft.fftfreq(_SIDE).astype(np.float32)[:, None] * np.float32(down)
    f2 = fx * fx + fy * fy
    spectrum = scipy.fft.rfft2(rng.standard_normal((_SIDE, _SIDE), dtype=np.float32))
    field = scipy.fft.irfft2(spectrum * (f2 * np.exp(-f2)), s=(_SIDE, _SIDE))
    return np.asarray(field / field.std(), dtype=np.float32)


def _cells(
    rng: np.random.Generator, across: int, down: int
) -> tuple[Field, Field, npt.NDArray[np.intp]]:
    """Voronoi cells of jittered points, periodic.

    Returns the distances to the nearest and second nearest point (a column's width is 1) and the
    index of the nearest.
    """
    points = rng.uniform(0.05, 0.95, (2, down, across)).astype(np.float32)
    x = np.arange(_SIDE, dtype=np.float32)[None, :] * np.float32(across / _SIDE)
    y = np.arange(_SIDE, dtype=np.float32)[:, None] * np.float32(down / _SIDE)
    column, row = x.astype(np.intp), y.astype(np.intp)
    nearest = np.full((_SIDE, _SIDE), np.inf, dtype=np.float32)
    second, index = nearest.copy(), np.zeros(nearest.shape, dtype=np.intp)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            cell = (row + i) % down * across + (column + j) % across
            dx = (x - column - j) - points[0].take(cell)
            dy = (y - row - i) - points[1].take(cell)
            distance = dx * dx + dy * dy
            np.copyto(index, cell, where=distance < nearest)
            np.minimum(second, np.maximum(distance, nearest), out=second)
            np.minimum(nearest, distance, out=nearest)
    return np.sqrt(nearest), np.sqrt(second), index


def _blocks(rng: np.random.Generator, across: int, down: int) -> tuple[Field, npt.NDArray[np.intp]]:
    """Courses of blocks in a running bond: pixels to the nearest joint, and the block's index."""
    x, y = np.arange(_SIDE) * (across / _SIDE), np.arange(_SIDE) * (down / _SIDE)
    course = y.astype(np.intp)
    along = x[None, :] + 0.5 * (course % 2)[:, None] + rng.normal(0, 0.06, down)[course][:, None]
    gap_x = (0.5 - np.abs(along % 1 - 0.5)) * (_SIDE / across)
    gap_y = (0.5 - np.abs(y % 1 - 0.5))[:, None] * (_SIDE / down)
    block = course[:, None] * across + np.floor(along).astype(np.intp) % across
    return np.minimum(gap_x, gap_y).astype(np.float32), block


def _pattern(
    rng: np.random.Generator, material: _Material
) -> tuple[Field, npt.NDArray[np.intp] | None]:
    """Signed value of a pattern, and the index of the cell or block if it has any."""
    across, down = material.across, material.down
    turns = np.arange(_SIDE, dtype=np.float32) * np.float32(2 * np.pi / _SIDE)
    x, y = turns[None, :] * np.float32(across), turns[:, None] * np.float32(down)
    match material.pattern:
        case "noise":
            return _noise(rng, _SIDE / across, _SIDE / down), None
        case "cracks":
            return np.abs(_noise(rng, _SIDE / across, _SIDE / down)) - 1, None
        case "cells":
            near, second, index = _cells(rng, int(across), int(down))
            return second - near, index
        case "spots":
            near, _, index = _cells(rng, int(across), int(down))
            return -near, index
        case "blocks":
            return _blocks(rng, int(across), int(down))
        case "stripes":
            return np.cos(x + y), None
        case "lattice":
            return np.cos(x) * np.cos(y), None
        case "tartan":
            # A sett of broad and narrow stripes, over and under in a twill.
            over = np.cos(turns[None, :] * 171 + turns[:, None] * 171) > 0
            warp, weft = np.cos(x) + np.cos(3 * x), np.cos(y) + np.cos(3 * y)
            return np.where(over, warp, weft), None
        case "stitches":
            # Each column of stitches is a row of V.
            return np.cos(y + np.float32(2.2) * np.abs(np.arcsin(np.sin(x / 2)))), None
    raise ValueError(f"no such pattern: {material.pattern}")


def _surface(rng: np.random.Generator, material: _Material) -> list[Field]:
    """Reflectance and slopes to the right and downwards, (3, side, side), halved and halved."""
    value, index = _pattern(rng, material)
    rise = np.clip((value - material.edge) / np.float32(material.soft) + np.float32(0.5), 0, 1)
    tone = material.light - material.dark + np.zeros_like(rise)
    if index is not None:
        tone += material.tones * (rng.random(int(index.max()) + 1, dtype=np.float32)[index] - 0.5)
    reflectance, relief = material.dark + rise * tone, material.depth * rise
    if material.bend:
        at = np.indices((_SIDE, _SIDE), dtype=np.float32)
        length = 6 * (material.bend + 6)
        for axis in (0, 1):
            at[axis] += material.bend * _noise(rng, length, length)
        reflectance, relief = (
            scipy.ndimage.map_coordinates(plane, at, order=1, mode="grid-wrap")
            for plane in (reflectance, relief)
        )
    across, down, strength = material.grain
    grain = _noise(rng, across, down)
    relief = scipy.ndimage.gaussian_filter(relief + 0.4 * grain, 0.7, mode="wrap")
    slopes = [(np.roll(relief, -1, axis) - np.roll(relief, 1, axis)) / 2 for axis in (1, 0)]
    levels = [np.stack([reflectance + strength * grain, *slopes]).astype(np.float32)]
    for _ in range(_LEVELS - 1):
        half = levels[-1].shape[1] // 2
        levels.append(levels[-1].reshape(3, half, 2, half, 2).mean(axis=(2, 4)))
    return levels


def _view(
    levels: list[Field], fold: float, rng: np.random.Generator, width: int, height: int
) -> npt.NDArray[np.uint8]:
    """Photograph a random patch of a surface."""
    # All choices that make the view come first, so that they do not depend on the size.
    zoom = math.exp(rng.uniform(math.log(0.55), math.log(1.35)))
    turn, toward, azimuth = rng.uniform(0, 2 * math.pi, 3)
    tilt = math.radians(50 * math.sqrt(rng.random()))
    origin_u, origin_v = rng.uniform(0, _SIDE, 2)
    elevation = math.radians(rng.uniform(40, 75))
    wave, heading, phase = rng.uniform(260, 760), *rng.uniform(0, 2 * math.pi, 2)
    strength = fold * rng.random()
    exposure, gamma = np.exp([0.10, 0.09] * rng.standard_normal(2))
    falloff, vignette = rng.uniform(-0.3, 0.3), rng.uniform(0, 0.6)
    focus, noise = rng.uniform(0.3, 0.9), rng.uniform(1, 3)

    x = (np.arange(width, dtype=np.float32) - (width - 1) / 2)[None, :] / width
    y = (np.arange(height, dtype=np.float32) - (height - 1) / 2)[:, None] / width
    along = math.cos(toward) * x + math.sin(toward) * y
    across = math.cos(toward) * y - math.sin(toward) * x
    # A pinhole camera looks at a plane that is tilted by ``tilt`` towards ``toward``.
    depth = 1 / (1 - along * (math.tan(tilt) / _FOCAL))
    scale = zoom * _NOMINAL_WIDTH
    p, q = depth * along * (scale / math.cos(tilt)), depth * across * scale
    u = origin_u + math.cos(turn) * p - math.sin(turn) * q
    v = origin_v + math.sin(turn) * p + math.cos(turn) * q
    angle = (math.cos(heading) * u + math.sin(heading) * v) * (2 * math.pi / wave) + phase
    u, v = (
        u - math.sin(heading) * strength * np.sin(angle),
        v + math.cos(heading) * strength * np.sin(angle),
    )

    # The level whose pixels are nearest to, and rather finer than, the image's.
    reach = scale / width * math.sqrt(float(np.median(depth)) ** 3 / math.cos(tilt))
    level = min(max(round(math.log2(reach) - 0.1), 0), _LEVELS - 1)
    at = (np.stack([v, u]) + 0.5) / 2**level - 0.5
    reflectance, slope_x, slope_y = (
        scipy.ndimage.map_coordinates(plane, at, order=1, mode="grid-wrap")
        for plane in levels[level]
    )
    # Lambert's law for light from (azimuth, elevation); a level patch receives 1.
    side = math.cos(azimuth) * slope_x + math.sin(azimuth) * slope_y
    lambert = (1 - side / math.tan(elevation)) / np.sqrt(1 + slope_x**2 + slope_y**2)
    light = (0.35 + 0.65 * np.maximum(lambert, 0)) * (1 + 0.02 * strength * np.cos(angle))
    light *= (1 + falloff * along) * (1 - vignette * (x * x + y * y))
    picture = np.clip(exposure * reflectance * light, 0.004, 1) ** gamma
    picture = scipy.ndimage.gaussian_filter(picture, focus * width / _NOMINAL_WIDTH)
    picture = 255 * picture + noise * rng.standard_normal(picture.shape, dtype=np.float32)
    return np.clip(np.round(picture), 0, 255).astype(np.uint8)


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, *key]))


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
    folder : path-like
        Where the 25 class folders are made.
    seed : int, default 0
        Non-negative seed of everything random.
    images_per_class : int, default 20
        Number of views of each surface, 1 to 99.
    width, height : int, default 320 and 240
        Size of the images in pixels, at least 16. The published images have 640 x 480.
    n_jobs : int, optional
        Number of processes (joblib's convention). The files do not depend on it.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
    if not 1 <= images_per_class <= 99:
        raise ValueError(f"images_per_class must lie between 1 and 99, got {images_per_class}")
    if min(width, height) < 16:
        raise ValueError(f"width and height must be at least 16, got {width} x {height}")
    joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_write_class)(Path(folder), name, seed, images_per_class, width, height)
        for name in CLASSES
    )


def _write_class(folder: Path, name: str, seed: int, count: int, width: int, height: int) -> None:
    number = CLASSES.index(name) + 1
    material = _MATERIALS[name]
    levels = _surface(_stream(seed, number, 0), material)
    for index in range(1, count + 1):
        picture = _view(levels, material.fold, _stream(seed, number, index), width, height)
        with atomic_path(folder / name / f"T{number:02d}_{index:02d}.jpg") as path:
            Image.fromarray(picture).save(path, "JPEG", quality=_JPEG_QUALITY)
