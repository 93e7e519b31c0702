import numpy as np
import pytest

from sliced_wasserstein import SlicedWassersteinEmbedding
from sliced_wasserstein.inversion import (
    expectation_maximization,
    projection_matrix,
    slice_edges,
    slices_from_quantiles,
)
from sliced_wasserstein.projection import (
    directions_from_angles,
    half_circle_angles,
    pixel_positions,
    project,
)
from sliced_wasserstein.quantiles import quantile_edges


def relative_l1(recovered, images):
    """L1 error in units of the error of the uniform image."""
    uniform = 1 / images[0].size
    return np.abs(recovered - images).sum(axis=(1, 2)) / np.abs(images - uniform).sum(axis=(1, 2))


def test_projector_is_the_exact_one():
    """Its bins are unions of the embedding's exact bins wherever the two grids share edges."""
    shape = (9, 12)
    image = np.random.default_rng(0).random((1, *shape))
    directions = directions_from_angles(np.array([0.0, np.pi / 2]))
    matrix = projection_matrix(shape, directions)
    slices = (matrix @ image.ravel()).reshape(2, -1)
    edges = slice_edges(shape)
    for k, direction in enumerate(directions):
        grid, masses = project(image, direction, 8)
        cdf = np.interp(edges, grid.edges, np.concatenate([[0.0], np.cumsum(masses[0])]))
        np.testing.assert_allclose(slices[k], np.diff(cdf), atol=1e-12)


@pytest.mark.parametrize("shape", [(8, 8), (5, 9)])
def test_projector_keeps_mass_and_mean(shape):
    directions = directions_from_angles(half_circle_angles(7))
    matrix = projection_matrix(shape, directions)
    np.testing.assert_allclose(matrix.sum(axis=0), 7, atol=1e-12)
    assert matrix.data.min() > 0
    # A bin's centre is not the mean position of its mass: compare the means of both ends.
    edges = slice_edges(shape)
    for k, direction in enumerate(directions):
        block = matrix[k * (len(edges) - 1) : (k + 1) * (len(edges) - 1)]
        t = pixel_positions(shape) @ direction
        assert (block.T @ edges[:-1] <= t + 1e-12).all()
        assert (block.T @ edges[1:] >= t - 1e-12).all()


def test_slices_are_recovered_from_quantiles(mixtures):
    embedding = SlicedWassersteinEmbedding(n_angles=8, n_quantiles=256, template=None)
    embedding.fit(mixtures)
    quantiles = embedding._quantiles(mixtures[:2].reshape(2, -1))
    directions = directions_from_angles(embedding.angles_)
    matrix = projection_matrix((48, 48), directions)
    for i in range(2):
        slices = slices_from_quantiles(
            quantiles[:, i], embedding.quantile_edges_, (48, 48), directions
        )
        expected = (matrix @ mixtures[i].ravel()).reshape(8, -1)
        np.testing.assert_allclose(slices.sum(axis=1), 1.0, atol=1e-12)
        assert slices.min() >= 0
        assert np.abs(slices - expected).sum(axis=1).max() < 0.01


def test_repair_makes_any_row_a_distribution():
    rng = np.random.default_rng(0)
    directions = directions_from_angles(half_circle_angles(4))
    rows = rng.normal(size=(4, 16)) * 50
    slices = slices_from_quantiles(rows, quantile_edges(16), (10, 10), directions)
    assert slices.min() >= 0
    np.testing.assert_allclose(slices.sum(axis=1), 1.0, atol=1e-12)


def test_likelihood_never_decreases(mixtures):
    """The defining property of EM: the Kullback-Leibler divergence of the slices shrinks."""
    image = mixtures[0, 8:40, 8:40] / mixtures[0, 8:40, 8:40].sum()
    matrix = projection_matrix((32, 32), directions_from_angles(half_circle_angles(12)))
    target = matrix @ image.ravel()
    slices = target.reshape(1, 12, -1)
    divergences = []
    for n_iter in (1, 2, 5, 10, 30):
        projected = matrix @ expectation_maximization(slices, matrix, n_iter)[0]
        used = target > 0
        divergences.append(np.sum(target[used] * np.log(target[used] / projected[used])))
    assert (np.diff(divergences) < 0).all()


@pytest.fixture(scope="module")
def embeddings(mixtures, glcms):
    small = glcms.reshape(12, 32, 2, 32, 2).sum(axis=(2, 4))
    result = {}
    for name, images in (("mixture", mixtures[:3]), ("glcm", small[:3])):
        embedding = SlicedWassersteinEmbedding(n_angles=60, n_quantiles=256).fit(images)
        result[name] = embedding, images, embedding.transform(images)
    return result


