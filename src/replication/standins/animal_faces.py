"""Synthetic animal faces in the raw layout of the LHI animal face data set.

The published data set shows the heads of 20 kinds of animals in web photographs and has a folder
``Natural`` of scenes without an animal. Here each image is an *individual*: a head of shaded
ellipses (skull, ears, muzzle, eyes, nose, and what only some kinds have) with the measures of a
row of :data:`_KINDS`, every measure varied, turned, nodding, tilted, nearer or farther, shaggy,
under light from a random side, before a blurred background. Birds are shown in profile, as they
mostly are in the published set. Folders and format are the published ones.

Image ``k`` of class ``c`` depends on (seed, c, k) and the range of sides only, so a run with more
images keeps those that it shares with a smaller one.
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
import scipy.ndimage
from PIL import Image

from replication.images.animal_faces import CLASSES
from replication.io import atomic_path

__all__ = ["VERSION", "write"]

VERSION = 2
"""Raised whenever the output for given parameters changes, so that older raw files are remade."""

Field = npt.NDArray[np.floating[Any]]
Colour = tuple[float, float, float]

_SUPERSAMPLING = 2
_JPEG_QUALITY = 90


@dataclass(frozen=True)
class _Part:
    """An ellipse in a head's own coordinates: the skull's centre is 0, its radius about 0.5.

    ``x`` points right, ``y`` down and ``z`` towards the viewer. Parts beside the middle come in
    pairs, except those of a profile. ``angle`` turns the part by degrees, on the right side
    clockwise.
    """

    colour: str
    x: float
    y: float
    rx: float
    ry: float
    angle: float = 0.0
    z: float = 0.0
    chance: float = 1.0  # share of the individuals that have it


@dataclass(frozen=True)
class _Kind:
    """A kind of animal: its parts from the back to the front, then eyes and nose."""

    coats: str  # names of the colours that its coat may have
    parts: tuple[_Part, ...]
    eye: tuple[float, float, float]  # x, y, radius
    nose: tuple[float, float, float] | None = None  # y, half its width, how far it stands out
    iris: str = "brown"
    nose_colour: str = "black"
    fur: float = 1.0
    profile: bool = False


_PALETTE: dict[str, Colour] = {
    "black": (0.08, 0.07, 0.07),
    "white": (0.93, 0.92, 0.89),
    "grey": (0.47, 0.46, 0.45),
    "slate": (0.44, 0.47, 0.54),
    "brown": (0.34, 0.21, 0.12),
    "fawn": (0.62, 0.44, 0.27),
    "cream": (0.82, 0.74, 0.62),
    "orange": (0.85, 0.50, 0.18),
    "gold": (0.80, 0.62, 0.22),
    "red": (0.78, 0.14, 0.11),
    "pink": (0.90, 0.66, 0.62),
    "green": (0.12, 0.36, 0.22),
    "leaf": (0.30, 0.42, 0.20),
    "sky": (0.62, 0.70, 0.80),
}
_BACKGROUNDS = ("leaf", "grey", "fawn", "sky", "cream", "brown")

# Colours of parts are those of the palette, or shades of the individual's coat.
_SHADES = {"coat": 1.0, "dark": 0.6, "shadow": 0.35, "pale": 1.45, "light": 1.2}

_P = _Part
# fmt: off
_KINDS: dict[str, _Kind | None] = {
    "BearHead": _Kind("brown black fawn",
        (_P("coat", 0.45, -0.50, 0.18, 0.18), _P("dark", 0.46, -0.49, 0.10, 0.10),
            _P("coat", 0, 0, 0.58, 0.54), _P("light", 0, 0.22, 0.26, 0.23, z=0.6)),
        eye=(0.21, -0.08, 0.055), nose=(0.13, 0.11, 0.75), fur=1.6),
    "CatHead": _Kind("orange grey black cream",
        (_P("coat", 0.40, -0.46, 0.16, 0.36, 20), _P("pink", 0.39, -0.44, 0.09, 0.26, 20),
            _P("coat", 0, 0, 0.56, 0.47), _P("dark", 0.10, -0.36, 0.025, 0.12, 5, 0.3, 0.6),
            _P("dark", 0.45, 0.10, 0.13, 0.022, -5, 0.3, 0.6),
            _P("pale", 0.09, 0.22, 0.13, 0.10, z=0.5)),
        eye=(0.22, -0.06, 0.11), nose=(0.14, 0.055, 0.55), iris="gold", nose_colour="pink"),
    "ChickenHead": _Kind("white fawn black",
        (_P("red", 0.20, -0.56, 0.10, 0.20, 15), _P("red", 0.00, -0.62, 0.10, 0.22),
            _P("red", -0.20, -0.56, 0.10, 0.20, -15), _P("coat", -0.12, 0.75, 0.48, 0.95, 8),
            _P("coat", 0, -0.25, 0.33, 0.30), _P("red", 0.14, -0.22, 0.20, 0.18),
            _P("red", 0.24, 0.12, 0.09, 0.18), _P("gold", 0.40, -0.16, 0.17, 0.07, 20)),
        eye=(0.13, -0.28, 0.055), iris="orange", profile=True),
    "CowHead": _Kind("black brown cream fawn",
        (_P("cream", 0.42, -0.66, 0.09, 0.24, 40, chance=0.6),
            _P("coat", 0.60, -0.34, 0.25, 0.12, -10), _P("coat", 0, -0.26, 0.42, 0.40),
            _P("coat", 0, 0.10, 0.34, 0.56, z=0.3),
            _P("white", 0, -0.15, 0.11, 0.42, z=0.4, chance=0.7),
            _P("pink", 0, 0.52, 0.33, 0.22, z=0.6),
            _P("shadow", 0.17, 0.46, 0.055, 0.075, 35, 0.7)),
        eye=(0.31, -0.18, 0.065), fur=0.6),
    "DeerHead": _Kind("fawn brown",
        (_P("brown", 0.26, -0.72, 0.04, 0.32, 18, chance=0.4),
            _P("brown", 0.36, -0.82, 0.03, 0.16, 55, chance=0.4),
            _P("coat", 0.50, -0.48, 0.28, 0.14, -28), _P("cream", 0.51, -0.47, 0.20, 0.08, -28),
            _P("coat", 0, -0.20, 0.35, 0.34), _P("coat", 0, 0.18, 0.20, 0.44, z=0.4),
            _P("pale", 0, 0.48, 0.16, 0.12, z=0.6)),
        eye=(0.27, -0.16, 0.075), nose=(0.44, 0.10, 0.7), fur=0.6),
    "DogHead": _Kind("fawn black cream brown",
        (_P("coat", 0, -0.06, 0.47, 0.48),
            _P("dark", 0.22, -0.12, 0.16, 0.18, z=0.35, chance=0.4),
            _P("pale", 0, 0.08, 0.11, 0.34, z=0.5, chance=0.6),
            _P("light", 0, 0.24, 0.25, 0.23, z=0.55),
            _P("pink", 0, 0.46, 0.08, 0.12, z=0.55, chance=0.4),
            _P("dark", 0.50, -0.06, 0.17, 0.40, -14)),
        eye=(0.19, -0.12, 0.065), nose=(0.13, 0.11, 0.72)),
    "DuckHead": _Kind("green brown white grey",
        (_P("coat", -0.10, 0.70, 0.34, 0.95, 8),
            _P("white", -0.10, 0.42, 0.27, 0.06, -5, chance=0.5), _P("coat", 0, -0.20, 0.33, 0.29),
            _P("gold", 0.46, -0.10, 0.30, 0.10, 8)),
        eye=(0.10, -0.27, 0.05), fur=0.5, profile=True),
    "EagleHead": _Kind("white brown",
        (_P("brown", -0.15, 0.85, 0.55, 0.70, 8), _P("coat", -0.10, 0.20, 0.36, 0.55, 8),
            _P("coat", 0, -0.20, 0.40, 0.30), _P("gold", 0.42, -0.16, 0.24, 0.14, 15),
            _P("gold", 0.58, -0.02, 0.07, 0.17, 5), _P("shadow", 0.16, -0.36, 0.16, 0.04, 12)),
        eye=(0.15, -0.28, 0.065), iris="gold", fur=1.4, profile=True),
    "ElephantHead": _Kind("grey slate",
        (_P("coat", 0.66, -0.08, 0.34, 0.50, -8), _P("dark", 0.68, -0.04, 0.24, 0.38, -8),
            _P("coat", 0, -0.18, 0.42, 0.46), _P("white", 0.27, 0.48, 0.05, 0.28, -15, 0.3, 0.6),
            _P("coat", 0, 0.18, 0.20, 0.40, z=0.4), _P("light", 0, 0.60, 0.14, 0.48, z=0.5),
            _P("dark", 0, 0.36, 0.15, 0.02, z=0.5), _P("dark", 0, 0.56, 0.13, 0.02, z=0.5),
            _P("dark", 0, 0.76, 0.12, 0.02, z=0.5)),
        eye=(0.28, -0.10, 0.04), fur=0.3),
    "HumanHead": _Kind("cream fawn pink brown",
        (_P("shadow", 0, -0.10, 0.50, 0.60), _P("shadow", 0, 0.30, 0.50, 0.50, chance=0.4),
            _P("coat", 0.43, 0.02, 0.07, 0.13), _P("coat", 0, 0.04, 0.41, 0.55),
            _P("shadow", 0, -0.46, 0.38, 0.14, z=0.1),
            _P("shadow", 0.17, -0.13, 0.10, 0.02, 6, 0.4), _P("light", 0, 0.10, 0.06, 0.14, z=0.5),
            _P("red", 0, 0.34, 0.14, 0.035, z=0.45), _P("white", 0.17, -0.04, 0.08, 0.045, z=0.41)),
        eye=(0.17, -0.04, 0.04), fur=0.2),
    "LionHead": _Kind("gold fawn",
        (_P("dark", 0, 0.06, 0.90, 0.88), _P("light", 0.44, -0.44, 0.14, 0.14),
            _P("coat", 0, -0.02, 0.48, 0.50), _P("light", 0, 0.02, 0.14, 0.34, z=0.5),
            _P("pale", 0.12, 0.26, 0.16, 0.13, z=0.55), _P("pale", 0, 0.42, 0.13, 0.12, z=0.5)),
        eye=(0.21, -0.12, 0.055), nose=(0.15, 0.12, 0.65), iris="gold", nose_colour="brown",
        fur=2.6),
    "MonkeyHead": _Kind("brown black fawn grey",
        (_P("cream", 0.56, -0.04, 0.16, 0.18), _P("coat", 0, -0.06, 0.54, 0.54),
            _P("cream", 0.15, -0.10, 0.20, 0.18, z=0.4), _P("cream", 0, 0.22, 0.29, 0.28, z=0.5),
            _P("dark", 0.15, -0.21, 0.14, 0.03, 8, 0.45),
            _P("shadow", 0.05, 0.12, 0.025, 0.04, -25, 0.55),
            _P("shadow", 0, 0.34, 0.18, 0.015, z=0.6)),
        eye=(0.14, -0.09, 0.055), fur=1.8),
    "MouseHead": _Kind("grey white fawn black",
        (_P("coat", 0.52, -0.48, 0.30, 0.32), _P("pink", 0.53, -0.46, 0.21, 0.23),
            _P("coat", 0, -0.04, 0.44, 0.42), _P("coat", 0, 0.22, 0.26, 0.30, z=0.5),
            _P("light", 0, 0.40, 0.13, 0.12, z=0.75)),
        eye=(0.25, -0.04, 0.07), nose=(0.42, 0.055, 0.85), iris="black", nose_colour="pink",
        fur=0.8),
    "Natural": None,
    "PandaHead": _Kind("white",
        (_P("black", 0.48, -0.50, 0.20, 0.20), _P("coat", 0, 0, 0.64, 0.56),
            _P("black", 0.25, 0.00, 0.13, 0.19, 32, 0.42),
            _P("white", 0, 0.27, 0.22, 0.16, z=0.55)),
        eye=(0.24, -0.03, 0.045), nose=(0.20, 0.10, 0.65), fur=1.3),
    "PigHead": _Kind("pink fawn black",
        (_P("coat", 0.44, -0.54, 0.16, 0.30, 28), _P("dark", 0.43, -0.52, 0.09, 0.20, 28),
            _P("coat", 0, -0.02, 0.52, 0.54), _P("coat", 0, 0.20, 0.28, 0.24, z=0.6),
            _P("light", 0, 0.25, 0.22, 0.17, z=0.8),
            _P("shadow", 0.09, 0.25, 0.045, 0.07, 12, 0.82)),
        eye=(0.25, -0.12, 0.048), fur=0.3),
    "PigeonHead": _Kind("slate grey white brown",
        (_P("coat", -0.15, 0.95, 0.50, 0.65, 8), _P("coat", -0.08, 0.30, 0.28, 0.52, 8),
            _P("green", -0.08, 0.44, 0.31, 0.16, 5), _P("coat", 0, -0.22, 0.30, 0.27),
            _P("black", 0.38, -0.13, 0.17, 0.05, 20), _P("white", 0.29, -0.21, 0.07, 0.05)),
        eye=(0.08, -0.29, 0.055), iris="orange", fur=0.6, profile=True),
    "RabbitHead": _Kind("fawn white grey brown",
        (_P("coat", 0.20, -0.62, 0.12, 0.46, 8), _P("pink", 0.20, -0.60, 0.06, 0.36, 8),
            _P("coat", 0, 0.10, 0.43, 0.46), _P("pale", 0.09, 0.34, 0.14, 0.12, z=0.45)),
        eye=(0.30, 0.02, 0.075), nose=(0.25, 0.05, 0.5), nose_colour="pink"),
    "SheepHead": _Kind("white cream",
        (_P("coat", 0, -0.14, 0.62, 0.62), _P("grey", 0.58, -0.12, 0.20, 0.09, 12),
            _P("coat", 0.34, -0.44, 0.20, 0.18), _P("grey", 0, 0.12, 0.30, 0.52, z=0.3),
            _P("coat", 0.13, -0.46, 0.17, 0.15, z=0.2),
            _P("black", 0.06, 0.46, 0.02, 0.05, 40, 0.6), _P("black", 0, 0.56, 0.10, 0.015, z=0.6)),
        eye=(0.22, -0.10, 0.052), iris="gold", fur=2.6),
    "TigerHead": _Kind("orange",
        (_P("coat", 0.46, -0.46, 0.16, 0.16), _P("white", 0, 0.14, 0.64, 0.48),
            _P("coat", 0, -0.06, 0.53, 0.50), _P("white", 0.34, 0.18, 0.17, 0.15, z=0.3),
            *(_P("black", 0.15, -0.52 + 0.09 * k, 0.11, 0.024, 10, 0.35) for k in range(3)),
            *(_P("black", 0.48, -0.10 + 0.12 * k, 0.15, 0.030, 12 * k - 20, 0.2) for k in range(5)),
            _P("white", 0.12, 0.28, 0.16, 0.12, z=0.55)),
        eye=(0.20, -0.10, 0.06), nose=(0.16, 0.11, 0.65), iris="gold", nose_colour="pink", fur=1.4),
    "WolfHead": _Kind("grey black cream fawn",
        (_P("coat", 0.34, -0.56, 0.14, 0.32, 14), _P("shadow", 0.34, -0.54, 0.08, 0.22, 14),
            _P("pale", 0.34, 0.14, 0.30, 0.24, 20), _P("coat", 0, -0.10, 0.44, 0.44),
            _P("pale", 0.22, 0.06, 0.15, 0.15, z=0.34), _P("light", 0, 0.16, 0.15, 0.34, z=0.6),
            _P("pale", 0, 0.40, 0.12, 0.10, z=0.8)),
        eye=(0.18, -0.11, 0.05), nose=(0.30, 0.085, 0.95), iris="gold", fur=2.2),
}
# fmt: on


class _Portrait:
    """A canvas in the coordinates of a turned head, from -1 to 1, and the light on it."""

    def __init__(self, rng: np.random.Generator, height: int, width: int, upright: bool) -> None:
        self.rng = rng
        turns = np.clip(rng.standard_normal(3), -2.3, 2.3) * ([0, 0, 4] if upright else [13, 8, 8])
        self.yaw, self.nod, roll = np.radians(turns).tolist()
        zoom = math.exp(rng.uniform(math.log(0.98), math.log(1.34)))
        shift = rng.normal(0, 0.06, 2)
        self.shape = (height * _SUPERSAMPLING, width * _SUPERSAMPLING)
        y, x = (
            (((np.arange(n, dtype=np.float32) + 0.5) / n * 2 - 1) - offset) / zoom
            for n, offset in zip(self.shape, shift, strict=True)
        )
        self.x = (math.cos(roll) * x[None, :] + math.sin(roll) * y[:, None]).astype(np.float32)
        self.y = (math.cos(roll) * y[:, None] - math.sin(roll) * x[None, :]).astype(np.float32)
        self.pixel = np.float32(2 / min(self.shape) / zoom)
        self.rough = self.noise(0.02) + self.noise(0.09)
        side = rng.uniform(-1, 1)
        self.light = np.array([math.sin(side), -math.cos(side)]) * rng.uniform(0.25, 0.55)
        top, bottom = (self.tinted(str(rng.choice(_BACKGROUNDS)), 0.2) for _ in range(2))
        blobs = self.noise(0.25) * np.float32(rng.uniform(0.02, 0.09))
        ramp = np.clip((self.y + 1) / 2 + 2 * blobs, 0, 1)[..., None]
        self.picture = (top + ramp * (bottom - top)) * (1 + blobs[..., None])

    def noise(self, scale: float) -> Field:
        """Unit-variance noise whose grains have about ``scale`` times half the picture's side."""
        white = self.rng.standard_normal(self.shape, dtype=np.float32)
        field = scipy.ndimage.gaussian_filter(white, scale * min(self.shape) / 2, mode="wrap")
        return np.asarray(field / field.std(), dtype=np.float32)

    def tinted(self, name: str, spread: float = 0.10) -> Field:
        """Return a colour as this individual has it."""
        colour = np.array(_PALETTE[name]) * math.exp(spread * self.rng.standard_normal())
        colour = colour + 0.02 * self.rng.standard_normal(3)
        return np.clip(colour, 0.02, 0.98).astype(np.float32)

    def paint(self, part: _Part, colour: Field, fur: float = 0.0) -> None:
        """Put a rounded part over what is there; ``fur`` roughens its outline and surface."""
        # Where a point of the turned and nodding head is seen.
        depth = part.z * math.cos(self.yaw) - part.x * math.sin(self.yaw)
        dx = self.x - np.float32(part.x * math.cos(self.yaw) + part.z * math.sin(self.yaw))
        dy = self.y - np.float32(part.y * math.cos(self.nod) + depth * math.sin(self.nod))
        # Only the box around the part is worked on: most parts are small.
        reach = max(part.rx, part.ry) + 0.06 * fur + 2 * self.pixel
        near = (np.abs(dx) < reach) & (np.abs(dy) < reach)
        rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
        if rows.size == 0:
            return
        box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        dx, dy, rough = dx[box], dy[box], np.float32(fur) * self.rough[box]
        cos, sin = math.cos(math.radians(part.angle)), math.sin(math.radians(part.angle))
        u, v = (cos * dx + sin * dy) / part.rx, (cos * dy - sin * dx) / part.ry
        radius = np.hypot(u, v) + np.float32(1e-6)
        distance = (radius - 1) * min(part.rx, part.ry) + np.float32(0.011) * rough
        cover = np.clip(np.float32(0.5) - distance / self.pixel, 0, 1)
        # A body: near the outline the surface turns away, towards the light or from it.
        normal = np.stack([cos * u - sin * v, sin * u + cos * v], axis=-1) / radius[..., None]
        shade = 1 + np.exp(9 * np.clip(distance, -1, 0)) * (normal @ self.light - np.float32(0.15))
        shade = shade * (1 + np.float32(0.03) * rough)
        layer = self.picture[box]
        layer += cover[..., None] * (shade[..., None] * colour - layer)


