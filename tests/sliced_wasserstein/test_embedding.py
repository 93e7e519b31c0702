import inspect
import pickle
import subprocess
import sys

import numpy as np
import ot
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import sliced_wasserstein
from sliced_wasserstein import (
    PointCloudEmbedding,
    SlicedWassersteinEmbedding,
    center_gram,
    change_template,
    gaussian_kernel,
    gram_matrix,
    sliced_wasserstein_image_distance,
    squared_distances,
)
from sliced_wasserstein.projection import directions_from_angles, half_circle_angles, project
from sliced_wasserstein.quantiles import bin_means, quantile_edges
from sliced_wasserstein.slices import slice_quantiles

BOX_AND_POINT = pytest.mark.parametrize("footprint", ["box", "point"])


def squared(images, **parameters):
    return squared_distances(SlicedWassersteinEmbedding(**parameters).fit_transform(images))


def bump(shape, centre, covariance):
    rows, cols = np.indices(shape)
    offset = np.stack([cols - centre[0], rows - centre[1]], axis=-1)
    exponent = np.einsum("...i,ij,...j", offset, np.linalg.inv(covariance), offset)
    return np.exp(-exponent / 2)


def centre_of_mass(image):
    rows, cols = np.indices(image.shape)
    return np.array([(cols * image).sum(), (rows * image).sum()]) / image.sum()


class TestClosedForms:
    """Densities for which the distance is known (average over directions, px)."""

    @pytest.mark.parametrize(("footprint", "tolerance"), [("point", 3e-7), ("box", 2e-5)])
    @pytest.mark.parametrize("n_angles", [2, 7, 60])
    def test_translation_costs_half_its_square(self, footprint, tolerance, n_angles, glcms):
        image = np.zeros((90, 90))
        image[3:67, 5:69] = glcms[0]
        moved = np.roll(image, (20, 11), axis=(0, 1))
        distance = squared([image, moved], footprint=footprint, n_angles=n_angles)[0, 1]
        assert distance == pytest.approx((20**2 + 11**2) / 2, rel=tolerance)

    def test_one_angle_cannot_see_a_whole_translation(self, glcms):
        image = np.zeros((90, 90))
        image[3:67, 5:69] = glcms[0]
        moved = np.roll(image, (20, 0), axis=(0, 1))
        assert squared([image, moved], n_angles=1)[0, 1] > 1.5 * 20**2 / 2

    @BOX_AND_POINT
    def test_two_pixels(self, footprint):
        a, b, middle, both = np.zeros((4, 21, 21))
        a[2, 4] = b[10, 10] = middle[6, 7] = 1.0
        both[2, 4] = both[10, 10] = 0.5
        length = 8**2 + 6**2
        values = squared([a, b, middle, both], footprint=footprint)
        assert values[0, 1] == pytest.approx(length / 2, rel=1e-3)
        if footprint == "point":
            assert values[0, 1] == pytest.approx(length / 2, rel=1e-6)
            assert values[2, 3] == pytest.approx(length / 8, rel=1e-6)

    @BOX_AND_POINT
    def test_gaussians(self, footprint):
        shape = (96, 96)
        first = ((40.0, 44.0), np.array([[60.0, 15.0], [15.0, 30.0]]))
        second = ((52.0, 47.0), np.array([[25.0, -8.0], [-8.0, 70.0]]))
        angles = (np.arange(60) + 0.5) * np.pi / 60
        theta = np.stack([np.cos(angles), np.sin(angles)])
        spread = [np.sqrt(np.einsum("ik,ij,jk->k", theta, c, theta)) for _, c in (first, second)]
        shift = np.subtract(first[0], second[0])
        expected = shift @ shift / 2 + np.mean((spread[0] - spread[1]) ** 2)
        images = [bump(shape, *first), bump(shape, *second)]
        assert squared(images, footprint=footprint)[0, 1] == pytest.approx(expected, rel=5e-4)

    def test_concentric_discs(self):
        radii = np.hypot(*(np.indices((100, 100)) - 49.5))
        # A pixel on the rim is covered about as far as the rim is from its centre.
        discs = [np.clip(radius - radii + 0.5, 0, 1) for radius in (20, 40)]
        assert squared(discs)[0, 1] == pytest.approx(20**2 / 4, rel=1e-3)

    @BOX_AND_POINT
    def test_mean_and_centred_parts_add_up(self, footprint):
        """SW² = |difference of means|²/2 + SW² of the centred densities."""
        shape = (64, 64)
        covariances = [np.diag([20.0, 60.0]), np.array([[40.0, 10.0], [10.0, 25.0]])]
        centres = [(24.0, 30.0), (35.0, 38.0)]
        apart = [bump(shape, c, s) for c, s in zip(centres, covariances, strict=True)]
        together = [bump(shape, centres[0], s) for s in covariances]
        shift = np.subtract(centre_of_mass(apart[0]), centre_of_mass(apart[1]))
        expected = shift @ shift / 2 + squared(together, footprint=footprint)[0, 1]
        assert squared(apart, footprint=footprint)[0, 1] == pytest.approx(expected, rel=1e-4)


