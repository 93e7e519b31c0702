"""The paper's theorems and equations, on data."""

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import ot
import pytest
from PIL import Image
from scipy.stats import norm
from sklearn.datasets import load_digits

from replication.images.definiteness import (
    definiteness_spectra,
    spectra,
    two_square_densities,
    uniform_transport_distances,
)
from sliced_wasserstein import (
    SlicedWassersteinEmbedding,
    center_gram,
    gaussian_kernel,
    gram_matrix,
    sliced_wasserstein_image_distance,
    squared_distances,
    wasserstein_1d,
)
from sliced_wasserstein.projection import directions_from_angles, project
from sliced_wasserstein.quantiles import invert_cdf


@pytest.fixture(scope="module")
def digits():
    """Real densities: scanned handwritten digits, 8 x 8 px."""
    return load_digits().images[:40]


@pytest.fixture(scope="module")
def textures():
    """Real densities: co-occurrence matrices of photographs of surfaces, where available."""
    folder = os.environ.get("REPLICATION_ARCHIVES")
    archives = sorted(Path(folder, "uiuc_texture").glob("*.zip")) if folder else []
    if not archives:
        pytest.skip("no real data")
    matrices = []
    with zipfile.ZipFile(archives[0]) as files:
        for name in sorted(n for n in files.namelist() if n.endswith(".jpg"))[::10]:
            with Image.open(io.BytesIO(files.read(name))) as image:
                grey = np.asarray(image.convert("L")).astype(int) // 4
            pairs = grey[:, 1:] * 64 + grey[:, :-1]
            matrices.append(np.bincount(pairs.ravel(), minlength=4096).reshape(64, 64))
    return np.stack(matrices)


def zero_sum_forms(squared, seed=0):
    """Values of sum_ij c_i c_j d_ij for random coefficients with sum 0, relative to |c|²."""
    coefficients = np.random.default_rng(seed).normal(size=(200, len(squared)))
    coefficients -= coefficients.mean(axis=1, keepdims=True)
    forms = np.einsum("ki,ij,kj->k", coefficients, squared, coefficients)
    return forms / (coefficients**2).sum(axis=1)


def least_eigenvalue_ratio(kernel):
    values = np.linalg.eigvalsh(kernel)
    return values[0] / values[-1]


class TestTransportOnTheLine:
    x = np.linspace(-14, 14, 40_001)

    def densities(self):
        first = 0.6 * norm.pdf(self.x, -2, 1.0) + 0.4 * norm.pdf(self.x, 3, 0.7)
        second = 0.3 * norm.pdf(self.x, -1, 1.5) + 0.7 * norm.pdf(self.x, 4, 1.1)
        return first / first.sum(), second / second.sum()

    def test_equation_7_is_equation_1(self):
        """The integral of (f(x) - x)² I0(x) is the distance of the measures."""
        first, second = self.densities()
        step = self.x[1] - self.x[0]
        edges = np.append(self.x - step / 2, self.x[-1] + step / 2)
        f = invert_cdf(edges, second, np.clip(np.cumsum(first) - first / 2, 0, 1))
        integral = np.sum((f - self.x) ** 2 * first)
        assert (np.diff(f) >= 0).all()
        assert wasserstein_1d(self.x, self.x, first, second) ** 2 == pytest.approx(
            integral, rel=1e-6
        )

    def test_gaussians_have_the_known_distance(self):
        x = norm.ppf((np.arange(100_000) + 0.5) / 100_000)
        value = wasserstein_1d(1 + 2 * x, 3 + 0.5 * x) ** 2
        assert value == pytest.approx((1 - 3) ** 2 + (2 - 0.5) ** 2, rel=1e-4)


class TestTransportOfSlices:
    """Equations 10 and 11: the map of every slice, in integral and in differential form."""

    def test_maps_push_the_template_onto_the_image(self):
        # No gap between separate bumps, where f jumps and has no derivative.
        rows, cols = np.indices((48, 48)) - 23.5
        image = np.exp(-((rows + 2) ** 2 / 50 + (cols - 3) ** 2 / 80 + rows * cols / 100))
        template = np.exp(-(rows**2 + cols**2) / 60) + 0.5 * np.exp(
            -((rows - 5) ** 2 + cols**2) / 90
        )
        image, template = image / image.sum(), template / template.sum()
        embedding = SlicedWassersteinEmbedding(n_angles=6, template=template).fit([image])
        directions = directions_from_angles(embedding.angles_)
        pair = np.stack([image, template])
        for k, direction in enumerate(directions):
            grid, masses = project(pair, direction, 8)
            edges = grid.edges
            t = np.arange(-14, 14, 0.25)
            cdfs = [np.interp(t, edges, np.append(0, np.cumsum(m))) for m in masses]
            centres = (edges[1:] + edges[:-1]) / 2
            density = np.interp(t, centres, masses[1] / grid.step)
            phi = embedding.transport_maps([image], t)[0, k]
            f = t + phi / np.sqrt(density)
            # Eq. 10: equal mass to the left.
            reached = np.interp(f, edges, np.append(0, np.cumsum(masses[0])))
            np.testing.assert_allclose(reached, cdfs[1], atol=1e-9)
            # Eq. 11: f' R I(f) = R I0, by central differences.
            slope = np.gradient(f, t)[1:-1]
            at_f = np.interp(f, centres, masses[0] / grid.step)[1:-1]
            np.testing.assert_allclose(slope * at_f, density[1:-1], atol=0.01 * density.max())