def _head(portrait: _Portrait, kind: _Kind) -> None:
    """Paint an individual of a kind."""
    rng = portrait.rng
    coat = portrait.tinted(str(rng.choice(kind.coats.split())))
    facing = 1 if rng.random() < 0.5 else -1
    # The farther side first. A profile has one side only.
    sides = [facing] if kind.profile else [-1, 1] if portrait.yaw < 0 else [1, -1]

    def draw(part: _Part, fur: float = 0.0) -> None:
        if rng.random() >= part.chance:
            return
        colour = portrait.tinted(part.colour) if part.colour in _PALETTE else None
        if colour is None:
            shade = _SHADES[part.colour]
            colour = coat * shade if shade <= 1 else coat + (shade - 1) * (1 - coat)
        x, y, rx, ry = np.array([part.x, part.y, part.rx, part.ry]) * np.exp(
            rng.normal(0, [0.05, 0.05, 0.09, 0.09])
        )
        for side in sides if part.x else sides[:1]:
            angle = side * (part.angle + rng.normal(0, 3))
            varied = _Part(part.colour, side * x, y, rx, ry, angle, part.z)
            portrait.paint(varied, np.asarray(colour, dtype=np.float32), fur)

    if not kind.profile:
        draw(_Part("coat", 0, 1.05, 0.75, 0.65, z=-0.2), kind.fur)
    for part in kind.parts:
        draw(part, kind.fur if min(part.rx, part.ry) > 0.08 else 0.3 * kind.fur)
    if kind.nose is not None:
        y, size, z = kind.nose
        draw(_Part("shadow", 0, y + 0.16, 0.9 * size, 0.014, z=z - 0.1))
        draw(_Part(kind.nose_colour, 0, y, size, 0.65 * size, z=z))
    # Rim, iris, pupil and glint.
    x, y, size = np.array(kind.eye) * np.exp(rng.normal(0, [0.05, 0.05, 0.1]))
    iris = portrait.tinted(kind.iris)
    dark, glint = np.array(_PALETTE["black"]), np.array(_PALETTE["white"])
    for side in sides:
        for scale, colour, up in (
            (1.3, dark, 0),
            (1.0, iris, 0),
            (0.5, dark, 0),
            (0.2, glint, 0.35),
        ):
            at = (side * x - up * size, y - up * size, scale * size, scale * size)
            portrait.paint(_Part("", *at, z=0.0 if kind.profile else 0.42), colour)