class TestInvariances:
    def test_doubling_the_pixels_doubles_the_distance(self, glcms):
        """Boxes only: the density is the same, the unit of length half as long."""
        fine = np.repeat(np.repeat(glcms[:4], 2, axis=1), 2, axis=2)
        coarse = np.sqrt(squared(glcms[:4], oversampling=16))
        np.testing.assert_allclose(np.sqrt(squared(fine, oversampling=8)), 2 * coarse, rtol=1e-6)

    @BOX_AND_POINT
    @pytest.mark.parametrize(
        "turn", [lambda x: np.rot90(x, axes=(1, 2)), lambda x: x.transpose(0, 2, 1)]
    )
    def test_quarter_turns_and_transposition(self, footprint, turn, mixtures):
        images = mixtures[:4, :, :40]
        np.testing.assert_allclose(
            squared(turn(images), footprint=footprint),
            squared(images, footprint=footprint),
            rtol=1e-6,
        )

    def test_slices_of_a_symmetric_image_mirror_at_45_degrees(self, glcms):
        embedding = SlicedWassersteinEmbedding(n_angles=20, template=None).fit(glcms)
        z = embedding.transform(glcms).reshape(len(glcms), 20, -1)
        # theta -> pi/2 - theta; beyond the half-circle this is the opposite direction, whose
        # quantile function is the mirrored one.
        partners = (9 - np.arange(20)) % 20
        for k, partner in enumerate(partners):
            expected = z[:, partner] if k < 10 else -z[:, partner, ::-1]
            np.testing.assert_allclose(z[:, k], expected, atol=1e-6)

    @BOX_AND_POINT
    def test_scaling_the_values_changes_nothing(self, footprint, glcms):
        embedding = SlicedWassersteinEmbedding(footprint=footprint).fit(glcms)
        z = embedding.transform(glcms)
        np.testing.assert_allclose(embedding.transform(7 * glcms), z, atol=1e-6)
        np.testing.assert_array_equal(embedding.transform(1024 * glcms), z)

    @BOX_AND_POINT
    def test_a_border_of_zeros_changes_nothing(self, footprint, glcms):
        padded = np.pad(glcms, ((0, 0), (5, 5), (5, 5)))
        np.testing.assert_allclose(
            squared(padded, footprint=footprint), squared(glcms, footprint=footprint), rtol=1e-6
        )
        one_sided = np.pad(glcms, ((0, 0), (1, 4), (0, 3)))
        np.testing.assert_allclose(
            np.sqrt(squared(one_sided, footprint=footprint)),
            np.sqrt(squared(glcms, footprint=footprint)),
            rtol=1e-3,
        )

    def test_distance_is_a_metric(self, glcms):
        distance = np.sqrt(squared(glcms))
        triangle = distance[:, :, None] + distance[None] - distance[:, None, :]
        assert triangle.min() >= -1e-6

    @pytest.mark.parametrize("method", [("box", "binned"), ("point", "binned"), ("point", "exact")])
    def test_pair_distance_is_zero_and_symmetric_exactly(self, method, glcms):
        options = {"footprint": method[0], "method": method[1]}
        a, b = glcms[:2]
        assert sliced_wasserstein_image_distance(a, a, **options) == 0
        forward = sliced_wasserstein_image_distance(a, b, **options)
        assert forward == sliced_wasserstein_image_distance(b, a, **options)
        assert forward > 0


