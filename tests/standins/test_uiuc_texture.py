"""The synthetic textures: published layout, independent of order, different, and frozen."""

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from replication.data.sources import prepare
from replication.images.cooccurrence import cooccurrence_matrices
from replication.standins import uiuc_texture

SIZES = {"images_per_class": 8, "width": 160, "height": 120}

# Mean, standard deviation, mean step to the right and downwards of the first two images of each
# class at seed 0. These numbers are the frozen generator; see docs/embedded_data.md.
FROZEN = {
    "T01_bark1": [[119.4, 41.2, 28.7, 18.5], [115.1, 42.3, 28.2, 26.5]],
    "T02_bark2": [[136.7, 29.3, 14.4, 14.0], [130.2, 44.5, 28.9, 37.7]],
    "T03_bark3": [[150.0, 47.9, 18.0, 16.1], [149.9, 55.0, 32.3, 19.5]],
    "T04_wood1": [[87.7, 13.1, 5.8, 3.4], [120.5, 15.9, 8.2, 9.6]],
    "T05_wood2": [[113.2, 20.1, 7.2, 16.4], [104.7, 19.5, 16.0, 9.5]],
    "T06_wood3": [[124.6, 15.1, 13.3, 8.5], [107.9, 14.0, 7.0, 7.2]],
    "T07_water": [[93.2, 20.9, 7.8, 7.2], [81.9, 15.8, 3.9, 7.2]],
    "T08_granite": [[134.5, 29.2, 15.2, 15.8], [146.7, 34.4, 16.0, 16.2]],
    "T09_marble": [[112.5, 31.6, 9.4, 8.8], [96.8, 30.1, 14.7, 11.6]],
    "T10_floor1": [[70.3, 16.7, 10.4, 12.4], [86.6, 21.0, 10.8, 10.9]],
    "T11_floor2": [[113.2, 34.1, 13.0, 12.4], [128.2, 29.5, 14.7, 15.6]],
    "T12_pebbles": [[102.7, 29.0, 14.6, 16.4], [99.7, 34.9, 16.7, 16.7]],
    "T13_wall": [[122.4, 32.2, 20.2, 16.7], [137.8, 29.5, 15.7, 20.0]],
    "T14_brick1": [[79.7, 28.5, 13.6, 19.0], [101.4, 30.8, 18.1, 14.1]],
    "T15_brick2": [[121.6, 26.9, 6.4, 11.4], [121.1, 25.0, 9.1, 6.1]],
    "T16_glass1": [[99.1, 28.1, 23.2, 29.3], [112.3, 30.2, 29.8, 29.2]],
    "T17_glass2": [[124.6, 12.6, 6.6, 4.4], [142.3, 12.1, 10.1, 7.7]],
    "T18_carpet1": [[39.0, 18.6, 14.0, 13.1], [69.3, 32.3, 15.9, 20.6]],
    "T19_carpet2": [[96.5, 27.1, 22.1, 25.4], [61.3, 30.2, 22.7, 27.4]],
    "T20_upholstery": [[37.1, 14.6, 6.4, 7.4], [38.5, 18.3, 8.1, 7.4]],
    "T21_wallpaper": [[112.9, 20.4, 9.2, 6.1], [99.4, 12.9, 8.7, 6.7]],
    "T22_fur": [[90.3, 29.1, 11.0, 8.2], [135.6, 36.2, 19.9, 12.4]],
    "T23_knit": [[83.2, 21.4, 16.4, 20.0], [90.0, 35.4, 18.4, 15.3]],
    "T24_corduroy": [[79.8, 30.7, 9.7, 36.8], [92.3, 40.2, 4.4, 28.5]],
    "T25_plaid": [[72.0, 31.3, 9.0, 7.9], [82.8, 38.4, 8.6, 10.4]],
}  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    raw = tmp_path_factory.mktemp("textures") / "uiuc_texture"
    return raw, prepare("uiuc_texture", source="embedded", raw=raw, embedded=SIZES, n_jobs=2)


@pytest.fixture(scope="module")
def folder(prepared):
    return prepared[0]


