"""Whatever holds the same numbers gives the same result; whatever holds none is named."""

import multiprocessing
import pickle
from typing import get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sliced_wasserstein import (
    KernelKMeans,
    PointCloudEmbedding,
    SlicedWassersteinEmbedding,
    center_gram,
    change_template,
    gaussian_kernel,
    gram_matrix,
    kernel_scale,
    median_squared_distance,
    polynomial_kernel,
    sliced_directions,
    sliced_wasserstein_distance,
    sliced_wasserstein_image_distance,
    squared_distances,
    wasserstein_1d,
)

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 9, (4, 6, 5)).astype(float)
POINTS = RNG.integers(0, 9, (6, 3)).astype(float)
FRAMES = sliced_directions(6, 3, random_state=0)
LINE = np.array([0.0, 1.0, 5.0])
GRAM = gram_matrix(POINTS)
SQUARED = squared_distances(POINTS)

# For each call: its name, itself, an input, and what its messages call the input.
CALLS = {
    "images": (lambda a: embedding().fit_transform(a), IMAGES, "image"),
    "rows": (
        lambda a: embedding(image_shape=(6, 5)).fit_transform(a),
        IMAGES.reshape(4, -1),
        "image",
    ),
    "clouds": (lambda a: clouds().fit([POINTS]).transform([a]), POINTS, "cloud 0"),
    "clouds' rows": (
        lambda a: clouds(dimension=3).fit_transform(a),
        POINTS.reshape(2, 9),
        "cloud",
    ),
    "cloud pair": (
        lambda a: sliced_wasserstein_distance(a, POINTS + 1, directions=FRAMES),
        POINTS,
        "cloud 0",
    ),
    "image pair": (lambda a: sliced_wasserstein_image_distance(IMAGES[1], a), IMAGES[0], "image"),
    "line": (lambda a: wasserstein_1d(a, LINE**2), LINE, "x"),
    "gram": (gram_matrix, POINTS, "Z"),
    "cross gram": (lambda a: gram_matrix(POINTS, {} if a is None else a), POINTS, "Y"),
    "squares": (squared_distances, POINTS, "Z"),
    "centred": (center_gram, GRAM, "G"),
    "template": (lambda a: change_template(a, GRAM[0], 2.0), GRAM, "G"),
    "scale": (kernel_scale, np.diag(GRAM), "squared_norms"),
    "median": (median_squared_distance, SQUARED, "D2"),
    "gaussian": (lambda a: gaussian_kernel(a, 0.01), SQUARED, "D2"),
    "polynomial": (lambda a: polynomial_kernel(a, 2), GRAM, "G"),
    "k-means": (lambda a: KernelKMeans(2, random_state=0).fit_predict(a), GRAM, "X"),
    "k-means of points": (
        lambda a: KernelKMeans(2, kernel="linear", random_state=0).fit_predict(a),
        POINTS,
        "X",
    ),
}
EVERY_CALL = pytest.mark.parametrize(("call", "array", "name"), CALLS.values(), ids=CALLS.keys())


def embedding(**parameters):
    return SlicedWassersteinEmbedding(4, n_quantiles=8, **parameters)


def clouds(**parameters):
    return PointCloudEmbedding(6, n_quantiles=8, random_state=0, **parameters)


def containers(array, folder):
    np.save(folder / "map.npy", array)
    yield np.load(folder / "map.npy", mmap_mode="r")
    yield np.asfortranarray(array)
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    for dtype in (np.float32, np.float16, np.longdouble, np.int64, np.int16, ">f8", object):
        yield array.astype(dtype)
    yield array.tolist()
    yield list(array)
    yield tuple(array)
    yield np.ma.array(array)
    if array.ndim == 2:
        yield pd.DataFrame(array)
        yield np.matrix(array)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@EVERY_CALL
def test_the_container_does_not_matter(call, array, name, tmp_path):
    expected = call(array)
    for container in containers(array, tmp_path):
        np.testing.assert_allclose(call(container), expected, rtol=1e-6, atol=1e-6)


def replaced(array, value):
    array = array.astype(np.result_type(array, np.asarray(value)))
    array[(-1,) * array.ndim] = value
    return array


