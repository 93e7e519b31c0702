import numpy as np
import ot
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sliced_wasserstein import (
    PointCloudEmbedding,
    SlicedWassersteinEmbedding,
    gram_matrix,
    sliced_directions,
    sliced_wasserstein_distance,
    sliced_wasserstein_image_distance,
    squared_distances,
    wasserstein_1d,
)


def cloud(seed, n, dimension):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, dimension)) * rng.uniform(0.5, 2, dimension), rng.random(n)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_directions_average_to_the_identity_exactly(dimension):
    theta = sliced_directions(20, dimension, random_state=0)
    assert len(theta) >= 20 or dimension == 1
    np.testing.assert_allclose(np.linalg.norm(theta, axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(
        theta.T @ theta / len(theta), np.eye(dimension) / dimension, atol=1e-14
    )


def test_frames_are_uniform_on_the_sphere():
    """Each half-space gets half of the directions: the signs of the QR factorisation matter."""
    theta = sliced_directions(30_000, 3, random_state=0)
    np.testing.assert_allclose(theta.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose((theta**4).mean(axis=0), 3 / 15, atol=0.01)


def test_directions_follow_the_seed():
    np.testing.assert_array_equal(sliced_directions(9, 3, 1), sliced_directions(9, 3, 1))
    assert (sliced_directions(9, 3, 1) != sliced_directions(9, 3, 2)).any()
    with pytest.raises(ValueError, match="n_directions must be a positive integer"):
        sliced_directions(0, 3)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 7])
def test_translation_gives_its_square_over_the_dimension(dimension):
    positions, weights = cloud(0, 50, dimension)
    shift = np.random.default_rng(1).normal(size=dimension)
    clouds = [(positions, weights), (positions + shift, weights)]
    exact = sliced_wasserstein_distance(
        *clouds, method="exact", directions=sliced_directions(15, dimension, 0)
    )
    assert exact**2 == pytest.approx(shift @ shift / dimension, rel=1e-12)
    z = PointCloudEmbedding(15, random_state=0).fit_transform(clouds)
    assert squared_distances(z)[0, 1] == pytest.approx(shift @ shift / dimension, rel=1e-5)


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_exact_mode_equals_pot(dimension):
    for seed in range(5):
        (x, a), (y, b) = cloud(seed, 40, dimension), cloud(seed + 100, 55, dimension)
        theta = sliced_directions(25, dimension, seed)
        expected = ot.sliced_wasserstein_distance(
            x, y, a / a.sum(), b / b.sum(), projections=theta.T
        )
        value = sliced_wasserstein_distance((x, a), (y, b), method="exact", directions=theta)
        assert value == pytest.approx(expected, rel=1e-12)


def test_volumes_are_clouds_of_voxels():
    rng = np.random.default_rng(0)
    volumes = rng.random((3, 4, 5, 6)) * (rng.random((3, 4, 5, 6)) < 0.5)
    z, y, x = np.indices((4, 5, 6))
    positions = np.column_stack([x.ravel() - 2.5, y.ravel() - 2.0, z.ravel() - 1.5])
    clouds = [(positions, volume.ravel()) for volume in volumes]
    embedding = PointCloudEmbedding(12, random_state=0)
    expected = embedding.fit_transform(clouds)
    np.testing.assert_array_equal(embedding.fit_transform(volumes), expected)
    theta = sliced_directions(12, 3, 0)
    pot = ot.sliced_wasserstein_distance(
        positions,
        positions,
        clouds[0][1] / clouds[0][1].sum(),
        clouds[1][1] / clouds[1][1].sum(),
        projections=theta.T,
    )
    value = sliced_wasserstein_image_distance(*volumes[:2], method="exact", directions=theta)
    assert value == pytest.approx(pot, rel=1e-12)
    binned = sliced_wasserstein_image_distance(*volumes[:2], directions=theta)
    assert binned == pytest.approx(np.sqrt(squared_distances(expected)[0, 1]), rel=1e-5)
    assert binned <= value


def test_in_the_plane_it_is_the_image_embedding_with_points(glcms):
    images = SlicedWassersteinEmbedding(n_angles=10, footprint="point")
    rows, cols = np.indices((64, 64)) - 31.5
    positions = np.column_stack([cols.ravel(), rows.ravel()])
    clouds = PointCloudEmbedding(10)
    np.testing.assert_allclose(
        clouds.fit_transform([(positions, image.ravel()) for image in glcms]),
        images.fit_transform(glcms),
        atol=1e-6,
    )


def test_on_the_line_it_is_the_wasserstein_distance():
    (x, a), (y, b) = cloud(0, 30, 1), cloud(1, 20, 1)
    value = sliced_wasserstein_distance((x, a), (y, b), method="exact")
    assert value == pytest.approx(wasserstein_1d(x[:, 0], y[:, 0], a, b), rel=1e-12)


def test_equal_masses_by_default_and_duplicates_add_up():
    positions = np.array([[0.0, 0, 0], [1, 2, 3]])
    theta = sliced_directions(9, 3, 0)
    embedding = PointCloudEmbedding(directions=theta, template=None)
    z = embedding.fit_transform(
        [
            positions,
            (positions, [2.0, 2.0]),
            positions[[0, 1, 1, 0]],
            (positions[[0, 1, 0]], [5.0, 5.0, 0.0]),
        ]
    )
    np.testing.assert_allclose(z - z[0], 0.0, atol=1e-6)


def test_array_of_three_axes_holds_clouds_of_equal_size():
    array = np.random.default_rng(0).normal(size=(4, 20, 3))
    embedding = PointCloudEmbedding(9, random_state=0)
    np.testing.assert_array_equal(
        embedding.fit_transform(array), embedding.fit_transform(list(array))
    )


def test_templates_shift_and_distances_stay():
    clouds = [cloud(seed, 30, 3) for seed in range(5)]
    base = PointCloudEmbedding(9, random_state=0)
    expected = squared_distances(base.fit_transform(clouds))
    for template in (None, "zero", clouds[2]):
        z = clone(base).set_params(template=template).fit_transform(clouds)
        np.testing.assert_allclose(squared_distances(z), expected, atol=1e-5)
    np.testing.assert_array_equal(z[2], 0.0)


def test_mean_template_is_the_mean_of_the_measures():
    (x, a), (y, b) = cloud(0, 10, 3), cloud(1, 15, 3)
    union = (np.vstack([x, y]), np.concatenate([a / a.sum(), b / b.sum()]))
    embedding = PointCloudEmbedding(9, random_state=0).fit([(x, a), (y, b)])
    np.testing.assert_allclose(embedding.transform([union]), 0.0, atol=1e-6)


@pytest.mark.parametrize(("dimension", "surface"), [(1, 2.0), (2, 2 * np.pi), (3, 4 * np.pi)])
def test_surface_measure_multiplies_by_the_surface_of_the_sphere(dimension, surface):
    clouds = [cloud(seed, 20, dimension) for seed in range(3)]
    one, other = (
        squared_distances(PointCloudEmbedding(6, measure=m, random_state=0).fit_transform(clouds))
        for m in ("probability", "surface")
    )
    np.testing.assert_allclose(other, surface * one, rtol=1e-5)


def test_large_clouds_are_sorted_in_pieces(monkeypatch):
    clouds = [cloud(seed, 30, 3) for seed in range(3)]
    expected = PointCloudEmbedding(9, random_state=0).fit_transform(clouds)
    monkeypatch.setattr("sliced_wasserstein.quantiles._SORTED_VALUES", 70)
    in_pieces = PointCloudEmbedding(9, random_state=0).fit_transform(clouds)
    np.testing.assert_allclose(in_pieces, expected, atol=1e-7)


def test_result_does_not_depend_on_threads():
    clouds = [cloud(seed, 30, 3) for seed in range(7)]
    one, two = (
        PointCloudEmbedding(9, random_state=0, n_jobs=n).fit_transform(clouds) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_gram_is_positive_semi_definite():
    z = PointCloudEmbedding(9, random_state=0).fit_transform([cloud(s, 25, 4) for s in range(20)])
    values = np.linalg.eigvalsh(gram_matrix(z))
    assert values[0] >= -1e-10 * values[-1]


def test_there_is_no_inverse():
    embedding = PointCloudEmbedding(9).fit([cloud(0, 5, 3)])
    with pytest.raises(NotImplementedError, match="images only"):
        embedding.inverse_transform(np.zeros((1, 9 * 128)))


@pytest.mark.parametrize(
    ("clouds", "message"),
    [
        ([], "no clouds"),
        ([np.ones((2, 3)), np.ones(3)], r"cloud 1 must have positions"),
        ([np.ones((2, 3)), np.empty((0, 3))], r"cloud 1 must have positions"),
        ([np.ones((2, 3)), np.ones((2, 2))], "cloud 1 lies in 2 dimensions, expected 3"),
        ([(np.ones((2, 3)), [1.0])], "cloud 0 has weights of shape"),
        ([(np.ones((2, 3)), [1.0, -1.0])], "cloud 0 contains a negative weight"),
        ([(np.ones((2, 3)), [0.0, 0.0])], "cloud 0 has only zero weights"),
        ([(np.ones((2, 3)), [1.0, np.nan])], "cloud 0 contains a value that is NaN"),
        ([np.full((2, 3), np.inf)], "cloud 0 contains a value that is NaN or infinite"),
    ],
)
def test_bad_clouds_are_named(clouds, message):
    with pytest.raises(ValueError, match=message):
        PointCloudEmbedding(3).fit(clouds)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_directions": 0}, "n_directions"),
        ({"n_quantiles": 2.5}, "n_quantiles"),
        ({"measure": "area"}, "measure"),
        ({"template": "median"}, "template"),
        ({"template": (np.ones((2, 3)), [0.0, 0.0])}, "template has only zero weights"),
        ({"directions": np.eye(2)}, "directions must have shape"),
        ({"directions": 2 * np.eye(3)}, "unit vectors"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        PointCloudEmbedding(**parameters).fit([cloud(0, 5, 3)])


def test_distance_above_the_plane_needs_directions():
    with pytest.raises(ValueError, match="3 dimensions need directions"):
        sliced_wasserstein_distance(cloud(0, 5, 3), cloud(1, 5, 3))
    with pytest.raises(ValueError, match="3 dimensions need directions"):
        sliced_wasserstein_image_distance(np.ones((2, 2, 2)), np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="image 1 has shape"):
        sliced_wasserstein_image_distance(np.ones((2, 2, 2)), np.ones((2, 2, 3)))


class TestReading:
    """An array of two axes lists points; nothing is guessed."""

    def test_points_are_not_an_image(self):
        x, y = np.random.default_rng(0).random((2, 100, 2))
        theta = sliced_directions(60, 2)
        expected = ot.sliced_wasserstein_distance(x, y, projections=theta.T)
        assert sliced_wasserstein_distance(x, y) == pytest.approx(expected, rel=1e-12)
        assert sliced_wasserstein_distance(x, y[:70]) == pytest.approx(
            ot.sliced_wasserstein_distance(x, y[:70], projections=theta.T), rel=1e-12
        )
        with pytest.raises(ValueError, match="point clouds are for sliced_wasserstein_distance"):
            sliced_wasserstein_image_distance(x - 0.5, y)
        with pytest.raises(ValueError, match="point clouds are for sliced_wasserstein_distance"):
            sliced_wasserstein_image_distance(x, y[:70])

    def test_images_are_not_points(self, glcms):
        with pytest.raises(ValueError, match="sliced_wasserstein_image_distance"):
            sliced_wasserstein_distance(*glcms[:2])

    def test_a_pair_of_points_is_no_weighted_cloud(self):
        x, y = ((0.0, 1.0), (2.0, 3.0)), ((5.0, 1.0), (7.0, 3.0))
        expected = sliced_wasserstein_distance(np.array(x), np.array(y))
        assert sliced_wasserstein_distance(x, y) == expected

    def test_a_single_table_is_no_list_of_clouds(self):
        for table in (np.ones((5, 3)), np.ones((5, 3)).tolist(), pd.DataFrame(np.ones((5, 3)))):
            with pytest.raises(ValueError, match="one cloud stands in a list"):
                PointCloudEmbedding().fit(table)

    def test_flat_rows_are_clouds_of_equal_size(self):
        array = np.random.default_rng(0).normal(size=(4, 20, 3))
        embedding = PointCloudEmbedding(9, dimension=3, random_state=0)
        expected = embedding.fit_transform(array)
        rows = pd.DataFrame(array.reshape(4, -1)).add_prefix("v")
        np.testing.assert_array_equal(embedding.fit_transform(rows), expected)
        assert list(embedding.feature_names_in_) == list(rows)
        assert embedding.n_features_in_ == 60
        np.testing.assert_array_equal(embedding.transform(rows), expected)
        with pytest.raises(ValueError, match="feature names should match"):
            embedding.transform(rows.add_suffix("?"))
        with pytest.raises(ValueError, match="hold no points in 3 dimensions"):
            embedding.fit(np.ones((2, 7)))

    def test_columns_of_clouds_keep_their_order(self):
        frames = [pd.DataFrame(cloud(k, 9, 3)[0], columns=list("xyz")) for k in range(3)]
        embedding = PointCloudEmbedding(9, random_state=0).fit(frames)
        assert list(embedding.feature_names_in_) == ["x", "y", "z"]
        with pytest.raises(ValueError, match="same order"):
            embedding.transform([frames[0][["y", "x", "z"]]])

    def test_frames_come_out(self):
        embedding = PointCloudEmbedding(2, n_quantiles=3).set_output(transform="pandas")
        frame = embedding.fit_transform([cloud(k, 5, 2)[0] for k in range(3)])
        assert list(frame) == list(embedding.get_feature_names_out())
        assert frame.shape == (3, 6)


class TestPrecision:
    @pytest.mark.parametrize("template", ["mean", "zero", (np.zeros((1, 3)), [1.0])])
    @pytest.mark.parametrize("offset", [0, 1e4, 1e8, 1e12])
    def test_far_from_zero_distances_stay(self, template, offset):
        x = np.round(cloud(0, 30, 3)[0] * 64) / 64
        embedding = PointCloudEmbedding(6, template=template, random_state=0)
        z = embedding.fit_transform([x + offset, x + offset + [3.0, 0, 0]])
        assert squared_distances(z)[0, 1] == pytest.approx(3, rel=1e-3)
        exact = sliced_wasserstein_distance(
            x + offset, x + offset + [3.0, 0, 0], directions=embedding.directions_
        )
        assert exact**2 == pytest.approx(3, rel=1e-9)

    @pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-38, 1e-20, 1e20, 1e38, 1e150, 1e300])
    def test_any_unit_of_length(self, scale):
        pair = [cloud(k, 30, 3)[0] for k in range(2)]
        embedding = PointCloudEmbedding(6, random_state=0)
        plain = embedding.fit_transform(pair)
        z = embedding.fit_transform([x * scale for x in pair])
        assert (z.dtype == np.float32) == (1e-30 < scale < 1e30)
        np.testing.assert_allclose(z / scale, plain, atol=1e-6)

    def test_a_cloud_beyond_the_type_of_the_features_is_named(self):
        embedding = PointCloudEmbedding(6, random_state=0).fit([cloud(0, 9, 3)])
        with pytest.raises(ValueError, match="cloud 1 lies too far"):
            embedding.transform([cloud(0, 9, 3)[0], cloud(1, 9, 3)[0] * 1e42])
        with pytest.raises(ValueError, match="too far apart"):
            sliced_wasserstein_distance([[1.5e308]], [[-1.5e308]])

    def test_one_point_is_a_cloud(self):
        for offset in (0, 1e8):
            z = PointCloudEmbedding(6, random_state=0).fit_transform(
                [np.full((1, 3), offset), np.full((7, 3), offset), [[offset + 3.0, offset, offset]]]
            )
            np.testing.assert_allclose(squared_distances(z)[0], [0, 0, 3], atol=1e-5)


def test_before_fit():
    with pytest.raises(NotFittedError):
        PointCloudEmbedding().transform([np.ones((2, 3))])