class TestOracles:
    def pot(self, a, b, directions):
        rows, cols = np.indices(a.shape)
        points = np.column_stack([cols.ravel(), rows.ravel()]).astype(float)
        return ot.sliced_wasserstein_distance(
            points, points, a.ravel(), b.ravel(), projections=directions.T
        )

    def test_exact_mode_equals_pot(self, glcms):
        angles = (np.arange(60) + 0.5) * np.pi / 60
        directions = np.column_stack([np.cos(angles), np.sin(angles)])
        for a, b in zip(glcms[:3], glcms[3:6], strict=True):
            exact = sliced_wasserstein_image_distance(a, b, footprint="point", method="exact")
            assert exact == pytest.approx(self.pot(a, b, directions), rel=1e-12)

    def test_exact_mode_equals_pot_in_given_directions(self, glcms):
        directions = np.random.default_rng(0).normal(size=(13, 2))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        a, b = glcms[:2]
        exact = sliced_wasserstein_image_distance(
            a, b, footprint="point", method="exact", directions=directions
        )
        assert exact == pytest.approx(self.pot(a, b, directions), rel=1e-12)

    def test_many_quantiles_approach_the_exact_value_from_below(self, glcms):
        exact = sliced_wasserstein_image_distance(*glcms[:2], footprint="point", method="exact")
        values = [
            np.sqrt(squared(glcms[:2], footprint="point", n_quantiles=n)[0, 1])
            for n in (32, 64, 128, 256, 1024)
        ]
        assert (np.diff(values) > 0).all()
        assert values[-1] <= exact * (1 + 1e-7)
        assert values[-1] == pytest.approx(exact, rel=1e-3)

    def test_box_is_the_limit_of_subdivided_pixels(self, glcms):
        """A reference without our t-grid: 6 x 6 points a pixel, merged exactly."""
        fine = np.repeat(np.repeat(glcms[:2], 6, axis=1), 6, axis=2)
        reference = sliced_wasserstein_image_distance(*fine, footprint="point", method="exact") / 6
        value = np.sqrt(squared(glcms[:2], n_quantiles=512)[0, 1])
        assert value == pytest.approx(reference, rel=1e-3)

    def test_half_of_optimal_transport_is_an_upper_bound(self, glcms):
        """Projections shorten: the mean of (x.theta)² over directions is |x|²/2."""
        small = glcms[:6].reshape(6, 16, 4, 16, 4).sum(axis=(2, 4))
        rows, cols = np.indices((16, 16))
        points = np.column_stack([cols.ravel(), rows.ravel()]).astype(float)
        cost = ot.dist(points, points)
        for a, b in zip(small[:3], small[3:], strict=True):
            a, b = a / a.sum(), b / b.sum()
            plane = ot.emd2(a.ravel(), b.ravel(), cost)
            sliced = sliced_wasserstein_image_distance(a, b, footprint="point", method="exact") ** 2
            assert 0 < sliced <= plane / 2 * (1 + 1e-9)