class TestSchoenberg:
    """Theorem 2, both directions, for |x - y|^p on the line: c.n.d. exactly for p <= 2."""

    points = np.linspace(0, 3, 12)
    gammas = np.geomspace(1e-3, 30, 25)

    def powers(self, p):
        return np.abs(self.points[:, None] - self.points) ** p

    @pytest.mark.parametrize("p", [0.5, 1, 1.7, 2])
    def test_conditionally_negative_gives_positive_kernels(self, p):
        squared = self.powers(p)
        assert zero_sum_forms(squared).max() <= 1e-12
        for gamma in self.gammas:
            assert least_eigenvalue_ratio(gaussian_kernel(squared, gamma)) >= -1e-12

    @pytest.mark.parametrize("p", [2.5, 3, 4])
    def test_a_negative_eigenvalue_shows_where_the_condition_fails(self, p):
        squared = self.powers(p)
        # A zero-sum vector with a positive form: the least eigenvector of -HDH/2.
        values, vectors = np.linalg.eigh(center_gram(-squared / 2))
        witness = vectors[:, 0]
        assert values[0] < -1e-3
        assert abs(witness.sum()) < 1e-9
        assert witness @ squared @ witness > 1e-3
        ratios = [least_eigenvalue_ratio(gaussian_kernel(squared, g)) for g in self.gammas]
        assert min(ratios) < -1e-4

    def test_euclidean_distances_come_from_points(self):
        """Theorem 3: where the kernel is positive for all gamma, -HDH/2 gives the points."""
        squared = self.powers(1)
        values, vectors = np.linalg.eigh(center_gram(-squared / 2))
        points = vectors * np.sqrt(np.maximum(values, 0))
        np.testing.assert_allclose(squared_distances(points), squared, atol=1e-12)

    def test_a_metric_that_is_not_euclidean_fails(self):
        """A cycle of four with steps 1: a metric, but no four points have these distances."""
        cycle = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], float)
        assert least_eigenvalue_ratio(gaussian_kernel(cycle**2, 0.1)) < -0.01


class TestLineIsFlat:
    """Theorem 4 and Corollary 1."""

    @pytest.fixture(scope="class")
    @staticmethod
    def squared():
        rng = np.random.default_rng(0)
        measures = [(rng.normal(size=n) * 3, rng.random(n)) for n in rng.integers(1, 12, 25)]
        return np.array(
            [[wasserstein_1d(x, y, a, b) ** 2 for y, b in measures] for x, a in measures]
        )

    def test_squared_distance_is_conditionally_negative(self, squared):
        assert zero_sum_forms(squared).max() <= 1e-12

    def test_gaussian_kernel_is_positive(self, squared):
        for gamma in np.geomspace(1e-3, 10, 9):
            assert least_eigenvalue_ratio(gaussian_kernel(squared, gamma)) >= -1e-10

    def test_other_orders_are_not_flat(self):
        """Why p = 2: the square of W3 between Dirac pairs fails where that of W2 holds."""
        rng = np.random.default_rng(1)
        clouds = rng.integers(0, 4, (30, 2)).astype(float)
        cubic = np.array([[wasserstein_1d(x, y, p=3) ** 2 for y in clouds] for x in clouds])
        square = np.array([[wasserstein_1d(x, y, p=2) ** 2 for y in clouds] for x in clouds])
        assert np.linalg.eigvalsh(center_gram(-square / 2))[0] >= -1e-10
        assert np.linalg.eigvalsh(center_gram(-cubic / 2))[0] < -0.01


