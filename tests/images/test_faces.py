"""What the faces have of their own: the dictionary's training set, quality, samples."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from replication.images.hoggles.dictionary import PairedDictionary, sample_photographs
from replication.images.hoggles.hog import hog_features, hog_vectors
from replication.images.hoggles.training import TRAINING_SETS, make_dictionary
from replication.images.hoggles_quality import grey_correlations, inversion_rows
from replication.images.samples import sample_panels
from replication.io import sha256_of
from sliced_wasserstein import SlicedWassersteinEmbedding

SIDE = 64
NUMBERS = {"n_atoms": 8, "penalty": 0.02, "n_windows": 200, "n_steps": 1, "random_state": 0}


def picture(seed, side=SIDE):
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (6, 6, 3)).astype(np.uint8))
    return small.resize((side, side), Image.Resampling.BICUBIC)


@pytest.fixture
def manifest(tmp_path):
    rows = [
        {"label": label, "file": f"{label}{i}.png", "group": 2 * k + i}
        for k, label in enumerate(("CatHead", "HumanHead"))
        for i in range(2)
    ]
    for seed, row in enumerate(rows):
        picture(seed).save(tmp_path / row["file"])
        row["sha256"] = sha256_of(tmp_path / row["file"])
    return pd.DataFrame(rows)


def learn(training, manifest, raw, file=""):
    return make_dictionary(training, file, manifest=manifest, raw=raw, side=SIDE, **NUMBERS)


@pytest.mark.parametrize("training", TRAINING_SETS)
def test_a_dictionary_says_what_it_has_seen(training, manifest, tmp_path):
    learned = learn(training, manifest, tmp_path)
    path = tmp_path / "dictionary.npz"
    learned.save(path)
    origin = PairedDictionary.load(path).origin
    assert origin["training"] == training
    assert origin["leakage"] is (training == "faces")
    assert origin["random_state"] == 0
    shipped, own = set(sample_photographs()), set(manifest["file"])
    expected = {
        "sample_photographs": shipped,
        # One image of each class.
        "with_textures": shipped | {"CatHead0.png", "HumanHead0.png"},
        "faces": own,
    }
    assert set(origin["images"]) == expected[training]
    json.dumps(origin)


def test_a_file_takes_the_place_of_learning(manifest, tmp_path):
    with pytest.raises(FileNotFoundError):
        learn("sample_photographs", manifest, tmp_path, file=str(tmp_path / "pd.mat"))


def test_an_unknown_training_set_is_answered_with_the_known(manifest, tmp_path):
    with pytest.raises(ValueError, match="sample_photographs, with_textures, faces"):
        learn("cats", manifest, tmp_path)


def test_hog_vectors_are_the_features_in_order():
    images = [np.asarray(picture(seed)) for seed in range(2)]
    vectors = hog_vectors(images)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[1], hog_features(images[1]).ravel(), rtol=1e-6)


def test_correlation_is_one_for_the_image_and_minus_one_for_its_negative():
    faces = np.stack([np.asarray(picture(seed)) for seed in range(2)])
    grey = faces @ np.array([0.299, 0.587, 0.114])
    found = grey_correlations(faces, np.stack([grey[0] / 255, 5 - 3 * grey[1]]))
    np.testing.assert_allclose(found, [1, -1])
    assert grey_correlations(faces, np.ones((2, SIDE, SIDE))).tolist() == [0, 0]
    with pytest.raises(ValueError, match="shape"):
        grey_correlations(faces, grey[:, :8])


def test_quality_by_class_and_dictionary(manifest):
    faces = np.stack([np.asarray(picture(seed)) for seed in range(4)])
    grey = faces @ np.array([0.299, 0.587, 0.114])
    images = manifest.assign(group=[0, 0, 2, 3])
    inverses = {"main": grey, "atoms_32": -grey}
    rows = pd.DataFrame(inversion_rows(images, faces, inverses, images.iloc[[0, 2]]))
    quality = rows[rows["metric"] == "grey_correlation"]
    values = quality.set_index(["variant", "item"])["value"]
    for item in ("CatHead", "HumanHead", "all"):
        assert values["", item] == pytest.approx(1)
        assert values["atoms_32", item] == pytest.approx(-1)
    counts = rows[rows["method"] == "data"].set_index(["item", "metric"])["value"]
    assert counts["CatHead", "images"] == 2
    assert counts["CatHead", "copies"] == 1
    assert counts["HumanHead", "copies"] == 0
    assert (counts["CatHead", "used"], counts["HumanHead", "used"]) == (1, 1)


def test_classes_that_are_not_shown_have_no_sample(manifest, tmp_path):
    densities = np.random.default_rng(0).random((4, 16, 16)).astype(np.float32)
    embedding = SlicedWassersteinEmbedding(n_angles=4, n_quantiles=8)
    shown = sample_panels(
        manifest, densities, tmp_path, embedding, colour=True, not_shown=["HumanHead"]
    )
    assert shown["labels"].tolist() == ["CatHead"]
    assert shown["images"].shape == (1, SIDE, SIDE, 3)
    np.testing.assert_array_equal(shown["densities"], densities[:1])
    both = sample_panels(manifest, densities, tmp_path, embedding)
    assert both["labels"].tolist() == ["CatHead", "HumanHead"]
    np.testing.assert_array_equal(both["densities"], densities[[0, 2]])
    assert both["images"].ndim == 3


def test_a_class_mean_is_the_mean_over_its_images_and_too_few_have_none(tmp_path):
    labels = ["WolfHead"] * 4 + ["HumanHead"] * 3 + ["CatHead"] * 4
    densities = np.random.default_rng(0).random((11, 16, 16)).astype(np.float32)
    picture(0).save(tmp_path / "face.png")
    sha256 = sha256_of(tmp_path / "face.png")
    manifest = pd.DataFrame({"file": "face.png", "label": labels, "sha256": sha256})
    embedding = SlicedWassersteinEmbedding(n_angles=4, n_quantiles=8)
    panels = sample_panels(manifest, densities, tmp_path, embedding, not_shown=["WolfHead"])
    # Nobody can be seen in a mean, unless it is one of very few; order is that of the names.
    assert panels["mean_labels"].tolist() == ["CatHead", "WolfHead"]
    np.testing.assert_allclose(panels["mean_densities"][0], densities[7:].mean(axis=0), rtol=1e-6)
    phi = embedding.transport_maps(densities[:4])
    np.testing.assert_allclose(panels["mean_phi"][1], phi.mean(axis=0), atol=1e-6)
    # It is not phi of the mean density.
    other = embedding.transport_maps(panels["mean_densities"][1:])[0]
    assert np.abs(panels["mean_phi"][1] - other).max() > 1e-3
