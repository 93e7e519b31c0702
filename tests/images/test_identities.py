"""Each identity holds on tiny densities, and each check notices when its statement is broken."""

import numpy as np
import pytest
import yaml

from replication.images import identities
from replication.images.identities import check_identities
from sliced_wasserstein import SlicedWassersteinEmbedding

SETTINGS = {"n_angles": 60, "n_quantiles": 128}

#: What resources/claims.yaml asks of each metric.
AT_MOST = {
    "w2_1d_optimality_gap": 1e-9,
    "metric_axiom_excess": 1e-9,
    "w2_1d_largest_zero_sum_eigenvalue": 1e-10,
    "equation_16_relative_error": 0.01,
    "equation_17_relative_error": 0.01,
    "spectrum_change_with_template": 1e-6,
    "round_trip_relative_l1": 0.1,
}
AT_LEAST = {
    "sw_gaussian_smallest_eigenvalue": -1e-10,
    "sw_polynomial_smallest_eigenvalue": -1e-10,
}


@pytest.fixture(scope="module")
def densities():
    """Some round hills on a faint ground, like the densities of textures and faces."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:12, :12]
    images = np.full((9, 12, 12), 2e-2)
    for image in images:
        for row, column in rng.uniform(3, 9, size=(2, 2)):
            image += np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 8)
    return (images / images.sum(axis=(1, 2), keepdims=True)).astype(np.float32)


def check(densities, settings=SETTINGS, **changes):
    arguments = {"n_samples": 6, "n_inverse_angles": 60, "seed": 1, "experiment": "test"}
    rows = check_identities(densities, settings, **{**arguments, **changes})
    return {row["metric"]: row["value"] for row in rows}


def holding(scores):
    """Names of the metrics within their tolerances."""
    return {name for name, limit in AT_MOST.items() if scores[name] <= limit} | {
        name for name, limit in AT_LEAST.items() if scores[name] >= limit
    }


@pytest.fixture(scope="module")
def scores(densities):
    return check(densities)


def test_the_limits_are_those_of_the_claims(repository):
    claims = yaml.safe_load((repository / "resources/claims.yaml").read_text())
    rules = [c["rule"] for c in claims if c["kind"] == "identity" and "faces" in c["experiments"]]
    assert {r["metric"]: r["at_most"] for r in rules if "at_most" in r} == AT_MOST
    assert {r["metric"]: r["at_least"] for r in rules if "at_least" in r} == AT_LEAST


def test_all_hold_for_the_embedding(scores):
    assert holding(scores) == set(scores) == {*AT_MOST, *AT_LEAST}


def test_all_hold_for_the_integral_over_the_circle(densities):
    scores = check(densities, {**SETTINGS, "measure": "surface"})
    assert holding(scores) == set(scores)


def test_all_but_the_inverse_hold_for_point_masses(densities):
    """From a lattice of points no claim of invertibility is made: pictures are boxes."""
    scores = check(densities, {"n_angles": 60, "n_quantiles": 512, "footprint": "point"})
    assert holding(scores) >= set(scores) - {"round_trip_relative_l1"}


def test_the_draw_is_that_of_the_seed(densities, scores):
    assert check(densities) == scores
    assert check(densities, seed=2) != scores


def test_more_densities_than_there_are_means_all(densities, scores):
    assert holding(check(densities, n_samples=100)) == set(scores)


def embedding_with(monkeypatch, **methods):
    """Let the check meet an embedding of which some methods are others."""
    broken = type("Broken", (SlicedWassersteinEmbedding,), methods)
    monkeypatch.setattr(identities, "SlicedWassersteinEmbedding", broken)


def test_a_scaled_embedding_breaks_equations_16_and_17_alone(densities, scores, monkeypatch):
    def transform(self, images, out=None):
        return np.float32(1.03) * SlicedWassersteinEmbedding.transform(self, images)

    def inverse_transform(self, features):
        return SlicedWassersteinEmbedding.inverse_transform(self, features / np.float32(1.03))

    embedding_with(monkeypatch, transform=transform, inverse_transform=inverse_transform)
    found = check(densities)
    broken = {"equation_16_relative_error", "equation_17_relative_error"}
    assert holding(found) == set(scores) - broken
    for name in broken:
        assert found[name] == pytest.approx(0.03, abs=0.01)


def test_an_embedding_relative_to_another_point_breaks_equation_16_alone(
    densities, scores, monkeypatch
):
    """The distances of a translated embedding are right, its norms are not."""

    def offset(features):
        return np.float32(0.3 / features.shape[1] ** 0.5)

    def transform(self, images, out=None):
        features = SlicedWassersteinEmbedding.transform(self, images)
        return features + offset(features)

    def inverse_transform(self, features):
        return SlicedWassersteinEmbedding.inverse_transform(self, features - offset(features))

    embedding_with(monkeypatch, transform=transform, inverse_transform=inverse_transform)
    assert holding(check(densities)) == set(scores) - {"equation_16_relative_error"}


def test_one_wrong_density_breaks_equation_17(densities, monkeypatch):
    """Its norm is right: it is turned about the template."""

    def transform(self, images, out=None):
        features = SlicedWassersteinEmbedding.transform(self, images)
        if len(features) > 1:
            features[1] = features[1, ::-1]
        return features

    embedding_with(monkeypatch, transform=transform)
    found = holding(check(densities))
    assert "equation_17_relative_error" not in found
    assert "equation_16_relative_error" in found


def circle_distance(a, b):
    """Length of the shorter arc, squared, between points at the densities' mean rows.

    The circle is curved, so that no Gaussian kernel of large width is positive definite on it.
    """
    positions = [(image * np.arange(len(image))[:, None]).sum() / image.sum() for image in (a, b)]
    turn = abs(positions[0] - positions[1]) % 1
    return min(turn, 1 - turn) ** 2


def test_an_unflat_distance_breaks_theorem_5(densities, scores, monkeypatch):
    monkeypatch.setattr(identities, "_exact_squared_distance", circle_distance)
    found = check(densities)
    assert found["sw_gaussian_smallest_eigenvalue"] < -1e-4
    assert holding(found) <= set(scores) - {"sw_gaussian_smallest_eigenvalue"}


def test_an_unflat_distance_breaks_theorem_6(densities, scores, monkeypatch):
    monkeypatch.setattr(identities, "_exact_squared_distance", circle_distance)
    found = check(densities)
    assert found["sw_polynomial_smallest_eigenvalue"] < -1e-4
    assert "sw_polynomial_smallest_eigenvalue" not in holding(found)


def test_one_distance_from_the_template_that_is_wrong_breaks_theorem_6_alone(
    densities, scores, monkeypatch
):
    exact = identities._exact_squared_distance
    template = densities.mean(axis=0, dtype=np.float64)

    def distance(a, b):
        wrong = np.allclose(b, template) and a.argmax() == first
        return (0.5 if wrong else 1.0) * exact(a, b)

    first = densities[0].argmax()
    monkeypatch.setattr(identities, "_exact_squared_distance", distance)
    # All are drawn, so that the first is.
    found = check(densities, n_samples=9)
    assert holding(found) == set(scores) - {"sw_polynomial_smallest_eigenvalue"}


def test_transport_on_a_circle_breaks_theorem_4_alone(densities, scores, monkeypatch):
    """As if the line of a marginal were bent into a circle: no longer flat."""

    def wasserstein(x, y, a, b, p):
        means = [np.sum(weights * x) / weights.sum() for weights in (a, b)]
        turn = abs(means[0] - means[1]) % 1
        return min(turn, 1 - turn)

    monkeypatch.setattr(identities, "wasserstein_1d", wasserstein)
    found = check(densities)
    assert found["w2_1d_largest_zero_sum_eigenvalue"] > 1e-3
    assert holding(found) == set(scores) - {"w2_1d_largest_zero_sum_eigenvalue"}


def test_distances_that_depend_on_the_template_change_the_spectrum(densities, scores, monkeypatch):
    """As those of the paper's Eq. 15 would on a coarse grid of the template's slices."""

    def transform(self, images, out=None):
        weight = np.float32(1 + 0.001 * self.template_density_[6, 6] / densities[0, 6, 6])
        return weight * SlicedWassersteinEmbedding.transform(self, images)

    embedding_with(monkeypatch, transform=transform)
    found = holding(check(densities))
    assert found == set(scores) - {"spectrum_change_with_template"}


def test_an_inverse_that_blurs_breaks_invertibility_alone(densities, scores, monkeypatch):
    def inverse_transform(self, features):
        images = SlicedWassersteinEmbedding.inverse_transform(self, features)
        return 0.8 * images + 0.2 / images[0].size

    embedding_with(monkeypatch, inverse_transform=inverse_transform)
    found = check(densities)
    assert found["round_trip_relative_l1"] == pytest.approx(0.2, abs=0.07)
    assert holding(found) == set(scores) - {"round_trip_relative_l1"}


def test_copies_have_no_relative_distance(densities):
    scores = check(np.concatenate([densities[:5], densities[:1]]))
    assert {name for name, value in scores.items() if not np.isfinite(value)} == set()
