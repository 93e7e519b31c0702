"""Archives from strangers: what is safe is unpacked whole, anything else leaves no trace."""

import io
import stat
import zipfile

import numpy as np
import pytest

from replication.data import archives
from replication.data.archives import ArchiveError, offer_of
from replication.data.catalog import DataSet

MEGABYTE = 1 << 20
FILES = {"T01_bark1/T01_01.jpg": b"one", "T01_bark1/T01_02.jpg": b"two", "read me.txt": b"text"}


@pytest.fixture
def packed(tmp_path):
    """Write a zip of (name or ZipInfo, content) pairs."""

    def pack(members, compression=zipfile.ZIP_STORED, name="texture.zip"):
        path = tmp_path / name
        pairs = members.items() if isinstance(members, dict) else members
        with zipfile.ZipFile(path, "w", compression) as archive:
            for member, content in pairs:
                archive.writestr(member, content)
        return path

    return pack


def offered(path, max_bytes=MEGABYTE, identify=lambda file: (file, "label")):
    """Open an archive of a data set whose items are, unless told otherwise, all files."""
    dataset = DataSet("anything", "files", identify, lambda path: None, max_bytes)
    return offer_of(dataset, path)


def refused(path, message, max_bytes=MEGABYTE, identify=lambda file: (file, "label")):
    """The archive is refused by its name before all of it has been read."""
    with pytest.raises(ArchiveError, match=message) as caught:
        dict(offered(path, max_bytes, identify).read())
    assert str(caught.value).startswith(f"{path}: ")


def test_reads_what_is_wanted(packed):
    offer = offered(packed(FILES, zipfile.ZIP_DEFLATED))
    assert list(offer.members) == list(FILES)
    assert dict(offer.read()) == FILES
    image = "T01_bark1/T01_02.jpg"
    assert dict(offer.read({"somewhere/else.jpg": image})) == {"somewhere/else.jpg": FILES[image]}


def test_folder_members_and_a_shared_folder_are_no_fault(packed):
    path = packed([("T01_bark1/", b""), *FILES.items(), ("T01_bark1/deep/a.jpg", b"")])
    assert len(offered(path).members) == 4


LEAVES = "an absolute path or one with empty parts or dots"
FORBIDDEN = "a colon or control character in its name"
TOO_LONG = "a name of more than 255 bytes"
RESERVED = "a name that some systems reserve"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("/etc/passwd", LEAVES),
        ("../outside.jpg", LEAVES),
        ("T01_bark1/../../outside.jpg", LEAVES),
        ("T01_bark1/..", LEAVES),
        ("./a.jpg", LEAVES),
        ("T01_bark1//a.jpg", LEAVES),
        ("..\\outside.jpg", LEAVES),
        ("\\\\server\\a.jpg", LEAVES),
        ("T01_bark1\\..\\..\\a.jpg", LEAVES),
        ("C:/a.jpg", FORBIDDEN),
        ("C:a.jpg", FORBIDDEN),
        ("a.jpg\nb.jpg", FORBIDDEN),
        ("a\x7f.jpg", FORBIDDEN),
        ("x" * 300, TOO_LONG),
        ("Image/" + "\u00e9" * 130 + ".jpg", TOO_LONG),
        ("a/" + "x" * 300 + "/", TOO_LONG),
        ("a/con", RESERVED),
        ("NUL.jpg", RESERVED),
        ("com1.x/a.jpg", RESERVED),
        ("a/b.", RESERVED),
        ("a /b.jpg", RESERVED),
    ],
)
def test_names_under_which_nothing_may_be_written(packed, name, fault):
    refused(packed([("good.jpg", b"good"), (name, b"")]), f"member .* has {fault}")


@pytest.mark.parametrize("name", ["x" * 300 + "/a.jpg", "/".join(["d" * 200] * 30)])
def test_folders_with_long_names_are_not_written(packed, name):
    path = packed([("good.jpg", b"good"), (name, b"bad")])
    refused(path, "has a name that is too long")
    # A data set whose layout has no such folder cuts it off.
    offer = offered(path, identify=lambda file: None if "/" in file else (file, "label"))
    assert dict(offer.read()) == {"good.jpg": b"good", name.rpartition("/")[2]: b"bad"}


def test_back_slashes_are_folders(packed):
    members = {"data/sub/a.txt": b"a", "data/sub/b.txt": b"b"}
    path = packed([("data/sub/", b""), *members.items()], zipfile.ZIP_DEFLATED)
    path.write_bytes(path.read_bytes().replace(b"data/sub/", b"data\\sub\\"))
    assert dict(offered(path).read()) == members


def test_a_name_cut_by_a_zero_byte(packed):
    path = packed({"good.jpgXevil": b"1"})
    path.write_bytes(path.read_bytes().replace(b"good.jpgXevil", b"good.jpg\0evil"))
    refused(path, "control character")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR])
def test_links_and_special_files(packed, kind):
    info = zipfile.ZipInfo("T01_bark1/T01_01.jpg")
    info.external_attr = (kind | 0o777) << 16
    refused(packed([(info, b"/etc/passwd")]), "link or another special file")


