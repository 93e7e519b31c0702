"""From archives, whole or not, to verified raw files and their list."""

import functools
import hashlib
import io
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from replication.data import catalog, embedded
from replication.data.archives import ArchiveError, Offer
from replication.data.catalog import DataSetError
from replication.data.manifest import Prepared, groups_of, read_manifest, write_manifest
from replication.data.sources import prepare
from replication.dependencies import code_digest
from replication.io import read_json
from replication.standins import uiuc_texture as standin

NAME = "uiuc_texture"


def jpeg(level):
    buffer = io.BytesIO()
    Image.fromarray(np.full((16, 24), level, np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


FIRST = {"T01_bark1/T01_01.jpg": jpeg(10), "T02_bark2/T02_01.jpg": jpeg(20)}
SECOND = {"T06_wood3/T06_01.jpg": jpeg(30), "T06_wood3/T06_02.jpg": jpeg(40)}
EXTRA = {"T01_bark1/T01_99.jpg": jpeg(50)}


class Place:
    """A small published data set of two archives, and what a user has of it."""

    def __init__(self, folder):
        self.archives = folder / "archives"
        self.raw = folder / "run" / NAME
        (self.archives / NAME).mkdir(parents=True)
        self.put(FIRST, SECOND)

    def put(self, first=None, second=None):
        for name, files in (("T01-T05.zip", first), ("T06-T10.zip", second)):
            path = self.archives / NAME / name
            path.unlink(missing_ok=True)
            if files is not None:
                with zipfile.ZipFile(path, "w") as archive:
                    for file, content in files.items():
                        archive.writestr(file, content)

    def prepare(self, **options) -> Prepared:
        return prepare(
            NAME, **{"source": "archives", "raw": self.raw, "archives": self.archives, **options}
        )

    def files(self):
        """Content of everything that stands in the raw folder, hidden files left out."""
        return {
            path.relative_to(self.raw).as_posix(): path.read_bytes()
            for path in self.raw.glob("[!.]*/**/*")
            if path.is_file()
        }

    def stamps(self):
        return {file: (self.raw / file).stat() for file in self.files()}


@pytest.fixture
def place(tmp_path, monkeypatch):
    resources = tmp_path / "resources"
    (resources / "checksums").mkdir(parents=True)
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {file}\n"
        for file, content in {**FIRST, **SECOND}.items()
    )
    (resources / "checksums" / f"{NAME}.sha256").write_text(sums)
    place = Place(tmp_path)
    md5 = hashlib.md5((place.archives / NAME / "T01-T05.zip").read_bytes()).hexdigest()
    (resources / "datasets.csv").write_text(
        "dataset,title,file,url,mirror,bytes,checksum,licence,citation\n"
        f"{NAME},UIUC texture database,T01-T05.zip,http://a/1.zip,http://b/1.zip,,md5:{md5},,\n"
        f"{NAME},UIUC texture database,T06-T10.zip,http://a/2.zip,,,md5:{'0' * 32},,\n"
    )
    monkeypatch.setattr(catalog, "RESOURCES", resources)
    return place


def generator(monkeypatch, generate):
    """Replace the real generator, which takes seconds."""
    monkeypatch.setattr(standin, "write", generate)


def write_synthetic(folder, *, seed, n_jobs, images_per_class=20, width=320, height=240):
    for index in range(1, images_per_class + 1):
        path = folder / "T01_bark1" / f"T01_{index:02d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(100 + seed))


# --- the whole data set, a part of it, and what is wrong with it ----------------------------------


def test_the_whole_data_set(place):
    prepared = place.prepare()
    assert place.files() == {**FIRST, **SECOND}
    table = prepared.manifest
    assert list(table["file"]) == sorted({**FIRST, **SECOND})
    assert list(table["id"]) == ["T01_01", "T02_01", "T06_01", "T06_02"]
    assert list(table["label"]) == ["T01_bark1", "T02_bark2", "T06_wood3", "T06_wood3"]
    assert set(table["check"]) == {"listed"}
    assert set(table["origin"]) == {"real"}
    assert table["sha256"][0] == hashlib.sha256(FIRST["T01_bark1/T01_01.jpg"]).hexdigest()
    assert prepared.describe() == "4 images"
    assert prepared.summary()["archives"] == {
        "T01-T05.zip": "as published",
        "T06-T10.zip": "differs from the published md5 sum",
    }


def test_a_subset_needs_permission_and_says_what_is_missing(place):
    place.put(first={"T02_bark2/T02_01.jpg": FIRST["T02_bark2/T02_01.jpg"]})
    with pytest.raises(DataSetError) as caught:
        place.prepare()
    message = str(caught.value)
    assert "1 of 4 images are at hand" in message
    assert "missing archive T06-T10.zip, published at http://a/2.zip" in message
    assert "T01-T05.zip" not in message
    assert "missing files (3): T01_bark1/T01_01.jpg, T06_wood3/T06_01.jpg" in message
    assert "allow_subset: true" in message
    assert str(place.archives / NAME) in message
    assert place.files() == {}, "nothing is unpacked before the user has decided"

    prepared = place.prepare(allow_subset=True)
    assert prepared.describe() == "1 of 4 images"
    assert prepared.missing == ("T01_bark1/T01_01.jpg", *SECOND)
    assert prepared.summary()["archives"]["T06-T10.zip"] == "absent"


def test_no_file_at_all_is_never_a_subset(place):
    place.put()
    with pytest.raises(DataSetError, match=r"0 of 4 images .*\n.*T01-T05\.zip.*http://b/1\.zip"):
        place.prepare(allow_subset=True)
    with pytest.raises(DataSetError, match="no folder of archives was named"):
        place.prepare(archives=None)


def test_files_beyond_the_list_are_used_and_marked(place):
    place.put({**FIRST, **EXTRA}, SECOND)
    prepared = place.prepare()
    marks = dict(zip(prepared.manifest["file"], prepared.manifest["check"], strict=True))
    assert [file for file, check in marks.items() if check == "unlisted"] == list(EXTRA)
    assert prepared.describe() == "5 images (1 without a published checksum)"
    # They are remembered when the archive is gone.
    place.put()
    assert place.prepare().table.equals(prepared.table)


def test_what_is_no_image_of_the_data_set_is_left_out_and_named(place):
    noise = ["read me.txt", "T01_bark1/Thumbs.db", "T01_bark1/._T01_01.jpg", "T99_moss/T99_01.jpg"]
    place.put({**FIRST, **dict.fromkeys(noise, b"?")}, SECOND)
    prepared = place.prepare()
    assert place.files() == {**FIRST, **SECOND}
    assert list(prepared.ignored) == sorted(noise)


def test_equal_files_are_named_and_share_a_fold(place, tmp_path):
    place.put({**FIRST, "T06_wood3/T06_09.jpg": FIRST["T01_bark1/T01_01.jpg"]}, SECOND)
    prepared = place.prepare()
    copies = {"T06_wood3/T06_09.jpg": "equal to T01_bark1/T01_01.jpg"}
    assert prepared.summary()["copies"] == copies
    write_manifest(tmp_path / "m.csv", prepared)
    manifest = read_manifest(tmp_path / "m.csv")
    assert groups_of(manifest).tolist() == [0, 1, 2, 3, 0]
    found = manifest.assign(group=[0, 1, 2, 1, 4])
    assert groups_of(found).tolist() == [0, 1, 2, 1, 0], "an experiment's own groups are kept"
    assert groups_of(manifest[:4]) is None


def test_a_tilde_is_the_home_folder(place, monkeypatch):
    monkeypatch.setenv("HOME", str(place.archives.parent))
    assert place.prepare(archives=f"~/{place.archives.name}").describe() == "4 images"
    with pytest.raises(DataSetError, match=r"~nobody-at-all/x: .*\(folder of archives\)"):
        place.prepare(archives="~nobody-at-all/x")


def test_an_archive_of_an_archive_is_named(place):
    place.put()
    place.put({"uiuc/T01-T05.zip": b"PK"})
    with pytest.raises(DataSetError, match=r"T01-T05\.zip holds none .* uiuc/T01-T05\.zip: unpack"):
        place.prepare(allow_subset=True)


@pytest.mark.parametrize("policy", ["error", "skip"])
def test_an_altered_image_is_never_used(place, policy):
    place.put({**FIRST, "T02_bark2/T02_01.jpg": jpeg(21)}, SECOND)
    with pytest.raises(DataSetError, match=r"T01-T05\.zip: T02_bark2/T02_01\.jpg is intact but"):
        place.prepare(on_bad_file=policy)
    assert place.files() == {}, "nothing of the archive is kept"


@pytest.mark.parametrize("file", ["T02_bark2/T02_01.jpg", "T01_bark1/T01_99.jpg"])
def test_a_damaged_image_stops_the_run_or_is_listed(place, file):
    broken = jpeg(60)[:-30]
    place.put({**FIRST, file: broken}, SECOND)
    with pytest.raises(DataSetError, match=rf"{file} is corrupt or truncated.*on_bad_file"):
        place.prepare()
    assert place.files() == {}

    prepared = place.prepare(on_bad_file="skip")
    assert list(prepared.skipped) == [file]
    assert "truncated" in prepared.skipped[file]
    assert str(place.raw) not in prepared.skipped[file]
    assert file not in place.files()
    assert prepared.missing == ()
    row = prepared.table.set_index("file").loc[file]
    assert row["sha256"] == hashlib.sha256(broken).hexdigest()
    # The fault is remembered without the archive, and so is the user's right to know of it.
    place.put()
    assert place.prepare(on_bad_file="skip").table.equals(prepared.table)
    with pytest.raises(DataSetError, match="is corrupt or truncated"):
        place.prepare()


def test_a_repaired_archive_heals_a_skipped_file(place):
    place.put({**FIRST, "T02_bark2/T02_01.jpg": b""}, SECOND)
    assert place.prepare(on_bad_file="skip").describe() == "3 of 4 images"
    place.put(FIRST, SECOND)
    assert place.prepare().describe() == "4 images"


def test_an_intact_copy_makes_up_for_a_damaged_one(place):
    file = "T02_bark2/T02_01.jpg"
    place.put({**FIRST, file: b""}, {**SECOND, file: FIRST[file]})
    assert place.prepare(on_bad_file="skip").describe() == "4 images"
    place.put()
    assert place.prepare().describe() == "4 images"


def test_an_archive_that_lost_a_skipped_file_is_a_subset(place):
    place.put({**FIRST, "T02_bark2/T02_01.jpg": b""}, SECOND)
    place.prepare(on_bad_file="skip")
    place.put({"T01_bark1/T01_01.jpg": FIRST["T01_bark1/T01_01.jpg"]}, SECOND)
    with pytest.raises(DataSetError, match=r"missing files \(1\): T02_bark2/T02_01\.jpg"):
        place.prepare(on_bad_file="skip")


def test_a_corrupt_archive_is_named_and_leaves_nothing(place):
    path = place.archives / NAME / "T06-T10.zip"
    content = bytearray(path.read_bytes())
    content[content.index(b"Exif" if b"Exif" in content else b"JFIF") + 40] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"T06-T10\.zip: is corrupt"):
        place.prepare()
    assert place.files() == FIRST
    assert sorted(path.name for path in place.raw.parent.iterdir()) == [NAME]


