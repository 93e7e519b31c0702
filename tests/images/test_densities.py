"""What every reading of an image as a density promises, and what tells the readings apart."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from replication.images.densities import READINGS, image_densities
from sliced_wasserstein import ImageError

IMAGES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 3), st.integers(2, 7), st.integers(2, 7)),
    elements=st.integers(0, 255).map(float),
).filter(lambda images: (np.ptp(images, axis=(1, 2)) > 0).all())


def with_mass(images, reading):
    """Leave out images of which nothing is brighter, or darker, than the median."""
    middle = np.median(images, axis=(1, 2))
    empty = {"above": images.max(axis=(1, 2)) == middle, "below": images.min(axis=(1, 2)) == middle}
    assume(not empty.get(reading, np.False_).any())
    return images


@given(images=IMAGES, reading=st.sampled_from(sorted(READINGS)))
def test_a_density_is_non_negative_and_sums_to_one(images, reading):
    densities = image_densities(with_mass(images, reading), reading)
    assert densities.shape == images.shape
    assert densities.dtype == np.float32
    assert densities.min() >= 0
    np.testing.assert_allclose(densities.sum(axis=(1, 2)), 1, rtol=1e-5)


@given(
    images=IMAGES,
    reading=st.sampled_from(sorted(READINGS)),
    gain=st.floats(0.01, 100),
    offset=st.floats(-50, 50),
)
def test_brightness_and_contrast_do_not_matter(images, reading, gain, offset):
    changed = image_densities(gain * with_mass(images, reading) + offset, reading)
    np.testing.assert_allclose(changed, image_densities(images, reading), atol=1e-6)


@given(images=IMAGES)
def test_only_the_deviation_cannot_tell_a_negative_from_its_positive(images):
    np.testing.assert_allclose(
        image_densities(-images, "deviation"), image_densities(images, "deviation"), atol=1e-6
    )


def test_readings_by_hand():
    image = [[[1.0, 2.0, 5.0]]]
    np.testing.assert_allclose(image_densities(image, "minmax"), [[[0, 0.2, 0.8]]], rtol=1e-6)
    np.testing.assert_allclose(image_densities(image, "deviation"), [[[0.25, 0, 0.75]]], rtol=1e-6)
    np.testing.assert_allclose(image_densities(image, "above"), [[[0, 0, 1]]], rtol=1e-6)
    np.testing.assert_allclose(image_densities(image, "below"), [[[1, 0, 0]]], rtol=1e-6)
    power = np.array([0, 0.25**8, 1]) / (1 + 0.25**8)
    np.testing.assert_allclose(image_densities(image, "power_8"), [[power]], rtol=1e-6)


def test_an_image_without_mass_in_a_reading_is_named():
    images = [[[1.0, 2.0, 5.0]], [[3.0, 3.0, 1.0]]]
    with pytest.raises(ImageError, match="has no mass in the reading 'above'") as caught:
        image_densities(images, "above")
    assert caught.value.index == 1


def test_images_do_not_influence_each_other():
    images = np.random.default_rng(0).random((4, 8, 8))
    for reading in READINGS:
        alone = [image_densities(image[np.newaxis], reading)[0] for image in images]
        np.testing.assert_array_equal(image_densities(images, reading), alone)


@pytest.mark.parametrize("reading", sorted(READINGS))
@pytest.mark.parametrize(("value", "fault"), [(3.0, "is constant"), (np.nan, "not finite")])
def test_the_error_carries_place_and_fault_also_between_processes(reading, value, fault):
    images = np.random.default_rng(0).random((3, 4, 4))
    images[1] = value
    with pytest.raises(ImageError) as caught:
        image_densities(images, reading)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert error.index == 1
        assert fault in error.fault
        assert str(error) == f"image 1 {error.fault}"


def test_errors_name_the_argument():
    with pytest.raises(
        ValueError,
        match="reading must be one of minmax, deviation, above, below, power_8, got 'square'",
    ):
        image_densities(np.zeros((1, 2, 2)), "square")
    with pytest.raises(ValueError, match=r"images must have the shape .* \(2, 2\)"):
        image_densities(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"images must have the shape .* \(0, 2, 2\)"):
        image_densities(np.zeros((0, 2, 2)))