def _scene(portrait: _Portrait) -> None:
    """Paint a scene without an animal: hills, a field and trees."""
    rng = portrait.rng
    horizon = rng.uniform(-0.3, 0.2)
    for tone in ("slate", "leaf", "grey"):
        x, top = rng.uniform(-1, 1), horizon + rng.uniform(-0.15, 0.15)
        portrait.paint(
            _Part("", x, top + 0.5, rng.uniform(0.6, 1.6), 0.5), portrait.tinted(tone), 1.5
        )
    ground = portrait.tinted(str(rng.choice(["leaf", "fawn", "sky"])))
    portrait.paint(_Part("", 0, horizon + 2.3, 4, 2.2), ground, 2.0)
    for _ in range(rng.integers(2, 8)):
        x, foot, tall = rng.uniform(-1, 1), rng.uniform(horizon + 0.2, 0.9), rng.uniform(0.3, 0.8)
        leaves = portrait.tinted(str(rng.choice(["leaf", "green", "orange"])))
        portrait.paint(
            _Part("", x, foot - tall / 3, 0.05 * tall, tall / 2), portrait.tinted("brown")
        )
        for dx, dy in rng.normal(0, 0.16 * tall, (5, 2)):
            crown = _Part("", x + dx, foot - 0.85 * tall + dy, 0.25 * tall, 0.22 * tall)
            portrait.paint(crown, leaves * np.float32(rng.uniform(0.7, 1.1)), 3.0)


def _individual(name: str, seed: int, index: int, sides: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Picture ``index`` (from 1) of a class: (height, width, 3)."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, CLASSES.index(name) + 1, index]))
    height = int(rng.integers(sides[0], sides[1] + 1))
    width = int(np.clip(round(height * rng.uniform(0.9, 1.1)), *sides))
    kind = _KINDS[name]
    portrait = _Portrait(rng, height, width, upright=kind is None or kind.profile)
    if kind is None:
        _scene(portrait)
    else:
        _head(portrait, kind)
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