class TestTemplate:
    @pytest.fixture
    def templates(self):
        return ["mean", None, np.random.default_rng(0).random((64, 64))]

    def test_distances_and_centred_grams_do_not_depend_on_it(self, templates, glcms):
        grams, distances = [], []
        for template in templates:
            z = SlicedWassersteinEmbedding(template=template).fit_transform(glcms)
            grams.append(gram_matrix(z))
            distances.append(squared_distances(z))
        scale = distances[0].max()
        for gram, distance in zip(grams[1:], distances[1:], strict=True):
            np.testing.assert_allclose(distance, distances[0], atol=1e-6 * scale)
            np.testing.assert_allclose(center_gram(gram), center_gram(grams[0]), atol=1e-6 * scale)
            assert np.abs(gram - grams[0]).max() > 1e-2 * scale

    def test_independence_is_exact_before_rounding_to_single_precision(self, templates, glcms):
        quantiles = [
            SlicedWassersteinEmbedding(template=t)
            .fit(glcms)
            ._quantiles(glcms.reshape(len(glcms), -1))
            for t in templates
        ]
        for other in quantiles[1:]:
            np.testing.assert_array_equal(other, quantiles[0])

    def test_template_has_norm_zero_and_others_their_distance_to_it(self, glcms):
        """Eq. 16: |phi_i| = SW(I_i, I_0), and phi(I_0) = 0."""
        embedding = SlicedWassersteinEmbedding(template=glcms[0]).fit(glcms)
        z = embedding.transform(glcms)
        np.testing.assert_array_equal(z[0], 0.0)
        for image, row in zip(glcms[1:4], z[1:4], strict=True):
            assert np.linalg.norm(row) == pytest.approx(
                sliced_wasserstein_image_distance(image, glcms[0]), rel=1e-6
            )

    def test_mean_template_is_the_mean_of_the_densities(self, glcms):
        scaled = glcms * np.arange(1, 13)[:, None, None]
        embedding = SlicedWassersteinEmbedding().fit(scaled)
        np.testing.assert_allclose(embedding.template_density_, glcms.mean(axis=0), atol=1e-16)
        assert not SlicedWassersteinEmbedding(template="zero").fit(glcms).template_quantiles_.any()

    def test_rank_two_update_moves_the_template(self, glcms):
        whole = SlicedWassersteinEmbedding().fit(glcms)
        train = SlicedWassersteinEmbedding().fit(glcms[:8])
        z = whole.transform(glcms)
        q = whole.transform(train.template_density_[None])
        moved = change_template(gram_matrix(z), gram_matrix(z, q)[:, 0], gram_matrix(q)[0, 0])
        np.testing.assert_allclose(moved, gram_matrix(train.transform(glcms)), atol=1e-4)


class TestTransportMaps:
    def test_their_inner_products_are_those_of_the_embedding(self, mixtures):
        """Eqs. 15 to 17, on a fine grid of t, where phi is what the paper prints."""
        embedding = SlicedWassersteinEmbedding(n_angles=20, n_quantiles=512).fit(mixtures)
        t = np.arange(-36, 36, 0.05)
        phi = embedding.transport_maps(mixtures, t)
        assert phi.shape == (len(mixtures), 20, len(t))
        gram = np.einsum("ikt,jkt->ij", phi, phi) * 0.05 / 20
        expected = gram_matrix(embedding.transform(mixtures))
        np.testing.assert_allclose(gram, expected, atol=5e-4 * np.diag(expected).max())

    def test_template_maps_to_itself(self, mixtures):
        embedding = SlicedWassersteinEmbedding(n_angles=6, template=mixtures[0]).fit(mixtures)
        np.testing.assert_allclose(embedding.transport_maps(mixtures[:1]), 0.0, atol=1e-9)

    def test_default_grid_has_91_points_for_64_pixels(self, glcms):
        embedding = SlicedWassersteinEmbedding(n_angles=4).fit(glcms)
        assert embedding.transport_maps(glcms[:2]).shape == (2, 4, 91)
        np.testing.assert_array_equal(embedding.t_grid_, np.arange(-45, 46))

    def test_sign_of_a_shift(self):
        """Mass moved to the right and down: f - t is positive at acute angles."""
        image = bump((40, 40), (15, 15), np.eye(2) * 9)
        moved = np.roll(image, (6, 6), axis=(0, 1))
        embedding = SlicedWassersteinEmbedding(n_angles=2, template=image).fit([image])
        maps = embedding.transport_maps([moved])[0]
        assert maps[0].max() > 1
        assert maps[0].min() > -1e-6
        # The second angle is 135 degrees: perpendicular to the shift.
        np.testing.assert_allclose(maps[1], 0.0, atol=1e-2)

    def test_needs_a_template_and_a_density(self, glcms):
        for parameters, message in (
            ({"template": None}, "template"),
            ({"footprint": "point"}, "box"),
        ):
            embedding = SlicedWassersteinEmbedding(n_angles=2, **parameters).fit(glcms)
            with pytest.raises(ValueError, match=message):
                embedding.transport_maps(glcms)


class TestMeasure:
    def test_surface_measure_multiplies_by_the_length_of_the_circle(self, glcms):
        probability, surface = squared(glcms), squared(glcms, measure="surface")
        np.testing.assert_allclose(surface, 2 * np.pi * probability, rtol=1e-6)
        np.testing.assert_allclose(
            gaussian_kernel(surface, 0.3 / (2 * np.pi)),
            gaussian_kernel(probability, 0.3),
            rtol=1e-5,
        )


