"""One run at a time; a killed run's lock needs nobody's hands; a living run's lock stays."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from replication.launch import _TARGETS_WITH_CLAIMS, _claims_are_current, _run, _run_lock

SNAKEFILE = """
rule all:
    input: expand("out/{{i}}.txt", i=range(3))

rule make:
    output: "out/{{i}}.txt"
    shell: "touch started/{{wildcards.i}}; {delay}; echo {{wildcards.i}} > {{output}}"
"""

pytestmark = pytest.mark.workflow


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.yaml").write_text("run: demo\n")
    (tmp_path / "started").mkdir()
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(delay="true"))
    return tmp_path


def launch(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "replication.launch", "--cores", "1", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process):
    output, _ = process.communicate(timeout=120)
    return process.returncode, output


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def test_runs_and_says_how_far_it_is(folder):
    status, output = finish(launch(folder))
    assert status == 0, output
    assert "4 of 4 steps (100%) done" in output
    assert "Results: results/demo/" in output
    status, output = finish(launch(folder))
    assert status == 0
    assert "Nothing to be done" in output


CLAIMING = """
rule all:
    input: "results/demo/claims.csv", "curve.txt"

rule claims:
    input: "claims.txt"
    output: "results/demo/claims.csv"
    shell: "cp {input} {output}"

rule figures:
    output: "curve.txt"
    shell: "touch {output}"
