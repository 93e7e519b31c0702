"""HOG against an independent program, the lasso by its optimality, inverses by where edges lie."""

import socket

import numpy as np
import pytest
import scipy.io
from sklearn.decomposition import sparse_encode

from replication.images.hoggles.dictionary import (
    PairedDictionary,
    learn_dictionary,
    read_pd_mat,
    sample_photographs,
    unit_contrast,
)
from replication.images.hoggles.hog import hog_features
from replication.images.hoggles.inversion import encode_windows, hoggles, invert_hog


@pytest.fixture(scope="module")
def photographs():
    return sample_photographs()


@pytest.fixture(scope="module")
def training(photographs):
    return {
        name: photographs[name] for name in ("skimage/data/camera.png", "skimage/data/coins.png")
    }


@pytest.fixture(scope="module")
def dictionary(training):
    return learn_dictionary(training, 64, n_windows=1500, n_steps=8, batch_size=200)


@pytest.fixture(scope="module")
def edge_dictionary():
    """Learned on noisy bars of irregular widths: atoms are edges at all positions."""
    rng = np.random.default_rng(0)
    bars = np.repeat(rng.integers(0, 256, 60), rng.integers(40, 90, 60))[:2400]
    noisy = np.broadcast_to(bars, (80, 2400)) + rng.normal(0, 6, (80, 2400))
    image = np.clip(noisy, 0, 255).astype(np.uint8)
    images = {"upright": image, "lying": np.ascontiguousarray(image.T)}
    return learn_dictionary(images, 96, n_steps=10, batch_size=200)


