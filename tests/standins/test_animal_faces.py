"""The synthetic faces: published layout, independent of order, and different."""

import numpy as np
import pytest
from PIL import Image
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from replication.images.hoggles.hog import hog_features
from replication.standins import animal_faces

N_IMAGES = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faces")
    animal_faces.write(folder, images_per_class=N_IMAGES, n_jobs=2)
    return folder


def decoded(path):
    with Image.open(path) as image:
        return np.asarray(image, dtype=float)


def file_of(name, index):
    return f"Image/{name}/{name.removesuffix('Head').lower()}{index:04d}.jpg"


def test_published_layout(folder):
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert files == [
        file_of(name, index) for name in animal_faces.CLASSES for index in range(1, N_IMAGES + 1)
    ]
    assert len(animal_faces.CLASSES) == 21
    sides = []
    for path in files:
        with Image.open(folder / path) as image:
            assert (image.format, image.mode) == ("JPEG", "RGB")
            sides.extend(image.size)
    assert min(sides) >= 96
    assert max(sides) <= 128
    assert len(set(sides)) > 20


def test_an_image_does_not_depend_on_how_many_are_made(folder, tmp_path):
    # In this process, alone, and without the other images of its class.
    animal_faces._write_class(tmp_path, "TigerHead", 0, 2, (96, 128))
    for index in (1, 2):
        name = file_of("TigerHead", index)
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_the_seed_changes_everything():
    ours, other = (animal_faces._individual("LionHead", seed, 1, (96, 96)) for seed in (0, 1))
    assert ours.shape == other.shape == (96, 96, 3)
    assert np.abs(ours.astype(float) - other).mean() > 10


def test_kinds_differ_from_each_other_and_individuals_within_a_kind(folder):
    """A classifier on few images is far from chance (5 %) and not perfect."""
    features, labels = [], []
    for path in sorted(folder.rglob("*.jpg")):
        with Image.open(path) as image:
            square = image.resize((96, 96), Image.Resampling.BICUBIC)
        features.append(hog_features(np.asarray(square)).ravel())
        labels.append(path.parent.name)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    scaled = np.array(features) / np.linalg.norm(features, axis=1).mean()
    assert (
        0.35 < cross_val_score(SVC(kernel="linear", C=10), scaled, labels, cv=folds).mean() < 0.95
    )


def test_every_image_shows_something_in_sharp_enough_contrast(folder):
    for path in folder.rglob("*.jpg"):
        image = decoded(path)
        assert 20 < image.mean() < 235
        assert image.std() > 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must not be negative"),
        ({"images_per_class": 0}, "images_per_class must lie between 1 and 9999, got 0"),
        ({"images_per_class": 10_000}, "images_per_class must lie between 1 and 9999, got 10000"),
        ({"min_side": 23}, "min_side must be at least 24 .* got 23 and 128"),
        ({"min_side": 130}, "at most max_side, got 130 and 128"),
    ],
)
def test_errors_name_the_argument(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        animal_faces.write(tmp_path, **arguments)
    assert not list(tmp_path.iterdir())