class TestRoundTrip:
    """Golden test 16."""

    @pytest.mark.parametrize(("name", "tolerance"), [("mixture", 0.01), ("glcm", 0.06)])
    def test_recovers_the_image(self, embeddings, name, tolerance):
        embedding, images, z = embeddings[name]
        recovered, residual = embedding.inverse_transform(z, return_residual=True)
        assert relative_l1(recovered, images).max() <= tolerance
        assert recovered.min() >= 0
        np.testing.assert_allclose(recovered.sum(axis=(1, 2)), 1.0, atol=1e-12)
        assert np.linalg.norm(embedding.transform(recovered) - z, axis=1).max() <= 0.05
        assert residual.max() < 0.01

    def test_template_point_inverts_to_the_template(self, embeddings):
        embedding, _, z = embeddings["mixture"]
        recovered = embedding.inverse_transform(np.zeros_like(z[:1]))
        template = embedding.template_density_[None]
        assert relative_l1(recovered, template).max() <= 0.01

    def test_filtered_back_projection_finds_smooth_images(self, embeddings):
        embedding, images, z = embeddings["mixture"]
        recovered = embedding.inverse_transform(z, method="fbp")
        assert relative_l1(recovered, images).max() <= 0.05
        np.testing.assert_allclose(recovered.sum(axis=(1, 2)), 1.0, atol=1e-12)
        assert recovered.min() >= 0

    def test_likelihood_is_better_than_back_projection_at_sharp_edges(self, embeddings):
        embedding, images, z = embeddings["glcm"]
        em = relative_l1(embedding.inverse_transform(z, n_iter=50), images)
        fbp = relative_l1(embedding.inverse_transform(z, method="fbp"), images)
        assert (em < 0.5 * fbp).all()

    def test_midpoint_of_a_shift_lies_half_way(self):
        """Geodesics of the embedding move mass; averages of images would show it twice."""
        rows, cols = np.indices((32, 32))
        left = np.exp(-((rows - 16) ** 2 + (cols - 9) ** 2) / 8)
        right = np.exp(-((rows - 16) ** 2 + (cols - 22) ** 2) / 8)
        embedding = SlicedWassersteinEmbedding(n_angles=40).fit([left, right])
        z = embedding.transform([left, right])
        middle = embedding.inverse_transform(z.mean(axis=0, keepdims=True), n_iter=50)[0]
        peak = np.unravel_index(middle.argmax(), middle.shape)
        assert peak[0] in (15, 16)
        assert peak[1] in (15, 16)

    def test_residual_shows_a_point_that_is_no_image(self, embeddings):
        embedding, _, z = embeddings["glcm"]
        _, fit = embedding.inverse_transform(z, n_iter=30, return_residual=True)
        _, far = embedding.inverse_transform(-3 * z, n_iter=30, return_residual=True)
        assert far.min() > 3 * fit.max()

    def test_measure_and_template_are_undone(self, mixtures):
        images = mixtures[:2, 8:40, 8:40]
        expected = None
        for parameters in ({"measure": "surface"}, {"template": None}, {"template": images[0]}):
            embedding = SlicedWassersteinEmbedding(n_angles=30, **parameters).fit(images)
            z = embedding.transform(images)
            recovered = embedding.inverse_transform(z, n_iter=20)
            if expected is not None:
                np.testing.assert_allclose(recovered, expected, atol=1e-5)
            expected = recovered


class TestWarningsAndErrors:
    def test_warns_when_the_image_is_not_determined(self, glcms):
        embedding = SlicedWassersteinEmbedding(n_angles=10).fit(glcms)
        with pytest.warns(UserWarning, match="4096 pixels: the inverse is not unique"):
            embedding.inverse_transform(embedding.transform(glcms[:1]), n_iter=1)

    def test_one_quantile_is_a_mean_and_cannot_be_inverted(self, mixtures):
        embedding = SlicedWassersteinEmbedding(n_angles=60, n_quantiles=1).fit(mixtures)
        with pytest.raises(ValueError, match="at least 2 quantiles"):
            embedding.inverse_transform(embedding.transform(mixtures[:1]))

    @pytest.mark.parametrize(
        ("change", "options", "message"),
        [
            (lambda z: z[:, 1:], {}, "expected Z of shape"),
            (lambda z: z[0], {}, "Z must be a non-empty matrix"),
            (lambda z: z * np.nan, {}, "NaN or infinite"),
            (lambda z: z, {"method": "art"}, "method"),
            (lambda z: z, {"n_iter": 0}, "n_iter"),
        ],
    )
    def test_errors(self, change, options, message, mixtures):
        embedding = SlicedWassersteinEmbedding(n_angles=60).fit(mixtures)
        with pytest.raises(ValueError, match=message):
            embedding.inverse_transform(change(embedding.transform(mixtures[:1])), **options)
