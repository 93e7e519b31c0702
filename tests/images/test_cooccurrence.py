"""Co-occurrence matrices: counted by hand, compared with scikit-image, and as properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from skimage.feature import graycomatrix

from replication.images.cooccurrence import (
    UNIT_OFFSETS,
    cooccurrence_matrices,
    cooccurrence_matrix,
)

IMAGES = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, min_side=3, max_side=12))
OFFSETS = st.lists(
    st.tuples(st.integers(-2, 2), st.integers(-2, 2)).filter(any), min_size=1, max_size=4
)


@pytest.fixture
def picture() -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (37, 52)).astype(np.uint8)


def test_two_by_two_counted_by_hand():
    # 0 2
    # 1 2   in four levels; to the right: 0->2, 1->2; down-left: 2->1.
    image = np.array([[0, 128], [64, 191]], dtype=np.uint8)
    right = cooccurrence_matrix(image, 4, [(0, 1)], symmetric=False, normalize=False)
    expected = np.zeros((4, 4))
    expected[0, 2] = expected[1, 2] = 1
    np.testing.assert_array_equal(right, expected)
    both = cooccurrence_matrix(image, 4, [(0, 1), (1, -1)])
    expected = np.zeros((4, 4))
    expected[0, 2] = expected[2, 0] = 1
    expected[1, 2] = expected[2, 1] = 2  # 1->2 to the right and 2->1 down-left
    np.testing.assert_array_equal(both, expected / 6)


@pytest.mark.parametrize("levels", [2, 7, 64, 256])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(
    ("offset", "angle"),
    [((0, 1), 0), ((1, 1), np.pi / 4), ((1, 0), np.pi / 2), ((1, -1), 3 * np.pi / 4)],
)
def test_equals_scikit_image_where_both_exist(picture, levels, symmetric, offset, angle):
    quantised = picture.astype(int) * levels // 256
    theirs = graycomatrix(quantised.astype(np.uint8), [1], [angle], levels, symmetric=symmetric)
    ours = cooccurrence_matrix(picture, levels, [offset], symmetric=symmetric, normalize=False)
    np.testing.assert_array_equal(ours, theirs[:, :, 0, 0])


def test_several_offsets_are_summed_before_normalising(picture):
    angles = [0, np.pi / 4, np.pi / 2, 3 * np.pi / 4]
    theirs = graycomatrix(picture // 4, [1], angles, 64, symmetric=True)[:, :, 0].sum(axis=-1)
    np.testing.assert_allclose(cooccurrence_matrix(picture), theirs / theirs.sum(), rtol=1e-15)


@given(image=IMAGES, offsets=OFFSETS, levels=st.integers(2, 256), symmetric=st.booleans())
def test_every_pair_inside_the_image_counts_once(image, offsets, levels, symmetric):
    height, width = image.shape
    pairs = sum((height - abs(dr)) * (width - abs(dc)) for dr, dc in offsets)
    matrix = cooccurrence_matrix(image, levels, offsets, symmetric=symmetric, normalize=False)
    assert matrix.shape == (levels, levels)
    assert matrix.sum() == pairs * (2 if symmetric else 1)


@given(image=IMAGES, offsets=OFFSETS)
def test_symmetric_and_normalised_by_default(image, offsets):
    matrix = cooccurrence_matrix(image, 16, offsets)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix.sum() == pytest.approx(1, abs=1e-12)


@given(image=IMAGES, offsets=OFFSETS)
def test_turning_an_offset_round_transposes_the_matrix(image, offsets):
    backwards = [(-dr, -dc) for dr, dc in offsets]
    there = cooccurrence_matrix(image, 16, offsets, symmetric=False)
    back = cooccurrence_matrix(image, 16, backwards, symmetric=False)
    np.testing.assert_array_equal(there, back.T)


@given(image=IMAGES)
def test_the_unit_offsets_do_not_see_quarter_turns(image):
    matrices = [cooccurrence_matrix(np.rot90(image, k), 16, UNIT_OFFSETS) for k in range(4)]
    for matrix in matrices[1:]:
        np.testing.assert_array_equal(matrix, matrices[0])


def test_levels_are_those_of_the_type_not_of_the_image():
    dark = np.zeros((4, 4), dtype=np.uint8)
    bright = np.full((4, 4), 255, dtype=np.uint8)
    assert cooccurrence_matrix(dark, 64)[0, 0] == 1
    assert cooccurrence_matrix(bright, 64)[63, 63] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": np.zeros((4, 4))}, "image must be .* float64"),
        ({"image": np.zeros((4, 4, 3), np.uint8)}, r"image must be .* \(4, 4, 3\)"),
        ({"levels": 1}, "levels must lie between 2 and 256, got 1"),
        ({"levels": 257}, "levels must lie between 2 and 256, got 257"),
        ({"levels": 64.0}, "levels must be an integer"),
        ({"offsets": []}, "offsets is empty"),
        ({"offsets": [(0, 0)]}, r"offsets: \(0, 0\)"),
        ({"offsets": [(0, 1.5)]}, "offsets must be pairs of integers"),
        ({"offsets": [(1, 2, 3)]}, "offsets must be pairs of integers"),
        ({"offsets": [(0, 1), (0, 6)]}, r"offsets: \(0, 6\) reaches beyond an image of 4 x 6"),
        ({"offsets": [(-4, 0)]}, r"offsets: \(-4, 0\) reaches beyond"),
        ({"image": np.zeros((0, 6), np.uint8)}, "reaches beyond an image of 0 x 6"),
    ],
)
def test_errors_name_the_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        cooccurrence_matrix(**{"image": np.zeros((4, 6), np.uint8), **arguments})


@pytest.fixture
def files(tmp_path, picture):
    paths = [tmp_path / f"{name}.png" for name in "abc"]
    for path, image in zip(paths, (picture, picture.T, 255 - picture), strict=True):
        Image.fromarray(np.ascontiguousarray(image)).save(path)
    return paths


def test_files_in_order_and_independent_of_jobs(files, picture):
    one = cooccurrence_matrices(files, 32)
    assert one.shape == (3, 32, 32)
    assert one.dtype == np.float32
    np.testing.assert_array_equal(one[0], cooccurrence_matrix(picture, 32).astype(np.float32))
    np.testing.assert_array_equal(one[2], one[0][::-1, ::-1])
    np.testing.assert_array_equal(one, cooccurrence_matrices(files, 32, n_jobs=2))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_guilty_file_is_named(files, n_jobs):
    files[1].write_bytes(files[1].read_bytes()[:200])
    with pytest.raises(ValueError, match=r"b\.png: is corrupt or truncated"):
        cooccurrence_matrices(files, n_jobs=n_jobs)


def test_a_file_too_small_for_an_offset_is_named(files):
    with pytest.raises(ValueError, match=r"a\.png: offsets: \(0, 60\) reaches beyond"):
        cooccurrence_matrices(files, offsets=[(0, 60)])


def test_no_files_is_an_error():
    with pytest.raises(ValueError, match="paths is empty"):
        cooccurrence_matrices([])