@pytest.mark.parametrize(
    "names",
    [
        ("a/b.jpg", "a/B.jpg"),
        ("a/b.jpg", "A/c.jpg"),
        ("a/b.jpg", "A\\b.jpg"),
        ("a", "a/b.jpg"),
        ("a/b.jpg", "a"),
        ("caf\u00e9.jpg", "cafe\u0301.jpg"),
    ],
)
def test_members_that_share_a_place(packed, names):
    refused(packed([(name, b"x") for name in names]), "share one place")


def test_duplicate_names(packed):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = packed([("a/b.jpg", b"x"), ("c.jpg", b"y"), ("a/b.jpg", b"z")])
    refused(path, "share one place")


def patched(path, signature, offset, value):
    """Overwrite two or four bytes at an offset behind each record of a kind."""
    content = bytearray(path.read_bytes())
    start = content.find(signature)
    while start >= 0:
        content[start + offset : start + offset + len(value)] = value
        start = content.find(signature, start + 4)
    path.write_bytes(content)


def test_encrypted_members(packed):
    path = packed(FILES)
    patched(path, b"PK\x01\x02", 8, b"\x01\x00")
    patched(path, b"PK\x03\x04", 6, b"\x01\x00")
    refused(path, "is encrypted")


@pytest.mark.parametrize(("method", "name"), [(9, "deflate64"), (95, "xz"), (77, "unknown")])
def test_an_unknown_compression_is_named(packed, method, name):
    path = packed(FILES)
    patched(path, b"PK\x01\x02", 10, bytes([method, 0]))
    patched(path, b"PK\x03\x04", 8, bytes([method, 0]))
    refused(path, f"not supported, {name} .number {method}.; unpack the archive with another pro")


def test_too_many_bytes(packed):
    path = packed({"a.jpg": b"\x5a" * 700, "b.jpg": b"\xa5" * 301})
    assert list(offered(path, max_bytes=1001).members) == ["a.jpg", "b.jpg"]
    refused(path, "unpacks to 1,001 bytes, more than 1,000", max_bytes=1000)


def test_too_many_members(packed, monkeypatch):
    monkeypatch.setattr(archives, "_MAX_MEMBERS", 2)
    refused(packed(FILES), "has 3 members, more than 2")


def test_a_bomb_is_refused_by_its_ratio(packed):
    path = packed({"bomb.jpg": bytes(8 * MEGABYTE)}, zipfile.ZIP_DEFLATED)
    refused(path, "grows more than 200 times", max_bytes=100 * MEGABYTE)


def test_a_header_that_understates_the_size(packed):
    path = packed({"bomb.jpg": bytes(range(256)) * 64}, zipfile.ZIP_DEFLATED)
    patched(path, b"PK\x01\x02", 24, (100).to_bytes(4, "little"))
    refused(path, "corrupt")


def test_a_header_that_overstates_the_size(packed):
    path = packed({"a.jpg": b"12345"})
    patched(path, b"PK\x01\x02", 24, (500).to_bytes(4, "little"))
    refused(path, "not as large as it says|corrupt")


def test_bytes_are_counted_whatever_the_reader_returns(packed, monkeypatch):
    path = packed(FILES)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: io.BytesIO(b"more than three bytes"))
    refused(path, "not as large as it says")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.95])
def test_truncated_archives(packed, kept):
    path = packed({f"{k}.jpg": bytes([k]) * 500 for k in range(20)})
    n_bytes = int(path.stat().st_size * kept)
    path.write_bytes(path.read_bytes()[:n_bytes])
    refused(path, f"corrupt: cut after {n_bytes:,} bytes")


@pytest.mark.parametrize("lost", [1, 40, 600])
def test_archives_that_have_lost_their_start(packed, lost):
    path = packed({f"{k}.jpg": bytes([k]) * 500 for k in range(20)})
    path.write_bytes(path.read_bytes()[lost:])
    refused(path, "corrupt: bytes are missing at its start")


@pytest.mark.parametrize(("old", "new"), [(b"\n", b"\r\n"), (b"\r\n", b"\n")])
def test_archives_that_were_copied_as_texts(packed, old, new):
    noise = np.random.default_rng(0).bytes(3 * MEGABYTE)
    path = packed({"a.jpg": noise})
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(old, new))
    refused(path, "line ends were changed", 9 * MEGABYTE)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_damaged_member(packed, method):
    content = b"".join(bytes([k % 251, k % 7]) for k in range(3000))
    path = packed({"good.jpg": b"good", "bad.jpg": content}, method)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    path.write_bytes(damaged)
    refused(path, r"corrupt \(.*")


@pytest.mark.parametrize(
    ("content", "nature"),
    [
        (b"", "is empty"),
        (b"<html>404</html>", "a web page"),
        (b"PK\x05\x06", "corrupt"),
        (b"7z\xbc\xaf\x27\x1c and more", "a 7z archive: unpack it with another program"),
        (b"\x1f\x8b\x08 and more", "a gzip archive"),
        (b"anything", "no zip archive"),
    ],
)
def test_no_archive_at_all(tmp_path, content, nature):
    path = tmp_path / "T01-T05.zip"
    path.write_bytes(content)
    refused(path, nature)


def test_trouble_of_the_machine_is_not_blamed_on_the_archive(packed, monkeypatch):
    path = packed(FILES)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "open", full)
    with pytest.raises(OSError, match="No space left"):
        dict(offered(path).read())