def decoded(path):
    with Image.open(path) as image:
        return np.asarray(image, dtype=float)


def statistics(image):
    steps = (np.abs(np.diff(image, axis=axis)).mean() for axis in (1, 0))
    return [image.mean(), image.std(), *steps]


def test_published_layout(folder, prepared):
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    files.remove(".source.json")
    assert files == list(prepared[1].manifest["file"])
    assert prepared[1].describe() == "200 images"
    assert files == [
        f"{name}/T{number:02d}_{index:02d}.jpg"
        for number, name in enumerate(uiuc_texture.CLASSES, start=1)
        for index in range(1, 9)
    ]
    for path in files[::8]:
        with Image.open(folder / path) as image:
            assert (image.format, image.mode, image.size) == ("JPEG", "L", (160, 120))


def test_files_of_another_size_of_the_set_do_not_stay_when_the_record_is_lost(tmp_path, capsys):
    small = {"images_per_class": 2, "width": 32, "height": 32}
    prepare("uiuc_texture", source="embedded", raw=tmp_path / "raw", embedded=small)
    (tmp_path / "raw/.source.json").write_bytes(b"")
    smaller = small | {"images_per_class": 1}
    found = prepare("uiuc_texture", source="embedded", raw=tmp_path / "raw", embedded=smaller)
    assert found.describe() == "25 images"
    assert len(list((tmp_path / "raw").rglob("*.jpg"))) == 25
    assert "was broken" in capsys.readouterr().out


@pytest.mark.parametrize("name", uiuc_texture.CLASSES)
def test_frozen(folder, name):
    found = [statistics(decoded(folder / name / f"{name[:3]}_{k:02d}.jpg")) for k in (1, 2)]
    np.testing.assert_allclose(found, FROZEN[name], atol=0.4)


def test_an_image_does_not_depend_on_how_many_are_made(folder, tmp_path):
    # In another process, alone, and without the other images of its class.
    uiuc_texture._write_class(tmp_path, "T23_knit", 0, 2, 160, 120)
    for file in ("T23_knit/T23_01.jpg", "T23_knit/T23_02.jpg"):
        assert (tmp_path / file).read_bytes() == (folder / file).read_bytes()


def test_another_size_shows_the_same_view(folder, tmp_path):
    uiuc_texture._write_class(tmp_path, "T15_brick2", 0, 1, 320, 240)
    large = decoded(tmp_path / "T15_brick2/T15_01.jpg")
    small = decoded(folder / "T15_brick2/T15_01.jpg")
    halved = large.reshape(120, 2, 160, 2).mean(axis=(1, 3))
    assert np.corrcoef(halved.ravel(), small.ravel())[0, 1] > 0.9


def test_the_seed_changes_everything(folder, tmp_path):
    uiuc_texture._write_class(tmp_path, "T15_brick2", 1, 1, 160, 120)
    other = decoded(tmp_path / "T15_brick2/T15_01.jpg")
    ours = decoded(folder / "T15_brick2/T15_01.jpg")
    assert abs(np.corrcoef(other.ravel(), ours.ravel())[0, 1]) < 0.3


def test_classes_differ_from_each_other_and_images_within_a_class(folder):
    """A classifier on few small images is far from chance (4 %) and far from perfect."""
    paths = sorted(folder.rglob("*.jpg"))
    labels = [path.parent.name for path in paths]
    matrices = cooccurrence_matrices(paths).reshape(len(paths), -1)
    median = np.median(pairwise_distances(matrices, metric="sqeuclidean"))
    machine = SVC(C=100, gamma=1 / median)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    assert 0.4 < cross_val_score(machine, matrices, labels, cv=folds).mean() < 0.95


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must not be negative"),
        ({"images_per_class": 0}, "images_per_class must lie between 1 and 99, got 0"),
        ({"images_per_class": 100}, "images_per_class must lie between 1 and 99, got 100"),
        ({"width": 8}, "width and height must be at least 16, got 8 x 240"),
    ],
)
def test_errors_name_the_argument(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        uiuc_texture.write(tmp_path, **arguments)
    assert not list(tmp_path.iterdir())