class TestBatches:
    @BOX_AND_POINT
    def test_result_does_not_depend_on_threads_batches_or_chunks(self, footprint, glcms):
        many = np.concatenate([glcms, glcms[::-1], glcms])
        embedding = SlicedWassersteinEmbedding(n_angles=12, footprint=footprint, n_jobs=1)
        expected = embedding.fit_transform(many)
        template = embedding.template_quantiles_
        assert expected.dtype == np.float32
        for n_jobs in (2, 3):
            parallel = clone(embedding).set_params(n_jobs=n_jobs)
            np.testing.assert_array_equal(parallel.fit_transform(many), expected)
        chunked = clone(embedding).fit(iter([many[:5], many[5:]]))
        np.testing.assert_array_equal(chunked.template_quantiles_, template)
        chunks = (many[i : i + 7] for i in range(0, len(many), 7))
        np.testing.assert_array_equal(chunked.transform(chunks), expected)
        one_by_one = np.vstack([embedding.transform(image[None]) for image in many])
        np.testing.assert_array_equal(one_by_one, expected)

    def test_streaming_into_a_memory_map(self, glcms, tmp_path):
        embedding = SlicedWassersteinEmbedding(n_angles=6).fit(glcms)
        out = np.memmap(tmp_path / "z.dat", np.float32, "w+", shape=(12, 6 * 128))
        result = embedding.transform((glcms[i : i + 5] for i in (0, 5, 10)), out=out)
        assert result is out
        np.testing.assert_array_equal(out, embedding.transform(glcms))

    def test_out_must_fit(self, glcms):
        embedding = SlicedWassersteinEmbedding(n_angles=2, n_quantiles=4).fit(glcms)
        for shape, dtype, message in (
            ((12, 9), np.float32, "out must be a writeable float32 array"),
            ((12, 8), np.float64, "out must be a writeable float32 array"),
            ((11, 8), np.float32, "there are more images"),
            ((13, 8), np.float32, "there are 12 images"),
        ):
            with pytest.raises(ValueError, match=message):
                embedding.transform(glcms, out=np.empty(shape, dtype))

    def test_integer_and_single_precision_images_are_accepted(self, glcms):
        counts = np.round(glcms * 36_864).astype(np.int64)
        embedding = SlicedWassersteinEmbedding(n_angles=4).fit(counts)
        np.testing.assert_array_equal(
            embedding.transform(counts), embedding.transform(counts.astype(np.float32))
        )


