"""The animal faces: every kind of file of the archive, the choice of classes, copies, real data."""

import csv
import hashlib
import io
import os
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from replication.data import catalog
from replication.data.manifest import groups_of, read_manifest, write_manifest
from replication.data.sources import prepare
from replication.images.animal_faces import (
    CLASSES,
    duplicate_groups,
    find_copies,
    load_faces,
    load_native_faces,
    select_faces,
)
from replication.images.animal_faces import DATASET as ANIMAL_FACES
from replication.images.svm import stratified_folds

NAME = "animal_faces"
SMALL = {"images_per_class": 2, "min_side": 32, "max_side": 40}
COUNTS = {
    "BearHead": 101, "CatHead": 160, "ChickenHead": 100, "CowHead": 104, "DeerHead": 103,
    "DogHead": 389, "DuckHead": 103, "EagleHead": 101, "ElephantHead": 100, "HumanHead": 100,
    "LionHead": 102, "MonkeyHead": 100, "MouseHead": 100, "Natural": 8, "PandaHead": 119,
    "PigHead": 101, "PigeonHead": 115, "RabbitHead": 100, "SheepHead": 100, "TigerHead": 114,
    "WolfHead": 100,
}  # fmt: skip


def picture(seed, height=60, width=60):
    """Blobs of colour, so that resizing keeps what there is."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (6, 6, 3)).astype(np.uint8))
    return small.resize((width, height), Image.Resampling.BICUBIC)


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


ODD_FILES = {
    "Image/CatHead/cat1060a.bmp": encoded(picture(0), "BMP"),
    "Image/CowHead/cow (1).gif": encoded(picture(1).quantize(64), "GIF"),
    "Image/DogHead/dog000590a.jpg": encoded(picture(2).convert("L"), "JPEG"),
    "Image/EagleHead/eagle (1).JPG": encoded(picture(3, 25, 35), "JPEG"),
    "Image/LionHead/lion;oi[909,k@.jpg": encoded(picture(4, 700, 520), "JPEG"),
    "Image/PandaHead/Panda4_2jpg": encoded(picture(5, 54, 48), "JPEG"),
    "Image/TigerHead/tiger-tatiana.gif": encoded(picture(6), "JPEG"),
    "Image/Natural/stream and pine bushes.jpg": encoded(picture(7), "JPEG"),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return an archive with one file of every odd kind, and some that are no images."""
    (tmp_path / "resources" / "checksums").mkdir(parents=True)
    sums = [f"{hashlib.sha256(data).hexdigest()}  {file}\n" for file, data in ODD_FILES.items()]
    (tmp_path / "resources" / "checksums" / f"{NAME}.sha256").write_text("".join(sums))
    (tmp_path / "resources" / "datasets.csv").write_text(
        "dataset,title,file,url,mirror,bytes,checksum,licence,citation\n"
        f"{NAME},LHI,AnimalFace.zip,http://a/b.zip,,,,,\n"
    )
    monkeypatch.setattr(catalog, "RESOURCES", tmp_path / "resources")
    archive = tmp_path / "archives" / NAME / "AnimalFace.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as file:
        for name, data in {
            **ODD_FILES,
            "Image/CatHead/Thumbs.db": b"cache",
            "read me": b"",
        }.items():
            file.writestr(name, data)
    return {"raw": tmp_path / "raw", "archives": tmp_path / "archives"}


def test_a_folder_with_what_file_managers_leave(place, capsys):
    """Litter is counted and named; a picture that is broken stops the run."""
    folder = place["archives"] / NAME / "Image/CatHead"
    folder.mkdir(parents=True)
    for name in ("a.png", "b.PNG"):
        (folder / name).write_bytes(encoded(picture(8), "PNG"))
    litter = ("readme.txt", ".DS_Store", "._a.png", "Thumbs.db", "~$notes.docx", "c.png.part")
    for name in litter:
        (folder / name).write_bytes(b"\x00\x05\x16\x07")
    prepared = prepare(NAME, source="archives", **place)
    assert len(prepared.manifest) == len(ODD_FILES) + 2
    left_out = {*(f"Image/CatHead/{name}" for name in litter), "read me"}
    assert set(prepared.summary()["ignored"]) == left_out
    said = capsys.readouterr().out
    assert "left out as no images (7): Image/CatHead/.DS_Store, " in said
    assert "copies, which folds do not part (1): Image/CatHead/b.PNG is equal to" in said
    (folder / "c.png").write_bytes(b"\x89PNG")
    with pytest.raises(ValueError, match=r"Image/CatHead/c\.png is (no image|corrupt)"):
        prepare(NAME, source="archives", **place)


