"""Synthetic animal faces in the raw layout of the LHI animal face data set.

The published data set shows the heads of 20 kinds of animals in web photographs and has a folder
``Natural`` of scenes without an animal. Here each image is a painted *individual*: a head built
from rounded parts (skull, ears, eyes, muzzle, nose, horns, mane, beak) with the markings and
colours of its kind, every measure varied, turned left or right, nodding, tilted, nearer or
farther, shaggy, under light from a random side, before a blurred background. Birds are shown in
profile, as they mostly are in the published set. Folders and format are the published ones.

Image ``k`` of class ``c`` depends on (seed, c, k) and the range of sides only, so a run with more
images keeps those that it shares with a smaller one.

The generator is frozen; the section on faces of ``docs/embedded_data.md`` says when, how and
against what it was tuned.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import scipy.ndimage
from PIL import Image

from replication.images.animal_faces import CLASSES
from replication.io import atomic_path

__all__ = ["VERSION", "write"]

VERSION = 1
"""Raised whenever the output for given parameters changes, so that older raw files are remade."""

Field = npt.NDArray[np.floating[Any]]
Colour = tuple[float, float, float]
Point = tuple[float, float]

_SUPERSAMPLING = 2
_JPEG_QUALITY = 90
_BLACK: Colour = (0.07, 0.06, 0.06)
_WHITE: Colour = (0.93, 0.92, 0.89)
_PINK: Colour = (0.88, 0.62, 0.60)
_GREENERY: tuple[Colour, ...] = (
    (0.30, 0.42, 0.20),
    (0.45, 0.50, 0.30),
    (0.55, 0.48, 0.36),
    (0.62, 0.70, 0.78),
    (0.25, 0.25, 0.22),
    (0.75, 0.75, 0.72),
)


class _Portrait:
    """A canvas in the coordinates of a head, and the individual measures of one animal.

    The head's centre is (0, 0), x points right, y down, z towards the viewer; the skull of most
    animals has a radius of about 0.5 and the picture reaches from -1 to 1. Parts are painted from
    the back to the front.
    """

    def __init__(self, rng: np.random.Generator, height: int, width: int) -> None:
        self.rng = rng
        shape = (height * _SUPERSAMPLING, width * _SUPERSAMPLING)
        self.yaw = math.radians(float(np.clip(rng.normal(0, 13), -30, 30)))
        self.pitch = math.radians(float(np.clip(rng.normal(0, 8), -18, 18)))
        roll = math.radians(float(np.clip(rng.normal(0, 8), -20, 20)))
        zoom = math.exp(rng.uniform(math.log(0.98), math.log(1.34)))
        shift_x, shift_y = rng.normal(0, 0.06, 2)
        rows = ((np.arange(shape[0], dtype=np.float32) + 0.5) / shape[0] * 2 - 1)[:, None]
        columns = ((np.arange(shape[1], dtype=np.float32) + 0.5) / shape[1] * 2 - 1)[None, :]
        x, y = (columns - shift_x) / zoom, (rows - shift_y) / zoom
        self.x = (math.cos(roll) * x + math.sin(roll) * y).astype(np.float32)
        self.y = (math.cos(roll) * y - math.sin(roll) * x).astype(np.float32)
        self.pixel = 2 / min(shape) / zoom
        self.fine = self._noise(0.02)
        self.coarse = self._noise(0.09)
        side = rng.uniform(-1.0, 1.0)
        self.light = (math.sin(side), -math.cos(side) * rng.uniform(0.5, 1.0))
        self.contrast = rng.uniform(0.25, 0.55)
        self.picture = np.empty((*shape, 3), dtype=np.float32)

    def _noise(self, scale: float) -> Field:
        """Unit-variance noise whose grains have about ``scale`` times half the picture's side."""
        shape = self.x.shape
        field = scipy.ndimage.gaussian_filter(
            self.rng.standard_normal(shape, dtype=np.float32), scale * min(shape) / 2, mode="wrap"
        )
        return np.asarray(field / field.std(), dtype=np.float32)

    def vary(self, value: float, spread: float = 0.09) -> float:
        """Return a positive measure as this individual has it."""
        return value * math.exp(spread * float(self.rng.standard_normal()))

    def chance(self, probability: float) -> bool:
        """Decide a trait of this individual."""
        return bool(self.rng.random() < probability)

    def coat(self, colours: Sequence[Colour], spread: float = 0.10) -> Colour:
        """Choose one of several colours and shade it a little."""
        colour = np.array(colours[int(self.rng.integers(len(colours)))])
        colour = colour * math.exp(spread * self.rng.standard_normal())
        red, green, blue = np.clip(colour + 0.02 * self.rng.standard_normal(3), 0.02, 0.98)
        return (float(red), float(green), float(blue))

    def at(self, x: float, y: float, z: float) -> Point:
        """Where a point of the turned and nodding head is seen."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        depth = z * cos - x * sin
        return (
            x * cos + z * sin,
            y * math.cos(self.pitch) + depth * math.sin(self.pitch),
        )

    def ellipse(self, centre: Point, rx: float, ry: float, angle: float = 0.0) -> Field:
        """Signed distance (about) to an ellipse, turned clockwise by ``angle`` degrees."""
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        dx, dy = self.x - centre[0], self.y - centre[1]
        u, v = (cos * dx + sin * dy) / rx, (cos * dy - sin * dx) / ry
        return np.asarray((np.hypot(u, v) - 1) * min(rx, ry), dtype=np.float32)

    def limb(self, path: Sequence[Point], radii: Sequence[float]) -> Field:
        """Signed distance (about) to a chain of rods whose radius changes along the way."""
        distance = np.full(self.x.shape, np.inf, dtype=np.float32)
        for (ax, ay), (bx, by), ra, rb in zip(path, path[1:], radii, radii[1:], strict=False):
            dx, dy = bx - ax, by - ay
            along = (self.x - ax) * dx + (self.y - ay) * dy
            t = np.clip(along / (dx * dx + dy * dy + 1e-9), 0, 1)
            gap = np.hypot(self.x - ax - t * dx, self.y - ay - t * dy) - (ra + t * (rb - ra))
            np.minimum(distance, gap, out=distance)
        return distance

    def mask(self, distance: Field, softness: float = 0.0) -> Field:
        """Coverage of a shape, with an edge of about a pixel or softer."""
        width = max(softness, self.pixel)
        return np.clip(np.float32(0.5) - distance / np.float32(width), 0, 1)

    def paint(
        self,
        distance: Field,
        colour: Colour,
        *,
        fur: float = 0.0,
        relief: float = 1.0,
        softness: float = 0.0,
        within: Field | None = None,
    ) -> Field:
        """Put a rounded part over what is there; returns its coverage.

        ``fur`` roughens outline and surface, ``relief`` is how strongly it is shaded as a body,
        ``within`` limits markings to the part that they belong to.
        """
        # Only the box around the part is worked on: most parts are small.
        reach = np.float32(0.06 * fur + 2 * self.pixel + softness)
        near = distance < reach
        rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
        cover = np.zeros_like(distance)
        if rows.size == 0:
            return cover
        box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        fine, coarse = self.fine[box], self.coarse[box]
        rough = distance[box] + np.float32(0.011 * fur) * (fine + coarse)
        cover[box] = self.mask(rough, softness)
        if within is not None:
            cover *= within
        # A rounded edge: near the outline the surface turns away, towards the light or from it.
        steepness = np.exp(np.clip(rough, -1, 0) * np.float32(9)) * np.float32(relief)
        padded = scipy.ndimage.uniform_filter(np.pad(rough, 1, mode="edge"), 3)
        gx = padded[1:-1, 2:] - padded[1:-1, :-2]
        gy = padded[2:, 1:-1] - padded[:-2, 1:-1]
        facing = (gx * np.float32(self.light[0]) + gy * np.float32(self.light[1])) / (
            np.hypot(gx, gy) + np.float32(1e-6)
        )
        shade = 1 + np.float32(self.contrast) * steepness * (facing - np.float32(0.35))
        shade = shade * (1 + np.float32(0.035 * fur) * fine + np.float32(0.04) * coarse)
        for channel, value in enumerate(colour):
            layer = self.picture[*box, channel]
            layer += cover[box] * (np.float32(value) * shade - layer)
        return cover

    def pair(self, draw: Callable[[int], None]) -> None:
        """Draw something on both sides, the farther side first."""
        near = 1 if self.yaw < 0 else -1
        draw(-near)
        draw(near)

    def background(self) -> None:
        """Fill the canvas with blurred surroundings: a gradient of two colours with blobs."""
        top, bottom = self.coat(_GREENERY, 0.2), self.coat(_GREENERY, 0.2)
        blobs = self._noise(0.25) * np.float32(self.rng.uniform(0.02, 0.09))
        detail = self._noise(0.05) * np.float32(self.rng.uniform(0.0, 0.05))
        ramp = np.clip((self.y + 1) / 2 + np.float32(2) * blobs, 0, 1)
        for channel in range(3):
            value = top[channel] + ramp * (bottom[channel] - top[channel])
            self.picture[:, :, channel] = value * (1 + blobs + detail)

    def shoulders(self, colour: Colour, width: float = 0.62, fur: float = 1.0) -> None:
        """Paint neck and shoulders below the head."""
        width = self.vary(width)
        body = self.limb([(0, 0.45), (0.02, 1.3)], [width * 0.75, width * 1.25])
        self.paint(body, colour, fur=fur, relief=0.8)

    def eyes(
        self,
        x: float,
        y: float,
        size: float,
        iris: Colour = (0.20, 0.12, 0.07),
        *,
        z: float = 0.42,
        white: float = 0.0,
        slit: bool = False,
        rim: Colour | None = _BLACK,
        slant: float = 0.0,
    ) -> None:
        """Paint two eyes with pupils and glints, at (+-x, y) on the head."""
        x, y, size = self.vary(x, 0.05), self.vary(y, 0.05), self.vary(size)
        gaze = float(self.rng.normal(0, 0.15)) * size
        lid = self.rng.uniform(0.65, 1.0)

        def one(side: int) -> None:
            cx, cy = self.at(side * x, y, z)
            if rim is not None:
                shape = self.ellipse((cx, cy), size * 1.35, size * 1.2 * lid, side * slant)
                self.paint(shape, rim, relief=0.2)
            ball = self.mask(self.ellipse((cx, cy), size, size * lid, side * slant))
            if white > 0:
                self.paint(self.ellipse((cx, cy), size, size), _WHITE, relief=0.3, within=ball)
            radius = size * (1 - white)
            self.paint(self.ellipse((cx + gaze, cy), radius, radius), iris, relief=0.5, within=ball)
            pupil = (0.28 * radius, 0.85 * radius) if slit else (0.52 * radius, 0.52 * radius)
            self.paint(self.ellipse((cx + gaze, cy), *pupil), _BLACK, relief=0, within=ball)
            glint = (cx + gaze - 0.3 * size, cy - 0.35 * size)
            self.paint(self.ellipse(glint, 0.2 * size, 0.2 * size), _WHITE, relief=0)

        self.pair(one)

    def ears(
        self,
        base: Point,
        tip: Point,
        radii: tuple[float, float, float],
        colour: Colour,
        inner: Colour | None,
        *,
        z: float = 0.0,
        fur: float = 1.0,
    ) -> None:
        """Paint two ears from base to tip, with their radii at base, middle and tip."""
        spread, length = self.vary(1.0, 0.07), self.vary(1.0, 0.12)
        droop = float(self.rng.normal(0, 0.04))
        thick = self.vary(1.0, 0.08)

        def one(side: int) -> None:
            ax, ay = self.at(side * base[0] * spread, base[1], z)
            bx = ax + side * (tip[0] - base[0]) * length * math.cos(self.yaw)
            by = ay + (tip[1] - base[1]) * length + droop
            path = [(ax, ay), ((ax + bx) / 2, (ay + by) / 2), (bx, by)]
            self.paint(self.limb(path, [r * thick for r in radii]), colour, fur=fur)
            if inner is not None:
                nudge = -0.1 * (bx - ax) + 0.02 * math.sin(self.yaw)
                shifted = [(px + nudge, py + 0.02) for px, py in path]
                hollow = self.limb(shifted, [0.58 * r * thick for r in radii])
                self.paint(hollow, inner, fur=0.4, relief=-0.6, softness=0.03)

        self.pair(one)

    def nose(self, y: float, rx: float, ry: float, colour: Colour, z: float) -> None:
        """Paint a nose pad with two nostrils."""
        cx, cy = self.at(0, y, z)
        rx, ry = self.vary(rx), self.vary(ry)
        self.paint(self.ellipse((cx, cy), rx, ry), colour, relief=0.7)
        dark: Colour = (0.35 * colour[0], 0.35 * colour[1], 0.35 * colour[2])
        for side in (-1, 1):
            nostril = self.ellipse((cx + side * 0.5 * rx, cy + 0.15 * ry), 0.2 * rx, 0.32 * ry)
            self.paint(nostril, dark, relief=0)

    def mouth(self, y: float, width: float, z: float, *, drop: float = 0.06) -> None:
        """Draw a line down from the nose and two arcs; sometimes it is open, with a tongue."""
        cx, cy = self.at(0, y, z)
        open_ = self.chance(0.2)
        if open_:
            hollow = self.ellipse((cx, cy + 0.09), 0.62 * width, 0.09)
            self.paint(hollow, (0.25, 0.08, 0.08), relief=0)
            self.paint(self.ellipse((cx, cy + 0.13), 0.4 * width, 0.06), (0.85, 0.45, 0.45))
        lines = [
            [(cx, cy - drop), (cx, cy)],
            [(cx, cy), (cx - 0.5 * width, cy + 0.05), (cx - width, cy)],
            [(cx, cy), (cx + 0.5 * width, cy + 0.05), (cx + width, cy)],
        ]
        for line in lines:
            self.paint(self.limb(line, [0.013] * len(line)), (0.16, 0.10, 0.09), relief=0)

    def stripes(self, lines: Sequence[tuple[Point, Point]], width: float, where: Field) -> None:
        """Paint dark bands on both sides of the face, limited to a part."""
        for a, b in lines:
            for side in (-1, 1):
                if not self.chance(0.9):
                    continue
                wobble = self.rng.normal(0, 0.02, 2)
                start = self.at(side * a[0] + wobble[0], a[1] + wobble[1], 0.35)
                end = self.at(side * b[0], b[1], 0.30)
                middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - 0.02)
                thick = self.vary(width, 0.2)
                band = self.limb([start, middle, end], [0.4 * thick, thick, 0.3 * thick])
                self.paint(band, _BLACK, fur=0.8, relief=0, within=where)

    def whiskers(self, y: float, z: float, colour: Colour) -> None:
        """Draw three hairs on each side of the muzzle."""
        for side in (-1, 1):
            for k in range(3):
                ax, ay = self.at(side * 0.14, y + 0.03 * k, z)
                bx, by = ax + side * self.rng.uniform(0.3, 0.5), ay + 0.10 * (k - 1)
                self.paint(self.limb([(ax, ay), (bx, by)], [0.007, 0.004]), colour, relief=0)


def _shaded(colour: Colour, factor: float) -> Colour:
    """Darken (below 1) or lighten towards white (above 1)."""
    if factor <= 1:
        return (factor * colour[0], factor * colour[1], factor * colour[2])
    gain = factor - 1
    red, green, blue = (value + gain * (1 - value) for value in colour)
    return (red, green, blue)


def _bear(p: _Portrait) -> None:
    coat = p.coat([(0.33, 0.20, 0.11), (0.13, 0.11, 0.10), (0.46, 0.31, 0.18), (0.24, 0.16, 0.11)])
    p.shoulders(coat, 0.75, fur=1.6)
    p.ears((0.40, -0.44), (0.46, -0.54), (0.15, 0.15, 0.14), coat, _shaded(coat, 0.6), fur=1.5)
    p.paint(p.ellipse((0, 0), p.vary(0.58), p.vary(0.54)), coat, fur=1.6)
    snout = _shaded(coat, 1.28)
    p.paint(p.ellipse(p.at(0, 0.08, 0.48), 0.20, 0.26), snout, fur=0.8, softness=0.12)
    p.paint(p.ellipse(p.at(0, 0.24, 0.62), p.vary(0.24), p.vary(0.20)), snout, fur=0.7)
    p.eyes(0.21, -0.08, 0.048, (0.15, 0.08, 0.04))
    p.mouth(0.34, 0.12, 0.64)
    p.nose(0.17, 0.11, 0.075, _BLACK, 0.76)


def _cat(p: _Portrait) -> None:
    coat = p.coat([(0.72, 0.46, 0.22), (0.50, 0.49, 0.46), (0.16, 0.15, 0.15), (0.75, 0.70, 0.62)])
    p.shoulders(coat, 0.45)
    p.ears((0.36, -0.36), (0.45, -0.82), (0.23, 0.14, 0.02), coat, _PINK, fur=0.6)
    head = p.paint(p.ellipse((0, 0), p.vary(0.56, 0.05), p.vary(0.47, 0.05)), coat, fur=1.0)
    if p.chance(0.6):
        bars = [((0.06, -0.30), (0.08, -0.46)), ((0.17, -0.27), (0.20, -0.43))]
        cheeks = [((0.36, 0.05), (0.56, 0.0)), ((0.36, 0.16), (0.54, 0.16))]
        p.stripes(bars + cheeks, 0.022, head * np.float32(0.7))
    pale = _shaded(coat, 1.55)
    for side in (-1, 1):
        p.paint(p.ellipse(p.at(side * 0.09, 0.21, 0.50), 0.13, 0.10), pale, fur=0.6)
    p.paint(p.ellipse(p.at(0, 0.30, 0.46), 0.09, 0.07), pale, fur=0.4)
    iris = p.coat([(0.60, 0.68, 0.22), (0.80, 0.60, 0.18), (0.40, 0.60, 0.70)])
    p.eyes(0.22, -0.06, 0.105, iris, slit=True, slant=-12)
    p.mouth(0.21, 0.10, 0.52)
    p.nose(0.13, 0.055, 0.04, (0.75, 0.45, 0.45), 0.56)
    p.whiskers(0.19, 0.52, _WHITE)


def _bird(
    p: _Portrait,
    plumage: Colour,
    skull: tuple[float, float],
    neck_width: float,
) -> tuple[int, float, Field]:
    """Draw neck and head in profile.

    Returns the side that the bird looks to, the radius of its skull and the coverage of its neck.
    """
    side = 1 if p.chance(0.5) else -1
    rx, ry = p.vary(skull[0], 0.06), p.vary(skull[1], 0.06)
    lean = side * float(p.rng.normal(0.08, 0.06))
    width = p.vary(neck_width)
    path = [(-lean, -0.15), (-1.5 * lean - 0.06 * side, 0.45), (-3 * lean - 0.05 * side, 1.3)]
    covered = p.paint(p.limb(path, [0.8 * width, width, 1.9 * width]), plumage, fur=0.8)
    p.paint(p.ellipse((0, -0.25), rx, ry), plumage, fur=0.7)
    return side, rx, covered


def _bird_eye(p: _Portrait, side: int, x: float, y: float, size: float, iris: Colour) -> None:
    cx, cy, size = side * x, y, p.vary(size)
    p.paint(p.ellipse((cx, cy), 1.3 * size, 1.25 * size), _BLACK, relief=0.2)
    p.paint(p.ellipse((cx, cy), size, size), iris, relief=0.5)
    p.paint(p.ellipse((cx, cy), 0.5 * size, 0.5 * size), _BLACK, relief=0)
    glint = p.ellipse((cx - 0.3 * size, cy - 0.35 * size), 0.2 * size, 0.2 * size)
    p.paint(glint, _WHITE, relief=0)


def _chicken(p: _Portrait) -> None:
    plumage = p.coat([(0.90, 0.88, 0.84), (0.66, 0.32, 0.14), (0.20, 0.15, 0.13)])
    red = p.coat([(0.80, 0.12, 0.10)])
    facing = 1 if p.chance(0.5) else -1
    points = p.rng.integers(4, 7)
    # The comb stands behind the head, so it is drawn first; the head is mirrored to match it.
    for k in range(points):
        share = k / (points - 1)
        foot = (facing * (0.25 - 0.55 * share), -0.50 + 0.10 * (share - 0.4) ** 2)
        height = p.vary(0.28) * (1 - 1.2 * (share - 0.45) ** 2)
        tip = (foot[0] - facing * 0.10, foot[1] - height)
        p.paint(p.limb([foot, tip], [0.09, 0.035]), red, relief=0.8)
    width = p.vary(0.30)
    path = [(0, -0.15), (-0.10 * facing, 0.40), (-0.15 * facing, 1.3)]
    p.paint(p.limb(path, [width, 1.25 * width, 2.3 * width]), plumage, fur=1.5)
    p.paint(p.ellipse((0, -0.27), p.vary(0.33), p.vary(0.30)), plumage, fur=0.9)
    p.paint(p.ellipse((facing * 0.13, -0.24), 0.20, 0.18), red, fur=0.3, relief=0.6)
    for drop in (0.0, 0.10):
        wattle = (facing * (0.26 - drop), 0.14)
        p.paint(p.ellipse(wattle, p.vary(0.085), p.vary(0.17)), red, relief=0.9)
    horn = p.coat([(0.86, 0.68, 0.28), (0.60, 0.50, 0.36)])
    beak = [(facing * 0.28, -0.20), (facing * 0.42, -0.18), (facing * 0.54, -0.11)]
    p.paint(p.limb(beak, [0.10, 0.07, 0.012]), horn)
    gape = p.limb([(facing * 0.30, -0.14), (facing * 0.48, -0.12)], [0.008, 0.008])
    p.paint(gape, (0.35, 0.25, 0.12), relief=0)
    _bird_eye(p, facing, 0.13, -0.30, 0.055, (0.85, 0.50, 0.12))


def _cow(p: _Portrait) -> None:
    coat = p.coat([(0.12, 0.11, 0.11), (0.50, 0.26, 0.13), (0.86, 0.84, 0.80), (0.66, 0.50, 0.33)])
    p.shoulders(coat, 0.60, fur=0.6)
    if p.chance(0.6):
        horn = p.coat([(0.80, 0.74, 0.62), (0.35, 0.30, 0.26)])

        def one(side: int) -> None:
            ax, ay = p.at(side * 0.26, -0.56, 0.0)
            curve = [(ax, ay), (ax + side * 0.26, ay - 0.06), (ax + side * 0.34, ay - 0.26)]
            p.paint(p.limb(curve, [0.075, 0.06, 0.015]), horn)

        p.pair(one)
    p.ears((0.36, -0.42), (0.82, -0.30), (0.08, 0.13, 0.05), coat, _shaded(_PINK, 0.8), fur=0.7)
    head = p.paint(p.ellipse(p.at(0, -0.28, 0.1), p.vary(0.42, 0.06), p.vary(0.40)), coat, fur=0.7)
    face = p.limb([p.at(0, -0.30, 0.2), p.at(0, 0.42, 0.5)], [p.vary(0.38, 0.05), 0.27])
    head = np.maximum(head, p.paint(face, coat, fur=0.6))
    if p.chance(0.7):
        blaze = p.limb(
            [p.at(0, -0.62, 0.3), p.at(0, 0.3, 0.5)], [p.vary(0.10, 0.3), p.vary(0.13, 0.3)]
        )
        p.paint(blaze, _WHITE, fur=1.0, relief=0, within=head)
    muzzle = p.coat([(0.80, 0.62, 0.56), (0.30, 0.25, 0.24), (0.62, 0.50, 0.45)])
    p.paint(p.ellipse(p.at(0, 0.52, 0.6), p.vary(0.33, 0.06), p.vary(0.22)), muzzle, fur=0.2)
    for side in (-1, 1):
        nostril = p.ellipse(p.at(side * 0.17, 0.45, 0.72), 0.055, 0.075, side * 35)
        p.paint(nostril, _shaded(muzzle, 0.3), relief=0)
    lips = [p.at(-0.18, 0.63, 0.7), p.at(0, 0.67, 0.72), p.at(0.18, 0.63, 0.7)]
    p.paint(p.limb(lips, [0.013] * 3), _shaded(muzzle, 0.4), relief=0)
    p.eyes(0.31, -0.20, 0.065, (0.14, 0.08, 0.06), z=0.25)


def _deer(p: _Portrait) -> None:
    coat = p.coat([(0.62, 0.42, 0.25), (0.50, 0.37, 0.26), (0.70, 0.48, 0.28)])
    p.shoulders(coat, 0.36, fur=0.7)
    if p.chance(0.35):
        horn = p.coat([(0.50, 0.38, 0.26)])

        def one(side: int) -> None:
            ax, ay = p.at(side * 0.13, -0.48, 0.0)
            beam = [(ax, ay), (ax + side * 0.16, ay - 0.20), (ax + side * 0.12, ay - 0.48)]
            p.paint(p.limb(beam, [0.045, 0.04, 0.015]), horn)
            tine = [(ax + side * 0.13, ay - 0.17), (ax - side * 0.02, ay - 0.38)]
            p.paint(p.limb(tine, [0.03, 0.01]), horn)

        p.pair(one)
    p.ears((0.27, -0.36), (0.74, -0.62), (0.06, 0.17, 0.03), coat, (0.86, 0.76, 0.68), fur=0.7)
    p.paint(p.ellipse(p.at(0, -0.20, 0.1), p.vary(0.36, 0.05), p.vary(0.34, 0.05)), coat, fur=0.6)
    snout = p.limb([p.at(0, -0.10, 0.3), p.at(0, 0.44, 0.62)], [0.27, p.vary(0.13)])
    p.paint(snout, coat, fur=0.5)
    pale = _shaded(coat, 1.55)
    p.paint(p.ellipse(p.at(0, 0.47, 0.62), 0.16, 0.11), pale, fur=0.4)
    for side in (-1, 1):
        p.paint(p.ellipse(p.at(side * 0.27, -0.16, 0.3), 0.10, 0.10), pale, fur=0.5, softness=0.06)
    p.eyes(0.27, -0.17, 0.075, (0.12, 0.07, 0.05), z=0.28)
    p.nose(0.44, 0.10, 0.065, _BLACK, 0.74)
    p.mouth(0.55, 0.08, 0.66)


def _dog(p: _Portrait) -> None:
    coat = p.coat([(0.70, 0.48, 0.26), (0.15, 0.13, 0.12), (0.88, 0.84, 0.77), (0.42, 0.27, 0.16)])
    p.shoulders(coat, 0.52)
    ear = coat if p.chance(0.5) else _shaded(coat, 0.55)
    head = p.paint(p.ellipse((0, -0.06), p.vary(0.47, 0.06), p.vary(0.48, 0.06)), coat, fur=1.1)
    if p.chance(0.4):
        spot = p.ellipse(p.at(0.22, -0.10, 0.4), p.vary(0.20, 0.2), p.vary(0.24, 0.2))
        p.paint(spot, _shaded(coat, 0.45), fur=1.0, relief=0, within=head)
    pale = _shaded(coat, 1.4) if p.chance(0.6) else coat
    p.paint(p.ellipse(p.at(0, 0.24, 0.55), p.vary(0.25), p.vary(0.23)), pale, fur=0.8)
    p.paint(p.ellipse(p.at(0, 0.02, 0.50), 0.10, 0.24), pale, fur=0.8, relief=0.3, softness=0.08)
    # Ears hang over the sides of the head, so they come after it.
    p.ears((0.40, -0.40), (0.60, 0.18), (0.10, 0.19, 0.13), ear, None, z=0.1, fur=1.2)
    p.eyes(0.20, -0.10, 0.07, (0.28, 0.16, 0.08))
    p.mouth(0.34, 0.15, 0.62)
    p.nose(0.18, 0.105, 0.075, _BLACK, 0.74)
    if p.chance(0.5):
        tongue = p.limb([p.at(0, 0.42, 0.62), p.at(0, 0.62, 0.6)], [0.09, 0.10])
        p.paint(tongue, (0.88, 0.45, 0.48), relief=0.7)


def _duck(p: _Portrait) -> None:
    green, brown, white = (0.08, 0.32, 0.18), (0.46, 0.35, 0.24), (0.90, 0.89, 0.86)
    plumage = p.coat([green, brown, white])
    breast = plumage if p.chance(0.5) else p.coat([(0.40, 0.24, 0.16), (0.60, 0.58, 0.56)])
    side, rx, throat = _bird(p, plumage, (0.34, 0.30), 0.20)
    body = p.ellipse((-0.45 * side, 1.02), 0.85, 0.42)
    p.paint(body, breast, fur=0.8)
    if p.chance(0.5):
        ring = p.limb([(-0.40 * side, 0.44), (0.14 * side, 0.48)], [0.045, 0.045])
        p.paint(ring, _WHITE, fur=0.4, relief=0, within=throat)
    bill = p.coat([(0.90, 0.66, 0.12), (0.88, 0.48, 0.10), (0.40, 0.42, 0.30)])
    length = p.vary(0.46)
    upper = [
        (side * 0.84 * rx, -0.22),
        (side * (0.7 * rx + 0.5 * length), -0.11),
        (side * (0.7 * rx + length), -0.07),
    ]
    p.paint(p.limb(upper, [0.125, 0.06, 0.075]), bill)
    gape = [(side * 0.9 * rx, -0.12), (side * (0.7 * rx + 0.9 * length), -0.03)]
    p.paint(p.limb(gape, [0.011, 0.009]), _shaded(bill, 0.4), relief=0)
    p.paint(p.ellipse((side * (0.72 * rx + 0.5 * length), -0.15), 0.03, 0.014), _BLACK, relief=0)
    _bird_eye(p, side, 0.10, -0.31, 0.045, (0.25, 0.12, 0.06))


def _eagle(p: _Portrait) -> None:
    plumage = p.coat([(0.92, 0.90, 0.86), (0.92, 0.90, 0.86), (0.40, 0.27, 0.16)])
    dark = p.coat([(0.22, 0.15, 0.11), (0.32, 0.22, 0.14)])
    side, rx, _ = _bird(p, plumage, (0.42, 0.34), 0.34)
    body = p.limb([(-0.25 * side, 0.85), (-0.3 * side, 1.4)], [0.62, 0.85])
    p.paint(body, dark, fur=2.2)
    bill = p.coat([(0.93, 0.74, 0.16), (0.85, 0.68, 0.30)])
    tipped = [
        (side * 0.88 * rx, -0.24),
        (side * (rx + 0.16), -0.24),
        (side * (rx + 0.29), -0.12),
        (side * (rx + 0.28), 0.06),
    ]
    p.paint(p.limb(tipped, [0.15, 0.125, 0.075, 0.012]), bill)
    gape = [(side * 0.62 * rx, -0.13), (side * (rx + 0.14), -0.12)]
    p.paint(p.limb(gape, [0.02, 0.012]), _shaded(bill, 0.55), relief=0)
    p.paint(p.ellipse((side * (rx + 0.06), -0.26), 0.022, 0.03), _shaded(bill, 0.3), relief=0)
    _bird_eye(p, side, 0.17, -0.32, 0.06, (0.92, 0.80, 0.30))
    brow = [(side * 0.03, -0.39), (side * 0.29, -0.36)]
    p.paint(p.limb(brow, [0.03, 0.035]), _shaded(plumage, 0.62), fur=0.4)


def _elephant(p: _Portrait) -> None:
    hide = p.coat([(0.50, 0.47, 0.45), (0.42, 0.38, 0.36), (0.58, 0.50, 0.43)])

    def ear(side: int) -> None:
        cx, cy = p.at(side * p.vary(0.58, 0.05), -0.12, -0.15)
        flap = np.minimum(
            p.ellipse((cx, cy), p.vary(0.34), 0.42, side * 10),
            p.ellipse((cx - side * 0.05, cy + 0.30), 0.20, 0.26),
        )
        p.paint(flap, _shaded(hide, 0.88), fur=0.3)
        for k in (-1, 0, 1):
            fold = [(cx - side * 0.15, cy + 0.1 * k), (cx + side * 0.18, cy + 0.16 * k)]
            p.paint(p.limb(fold, [0.015, 0.008]), _shaded(hide, 0.66), relief=0, softness=0.02)

    p.shoulders(hide, 0.7, fur=0.3)
    p.pair(ear)
    p.paint(p.ellipse(p.at(0, -0.22, 0.1), p.vary(0.42, 0.05), p.vary(0.46, 0.05)), hide, fur=0.3)
    if p.chance(0.6):
        for side in (-1, 1):
            ax, ay = p.at(side * 0.19, 0.22, 0.35)
            tusk = [(ax, ay), (ax + side * 0.06, ay + 0.24), (ax + side * 0.02, ay + 0.44)]
            p.paint(p.limb(tusk, [0.055, 0.045, 0.012]), _WHITE)
    swing = float(p.rng.normal(0, 0.16))
    top = p.at(0, -0.12, 0.4)
    trunk = [
        top,
        (top[0] + 0.1 * swing, 0.28),
        (top[0] + 0.5 * swing, 0.62),
        (top[0] + 1.3 * swing, 0.98),
    ]
    p.paint(p.limb(trunk, [0.25, 0.17, 0.125, 0.10]), hide, fur=0.3)
    for k in range(9):
        y = 0.08 + 0.09 * k
        x = top[0] + float(np.interp(y, [-0.12, 0.28, 0.62, 0.98], [0, 0.1, 0.5, 1.3])) * swing
        half = float(np.interp(y, [0, 0.9], [0.15, 0.07]))
        p.paint(
            p.limb([(x - half, y), (x + half, y + 0.02)], [0.009, 0.009]),
            _shaded(hide, 0.6),
            relief=0,
            softness=0.015,
        )
    p.eyes(0.29, -0.12, 0.042, (0.25, 0.15, 0.08), z=0.28, rim=_shaded(hide, 0.45))


def _human(p: _Portrait) -> None:
    skin = p.coat([(0.90, 0.72, 0.60), (0.78, 0.56, 0.42), (0.50, 0.33, 0.24), (0.94, 0.78, 0.68)])
    hair = p.coat([(0.10, 0.08, 0.07), (0.32, 0.20, 0.11), (0.78, 0.62, 0.36), (0.50, 0.48, 0.46)])
    cloth = p.coat([(0.20, 0.28, 0.50), (0.65, 0.20, 0.18), (0.85, 0.85, 0.85), (0.2, 0.2, 0.2)])
    long_hair = p.chance(0.5)
    if long_hair:
        length = p.vary(0.5, 0.3)
        back = p.limb([(0, -0.18), (0, length)], [p.vary(0.56, 0.05), 0.50])
        p.paint(back, hair, fur=0.8)
    p.paint(p.limb([(0, 0.95), (0, 1.4)], [0.65, 0.8]), cloth)
    p.paint(p.limb([(0, 0.35), (0, 0.85)], [0.22, 0.24]), _shaded(skin, 0.85))
    p.paint(p.ellipse((0, -0.22), p.vary(0.46, 0.05), 0.44), hair, fur=0.6)
    p.ears((0.41, -0.02), (0.43, 0.06), (0.05, 0.08, 0.06), skin, _shaded(skin, 0.8), fur=0)
    face = np.minimum(
        p.ellipse(p.at(0, -0.04, 0.05), p.vary(0.40, 0.04), 0.42),
        p.ellipse(p.at(0, 0.18, 0.08), p.vary(0.31, 0.06), 0.40),
    )
    skull = p.paint(face, skin)
    fringe = p.ellipse(p.at(0.1, -0.46, 0.15), 0.48, p.vary(0.22, 0.2), p.rng.normal(0, 12))
    p.paint(fringe, hair, fur=0.7, within=np.maximum(skull, p.mask(p.ellipse((0, -0.3), 0.4, 0.4))))
    for side in (-1, 1):
        ax, ay = p.at(side * 0.16, -0.11, 0.4)
        brow = [(ax - 0.09, ay + 0.015 * side), (ax, ay - 0.03), (ax + 0.09, ay - 0.015 * side)]
        p.paint(p.limb(brow, [0.014, 0.02, 0.014]), _shaded(hair, 0.8), relief=0)
    iris = p.coat([(0.25, 0.15, 0.08), (0.30, 0.45, 0.60)])
    p.eyes(0.17, -0.02, 0.062, iris, z=0.38, white=0.42, rim=_shaded(skin, 0.55))
    bridge = [p.at(0, 0.0, 0.42), p.at(0, 0.17, 0.54)]
    p.paint(p.limb(bridge, [0.03, 0.055]), skin, relief=0.9, softness=0.03)
    for side in (-1, 1):
        p.paint(
            p.ellipse(p.at(side * 0.035, 0.20, 0.5), 0.018, 0.012), _shaded(skin, 0.4), relief=0
        )
    lips = _shaded((0.78, 0.38, 0.36), p.rng.uniform(0.75, 1.1))
    p.paint(p.ellipse(p.at(0, 0.34, 0.42), p.vary(0.12), p.vary(0.035, 0.2)), lips, relief=0.6)
    p.paint(
        p.limb([p.at(-0.11, 0.34, 0.42), p.at(0.11, 0.34, 0.42)], [0.008, 0.008]),
        _shaded(lips, 0.5),
        relief=0,
    )
    if p.chance(0.15):
        beard = p.ellipse(p.at(0, 0.42, 0.3), 0.27, 0.18)
        p.paint(
            beard,
            hair,
            fur=1.0,
            within=skull * (1 - p.mask(p.ellipse(p.at(0, 0.33, 0.42), 0.14, 0.07))),
        )


def _lion(p: _Portrait) -> None:
    coat = p.coat([(0.76, 0.56, 0.32), (0.68, 0.48, 0.26), (0.82, 0.66, 0.44)])
    mane = p.coat([(0.42, 0.25, 0.11), (0.28, 0.17, 0.09), (0.62, 0.40, 0.18)])
    p.paint(p.ellipse((0, 0.12), p.vary(0.92, 0.05), p.vary(0.94, 0.05)), mane, fur=3.5)
    for k in range(34):
        angle = 2 * math.pi * (k + float(p.rng.uniform(-0.4, 0.4))) / 34
        inner, outer = p.rng.uniform(0.45, 0.6), p.rng.uniform(0.8, 1.0)
        lock = [
            (inner * math.sin(angle), 0.06 - inner * math.cos(angle)),
            (outer * math.sin(angle + 0.08), 0.12 - outer * math.cos(angle + 0.08)),
        ]
        p.paint(p.limb(lock, [0.07, 0.015]), _shaded(mane, p.rng.uniform(0.65, 1.15)), relief=0.9)
    p.ears((0.38, -0.46), (0.44, -0.52), (0.12, 0.12, 0.11), coat, _shaded(coat, 0.5))
    p.paint(p.ellipse((0, -0.02), p.vary(0.46, 0.05), p.vary(0.50, 0.05)), coat, fur=1.0)
    p.paint(p.limb([p.at(0, -0.25, 0.4), p.at(0, 0.15, 0.58)], [0.15, 0.13]), coat, relief=0.7)
    pale = _shaded(coat, 1.5)
    for side in (-1, 1):
        p.paint(p.ellipse(p.at(side * 0.11, 0.28, 0.56), 0.16, 0.12), pale, fur=0.6)
    p.paint(p.ellipse(p.at(0, 0.42, 0.50), 0.13, 0.11), pale, fur=0.9)
    p.eyes(0.20, -0.10, 0.055, (0.72, 0.52, 0.16), slant=14)
    p.mouth(0.29, 0.15, 0.62)
    p.nose(0.17, 0.115, 0.07, (0.42, 0.24, 0.20), 0.66)


def _monkey(p: _Portrait) -> None:
    coat = p.coat([(0.36, 0.25, 0.16), (0.52, 0.44, 0.34), (0.18, 0.15, 0.14), (0.62, 0.48, 0.30)])
    skin = p.coat([(0.86, 0.66, 0.54), (0.75, 0.48, 0.42), (0.40, 0.30, 0.27)])
    p.shoulders(coat, 0.48, fur=1.5)
    p.ears((0.52, -0.04), (0.60, -0.03), (0.14, 0.15, 0.13), skin, _shaded(skin, 0.7), fur=0.1)
    p.paint(p.ellipse((0, -0.06), p.vary(0.52, 0.05), p.vary(0.52, 0.05)), coat, fur=1.8)
    for side in (-1, 1):
        p.paint(p.ellipse(p.at(side * 0.15, -0.10, 0.4), 0.20, 0.18), skin, fur=0.4, relief=0.5)
    p.paint(p.ellipse(p.at(0, 0.10, 0.42), p.vary(0.26), 0.26), skin, fur=0.3, relief=0.3)
    p.paint(p.ellipse(p.at(0, 0.28, 0.52), p.vary(0.29), p.vary(0.21)), skin, fur=0.2)
    brow = [p.at(-0.26, -0.20, 0.42), p.at(0, -0.18, 0.5), p.at(0.26, -0.20, 0.42)]
    p.paint(p.limb(brow, [0.05, 0.045, 0.05]), _shaded(skin, 0.72), relief=0.8, softness=0.03)
    p.eyes(0.13, -0.10, 0.055, (0.40, 0.22, 0.10), z=0.45, rim=_shaded(skin, 0.4))
    for side in (-1, 1):
        nostril = p.ellipse(p.at(side * 0.045, 0.12, 0.56), 0.026, 0.04, side * -25)
        p.paint(nostril, _shaded(skin, 0.3), relief=0)
    lips = [p.at(-0.19, 0.31, 0.58), p.at(0, 0.34, 0.62), p.at(0.19, 0.31, 0.58)]
    p.paint(p.limb(lips, [0.012, 0.016, 0.012]), _shaded(skin, 0.4), relief=0)


def _mouse(p: _Portrait) -> None:
    coat = p.coat([(0.52, 0.47, 0.42), (0.90, 0.88, 0.86), (0.44, 0.32, 0.22), (0.25, 0.22, 0.21)])
    p.shoulders(coat, 0.50)
    p.ears((0.46, -0.46), (0.56, -0.54), (0.24, 0.27, 0.25), coat, _PINK, z=-0.1, fur=0.2)
    p.paint(p.ellipse((0, -0.06), p.vary(0.44, 0.05), p.vary(0.42, 0.05)), coat, fur=1.0)
    snout = p.limb([p.at(0, 0.02, 0.3), p.at(0, 0.42, 0.8)], [0.36, p.vary(0.10)])
    p.paint(snout, coat, fur=0.8)
    p.paint(p.ellipse(p.at(0, 0.42, 0.78), 0.12, 0.10), _shaded(coat, 1.4), fur=0.4, softness=0.05)
    p.eyes(0.25, -0.04, 0.068, p.coat([(0.06, 0.05, 0.05), (0.60, 0.10, 0.12)]), z=0.34)
    p.nose(0.42, 0.055, 0.042, (0.86, 0.55, 0.55), 0.90)
    p.whiskers(0.42, 0.78, (0.85, 0.85, 0.85))
    p.whiskers(0.40, 0.76, (0.15, 0.15, 0.15))


def _natural(p: _Portrait) -> None:
    """Paint a scene without an animal: sky, hills, trees, a field or water."""
    for channel, (high, low) in enumerate(
        zip(p.coat([(0.35, 0.55, 0.85), (0.75, 0.50, 0.35)]), (0.90, 0.90, 0.90), strict=True)
    ):
        fade = np.clip((p.y + 1) / 1.2, 0, 1)
        p.picture[:, :, channel] = (high + fade * (low - high)) * (1 + 0.05 * p.coarse)
    horizon = float(p.rng.uniform(-0.35, 0.15))
    for k in range(int(p.rng.integers(1, 4))):
        ridge = np.zeros_like(p.y)
        for _ in range(4):
            length, phase = p.rng.uniform(0.3, 1.6), p.rng.uniform(0, 2 * math.pi)
            ridge += np.float32(0.10 * length) * np.sin(p.x * np.float32(4 / length) + phase)
        hill = (horizon - 0.2 + 0.16 * k) - p.y + ridge
        tone = p.coat([(0.40, 0.46, 0.52), (0.30, 0.38, 0.28), (0.50, 0.46, 0.40)])
        p.paint(hill, _shaded(tone, 1 - 0.15 * k), fur=1.5, relief=0.4)
    ground = p.coat([(0.36, 0.46, 0.20), (0.62, 0.52, 0.34), (0.35, 0.48, 0.60)])
    p.paint(horizon + 0.2 - p.y + np.float32(0.03) * p.coarse, ground, fur=2.0, relief=0.2)
    for _ in range(int(p.rng.integers(2, 9))):
        x, foot = float(p.rng.uniform(-1.0, 1.0)), float(p.rng.uniform(horizon + 0.2, 0.9))
        tall = p.rng.uniform(0.35, 0.9) * (0.5 + (foot - horizon) / 1.5)
        trunk = p.limb([(x, foot), (x + 0.03, foot - 0.7 * tall)], [0.07 * tall, 0.04 * tall])
        p.paint(trunk, (0.26, 0.18, 0.12), fur=0.5)
        leaves = p.coat([(0.18, 0.32, 0.12), (0.60, 0.36, 0.12), (0.32, 0.40, 0.16)])
        for _ in range(5):
            dx, dy = p.rng.normal(0, 0.16 * tall, 2)
            crown = p.ellipse((x + dx, foot - 0.85 * tall + dy), 0.25 * tall, 0.22 * tall)
            p.paint(crown, _shaded(leaves, p.rng.uniform(0.7, 1.1)), fur=3.0)


def _panda(p: _Portrait) -> None:
    white, black = p.coat([_WHITE], 0.04), p.coat([(0.10, 0.09, 0.09)])
    p.shoulders(black, 0.72, fur=1.3)
    p.ears((0.46, -0.46), (0.53, -0.56), (0.18, 0.18, 0.17), black, None, fur=1.4)
    p.paint(p.ellipse((0, 0), p.vary(0.64, 0.05), p.vary(0.56, 0.05)), white, fur=1.3)
    slant = float(p.rng.normal(32, 6))
    for side in (-1, 1):
        patch = p.ellipse(p.at(side * 0.25, 0.0, 0.42), p.vary(0.125), p.vary(0.18), side * slant)
        p.paint(patch, black, fur=0.5, relief=0.2)
    p.paint(p.ellipse(p.at(0, 0.27, 0.55), p.vary(0.22), p.vary(0.16)), white, fur=0.7)
    p.eyes(0.235, -0.03, 0.04, (0.12, 0.08, 0.05), z=0.44, rim=None)
    p.mouth(0.34, 0.11, 0.60)
    p.nose(0.20, 0.095, 0.058, _BLACK, 0.66)


def _pig(p: _Portrait) -> None:
    skin = p.coat([(0.92, 0.70, 0.66), (0.88, 0.64, 0.58), (0.35, 0.29, 0.28), (0.74, 0.50, 0.36)])
    p.shoulders(skin, 0.70, fur=0.3)
    p.paint(p.ellipse((0, -0.02), p.vary(0.52, 0.05), p.vary(0.54, 0.05)), skin, fur=0.4)
    floppy = p.chance(0.4)
    tip = (0.56, -0.22) if floppy else (0.58, -0.84)
    p.ears(
        (0.36, -0.46),
        tip,
        (0.17, 0.15, 0.03),
        skin,
        None if floppy else _shaded(skin, 0.75),
        z=0.1,
        fur=0.2,
    )
    p.paint(p.limb([p.at(0, 0.08, 0.4), p.at(0, 0.24, 0.75)], [0.26, 0.21]), skin, fur=0.2)
    disc = _shaded(skin, 0.88)
    cx, cy = p.at(0, 0.25, 0.84)
    rx, ry = p.vary(0.215), p.vary(0.165)
    p.paint(p.ellipse((cx, cy), rx, ry), disc, relief=1.2)
    for side in (-1, 1):
        nostril = p.ellipse((cx + side * 0.42 * rx, cy), 0.22 * rx, 0.42 * ry, side * 12)
        p.paint(nostril, _shaded(skin, 0.3), relief=0)
    lips = [p.at(-0.20, 0.46, 0.6), p.at(0, 0.52, 0.66), p.at(0.20, 0.46, 0.6)]
    p.paint(p.limb(lips, [0.012] * 3), _shaded(skin, 0.45), relief=0)
    p.eyes(0.25, -0.12, 0.048, (0.25, 0.18, 0.14), rim=_shaded(skin, 0.5))


def _pigeon(p: _Portrait) -> None:
    plumage = p.coat(
        [(0.42, 0.46, 0.54), (0.50, 0.52, 0.58), (0.85, 0.84, 0.84), (0.50, 0.36, 0.28)]
    )
    side, rx, throat = _bird(p, plumage, (0.30, 0.27), 0.26)
    breast = p.limb([(-0.05 * side, 0.60), (-0.20 * side, 1.4)], [0.36, 0.66])
    p.paint(breast, plumage, fur=0.8)
    sheen = p.coat([(0.25, 0.45, 0.35), (0.42, 0.28, 0.44)])
    collar = p.limb([(-0.34 * side, 0.36), (0.22 * side, 0.46)], [0.13, 0.15])
    p.paint(collar, sheen, fur=1.2, relief=0.2, softness=0.12, within=throat)
    beak = p.coat([(0.22, 0.20, 0.20), (0.50, 0.38, 0.36)])
    tip = p.vary(0.26)
    line = [
        (side * 0.85 * rx, -0.20),
        (side * (0.9 * rx + 0.6 * tip), -0.14),
        (side * (0.9 * rx + tip), -0.08),
    ]
    p.paint(p.limb(line, [0.065, 0.035, 0.010]), beak)
    p.paint(p.ellipse((side * (rx + 0.01), -0.24), 0.065, 0.045), (0.88, 0.86, 0.84), relief=0.6)
    _bird_eye(p, side, 0.08, -0.29, 0.055, (0.90, 0.45, 0.12))


def _rabbit(p: _Portrait) -> None:
    coat = p.coat([(0.62, 0.50, 0.38), (0.92, 0.90, 0.88), (0.45, 0.43, 0.41), (0.70, 0.48, 0.28)])
    p.shoulders(coat, 0.50)
    lop = p.chance(0.25)
    base, tip = ((0.30, -0.36), (0.58, 0.34)) if lop else ((0.17, -0.28), (0.26, -1.0))
    if not lop:
        p.ears(base, tip, (0.10, 0.15, 0.07), coat, _PINK, fur=0.6)
    p.paint(p.ellipse((0, 0.10), p.vary(0.43, 0.05), p.vary(0.46, 0.05)), coat, fur=1.1)
    if lop:
        p.ears(base, tip, (0.11, 0.15, 0.12), _shaded(coat, 0.85), None, z=0.1, fur=0.8)
    pale = _shaded(coat, 1.4)
    for side in (-1, 1):
        p.paint(p.ellipse(p.at(side * 0.09, 0.34, 0.45), 0.14, 0.12), pale, fur=0.7)
    p.eyes(0.30, 0.02, 0.072, p.coat([(0.14, 0.09, 0.07), (0.70, 0.20, 0.22)]), z=0.28)
    p.mouth(0.34, 0.07, 0.48)
    p.nose(0.25, 0.05, 0.035, (0.82, 0.52, 0.52), 0.52)
    p.whiskers(0.31, 0.48, _shaded(coat, 1.6))


def _sheep(p: _Portrait) -> None:
    wool = p.coat([(0.86, 0.82, 0.74), (0.76, 0.70, 0.60), (0.92, 0.90, 0.85)])
    face = p.coat([(0.14, 0.12, 0.12), (0.88, 0.84, 0.78), (0.62, 0.50, 0.40)])
    p.shoulders(wool, 0.80, fur=3.0)
    p.ears((0.32, -0.20), (0.76, -0.10), (0.07, 0.11, 0.04), face, _shaded(_PINK, 0.85), fur=0.4)
    for k in range(16):
        angle = math.pi * (k / 15 - 0.5) * 1.35
        x, y = 0.40 * math.sin(angle), -0.22 - 0.34 * math.cos(angle)
        curl = p.ellipse((x, y), p.vary(0.17, 0.15), p.vary(0.16, 0.15))
        p.paint(curl, _shaded(wool, p.rng.uniform(0.85, 1.1)), fur=1.8)
    long_face = p.limb([p.at(0, -0.24, 0.2), p.at(0, 0.44, 0.56)], [p.vary(0.31, 0.05), 0.165])
    p.paint(long_face, face, fur=0.5)
    for k in range(5):
        curl = p.ellipse(p.at(0.11 * (k - 2), -0.46, 0.25), p.vary(0.11), p.vary(0.11))
        p.paint(curl, _shaded(wool, p.rng.uniform(0.9, 1.1)), fur=1.6)
    p.eyes(0.24, -0.12, 0.052, (0.70, 0.58, 0.28), z=0.28, rim=_shaded(face, 0.5))
    for side in (-1, 1):
        nostril = p.limb(
            [p.at(side * 0.05, 0.50, 0.68), p.at(side * 0.10, 0.43, 0.66)], [0.02, 0.01]
        )
        p.paint(nostril, (0.20, 0.12, 0.11), relief=0)
    p.mouth(0.55, 0.09, 0.64, drop=0.05)


def _tiger(p: _Portrait) -> None:
    coat = p.coat([(0.84, 0.50, 0.18), (0.78, 0.45, 0.17), (0.90, 0.88, 0.84)], 0.06)
    p.shoulders(coat, 0.66, fur=1.3)
    p.ears((0.42, -0.42), (0.48, -0.52), (0.14, 0.14, 0.12), _BLACK, _WHITE)
    ruff = p.paint(p.ellipse((0, 0.12), p.vary(0.66, 0.05), p.vary(0.50)), _WHITE, fur=2.2)
    head = p.paint(p.ellipse((0, -0.06), p.vary(0.53, 0.05), p.vary(0.50, 0.05)), coat, fur=1.2)
    for side in (-1, 1):
        p.paint(p.ellipse(p.at(side * 0.20, -0.18, 0.4), 0.11, 0.07), _WHITE, fur=0.7, relief=0)
        p.paint(p.ellipse(p.at(side * 0.36, 0.16, 0.3), 0.16, 0.16), _WHITE, fur=1.2, relief=0)
    bars = [((0.05, -0.50 + 0.09 * k), (0.26 + 0.02 * k, -0.46 + 0.09 * k)) for k in range(3)]
    brow = [((0.12, -0.27), (0.30, -0.32)), ((0.34, -0.22), (0.44, -0.36))]
    cheeks = [((0.34, -0.02 + 0.11 * k), (0.66, -0.08 + 0.17 * k)) for k in range(5)]
    p.stripes(bars + brow + cheeks, 0.036, np.maximum(head, ruff))
    p.paint(p.limb([p.at(0, -0.20, 0.4), p.at(0, 0.14, 0.6)], [0.11, 0.13]), coat, relief=0.7)
    for side in (-1, 1):
        p.paint(p.ellipse(p.at(side * 0.12, 0.27, 0.56), 0.16, 0.12), _WHITE, fur=0.6)
    p.paint(p.ellipse(p.at(0, 0.40, 0.50), 0.13, 0.09), _WHITE, fur=0.7)
    p.eyes(0.20, -0.10, 0.055, (0.70, 0.66, 0.26), slant=12)
    p.mouth(0.28, 0.15, 0.60)
    p.nose(0.15, 0.11, 0.065, (0.82, 0.50, 0.46), 0.66)


def _wolf(p: _Portrait) -> None:
    coat = p.coat([(0.46, 0.43, 0.40), (0.30, 0.28, 0.27), (0.62, 0.55, 0.46), (0.82, 0.80, 0.77)])
    pale = _shaded(coat, 1.6)
    p.shoulders(coat, 0.60, fur=2.2)
    p.ears((0.32, -0.42), (0.40, -0.84), (0.17, 0.12, 0.02), coat, _shaded(coat, 0.45), fur=0.8)
    for side in (-1, 1):
        cheek = [p.at(side * 0.20, 0.02, 0.1), p.at(side * 0.56, 0.20, 0.0)]
        p.paint(p.limb(cheek, [0.32, 0.14]), pale, fur=2.4, relief=0.5)
    p.paint(p.ellipse((0, -0.10), p.vary(0.44, 0.05), p.vary(0.44, 0.05)), coat, fur=1.5)
    for side in (-1, 1):
        p.paint(p.ellipse(p.at(side * 0.22, 0.10, 0.34), 0.14, 0.13), pale, relief=0, softness=0.15)
        p.paint(p.ellipse(p.at(side * 0.15, -0.20, 0.4), 0.06, 0.05), pale, fur=0.6, relief=0)
    snout = p.limb([p.at(0, -0.08, 0.42), p.at(0, 0.30, 0.90)], [0.15, p.vary(0.12)])
    p.paint(snout, _shaded(coat, 1.1), fur=0.7)
    p.paint(p.ellipse(p.at(0, 0.37, 0.82), 0.13, 0.10), pale, fur=0.6)
    p.eyes(0.18, -0.11, 0.048, (0.82, 0.65, 0.22), slant=24)
    p.mouth(0.42, 0.12, 0.84)
    p.nose(0.29, 0.085, 0.06, _BLACK, 0.98)


_KINDS: dict[str, Callable[[_Portrait], None]] = {
    "BearHead": _bear,
    "CatHead": _cat,
    "ChickenHead": _chicken,
    "CowHead": _cow,
    "DeerHead": _deer,
    "DogHead": _dog,
    "DuckHead": _duck,
    "EagleHead": _eagle,
    "ElephantHead": _elephant,
    "HumanHead": _human,
    "LionHead": _lion,
    "MonkeyHead": _monkey,
    "MouseHead": _mouse,
    "Natural": _natural,
    "PandaHead": _panda,
    "PigHead": _pig,
    "PigeonHead": _pigeon,
    "RabbitHead": _rabbit,
    "SheepHead": _sheep,
    "TigerHead": _tiger,
    "WolfHead": _wolf,
}


def _individual(name: str, seed: int, index: int, sides: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Picture ``index`` (from 1) of a class: (height, width, 3)."""
    stream = np.random.SeedSequence([seed, CLASSES.index(name) + 1, index])
    rng = np.random.default_rng(stream)
    height = int(rng.integers(sides[0], sides[1] + 1))
    width = int(np.clip(round(height * rng.uniform(0.9, 1.1)), *sides))
    portrait = _Portrait(rng, height, width)
    portrait.background()
    _KINDS[name](portrait)
    picture = portrait.picture.reshape(height, _SUPERSAMPLING, width, _SUPERSAMPLING, 3)
    picture = picture.mean(axis=(1, 3))
    # The camera: exposure, tint, tone curve, focus, sensor noise.
    exposure = math.exp(0.12 * rng.standard_normal()) * np.exp(0.03 * rng.standard_normal(3))
    picture = np.clip(picture * exposure, 0, 1) ** math.exp(0.12 * rng.standard_normal())
    blur = rng.uniform(0.2, 0.8)
    picture = scipy.ndimage.gaussian_filter(picture, (blur, blur, 0))
    grain = rng.uniform(1, 4) * rng.standard_normal(picture.shape)
    return np.clip(np.round(255 * picture + grain), 0, 255).astype(np.uint8)


