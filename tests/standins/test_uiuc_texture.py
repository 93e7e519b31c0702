"""The synthetic textures: published layout, independent of order, and different."""

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
