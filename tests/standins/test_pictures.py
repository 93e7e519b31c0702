"""Synthetic textures and faces: published layout, independent of each other, and different."""

import numpy as np
import pytest
from PIL import Image
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from replication.data.sources import prepare
from replication.images.cooccurrence import cooccurrence_matrices
from replication.images.hoggles.hog import hog_features
from replication.standins import animal_faces, uiuc_texture

N_IMAGES = 4
SIZES = {
    "uiuc_texture": {"width": 160, "height": 120},
    "animal_faces": {"min_side": 64, "max_side": 80},
}
WRITE = {"uiuc_texture": uiuc_texture.write, "animal_faces": animal_faces.write}


def textures_seen(paths):
    return cooccurrence_matrices(paths)


def faces_seen(paths):
    pictures = (Image.open(path).resize((64, 64), Image.Resampling.BICUBIC) for path in paths)
    return np.array([hog_features(np.asarray(picture)) for picture in pictures])


@pytest.fixture(scope="module", params=SIZES)
def prepared(request, tmp_path_factory):
    """Name, folder and list of a set's pictures, as a run makes them."""
    name, raw = request.param, tmp_path_factory.mktemp(request.param) / "raw"
    sizes = {"images_per_class": N_IMAGES, **SIZES[name]}
    found = prepare(name, source="embedded", raw=raw, embedded=sizes, n_jobs=2)
    return name, raw, found.manifest


def test_the_reader_of_the_real_files_knows_all_of_them(prepared):
    name, raw, manifest = prepared
    assert len(manifest) == len(list(raw.rglob("*.jpg")))
    assert set(manifest["status"]) == {"used"}
    counts = manifest["label"].value_counts()
    assert set(counts.index) == set(
        (uiuc_texture if name == "uiuc_texture" else animal_faces).CLASSES
    )
    assert set(counts) == {N_IMAGES}


def test_format_and_sizes_are_those_asked_for(prepared):
    name, raw, manifest = prepared
    sizes = set()
    for file in manifest["file"]:
        with Image.open(raw / file) as image:
            assert (image.format, image.mode) == ("JPEG", "L" if name == "uiuc_texture" else "RGB")
            sizes.add(image.size)
            assert 10 < np.mean(image) < 245
            assert np.std(image) > 5
    if name == "uiuc_texture":
        assert sizes == {(160, 120)}
    else:
        assert {min(map(min, sizes)), max(map(max, sizes))} == {64, 80}


def test_a_picture_depends_on_neither_their_number_nor_processes(prepared, tmp_path):
    name, raw, _ = prepared
    WRITE[name](tmp_path, images_per_class=2, n_jobs=1, **SIZES[name])
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.jpg")]
    assert files
    for file in files:
        assert (tmp_path / file).read_bytes() == (raw / file).read_bytes()


def test_the_seed_changes_every_picture(prepared, tmp_path):
    name, raw, _ = prepared
    WRITE[name](tmp_path, seed=1, images_per_class=1, n_jobs=2, **SIZES[name])
    for path in tmp_path.rglob("*.jpg"):
        assert path.read_bytes() != (raw / path.relative_to(tmp_path)).read_bytes()


@pytest.mark.parametrize("prepared", ["uiuc_texture"], indirect=True)
def test_another_size_of_a_texture_shows_the_same_view(prepared, tmp_path):
    _, raw, _ = prepared
    uiuc_texture.write(tmp_path, images_per_class=1, width=320, height=240, n_jobs=2)
    alike = []
    for path in tmp_path.rglob("*.jpg"):
        large, small = (
            np.asarray(Image.open(file), dtype=float)
            for file in (path, raw / path.relative_to(tmp_path))
        )
        halved = large.reshape(120, 2, 160, 2).mean(axis=(1, 3))
        alike.append(np.corrcoef(halved.ravel(), small.ravel())[0, 1])
    assert np.median(alike) > 0.8


def test_classes_can_be_told_apart_but_not_perfectly(prepared):
    """A classifier on few small images is far from chance (5 %) and not perfect."""
    name, raw, manifest = prepared
    paths = [raw / file for file in manifest["file"]]
    seen = (textures_seen if name == "uiuc_texture" else faces_seen)(paths).reshape(len(paths), -1)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    machine = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    assert 0.35 < cross_val_score(machine, seen, manifest["label"], cv=folds).mean() < 0.97
