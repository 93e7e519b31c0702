"""What lies along a normal, an axis or between densities, seen as densities again."""

import numpy as np
import pytest

from replication.images.inverses import (
    STEPS,
    discriminant_line,
    inverse_panels,
    principal_lines,
)
from sliced_wasserstein import SlicedWassersteinEmbedding, gram_matrix

SIDE = 24


def blob(x, y, width=2.0):
    rows, columns = np.mgrid[:SIDE, :SIDE]
    image = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * width**2))
    return (image / image.sum()).astype(np.float32)


def centre_of(image):
    rows, columns = np.mgrid[:SIDE, :SIDE]
    return np.array([(image * columns).sum(), (image * rows).sum()]) / image.sum()


@pytest.fixture(scope="module")
def data():
    """Left and right blobs that wander up and down much more than the classes are apart."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["left", "right"], 10)
    x = np.where(labels == "left", 9.0, 14.0) + rng.normal(0, 0.3, 20)
    y = np.tile(np.linspace(6, 17, 10), 2)
    return np.stack([blob(*place) for place in zip(x, y, strict=True)]), labels


@pytest.fixture(scope="module")
def embedding():
    return SlicedWassersteinEmbedding(n_angles=40, n_quantiles=64)


@pytest.fixture(scope="module")
def panels(data, embedding):
    return inverse_panels(
        *data,
        embedding,
        classes=["left", "right"],
        C=100.0,
        n_iter=60,
        seed=1,
        experiment="test",
    )


def of_kind(panels, kind):
    return panels["images"][panels["kind"] == kind]


def test_an_embedded_density_comes_back_with_a_small_residual(data, embedding):
    features = embedding.fit_transform(data[0])
    images, residuals = embedding.inverse_transform(features[:2], return_residual=True)
    assert residuals.max() < 0.02
    assert np.abs(images - data[0][:2]).sum(axis=(1, 2)).max() < 0.05


def test_decision_values_rise_along_the_normal_and_are_zero_on_the_plane(data, embedding, panels):
    features = embedding.fit_transform(data[0])
    found = discriminant_line(features, data[1], ["left", "right"], C=100.0)
    asked = found.decide(found.line.points())
    assert asked[2] == pytest.approx(0, abs=1e-6)
    assert np.all(np.diff(asked) > 0)
    assert np.all(found.decide(features)[data[1] == "right"] > 0)
    # And still do when the inverse, which is a fit, is embedded again.
    along = panels["decisions"][panels["kind"] == "normal"]
    assert np.all(np.diff(along) > 0)
    assert np.isnan(panels["decisions"][panels["kind"] != "normal"]).all()


def test_the_normal_shows_what_tells_the_classes_apart(panels):
    places = np.array([centre_of(image) for image in of_kind(panels, "normal")])
    shift = places[-1] - places[0]
    assert shift[0] > 3
    assert abs(shift[1]) < 0.3 * shift[0]


def test_the_first_component_shows_what_varies_most(panels):
    places = np.array([centre_of(image) for image in of_kind(panels, "component_1")])
    shift = np.abs(places[-1] - places[0])
    assert shift[1] > 8
    assert shift[0] < 0.3 * shift[1]


def test_steps_along_components_are_standard_deviations(data, embedding):
    features = embedding.fit_transform(data[0])
    for line in principal_lines(features, gram_matrix(features), 3):
        unit = line.step / np.linalg.norm(line.step)
        scores = (features - line.origin) @ unit
        assert np.linalg.norm(line.step) == pytest.approx(scores.std(), rel=1e-4)
        np.testing.assert_allclose(line.points()[2], line.origin)


def test_a_barycentre_lies_between_where_the_euclidean_mean_has_two_bumps(embedding):
    two = np.stack([blob(x, y) for y in (12, 8) for x in (6, 18)])
    found = inverse_panels(
        two,
        np.array(["a", "a", "b", "b"]),
        embedding,
        classes=["a", "b"],
        C=1.0,
        n_iter=60,
        seed=1,
        experiment="test",
    )
    barycentre, mean = (of_kind(found, kind)[0][12] for kind in ("barycentre", "mean"))
    assert barycentre.argmax() == pytest.approx(12, abs=1)
    assert mean[6] > 5 * mean[12]
    assert mean[18] > 5 * mean[12]


def test_every_kind_is_there_with_its_residual(panels):
    kinds, counts = np.unique(panels["kind"], return_counts=True)
    assert dict(zip(kinds, counts, strict=True)) == {
        **{f"component_{k}": len(STEPS) for k in (1, 2, 3)},
        "normal": len(STEPS),
        "barycentre": 3,
        "mean": 3,
        "centre": 2,
    }
    is_inverse = panels["kind"] != "mean"
    assert np.isfinite(panels["residuals"][is_inverse]).all()
    assert np.isnan(panels["residuals"][~is_inverse]).all()
    np.testing.assert_allclose(panels["images"].sum(axis=(1, 2)), 1, rtol=1e-5)


def test_centres_are_barycentres_of_their_members(data, panels):
    places = np.array([centre_of(image) for image in of_kind(panels, "centre")])
    everything = np.array([centre_of(image) for image in data[0]]).mean(axis=0)
    sizes = [int(t.split(":")[0]) for t in panels["title"][panels["kind"] == "centre"]]
    assert sum(sizes) == len(data[0])
    np.testing.assert_allclose(np.average(places, axis=0, weights=sizes), everything, atol=0.1)


def test_classes_that_are_not_shown_take_no_part(data, embedding, panels):
    extra = np.concatenate([data[0], np.stack([blob(12, 2), blob(12, 3)])])
    labels = np.concatenate([data[1], ["person", "person"]])
    found = inverse_panels(
        extra,
        labels,
        embedding,
        classes=["left", "right"],
        C=100.0,
        n_iter=60,
        not_shown=["person"],
        seed=1,
        experiment="test",
    )
    np.testing.assert_array_equal(found["title"], panels["title"])
    np.testing.assert_array_equal(found["images"], panels["images"])


def test_an_unknown_class_is_named(data, embedding):
    features = embedding.fit_transform(data[0])
    with pytest.raises(ValueError, match="'up' has no member"):
        discriminant_line(features, data[1], ["left", "up"], C=1.0)
    with pytest.raises(ValueError, match="nothing tells"):
        discriminant_line(np.tile(features[:2], (2, 1)), np.array([*"aabb"]), ["a", "b"], C=1.0)
