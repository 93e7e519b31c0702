"""One run at a time; a killed run's lock needs nobody's hands; a living run's lock stays."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

import psutil
import pytest
from toy_workflow import SNAKEFILE, finish, launch, toy_workflow, wait_for

from replication.launch import main
from replication.run_lock import (
    LOCK,
    UNFINISHED,
    AnotherRunIsActive,
    run_lock,
    run_snakemake,
)

pytestmark = pytest.mark.workflow


@pytest.fixture
def folder(tmp_path):
    return toy_workflow(tmp_path)


def test_after_kill_9_the_same_command_goes_on(folder):
    # The second job sleeps for as long as the file is absent.
    delay = "test -e out/0.txt -o -e out/1.txt -o -e out/2.txt || exit 0; test -e awake || sleep 30"
    (folder / "Snakefile").write_text(SNAKEFILE.format(delay=f"({delay})"))
    first = launch(folder)
    wait_for(lambda: len(list((folder / "started").iterdir())) == 2)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    (finished,) = (folder / "out").iterdir()
    written = finished.stat().st_mtime_ns
    assert list((folder / ".snakemake/locks").iterdir()), "the kill leaves a lock behind"
    (folder / "awake").touch()
    status, output = finish(launch(folder))
    assert status == 0, output
    assert "its lock is removed" in output
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["0.txt", "1.txt", "2.txt"]
    assert finished.stat().st_mtime_ns == written, "finished work is not done again"


WAITING = SNAKEFILE.format(delay="while ! test -e awake; do sleep 0.1; done")


def snakemake_of(folder):
    return int((folder / LOCK).read_text().split()[1])


def is_unfinished(folder):
    return (folder / UNFINISHED).exists()


def end_group(process):
    """End what is left of a run, of which a test may have killed a part."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_after_kill_9_of_snakemake_alone_the_same_command_goes_on(folder, repository):
    """As the system does when memory runs out: the launcher sees it and lives."""
    # Which makes files again that an orphan finished.
    shutil.copytree(repository / "profiles", folder / "profiles")
    (folder / "Snakefile").write_text(WAITING)
    first = launch(folder)
    try:
        wait_for(lambda: list((folder / "started").iterdir()))
        os.kill(snakemake_of(folder), signal.SIGKILL)
        # The job is an orphan now and keeps the launcher's output open.
        assert first.wait(timeout=60) == 128 + signal.SIGKILL
        assert is_unfinished(folder)
        assert list((folder / ".snakemake/locks").iterdir()), "the kill leaves a lock behind"
        (folder / "awake").touch()
        assert "Snakemake was ended by signal 9" in finish(first)[1]
        status, output = finish(launch(folder))
        assert status == 0, output
        assert "its lock is removed" in output
        assert len(list((folder / "out").iterdir())) == 3
    finally:
        end_group(first)