def test_an_archive_with_what_systems_leave_beside_files(place):
    litter = (
        "Image/CatHead/Icon\r",
        "Image/CatHead/Thumbs.db:encryptable",
        "Image/CatHead/cat1060a.bmp:Zone.Identifier",
        "Icon\r",
        ".Trash-1000/files/Image/CatHead/cat1060a.bmp",
        "__MACOSX/Image/CatHead/cat1060a.bmp",
    )
    with zipfile.ZipFile(place["archives"] / NAME / "AnimalFace.zip", "a") as file:
        for name in litter:
            file.writestr(name, b"litter")
    prepared = prepare(NAME, source="archives", **place)
    assert len(prepared.manifest) == len(ODD_FILES)
    assert set(prepared.ignored) == {"Image/CatHead/Thumbs.db", "read me", *litter}


def test_every_odd_file_is_used_and_loads(place):
    prepared = prepare(NAME, source="archives", **place)
    assert sorted(prepared.manifest["file"]) == sorted(ODD_FILES)
    assert prepared.skipped == {}
    assert prepared.ignored == ("Image/CatHead/Thumbs.db", "read me")
    faces = load_faces([place["raw"] / file for file in prepared.manifest["file"]], 32)
    assert faces.shape == (8, 32, 32, 3)
    for file, face in zip(prepared.manifest["file"], faces, strict=True):
        expected = np.asarray(picture(list(ODD_FILES).index(file)).resize((32, 32)), dtype=float)
        if "590a" in file:
            assert (np.ptp(face, axis=2) == 0).all()
            expected = np.repeat(expected @ [0.299, 0.587, 0.114], 3).reshape(32, 32, 3)
        assert np.corrcoef(face.ravel(), expected.ravel())[0, 1] > 0.95


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("Image/CowHead/Cow 13.jpg", ("CowHead/Cow 13.jpg", "CowHead")),
        ("Image/LionHead/lion[909.jpg", ("LionHead/lion[909.jpg", "LionHead")),
        ("Image/PandaHead/Panda4_2jpg", ("PandaHead/Panda4_2jpg", "PandaHead")),
        ("Image/Natural/1.jpg", ("Natural/1.jpg", "Natural")),
        ("Image/CowHead/Thumbs.db", None),
        ("Image/CowHead/.DS_Store", None),
        ("Image/CowHead/._cow.jpg", None),
        ("Image/CowHead/.jpg", None),
        ("Image/CowHead/readme.txt", None),
        ("Image/CowHead/cow.PNG", ("CowHead/cow.PNG", "CowHead")),
        ("Image/CowHead/cow.heic", ("CowHead/cow.heic", "CowHead")),
        ("Image/CowHead/more/1.jpg", None),
        ("Image/OwlHead/1.jpg", None),
        ("CowHead/1.jpg", None),
        ("Image/readme.txt", None),
    ],
)
def test_a_file_of_a_class_folder_with_the_name_of_an_image_is_one(file, expected):
    assert ANIMAL_FACES.identify(file) == expected


def test_the_checksum_list_is_the_published_archive():
    files = catalog.read_checksums(NAME)
    assert len(files) == 2420
    identified = [ANIMAL_FACES.identify(file) for file in files]
    assert Counter(label for _, label in identified) == COUNTS
    assert len({name for name, _ in identified}) == 2420
    assert set(COUNTS) == set(CLASSES)


def test_the_catalog_names_the_archive_and_says_what_may_be_shown():
    (archive,) = catalog.read_published(NAME).archives
    assert archive.file == "AnimalFace.zip"
    assert archive.urls[0].endswith("/AnimalFace.zip")
    with (catalog.RESOURCES / "datasets.csv").open(newline="") as table:
        shown = {row["dataset"]: row["publish_images"] for row in csv.DictReader(table)}
    assert set(shown.values()) <= {"yes", "no"}
    assert shown[NAME] == "no"


