"""The published layout of the textures, and the real images."""

import os
import shutil
from pathlib import Path

import pytest

from replication.data import catalog
from replication.data.images import load_grey
from replication.data.sources import prepare
from replication.images.uiuc_texture import CLASSES
from replication.images.uiuc_texture import DATASET as UIUC_TEXTURE

NAME = "uiuc_texture"


def test_the_checksum_list_is_the_published_layout():
    files = catalog.read_checksums(NAME)
    expected = [
        f"{label}/T{number:02d}_{index:02d}.jpg"
        for number, label in enumerate(CLASSES, start=1)
        for index in range(1, 41)
    ]
    assert sorted(files) == sorted(expected)
    assert {UIUC_TEXTURE.identify(file) is not None for file in files} == {True}
    assert UIUC_TEXTURE.identify("T25_plaid/T25_40.jpg") == ("T25_40", "T25_plaid")
    assert UIUC_TEXTURE.identify("T25_plaid/T01_40.jpg") is None


def test_the_catalog_has_the_five_archives_and_the_authors():
    first, second = catalog.read_published(NAME).ways
    assert [archive.file for archive in first.archives] == [
        "T01-T05.zip",
        "T06-T10.zip",
        "T11-T15.zip",
        "T16-T20.zip",
        "T21-T25.zip",
    ]
    for archive in first.archives:
        assert all(url.endswith(archive.file) for url in archive.urls)
        assert archive.checksum.startswith("md5:")
    assert [archive.file for archive in second.archives] == ["uiuc_texture_dataset.zip"]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = os.environ.get("REPLICATION_ARCHIVES")
    if not folder or not (Path(folder) / NAME).is_dir():
        pytest.skip("no real data")
    raw = tmp_path_factory.mktemp("real") / NAME
    yield raw, prepare(NAME, source="archives", raw=raw, archives=folder, allow_subset=True)
    shutil.rmtree(raw)


@pytest.mark.real
def test_real_images_verify_against_the_published_sums(real):
    _, prepared = real
    assert prepared.manifest["check"].eq("listed").all()
    assert len(prepared.manifest) + len(prepared.missing) == 1000
    assert prepared.skipped == {}
    if len(prepared.manifest) == 500:
        assert prepared.describe() == "500 of 1,000 images"
    assert prepared.manifest["label"].nunique() == 25


@pytest.mark.real
def test_real_images_load_as_published(real):
    raw, prepared = real
    for file in prepared.manifest["file"]:
        assert load_grey(raw / file).shape == (480, 640)