def test_files_of_one_id_are_refused(place):
    place.put({**FIRST, "T01_bark1/T01_99.jpg": jpeg(1)}, {**SECOND, "T01_bark1/T01_99.JPG": b""})
    with pytest.raises(ValueError, match=r"share one id: T01_bark1/T01_99\.JPG, T01_bark1/T01_99"):
        place.prepare(on_bad_file="skip")


# --- nothing twice --------------------------------------------------------------------------------


def test_nothing_is_unpacked_again_when_the_archives_move_or_vanish(place, tmp_path):
    place.put({**FIRST, **EXTRA}, SECOND)
    first = place.prepare()
    stamps = place.stamps()
    shutil.move(place.archives, tmp_path / "elsewhere")
    for folder in (tmp_path / "elsewhere", tmp_path / "nowhere", None):
        again = place.prepare(archives=folder)
        assert again.table.equals(first.table)
        assert again.summary() == first.summary()
        assert place.stamps() == stamps


def test_an_interrupted_run_goes_on_where_it_stopped(place, monkeypatch):
    read = Offer.read

    def interrupted(offer, *rest):
        for number, found in enumerate(read(offer, *rest)):
            if offer.name == "T06-T10.zip" and number == 1:
                raise KeyboardInterrupt
            yield found

    monkeypatch.setattr(Offer, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        place.prepare()
    stamps = place.stamps()
    assert place.files() == FIRST
    monkeypatch.setattr(Offer, "read", read)
    assert place.prepare().describe() == "4 images"
    assert place.files() == {**FIRST, **SECOND}
    assert {file: place.stamps()[file] for file in stamps} == stamps
    assert [path.name for path in place.raw.glob(".*")] == [".source.json"]


def test_a_raw_file_that_changed_is_replaced_or_missing(place):
    place.prepare()
    stamps = place.stamps()
    damaged = place.raw / "T06_wood3/T06_01.jpg"
    damaged.write_bytes(jpeg(31))
    assert place.prepare().describe() == "4 images"
    assert place.files() == {**FIRST, **SECOND}
    assert [file for file, stamp in place.stamps().items() if stamp != stamps[file]] == [
        "T06_wood3/T06_01.jpg"
    ]
    damaged.write_bytes(jpeg(31))
    place.put()
    with pytest.raises(DataSetError, match=r"missing files \(1\): T06_wood3/T06_01\.jpg"):
        place.prepare()


def test_an_archive_of_the_same_name_with_other_extras_replaces_them(place):
    place.put({**FIRST, **EXTRA}, SECOND)
    place.prepare()
    newer = {file: jpeg(51) for file in EXTRA}
    place.put({**FIRST, **newer}, SECOND)
    sums = place.prepare().manifest.set_index("file")["sha256"]
    for file, content in newer.items():
        assert sums[file] == hashlib.sha256(content).hexdigest()
        assert place.files()[file] == content
    place.put(FIRST, SECOND)
    assert place.prepare().describe() == "4 images"


# --- one folder, one source -----------------------------------------------------------------------


def test_sources_never_mix(place, monkeypatch):
    generator(monkeypatch, write_synthetic)
    synthetic = place.prepare(source="embedded", embedded={"images_per_class": 3})
    assert synthetic.describe() == "3 images"
    assert set(synthetic.table["origin"]) == {"synthetic"}
    assert set(synthetic.table["check"]) == {"unlisted"}
    assert synthetic.summary()["title"] == "stand-in for the UIUC texture database"
    real = place.prepare()
    assert place.files() == {**FIRST, **SECOND}
    assert set(real.table["origin"]) == {"real"}
    place.prepare(source="embedded", embedded={"images_per_class": 3})
    assert set(place.files().values()) == {jpeg(100)}
    assert sorted(path.name for path in place.raw.parent.iterdir()) == [NAME]


@pytest.mark.parametrize("change", [{"seed": 1}, {"embedded": {"images_per_class": 1}}])
def test_other_parameters_start_afresh(place, monkeypatch, change):
    generator(monkeypatch, write_synthetic)
    place.prepare(source="embedded", embedded={"images_per_class": 3})
    prepared = place.prepare(
        **{"source": "embedded", "embedded": {"images_per_class": 3}, **change}
    )
    assert sorted(place.files()) == list(prepared.manifest["file"])
    assert set(place.files().values()) == {jpeg(100 + change.get("seed", 0))}


def test_files_of_another_size_do_not_stay_when_the_record_is_lost(place, monkeypatch, capsys):
    generator(monkeypatch, write_synthetic)
    place.prepare(source="embedded", embedded={"images_per_class": 3})
    (place.raw / ".source.json").write_bytes(b"")
    place.prepare(source="embedded", embedded={"images_per_class": 1})
    assert len(place.files()) == 1
    assert "was broken" in capsys.readouterr().out


def test_other_code_of_the_generator_starts_afresh(place, monkeypatch):
    generator(monkeypatch, write_synthetic)
    place.prepare(source="embedded")
    assert read_json(place.raw / ".source.json")["identity"]["code"] == code_digest(
        standin.__name__
    )
    monkeypatch.setattr(embedded, "code_digest", "changed {}".format)
    generator(monkeypatch, lambda folder, **rest: write_synthetic(folder, **{**rest, "seed": 9}))
    place.prepare(source="embedded")
    assert set(place.files().values()) == {jpeg(109)}


def test_synthetic_files_are_written_once_and_repaired(place, monkeypatch):
    calls = []

    @functools.wraps(write_synthetic)  # the sizes are read off the signature
    def counted(folder, **parameters):
        calls.append(parameters)
        write_synthetic(folder, **parameters)

    generator(monkeypatch, counted)
    first = place.prepare(source="embedded", seed=2)
    assert calls == [
        {"seed": 2, "n_jobs": None, "images_per_class": 20, "width": 320, "height": 240}
    ]
    # Stating a default is no other parameter.
    again = place.prepare(source="embedded", seed=2, embedded={"width": 320})
    assert len(calls) == 1
    assert again.table.equals(first.table)
    (place.raw / "T01_bark1/T01_05.jpg").write_bytes(b"damaged")
    place.prepare(source="embedded", seed=2)
    assert set(place.files().values()) == {jpeg(102)}


def test_a_failed_change_of_source_leaves_the_old_files(place, monkeypatch):
    place.prepare()

    def killed(folder, **parameters):
        write_synthetic(folder, **parameters)
        raise KeyboardInterrupt

    generator(monkeypatch, killed)
    with pytest.raises(KeyboardInterrupt):
        place.prepare(source="embedded")
    assert place.files() == {**FIRST, **SECOND}
    generator(monkeypatch, write_synthetic)
    assert place.prepare(source="embedded").describe() == "20 images"
    assert set(place.files().values()) == {jpeg(100)}
    assert sorted(path.name for path in place.raw.parent.iterdir()) == [NAME]


def test_a_kill_between_the_two_renames_of_a_change(place, monkeypatch):
    generator(monkeypatch, write_synthetic)
    place.prepare(source="embedded")
    rename = Path.rename

    def killed(self, target):
        if Path(target) == place.raw:
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr("replication.io._exchange", lambda *_: False)  # as on other file systems
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            place.prepare()
    assert not place.raw.exists()
    place.put()
    assert place.prepare().describe() == "4 images", "the unpacked files were not lost"
    assert sorted(path.name for path in place.raw.parent.iterdir()) == [NAME]


@pytest.mark.parametrize("content", [b"", b'{"identity": {"sou', bytes(200), b"[1]", b"{}"])
def test_a_record_that_a_power_cut_has_spoilt_costs_nothing(place, content, capsys):
    place.prepare()
    (place.raw / ".source.json").write_bytes(content)
    place.put()
    assert place.prepare().describe() == "4 images"
    assert place.files() == {**FIRST, **SECOND}
    assert f"{place.raw / '.source.json'}: the record" in capsys.readouterr().out
    assert sorted(path.name for path in place.raw.parent.iterdir()) == [NAME]


def test_a_folder_that_is_not_ours_is_not_touched(place):
    place.raw.mkdir(parents=True)
    (place.raw / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="no record of their source"):
        place.prepare()
    assert (place.raw / "thesis.txt").read_text() == "mine"


# --- the manifest ---------------------------------------------------------------------------------


def test_the_manifest_does_not_depend_on_places(place, tmp_path):
    place.put({**FIRST, "T01_bark1/T01_99.jpg": b"broken"}, {})
    options = {"allow_subset": True, "on_bad_file": "skip"}
    write_manifest(tmp_path / "a.csv", place.prepare(**options))
    shutil.move(place.archives, tmp_path / "other place")
    moved = place.prepare(**options, archives=tmp_path / "other place", raw=tmp_path / "new")
    write_manifest(tmp_path / "b.csv", moved)
    content = (tmp_path / "a.csv").read_bytes()
    assert content == (tmp_path / "b.csv").read_bytes()
    assert b"\r" not in content
    assert str(tmp_path).encode() not in content


def test_the_manifest_keeps_what_is_missing_and_readers_get_what_is_used(place, tmp_path):
    place.put({**FIRST, "T01_bark1/T01_99.jpg": b"broken"}, {})
    prepared = place.prepare(allow_subset=True, on_bad_file="skip")
    write_manifest(tmp_path / "m.csv", prepared)
    assert read_manifest(tmp_path / "m.csv").equals(prepared.manifest)
    rows = pd.read_csv(tmp_path / "m.csv", dtype=str, keep_default_na=False)
    assert rows["status"].value_counts().to_dict() == {"used": 2, "missing": 2, "skipped": 1}
    assert rows.equals(prepared.table)


def test_a_file_that_is_no_manifest(tmp_path):
    (tmp_path / "m.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"m\.csv: expected columns id, label, file"):
        read_manifest(tmp_path / "m.csv")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("uiuc", {}, "data set 'uiuc' is unknown; it comes with: uiuc_texture"),
        (NAME, {"source": "ftp"}, "source 'ftp' .* comes with: embedded, archives, download"),
        (NAME, {"on_bad_file": "ignore"}, "on_bad_file 'ignore' .* comes with: error, skip"),
        (NAME, {"embedded": {"hight": 9}}, "embedded 'hight' .* images_per_class, width, height"),
    ],
)
def test_unknown_choices_are_named_with_what_exists(tmp_path, name, options, message):
    with pytest.raises(ValueError, match=message):
        prepare(name, **{"source": "embedded", "raw": tmp_path, **options})
    assert not list(tmp_path.iterdir())


# --- the tables -----------------------------------------------------------------------------------


def test_a_broken_checksum_list_names_its_line(place):
    path = catalog.RESOURCES / "checksums" / f"{NAME}.sha256"
    path.write_text(path.read_text() + "not a sum\n")
    with pytest.raises(ValueError, match=r"uiuc_texture\.sha256, line 5"):
        place.prepare()


def test_a_data_set_that_the_catalog_does_not_know(place):
    with pytest.raises(ValueError, match=r"datasets\.csv: 0 titles of moss"):
        catalog.read_published("moss")
