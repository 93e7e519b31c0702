"""Each kind of image file becomes the documented grey image or an error with the file's name."""

import io
import struct
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image

from replication.data import images
from replication.data.images import ImageFileError, load_grey, load_rgb

RGB = np.random.default_rng(7).integers(0, 256, (9, 14, 3)).astype(np.uint8)
GREY = RGB[:, :, 0].copy()


def luma(rgb: np.ndarray) -> np.ndarray:
    return rgb.astype(float) @ [0.299, 0.587, 0.114]


@pytest.fixture
def saved(tmp_path):
    def save(image, name="picture.png", **options):
        path = tmp_path / name
        if isinstance(image, bytes):
            path.write_bytes(image)
        else:
            image.save(path, **options)
        return path

    return save


def refused(path, message):
    """The error names the file first, then the fault."""
    with pytest.raises(ImageFileError, match=message) as caught:
        load_grey(path)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith(f"{path}: ")


def test_grey_is_unchanged(saved):
    grey = load_grey(saved(Image.fromarray(GREY)))
    assert grey.dtype == np.uint8
    np.testing.assert_array_equal(grey, GREY)


def test_colour_becomes_luma(saved):
    np.testing.assert_allclose(load_grey(saved(Image.fromarray(RGB))), luma(RGB), atol=0.51)


def test_palette_goes_through_its_colours(saved):
    palette = Image.fromarray(RGB).quantize(16)
    expected = luma(np.asarray(palette.convert("RGB")))
    np.testing.assert_allclose(load_grey(saved(palette)), expected, atol=0.51)
    # Palette indices are no grey values: permuting the palette must not change the picture.
    assert not np.array_equal(np.asarray(palette), np.round(expected))


def test_bilevel_is_black_and_white(saved):
    bilevel = GREY > 99
    np.testing.assert_array_equal(load_grey(saved(Image.fromarray(bilevel))), bilevel * 255)


@pytest.mark.parametrize("name", ["wide.png", "wide.tif", "wide.pgm"])
def test_sixteen_bits_are_scaled_by_the_full_range(saved, name):
    wide = (GREY.astype(np.uint16) * 257)[:, ::-1].copy()
    wide[0, :4] = 0, 128, 129, 65535
    grey = load_grey(saved(Image.fromarray(wide), name))
    np.testing.assert_array_equal(grey[1:], GREY[1:, ::-1])
    np.testing.assert_array_equal(grey[0, :4], [0, 0, 1, 255])


def test_a_dark_sixteen_bit_image_stays_dark(saved):
    wide = np.full((5, 5), 300, dtype=np.uint16)
    assert load_grey(saved(Image.fromarray(wide))).max() == 1


def test_cmyk_by_the_stated_formula(saved):
    cmyk = np.random.default_rng(8).integers(0, 256, (9, 14, 4)).astype(np.uint8)
    path = saved(Image.frombytes("CMYK", (14, 9), cmyk.tobytes()), "print.tif")
    ink = cmyk.astype(float)
    rgb = (255 - ink[:, :, :3]) * (255 - ink[:, :, 3:]) / 255
    np.testing.assert_allclose(load_grey(path), luma(rgb), atol=1.5)


def test_opaque_alpha_is_dropped(saved):
    opaque = np.dstack([RGB, np.full(GREY.shape, 255, np.uint8)])
    np.testing.assert_allclose(load_grey(saved(Image.fromarray(opaque))), luma(RGB), atol=0.51)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_one_transparent_pixel_is_an_error(saved, mode):
    image = Image.fromarray(RGB).convert(mode)
    image.putpixel((3, 4), (*image.getpixel((3, 4))[:-1], 254))
    refused(saved(image), "partly transparent")


def test_a_transparent_palette_entry_counts_where_it_is_used(saved):
    # Many GIFs declare a transparent colour that no pixel has.
    image = Image.frombytes("P", (4, 4), bytes(range(4)) * 4)
    image.putpalette([0, 0, 0, 90, 90, 90, 160, 160, 160, 250, 250, 250, 1, 2, 3])
    unused = load_grey(saved(image, "unused.png", transparency=4))
    np.testing.assert_array_equal(unused[0], [0, 90, 160, 250])
    refused(saved(image, "used.png", transparency=2), "partly transparent")