def random_picture(height, width, *channels, seed=0):
    """Smooth colours without ties between orientations or channels."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    waves = [
        np.sin(
            rng.normal(size=channels) * 0.3
            + np.multiply.outer(y, rng.normal(size=channels) / 6)
            + np.multiply.outer(x, rng.normal(size=channels) / 6)
        )
        for _ in range(5)
    ]
    picture = np.sum(waves, axis=0)
    return (picture - picture.min()) / np.ptp(picture)


# HOG -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [(128, 128, (14, 14)), (64, 96, (6, 10)), (83, 84, (8, 9)), (20, 25, (1, 1))],
)
def test_cells_are_rounded_and_the_border_is_dropped(height, width, expected):
    features = hog_features(random_picture(height, width))
    assert features.shape == (*expected, 32)
    assert np.isfinite(features).all()


@pytest.mark.parametrize("name", ["astronaut", "camera", "coffee", "rocket"])
def test_equals_an_independent_program_in_the_interior(name):
    pyfhog = pytest.importorskip("pyfhog")
    data = pytest.importorskip("skimage.data")
    picture = getattr(data, name)()[:256, :256]
    if picture.ndim == 2:
        picture = np.dstack([picture] * 3)
    # Only square images: for others that program returns uninitialised numbers.
    theirs = pyfhog.extract_fhog_features(np.ascontiguousarray(picture), cell_size=8)
    ours = hog_features(picture)[:, :, :31]
    theirs = np.reshape(theirs, ours.shape)
    np.testing.assert_allclose(ours[1:-1, 1:-1], theirs[1:-1, 1:-1], atol=1e-3)


@pytest.mark.parametrize("picture", [np.full((40, 48), 77, np.uint8), np.full((40, 48, 3), 0.3)])
def test_a_constant_image_has_no_features(picture):
    assert not hog_features(picture).any()


def test_channels_are_bounded_and_the_last_is_empty():
    features = hog_features(np.random.default_rng(0).integers(0, 256, (64, 64)).astype(np.uint8))
    assert features.min() >= 0
    assert features[:, :, :27].max() <= 0.4
    assert features[:, :, 27:31].max() <= 0.2357 * 0.2 * 18
    assert not features[:, :, 31].any()


def test_mirroring_the_image_mirrors_cells_and_orientations():
    picture = random_picture(64, 80, seed=3)
    features = hog_features(picture)
    mirrored = hog_features(picture[:, ::-1])
    signed = (9 - np.arange(18)) % 18
    unsigned = 18 + (9 - np.arange(9)) % 9
    texture = [29, 30, 27, 28]  # blocks right of the cell and left of it change places
    channels = np.concatenate([signed, unsigned, texture, [31]])
    np.testing.assert_allclose(mirrored, features[:, ::-1][:, :, channels], atol=1e-12)


def test_turning_black_into_white_turns_only_the_signed_orientations():
    picture = random_picture(64, 80, seed=4)
    channels = np.concatenate([(np.arange(18) + 9) % 18, np.arange(18, 32)])
    np.testing.assert_allclose(
        hog_features(1 - picture), hog_features(picture)[:, :, channels], atol=1e-12
    )


@pytest.mark.parametrize(
    ("ramp", "orientation"),
    [((0, 1), 0), ((0, -1), 9), ((1, 0), 4), ((-1, 0), 13), ((1, 1), 2), ((1, -1), 7)],
)
def test_orientation_points_to_where_it_gets_brighter(ramp, orientation):
    # Rows count downwards. 90 degrees lies between the fourth and the fifth orientation: the first.
    y, x = np.mgrid[:48, :48]
    plane = ramp[0] * y + ramp[1] * x
    signed = hog_features((plane - plane.min()) / np.ptp(plane))[:, :, :18]
    assert signed[:, :, orientation].min() > 0.1
    assert not np.delete(signed, orientation, axis=2).any()


def test_colour_takes_the_steepest_channel_at_every_pixel():
    red, green = random_picture(48, 48, seed=5), random_picture(48, 48, seed=6)
    flat = np.full_like(red, 0.5)
    np.testing.assert_array_equal(hog_features(np.dstack([flat, red])), hog_features(red))
    both = hog_features(np.dstack([red, green]))
    np.testing.assert_allclose(hog_features(np.dstack([green, red])), both, atol=1e-12)
    np.testing.assert_array_equal(hog_features(np.dstack([green * 1e-3, red])), hog_features(red))


def test_faint_gradients_fade_as_the_formula_says():
    # A ramp of slope 2^-17 a pixel: 64 gradients of two pixels in one orientation of every cell.
    h = 64 * 2 * 2.0**-17
    ramp = np.broadcast_to(np.arange(48) * 2.0**-17, (48, 48))
    expected = 4 * 0.5 * h / np.sqrt(4 * h**2 + 1e-4)
    features = hog_features(ramp)[1:-1, 1:-1]
    np.testing.assert_allclose(features[:, :, [0, 18]], expected, rtol=1e-9)


def test_bytes_are_the_same_picture_as_their_fractions():
    picture = np.random.default_rng(8).integers(0, 256, (40, 40)).astype(np.uint8)
    np.testing.assert_allclose(hog_features(picture), hog_features(picture / 255), atol=1e-12)


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (np.zeros(40), r"image must have the shape .* \(40,\)"),
        (np.zeros((40, 0)), r"image must have the shape .* \(40, 0\)"),
        (np.zeros((40, 40), np.int64), "uint8 or floating-point values, got int64"),
        (np.full((40, 40), 1.5), "between 0 and 1, got values from 1.5 to 1.5"),
        (np.full((40, 40), np.nan), "between 0 and 1"),
        (np.zeros((40, 19)), "three cells of 8 pixels high and wide, got 40 x 19"),
    ],
)
def test_images_that_hog_refuses(picture, message):
    with pytest.raises(ValueError, match=message):
        hog_features(picture)


def test_a_cell_has_at_least_two_pixels():
    with pytest.raises(ValueError, match="cell must be at least 2"):
        hog_features(np.zeros((40, 40)), cell=1)


# Dictionary ------------------------------------------------------------------------------------


def test_sample_photographs_need_no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    photographs = sample_photographs()
    assert len(photographs) >= 10
    for image in photographs.values():
        assert image.dtype == np.uint8
        assert min(image.shape) >= 200


def test_atoms_are_contrasts_in_the_unit_ball(dictionary):
    assert dictionary.grey.shape == (64, 56, 56)
    assert dictionary.hog.shape == (64, 5, 5, 32)
    grey, hog = (atoms.reshape(64, -1) for atoms in (dictionary.grey, dictionary.hog))
    norms = np.sqrt((grey**2).sum(axis=1) + (hog**2).sum(axis=1))
    assert norms.max() <= 1 + 1e-5
    np.testing.assert_allclose(grey.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(hog.mean(axis=1), 0, atol=1e-6)
    assert not np.isclose(norms, 0).any()


def test_learning_lowers_the_cost_of_the_training_windows(training, dictionary):
    few = learn_dictionary(training, 64, n_windows=1500, n_steps=1, batch_size=200)

    def cost(pair):
        windows = unit_contrast(all_windows(hog_features(training["skimage/data/coins.png"])))
        codes = encode_windows(windows, pair)
        rest = windows - codes @ pair.hog.reshape(pair.n_atoms, -1)
        return (rest**2).sum() / 2 + pair.penalty * codes.sum()

    assert cost(dictionary) < cost(few)


def test_a_pair_shows_the_same_place(training):
    """With as many atoms as windows each atom is a window: its two halves must belong together."""
    image = training["skimage/data/camera.png"][100:172, 200:272]
    pair = learn_dictionary({"crop": image}, 9, n_windows=9, n_steps=1, batch_size=9)
    hog_windows = unit_contrast(all_windows(hog_features(image)))
    patches = np.lib.stride_tricks.sliding_window_view(image, (56, 56))[::8, ::8].reshape(9, -1)
    grey_windows = unit_contrast(patches / 255)
    # Rank agreement between "which window is this atom" judged by either half.
    by_hog = np.argmax(pair.hog.reshape(9, -1) @ hog_windows.T, axis=1)
    by_grey = np.argmax(pair.grey.reshape(9, -1) @ grey_windows.T, axis=1)
    np.testing.assert_array_equal(by_hog, by_grey)
    assert len(set(by_hog)) >= 8


def test_the_seed_decides_and_nothing_else(training):
    settings = {"n_windows": 300, "n_steps": 2, "batch_size": 50}
    one, two = (learn_dictionary(training, 8, **settings) for _ in range(2))
    other = learn_dictionary(training, 8, **settings, random_state=1)
    np.testing.assert_array_equal(one.grey, two.grey)
    np.testing.assert_array_equal(one.hog, two.hog)
    assert not np.array_equal(one.grey, other.grey)


def test_a_saved_dictionary_says_where_it_comes_from(tmp_path, training, dictionary):
    path = tmp_path / "models" / "dictionary.npz"
    dictionary.save(path)
    loaded = PairedDictionary.load(path)
    np.testing.assert_array_equal(loaded.grey, dictionary.grey)
    np.testing.assert_array_equal(loaded.hog, dictionary.hog)
    assert (loaded.penalty, loaded.cell) == (0.02, 8)
    assert loaded.origin == dictionary.origin
    assert set(loaded.origin["images"]) == set(training)
    assert loaded.origin["random_state"] == 0
    again = tmp_path / "again.npz"
    dictionary.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_a_file_that_is_no_dictionary_is_named(tmp_path, dictionary):
    path = tmp_path / "dictionary.npz"
    dictionary.save(path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"dictionary\.npz: is no paired dictionary"):
        PairedDictionary.load(path)
    np.savez(path, grey=dictionary.grey)
    with pytest.raises(ValueError, match=r"dictionary\.npz: is no paired dictionary"):
        PairedDictionary.load(path)
    whole = {"penalty": 0.1, "cell": 8, "origin": "{}", "grey": dictionary.grey}
    whole["hog"] = dictionary.hog
    for changes in ({"cell": 8.5}, {"origin": "[1]"}, {"origin": "{"}, {"grey": None}):
        np.savez(path, **whole | changes)
        with pytest.raises(ValueError, match=r"dictionary\.npz: is no paired dictionary"):
            PairedDictionary.load(path)
    np.save(tmp_path / "array.npy", dictionary.grey)
    with pytest.raises(ValueError, match=r"array\.npy: is no paired dictionary"):
        PairedDictionary.load(tmp_path / "array.npy")
    with pytest.raises(ValueError, match=r"dictionary\.json: a dictionary is saved as \.npz"):
        dictionary.save(tmp_path / "dictionary.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grey": np.zeros((2, 56, 48))}, r"grey must have the shape \(2, 56, 56\)"),
        ({"hog": np.zeros((2, 5, 5, 31))}, r"hog must have the shape .* \(2, 5, 5, 31\)"),
        ({"hog": np.full((2, 5, 5, 32), np.nan)}, "hog holds values that are not finite"),
        ({"hog": np.full((2, 5, 5, 32), 1e300)}, "hog holds values that are not finite"),
        ({"grey": np.full((2, 56, 56), 1j)}, "grey must hold real numbers, got complex128"),
        ({"grey": np.full((2, 56, 56), "a")}, "grey must hold real numbers"),
        ({"penalty": 0.0}, "penalty must be positive"),
        ({"penalty": np.inf}, "penalty must be positive"),
        ({"penalty": np.nan}, "penalty must be positive"),
    ],
)
def test_parts_that_make_no_dictionary(changes, message):
    parts = {"grey": np.zeros((2, 56, 56)), "hog": np.zeros((2, 5, 5, 32)), "penalty": 0.1}
    with pytest.raises(ValueError, match=message):
        PairedDictionary(**{**parts, **changes}, cell=8)


@pytest.mark.parametrize(
    ("images", "n_atoms", "message"),
    [
        ({}, 4, "images"),
        ({"small": np.zeros((55, 90), np.uint8)}, 4, "small: smaller than a window of 56"),
        ({"black": np.zeros((90, 90), np.uint8)}, 4, "images hold 0 windows"),
        ({"black": np.zeros((90, 90), np.uint8)}, 0, "n_atoms must be positive"),
    ],
)
def test_images_that_cannot_be_learned_from(images, n_atoms, message):
    with pytest.raises(ValueError, match=message):
        learn_dictionary(images, n_atoms)


def pd_structure(**changes):
    """The published layout for windows of 3 x 4 cells, which a swap of the axes would break."""
    rng = np.random.default_rng(2)
    grey, hog = rng.normal(size=(40, 48, 6)), rng.normal(size=(3, 4, 32, 6))
    structure = {
        "dgray": grey.reshape(-1, 6, order="F"),
        "dhog": hog.reshape(-1, 6, order="F"),
        "ny": 3.0,
        "nx": 4.0,
        "sbin": 8.0,
        "lambda": 0.02,
        "k": 6.0,
        **changes,
    }
    return grey, hog, {key: value for key, value in structure.items() if value is not None}


def test_the_published_dictionary_file_is_read(tmp_path):
    grey, hog, structure = pd_structure()
    path = tmp_path / "pd.mat"
    scipy.io.savemat(path, {"pd": structure})
    pair = read_pd_mat(path)
    np.testing.assert_array_equal(pair.grey, np.moveaxis(grey, -1, 0))
    np.testing.assert_array_equal(pair.hog, np.moveaxis(hog, -1, 0))
    assert (pair.penalty, pair.cell, pair.n_atoms) == (0.02, 8, 6)
    assert len(pair.origin["sha256"]) == 64
    assert invert_hog(hog_features(random_picture(64, 80)), pair).shape == (64, 80)


def test_a_published_dictionary_of_one_atom(tmp_path):
    grey, _, structure = pd_structure()
    one = {key: structure[key][:, :1] for key in ("dgray", "dhog")}
    scipy.io.savemat(tmp_path / "pd.mat", {"pd": structure | one})
    pair = read_pd_mat(tmp_path / "pd.mat")
    np.testing.assert_array_equal(pair.grey[0], grey[..., 0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lambda": None}, "the structure pd lacks lambda"),
        ({"dhog": np.zeros((384, 5))}, "grey must have the shape"),
        ({"ny": 3.5}, r"pd\.ny must be a whole number, got 3\.5"),
        ({"ny": np.array([3, 3])}, r"pd\.ny must be a whole number"),
        ({"nx": "4"}, r"pd\.nx must be a whole number"),
        ({"sbin": np.nan}, r"pd\.sbin must be a whole number"),
        ({"lambda": np.array([1.0, 2.0])}, "dictionary"),
        ({"dgray": np.zeros((1920, 6)) * 1j}, "grey must hold real numbers"),
        ({"dgray": "abc"}, r"pd\.dgray must have 1920 rows"),
        ({"dgray": np.zeros((100, 6))}, r"pd\.dgray must have 1920 rows .* \(100, 6\)"),
    ],
)
def test_a_wrong_structure_is_named(tmp_path, changes, message):
    _, _, structure = pd_structure(**changes)
    path = tmp_path / "pd.mat"
    scipy.io.savemat(path, {"pd": structure})
    with pytest.raises(ValueError, match=rf"pd\.mat: .*{message}"):
        read_pd_mat(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no published dictionary"),
        (b"<html>moved</html>", "is no published dictionary"),
        (b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n", "7.3 file"),
    ],
)
def test_a_file_that_is_no_structure_is_named(tmp_path, content, message):
    path = tmp_path / "pd.mat"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"pd\.mat: .*{message}"):
        read_pd_mat(path)


# Inversion -------------------------------------------------------------------------------------


def all_windows(features):
    windows = np.lib.stride_tricks.sliding_window_view(features, (5, 5), axis=(0, 1))
    return windows.transpose(0, 1, 3, 4, 2).reshape(-1, 800)


def test_codes_meet_the_optimality_conditions_of_the_positive_lasso(photographs, dictionary):
    windows = all_windows(hog_features(photographs["sklearn/datasets/images/china.jpg"]))[::40]
    codes = encode_windows(windows, dictionary)
    atoms = dictionary.hog.reshape(64, -1).astype(float)
    slope = (unit_contrast(windows) - codes @ atoms) @ atoms.T - dictionary.penalty
    assert codes.min() == 0
    assert (codes > 0).any(axis=1).all()
    assert slope.max() <= 1e-5
    assert np.abs(slope[codes > 0]).max() <= 1e-5


def test_contrast_ignores_brightness_and_scale_and_survives_constants():
    windows = np.random.default_rng(0).normal(size=(3, 800))
    unit = unit_contrast(windows)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    np.testing.assert_allclose(unit_contrast(5 * windows + 2), unit, atol=1e-12)
    assert np.abs(unit_contrast(np.full((2, 800), 0.1))).max() < 1e-6


def test_codes_equal_those_of_scikit_learns_sparse_coding(photographs, dictionary):
    windows = all_windows(hog_features(photographs["sklearn/datasets/images/flower.jpg"]))[::200]
    theirs = sparse_encode(
        unit_contrast(windows),
        dictionary.hog.reshape(64, -1).astype(float),
        algorithm="lasso_cd",
        alpha=dictionary.penalty,
        positive=True,
    )
    np.testing.assert_allclose(encode_windows(windows, dictionary), theirs, atol=1e-4)
    alone = encode_windows(windows[:1], dictionary)
    np.testing.assert_allclose(alone, theirs[:1], atol=1e-4)


def test_windows_without_contrast_have_no_code(dictionary):
    assert not encode_windows(np.zeros((2, 800)), dictionary).any()


def edge_error(dictionary, position, axis, sign):
    """Pixels from a step edge to the centre of the rise that its inverse has near by."""
    profile = np.where(np.arange(128) < position, 0.5 - 0.2 * sign, 0.5 + 0.2 * sign)
    image = np.broadcast_to(profile, (128, 128))
    inverse = invert_hog(hog_features(image.T if axis == 0 else image), dictionary)
    near = np.arange(position - 16, position + 16)
    rise = np.maximum(sign * np.diff(inverse.mean(axis=1 - axis))[near], 0)
    assert rise.max() > 0.1
    return (rise * near).sum() / rise.sum() - (position - 1)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_edge_comes_back_at_its_pixel(edge_dictionary, axis, sign):
    errors = [edge_error(edge_dictionary, position, axis, sign) for position in range(60, 68)]
    # Between two cells and in the middle of one the position is known.
    assert np.abs([errors[0], errors[4]]).max() <= 2
    # Elsewhere the clipping of the histograms hides it: the edge moves towards the next border.
    assert np.abs(errors).max() <= 4
    assert abs(np.mean(errors)) <= 1


@pytest.mark.parametrize(("rows", "columns"), [(14, 14), (1, 1), (3, 8)])
def test_the_inverse_has_two_more_cells_than_the_features(dictionary, rows, columns):
    features = np.random.default_rng(1).uniform(0, 0.4, (rows, columns, 32))
    inverse = invert_hog(features, dictionary)
    assert inverse.shape == (8 * (rows + 2), 8 * (columns + 2))
    assert (inverse.min(), inverse.max()) == (0, 1)


def test_patches_are_blended_as_the_formula_says(dictionary):
    features = np.random.default_rng(1).uniform(0, 0.4, (1, 3, 32))
    padded = np.zeros((11, 13, 32))
    padded[5:6, 5:8] = features
    y = np.arange(56) - 27.5
    gaussian = np.exp(-(y[:, None] ** 2 + y**2) / (2 * 9**2))
    gaussian /= gaussian.sum()
    total, count = np.zeros((104, 120)), np.zeros((104, 120))
    for i in range(7):
        for j in range(9):
            window = padded[i : i + 5, j : j + 5].reshape(1, -1)
            patch = np.tensordot(encode_windows(window, dictionary)[0], dictionary.grey, 1)
            here = np.s_[8 * i : 8 * i + 56, 8 * j : 8 * j + 56]
            total[here] += patch * gaussian
            count[here] += 1
    expected = (total / count)[40:-40, 40:-40]
    expected = (expected - expected.min()) / np.ptp(expected)
    np.testing.assert_allclose(invert_hog(features, dictionary), expected, atol=1e-6)


def test_inverses_resemble_photographs_they_were_not_learned_from(photographs, dictionary):
    image = photographs["skimage/data/astronaut.png"][:256, 96:352:][::2, ::2]
    (inverse,) = hoggles([image], dictionary)
    assert np.corrcoef(inverse.ravel(), image.ravel())[0, 1] > 0.4


def test_a_constant_image_gives_zeros_not_nan(dictionary):
    assert not hoggles([np.full((64, 64), 9, np.uint8)], dictionary).any()


def test_jobs_and_blocks_do_not_change_a_bit(photographs, dictionary):
    crops = [image[:64, :72] for image in list(photographs.values())[:3]]
    at_once = hoggles(crops, dictionary)
    assert at_once.dtype == np.float32
    assert at_once.shape == (3, 64, 72)
    np.testing.assert_array_equal(hoggles(crops, dictionary, n_jobs=2), at_once)
    blocks = [hoggles(crops[:1], dictionary), hoggles(crops[1:], dictionary)]
    np.testing.assert_array_equal(np.concatenate(blocks), at_once)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_guilty_image_is_numbered(dictionary, n_jobs):
    good = np.zeros((64, 64), np.uint8)
    with pytest.raises(ValueError, match=r"image 1 cannot be inverted: image must lie between"):
        hoggles([good, np.full((64, 64), np.inf), good], dictionary, n_jobs=n_jobs)


def test_images_of_two_sizes_or_none_are_refused(dictionary):
    with pytest.raises(ValueError, match=r"one size.*\(64, 64\), \(72, 64\)"):
        hoggles([np.zeros((64, 64)), np.zeros((72, 64))], dictionary)
    with pytest.raises(ValueError, match="images is empty"):
        hoggles([], dictionary)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros((4, 4, 31)), r"features must have the shape .* \(4, 4, 31\)"),
        (np.zeros((0, 4, 32)), r"features must have the shape .* \(0, 4, 32\)"),
        (np.full((4, 4, 32), np.inf), "features holds values that are not finite"),
    ],
)
def test_features_that_cannot_be_inverted(dictionary, features, message):
    with pytest.raises(ValueError, match=message):
        invert_hog(features, dictionary)


def test_images_of_many_sizes_have_inverses_of_one(photographs, dictionary):
    """With a side the size of an image is its own; without one it has to be that of all."""
    image = next(iter(photographs.values()))
    images = [image[:96, :80], image[:64, :64]]
    inverses = hoggles(images, dictionary, side=40)
    assert inverses.shape == (2, 40, 40)
    # Where nothing is to be resized nothing changes.
    (same,) = hoggles(images[1:], dictionary, side=64)
    np.testing.assert_array_equal(same, hoggles(images[1:], dictionary)[0])
    with pytest.raises(ValueError, match="one size"):
        hoggles(images, dictionary)