class TestErrors:
    def spoil(self, glcms, value):
        images = glcms.copy()
        images[5, 3, 4] = value
        return images

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (-1e-9, "image 5 contains a negative value"),
            (np.nan, "image 5 contains a value that is NaN or infinite"),
            (np.inf, "image 5 contains a value that is NaN or infinite"),
        ],
    )
    def test_bad_pixel(self, value, message, glcms):
        embedding = SlicedWassersteinEmbedding(n_angles=2).fit(glcms)
        images = self.spoil(glcms, value)
        with pytest.raises(ValueError, match=message):
            embedding.transform(images)
        with pytest.raises(ValueError, match=message):
            embedding.fit(images)
        with pytest.raises(ValueError, match=message):
            embedding.transform(iter([images[:4], images[4:]]))

    def test_all_zero_image(self, glcms):
        images = glcms.copy()
        images[7] = 0
        with pytest.raises(ValueError, match="image 7 is all zero"):
            SlicedWassersteinEmbedding().fit(images)

    def test_shapes(self, glcms):
        embedding = SlicedWassersteinEmbedding(n_angles=2).fit(glcms)
        with pytest.raises(ValueError, match=r"image 1 has shape \(3, 4\), image 0 has shape"):
            embedding.transform([np.ones((3, 3)), np.ones((3, 4))])
        with pytest.raises(ValueError, match=r"image 0 has shape \(3, 4\), expected \(64, 64\)"):
            embedding.transform(np.ones((1, 3, 4)))
        with pytest.raises(ValueError, match=r"image 12 has shape \(3, 4\), expected \(64, 64\)"):
            embedding.fit(iter([glcms, np.ones((1, 3, 4))]))
        with pytest.raises(ValueError, match=r"expected a batch .* got shape \(64, 64\)"):
            embedding.transform(glcms[0])
        with pytest.raises(ValueError, match="empty"):
            embedding.transform(np.empty((0, 64, 64)))
        with pytest.raises(ValueError, match="no images"):
            embedding.transform(iter([]))
        with pytest.raises(ValueError, match="images has imaginary parts"):
            embedding.transform(glcms.astype(complex))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_angles": 0}, "n_angles"),
            ({"n_angles": 1.5}, "n_angles"),
            ({"n_quantiles": -1}, "n_quantiles"),
            ({"oversampling": 3}, "oversampling must be even"),
            ({"footprint": "disc"}, "footprint"),
            ({"measure": "area"}, "measure"),
            ({"template": "median"}, "template"),
            ({"template": np.ones((2, 2))}, "template has shape"),
            ({"template": np.zeros((64, 64))}, "template is all zero"),
        ],
    )
    def test_parameters(self, parameters, message, glcms):
        with pytest.raises(ValueError, match=message):
            SlicedWassersteinEmbedding(**parameters).fit(glcms)

    def test_pair_distance(self, glcms):
        a, b = glcms[:2]
        with pytest.raises(ValueError, match="footprint"):
            sliced_wasserstein_image_distance(a, b, method="exact")
        with pytest.raises(ValueError, match="method"):
            sliced_wasserstein_image_distance(a, b, method="fast")
        with pytest.raises(ValueError, match="image 1 has shape"):
            sliced_wasserstein_image_distance(a, b[:5])
        with pytest.raises(ValueError, match="unit vectors"):
            sliced_wasserstein_image_distance(a, b, directions=[[1.0, 1.0]])
        with pytest.raises(ValueError, match="directions must have shape"):
            sliced_wasserstein_image_distance(a, b, directions=[1.0, 0.0])

    def test_before_fit(self, glcms):
        with pytest.raises(NotFittedError):
            SlicedWassersteinEmbedding().transform(glcms)