def test_a_transparent_grey_value_is_not_ignored(saved):
    refused(saved(Image.fromarray(GREY), transparency=int(GREY[0, 0])), "partly transparent")


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_pixels_without_a_defined_grey_are_refused(saved, kind):
    refused(saved(Image.fromarray(GREY.astype(kind)), "values.tif"), "no defined grey")


@pytest.mark.parametrize("name", ["film.gif", "pages.tif"])
def test_several_frames_are_refused(saved, name):
    frames = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
    path = saved(frames[0], name, save_all=True, append_images=frames[1:])
    refused(path, "several frames")


def test_the_first_picture_of_a_camera_file_is_the_photograph(saved):
    first, second = Image.new("L", (16, 16), 200), Image.new("L", (16, 16), 10)
    path = saved(first, "camera.jpg", format="MPO", save_all=True, append_images=[second])
    assert abs(int(load_grey(path)[8, 8]) - 200) <= 2


def test_content_decides_not_the_suffix(saved, tmp_path):
    path = saved(Image.fromarray(GREY))
    for name in ("wrong.gif", "none", "wrong.JPG"):
        other = tmp_path / name
        other.write_bytes(path.read_bytes())
        np.testing.assert_array_equal(load_grey(other), GREY)


@pytest.mark.parametrize(
    ("orientation", "shown"),
    [
        (1, GREY),
        (2, GREY[:, ::-1]),
        (3, GREY[::-1, ::-1]),
        (4, GREY[::-1]),
        (5, GREY.T),
        (6, np.rot90(GREY, -1)),
        (7, GREY[::-1, ::-1].T),
        (8, np.rot90(GREY)),
    ],
)
@pytest.mark.parametrize("name", ["photo.png", "photo.tif", "photo.webp"])
def test_the_exif_orientation_is_applied_once(saved, name, orientation, shown):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"lossless": True} if name.endswith("webp") else {}
    path = saved(Image.fromarray(GREY), name, exif=exif, **options)
    np.testing.assert_array_equal(load_grey(path), shown)


def test_sixteen_bits_and_orientation_together(saved):
    exif = Image.Exif()
    exif[0x0112] = 6
    path = saved(Image.fromarray(GREY.astype(np.uint16) * 257), exif=exif)
    np.testing.assert_array_equal(load_grey(path), np.rot90(GREY, -1))


def test_damaged_exif_does_not_cost_the_picture(saved):
    path = saved(Image.fromarray(GREY), "photo.jpg", exif=b"Exif\x00\x00" + b"\x99" * 40)
    assert load_grey(path).shape == GREY.shape


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.gif", "a.bmp", "a.tif"])
@pytest.mark.parametrize("kept", [0.98, 0.5, 0.1])
def test_truncated_files_are_errors(saved, name, kept):
    noise = np.random.default_rng(1).integers(0, 256, (60, 80)).astype(np.uint8)
    path = saved(Image.fromarray(noise), name)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    refused(path, "corrupt or truncated|no image")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"<html>404 not found</html>", "no image of a known format"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no image of a known format"),
    ],
)
def test_other_content_is_refused(saved, content, message):
    refused(saved(content, "T01_01.jpg"), message)


def test_a_flipped_bit_in_a_png_is_an_error(saved):
    path = saved(Image.fromarray(GREY))
    content = bytearray(path.read_bytes())
    content[content.index(b"IDAT") + 20] ^= 1
    path.write_bytes(content)
    refused(path, "corrupt or truncated")


