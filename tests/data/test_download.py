"""From an address to verified files, whatever the server does; all of it on 127.0.0.1."""

import errno
import gzip
import hashlib
import http.server
import io
import os
import shutil
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from dataclasses import replace

import numpy as np
import pooch
import pytest
import soundfile
import yaml
from PIL import Image

from replication.data import catalog, download
from replication.data.__main__ import main
from replication.data.catalog import DataSetError, dataset_of
from replication.data.download import DownloadError, Patience, describe_missing, fetch
from replication.data.sources import fetch_archives, prepare
from replication.registry import DATASETS

NAME = "uiuc_texture"
HEADER = "dataset,title,way,file,url,mirror,bytes,checksum,certificate,licence,citation\n"
# A route that keeps silent must outlast the time-out, and the test must not wait for it.
IMPATIENT = Patience(connect=2, read=0.5, attempts=3, pause=0.01)


def jpeg(level):
    buffer = io.BytesIO()
    Image.fromarray(np.full((16, 24), level, np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def packed(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def md5(content):
    return f"md5:{hashlib.md5(content).hexdigest()}"


FIRST = {"T01_bark1/T01_01.jpg": jpeg(10), "T02_bark2/T02_01.jpg": jpeg(20)}
SECOND = {"T06_wood3/T06_01.jpg": jpeg(30)}
ALL = {**FIRST, **SECOND}
ZIP = packed(ALL)
PAGE = b"<!DOCTYPE html><html><body>This domain is for sale</body></html>"


# --- a server that misbehaves ---------------------------------------------------------------------


def answer(content, status=200, length=None, **headers):
    """Answer with a content and the length that it has, is said to have, or none."""

    def reply(request):
        request.send_response(status)
        if length != "none":
            request.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)

    return reply


def redirect(path):
    return answer(b"", 302, Location=path)


def silent(request):
    request.server.released.wait(20)


def stalls(request):
    """Send half, then nothing."""
    request.send_response(200)
    request.send_header("Content-Length", str(len(ZIP)))
    request.end_headers()
    request.wfile.write(ZIP[: len(ZIP) // 2])
    request.wfile.flush()
    request.server.released.wait(20)


def cut(request):
    answer(ZIP[: len(ZIP) // 2], length=len(ZIP))(request)


def trickles(request, begin=True):
    """Send a byte whenever a time-out between two pieces is near."""
    if begin:
        request.send_response(200)
        request.end_headers()
    while not request.server.released.wait(0.1):
        request.wfile.write(b"P")
        request.wfile.flush()


def trickles_in_the_header(request):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Name: ")
    trickles(request, begin=False)


def endless(request):
    request.send_response(200)
    request.end_headers()
    while not request.server.released.is_set():
        request.wfile.write(bytes(1 << 16))


def hangs_up(request):
    pass


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        with server.guard:
            server.asked.append(self.path)
            count = server.asked.count(self.path)
        replies = server.routes.get(self.path, [answer(b"nothing here", 404)])
        self.close_connection = True
        replies[min(count, len(replies)) - 1](self)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.routes, self.asked = {}, []
        self.guard, self.released = threading.Lock(), threading.Event()
        self.scheme = "http"

    def handle_error(self, *_):
        """A client that has given up is no fault of the test."""

    def url(self, path):
        return f"{self.scheme}://127.0.0.1:{self.server_port}{path}"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


class Place:
    """A data set published on the server, and the folders of a user."""

    def __init__(self, folder, server, resources):
        self.root, self.server, self.resources = folder, server, resources
        self.archives = folder / "archives"
        self.folder = self.archives / NAME

    def publish(self, *rows):
        """List rows of file, addresses on the server and further columns."""
        lines = [HEADER]
        for file, paths, *more in rows:
            columns = {"way": "", "bytes": "", "checksum": "", "certificate": ""} | dict(
                more[0] if more else {}
            )
            first, *others = [self.server.url(p) if p.startswith("/") else p for p in paths]
            lines.append(
                f"{NAME},Textures,{columns['way']},{file},{first},{' '.join(others)},"
                f"{columns['bytes']},{columns['checksum']},{columns['certificate']},"
                "research use,Somebody 2005\n"
            )
        (self.resources / "datasets.csv").write_text("".join(lines))

    def prepare(self, source="download", **options):
        return prepare(
            NAME,
            source=source,
            raw=self.root / "run" / NAME,
            archives=self.archives,
            **options,
        )

    def fetched(self):
        """Content of every file in the folder of archives but the lock."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file() and path.name != ".lock"
        }

    def fails(self, message=None):
        """Preparing ends in a page of instructions and no file, half or whole, is there."""
        with pytest.raises(DownloadError, match=message) as caught:
            self.prepare()
        assert self.fetched() == {}
        assert not (self.root / "run").exists()
        return str(caught.value)


@pytest.fixture
def place(tmp_path, monkeypatch, server):
    resources = tmp_path / "resources"
    (resources / "checksums").mkdir(parents=True)
    (resources / "checksums" / f"{NAME}.sha256").write_text(
        "".join(f"{hashlib.sha256(content).hexdigest()}  {file}\n" for file, content in ALL.items())
    )
    monkeypatch.setattr(catalog, "RESOURCES", resources)
    monkeypatch.setattr(download, "PATIENCE", IMPATIENT)
    place = Place(tmp_path, server, resources)
    place.publish(("a.zip", ["/a.zip", "/mirror.zip"], {"checksum": md5(ZIP)}))
    return place


# --- what comes of a server's answers -------------------------------------------------------------

OK = answer(ZIP)
BUSY = answer(b"try again", 503)


@pytest.mark.parametrize(
    ("routes", "asked"),
    [
        pytest.param({"/a.zip": [OK]}, ["/a.zip"], id="at once"),
        pytest.param({"/mirror.zip": [OK]}, ["/a.zip", "/mirror.zip"], id="404 then mirror"),
        pytest.param(
            {"/a.zip": [answer(b"", 500), answer(b"", 500), OK]}, ["/a.zip"] * 3, id="500 twice"
        ),
        pytest.param({"/a.zip": [cut, OK]}, ["/a.zip"] * 2, id="cut once"),
        pytest.param({"/a.zip": [hangs_up, OK]}, ["/a.zip"] * 2, id="hangs up once"),
        pytest.param({"/a.zip": [silent, OK]}, ["/a.zip"] * 2, id="silent once"),
        pytest.param({"/a.zip": [stalls, OK]}, ["/a.zip"] * 2, id="stalls once"),
        pytest.param(
            {"/a.zip": [answer(packed(FIRST))], "/mirror.zip": [OK]},
            ["/a.zip", "/mirror.zip"],
            id="wrong checksum then mirror",
        ),
        pytest.param(
            {"/a.zip": [answer(PAGE)], "/mirror.zip": [OK]},
            ["/a.zip", "/mirror.zip"],
            id="web page then mirror",
        ),
        pytest.param(
            {"/a.zip": [redirect("/moved.zip")], "/moved.zip": [OK]},
            ["/a.zip", "/moved.zip"],
            id="redirect",
        ),
        pytest.param({"/a.zip": [answer(ZIP, length="none")]}, ["/a.zip"], id="no length"),
        pytest.param(
            {"/a.zip": [answer(gzip.compress(ZIP), **{"Content-Encoding": "gzip"})]},
            ["/a.zip"],
            id="encoded on the way",
        ),
        pytest.param(
            {"/a.zip": [answer(ZIP, length=len(ZIP) - 9)], "/mirror.zip": [OK]},
            ["/a.zip", "/mirror.zip"],
            id="length too small",
        ),
    ],
)
def test_the_right_file_in_the_end(place, server, routes, asked):
    server.routes = routes
    prepared = place.prepare()
    assert server.asked == asked
    assert place.fetched() == {"a.zip": ZIP}
    assert prepared.source == "download"
    assert prepared.origin == "real"
    assert prepared.describe() == "3 images"
    assert prepared.archives == {"a.zip": "as published"}


@pytest.mark.parametrize(
    ("reply", "attempts", "fault"),
    [
        pytest.param(answer(b"", 404), 1, "the server answers 404", id="404"),
        pytest.param(BUSY, 3, "the server answers 503", id="always busy"),
        pytest.param(cut, 3, "the connection was cut: .* bytes came", id="always cut"),
        pytest.param(silent, 3, "takes too long", id="always silent"),
        pytest.param(stalls, 3, "takes too long", id="always stalls"),
        pytest.param(hangs_up, 3, "cannot be reached", id="always hangs up"),
        pytest.param(answer(packed(FIRST)), 1, "not the published file .*md5", id="checksum"),
        pytest.param(answer(PAGE), 1, "is a web page .*md5", id="web page"),
        pytest.param(redirect("/a.zip"), None, "redirects without end", id="redirect loop"),
        pytest.param(answer(ZIP, length=len(ZIP) - 9), 1, "not the published", id="too small"),
        pytest.param(
            answer(ZIP, length=len(ZIP) + 9),
            3,
            f"connection was cut: {len(ZIP)} of {len(ZIP) + 9} bytes came",
            id="too large",
        ),
        pytest.param(answer(b""), 1, r"empty answer \(status 200\)", id="empty"),
        pytest.param(answer(b"", 202), 1, r"empty answer \(status 202\)", id="empty, accepted"),
        pytest.param(answer(ZIP[1:]), 1, "bytes are missing at its start .*md5", id="first byte"),
        pytest.param(
            answer(ZIP[:500], length="none"), 1, "corrupt: cut after 500 bytes", id="no length"
        ),
        pytest.param(answer(ZIP, length="many"), 1, "makes no sense", id="no number"),
    ],
)
def test_a_clear_word_and_no_half_file(place, server, reply, attempts, fault):
    place.publish(("a.zip", ["/a.zip"], {"checksum": md5(ZIP)}))
    server.routes = {"/a.zip": [reply]}
    start = time.monotonic()
    page = place.fails(fault)
    assert time.monotonic() - start < 30
    assert attempts in (None, len(server.asked))
    assert f"{server.url('/a.zip')}\n" in page
    assert str(place.folder / "a.zip") in page
    assert f"python -m replication.data verify {place.archives}" in page


@pytest.mark.parametrize("reply", [trickles, trickles_in_the_header])
def test_an_answer_that_would_take_days_is_given_up(place, server, monkeypatch, reply):
    patience = replace(IMPATIENT, connect=0.2, read=0.3, slack=0.1)
    monkeypatch.setattr(download, "PATIENCE", patience)
    server.routes = {"/a.zip": [reply]}
    place.fails("the answer takes too long")
    assert server.asked == ["/a.zip"]


def test_a_dead_host_is_not_asked_for_every_file(place, server):
    server.routes = {"/a.zip": [hangs_up]}
    assert place.fails().count("cannot be reached") == 2
    assert server.asked == ["/a.zip"] * 3


def test_a_server_that_is_not_there(place, server):
    place.publish(("a.zip", ["http://127.0.0.1:1/a.zip", "/mirror.zip"], {"checksum": md5(ZIP)}))
    server.routes = {"/mirror.zip": [OK]}
    assert place.prepare().describe() == "3 images"


# --- what counts as the right file ----------------------------------------------------------------


def test_without_a_published_sum_the_files_inside_decide(place, server):
    wrong = packed({**ALL, "T01_bark1/T01_01.jpg": jpeg(99)})
    place.publish(("a.zip", ["/wrong.zip", "/page", "/none.zip", "/a.zip"]))
    routes = {"/wrong.zip": wrong, "/page": PAGE, "/none.zip": packed({"x": b""}), "/a.zip": ZIP}
    server.routes = {path: [answer(content)] for path, content in routes.items()}
    assert place.prepare().archives == {"a.zip": "no published checksum"}
    assert place.fetched() == {"a.zip": ZIP}

    shutil.rmtree(place.archives)
    shutil.rmtree(place.root / "run")
    del server.routes["/a.zip"]
    page = place.fails()
    assert "holds another T01_bark1/T01_01.jpg than was published" in page
    assert "is a web page" in page
    assert "holds none of the images" in page


def mac(files):
    return {**{f"__MACOSX/{file}": b"attributes" for file in files}, **files}


def with_name_bytes(files, name, flag):
    """Pack one more file whose name is these bytes, said to be UTF-8 or not."""
    stand_in = "n" * len(name)
    content = packed({**files, stand_in: b"text"}).replace(stand_in.encode(), name)
    if flag:
        # The last record of each kind is the file's: set bit 11 of its flags.
        content = bytearray(content)
        for signature, offset in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
            content[content.rfind(signature) + offset] |= 0x08
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(packed(mac(ALL)), id="__MACOSX"),
        pytest.param(packed({f"uiuc/data/{f}": c for f, c in ALL.items()}), id="nested"),
        pytest.param(
            packed({f"uiuc/{f}": c for f, c in mac(ALL).items()} | {"uiuc/": b""}), id="both"
        ),
        pytest.param(with_name_bytes(ALL, b"caf\xe9.txt", flag=False), id="not UTF-8"),
        pytest.param(packed({f.replace("/", "\\"): c for f, c in ALL.items()}), id="back-slashes"),
        pytest.param(packed({f"{'x' * 300}/{f}": c for f, c in ALL.items()}), id="long folder"),
    ],
)
def test_odd_archives_with_the_right_result(place, server, content):
    place.publish(("a.zip", ["/a.zip"]))
    server.routes = {"/a.zip": [answer(content)]}
    prepared = place.prepare()
    assert list(prepared.manifest["file"]) == sorted(ALL)
    assert prepared.describe() == "3 images"
    raw = place.root / "run" / NAME
    assert all((raw / file).read_bytes() == ALL[file] for file in ALL)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (packed({**ALL, "..\\outside.jpg": b"x"}), "absolute path or one with"),
        (packed({"textures.zip": ZIP}), "but an archive, textures.zip: unpack that one"),
        (packed({**ALL, "../outside.jpg": b"x"}), "absolute path or one with"),
        (packed({**ALL, **{f"copy/{f}": c for f, c in FIRST.items()}}), "are one file, T01_bark1"),
        (with_name_bytes(ALL, b"caf\xe9.txt", flag=True), "is corrupt ("),
        (ZIP[:-40], f"corrupt: cut after {len(ZIP) - 40:,} bytes"),
        (ZIP.replace(jpeg(20), jpeg(20)[:30] + b"?" + jpeg(20)[31:]), "is corrupt (Bad CRC-32"),
    ],
    ids=[
        *("back-slashes", "packed twice", "outside", "twice", "broken UTF-8", "truncated"),
        "damaged member",
    ],
)
def test_odd_archives_with_a_clear_word(place, server, content, fault):
    place.publish(("a.zip", ["/a.zip"]))
    server.routes = {"/a.zip": [answer(content)]}
    assert fault in place.fails()


def test_an_endless_body_ends_at_a_bound(place, server):
    place.publish(("a.zip", ["/a.zip", "/mirror.zip"], {"bytes": len(ZIP)}))
    server.routes = {"/a.zip": [endless], "/mirror.zip": [OK]}
    assert place.prepare().describe() == "3 images"
    shutil.rmtree(place.archives)
    shutil.rmtree(place.root / "run")
    del server.routes["/mirror.zip"]
    page = place.fails(r"more than [\d,]+ bytes came, and no end")
    assert "the server answers 404" in page
    server.routes["/a.zip"] = [answer(b"", length=10**12)]
    place.fails("1,000,000,000,000 bytes are announced, at most")


@pytest.mark.parametrize("found", [b"", ZIP[: len(ZIP) // 2], ZIP[1:], PAGE])
def test_what_lies_broken_at_its_place_is_set_aside_and_fetched_again(place, server, found, capsys):
    place.folder.mkdir(parents=True)
    (place.folder / "a.zip").write_bytes(found)
    assert describe_missing(dataset_of(NAME), place.folder)
    with pytest.raises(DownloadError, match=r"set aside as a\.zip\.broken"):
        place.prepare()
    server.routes = {"/a.zip": [OK]}
    assert place.prepare().describe() == "3 images"
    assert place.fetched() == {"a.zip": ZIP, "a.zip.broken": found}
    assert "a.zip.broken" in capsys.readouterr().out
    # Also where its files have long been unpacked: the next stage looks at all archives.
    (place.folder / "a.zip").write_bytes(found)
    assert place.prepare().describe() == "3 images"
    assert place.fetched() == {"a.zip.broken": found, "a.zip.broken2": found}


# --- several ways ---------------------------------------------------------------------------------


def test_the_next_way_if_one_is_not_complete(place, server):
    first, second = packed(FIRST), packed(SECOND)
    place.publish(
        ("1.zip", ["/1.zip"], {"way": "two", "checksum": md5(first)}),
        ("2.zip", ["/2.zip"], {"way": "two", "checksum": md5(second)}),
        ("all.zip", ["/all.zip"], {"way": "one"}),
    )
    server.routes = {"/1.zip": [answer(first)], "/all.zip": [OK]}
    assert place.prepare().describe() == "3 images"
    assert place.fetched() == {"1.zip": first, "all.zip": ZIP}
    # What was fetched is not fetched again when only the rest is asked for.
    (place.folder / "all.zip").unlink()
    shutil.rmtree(place.root / "run")
    server.routes["/2.zip"] = [answer(second)]
    server.asked.clear()
    assert place.prepare().describe() == "3 images"
    assert server.asked == ["/2.zip"]


def publish_single_files(place):
    place.publish(
        *[(f"{f}/", [f"/s/{f}/"], {"way": "single"}) for f in sorted({f[:9] for f in ALL})],
        ("all.zip", ["/all.zip"], {"way": "whole"}),
    )


def test_single_files_from_the_places_of_a_folder(place, server):
    publish_single_files(place)
    server.routes = {f"/s/{file}": [answer(content)] for file, content in ALL.items()}
    prepared = place.prepare()
    assert place.fetched() == ALL
    assert prepared.describe() == "3 images"
    assert prepared.archives == {"all.zip": "absent", "single files": "not packed"}
    # Only what is missing is fetched; the rest of the run is at hand.
    (place.folder / "T06_wood3/T06_01.jpg").unlink()
    shutil.rmtree(place.root / "run")
    server.asked.clear()
    place.prepare()
    assert server.asked == ["/s/T06_wood3/T06_01.jpg"]


def test_a_wrong_single_file_leads_to_the_next_way(place, server):
    publish_single_files(place)
    server.routes = {f"/s/{file}": [answer(content)] for file, content in ALL.items()}
    server.routes["/s/T06_wood3/T06_01.jpg"] = [answer(jpeg(99))]
    server.routes["/all.zip"] = [OK]
    place.prepare()
    assert place.fetched() == {**FIRST, "all.zip": ZIP}


def tarred(files, mode="gz"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{mode}") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_tar_archives_are_unpacked_beside_with_their_notice(place, server):
    files = {f"./top/{file}": content for file, content in ALL.items()}
    content = tarred({**files, "top/README_X.txt": b"terms", "../evil": b"", "top/big.dat": b"0"})
    place.publish(("a.tar.gz", ["/half", "/a.tar.gz"]))
    server.routes = {
        "/half": [answer(content[: len(content) // 2])],
        # Some servers take the suffix for an encoding, so that clients decode the file.
        "/a.tar.gz": [answer(content, **{"Content-Encoding": "x-gzip"})],
    }
    assert place.prepare().describe() == "3 images"
    tar = gzip.decompress(content)
    assert place.fetched() == {**ALL, "README_X.txt": b"terms", "a.tar.gz": tar}
    # One that was put there by hand is unpacked without any server.
    for file in ALL:
        (place.folder / file).unlink()
    shutil.rmtree(place.root / "run")
    server.asked.clear()
    assert place.prepare().describe() == "3 images"
    assert server.asked == []


@pytest.mark.parametrize("mode", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("damage", ["flipped", "cut"])
def test_a_damaged_tar_archive_is_corrupt_not_altered(place, server, mode, damage):
    noise = np.random.default_rng(0).bytes(3000)
    content = bytearray(tarred({**ALL, "T01_bark1/T01_99.jpg": noise}, mode))
    if damage == "flipped":  # in the noise, which is stored as it is
        content[len(content) // 2] ^= 0xFF
    else:
        del content[-9:]
    place.publish(("a.tar.gz", ["/a.tar.gz"]))
    server.routes = {"/a.tar.gz": [answer(bytes(content))]}
    place.fails("is corrupt, cut or no tar archive")


def test_the_published_single_files_of_the_motions(tmp_path):
    text = describe_missing(dataset_of("cmu_mocap"), tmp_path)
    assert "all_asfamc/subjects/, 61 files" in text
    assert "http://mocap.cs.cmu.edu/subjects/ [plain HTTP]" in text
    assert "https://mocap.cs.cmu.edu/subjects/ [invalid certificate]" in text
    whole = catalog.read_published("cmu_mocap").ways[1]
    assert [archive.file for archive in whole.archives] == ["allasfamc.zip"]


# --- nothing twice --------------------------------------------------------------------------------


def test_a_download_serves_archives_afterwards_and_offline(place, server):
    server.routes = {"/a.zip": [OK]}
    place.prepare()
    place.prepare()
    assert server.asked == ["/a.zip"], "nothing is fetched twice"
    shutil.rmtree(place.root / "run")
    server.routes = {}
    assert place.prepare("archives").describe() == "3 images"
    place.prepare()
    assert server.asked == ["/a.zip"]


def test_unpacked_files_are_enough(place, server):
    server.routes = {"/a.zip": [OK]}
    place.prepare()
    shutil.rmtree(place.archives)
    assert place.prepare().describe() == "3 images"
    assert server.asked == ["/a.zip"]


def test_archives_that_a_user_put_there_are_used_as_they_are(place, server):
    place.folder.mkdir(parents=True)
    (place.folder / "a.zip").write_bytes(packed(FIRST))
    with pytest.raises(DataSetError, match="2 of 3 images are at hand"):
        place.prepare()
    assert place.prepare(allow_subset=True).describe() == "2 of 3 images"
    assert server.asked == []


def test_a_subset_goes_on_if_the_rest_is_dead(place, server, capsys):
    first = packed(FIRST)
    place.publish(("1.zip", ["/1.zip"]), ("2.zip", ["/2.zip"]))
    page = place.fails()
    server.routes = {"/1.zip": [answer(first)]}
    assert place.prepare(allow_subset=True).describe() == "2 of 3 images"
    assert "Going on with what there is" in capsys.readouterr().out
    assert "ALLOW_SUBSET=true" in page


def test_nothing_at_hand_is_no_subset(place):
    with pytest.raises(DownloadError):
        place.prepare(allow_subset=True)


# Another process that does what a fetch does to the folder, without a minute of imports.
HOLDER = """
import fcntl, pathlib, sys
folder = pathlib.Path(sys.argv[1])
with (folder / ".lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("held", flush=True)
    sys.stdin.readline()
    (folder / "a.zip").write_bytes(bytes.fromhex(sys.argv[2]))
"""


def holder(place):
    return subprocess.Popen(
        [sys.executable, "-S", "-c", HOLDER, str(place.folder), ZIP.hex()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_process_waits_for_another_and_takes_what_that_has_fetched(place, server, monkeypatch):
    said = []

    def say(*words, **_):
        said.append(words[0])
        other.stdin.write("\n")
        other.stdin.flush()

    place.folder.mkdir(parents=True)
    with holder(place) as other:
        assert other.stdout.readline() == "held\n"
        monkeypatch.setattr("builtins.print", say)
        assert place.prepare().describe() == "3 images"
        monkeypatch.undo()
        other.communicate(timeout=30)
    assert said == [f"Another process fetches into {place.folder}; waiting for it ..."]
    assert server.asked == []


def test_no_other_process_gets_in_while_one_fetches(place, server, monkeypatch):
    refused = []

    def reply(request):
        with holder(place) as other:
            refused.append(other.communicate("\n", timeout=30)[1])
        OK(request)

    server.routes = {"/a.zip": [reply]}
    monkeypatch.setattr(download, "PATIENCE", Patience(connect=2, read=30))
    fetch(dataset_of(NAME), place.folder)
    assert "BlockingIOError" in refused[0]
    assert place.fetched() == {"a.zip": ZIP}


def test_two_at_once_fetch_once(place, server):
    def slowly(request):
        time.sleep(0.3)
        OK(request)

    server.routes = {"/a.zip": [slowly]}
    both = [threading.Thread(target=fetch_archives, args=(NAME, place.archives)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join(30)
    assert place.fetched() == {"a.zip": ZIP}
    assert server.asked == ["/a.zip"]


def test_a_killed_process_leaves_nothing_that_matters(place, server):
    (place.folder / ".partial").mkdir(parents=True)
    (place.folder / ".partial" / "a.zip").write_bytes(ZIP[:50])
    (place.folder / ".lock").touch()
    server.routes = {"/a.zip": [OK]}
    place.prepare()
    assert place.fetched() == {"a.zip": ZIP}


# --- the machine ----------------------------------------------------------------------------------


def test_a_full_disk(place, server, monkeypatch):
    def full(self, url, output_file, pooch):
        output_file.write(ZIP[:50])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", full)
    page = place.fails("No space left on device")
    assert str(place.folder) in page
    assert server.asked == []


def test_too_little_space_is_known_before(place, server):
    place.publish(("a.zip", ["/a.zip"], {"bytes": 10**18}))
    place.fails("a.zip needs about 1,000,000,000,000 MB")
    assert server.asked == []


def test_a_folder_that_cannot_be_made(place):
    place.archives.write_text("a file")
    with pytest.raises(DownloadError, match="cannot write to"):
        place.prepare()


# --- what is said ---------------------------------------------------------------------------------


def test_terms_are_shown_before_anything_is_fetched(place, server, capsys):
    said = []
    place.publish(("a.zip", ["/a.zip", "https://127.0.0.1:1/a.zip"], {"bytes": 120_000_000}))
    server.routes = {
        "/a.zip": [lambda request: (said.append(capsys.readouterr().out), OK(request))]
    }
    place.prepare()
    (text,) = said
    for word in ("terms: research use", "cite: Somebody 2005", "about 120 MB, about 2 min"):
        assert word in text
    assert f"{server.url('/a.zip')} [plain HTTP]\n" in text
    assert "https://127.0.0.1:1/a.zip\n" in text
    assert "nobody vouches for the sender" in text


def test_what_is_missing_is_known_without_asking_anybody(place, server):
    place.publish(
        ("1.zip", ["/1.zip"], {"bytes": 60_000_000}),
        ("2.zip", ["/2.zip"]),
        ("songs.tar", ["/songs.tar"], {"way": "by hand"}),
    )
    dataset = dataset_of(NAME)
    text = describe_missing(dataset, place.folder)
    assert "size and time unknown" in text
    assert "by hand, if you may have it: songs.tar (research use)" in text
    place.folder.mkdir(parents=True)
    (place.folder / "2.zip").write_bytes(packed(SECOND))
    text = describe_missing(dataset, place.folder)
    assert "about 60 MB, about 1 min at 1 MB a second" in text
    assert "2.zip" not in text
    (place.folder / "1.zip").write_bytes(packed(FIRST))
    assert describe_missing(dataset, place.folder) == ""
    assert server.asked == []


@pytest.fixture
def certificate(tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate")
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2"]
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "certificate.pem"]
    subprocess.run([openssl, "req", *options, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    return context


def test_an_invalid_certificate_is_used_only_if_it_is_known_as_such(
    place, server, certificate, capsys
):
    server.socket = certificate.wrap_socket(server.socket, server_side=True)
    server.scheme = "https"
    server.routes = {"/a.zip": [OK]}
    place.publish(("a.zip", ["/a.zip"]))
    place.fails("its certificate is not valid")
    assert server.asked == []
    place.publish(("a.zip", ["/a.zip"], {"certificate": "invalid"}))
    capsys.readouterr()
    assert place.prepare().describe() == "3 images"
    assert f"{server.url('/a.zip')} [invalid certificate]" in capsys.readouterr().out


# --- the command line -----------------------------------------------------------------------------


def test_verify_says_what_a_folder_holds(place, capsys, tmp_path, monkeypatch):
    def verify():
        status = main(["verify", str(place.archives)])
        return status, capsys.readouterr().out

    monkeypatch.setattr("replication.data.__main__.DATASETS", [NAME])
    place.folder.mkdir(parents=True)
    status, text = verify()
    assert status == 0
    assert text.startswith("uiuc_texture: absent\n")
    (place.folder / "a.zip").write_bytes(ZIP)
    assert verify()[1].startswith("uiuc_texture: complete, 3 listed images\n")
    (place.folder / "a.zip").write_bytes(packed({**FIRST, "T01_bark1/T01_99.jpg": jpeg(5)}))
    status, text = verify()
    assert status == 0
    assert "uiuc_texture: subset, 2 of 3 listed images\n  unlisted: T01_bark1/T01_99.jpg\n" in text
    (place.folder / "T06_wood3").mkdir()
    (place.folder / "T06_wood3/T06_01.jpg").write_bytes(jpeg(6))
    status, text = verify()
    assert status == 1
    assert "  wrong: T06_wood3/T06_01.jpg\n" in text
    (place.folder / "a.zip").write_bytes(ZIP[:-30])
    status, text = verify()
    assert status == 1
    assert "a.zip: is corrupt" in text
    assert main(["verify", str(tmp_path / "nowhere")]) == 1


def test_fetch_on_one_machine_for_another(place, server, capsys):
    server.routes = {"/a.zip": [OK]}
    assert main(["fetch", NAME, "--archives", str(place.archives)]) == 0
    assert place.fetched() == {"a.zip": ZIP}
    shutil.rmtree(place.archives)
    server.routes = {}
    assert main(["fetch", NAME, "--archives", str(place.archives)]) == 1
    assert "Get the files of one of these ways" in capsys.readouterr().err


# --- the whole run --------------------------------------------------------------------------------


@pytest.mark.workflow
def test_a_run_that_reaches_nothing_ends_in_a_page_and_no_half_file(repository, tmp_path):
    for part in ("Snakefile", "config.yaml", "configs", "workflow", "resources", "envs", "src"):
        source = repository / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / part)
    shutil.copytree(repository / "profiles", tmp_path / "profiles")
    shutil.copy(repository / "requirements.lock", tmp_path)
    lines = (tmp_path / "resources/datasets.csv").read_text().splitlines()
    (row,) = [line for line in lines if "T01-T05.zip" in line]
    url = row.split(",")[4]
    row = row.replace(url, "http://127.0.0.1:1/T01-T05.zip").replace(row.split(",")[5], "")
    (tmp_path / "resources/datasets.csv").write_text(f"{lines[0]}\n{row}\n")
    paper = tmp_path / "configs/paper.yaml"
    settings = yaml.safe_load(paper.read_text())
    for other in ("animal_faces", "cmu_mocap", "cal500"):
        settings["datasets"][other] = {"enabled": False}
    paper.write_text(yaml.safe_dump(settings))

    def launch(action):
        given = {"CONFIG": "configs/paper.yaml", "TARGET": "results/paper/data/uiuc_texture.csv"}
        return subprocess.run(
            [sys.executable, "-m", "replication.launch", action],
            cwd=tmp_path,
            env={**os.environ, **given, "PYTHONPATH": str(tmp_path / "src")},
            capture_output=True,
            text=True,
        )

    planned = launch("plan")
    assert planned.returncode == 0, planned.stderr
    assert "T01-T05.zip, 48 MB" in planned.stdout
    assert "will be fetched" in planned.stdout
    assert not (tmp_path / "data").exists()
    ended = launch("reproduce")
    assert ended.returncode != 0
    page = ended.stderr[ended.stderr.rindex("could not be fetched") :]
    assert page.count("\n") < 40
    assert "cannot be reached" in page
    assert page.rstrip().endswith("which makes synthetic data.")
    assert "Traceback" not in ended.stderr + ended.stdout
    left = [path.name for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert left == [".lock"]


# --- the real data --------------------------------------------------------------------------------


def sum_of(path):
    with path.open("rb") as file:
        return f"md5:{hashlib.file_digest(file, 'md5').hexdigest()}"


def routes_of(archive, shared):
    """Serve what the shared folder has of a row: the archive, or what its archives hold."""
    if not archive.is_folder:
        path = shared / archive.file
        return {f"/{archive.file}": [answer(path.read_bytes())]} if path.is_file() else {}
    routes = {}
    for path in shared.glob("*.zip"):
        with zipfile.ZipFile(path) as packed_files:
            for name in packed_files.namelist():
                if name.startswith(archive.file) and not name.endswith("/"):
                    routes[f"/{name}"] = [answer(packed_files.read(name))]
    return routes


@pytest.mark.real
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", list(DATASETS))
def test_real_data_by_download(name, number, real_archives, place, server, monkeypatch, repository):
    """By each way of the published table, with the server's addresses and its archives' sums."""
    shared = real_archives / name
    monkeypatch.setattr(catalog, "RESOURCES", repository / "resources")
    published = catalog.read_published(name)
    monkeypatch.setattr(catalog, "RESOURCES", place.resources)
    shutil.copy(repository / f"resources/checksums/{name}.sha256", place.resources / "checksums")
    rows = [HEADER]
    for archive in published.ways[number].archives if number < len(published.ways) else ():
        server.routes |= routes_of(archive, shared)
        known = sum_of(shared / archive.file) if (shared / archive.file).is_file() else ""
        url = server.url(f"/{archive.file}")
        rows.append(f"{name},{published.title},,{archive.file},{url},,,{known},,,\n")
    if not server.routes:
        pytest.skip("no real data")
    (place.resources / "datasets.csv").write_text("".join(rows))
    raw = place.root / name
    fetched = prepare(name, source="download", raw=raw, archives=place.archives, allow_subset=True)
    monkeypatch.setattr(catalog, "RESOURCES", repository / "resources")
    direct = prepare(name, source="archives", raw=raw, archives=real_archives, allow_subset=True)
    assert fetched.table.equals(direct.table)
    assert len(fetched.manifest) > 0
    monkeypatch.setattr(catalog, "RESOURCES", place.resources)
    asked = len(server.asked)
    fetch_archives(name, place.archives)
    assert len(server.asked) == asked, "everything is at hand"


@pytest.mark.real
def test_real_annotations_by_download_and_recordings_by_hand(
    real_archives, place, server, monkeypatch, repository, capsys
):
    """CAL500 as it can be had: annotations within an archive of features, no recordings."""
    shared = real_archives / "cal500"
    names = ("README_CAL500.txt", "hardAnnotations.txt", "softAnnotations.txt", "songNames.txt")
    packed_files = io.BytesIO()
    with tarfile.open(fileobj=packed_files, mode="w:gz") as archive:
        for name in (*names, "vocab.txt"):
            archive.add(shared / name, f"CAL500_DeltaMFCCFeatures/{name}")
        # The archive's bulk, which is not wanted.
        archive.add(shared / "vocab.txt", "CAL500_DeltaMFCCFeatures/10cc-for_you_and_i.delta")
    server.routes["/features.tar.gz"] = [answer(packed_files.getvalue())]
    rows = [HEADER]
    for line in (repository / "resources/datasets.csv").read_text().splitlines():
        if line.startswith("cal500,") and "DeltaMFCC" in line:
            url = line.split(",")[4]
            rows.append(line.replace(url, server.url("/features.tar.gz")) + "\n")
    assert len(rows) == 2
    rows[0] = (repository / "resources/datasets.csv").read_text().splitlines()[0] + "\n"
    (place.resources / "datasets.csv").write_text("".join(rows))
    shutil.copy(repository / "resources/checksums/cal500.sha256", place.resources / "checksums")

    def prepared():
        return prepare(
            "cal500",
            source="download",
            raw=place.root / "cal500",
            archives=place.archives,
            allow_subset=True,
        )

    with pytest.raises(DataSetError, match="recordings of 0 of 502 songs are at hand") as caught:
        prepared()
    assert "CAL500_32kps, named <artist>-<title> with suffix .mp3" in str(caught.value)
    assert (place.archives / "cal500/README_CAL500.txt").is_file(), "terms travel with the data"
    songs = (shared / "songNames.txt").read_text().split()[:2]
    (place.archives / "cal500/CAL500_32kps").mkdir()
    tone = np.sin(np.arange(22050 * 4) / 10)
    for song in songs:
        soundfile.write(place.archives / f"cal500/CAL500_32kps/{song}.wav", tone, 22050)
    asked = len(server.asked)
    table = prepared().table
    assert len(server.asked) == asked, "what was fetched is at hand"
    used = table[table["status"] == "used"]
    assert sorted(used.loc[used["label"] == "song", "id"]) == sorted(songs)
    assert set(used.loc[used["label"] == "annotations", "check"]) == {"listed"}
    capsys.readouterr()
    monkeypatch.setattr(catalog, "RESOURCES", repository / "resources")
    main(["verify", str(place.archives)])
    assert "cal500" in capsys.readouterr().out
