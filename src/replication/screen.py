"""Snakemake as the launcher starts it: a failed job is one line with its rule, cause and log.

Snakemake itself shows a failed job only together with ten lines about each job that begins, and
without the cause. ``python -m replication.screen <arguments of snakemake>`` is Snakemake with a
logger plugin (its own interface) that writes to the screen in place of Snakemake's default.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snakemake.cli import main
from snakemake.logging import ColorizingTextHandler, DefaultFormatter, get_event
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

#: What Python writes above the calls that led to an exception.
_TRACEBACK = "Traceback (most recent call last):"
#: Lines of a log without a traceback that are shown: it is a message, or what a killed job said.
_SHOWN_LINES = 40


def exception_of(text: str) -> str:
    """Return the exception that a text ends with, in one line; empty if it has no traceback."""
    _, found, last = text.rpartition(_TRACEBACK)
    lines = [line.strip() for line in last.splitlines() if line.strip() and line[0] != " "]
    return " ".join(lines) if found else ""


class _OneLine(DefaultFormatter):
    """Each error in one line, without the calls that led to it."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if get_event(record) == LogEvent.JOB_ERROR or record.levelno < logging.ERROR:
            return text
        calls = '  File "'
        lines = [line.strip() for line in text.splitlines() if not line.startswith(calls)]
        return f"error: {exception_of(text) or ' '.join(filter(None, lines))}"

    def format_job_error(self, msg: dict[str, Any]) -> str:
        return f"error: {msg['failure']}"


class LogHandler(LogHandlerBase):
    """Write to the screen; the attributes are those that Snakemake asks a plugin for."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        common = self.common_settings
        self._stream = sys.stdout if common.stdout else sys.stderr
        formatter = _OneLine(common.quiet)
        self._screen = ColorizingTextHandler(common.nocolor, self._stream, formatter)
        self._wildcards: dict[int, dict[str, str]] = {}
        self._ends: dict[int | None, logging.LogRecord] = {}
        self._failures: list[str] = []

    def emit(self, record: Any) -> None:
        """Write a message, or keep what belongs to a later one."""
        event = get_event(record)
        # A thread says how a job's process ended, and next which job that was.
        end = self._ends.pop(record.thread, None)
        if event == LogEvent.JOB_ERROR:
            record.failure = self._describe(record, end.getMessage() if end else "")
        elif end:
            self._show(end)
        if event == LogEvent.JOB_INFO:
            self._wildcards[record.jobid] = record.wildcards
        if getattr(record, "exception", None) == "RuleException":
            self._ends[record.thread] = record
        elif event != LogEvent.JOB_INFO or self.common_settings.dryrun:
            self._show(record)

    def close(self) -> None:
        """Repeat the failures, which are lost among what the other jobs said since."""
        for end in self._ends.values():
            self._show(end)
        self._ends.clear()
        with contextlib.suppress(OSError):
            for failure in self._failures:
                print(failure, file=self._stream, flush=True)
        self._failures.clear()
        super().close()

    def _show(self, record: logging.LogRecord) -> None:
        # A screen that is closed or full does not matter to what is computed.
        with contextlib.suppress(OSError):
            self._screen.handle(record)

    def _describe(self, record: Any, end: str) -> str:
        """Say which job failed, of what, and where its log is."""
        logs = [Path(log) for log in record.log]
        texts = [log.read_text("utf-8", "replace") for log in logs if log.is_file()]
        exceptions = [found for text in texts if (found := exception_of(text))]
        message = "\n".join(texts).strip()
        # How its process ended: "... returned non-zero exit status 1.", "... died with SIGKILL".
        cause = end.strip().splitlines()[-1] if end else "failed"
        if "died with" in cause:
            cause += " (SIGKILL: the system does so when memory runs out)" * ("SIGKILL" in cause)
        elif exceptions:
            cause = exceptions[-1]
        elif message:
            # A message that a script ended with, which has no traceback.
            cause = message.splitlines()[0]
        elif logs:
            cause = _what_hinders_writing(logs[0].parent) or cause
        wildcards = self._wildcards.get(record.jobid) or {}
        job = record.rule_name
        if wildcards:
            job += " (" + ", ".join(f"{name}={value}" for name, value in wildcards.items()) + ")"
        failure = f"rule {job}: {cause}; log: {', '.join(map(str, logs)) or 'none'}"
        self._failures.append(f"failed: {failure}")
        if message and not exceptions:
            self._failures += message.splitlines()[-_SHOWN_LINES:]
        return failure


def _what_hinders_writing(folder: Path) -> str:
    """Say why a log is empty whose job has failed: a full disk or a read-only folder."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(2**16))
    except OSError as error:
        return f"{error.strerror}: {folder}"
    return ""


def run(arguments: Sequence[str]) -> None:
    """Run Snakemake with this screen; it ends the process with its exit status."""
    LoggerPluginRegistry().register_plugin("snakemake_logger_plugin_screen", sys.modules[__name__])
    # A screen that cannot be written to is no news, least of all with a traceback for each message.
    logging.raiseExceptions = False
    # What is wrong before the plugin is set up, or after it has ended.
    if isinstance(logging.lastResort, logging.Handler):
        logging.lastResort.setFormatter(_OneLine())
    # Snakemake puts the path of the interpreter into its shell commands as it stands.
    sys.executable = shlex.quote(os.path.relpath(sys.executable))
    main(["--logger", "screen", *arguments])


if __name__ == "__main__":
    run(sys.argv[1:])
