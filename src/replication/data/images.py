"""Image files of any common kind as 8-bit grey arrays, by rules that are written down.

A file is opened by its content; its suffix does not matter, since data sets hold JPEGs named
``.gif``. What becomes of each kind:

=====================  ========================================================================
file                   grey image
=====================  ========================================================================
8-bit grey             as it is
bilevel                0 and 255
16-bit grey            (v + 128) // 257: the full 16-bit range on 0..255, nearest level; never
                       the image's own range; of 12-bit TIFFs the full 12-bit range likewise
RGB, YCbCr             luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, rounded; of 16-bit
                       colour channels the high byte
palette                as its RGB colours; an error if a pixel names a colour that is not there
CMYK                   R = (255 - C)(255 - K) / 255, likewise G and B, then the luma; a colour
                       profile inside the file is not applied
alpha or a             dropped where every pixel is opaque; otherwise an error, since a grey
transparent colour     value would depend on a background that the file does not state
32-bit, signed, float, an error
Lab
several frames         an error (of a camera's multi-picture JPEG the first, which is the
                       photograph)
=====================  ========================================================================

An EXIF orientation is applied: the array shows what a viewer shows. Unreadable EXIF data count as
upright, for the pixels are intact. Every error is an :class:`ImageFileError` with the file's name.

A JPEG has no checksum inside: damage that leaves its structure intact decodes to wrong pixels
without an error, in any program. The lists in ``resources/checksums`` guard against that.
"""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

__all__ = ["MAX_PIXELS", "ImageFileError", "load_grey", "load_rgb"]

MAX_PIXELS = 64_000_000
"""Images with more pixels are refused before they are decoded (decompression bombs)."""

# Only plain raster formats: others run external programs (EPS) or have no single raster (ICNS).
# A multi-picture JPEG (MPO) is found through JPEG.
_FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
_SIXTEEN_BIT = ("I;16", "I;16L", "I;16B", "I;16N")
# How the pixels of a file are stored that Pillow takes over as they are.
_EIGHT_BIT = ("L", "RGB", "P", "P;1", "P;2", "P;4", "1", "")
_ORIENTATION_TAG, _BITS_TAG, _PHOTOMETRIC_TAG, _SAMPLE_FORMAT_TAG = 0x0112, 0x0102, 0x0106, 0x0153
_WHITE_IS_ZERO = 0
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class ImageFileError(ValueError):
    """A file cannot be read as one grey image; the message begins with its name."""

    def __init__(self, path: str | os.PathLike[str], fault: str) -> None:
        # Both arguments reach Exception, so that the error survives the way from a worker process.
        super().__init__(os.fspath(path), fault)
        self.fault = fault

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.fault}"


def load_grey(path: str | os.PathLike[str]) -> npt.NDArray[np.uint8]:
    """Read an image file as 8-bit grey values.

    Parameters
    ----------
    path : path-like
        Image file; its suffix is ignored. See the module's table for what becomes of each kind.

    Returns
    -------
    ndarray of uint8, shape (height, width)

    Raises
    ------
    ImageFileError
        If the file is empty, no image, corrupt, truncated, of more than :data:`MAX_PIXELS` pixels,
        or of a kind without a defined grey image. It is a :class:`ValueError`.
    OSError
        If the file cannot be read at all (missing, no permission).
    """
    return np.asarray(_load(path).convert("L"))


def load_rgb(path: str | os.PathLike[str]) -> npt.NDArray[np.uint8]:
    """Read an image file as 8-bit colours, by the same rules; grey files have three equal channels.

    Parameters
    ----------
    path : path-like
        Image file; its suffix is ignored.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3)
        Red, green, blue.

    Raises
    ------
    ImageFileError, OSError
        As :func:`load_grey`.
    """
    return np.asarray(_load(path).convert("RGB"))


