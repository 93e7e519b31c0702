"""The matrices under all kernels: definitions, the split of SW, the train-only template."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import additive_chi2_kernel

from replication.images.matrices import (
    TrainTemplate,
    compare_densities,
    compare_embeddings,
    compare_hog,
)
from sliced_wasserstein import (
    SlicedWassersteinEmbedding,
    center_gram,
    gram_matrix,
    sliced_wasserstein_image_distance,
)

SETTINGS = {"n_angles": 10, "n_quantiles": 32}


@pytest.fixture(scope="module")
def densities():
    rng = np.random.default_rng(0)
    images = rng.gamma(0.3, size=(7, 12, 12)) + 1e-6
    return (images / images.sum(axis=(1, 2), keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def embedding(densities):
    return SlicedWassersteinEmbedding(**SETTINGS).fit_transform(densities)


def test_distances_without_transport_by_definition(densities):
    found = compare_densities(densities, beyond_paper=True)
    a, b = densities[1].astype(float), densities[4].astype(float)
    expected = {
        "density_gram": (a * b).sum(),
        "density_distance": ((a - b) ** 2).sum(),
        "hellinger_distance": ((np.sqrt(a) - np.sqrt(b)) ** 2).sum(),
        "chi_squared_distance": ((a - b) ** 2 / (a + b)).sum(),
    }
    for name, value in expected.items():
        assert found[name][1, 4] == pytest.approx(value, rel=1e-5), name


def test_mean_part_is_half_the_squared_shift_and_the_rest_is_centred(densities, embedding):
    """Golden test 5: SW^2 = |difference of means|^2 / 2 + SW^2 of the centred densities."""
    found = compare_embeddings(embedding, SETTINGS["n_angles"])
    rows, columns = np.mgrid[:12, :12]
    means = np.stack([(densities * grid).sum(axis=(1, 2)) for grid in (rows, columns)], axis=1)
    shift = ((means[:, None] - means) ** 2).sum(axis=2) / 2
    np.testing.assert_allclose(found["sw_mean_distance"], shift, atol=1e-4)
    np.testing.assert_allclose(
        found["sw_mean_distance"] + found["sw_centred_distance"], found["sw_distance"], atol=1e-9
    )


def test_centred_part_ignores_translation():
    image = np.zeros((2, 16, 16), dtype=np.float32)
    image[0, 3:6, 4:6] = image[1, 7:10, 9:11] = 1 / 6
    embedded = SlicedWassersteinEmbedding(**SETTINGS).fit_transform(image)
    found = compare_embeddings(embedded, SETTINGS["n_angles"])
    assert found["sw_mean_distance"][0, 1] == pytest.approx((4**2 + 5**2) / 2, rel=1e-5)
    assert found["sw_centred_distance"][0, 1] < 1e-3


def test_train_template_is_the_embedding_relative_to_the_training_mean(densities, embedding):
    train = np.array([0, 2, 3, 5])
    matrices = {"sw_gram": gram_matrix(embedding)}
    found = TrainTemplate(matrices, densities, embedding, SETTINGS)("sw_gram_train", train)
    mean = densities[train].mean(axis=0, dtype=np.float64)
    expected = gram_matrix(
        SlicedWassersteinEmbedding(**SETTINGS, template=mean).fit(densities).transform(densities)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    # The template moves the origin, never a distance.
    np.testing.assert_allclose(
        center_gram(found), center_gram(matrices["sw_gram"]), rtol=1e-6, atol=1e-6
    )
    assert np.abs(found - matrices["sw_gram"]).max() > 0.01


def test_test_rows_never_enter_the_train_template(densities, embedding):
    train = np.array([0, 2, 3, 5])
    matrices = {"sw_gram": gram_matrix(embedding)}
    template = TrainTemplate(matrices, densities, embedding, SETTINGS)
    before = template("sw_gram_train", train)
    poisoned = densities.copy()
    poisoned[[1, 4, 6]] = np.roll(densities[[1, 4, 6]], 5, axis=1)
    template._densities = poisoned
    np.testing.assert_array_equal(template("sw_gram_train", train), before)


def test_distance_of_the_matrices_is_the_library_s(densities):
    embedded = SlicedWassersteinEmbedding().fit_transform(densities)
    found = compare_embeddings(embedded, 60)["sw_distance"]
    expected = sliced_wasserstein_image_distance(densities[0], densities[1]) ** 2
    assert found[0, 1] == pytest.approx(expected, rel=1e-4)


def test_chi_squared_distances_equal_scikit_learns_where_both_may_be_empty():
    rows = np.random.default_rng(1).gamma(0.3, size=(6, 5, 5)).astype(np.float32)
    rows[:, :2] = 0
    found = compare_densities(rows, beyond_paper=True)["chi_squared_distance"]
    flat = rows.reshape(6, -1).astype(float)
    np.testing.assert_allclose(found, -additive_chi2_kernel(flat), rtol=1e-12)


def test_a_kernel_without_its_matrix_is_named(densities, embedding):
    found = compare_embeddings(embedding, SETTINGS["n_angles"])
    matrices = TrainTemplate(found, densities, embedding, SETTINGS)
    with pytest.raises(ValueError, match="no matrix 'hog_gram'"):
        matrices("hog_gram", np.arange(5))
    vectors = np.random.default_rng(0).random((7, 30), dtype=np.float32)
    matrices = TrainTemplate(found | compare_hog(vectors), densities, embedding, SETTINGS)
    expected = vectors.astype(float) @ vectors.T.astype(float)
    np.testing.assert_allclose(matrices("hog_gram", np.arange(5)), expected, rtol=1e-6)