def is_running(pid):
    with suppress(psutil.NoSuchProcess):
        # Where nobody asks for its exit status, a process that has ended stays as a zombie.
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_jobs_that_outlive_their_snakemake_are_ended(folder):
    """Else they put their files in place while, or after, a new run makes them again."""
    waiting = "echo $$ > pid; while ! test -e awake; do sleep 0.1; done; touch orphan"
    (folder / "Snakefile").write_text(SNAKEFILE.format(delay=waiting))
    first, elsewhere = launch(folder), folder / "elsewhere"
    # One of another folder, whose name begins alike, is none of this run's business.
    shutil.copytree(folder, elsewhere, ignore=shutil.ignore_patterns("elsewhere", ".snakemake"))
    other = launch(elsewhere)
    try:
        wait_for(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
        wait_for(lambda: (elsewhere / "pid").exists() and (elsewhere / "pid").read_text())
        job = int((folder / "pid").read_text())
        for pid in (first.pid, snakemake_of(folder)):
            os.kill(pid, signal.SIGKILL)
        first.wait(timeout=60)
        assert is_running(job)
        (folder / "Snakefile").write_text(SNAKEFILE.format(delay="true"))
        status, output = finish(launch(folder))
        assert status == 0, output
        assert re.search(r"still at work are ended: \d", output)
        assert not is_running(job)
        (folder / "awake").touch()
        assert not (folder / "orphan").exists()
        assert is_running(int((elsewhere / "pid").read_text()))
    finally:
        end_group(first)
        end_group(other)


def test_a_snakemake_that_ends_in_order_has_ended(folder):
    """A lock that then stands is somebody else's, whichever signal ended Snakemake."""
    (folder / "Snakefile").write_text(WAITING)
    first = launch(folder)
    try:
        wait_for(lambda: list((folder / "started").iterdir()))
        os.kill(snakemake_of(folder), signal.SIGTERM)
        (folder / "awake").touch()
        status, output = finish(first)
        assert status != 0, output
        assert not list((folder / ".snakemake").glob("locks/*"))
        assert not is_unfinished(folder)
    finally:
        end_group(first)


@pytest.fixture
def interruptible():
    """Let children die of an interrupt, which those of a shell's background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("leaves", "signal_number", "has_ended"),
    [
        ("touch .snakemake/locks/1.output.lock", 9, False),
        ("touch .snakemake/locks/1.output.lock", 15, False),
        ("touch .snakemake/locks/1.output.lock", 2, False),
        # Killed before it took its lock, or after it removed it: what stands is another's.
        ("true", 9, True),
        ("rm .snakemake/locks/0.output.lock", 2, True),
    ],
)
def test_a_signal_ends_a_run_if_no_lock_of_its_own_is_left(
    tmp_path, monkeypatch, leaves, signal_number, has_ended
):
    monkeypatch.chdir(tmp_path)
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").touch()
    script = f"{leaves}; kill -{signal_number} $$"
    with run_lock() as lock:
        assert run_snakemake(["/bin/sh", "-c", script], lock, os.environ) == -signal_number
    assert is_unfinished(tmp_path) is not has_ended
    with run_lock():
        assert locks.exists() is has_ended


def test_a_living_run_is_named_and_left_alone_as_is_a_snakemake_that_outlived_its_launcher(folder):
    (folder / "Snakefile").write_text(WAITING)
    first = launch(folder)
    try:
        wait_for(lambda: list((folder / "started").iterdir()))
        status, output = finish(launch(folder))
        assert status == 1
        assert f"another run is active in this folder, pid {first.pid}\n" in output
        os.kill(first.pid, signal.SIGKILL)
        first.wait(timeout=60)
        status, output = finish(launch(folder))
        assert status == 1
        living = snakemake_of(folder)
        assert living != first.pid
        assert f"another run is active in this folder, pid {living} (a Snakemake" in output
        os.kill(living, 0)
        (folder / "awake").touch()
        wait_for(lambda: len(list((folder / "out").iterdir())) == 3)
    finally:
        end_group(first)


def test_a_lock_of_somebody_else_stays(folder):
    # As a Snakemake that was started by hand leaves it.
    (folder / ".snakemake/locks").mkdir(parents=True)
    (folder / ".snakemake/locks/0.output.lock").write_text("out/1.txt\n")
    being_written = folder / "results/demo/.partial/half.csv"
    being_written.parent.mkdir(parents=True)
    being_written.touch()
    status, output = finish(launch(folder))
    assert status != 0
    assert being_written.exists()
    assert "LockException" in output or "locked" in output


def test_a_run_by_hand_after_a_kill_keeps_its_lock(folder):
    (folder / "Snakefile").write_text(WAITING)
    killed = launch(folder)
    wait_for(lambda: list((folder / "started").iterdir()))
    end_group(killed)
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "1", "--rerun-incomplete"]
    subprocess.run([*snakemake, "--unlock"], cwd=folder, check=True, capture_output=True)
    for path in (folder / "started").iterdir():
        path.unlink()
    by_hand = subprocess.Popen(
        snakemake, cwd=folder, start_new_session=True, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: list((folder / "started").iterdir()))
        status, output = finish(launch(folder))
        assert status == 1
        assert f"another run is active in this folder, pid {by_hand.pid} (a Snakemake" in output
        assert list((folder / ".snakemake/locks").iterdir())
        (folder / "awake").touch()
        assert by_hand.wait(timeout=60) == 0
        status, output = finish(launch(folder))
        assert status == 0, output
        assert "Nothing to be done" in output
    finally:
        end_group(by_hand)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder of Snakemake's that holds a lock of a run that has ended or died."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake/locks").mkdir(parents=True)
    (tmp_path / ".snakemake/locks/0.output.lock").touch()
    return tmp_path


@pytest.mark.parametrize("content", [b"", bytes(120), b"\xff\xfe{}", b"{'pid': 12}", b"9" * 10])
def test_a_power_cut_that_spoiled_the_lock_file_leaves_what_a_kill_leaves(here, capsys, content):
    LOCK.write_bytes(content)
    UNFINISHED.touch()
    with run_lock():
        with pytest.raises(AnotherRunIsActive, match=f"pid {os.getpid()}$"), run_lock():
            pass
        LOCK.write_bytes(content)
        with pytest.raises(AnotherRunIsActive, match="pid "), run_lock():
            pass
    assert "its lock is removed" in capsys.readouterr().out
    assert not (here / ".snakemake/locks").exists()
    with run_lock():
        assert capsys.readouterr().out == ""


def test_a_launcher_that_is_killed_while_it_clears_away_leaves_that_to_the_next(here, monkeypatch):
    UNFINISHED.touch()
    with monkeypatch.context() as patch:
        patch.setattr("replication.run_lock._end_orphans", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError), run_lock():
            pass
    with run_lock():
        assert not (here / ".snakemake/locks").exists()


def test_a_folder_in_place_of_the_lock_is_set_aside(here):
    LOCK.mkdir()
    with run_lock():
        assert LOCK.is_file()


def test_without_a_killed_run_a_lock_is_somebody_elses(here, capsys):
    with run_lock():
        assert capsys.readouterr().out == ""
    assert (here / ".snakemake/locks/0.output.lock").exists()


def test_clean_removes_what_runs_made_and_nothing_else(here, capsys):
    elsewhere = here / "elsewhere"
    for path in (elsewhere, here / "data/raw", here / "data/archives"):
        path.mkdir(parents=True)
        (path / "file").touch()
    (here / "results").symlink_to(elsewhere)
    assert main(["clean"]) == 0
    left = sorted(str(path.relative_to(here)) for path in here.rglob("*") if path.is_file())
    assert left == [".snakemake/launcher.lock", "data/archives/file", "elsewhere/file"]
    assert not (here / "results").is_symlink()
    assert main(["clean"]) == 0
    assert capsys.readouterr().err == ""


def test_clean_refuses_beside_a_living_run(here, capsys):
    (here / "results").mkdir()
    with run_lock():
        assert main(["clean"]) == 1
        with pytest.raises(AnotherRunIsActive), run_lock():
            pass
    message = f"error: another run is active in this folder, pid {os.getpid()}\n"
    assert capsys.readouterr().err == message
    assert (here / "results").exists()


def test_clean_refuses_beside_a_snakemake_that_was_started_by_hand(here, capsys):
    (here / "results").mkdir()
    command = ["sleep", "60"]
    by_hand = subprocess.Popen(["snakemake", "60"], executable=shutil.which(command[0]))
    try:
        assert main(["clean"]) == 1
        assert f"pid {by_hand.pid} (a Snakemake" in capsys.readouterr().err
        assert (here / "results").exists()
    finally:
        by_hand.kill()
        by_hand.wait()
