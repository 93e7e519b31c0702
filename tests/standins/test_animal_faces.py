"""The synthetic faces: published layout, independent of order, different, and frozen."""

import numpy as np
import pytest
from PIL import Image
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from replication.images.hoggles.hog import hog_features
from replication.standins import animal_faces

N_IMAGES = 4

# Mean red, green, blue, standard deviation, mean step to the right and downwards of the first two
# images of each class at seed 0. These numbers are the frozen generator; see docs/embedded_data.md.
FROZEN = {
    "BearHead": [[100.9, 78.7, 47.8, 23.1, 4.3, 3.9], [31.2, 30.2, 27.5, 11.7, 2.1, 2.1]],
    "CatHead": [[130.2, 110.8, 84.1, 28.2, 4.1, 4.1], [152.3, 143.9, 114.0, 59.9, 11.4, 11.8]],
    "ChickenHead": [[122.1, 115.1, 93.7, 45.6, 4.5, 4.5], [67.3, 55.4, 45.6, 18.1, 3.4, 3.0]],
    "CowHead": [[113.9, 78.3, 44.2, 28.8, 4.0, 4.4], [124.5, 99.1, 68.6, 21.3, 3.5, 4.0]],
    "DeerHead": [[136.8, 131.7, 99.5, 40.8, 3.9, 4.4], [148.9, 133.4, 129.4, 47.0, 4.6, 5.3]],
    "DogHead": [[195.4, 171.2, 160.1, 86.8, 6.8, 5.8], [61.6, 71.0, 53.7, 34.5, 3.4, 3.0]],
    "DuckHead": [[108.1, 118.3, 112.2, 40.2, 3.0, 2.9], [136.1, 138.1, 127.7, 34.0, 2.4, 2.5]],
    "EagleHead": [[109.7, 106.2, 88.6, 49.1, 5.5, 6.4], [122.0, 98.3, 59.1, 59.4, 4.5, 4.3]],
    "ElephantHead": [[150.4, 142.4, 118.5, 25.0, 4.1, 3.6], [82.3, 83.9, 66.4, 18.9, 2.8, 3.6]],
    "HumanHead": [[96.6, 78.3, 64.2, 36.5, 5.0, 4.8], [124.3, 112.5, 100.3, 47.2, 4.1, 3.4]],
    "LionHead": [[167.0, 137.5, 81.9, 36.2, 9.2, 11.0], [128.7, 107.3, 82.5, 54.6, 11.0, 11.8]],
    "MonkeyHead": [[138.9, 142.3, 102.7, 42.6, 5.0, 5.2], [181.1, 162.9, 134.1, 49.9, 5.8, 6.7]],
    "MouseHead": [[130.1, 123.6, 83.3, 42.0, 5.3, 6.2], [162.2, 151.5, 146.0, 56.9, 5.4, 5.9]],
    "Natural": [[81.9, 111.8, 129.4, 36.1, 6.4, 6.5], [128.6, 118.5, 76.1, 39.0, 4.2, 4.7]],
    "PandaHead": [[105.9, 105.3, 93.9, 75.3, 7.7, 8.2], [128.3, 127.5, 129.6, 83.3, 10.1, 9.7]],
    "PigHead": [[156.4, 159.0, 144.6, 15.1, 2.3, 2.6], [111.2, 109.1, 90.2, 17.5, 2.1, 1.8]],
    "PigeonHead": [[155.7, 182.4, 152.4, 50.0, 3.7, 4.4], [70.8, 73.9, 69.1, 16.1, 1.8, 2.2]],
    "RabbitHead": [[128.0, 116.2, 78.1, 32.6, 4.6, 4.7], [162.3, 131.6, 117.3, 26.4, 5.6, 5.0]],
    "SheepHead": [[151.9, 156.0, 146.3, 80.7, 8.1, 8.2], [155.4, 150.1, 142.4, 79.6, 11.0, 11.6]],
    "TigerHead": [[126.2, 114.2, 87.8, 48.7, 7.8, 10.4], [189.2, 172.9, 109.4, 63.4, 11.2, 14.5]],
    "WolfHead": [[118.9, 132.5, 109.5, 65.4, 7.0, 6.2], [158.9, 166.2, 131.5, 61.5, 10.1, 8.5]],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faces")
    animal_faces.write(folder, images_per_class=N_IMAGES, n_jobs=2)
    return folder


def decoded(path):
    with Image.open(path) as image:
        return np.asarray(image, dtype=float)


def statistics(image):
    """Mean of each colour, standard deviation, mean steps to the right and downwards."""
    grey = image.mean(axis=2)
    steps = (np.abs(np.diff(grey, axis=axis)).mean() for axis in (1, 0))
    return [*image.mean(axis=(0, 1)), grey.std(), *steps]


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


@pytest.mark.parametrize("name", animal_faces.CLASSES)
def test_frozen(folder, name):
    found = [statistics(decoded(folder / file_of(name, index))) for index in (1, 2)]
    np.testing.assert_allclose(found, FROZEN[name], atol=0.4)


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