def test_the_embedded_faces_are_prepared_like_the_published_ones(tmp_path):
    sizes = {"images_per_class": 1, "min_side": 32, "max_side": 40}
    prepared = prepare(NAME, source="embedded", raw=tmp_path / "raw", embedded=sizes)
    assert prepared.origin == "synthetic"
    assert tuple(prepared.manifest["label"]) == CLASSES
    paths = [tmp_path / "raw" / file for file in prepared.manifest["file"]]
    assert load_faces(paths, 24).shape == (21, 24, 24, 3)


def test_twenty_animals_or_twenty_one_folders_with_or_without_copies():
    labels, groups = ["CatHead", "Natural", "DogHead", "CatHead"], [0, 1, 2, 0]
    images = pd.DataFrame({"label": labels, "group": groups})
    for natural, copies, kept in (
        (True, True, [0, 1, 2, 3]),
        (False, True, [0, 2, 3]),
        (True, False, [0, 1, 2]),
        (False, False, [0, 2]),
    ):
        chosen = select_faces(images, natural=natural, copies=copies)
        assert list(chosen.index) == kept, "the index is the place among all images"


def test_faces_come_in_order_whatever_the_number_of_jobs(tmp_path):
    paths = [tmp_path / f"{seed}.png" for seed in range(4)]
    for seed, path in enumerate(paths):
        picture(seed, 40 + 9 * seed, 50).save(path)
    faces = load_faces(paths, 24)
    np.testing.assert_array_equal(load_faces(paths, 24, n_jobs=2), faces)
    np.testing.assert_array_equal(load_faces(paths[::-1], 24), faces[::-1])


def test_an_image_is_stretched_to_the_square_not_cropped(tmp_path):
    wide = np.zeros((30, 90, 3), np.uint8)
    wide[:, 45:] = 255
    Image.fromarray(wide).save(tmp_path / "wide.png")
    (face,) = load_faces([tmp_path / "wide.png"], 30)
    assert face[:, :13].max() == 0
    assert face[:, 17:].min() == 255


@pytest.mark.parametrize(
    ("size", "found"),
    [
        ((150, 120), (150, 120)),  # as it is
        ((512, 256), (256, 128)),  # the longer side sets the reduction
        ((28, 56), (56, 112)),  # the shorter one the enlargement
        ((1000, 100), (256, 56)),  # both: it is stretched
    ],
)
def test_faces_at_their_own_sizes_can_all_be_inverted(tmp_path, size, found):
    picture(1, *size[::-1]).save(tmp_path / "face.png")
    (face,) = load_native_faces([tmp_path / "face.png"])
    assert face.shape == (found[1], found[0], 3)


def test_reducing_does_not_alias(tmp_path):
    stripes = np.zeros((301, 301, 3), np.uint8)
    stripes[:, ::2] = 255
    Image.fromarray(stripes).save(tmp_path / "stripes.png")
    (face,) = load_faces([tmp_path / "stripes.png"], 32)
    assert np.abs(face[:, 2:-2].astype(int) - 127).max() <= 8


def test_an_unusable_face_is_named(tmp_path):
    (tmp_path / "bad.jpg").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"bad\.jpg: is no image"):
        load_faces([tmp_path / "bad.jpg"])
    with pytest.raises(ValueError, match="paths is empty"):
        load_faces([])
    with pytest.raises(ValueError, match="side must be positive, got 0"):
        load_faces([tmp_path / "bad.jpg"], 0)


# --- copies of one photograph ---------------------------------------------------------------------


def faces_of(*images):
    return np.stack([np.asarray(image.resize((48, 48))) for image in images])


def test_copies_share_a_group_and_others_are_alone():
    one, two, three = (picture(seed, 90, 90) for seed in (1, 2, 3))
    compressed = Image.open(io.BytesIO(encoded(one, "JPEG", quality=20)))
    mirrored = two.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    small = three.resize((30, 30)).convert("L").convert("RGB")
    faces = faces_of(one, two, three, compressed, mirrored, small, picture(9))
    assert duplicate_groups(faces).tolist() == [0, 1, 2, 0, 1, 2, 6]