"""
CLAIMS = """id,verdict,value,low,high
theorem-5,reproduced,-1e-12,-1e-12,-1e-12
accuracy,synthetic data only,0.05123,0.01,0.09
"""


def test_ends_with_the_claims_that_its_targets_need(folder):
    (folder / "Snakefile").write_text(CLAIMING)
    (folder / "claims.txt").write_text(CLAIMS)
    status, output = finish(launch(folder))
    assert status == 0, output
    assert "Claims: 1 reproduced, 1 synthetic data only" in output
    assert re.search(r"accuracy +synthetic data only +0\.0512 \[0\.01, 0\.09\]\n", output)
    assert re.search(r"theorem-5 +reproduced +-1e-12\n", output)
    # Nothing is made now, but the claims have been found up to date.
    _, output = finish(launch(folder))
    assert "Nothing to be done" in output
    assert "Claims: 1 reproduced" in output
    # Now they are out of date, which a run of other targets does not learn.
    (folder / "claims.txt").write_text(CLAIMS.replace("reproduced", "mixed"))
    (folder / "curve.txt").unlink()
    status, output = finish(launch(folder, "figures"))
    assert status == 0, output
    assert (folder / "curve.txt").exists()
    assert "Claims:" not in output
    claims = folder / "results/demo/claims.csv"
    assert not _claims_are_current(claims, ["figures"], time.time())
    # As if a file that is made from them had been asked for.
    assert _claims_are_current(claims, ["results/demo/run.json"], claims.stat().st_mtime)


def test_the_targets_that_need_the_claims_are_those_of_the_workflow(repository):
    rules = re.split(r"^rule (\w+):$", (repository / "Snakefile").read_text(), flags=re.MULTILINE)
    blocks = dict(zip(rules[1::2], rules[2::2], strict=True))
    need = {name for name, text in blocks.items() if re.search(r"claims\.csv|run_record\(", text)}
    assert need == _TARGETS_WITH_CLAIMS


def test_plan_makes_nothing(folder):
    status, output = finish(launch(folder, "--plan"))
    assert status == 0, output
    assert "make" in output
    assert not (folder / "out").exists()


def test_a_living_run_is_named_and_left_alone(folder):
    (folder / "Snakefile").write_text(SNAKEFILE.format(delay="sleep 30"))
    first = launch(folder)
    try:
        wait_for(lambda: list((folder / "started").iterdir()))
        status, output = finish(launch(folder))
        assert status == 1
        assert f"another run is active in this folder, pid {first.pid}" in output
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()


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


def record(folder):
    return json.loads((folder / ".snakemake/launcher.json").read_text())


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
        os.kill(record(folder)["snakemake"], signal.SIGKILL)
        # The job is an orphan now and keeps the launcher's output open.
        assert first.wait(timeout=60) == 128 + signal.SIGKILL
        assert record(folder)["state"] == "running"
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
        for pid in (record(folder)["pid"], record(folder)["snakemake"]):
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
        os.kill(record(folder)["snakemake"], signal.SIGTERM)
        (folder / "awake").touch()
        status, output = finish(first)
        assert status != 0, output
        assert not list((folder / ".snakemake").glob("locks/*"))
        assert record(folder)["state"] == "ended"
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
    ("leaves", "signal_number", "state"),
    [
        ("touch .snakemake/locks/1.output.lock", 9, "running"),
        ("touch .snakemake/locks/1.output.lock", 15, "running"),
        ("touch .snakemake/locks/1.output.lock", 2, "running"),
        # Killed before it took its lock, or after it removed it: what stands is another's.
        ("true", 9, "ended"),
        ("rm .snakemake/locks/0.output.lock", 2, "ended"),
    ],
)
def test_a_signal_ends_a_run_if_no_lock_of_its_own_is_left(
    tmp_path, monkeypatch, leaves, signal_number, state
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake/locks").mkdir(parents=True)
    (tmp_path / ".snakemake/locks/0.output.lock").touch()
    script = f"{leaves}; kill -{signal_number} $$"
    with _run_lock(tmp_path / ".snakemake/launcher.json") as (lock, last_run_died):
        assert not last_run_died
        assert _run(["/bin/sh", "-c", script], lock) == -signal_number
    assert record(tmp_path)["state"] == state
    with _run_lock(tmp_path / ".snakemake/launcher.json") as (_, last_run_died):
        assert last_run_died == (state == "running")


def test_a_snakemake_whose_launcher_was_killed_is_named(folder):
    (folder / "Snakefile").write_text(WAITING)
    first = launch(folder)
    try:
        wait_for(lambda: list((folder / "started").iterdir()))
        os.kill(first.pid, signal.SIGKILL)
        first.wait(timeout=60)
        status, output = finish(launch(folder))
        assert status == 1
        living = record(folder)["snakemake"]
        assert living != first.pid
        assert f"another run is active in this folder, pid {living} (a Snakemake" in output
        os.kill(living, 0)
        (folder / "awake").touch()
        wait_for(lambda: len(list((folder / "out").iterdir())) == 3)
    finally:
        end_group(first)


def test_a_lock_of_somebody_else_stays(folder):
    assert finish(launch(folder))[0] == 0
    assert record(folder)["state"] == "ended"
    (folder / "out/1.txt").unlink()
    # As a Snakemake that was started by hand leaves it.
    (folder / ".snakemake/locks").mkdir(exist_ok=True)
    (folder / ".snakemake/locks/0.output.lock").write_text("out/1.txt\n")
    status, output = finish(launch(folder))
    assert status != 0
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


def test_only_some_data_sets_take_part(folder):
    (folder / "config.yaml").write_text(
        "run: demo\ndatasets: {a: {enabled: true, n: 1}, b: {enabled: true}, c: {enabled: true}}\n"
    )
    (folder / "Snakefile").write_text(
        'import json\nconfigfile: "config.yaml"\n'
        "rule all:\n    output: 'out.txt'\n    run:\n"
        "        open(output[0], 'w').write(json.dumps(config['datasets']))\n"
    )
    status, output = finish(launch(folder, "--only", "a,c"))
    assert status == 0, output
    taken = json.loads((folder / "out.txt").read_text())
    # Snakemake hands nested overrides over as text, which the schema's check reads.
    enabled = {name: str(settings["enabled"]).lower() for name, settings in taken.items()}
    assert enabled == {"a": "true", "b": "false", "c": "true"}
    assert taken["a"]["n"] == 1, "other settings stay"
    status, output = finish(launch(folder, "--only", "a,d"))
    assert status != 0
    assert "no data set 'd'; there are a, b, c" in output


def test_of_several_configurations_the_later_wins(folder):
    (folder / "config.yaml").write_text("run: demo\nsvm: {C: 1, repeats: 100, folds: 5}\n")
    (folder / "large.yaml").write_text("run: large\nsvm: {C: 2, repeats: 50}\n")
    (folder / "short.yaml").write_text("svm: {repeats: 3}\n")
    (folder / "Snakefile").write_text(
        'import json\nconfigfile: "config.yaml"\n'
        "rule all:\n    output: 'out.txt'\n    run:\n"
        "        open(output[0], 'w').write(json.dumps(config['svm']))\n"
    )
    status, output = finish(launch(folder, "--configfile", "large.yaml", "short.yaml"))
    assert status == 0, output
    assert json.loads((folder / "out.txt").read_text()) == {"C": 2, "repeats": 3, "folds": 5}
    assert "Results: results/large/" in output


REPORTING = """
rule all:
    input: "photograph.txt", "curve.txt"

rule shareable:
    input: "curve.txt"

rule draw_curve:
    output: report("curve.txt", category="Figures")
    shell: "echo a-curve > {output}"

rule draw_photograph:
    output: report("photograph.txt", category="Figures")
    shell: "echo a-photograph > {output}"
"""


def test_the_public_report_holds_what_is_shareable_and_nothing_else(folder):
    (folder / "Snakefile").write_text(REPORTING)
    status, output = finish(launch(folder))
    assert status == 0, output
    for kind in ("full", "public"):
        status, output = finish(launch(folder, "--report", kind))
        assert status == 0, output
    full = (folder / "results/demo/report.html").read_text()
    public = (folder / "results/demo/report-public.html").read_text()
    assert "photograph.txt" in full
    assert "curve.txt" in public
    assert "photograph" not in public