class TestSlicedIsFlat:
    """Theorem 5 and Corollary 2."""

    @pytest.mark.real
    def test_on_texture_photographs(self, textures):
        squared = squared_distances(SlicedWassersteinEmbedding().fit_transform(textures))
        assert zero_sum_forms(squared).max() <= 1e-6 * squared.max()
        assert spectra(squared, np.geomspace(0.01, 10, 9)).least.min() >= -1e-9

    @pytest.mark.parametrize("footprint", ["box", "point"])
    def test_on_real_and_random_densities(self, footprint, digits, glcms):
        for images in (digits, glcms, np.random.default_rng(0).random((30, 7, 5))):
            embedding = SlicedWassersteinEmbedding(n_angles=12, footprint=footprint)
            squared = squared_distances(embedding.fit_transform(images))
            assert zero_sum_forms(squared).max() <= 1e-6 * squared.max()
            result = spectra(squared, np.geomspace(0.01, 10, 9))
            assert result.least.min() >= -1e-9
            assert result.centred.min() >= -1e-6

    def test_exact_distances_are_flat_too(self, digits):
        """Not an effect of binning: distances pair by pair from merged masses."""
        some = digits[:15]
        squared = np.array(
            [
                [
                    sliced_wasserstein_image_distance(
                        a, b, n_angles=8, footprint="point", method="exact"
                    )
                    ** 2
                    for b in some
                ]
                for a in some
            ]
        )
        assert zero_sum_forms(squared).max() <= 1e-9
        assert spectra(squared, [0.1, 1, 10]).least.min() >= -1e-10

    def test_inner_products_are_positive(self, digits):
        """Theorem 6 for d = 1, with any template."""
        for template in ("mean", None, digits[3]):
            z = SlicedWassersteinEmbedding(n_angles=12, template=template).fit_transform(digits)
            assert least_eigenvalue_ratio(gram_matrix(z)) >= -1e-10


class TestPlaneIsCurved:
    """The contrast that motivates slicing."""

    def test_plain_transport_has_a_negative_eigenvalue_and_sliced_has_none(self):
        result = definiteness_spectra()
        assert result["wasserstein"].least.min() < -1e-3
        assert result["wasserstein"].centred.min() < -0.01
        assert result["sliced"].least.min() >= -1e-9
        assert result["sliced"].centred.min() >= -1e-6

    def test_exact_distances_equal_those_of_pot(self):
        densities = two_square_densities(6, random_state=1)
        squared = uniform_transport_distances(densities)
        rows, cols = np.indices((12, 12))
        cost = ot.dist(np.column_stack([rows.ravel(), cols.ravel()]).astype(float))
        for i in range(6):
            for j in range(i):
                expected = ot.emd2(densities[i].ravel(), densities[j].ravel(), cost)
                assert squared[i, j] == pytest.approx(expected, rel=1e-9)

    def test_it_is_not_about_squares(self):
        """Smooth positive densities with POT's solver: the same sign."""
        rng = np.random.default_rng(0)
        rows, cols = np.indices((9, 9))
        images = np.full((16, 9, 9), 1e-4)
        for image in images:
            for row, col in rng.integers(1, 8, (2, 2)):
                image += np.exp(-((rows - row) ** 2 + (cols - col) ** 2) / 0.5)
        images /= images.sum(axis=(1, 2), keepdims=True)
        cost = ot.dist(np.column_stack([rows.ravel(), cols.ravel()]).astype(float))
        squared = np.zeros((16, 16))
        for i in range(16):
            for j in range(i):
                squared[i, j] = squared[j, i] = ot.emd2(images[i].ravel(), images[j].ravel(), cost)
        gammas = np.geomspace(0.05, 3, 12)
        assert spectra(squared, gammas).least.min() < -1e-4
        sliced = squared_distances(SlicedWassersteinEmbedding().fit_transform(images))
        assert spectra(sliced, gammas).least.min() >= -1e-9

    def test_errors(self):
        with pytest.raises(ValueError, match="square must be"):
            two_square_densities(1, side=4, square=3)
        densities = two_square_densities(2, random_state=0)
        densities[1, 0, 0] += 0.5
        with pytest.raises(ValueError, match="image 1 is not uniform"):
            uniform_transport_distances(densities)


def test_sw_of_nearly_uniform_densities_falls_with_the_cube_of_the_wave_number():
    # docs/low_pass.md: a Sobolev norm of order -3/2. Windowed, as a wave has a spectrum of its own
    # at the borders of the picture.
    n_pixels, waves = 128, (10, 20)
    x = (np.arange(n_pixels) + 0.5) / n_pixels - 0.5
    window = np.exp(-(x**2 + x[:, None] ** 2) / (2 * 0.13**2))
    ripples = [1 + 0.4 * window * np.cos(2 * np.pi * k * x) for k in waves]
    images = np.stack([np.ones((n_pixels, n_pixels)), *ripples])
    embedding = SlicedWassersteinEmbedding(n_angles=180, n_quantiles=1024)
    squared = squared_distances(embedding.fit_transform(images))[0, 1:]
    energy = ((images - 1) ** 2).sum(axis=(1, 2))[1:]
    assert energy[0] == pytest.approx(energy[1], rel=1e-3)
    assert np.log2(squared[0] / squared[1]) == pytest.approx(3, abs=0.2)
