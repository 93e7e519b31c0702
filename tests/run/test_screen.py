"""A failed job is on the screen: its rule, the cause and the path of its log."""

import functools
import logging
import re
import sys
import threading
import types

import pytest
from snakemake.settings.types import OutputSettings
from toy_workflow import finish, launch, toy_workflow

from replication.screen import LogHandler, exception_of

pytestmark = pytest.mark.workflow

TRACEBACK = """3 of 7 songs
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    1 / 0
    ~~^~~
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 2, in f
ValueError: repetition 3 of 'faces':
no sample
"""


@pytest.mark.parametrize(
    ("text", "exception"),
    [
        (TRACEBACK, "ValueError: repetition 3 of 'faces': no sample"),
        ("Traceback (most recent call last):\n  File\nKeyboardInterrupt\n", "KeyboardInterrupt"),
        ("3 of 7 songs\n", ""),
        ("", ""),
    ],
)
def test_the_cause_is_the_last_exception_in_one_line(text, exception):
    assert exception_of(text) == exception


class Screen:
    """Messages as Snakemake logs them, and what the plugin writes of them."""

    def __init__(self, capsys, **settings):
        self.capsys, self.settings = capsys, OutputSettings(**settings)

    @functools.cached_property
    def handler(self):
        # Not before the test itself, for which pytest opens a stream of its own.
        return LogHandler(self.settings, None)

    def log(self, message="", level=logging.ERROR, **extra):
        record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
        record.__dict__.update(extra)
        self.handler.handle(record)

    def job_begins(self, **job):
        self.log(level=logging.INFO, event="job_info", **job)

    def process_ended(self, how):
        text = f"RuleException:\nCalledProcessError in file 'Snakefile', line 6:\nCommand 'x' {how}"
        self.log(text, event="error", exception="RuleException")

    def job_failed(self, **job):
        self.log(event="job_error", rule_name="run_svm", **job)

    def text(self):
        return self.capsys.readouterr().err


@pytest.fixture
def screen(capsys):
    return Screen(capsys)


DIED = "died with <Signals.SIGKILL: 9>."
EXITED = "returned non-zero exit status 1."


@pytest.mark.parametrize(
    ("content", "how", "cause"),
    [
        (TRACEBACK, EXITED, "ValueError: repetition 3 of 'faces': no sample"),
        ("T01.zip is missing:\n  put it there", EXITED, "T01.zip is missing:"),
        ("", EXITED, f"Command 'x' {EXITED}"),
        (None, EXITED, f"Command 'x' {EXITED}"),
        ("3 of 7 songs", DIED, rf"Command 'x' {DIED} \(SIGKILL: .*memory"),
        (TRACEBACK, DIED, f"Command 'x' {DIED}"),
        (b"\xff", EXITED, "\ufffd"),
    ],
)
def test_a_failed_job_is_one_line_and_repeated_at_the_end(screen, tmp_path, content, how, cause):
    log = tmp_path / "run.log"
    if content is not None:
        log.write_bytes(content if isinstance(content, bytes) else content.encode())
    screen.job_begins(jobid=4, wildcards={"first": "0", "last": "1"})
    screen.process_ended(how)
    screen.job_failed(jobid=4, log=[str(log)])
    pattern = rf"error: (rule run_svm \(first=0, last=1\): {cause}.*; log: {log})\n"
    text = screen.text()
    line = re.fullmatch(pattern, text)
    assert line, text
    screen.log("4 of 7 steps done", logging.INFO)
    screen.handler.close()
    _, failed, *page = screen.text().splitlines()
    assert failed == f"failed: {line[1]}"
    assert page == (
        [] if content in (None, TRACEBACK) else str(log.read_text("utf-8", "replace")).splitlines()
    )


def test_jobs_that_fail_at_the_same_time_are_told_apart(screen):
    other = threading.Thread(target=screen.process_ended, args=(DIED,))
    screen.process_ended(EXITED)
    other.start()
    other.join()
    screen.job_failed(jobid=1, log=[])
    assert EXITED in screen.text()
    screen.handler.close()
    assert DIED in screen.text(), "nothing is lost that no job follows"


def test_a_log_that_could_not_be_written_has_its_reason(screen, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("replication.screen.tempfile", types.SimpleNamespace(TemporaryFile=full))
    screen.process_ended(EXITED)
    screen.job_failed(jobid=1, log=[str(tmp_path / "run.log")])
    assert f"rule run_svm: No space left on device: {tmp_path}; log: " in screen.text()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Error: locked.\n  Remove it.", "error: Error: locked. Remove it."),
        (
            'MissingInput in file "Snakefile", line 6:\nMissing:\n  File "x", line 1\n  a.txt',
            'error: MissingInput in file "Snakefile", line 6: Missing: a.txt',
        ),
        (TRACEBACK, "error: ValueError: repetition 3 of 'faces': no sample"),
    ],
)
def test_an_error_of_snakemake_is_one_line_without_calls(screen, text, line):
    screen.log(text)
    assert screen.text() == line + "\n"


def test_beginnings_of_jobs_are_shown_in_a_plan_only(capsys):
    job = {"rule_msg": "Draw.", "reason": "missing", "jobid": 1, "wildcards": None}
    for dryrun in (False, True):
        screen = Screen(capsys, dryrun=dryrun, quiet=set())
        screen.job_begins(**job)
        assert ("Draw." in screen.text()) is dryrun


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "No space left on device")])
def test_a_screen_that_is_closed_or_full_ends_nothing(screen, monkeypatch, error):
    def write(_):
        raise error

    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(write=write, flush=lambda: None))
    screen.job_failed(jobid=1, log=[])
    screen.handler.close()


def test_a_run_names_its_failed_jobs(tmp_path):
    folder = toy_workflow(tmp_path)
    (folder / "fail.py").write_text(
        f"open(snakemake.log[0], 'w').write({TRACEBACK!r})\nraise SystemExit(1)\n"
    )
    (folder / "Snakefile").write_text(
        "rule all:\n    input: 'a.txt', 'b.txt'\n"
        "rule fails:\n    output: '{name}.txt'\n    log: 'logs/{name}.log'\n    script: 'fail.py'\n"
        "rule dies:\n    output: 'b.txt'\n    shell: 'kill -9 $$'\n"
        "ruleorder: dies > fails\n"
    )
    (folder / "profiles/default").mkdir(parents=True)
    (folder / "profiles/default/config.yaml").write_text("keep-going: true\n")
    status, output = finish(launch(folder))
    assert status == 1
    failure = "rule fails (name=a): ValueError: repetition 3 of 'faces': no sample; log: logs/a.log"
    assert f"error: {failure}\n" in output
    assert f"failed: {failure}\n" in output
    assert "error: rule dies: Command" in output
    assert "SIGKILL: 9" in output
    assert "Traceback" not in output