def _load(path: str | os.PathLike[str]) -> Image.Image:
    """Read an image file as a picture of kind "1", "L" or "RGB"."""
    content = Path(path).read_bytes()
    if not content:
        raise ImageFileError(path, "is empty")
    try:
        # Warnings would make the outcome depend on the interpreter's settings. The one that
        # matters, about oversized images, is an error below; others concern metadata.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Pillow compares a PNG's checksums only on request, and the request uses the file up.
            with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
                image.verify()
            with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
                return _plain(image, path)
    except ImageFileError:
        raise
    except UnidentifiedImageError:
        raise ImageFileError(path, "is no image of a known format") from None
    except Image.DecompressionBombError:
        raise ImageFileError(path, f"has more than {MAX_PIXELS:,} pixels") from None
    except Exception as error:
        # Damaged bytes make the decoders raise nearly anything, from OSError to struct.error.
        raise ImageFileError(path, f"is corrupt or truncated ({error})") from error


def _plain(image: Image.Image, path: str | os.PathLike[str]) -> Image.Image:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise ImageFileError(
            path, f"has {width} x {height} pixels, more than the {MAX_PIXELS:,} allowed"
        )
    kind = image.format
    if kind != "MPO" and getattr(image, "n_frames", 1) > 1:
        raise ImageFileError(path, "holds several frames, not one image")
    stored = _stored_as(image)
    bits, photometric = _tiff_samples(image, path)
    image.load()
    # Only now: of a TIFF Pillow has turned the pixels and dropped the entry.
    transpose = _UPRIGHT.get(_orientation(image))
    if transpose is not None:
        image = image.transpose(transpose)
    # Pillow compares the transparent value, of as many bits as are stored, with 8-bit pixels.
    if "transparency" in image.info and stored not in _EIGHT_BIT:
        raise ImageFileError(path, f"has a transparent value, stored as {stored!r}")
    # Pillow's 32-bit "I" holds 16-bit values where the format knows no wider ones.
    if image.mode in _SIXTEEN_BIT or (image.mode == "I" and kind in ("PNG", "PPM")):
        top = (1 << bits) - 1
        wide = np.asarray(image).astype(np.int64)
        if photometric == _WHITE_IS_ZERO:  # Pillow turns over 8 bits only
            wide = top - wide
        return Image.fromarray(((2 * 255 * wide + top) // (2 * top)).astype(np.uint8))
    if image.mode in ("P", "PA"):
        _check_palette(image, path)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        lowest, _ = image.getchannel("A").getextrema()
        if lowest != 255:
            raise ImageFileError(path, "is partly transparent: its grey values are undefined")
        image = image.convert("RGB")
    elif image.mode in ("P", "CMYK", "YCbCr", "RGBX"):
        image = image.convert("RGB")
    if image.mode not in ("1", "L", "RGB"):
        raise ImageFileError(path, f"has pixels of kind {image.mode!r}, which have no defined grey")
    return image


def _stored_as(image: Image.Image) -> str:
    tiles = getattr(image, "tile", None)
    arguments = tiles[0].args if tiles else ""
    return str(arguments[0] if isinstance(arguments, tuple) else arguments or "")


def _tiff_samples(image: Image.Image, path: str | os.PathLike[str]) -> tuple[int, int | None]:
    """Return the bits of a sample of more than 8, and what a TIFF says its values mean."""
    tags = getattr(image, "tag_v2", None)
    if tags is None:
        return 16, None
    if 2 in tags.get(_SAMPLE_FORMAT_TAG, ()):
        raise ImageFileError(path, "has signed pixels, which have no defined grey")
    return max(tags.get(_BITS_TAG, (16,))), tags.get(_PHOTOMETRIC_TAG)


def _check_palette(image: Image.Image, path: str | os.PathLike[str]) -> None:
    highest = int(np.asarray(image.getchannel(0)).max())
    n_colours = len(image.getpalette() or ()) // 3
    if highest >= n_colours:
        raise ImageFileError(
            path, f"has a pixel of colour {highest}, its palette has {n_colours} colours from 0"
        )


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION_TAG, 1))
    except Exception:
        # See the module's text: damaged metadata do not damage the picture.
        return 1