def test_the_images_of_an_experiment_with_their_copies(tmp_path):
    prepared = prepare(NAME, source="embedded", raw=tmp_path / "raw", embedded=SMALL, seed=1)
    first, second = (tmp_path / "raw" / file for file in prepared.manifest["file"][:2])
    shutil.copy(first, second)
    manifest = prepared.manifest
    manifest.loc[1, "sha256"] = manifest.loc[0, "sha256"]
    images = find_copies(manifest, tmp_path / "raw")
    assert images["group"][0] == images["group"][1]
    assert images["group"].nunique() == len(images) - 1
    images.to_csv(tmp_path / "images.csv", index=False)
    read = read_manifest(tmp_path / "images.csv")
    np.testing.assert_array_equal(groups_of(read), images["group"])
    write_manifest(tmp_path / "manifest.csv", prepared)
    assert groups_of(read_manifest(tmp_path / "manifest.csv")) is None


def test_what_is_alike_in_pairs_is_one_group():
    start, end = (np.asarray(picture(seed, 48, 48), dtype=float) for seed in (1, 2))
    chain = [start + share * (end - start) for share in (0.0, 0.2, 0.4)]
    faces = np.stack(chain).astype(np.uint8)
    first, last = faces[[0, 1]], faces[[0, 2]]
    threshold = 0.9
    assert duplicate_groups(first, threshold).tolist() == [0, 0]
    assert duplicate_groups(last, threshold).tolist() == [0, 1]
    assert duplicate_groups(faces, threshold).tolist() == [0, 0, 0]


def test_uniform_images_are_no_copies_of_anything():
    faces = np.stack([np.full((32, 32, 3), level, np.uint8) for level in (10, 10, 200)])
    assert duplicate_groups(faces).tolist() == [0, 1, 2]


# --- the real images ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = os.environ.get("REPLICATION_ARCHIVES")
    if not folder or not (Path(folder) / NAME).is_dir():
        pytest.skip("no real data")
    raw = tmp_path_factory.mktemp("real") / NAME
    prepared = prepare(NAME, source="archives", raw=raw, archives=folder, allow_subset=True)
    yield prepared, load_faces([raw / file for file in prepared.manifest["file"]], 128, n_jobs=2)
    # Photographs of people among them: nothing stays behind.
    shutil.rmtree(raw)


@pytest.mark.real
def test_every_real_file_is_loaded(real):
    prepared, faces = real
    assert prepared.skipped == {}
    assert prepared.manifest["check"].eq("listed").all()
    assert len(faces) == len(prepared.manifest) == 2420 - len(prepared.missing)
    assert (faces.reshape(len(faces), -1).std(axis=1) > 5).all()
    if not prepared.missing:
        assert prepared.manifest["label"].value_counts().to_dict() == COUNTS
        assert (prepared.manifest["label"] != "Natural").sum() == 2412


@pytest.mark.real
def test_real_copies_are_found(real):
    prepared, faces = real
    if prepared.missing:
        pytest.skip("the archive is a subset")
    groups = pd.Series(duplicate_groups(faces), index=prepared.manifest["id"])
    # 113.9 a class on average, and the paper's is 114.
    assert groups.nunique() == 2391
    assert groups["DeerHead/0000000030.jpg"] == groups["DeerHead/0000000060.jpg"]
    # Byte-equal files are a single pair; copies of a photograph in other files are more.
    assert prepared.manifest["sha256"].duplicated().sum() == 1
    in_pairs = groups[groups.duplicated(keep=False)]
    assert 40 <= len(in_pairs) <= 70
    labels = in_pairs.index.str.split("/").str[0]
    assert (pd.Series(labels).groupby(in_pairs.to_numpy()).nunique() == 1).all()


@pytest.mark.real
def test_real_copies_stay_in_one_fold_and_every_class_is_trained(real):
    prepared, faces = real
    if prepared.missing:
        pytest.skip("the archive is a subset")
    labels = prepared.manifest["label"].to_numpy()
    groups = duplicate_groups(faces)
    for fold, (train, test) in enumerate(stratified_folds(labels, groups, 5, 0)):
        assert not set(groups[train]) & set(groups[test])
        # Natural has 8 images: some stand in every training part, the inner ones too.
        for fit, validate in stratified_folds(labels[train], groups[train], 3, fold):
            assert set(labels[train][fit]) == set(COUNTS)
            assert not set(groups[train][fit]) & set(groups[train][validate])
