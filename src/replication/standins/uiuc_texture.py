"""Twenty-five synthetic textures in the raw layout of the UIUC texture database.

The published data set shows each of 25 materials from 40 viewpoints. Here each class is one
*surface*, a periodic map of reflectance and relief made from band-limited noise, cells and
courses of blocks; each image is a *view* of it: a random patch, turned, tilted in perspective,
nearer or farther, folded if it is cloth, under light from a random direction, with a random
exposure, vignetting, focus and sensor noise. So images of one class differ the way photographs of
one material do, and the folder, file names and format are the published ones.

Surface ``c`` depends on (seed, c) only and image ``k`` of it on (seed, c, k) only, so a run with
more images or other classes keeps the images that it shares with a smaller one. Two sizes show the
same views at different resolution, but not the same sensor noise.

The generator is frozen; ``docs/embedded_data.md`` says when, how and against what it was tuned.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
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

VERSION = 1
"""Raised whenever the output for given parameters changes, so that older raw files are remade."""

Field = npt.NDArray[np.floating[Any]]

_SIDE = 1024  # pixels of a surface; one surface pixel is about one pixel of a 640 x 480 image
_NOMINAL_WIDTH = 640
_FOCAL = 1.6  # focal length of the camera in image widths
_JPEG_QUALITY = 90
_PYRAMID_LEVELS = 5


@dataclass(frozen=True)
class _Surface:
    """Reflectance (0 to 1) and relief (in pixels) of a material, and how far it may be folded."""

    reflectance: Field
    relief: Field
    fold: float = 0.0


class _Canvas:
    """Periodic building blocks on one square grid, drawn from one random stream."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        along = np.arange(_SIDE, dtype=np.float32)
        self.x, self.y = along[None, :], along[:, None]
        self._fx = scipy.fft.rfftfreq(_SIDE).astype(np.float32)[None, :]
        self._fy = scipy.fft.fftfreq(_SIDE).astype(np.float32)[:, None]

    def _filtered(self, gain: Callable[[Field], Field], radius: Field) -> Field:
        white = self.rng.standard_normal((_SIDE, _SIDE), dtype=np.float32)
        spectrum = scipy.fft.rfft2(white)
        radius[0, 0] = 1.0
        spectrum *= gain(radius)
        spectrum[0, 0] = 0.0
        field = scipy.fft.irfft2(spectrum, s=(_SIDE, _SIDE))
        return (field / field.std()).astype(np.float32)

    def _radius(self, stretch: tuple[float, float], angle: float) -> Field:
        cos, sin = np.float32(np.cos(angle)), np.float32(np.sin(angle))
        along = (cos * self._fx + sin * self._fy) * np.float32(stretch[0])
        across = (cos * self._fy - sin * self._fx) * np.float32(stretch[1])
        return np.hypot(along, across)

    def band(
        self,
        wavelength: float,
        octaves: float = 0.5,
        stretch: tuple[float, float] = (1.0, 1.0),
        angle: float = 0.0,
    ) -> Field:
        """Unit-variance noise around one wavelength, ``stretch`` times longer along x and y."""
        width = np.float32(octaves * np.log(2))
        return self._filtered(
            lambda f: np.exp(-0.5 * (np.log(f * np.float32(wavelength)) / width) ** 2),
            self._radius(stretch, angle),
        )

    def cloud(
        self,
        wavelength: float,
        slope: float = 1.5,
        stretch: tuple[float, float] = (1.0, 1.0),
        angle: float = 0.0,
    ) -> Field:
        """Unit-variance noise with amplitude falling as frequency^-slope beyond a wavelength."""
        corner = np.float32(1 / wavelength)
        return self._filtered(
            lambda f: (f * f + corner * corner) ** np.float32(-slope / 2),
            self._radius(stretch, angle),
        )

    def bend(self, image: Field, dx: Field, dy: Field) -> Field:
        """Shift every pixel's source by (dx, dy)."""
        bent = scipy.ndimage.map_coordinates(
            image, np.stack([self.y + dy, self.x + dx]), order=1, mode="grid-wrap"
        )
        return np.asarray(bent, dtype=np.float32)

    def cells(
        self, columns: int, rows: int, jitter: float = 0.9
    ) -> tuple[Field, Field, npt.NDArray[np.int32], Field, Field]:
        """Voronoi cells of jittered points, as many columns and rows of them as asked for.

        Returns the distances to the nearest and second nearest point (a column's width is 1), the
        index of the nearest, and the pixel's position relative to it.
        """
        points_x = (self.rng.random((rows, columns), dtype=np.float32) - 0.5) * jitter + 0.5
        points_y = (self.rng.random((rows, columns), dtype=np.float32) - 0.5) * jitter + 0.5
        px = self.x * np.float32(columns / _SIDE)
        column = px.astype(np.int32)
        maps = []
        # Strips of rows stay in the processor's cache, which makes this several times faster.
        for y in np.split(self.y, _SIDE // 32):
            py = y * np.float32(rows / _SIDE)
            row = py.astype(np.int32)
            nearest = np.full((len(y), _SIDE), np.inf, dtype=np.float32)
            second = nearest.copy()
            index = np.zeros(nearest.shape, dtype=np.int32)
            rel_x, rel_y = np.zeros_like(nearest), np.zeros_like(nearest)
            for i in (-1, 0, 1):
                for j in (-1, 0, 1):
                    cell = (row + i) % rows * columns + (column + j) % columns
                    dx = (px - column - j) - points_x.take(cell)
                    dy = (py - row - i) - points_y.take(cell)
                    distance = dx * dx + dy * dy
                    closer = distance < nearest
                    np.minimum(second, np.maximum(distance, nearest), out=second)
                    np.minimum(nearest, distance, out=nearest)
                    np.copyto(index, cell, where=closer)
                    np.copyto(rel_x, dx, where=closer)
                    np.copyto(rel_y, dy, where=closer)
            maps.append((np.sqrt(nearest), np.sqrt(second), index, rel_x, rel_y))
        near, next_near, index, rel_x, rel_y = map(np.concatenate, zip(*maps, strict=True))
        return near, next_near, index, rel_x, rel_y

    def pick(self, index: npt.NDArray[np.int32], values: npt.ArrayLike | None = None) -> Field:
        """Give each cell or block a random number of its own: uniform, or one of ``values``."""
        count = int(index.max()) + 1
        if values is None:
            return self.rng.random(count, dtype=np.float32)[index]
        choices = np.asarray(values, dtype=np.float32)
        return choices[self.rng.integers(len(choices), size=count)][index]

    def blocks(
        self, columns: int, heights: npt.ArrayLike, shift: float, cut: float = 0.0
    ) -> tuple[Field, npt.NDArray[np.int32]]:
        """Courses of rectangular blocks.

        ``heights`` are the relative heights of the courses, ``shift`` the offset of every second
        course in block lengths, ``cut`` how unequal the blocks of a course are. Returns the
        distance to the nearest joint in pixels and the index of the block.
        """
        edges = np.concatenate([[0.0], np.cumsum(np.asarray(heights, dtype=float))])
        edges *= _SIDE / edges[-1]
        course = np.searchsorted(edges, self.y[:, 0], side="right") - 1
        vertical = np.minimum(self.y[:, 0] - edges[course], edges[course + 1] - self.y[:, 0])
        length = _SIDE / columns
        distance = np.empty((_SIDE, _SIDE), dtype=np.float32)
        index = np.empty((_SIDE, _SIDE), dtype=np.int32)
        for number in range(len(edges) - 1):
            joints = np.arange(columns) + cut * (self.rng.random(columns) - 0.5)
            joints = np.sort((joints + shift * (number % 2)) % columns) * length
            closed = np.concatenate([[joints[-1] - _SIDE], joints, [joints[0] + _SIDE]])
            block = np.searchsorted(closed, self.x[0], side="right") - 1
            horizontal = np.minimum(self.x[0] - closed[block], closed[block + 1] - self.x[0])
            rows = course == number
            distance[rows] = np.minimum(vertical[rows][:, None], horizontal[None, :])
            index[rows] = number * columns + block % columns
        return distance, index


def _step(value: Field, edge: float, softness: float) -> Field:
    """Rise smoothly from 0 to 1 around ``edge``."""
    t = np.clip((value - edge) / np.float32(softness) + np.float32(0.5), 0, 1)
    return t * t * (3 - 2 * t)


def _wave(phase: Field) -> Field:
    """Cosine of a phase counted in turns, on 0 to 1."""
    return np.float32(0.5) + np.float32(0.5) * np.cos(np.float32(2 * np.pi) * phase)


def _bark1(c: _Canvas) -> _Surface:
    """Deep vertical furrows between scaly plates."""
    dx, dy = 7 * c.band(110, 0.5, (1, 2)), np.zeros((_SIDE, _SIDE), np.float32)
    deep = np.exp(-((c.bend(c.band(84, 0.35, (1, 6)), dx, dy) / 0.40) ** 2))
    shallow = np.exp(-((c.bend(c.band(34, 0.4, (1, 3)), dx, dy) / 0.22) ** 2))
    scales = c.cloud(22, 1.3, (1, 2.2))
    return _Surface(
        0.58 - 0.36 * deep - 0.13 * shallow + 0.06 * scales, -16 * deep - 3 * shallow + 2 * scales
    )


def _bark2(c: _Canvas) -> _Surface:
    """Pale bark, dotted with dark lenticels, cracked here and there."""
    near, _, index, _, _ = c.cells(48, 39)
    size = 0.14 + 0.24 * c.pick(index) ** 2
    spots = 1 - _step(near - size, 0, 0.16)
    where = _step(c.band(500), 0.9, 0.8)
    crack = where * np.exp(-((c.band(240, 0.5, (1, 3)) / 0.10) ** 2))
    mottle = c.cloud(150, 1.2)
    relief = -2.5 * spots - 9 * crack + 1.4 * c.cloud(18, 1.2)
    return _Surface(0.60 + 0.08 * mottle - 0.30 * spots - 0.45 * crack, relief)


def _bark3(c: _Canvas) -> _Surface:
    """Birch: white with short dark dashes across and a few rough black patches."""
    near, _, index, _, _ = c.cells(12, 69)
    dash = (1 - _step(near, 0.30, 0.18)) * (c.pick(index) > 0.35)
    dash = c.bend(dash, 3 * c.band(40), 5 * c.band(160))
    patch = _step(c.cloud(230, 1.6, (1.4, 1)), 1.05, 0.5)
    rough = c.cloud(20, 1.0, (1, 2))
    reflectance = 0.74 + 0.04 * c.cloud(90, 1.3) - 0.48 * dash
    reflectance = reflectance * (1 - patch) + patch * (0.24 + 0.12 * rough)
    return _Surface(reflectance, -2 * dash + patch * 5 * rough)


def _wood1(c: _Canvas) -> _Surface:
    """Plain-sawn board: wavy growth rings with fine pores."""
    board = 0.65 * c.band(480, 0.4, (1, 2)) + 0.03 * c.band(60, 0.5, (1, 6))
    rings = 7 * c.x / _SIDE + 1.0 * board
    late = _wave(rings * 3) ** 3 * (0.5 + 0.5 * _wave(rings))
    fibre = c.cloud(9, 1.0, (1, 14))
    return _Surface(0.52 - 0.20 * late + 0.05 * fibre, 0.4 * fibre)


def _wood2(c: _Canvas) -> _Surface:
    """Smooth pale veneer, ruled with thin crooked dark lines."""
    wander = 10 * c.band(420, 0.5, (1, 2)) + 1.6 * c.band(36)
    lines = c.bend(_ruled(c, 52), wander, np.zeros_like(wander))
    return _Surface(0.55 + 0.025 * c.cloud(60, 1.0, (1, 5)) - 0.40 * lines, -2.0 * lines)


def _ruled(c: _Canvas, count: int) -> Field:
    """Vertical lines at uneven spacing and of uneven strength."""
    centres = (np.arange(count) + 0.75 * c.rng.random(count)) * (_SIDE / count)
    strength = c.rng.uniform(0.45, 1.0, count)
    width = c.rng.uniform(1.2, 3.2, count)
    gap = np.abs((c.x[0][:, None] - centres + _SIDE / 2) % _SIDE - _SIDE / 2)
    profile = (strength * np.exp(-((gap / width) ** 2))).max(axis=1).astype(np.float32)
    return np.ascontiguousarray(np.broadcast_to(profile, (_SIDE, _SIDE)))


def _wood3(c: _Canvas) -> _Surface:
    """Beech: even, with many short flecks along the grain."""
    near, _, index, _, _ = c.cells(100, 16)
    flecks = (1 - _step(near, 0.26, 0.24)) * c.pick(index, [0, 0, 0.6, 1])
    fleck = c.bend(flecks, 6 * c.band(500), 2 * c.band(90))
    fibre = c.cloud(14, 0.9, (1, 10))
    return _Surface(0.50 + 0.055 * fibre - 0.22 * fleck, -0.8 * fleck + 0.5 * fibre)


def _water(c: _Canvas) -> _Surface:
    """Small waves seen from above, glinting along their crests."""
    swell = c.band(46, 0.45, (4, 1)) + 0.5 * c.band(20, 0.5, (3, 1), 0.15)
    glint = _step(swell, 1.6, 2.4)
    return _Surface(0.36 + 0.03 * c.cloud(300, 1.2) + 0.26 * glint, 2.2 * swell)


def _granite(c: _Canvas) -> _Surface:
    """Crystals of quartz, feldspar and mica, packed without gaps."""
    _, _, index, _, _ = c.cells(100, 100, 1.0)
    crystal = c.pick(index, [0.16, 0.30, 0.42, 0.46, 0.50, 0.58, 0.66])
    _, _, large, _, _ = c.cells(36, 36, 1.0)
    phenocryst = c.pick(large, [0, 0, 0, 0, 1]) > 0.5
    crystal = np.where(phenocryst, 0.6 * 0.6 + 0.4 * crystal, crystal)
    bent = c.bend(crystal.astype(np.float32), 3 * c.band(14), 3 * c.band(14))
    return _Surface(bent + 0.03 * c.cloud(5, 0.6), 0.7 * c.cloud(10, 1.0))


def _marble(c: _Canvas) -> _Surface:
    """Breccia: pale broken lumps of two sizes in a grey ground, with dark inclusions."""
    near, second, index, _, _ = c.cells(9, 9, 1.0)
    lump = _step(second - near, 0.20, 0.10) * (c.pick(index) > 0.25)
    tone = 0.54 + 0.16 * c.pick(index)
    near, second, index, _, _ = c.cells(27, 27, 1.0)
    piece = _step(second - near, 0.20, 0.16) * (c.pick(index) > 0.5)
    ground = 0.34 + 0.18 * piece
    reflectance = ground * (1 - lump) + tone * lump
    near, _, index, _, _ = c.cells(43, 43, 1.0)
    dark = (1 - _step(near, 0.36, 0.16)) * (c.pick(index) > 0.88)
    reflectance = reflectance - 0.36 * dark
    dx, dy = 18 * c.band(150) + 3 * c.band(22), 18 * c.band(150) + 3 * c.band(22)
    return _Surface(c.bend(reflectance, dx, dy) + 0.05 * c.cloud(70, 1.2), np.zeros_like(dx))


def _floor1(c: _Canvas) -> _Surface:
    """Terrazzo: sparse pale chips in a dark ground."""
    near, second, index, _, _ = c.cells(56, 56, 0.9)
    chip = _step(second - near, 0.30, 0.14) * (c.pick(index) > 0.45)
    tone = 0.40 + 0.30 * c.pick(index)
    reflectance = 0.30 + chip * (tone - 0.30)
    bent = c.bend(reflectance, 3 * c.band(26), 3 * c.band(26))
    return _Surface(bent + 0.035 * c.cloud(6, 0.7), 0.35 * c.cloud(8, 0.8))


def _floor2(c: _Canvas) -> _Surface:
    """Terrazzo: dense chips, most of them pale, some black."""
    near, second, index, _, _ = c.cells(67, 67, 1.0)
    chip = _step(second - near, 0.14, 0.14)
    tone = c.pick(index, [0.12, 0.42, 0.48, 0.52, 0.56, 0.60, 0.66, 0.72])
    reflectance = 0.40 + chip * (tone - 0.40)
    bent = c.bend(reflectance, 2 * c.band(24), 2 * c.band(24))
    return _Surface(bent + 0.03 * c.cloud(12, 0.8), np.zeros_like(bent))


def _pebbles(c: _Canvas) -> _Surface:
    """Pack rounded stones, with dark gaps between them."""
    near, second, index, _, _ = c.cells(33, 29, 0.8)
    edge = np.clip((second - near) / 0.5, 0, 1)
    dome = np.sqrt(1 - (1 - edge) ** 2)
    tone = 0.38 + 0.26 * c.pick(index)
    dx, dy = 4 * c.band(60), 4 * c.band(60)
    reflectance = c.bend(tone * (0.30 + 0.70 * _step(edge, 0.22, 0.4)), dx, dy)
    return _Surface(
        reflectance + 0.03 * c.cloud(14, 0.9), c.bend(10 * dome, dx, dy) + 0.6 * c.cloud(12, 1.0)
    )


def _wall(c: _Canvas) -> _Surface:
    """Ashlar: large split stones in uneven courses, recessed joints."""
    joint, index = c.blocks(4, [1.2, 0.8, 1.0, 1.5, 0.7, 1.1], 0.5, 0.7)
    dx, dy = 3 * c.band(90), 3 * c.band(90)
    stone = c.bend(_step(joint, 5, 5), dx, dy)
    tone = c.bend(0.50 + 0.12 * c.pick(index), dx, dy)
    rock = c.cloud(110, 1.9)
    reflectance = 0.30 * (1 - stone) + stone * (tone + 0.05 * c.cloud(40, 1.0))
    return _Surface(reflectance, stone * (5 + 5 * rock))


def _brick1(c: _Canvas) -> _Surface:
    """Old brickwork: small blotched bricks of very different tone, crumbling pale mortar."""
    joint, index = c.blocks(10, np.ones(26), 0.5, 0.25)
    dx, dy = 1.5 * c.band(30), 1.5 * c.band(30)
    brick = c.bend(_step(joint, 4.0, 4.0), dx, dy)
    tone = c.bend(0.20 + 0.36 * c.pick(index), dx, dy)
    soot = _step(c.cloud(26, 1.2), 0.9, 1.2)
    reflectance = (0.56 + 0.06 * c.cloud(8, 0.7)) * (1 - brick)
    reflectance += brick * (tone + 0.07 * c.cloud(16, 1.0)) * (1 - 0.35 * soot)
    return _Surface(reflectance, 3 * brick + 0.8 * c.cloud(12, 1.0))


def _brick2(c: _Canvas) -> _Surface:
    """Brickwork, new: even long bricks in a clean bond, raised light joints."""
    joint, index = c.blocks(6, np.ones(18), 0.5)
    brick = _step(joint + 0.8 * c.band(20), 5.0, 3.0)
    tone = 0.32 + 0.14 * c.pick(index)
    reflectance = (1 - brick) * 0.66 + brick * (tone + 0.025 * c.cloud(30, 0.9))
    return _Surface(reflectance, 2.4 * (1 - brick) + 0.5 * c.cloud(10, 0.9))


def _glass1(c: _Canvas) -> _Surface:
    """Pressed glass covered with fans of fine rays."""
    _, _, index, dx, dy = c.cells(13, 13, 0.85)
    rays = np.float32(17) + 2 * np.floor(3 * c.pick(index))
    turn = np.arctan2(dy, dx) / np.float32(2 * np.pi) + c.pick(index)
    distance = np.hypot(dx, dy)
    fan = 2 * _wave(turn * rays) - 1
    fan *= _step(distance, 0.05, 0.1)
    return _Surface(0.46 + 0.20 * fan * (1 - 0.4 * distance), 2.6 * fan)


def _glass2(c: _Canvas) -> _Surface:
    """Hammered glass: shallow fine dimples, nothing else."""
    dimples = c.band(11, 0.45)
    return _Surface(0.47 + 0.025 * c.cloud(400, 1.5) + 0.02 * dimples, 0.62 * dimples)


def _carpet1(c: _Canvas) -> _Surface:
    """Loop pile in rows, salt and pepper yarn."""
    near, second, index, _, _ = c.cells(85, 69, 0.55)
    loop = np.clip(1 - (near / 0.62) ** 2, 0, 1)
    gap = _step(second - near, 0.12, 0.24)
    tone = c.pick(index, [0.22, 0.34, 0.44, 0.52, 0.62])
    return _Surface(tone * (0.25 + 0.75 * gap) * (0.7 + 0.3 * loop), 5 * loop)


def _carpet2(c: _Canvas) -> _Surface:
    """Shag: matted tufts, curled and uneven."""
    tufts = c.cloud(60, 1.4)
    tufts = c.bend(tufts, 9 * c.band(50), 9 * c.band(50))
    curl = c.band(9, 0.6)
    shade = _step(-tufts, 0.9, 1.6)
    return _Surface(0.50 + 0.05 * curl - 0.26 * shade, 11 * tufts + 0.9 * curl)


def _upholstery(c: _Canvas) -> _Surface:
    """Dark cloth with a lattice of small pale four-dot motifs."""
    columns, rows = 17, 20
    row = np.floor(c.y * (rows / _SIDE))
    px = (c.x * (columns / _SIDE) + 0.5 * (row % 2)) % 1 - 0.5
    py = (c.y * (rows / _SIDE)) % 1 - 0.5
    dots = np.exp(-(((np.abs(px) - 0.11) / 0.055) ** 2) - ((np.abs(py) - 0.12) / 0.06) ** 2)
    weave = _wave(c.x * (256 / _SIDE)) * _wave(c.y * (256 / _SIDE))
    reflectance = 0.12 + 0.05 * weave + 0.02 * c.cloud(10, 0.7) + 0.50 * dots
    return _Surface(reflectance, 0.6 * weave + dots, fold=10.0)


def _wallpaper(c: _Canvas) -> _Surface:
    """Embossed paper: long soft creases that run together and part."""
    crease = c.bend(c.band(64, 0.3, (1, 4.5)), 16 * c.band(260), 0 * c.x * c.y)
    ridge = np.exp(-((crease / 0.35) ** 2))
    return _Surface(0.52 - 0.05 * ridge + 0.015 * c.cloud(20, 1.0), 7.0 * ridge)


def _fur(c: _Canvas) -> _Surface:
    """Tufts of hair that lie in slowly changing directions."""
    lie = 0.55 * c.band(520, 0.4)
    count = 7
    directions = np.linspace(-1.2, 1.2, count)
    hair, weight = np.zeros((_SIDE, _SIDE), np.float32), np.zeros((_SIDE, _SIDE), np.float32)
    for direction in directions:
        share = np.exp(-(((lie - direction) / 0.28) ** 2))
        strands = c.cloud(16, 0.9, (16, 1), direction) + 0.9 * c.band(60, 0.5, (6, 1), direction)
        hair += share * strands
        weight += share * share
    hair /= np.sqrt(weight)
    return _Surface(0.45 + 0.10 * hair + 0.07 * c.cloud(220, 1.3), 0.8 * hair)


def _knit(c: _Canvas) -> _Surface:
    """Stockinette: columns of V-shaped stitches."""
    columns, rows = 64, 58
    across = c.x * (columns / _SIDE)
    side = np.abs(across % 1 - 0.5)
    phase = c.y * (rows / _SIDE) + 1.1 * side + 0.06 * c.band(60)
    yarn = _wave(phase) * _step(side, 0.06, 0.12) * (1 - _step(side, 0.46, 0.1))
    fuzz = c.cloud(6, 0.7)
    return _Surface(0.30 + 0.26 * yarn + 0.025 * fuzz, 3.4 * yarn + 0.3 * fuzz, fold=14.0)


def _corduroy(c: _Canvas) -> _Surface:
    """Velvet cords in parallel, dark between them."""
    cords = 56
    cord = _wave(c.x * (cords / _SIDE) + 0.015 * c.band(50))
    pile = c.cloud(6, 0.7, (1, 2))
    return _Surface(0.14 + 0.42 * cord**0.8 + 0.03 * pile * cord, 3.4 * cord, fold=16.0)


def _plaid(c: _Canvas) -> _Surface:
    """Tartan: one sett of stripes across and along, woven as a twill."""
    sett = [0.46] * 9 + [0.12] * 4 + [0.46] * 2 + [0.12] * 4 + [0.46] * 9 + [0.08, 0.85, 0.85, 0.08]
    threads = np.repeat(np.asarray(sett, dtype=np.float32), 12)
    stripes = threads[(np.arange(_SIDE) * (3 * len(threads)) // _SIDE) % len(threads)]
    twill = _wave((c.x + c.y) * (171 / _SIDE)) > 0.5
    reflectance = np.where(twill, stripes[None, :], stripes[:, None])
    reflectance = scipy.ndimage.gaussian_filter(reflectance, 1.0, mode="wrap")
    return _Surface(
        reflectance + 0.02 * c.cloud(6, 0.7), 0.35 * twill.astype(np.float32), fold=16.0
    )


_SURFACES: dict[str, Callable[[_Canvas], _Surface]] = {
    "T01_bark1": _bark1,
    "T02_bark2": _bark2,
    "T03_bark3": _bark3,
    "T04_wood1": _wood1,
    "T05_wood2": _wood2,
    "T06_wood3": _wood3,
    "T07_water": _water,
    "T08_granite": _granite,
    "T09_marble": _marble,
    "T10_floor1": _floor1,
    "T11_floor2": _floor2,
    "T12_pebbles": _pebbles,
    "T13_wall": _wall,
    "T14_brick1": _brick1,
    "T15_brick2": _brick2,
    "T16_glass1": _glass1,
    "T17_glass2": _glass2,
    "T18_carpet1": _carpet1,
    "T19_carpet2": _carpet2,
    "T20_upholstery": _upholstery,
    "T21_wallpaper": _wallpaper,
    "T22_fur": _fur,
    "T23_knit": _knit,
    "T24_corduroy": _corduroy,
    "T25_plaid": _plaid,
}


class _Material:
    """A surface with its slopes, at full size and repeatedly halved for distant views."""

    def __init__(self, surface: _Surface) -> None:
        slope_y = (np.roll(surface.relief, -1, 0) - np.roll(surface.relief, 1, 0)) / 2
        slope_x = (np.roll(surface.relief, -1, 1) - np.roll(surface.relief, 1, 1)) / 2
        self.fold = surface.fold
        self.pyramid = [np.stack([surface.reflectance, slope_x, slope_y]).astype(np.float32)]
        for _ in range(_PYRAMID_LEVELS - 1):
            maps = self.pyramid[-1]
            half = maps.reshape(3, maps.shape[1] // 2, 2, maps.shape[2] // 2, 2)
            self.pyramid.append(half.mean(axis=(2, 4)))

    def view(self, rng: np.random.Generator, width: int, height: int) -> npt.NDArray[np.uint8]:
        """Photograph a random patch of the surface."""

        # All choices that make the view come first, so that they do not depend on the size.
        def between(low: float, high: float) -> float:
            return low + (high - low) * float(rng.random())

        zoom = math.exp(between(math.log(0.55), math.log(1.35)))
        turn, toward = between(0, 2 * math.pi), between(0, 2 * math.pi)
        tilt = math.radians(50 * math.sqrt(between(0, 1)))
        origin_u, origin_v = between(0, _SIDE), between(0, _SIDE)
        azimuth, elevation = between(0, 2 * math.pi), math.radians(between(40, 75))
        folds = [(between(260, 760), between(0, 2 * math.pi), between(0, 1)) for _ in range(2)]
        strength = self.fold * between(0, 1)
        exposure = math.exp(0.10 * float(rng.standard_normal()))
        gamma = math.exp(0.09 * float(rng.standard_normal()))
        falloff_x, falloff_y = between(-0.3, 0.3), between(-0.3, 0.3)
        vignette, focus, grain = between(0, 0.6), between(0.3, 0.9), between(1, 3)

        x = (np.arange(width, dtype=np.float32) - (width - 1) / 2)[None, :] / width
        y = (np.arange(height, dtype=np.float32) - (height - 1) / 2)[:, None] / width
        along = math.cos(toward) * x + math.sin(toward) * y
        across = math.cos(toward) * y - math.sin(toward) * x
        # A pinhole camera looks at a plane that is tilted by ``tilt`` towards ``toward``.
        depth = 1 / (1 - along * (math.tan(tilt) / _FOCAL))
        scale = zoom * _NOMINAL_WIDTH
        p = depth * along * (scale / math.cos(tilt))
        q = depth * across * scale
        u = origin_u + math.cos(turn) * p - math.sin(turn) * q
        v = origin_v + math.sin(turn) * p + math.cos(turn) * q
        light = 1 + falloff_x * x + falloff_y * y
        light *= 1 - vignette * (x * x + y * y)
        if strength > 0:
            for period, heading, phase in folds:
                cos, sin = math.cos(heading), math.sin(heading)
                angle = (cos * u + sin * v) * (2 * math.pi / period) + 2 * math.pi * phase
                shift = strength * np.sin(angle)
                u, v = u - sin * shift, v + cos * shift
                light *= 1 + 0.02 * strength * np.cos(angle)

        # The pyramid's level whose pixels are nearest to, and rather finer than, the image's.
        reach = scale / width * math.sqrt(float(np.median(depth)) ** 3 / math.cos(tilt))
        level = min(max(round(math.log2(reach) - 0.1), 0), _PYRAMID_LEVELS - 1)
        at = np.stack([v, u])
        at = (at + 0.5) / 2**level - 0.5
        reflectance, slope_x, slope_y = (
            scipy.ndimage.map_coordinates(plane, at, order=1, mode="grid-wrap")
            for plane in self.pyramid[level]
        )
        # Lambert's law for light from (azimuth, elevation); a level patch receives 1.
        side = math.cos(azimuth) * slope_x + math.sin(azimuth) * slope_y
        lambert = (1 - side / math.tan(elevation)) / np.sqrt(1 + slope_x**2 + slope_y**2)
        light = light * (0.35 + 0.65 * np.maximum(lambert, 0))
        picture = np.clip(exposure * reflectance * light, 0.004, 1) ** gamma
        picture = scipy.ndimage.gaussian_filter(picture, focus * width / _NOMINAL_WIDTH)
        picture = 255 * picture + grain * rng.standard_normal(picture.shape, dtype=np.float32)
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
    material = _Material(_SURFACES[name](_Canvas(_stream(seed, number, 0))))
    for index in range(1, count + 1):
        picture = material.view(_stream(seed, number, index), width, height)
        with atomic_path(folder / name / f"T{number:02d}_{index:02d}.jpg") as path:
            Image.fromarray(picture).save(path, "JPEG", quality=_JPEG_QUALITY)