def png(width, height, rows=b"", bits=8, colour=0, *more):
    """Write a PNG by hand; without rows it is a few bytes that claim any size."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    chunks = b"".join(
        struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
        for part in (header, *more, b"IDAT" + zlib.compress(rows), b"IEND")
    )
    return b"\x89PNG\r\n\x1a\n" + chunks


def tiff(pixels, bits, photometric=1, sample_format=1):
    """Write a TIFF of four pixels by hand."""
    tags = [(256, 4), (257, 1), (258, bits), (259, 1), (262, photometric), (273, 8), (277, 1)]
    tags += [(278, 1), (279, len(pixels)), (339, sample_format)]
    entries = b"".join(struct.pack("<HHII", tag, 3, 1, value) for tag, value in tags)
    head = struct.pack("<2sHI", b"II", 42, 8 + len(pixels)) + pixels
    return head + struct.pack("<H", len(tags)) + entries + bytes(4)


WIDE = struct.pack("<4H", 0, 20560, 41120, 65535)


@pytest.mark.parametrize(
    ("content", "grey"),
    [
        pytest.param(tiff(WIDE, 16), [0, 80, 160, 255], id="16 bit"),
        pytest.param(tiff(WIDE, 16, photometric=0), [255, 175, 95, 0], id="16 bit, white is zero"),
        pytest.param(tiff(b"\x00\x08\x00\xff\xf0\x00", 12), [0, 128, 255, 0], id="12 bit"),
        pytest.param(tiff(bytes([0, 80, 160, 255]), 8, 0), [255, 175, 95, 0], id="white is zero"),
        pytest.param(png(4, 1, b"\0\x1b", 2), [0, 85, 170, 255], id="2 bit"),
        pytest.param(b"P5 4 1 1000\n" + struct.pack(">4H", 0, 250, 500, 1000), [0, 64, 128, 255]),
    ],
)
def test_values_are_scaled_by_the_range_that_the_file_states(saved, content, grey):
    np.testing.assert_array_equal(load_grey(saved(content)), [grey])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (tiff(bytes(4), 8, sample_format=2), "signed pixels"),
        (tiff(bytes(8), 16, sample_format=2), "signed pixels"),
        (png(4, 1, b"\0\x1b", 2, 0, b"tRNS\0\1"), "a transparent value, stored as 'L;2'"),
        (png(1, 1, b"\0" + bytes(6), 16, 2, b"tRNS" + bytes(6)), "stored as 'RGB;16B'"),
        (png(2, 1, b"\0\0\x09", 8, 3, b"PLTE" + bytes(9)), "colour 9, its palette has 3 colours"),
    ],
    ids=["signed 8 bit", "signed 16 bit", "transparent 2 bit", "transparent 48 bit", "palette"],
)
def test_pixels_that_would_be_read_wrong_in_silence(saved, content, fault):
    refused(saved(content), fault)


@pytest.mark.parametrize("side", [9_000, 11_000, 60_000])
@pytest.mark.parametrize("action", ["error", "default"])
def test_decompression_bombs_are_refused_under_any_warning_filter(saved, side, action):
    path = saved(png(side, side))
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        refused(path, "pixels")


def test_the_size_limit_is_inclusive(saved, monkeypatch):
    path = saved(Image.fromarray(GREY))
    monkeypatch.setattr(images, "MAX_PIXELS", GREY.size)
    assert load_grey(path).shape == GREY.shape
    monkeypatch.setattr(images, "MAX_PIXELS", GREY.size - 1)
    refused(path, "14 x 9 pixels")


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jpg"):
        load_grey(tmp_path / "nowhere.jpg")


def test_jpegs_of_every_colour_model(saved):
    """JPEG's own CMYK is stored inverted by Adobe's convention; white must stay white."""
    buffer = io.BytesIO()
    Image.new("CMYK", (16, 16), (0, 0, 0, 0)).save(buffer, "JPEG")
    assert load_grey(saved(buffer.getvalue(), "white.jpg")).min() >= 253
    path = saved(Image.new("YCbCr", (16, 16), (77, 128, 128)), "grey.jpg")
    assert np.ptp(load_grey(path)) == 0
    assert abs(int(load_grey(path)[0, 0]) - 77) <= 1


@pytest.mark.parametrize("mode", ["1", "L", "RGB", "P"])
def test_colours_follow_the_same_rules(saved, mode):
    picture = Image.fromarray(RGB).convert(mode)
    colours = load_rgb(saved(picture))
    assert colours.shape == (*GREY.shape, 3)
    np.testing.assert_array_equal(colours, np.asarray(picture.convert("RGB")))
    with pytest.raises(ImageFileError, match=r"picture\.png: is empty"):
        load_rgb(saved(b""))


def test_sixteen_bit_grey_as_colours(saved):
    path = saved(Image.fromarray(GREY.astype(np.uint16) * 257))
    np.testing.assert_array_equal(load_rgb(path), np.dstack([GREY] * 3))