NO_NUMBERS = {
    "NaN": lambda a: replaced(a, np.nan),
    "infinite": lambda a: replaced(a, np.inf),
    "complex": lambda a: a + 1j,
    "text": lambda a: a.astype(str),
    "text in objects": lambda a: a.astype(str).astype(object),
    "None": lambda a: np.full(a.shape, None),
    "dates": lambda a: a.astype("datetime64[s]"),
    "records": lambda a: np.zeros(a.shape, [("value", float)]),
    "masked": lambda a: np.ma.masked_equal(a, a.max()),
    "ragged": lambda a: [*a.tolist(), [1.0]],
    "empty": lambda a: a[:0],
    "no array": lambda a: None,
    "a set": lambda a: {1, 2},
    "one axis more": lambda a: a[np.newaxis],
    "sparse": lambda a: csr_array(a.reshape(len(a), -1)),
}


@EVERY_CALL
@pytest.mark.parametrize("spoil", NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_what_holds_no_numbers_is_named(call, array, name, spoil):
    # Some words on the shape of tables are scikit-learn's.
    words = f"{name}|Found array with|Expected 2D array|expected a list of clouds"
    with pytest.raises((ValueError, TypeError), match=words):
        call(spoil(array))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_])
def test_small_integers_do_not_overflow(dtype):
    points = np.array([[100, 1], [0, 100], [100, 100]]).astype(dtype)
    wide = points.astype(float)
    np.testing.assert_array_equal(gram_matrix(points), wide @ wide.T)
    np.testing.assert_array_equal(squared_distances(points, points[1:]), squared(wide, wide[1:]))


def squared(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("call", [gram_matrix, squared_distances])
@pytest.mark.parametrize("points", [np.eye(3) * 1e200, np.eye(3) * 1.7e308])
def test_products_that_overflow_are_named(call, points):
    for arguments in ((points,), (points, points)):
        with pytest.raises(ValueError, match="Z is too large"):
            call(*arguments)


@pytest.mark.parametrize("offset", [0, 1e3, 1e8, 1e12, -1e15])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_do_not_depend_on_a_common_offset(offset, dtype):
    points = (RNG.integers(-8, 9, (30, 20)) + offset).astype(dtype)
    wide = points.astype(float)
    np.testing.assert_allclose(squared_distances(points), squared(wide, wide), rtol=1e-12)
    np.testing.assert_allclose(
        squared_distances(points[:9], points[5:]), squared(wide[:9], wide[5:]), rtol=1e-12
    )


def test_distances_within_groups_that_are_far_apart():
    groups = RNG.normal(size=(40, 5)) + 1e9 * RNG.integers(0, 3, (40, 1))
    np.testing.assert_allclose(squared_distances(groups), squared(groups, groups), rtol=1e-12)
    assert squared_distances([[1e8, 0], [1e8, 1]])[0, 1] == 1


@pytest.mark.parametrize("value", [None, "1", np.nan, -1, True, 1j, [1.0], -np.inf])
def test_numbers_that_are_none_are_named(value):
    for name, call in (
        ("p", lambda: wasserstein_1d(LINE, LINE, p=value)),
        ("gamma", lambda: gaussian_kernel(SQUARED, value)),
        ("coef0", lambda: polynomial_kernel(GRAM, 2, value)),
        ("degree", lambda: polynomial_kernel(GRAM, value)),
        ("squared_norm", lambda: change_template(GRAM, GRAM[0], value)),
        ("n_angles", lambda: sliced_wasserstein_image_distance(*IMAGES[:2], n_angles=value)),
        (
            "n_angles",
            lambda: sliced_wasserstein_distance(LINE[:, None], POINTS[:, :1], n_angles=value),
        ),
        ("n_directions", lambda: sliced_directions(value, 2)),
        ("dimension", lambda: sliced_directions(2, value)),
    ):
        with pytest.raises(ValueError, match=f"{name} must be a"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wasserstein_1d(LINE, LINE, p=0.999), "p must be a number at least 1"),
        (lambda: gaussian_kernel(SQUARED, 0), "gamma must be a number above 0"),
        (lambda: gaussian_kernel(SQUARED, np.inf), "gamma .* finite"),
        (lambda: polynomial_kernel(GRAM, np.inf), "degree must be a positive integer"),
        (lambda: polynomial_kernel(GRAM, 2, np.inf), "coef0 .* finite"),
        (lambda: polynomial_kernel(GRAM, 10**6), "G is too large"),
        (lambda: gaussian_kernel(-SQUARED, 1.0), "D2 must hold squared distances"),
        (lambda: median_squared_distance(-SQUARED), "D2 must hold squared distances"),
        (lambda: center_gram(np.triu(GRAM)), "G must be symmetric"),
        (lambda: change_template(GRAM, GRAM[0] * np.nan, 1.0), "inner contains NaN"),
        (lambda: sliced_directions(2.0, 2), "n_directions must be a positive integer"),
        (lambda: sliced_wasserstein_distance(POINTS[:, :2], POINTS), "cloud 1 lies in 3"),
        (lambda: sliced_wasserstein_distance(LINE, LINE), "cloud 0 must have positions"),
        (lambda: sliced_wasserstein_distance([POINTS, LINE], POINTS), "tuple"),
    ],
)
def test_what_is_outside_its_range_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("gamma", [5e-324, 1e-300, 1e300, 1.7e308])
def test_any_positive_gamma_gives_a_kernel(gamma):
    kernel = gaussian_kernel(SQUARED, gamma)
    assert ((kernel >= 0) & (kernel <= 1)).all()


