"""Synthetic animal faces in the raw layout of the LHI animal face data set.

Each image is an *individual*: a head of shaded ellipses with the measures of a row of
:data:`_KINDS`, every measure varied, turned, tilted, nearer or farther, shaggy, before a blurred
background. Birds are shown in profile, as they mostly are in the published set, whose folder
``Natural`` has scenes without an animal.

Image ``k`` of class ``c`` depends on (seed, c, k) and the range of sides only, so a run with more
images keeps those that it shares with a smaller one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import numpy as np
from PIL import ImageColor

from replication.arrays import Floats, Pixels
from replication.images.animal_faces import CLASSES
from replication.standins.camera import photograph, smooth_noise, write_classes

__all__ = ["write"]

# An ellipse: colour, centre (right and down; the skull's radius is about 0.5), half axes, and the
# angle by which it is turned, on the right side clockwise. Beside the middle parts come in pairs.
_Part = tuple[str, float, float, float, float, float]


def _eye(x: float, y: float, radius: float, iris: str = "sienna") -> tuple[_Part, ...]:
    return (iris, x, y, radius, radius, 0), ("black", x, y, 0.6 * radius, 0.6 * radius, 0)


def _nose(y: float, width: float, colour: str = "black") -> tuple[_Part, ...]:
    mouth = ("black", 0, y + 0.16, width, 0.015, 0)
    return (colour, 0, y, width, 0.65 * width, 0), mouth


# What coats there are, how shaggy they are, and the parts from the back to the front. "dark" and
# "pale" are shades of the coat.
# fmt: off
_KINDS: dict[str, tuple[str, float, tuple[_Part, ...]]] = {
    "BearHead": ("saddlebrown dimgray peru", 1.6, (
        ("coat", .45, -.50, .18, .18, 0), ("dark", .46, -.49, .10, .10, 0),
        ("coat", 0, 0, .58, .54, 0), ("pale", 0, .22, .26, .23, 0), *_eye(.21, -.08, .055),
        *_nose(.13, .11))),
    "CatHead": ("peru gray dimgray wheat", 1, (
        ("coat", .40, -.46, .16, .36, 20), ("pink", .39, -.44, .09, .26, 20),
        ("coat", 0, 0, .56, .47, 0), ("pale", .09, .22, .13, .10, 0), *_eye(.22, -.06, .11, "gold"),
        *_nose(.14, .055, "pink"))),
    "ChickenHead": ("white tan dimgray", 1, (
        ("firebrick", .1, -.56, .25, .20, 0), ("coat", -.12, .75, .48, .95, 8),
        ("coat", 0, -.25, .33, .30, 0), ("firebrick", .24, .12, .09, .18, 0),
        ("gold", .40, -.16, .17, .07, 20), *_eye(.13, -.28, .06, "orange"))),
    "CowHead": ("dimgray sienna wheat", .6, (
        ("ivory", .42, -.66, .09, .24, 40), ("coat", .60, -.34, .25, .12, -10),
        ("coat", 0, -.26, .42, .40, 0), ("coat", 0, .10, .34, .56, 0),
        ("ivory", 0, -.15, .11, .42, 0), ("pink", 0, .52, .33, .22, 0),
        ("dark", .17, .46, .055, .075, 35), *_eye(.31, -.18, .065))),
    "DeerHead": ("peru sienna", .6, (
        ("saddlebrown", .30, -.72, .04, .32, 25), ("coat", .50, -.48, .28, .14, -28),
        ("pale", .51, -.47, .20, .08, -28), ("coat", 0, -.20, .35, .34, 0),
        ("coat", 0, .18, .20, .44, 0), *_eye(.27, -.16, .075), *_nose(.44, .10))),
    "DogHead": ("tan dimgray wheat sienna", 1, (
        ("coat", 0, -.06, .47, .48, 0), ("pale", 0, .08, .11, .34, 0),
        ("pale", 0, .24, .25, .23, 0), ("dark", .50, -.06, .17, .40, -14), *_eye(.19, -.12, .065),
        *_nose(.13, .11))),
    "DuckHead": ("darkgreen sienna white gray", .5, (
        ("coat", -.10, .70, .34, .95, 8), ("white", -.10, .42, .27, .06, -5),
        ("coat", 0, -.20, .33, .29, 0), ("gold", .46, -.10, .30, .10, 8), *_eye(.10, -.27, .06))),
    "EagleHead": ("white sienna", 1.4, (
        ("saddlebrown", -.15, .85, .55, .70, 8), ("coat", -.10, .20, .36, .55, 8),
        ("coat", 0, -.20, .40, .30, 0), ("gold", .42, -.16, .24, .14, 15),
        ("gold", .58, -.02, .07, .17, 5), *_eye(.15, -.28, .07, "gold"))),
    "ElephantHead": ("gray slategray", .3, (
        ("coat", .66, -.08, .34, .50, -8), ("dark", .68, -.04, .24, .38, -8),
        ("coat", 0, -.18, .42, .46, 0), ("ivory", .27, .48, .05, .28, -15),
        ("coat", 0, .18, .20, .40, 0), ("pale", 0, .60, .14, .48, 0), *_eye(.28, -.10, .045))),
    "HumanHead": ("bisque tan burlywood sienna", .2, (
        ("black", 0, -.10, .50, .60, 0), ("coat", .43, .02, .07, .13, 0),
        ("coat", 0, .04, .41, .55, 0), ("dark", .17, -.13, .10, .02, 6),
        ("pale", 0, .10, .06, .14, 0), ("firebrick", 0, .34, .14, .035, 0),
        ("white", .17, -.04, .08, .045, 0), *_eye(.17, -.04, .045))),
    "LionHead": ("goldenrod tan", 2.6, (
        ("dark", 0, .06, .90, .88, 0), ("pale", .44, -.44, .14, .14, 0),
        ("coat", 0, -.02, .48, .50, 0), ("pale", .12, .26, .16, .13, 0),
        *_eye(.21, -.12, .055, "gold"), *_nose(.15, .12))),
    "MonkeyHead": ("sienna dimgray peru gray", 1.8, (
        ("bisque", .56, -.04, .16, .18, 0), ("coat", 0, -.06, .54, .54, 0),
        ("bisque", .15, -.10, .20, .18, 0), ("bisque", 0, .22, .29, .28, 0), *_eye(.14, -.09, .06),
        *_nose(.12, .06, "sienna"))),
    "MouseHead": ("gray white tan dimgray", .8, (
        ("coat", .52, -.48, .30, .32, 0), ("pink", .53, -.46, .21, .23, 0),
        ("coat", 0, -.04, .44, .42, 0), ("coat", 0, .22, .26, .30, 0),
        *_eye(.25, -.04, .07, "black"), *_nose(.40, .055, "pink"))),
    "PandaHead": ("white", 1.3, (
        ("black", .48, -.50, .20, .20, 0), ("coat", 0, 0, .64, .56, 0),
        ("black", .25, 0, .13, .19, 32), *_eye(.24, -.03, .05), *_nose(.20, .10))),
    "PigHead": ("pink tan dimgray", .3, (
        ("coat", .44, -.54, .16, .30, 28), ("dark", .43, -.52, .09, .20, 28),
        ("coat", 0, -.02, .52, .54, 0), ("dark", 0, .21, .27, .22, 0),
        ("pale", 0, .23, .23, .18, 0), ("dark", .09, .25, .045, .07, 12), *_eye(.25, -.12, .05))),
    "PigeonHead": ("slategray gray white sienna", .6, (
        ("coat", -.12, .75, .45, .75, 8), ("darkgreen", -.08, .42, .31, .18, 5),
        ("coat", 0, -.22, .30, .27, 0), ("black", .38, -.13, .17, .05, 20),
        ("white", .29, -.21, .07, .05, 0), *_eye(.08, -.29, .06, "orange"))),
    "RabbitHead": ("tan white gray sienna", 1, (
        ("coat", .20, -.62, .12, .46, 8), ("pink", .20, -.60, .06, .36, 8),
        ("coat", 0, .10, .43, .46, 0), ("pale", .09, .34, .14, .12, 0), *_eye(.30, .02, .075),
        *_nose(.25, .05, "pink"))),
    "SheepHead": ("ivory wheat", 2.6, (
        ("coat", 0, -.14, .62, .62, 0), ("gray", .58, -.12, .20, .09, 12),
        ("gray", 0, .12, .30, .52, 0), ("coat", .13, -.46, .17, .15, 0),
        *_eye(.22, -.10, .055, "gold"), *_nose(.45, .06))),
    "TigerHead": ("darkorange", 1.4, (
        ("coat", .46, -.46, .16, .16, 0), ("white", 0, .14, .64, .48, 0),
        ("coat", 0, -.06, .53, .50, 0),
        *(("black", .15, .09 * k - .52, .11, .024, 10) for k in range(3)),
        *(("black", .48, .12 * k - .10, .15, .030, 12 * k - 20) for k in range(5)),
        ("white", .12, .28, .16, .12, 0), *_eye(.20, -.10, .06, "gold"), *_nose(.16, .11, "pink"))),
    "WolfHead": ("gray dimgray wheat tan", 2.2, (
        ("coat", .34, -.56, .14, .32, 14), ("dark", .34, -.54, .08, .22, 14),
        ("pale", .34, .14, .30, .24, 20), ("coat", 0, -.10, .44, .44, 0),
        ("pale", 0, .16, .15, .34, 0), *_eye(.18, -.11, .05, "gold"), *_nose(.30, .085))),
}
# fmt: on
_IN_PROFILE = ("ChickenHead", "DuckHead", "EagleHead", "PigeonHead")
_TRUNK: _Part = ("coat", 0, 1.05, 0.75, 0.65, 0)
_LANDSCAPE = ("darkolivegreen", "slategray", "tan", "lightsteelblue", "saddlebrown", "darkkhaki")


def _scene(rng: np.random.Generator) -> list[_Part]:
    """Hills and bushes wherever they may be."""
    scene: list[_Part] = []
    for _ in range(rng.integers(10, 25)):
        x, y, rx, ry, angle = rng.uniform([-1, 0, 0.1, 0.1, -20], [1, 1, 0.8, 0.4, 20]).tolist()
        scene.append((str(rng.choice(_LANDSCAPE)), x, y, rx, ry, angle))
    return scene


def _individual(rng: np.random.Generator, name: str, sides: tuple[int, int]) -> Pixels:
    """Paint an individual of a kind, or a scene: (height, width, 3)."""
    coats, fur, parts = _KINDS.get(name, ("gray", 2.0, _scene(rng)))
    mirrored = name in _KINDS and name not in _IN_PROFILE
    height = int(rng.integers(sides[0], sides[1] + 1))
    width = int(np.clip(round(height * rng.uniform(0.9, 1.1)), *sides))
    yaw, roll = np.radians(np.clip(rng.standard_normal(2), -2.3, 2.3) * [13, 8] * mirrored)
    zoom, facing = rng.uniform(1.0, 1.3), 1 if mirrored else rng.choice([-1, 1])
    shift = rng.normal(0, 0.05, 2)
    y, x = (
        ((np.indices((height, width))[axis] + 0.5) / n * 2 - 1 - shift[axis]) / zoom
        for axis, n in enumerate((height, width))
    )
    x, y = math.cos(roll) * x + math.sin(roll) * y, math.cos(roll) * y - math.sin(roll) * x
    light, rough = rng.uniform(-0.3, 0.3), smooth_noise(rng, x.shape, 1.5, 1.5)

    def tint(colour: str) -> Floats:
        return (
            np.array(ImageColor.getrgb(colour))
            / 255
            * np.exp(rng.normal(0, 0.12) + rng.normal(0, 0.03, 3))
        )

    coat = tint(str(rng.choice(coats.split())))
    shades = {"coat": coat, "dark": 0.55 * coat, "pale": 0.6 * coat + 0.4}
    blobs = 1 + 0.1 * smooth_noise(rng, x.shape, height / 8, width / 8)
    picture = tint(str(rng.choice(_LANDSCAPE))) * blobs[..., np.newaxis]

    def paint(colour: Floats, x0: float, y0: float, rx: float, ry: float, degrees: float) -> None:
        nonlocal picture
        cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        # Parts lie on a ball, so that those in the middle move with the head's turn.
        dx = x - x0 * math.cos(yaw) - math.sqrt(max(0.36 - x0**2 - y0**2, 0)) * math.sin(yaw)
        u, v = (cos * dx + sin * (y - y0)) / rx, (cos * (y - y0) - sin * dx) / ry
        inside = (1 - np.hypot(u, v)) * min(rx, ry) + 0.015 * min(fur, 9 * min(rx, ry)) * rough
        cover = np.clip(0.5 + inside * zoom * height / 2, 0, 1)[..., np.newaxis]
        shade = 1 + light * u - 0.15 * v - 0.2 * (u**2 + v**2) + 0.03 * fur * rough
        picture = picture + cover * (shade[..., np.newaxis] * colour - picture)

    for colour, *measures, degrees in (*([_TRUNK] if mirrored else []), *parts):
        x0, y0, rx, ry = measures * np.exp(rng.normal(0, 0.06, 4))
        shown = shades[colour] if colour in shades else tint(colour)
        for side in (1, -1) if mirrored and x0 else (facing,):
            paint(shown, side * x0, y0, rx, ry, side * degrees)
    return photograph(rng, picture)


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
    folder, seed, n_jobs
        See :mod:`replication.standins`.
    images_per_class : int, default 12
        Number of individuals of each kind.
    min_side, max_side : int, default 96 and 128
        Smallest and largest side of an image in pixels. The published images have 25 to 2529, most
        of them 150.
    """

    def draw(name: str) -> Iterator[tuple[str, Pixels]]:
        stem = name.removesuffix("Head").lower()
        for index in range(1, images_per_class + 1):
            rng = np.random.default_rng([seed, CLASSES.index(name) + 1, index])
            picture = _individual(rng, name, (min_side, max_side))
            yield f"Image/{name}/{stem}{index:04d}.jpg", picture

    write_classes(folder, CLASSES, draw, n_jobs)