def write(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    images_per_class: int = 12,
    min_side: int = 96,
    max_side: int = 128,
    n_jobs: int | None = None,
) -> None:
    """Write the synthetic faces as ``Image/BearHead/bear0001.jpg`` ... under a folder.

    Parameters
    ----------
    folder : path-like
        Where the folder ``Image`` with its 21 class folders is made.
    seed : int, default 0
        Non-negative seed of everything random.
    images_per_class : int, default 12
        Number of individuals of each kind, 1 to 9999.
    min_side, max_side : int, default 96 and 128
        Smallest and largest side of an image in pixels, at least 24. The published images have
        25 to 2529 pixels, most of them 150.
    n_jobs : int, optional
        Number of processes (joblib's convention). The files do not depend on it.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
    if not 1 <= images_per_class <= 9999:
        raise ValueError(f"images_per_class must lie between 1 and 9999, got {images_per_class}")
    if not 24 <= min_side <= max_side:
        raise ValueError(
            f"min_side must be at least 24 and at most max_side, got {min_side} and {max_side}"
        )
    joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_write_class)(
            Path(folder), name, seed, images_per_class, (min_side, max_side)
        )
        for name in CLASSES
    )


def _write_class(folder: Path, name: str, seed: int, count: int, sides: tuple[int, int]) -> None:
    stem = name.removesuffix("Head").lower()
    for index in range(1, count + 1):
        picture = _individual(name, seed, index, sides)
        with atomic_path(folder / "Image" / name / f"{stem}{index:04d}.jpg") as path:
            Image.fromarray(picture).save(path, "JPEG", quality=_JPEG_QUALITY)