@pytest.mark.parametrize("n_jobs", [0, np.nan, 1.5, "two", True, np.inf])
@pytest.mark.parametrize(
    ("estimator", "data"), [(embedding(), IMAGES), (clouds(), [POINTS])], ids=["images", "clouds"]
)
def test_nonsense_for_n_jobs_is_named(estimator, data, n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None or an integer other than 0"):
        estimator.set_params(n_jobs=n_jobs).fit(data)
    fitted = estimator.set_params(n_jobs=None).fit(data).set_params(n_jobs=n_jobs)
    with pytest.raises(ValueError, match="n_jobs"):
        fitted.transform(data)


@pytest.mark.parametrize("n_jobs", [1, -1, -100, 10**6])
def test_any_number_of_threads_gives_the_same(n_jobs):
    for make, data in ((embedding, IMAGES), (clouds, [POINTS, POINTS + 1])):
        expected = make().fit_transform(data)
        np.testing.assert_array_equal(make(n_jobs=n_jobs).fit_transform(data), expected)


@pytest.mark.parametrize(
    ("estimator", "data", "changes"),
    [
        (
            embedding(image_shape=(6, 5)),
            IMAGES,
            {
                "n_angles": 5,
                "n_quantiles": 4,
                "footprint": "point",
                "oversampling": 4,
                "measure": "surface",
                "image_shape": None,
            },
        ),
        (
            clouds(),
            [POINTS],
            {"n_directions": 9, "n_quantiles": 4, "measure": "surface", "dimension": 3},
        ),
    ],
    ids=["images", "clouds"],
)
def test_a_parameter_changed_after_fit_is_named(estimator, data, changes):
    for name, value in changes.items():
        fitted = pickle.loads(pickle.dumps(estimator.fit(data))).set_params(**{name: value})
        with pytest.raises(ValueError, match=rf"{name} was .* in fit and is .* fit again"):
            fitted.transform(data)


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (embedding(), IMAGES),
        (clouds(), [POINTS]),
        (KernelKMeans(2, random_state=0), GRAM),
    ],
    ids=["images", "clouds", "k-means"],
)
def test_y_is_ignored(estimator, data):
    rng = np.random.default_rng(1)
    fit = getattr(estimator, "fit_transform", getattr(estimator, "fit_predict", None))
    for y in (None, rng.random(len(data)), "anything"):
        assert estimator.fit(data, y) is estimator
        np.testing.assert_array_equal(fit(data, y), fit(data))


def test_results_have_a_type_for_checkers():
    for function in (
        SlicedWassersteinEmbedding.fit_transform,
        SlicedWassersteinEmbedding.transform,
        PointCloudEmbedding.fit_transform,
        PointCloudEmbedding.transform,
        KernelKMeans.fit_predict,
        KernelKMeans.predict,
    ):
        assert get_origin(get_type_hints(function)["return"]) is np.ndarray


def test_arguments_that_could_be_exchanged_have_names():
    for call in (
        lambda: SlicedWassersteinEmbedding(4, 8),
        lambda: PointCloudEmbedding(4, 8),
        lambda: KernelKMeans(4, "linear"),
        lambda: sliced_wasserstein_distance(POINTS, POINTS, 60),
        lambda: sliced_wasserstein_image_distance(*IMAGES[:2], 60),
    ):
        with pytest.raises(TypeError, match="positional argument"):
            call()


def _embed(queue):
    queue.put(embedding(n_jobs=2).fit_transform(IMAGES))


def test_a_fork_after_threads_embeds_the_same():
    expected = embedding(n_jobs=2).fit_transform(IMAGES)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_embed, args=(queue,))
    process.start()
    np.testing.assert_array_equal(queue.get(timeout=60), expected)
    process.join(10)
    assert process.exitcode == 0
