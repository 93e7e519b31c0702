import numpy as np
import pytest

from sliced_wasserstein.projection import (
    directions_from_angles,
    half_circle_angles,
    pixel_positions,
    project,
    slice_grid,
)

ANGLES = [0.0, 0.01, np.pi / 6, np.pi / 4, 1.0, np.pi / 2, 2.0, 3.1]


def trapezoid_cdf(z, direction):
    """CDF of the shadow of a unit square, written from its second integral."""
    wide, narrow = max(abs(direction)), min(abs(direction))
    if narrow < 1e-9:
        return np.clip(z / wide + 0.5, 0, 1)

    def ramp(v):
        return np.maximum(v, 0) ** 2

    outer, inner = (wide + narrow) / 2, (wide - narrow) / 2
    total = ramp(z + outer) - ramp(z + inner) - ramp(z - inner) + ramp(z - outer)
    return total / (2 * wide * narrow)


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("shape", [(9, 9), (6, 11)])
def test_box_slices_are_exact_sums_of_trapezoids(angle, shape):
    rng = np.random.default_rng(0)
    image = rng.random(shape)
    direction = directions_from_angles(np.array([angle]))[0]
    grid, masses = project(image.reshape(1, -1), shape, direction, 4)
    t = pixel_positions(shape) @ direction
    cdf = trapezoid_cdf(grid.edges[:, None] - t, direction) @ image.ravel()
    np.testing.assert_allclose(np.cumsum(masses[0]), cdf[1:], atol=1e-11)
    assert cdf[0] == 0


@pytest.mark.parametrize("angle", ANGLES)
def test_slices_keep_mass_and_mean_and_are_not_negative(angle, glcms):
    direction = directions_from_angles(np.array([angle]))[0]
    rows = glcms.reshape(len(glcms), -1)
    grid, masses = project(rows, (64, 64), direction, 8)
    centres = (grid.edges[1:] + grid.edges[:-1]) / 2
    assert masses.min() >= 0
    np.testing.assert_allclose(masses.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(
        masses @ centres, rows @ (pixel_positions((64, 64)) @ direction), atol=1e-10
    )


def test_angles_are_equispaced_and_closed_under_quarter_turns():
    angles = half_circle_angles(60)
    np.testing.assert_allclose(np.diff(angles), np.pi / 60)
    assert angles[0] > 0
    assert angles[-1] < np.pi
    turned = np.sort((angles + np.pi / 2) % np.pi)
    np.testing.assert_allclose(turned, angles, atol=1e-14)
    with pytest.raises(ValueError, match="n_angles"):
        half_circle_angles(0)


@pytest.mark.parametrize("n_angles", [2, 3, 60])
def test_directions_average_to_half_the_identity(n_angles):
    """Without this a shift by v would not give |v|²/2."""
    directions = directions_from_angles(half_circle_angles(n_angles))
    np.testing.assert_allclose(directions.T @ directions / n_angles, np.eye(2) / 2, atol=1e-15)


def test_pixel_centres_are_centred():
    positions = pixel_positions((3, 4))
    np.testing.assert_array_equal(positions.mean(axis=0), 0.0)
    np.testing.assert_array_equal(positions[0], [-1.5, -1.0])
    np.testing.assert_array_equal(positions[1] - positions[0], [1.0, 0.0])


def test_grid_contains_the_shadow_and_is_symmetric():
    for angle in ANGLES:
        direction = directions_from_angles(np.array([angle]))[0]
        edges = slice_grid((5, 7), direction, 8).edges
        corners = np.array([[3.5, 2.5], [3.5, -2.5], [-3.5, 2.5], [-3.5, -2.5]]) @ direction
        assert edges[0] <= corners.min()
        assert edges[-1] >= corners.max()
        np.testing.assert_array_equal(edges, -edges[::-1])