class TestConventions:
    @parametrize_with_checks(
        [
            SlicedWassersteinEmbedding(4, n_quantiles=8, image_shape=(1, -1)),
            PointCloudEmbedding(4, n_quantiles=8, dimension=1),
        ],
        expected_failed_checks=lambda estimator: (
            {
                "check_estimators_dtypes": "cuts images to integers, one of them to all zeros",
                "check_fit2d_1feature": "images of one pixel, one of them 0: no mass",
            }
            if isinstance(estimator, SlicedWassersteinEmbedding)
            else {}
        ),
    )
    def test_scikit_learn_contract(self, estimator, check):
        """On tables: a row is an image of one line, or a cloud on the line."""
        check(estimator)

    def test_fit_is_idempotent_and_pickles(self, glcms):
        embedding = SlicedWassersteinEmbedding(n_angles=4, n_quantiles=8)
        assert embedding.fit(glcms) is embedding
        z = embedding.transform(glcms)
        np.testing.assert_array_equal(embedding.fit(glcms).transform(glcms), z)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(embedding)).transform(glcms), z)

    def test_parameters_round_trip(self):
        embedding = SlicedWassersteinEmbedding(n_angles=10, template=None)
        assert clone(embedding).get_params() == embedding.get_params()
        names = set(inspect.signature(SlicedWassersteinEmbedding).parameters)
        assert names == set(embedding.get_params())

    def test_pipeline(self, glcms):
        labels = np.arange(12) % 2
        model = make_pipeline(
            FunctionTransformer(np.sqrt), SlicedWassersteinEmbedding(n_angles=6), SVC()
        )
        assert model.fit(glcms, labels).predict(glcms).shape == (12,)

    def test_flat_rows_and_data_frames(self, glcms):
        images = glcms[:4, :20, :30]
        rows = images.reshape(4, -1)
        expected = SlicedWassersteinEmbedding(n_angles=4).fit_transform(images)
        for shape in ((20, 30), (20, -1), (-1, 30)):
            embedding = SlicedWassersteinEmbedding(n_angles=4, image_shape=shape)
            for data in (rows, rows.tolist(), images, pd.DataFrame(rows)):
                np.testing.assert_array_equal(embedding.fit_transform(data), expected)
            np.testing.assert_array_equal(embedding.transform(iter([rows[:3]])), expected[:3])
        frame = pd.DataFrame(rows).add_prefix("pixel")
        embedding.fit(frame)
        assert list(embedding.feature_names_in_) == list(frame)
        with pytest.raises(ValueError, match="feature names should match"):
            embedding.transform(frame[frame.columns[::-1]])
        assert not hasattr(embedding.fit(images), "feature_names_in_")
        embedded = embedding.set_output(transform="pandas").fit_transform(frame)
        np.testing.assert_array_equal(embedded, expected)
        assert list(embedded) == list(embedding.get_feature_names_out())

    @pytest.mark.parametrize(
        ("image_shape", "message"),
        [
            (None, r"flat rows need image_shape=\(height, width\)"),
            ((20, 31), "no images of image_shape"),
            ((7, -1), "no images of image_shape"),
            *(
                (shape, "image_shape must be")
                for shape in (600, "ab", (20,), (20, 0), (-1, -1), (-2, 30), (20.0, 30), (True, 2))
            ),
        ],
    )
    def test_rows_that_are_no_images(self, image_shape, message, glcms):
        rows = glcms[:2, :20, :30].reshape(2, -1)
        with pytest.raises(ValueError, match=message):
            SlicedWassersteinEmbedding(image_shape=image_shape).fit(rows)

    def test_images_of_another_shape_than_given(self, glcms):
        with pytest.raises(ValueError, match=r"image 0 has shape \(64, 64\), image_shape is"):
            SlicedWassersteinEmbedding(image_shape=(-1, 63)).fit(glcms)

    def test_an_iterator_cannot_be_read_twice(self, glcms):
        with pytest.raises(ValueError, match="iterator is used up by fit"):
            SlicedWassersteinEmbedding().fit_transform(iter([glcms]))

    def test_feature_names(self, glcms):
        embedding = SlicedWassersteinEmbedding(n_angles=2, n_quantiles=3).fit(glcms)
        assert len(embedding.get_feature_names_out()) == 6
        assert embedding.n_features_in_ == 64 * 64


def test_public_names_are_sorted_and_documented():
    names = sliced_wasserstein.__all__
    assert names == sorted(names)
    for name in names:
        assert inspect.getdoc(getattr(sliced_wasserstein, name))


def test_import_pulls_in_nothing_of_the_workflow():
    # scikit-learn loads pandas where it is installed: what our dependencies load is not ours.
    code = (
        "import sys, joblib, numba, scipy.sparse, sklearn.base\n"
        "before = set(sys.modules)\n"
        "import sliced_wasserstein\n"
        "bad = {'snakemake', 'matplotlib', 'pandas', 'replication', 'vhem', 'ot', 'skimage'}\n"
        "print(*sorted(bad & (set(sys.modules) - before)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == []


@pytest.mark.parametrize("n_angles", [1, 2, 7, 60])
def test_the_copied_slices_of_symmetric_images_are_those_of_each_direction(glcms, n_angles):
    directions = directions_from_angles(half_circle_angles(n_angles))
    directions = np.vstack([directions, [[0.6, 0.8], [-0.8, -0.6], [1.0, 0.0]]])
    edges = quantile_edges(32)
    asymmetric = np.roll(glcms[:1], 3, axis=1)
    images = np.concatenate([glcms[:2], asymmetric, glcms[2:3]])
    together = slice_quantiles(images.reshape(4, -1), (64, 64), directions, edges, "box", 8, None)
    for k, direction in enumerate(directions):
        grid, masses = project(images, direction, 8)
        for i in range(4):
            expected = np.empty(32)
            bin_means(grid.edges[:-1], grid.step, masses[i], edges, expected)
            np.testing.assert_allclose(together[k, i], expected, rtol=0, atol=1e-9)
    # An image's numbers do not depend on its companions, to the last bit.
    alone = slice_quantiles(images[:1].reshape(1, -1), (64, 64), directions, edges, "box", 8, None)
    assert np.array_equal(alone[:, 0], together[:, 0])
