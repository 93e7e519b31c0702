"""What a job reads is what its writer left; what is not is named, set aside and made again."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from replication import io
from replication.data.manifest import raw_files, read_manifest
from replication.digests import (
    AlteredFileError,
    check_digests,
    empty_partial,
    find_altered,
    keep_digests,
    known_digests,
    mend,
    sha256_of,
)

ROWS = "method,value\nlinear,0.25\nrbf,0.5\n"


@pytest.fixture
def run(tmp_path):
    """A run with two tables of equal size, one of them of long ago."""
    run = tmp_path / "results/demo"
    keep_digests(run)
    for name in ("a", "b"):
        with io.atomic_path(run / f"metrics/{name}.csv") as temporary:
            temporary.write_text(ROWS.replace("rbf", f"rb{name}"))
            os.utime(temporary, ns=(10**18, 10**18))
    return run


def with_old_time(change):
    def and_time(path):
        status = path.stat()
        time.sleep(0.02)  # file systems count in steps of some milliseconds
        change(path)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    return and_time


def exchange(path):
    shutil.copy2(path.with_name("b.csv"), path)


def cut(path):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def edit(path):
    path.write_text(path.read_text().replace("0.25", "0.75"))


def overwrite_by_hand(path):
    path.unlink()
    path.write_text(ROWS)


CHANGES = [
    cut,
    edit,
    exchange,
    overwrite_by_hand,
    with_old_time(cut),
    with_old_time(edit),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(bytes(path.stat().st_size)),
]


@pytest.mark.parametrize("change", CHANGES)
def test_an_input_that_is_not_what_its_job_left_is_named(run, change):
    path = run / "metrics/a.csv"
    check_digests([path])
    change(path)
    with pytest.raises(AlteredFileError) as caught:
        check_digests([run / "metrics/b.csv", path])
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")


def test_a_file_of_no_job_is_refused_and_sources_are_not_looked_at(run, tmp_path):
    (run / "metrics/c.csv").write_text(ROWS)
    with pytest.raises(AlteredFileError, match=r"c\.csv: has no digest"):
        check_digests([run / "metrics/c.csv"])
    with pytest.raises(AlteredFileError, match=r"d\.csv: is missing"):
        check_digests([run / "metrics/d.csv"])
    (tmp_path / "claims.yaml").write_text("a: 1\n")
    check_digests([tmp_path / "claims.yaml"])


def test_a_job_with_an_altered_input_ends_before_it_reads(run, tmp_path):
    edit(run / "metrics/a.csv")
    (tmp_path / "job.py").write_text(
        "from types import SimpleNamespace as job\n"
        "from replication.io import start_job\n"
        f"start_job(job(log=[{str(tmp_path / 'log')!r}], input=[{str(run / 'metrics/a.csv')!r}]))\n"
        f"open({str(tmp_path / 'read')!r}, 'w')\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "job.py"], capture_output=True, text=True)
    assert done.returncode == 1
    assert not (tmp_path / "read").exists()
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert "metrics/a.csv: was altered" in line
    assert "make reproduce" in line


def make_again(run, made):
    """Make tables as at first."""

    def make(files):
        made.extend(files)
        for file in files:
            name = Path(file).name
            with io.atomic_path(run / "metrics" / name) as temporary:
                temporary.write_text(ROWS.replace("rbf", f"rb{name[0]}"))
        return 0

    return make


@pytest.mark.parametrize("change", CHANGES)
def test_the_next_run_sets_it_aside_and_makes_it_again_as_old_as_it_was(run, capsys, change):
    path, made = run / "metrics/a.csv", []
    content = path.read_bytes()
    # As Snakemake does with each file when its job has ended.
    other = run / "metrics/b.csv"
    other.touch()
    touched = other.stat().st_mtime_ns
    change(path)
    altered = path.read_bytes()
    assert mend(run, run / "raw", make_again(run, made)) == 0
    assert made == [str(path)]
    assert f"{path} " in capsys.readouterr().out
    assert (run / "set_aside/metrics/a.csv").read_bytes() == altered
    assert path.read_bytes() == content
    # What was made from it need not be made again.
    assert path.stat().st_mtime_ns == 10**18
    assert other.stat().st_mtime_ns == touched
    assert mend(run, run / "raw", make_again(run, made)) == 0
    assert made == [str(path)], "once"


def new_folder(run):
    copy = run.with_name("copy")
    shutil.copytree(run, copy, copy_function=shutil.copyfile)
    shutil.rmtree(run)
    copy.rename(run)


@pytest.mark.parametrize(
    "harmless",
    [
        lambda run: None,
        lambda run: (run / "metrics/a.csv").touch(),
        lambda run: (run / "metrics/a.csv").chmod(0o600),
        lambda run: overwrite_same(run / "metrics/a.csv"),
        new_folder,
        # A run from before digests were kept is taken as it is.
        lambda run: shutil.rmtree(run / ".digests"),
        # What Snakemake or the user has deleted is a matter of what is asked for.
        lambda run: (run / "metrics/a.csv").unlink(),
        lambda run: (run / "notes.txt").write_text("mine"),
    ],
)
def test_equal_content_is_no_alteration(run, harmless):
    harmless(run)
    for _ in range(2):
        made = []
        assert mend(run, run / "raw", make_again(run, made)) == 0
        assert made == []
        check_digests(path for path in run.glob("metrics/*.csv"))
    assert set(known_digests(run)) == {run / "metrics/a.csv", run / "metrics/b.csv"}


def overwrite_same(path):
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def test_files_that_nobody_touched_are_not_read(run, monkeypatch):
    mend(run, run / "raw", make_again(run, []))
    monkeypatch.setattr("replication.digests.sha256_of", None)
    mend(run, run / "raw", make_again(run, []))


WRONG_TYPES = b'{"sha256": 1, "size": "x", "mtime_ns": null}'


@pytest.mark.parametrize(
    "content", [b"", bytes(50), b'{"sha256": "ab', b"[]", b'{"size": 1}', WRONG_TYPES]
)
def test_a_record_that_a_power_cut_has_broken_blocks_nothing(run, content):
    (run / ".digests/metrics/a.csv").write_bytes(content)
    with pytest.raises(AlteredFileError, match=r"a\.csv: cannot be checked"):
        check_digests([run / "metrics/a.csv"])
    mend(run, run / "raw", make_again(run, []))
    check_digests([run / "metrics/a.csv"])


def test_a_file_in_the_place_of_a_hidden_folder_blocks_nothing(run):
    for name in (".digests", ".partial"):
        shutil.rmtree(run / name)
        (run / name).write_text("")
    assert mend(run, run / "raw", make_again(run, [])) == 0
    assert set(known_digests(run)) == {run / "metrics/a.csv", run / "metrics/b.csv"}
    assert not list((run / ".partial").iterdir())


@pytest.mark.parametrize("step", ["write", "leave_digest", "replace", "touch"])
def test_a_kill_at_any_step_of_writing_refuses_nothing_for_good(run, step):
    path = run / "metrics/a.csv"
    code = (
        "import os, pathlib\n"
        "from replication import io\n"
        f"step = {step!r}\n"
        "def dies(*args, **kwargs): os._exit(9)\n"
        "if step in ('replace', 'touch'): setattr(pathlib.Path, step, dies)\n"
        "if step == 'leave_digest': io.leave_digest = dies\n"
        f"with io.atomic_path({str(path)!r}) as temporary:\n"
        "    temporary.write_text('new')\n"
        "    if step == 'write': dies()\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 9
    assert path.read_text() in (ROWS.replace("rbf", "rba"), "new")
    mend(run, run / "raw", make_again(run, []))
    check_digests([path])
    assert list((run / ".partial").iterdir()) == []
    assert sorted(p.name for p in (run / "metrics").iterdir()) == ["a.csv", "b.csv"]


def test_what_is_being_written_stands_in_one_folder(run, tmp_path):
    with io.atomic_path(run / "figures/a.svg") as temporary:
        assert temporary.parent == run / ".partial"
        assert temporary.suffix == ".svg"
    outside = tmp_path / "docs/a.svg"
    with io.atomic_path(outside) as temporary:
        assert temporary.parent == outside.parent
    # As after a kill.
    (run / ".partial/.x.csv").write_text("half")
    empty_partial(run)
    assert list((run / ".partial").iterdir()) == []


@pytest.fixture
def prepared(run, tmp_path):
    raw = tmp_path / "raw"
    rows = []
    for name in ("1.jpg", "2.jpg"):
        (raw / "textures").mkdir(parents=True, exist_ok=True)
        (raw / "textures" / name).write_text(f"picture {name}")
        sha256 = sha256_of(raw / "textures" / name)
        rows.append([name[0], "bark", name, sha256, "real", "listed", "used", ""])
    columns = ["id", "label", "file", "sha256", "origin", "check", "status", "note"]
    io.write_table(run / "data/textures.csv", pd.DataFrame(rows, columns=columns))
    return run / "data/textures.csv", raw / "textures"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda raw: shutil.copy2(raw / "2.jpg", raw / "1.jpg"), "is not the file"),
        (lambda raw: (raw / "1.jpg").write_text("pict"), "is not the file"),
        (lambda raw: (raw / "1.jpg").unlink(), "is missing"),
    ],
)
def test_a_raw_file_is_the_one_that_was_prepared(prepared, run, change, fault):
    manifest, raw = prepared
    assert raw_files(read_manifest(manifest), raw) == [raw / "1.jpg", raw / "2.jpg"]
    made = []
    mend(run, raw.parent, lambda files: made.extend(files) or 0)
    assert made == []
    change(raw)
    with pytest.raises(AlteredFileError, match=rf"1\.jpg: {fault}"):
        raw_files(read_manifest(manifest), raw)
    # Whoever lists it does so anew.
    mend(run, raw.parent, lambda files: made.extend(files) or 0)
    assert made == [str(manifest)]


def test_raw_files_that_were_thrown_away_as_a_whole_are_not_missed(prepared, run):
    _, raw = prepared
    shutil.rmtree(raw)
    assert mend(run, raw.parent, lambda files: 1) == 0


def test_a_file_whose_record_was_lost_is_set_aside_and_hinders_nothing(run, capsys):
    (run / ".digests/metrics/a.csv").unlink()
    (run / "notes.txt").write_text("by hand")
    edit(run / "metrics/b.csv")
    made = []
    assert [path.name for path, _ in find_altered(run, run / "raw")] == [
        "b.csv",
        "a.csv",
        "notes.txt",
    ]
    assert mend(run, run / "raw", lambda files: made.extend(files) or 0) == 0
    assert made == [str(run / "metrics/b.csv")], "only of this one it is known that it is a result"
    assert (
        "a.csv has no digest, so no job of this run has written it: moved"
        in capsys.readouterr().out
    )
    assert (run / "set_aside/notes.txt").read_text() == "by hand"
    assert not (run / "metrics/a.csv").exists()
    assert find_altered(run, run / "raw") == []


def test_the_record_of_a_file_is_what_sha256sum_says(run):
    record = json.loads((run / ".digests/metrics/a.csv").read_text())
    assert record["sha256"] == sha256_of(run / "metrics/a.csv")
    assert record["size"] == (run / "metrics/a.csv").stat().st_size
