"""One run at a time in a folder, and a killed run's lock that needs nobody's hands.

A killed Snakemake leaves a lock behind and refuses to start again until somebody says that nobody
else is at work. This module can say it, because the launcher holds a lock of the operating system
for as long as it or its Snakemake lives:

- the lock is taken: another run is active, and the message names the process that lives, be it
  the launcher or a Snakemake whose launcher was killed;
- the lock is free, but the mark of a run that has not ended is still there, because the launcher
  was killed, lost its power, or saw its Snakemake killed: its Snakemake lock is stale and is
  removed, and jobs that outlived it are ended, since nobody would take their results in;
- otherwise a Snakemake lock belongs to a run that was started by hand, and stays.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil

__all__ = [
    "LOCK",
    "UNFINISHED",
    "AnotherRunIsActive",
    "refuse_beside_run_by_hand",
    "run_lock",
    "run_snakemake",
    "snakemake_locks",
]

#: What the launcher locks; it holds the numbers of its process and of its Snakemake's.
LOCK = Path(".snakemake/launcher.lock")
#: There is a file of this name while a run of the launcher is at work, and after it was killed.
UNFINISHED = Path(".snakemake/launcher.unfinished")
#: Environment variable of all processes that a launcher starts: the folder they work in, and which
#: one of that name it is, since containers and moved folders share names.
_FOLDER_MARK = "REPLICATION_FOLDER"
#: Where Snakemake keeps the locks of its runs, which it removes however it ends but by a kill.
_SNAKEMAKE_LOCKS = Path(".snakemake/locks")


class AnotherRunIsActive(RuntimeError):
    """The folder's run lock is held by a living process."""


@contextmanager
def run_lock() -> Iterator[IO[str]]:
    """Hold the folder's run lock; what a killed holder left behind is cleared away first."""
    LOCK.parent.mkdir(exist_ok=True)
    if LOCK.is_dir():
        LOCK.rename(LOCK.with_suffix(f".{time.time_ns()}"))
    LOCK.touch()
    with LOCK.open("r+", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AnotherRunIsActive(_describe_holder(file.readline())) from None
        _write_holders(file, os.getpid())
        if UNFINISHED.exists():
            refuse_beside_run_by_hand()
            print("The last run was killed; its lock is removed and its finished work kept.")
            if n_ended := _end_orphans():
                print(f"Jobs of it that were still at work are ended: {n_ended}.")
            shutil.rmtree(_SNAKEMAKE_LOCKS, ignore_errors=True)
            UNFINISHED.unlink()
        yield file


def _write_holders(file: IO[str], launcher: int, snakemake: int | str = "") -> None:
    # At one go over what is there: somebody may be reading.
    os.pwrite(file.fileno(), f"{launcher:>10} {snakemake:>10}\n".encode(), 0)


def _describe_holder(line: str) -> str:
    """Name the process that holds the lock: the launcher, or its Snakemake that outlived it."""
    pids = [int(pid) for pid in re.findall(r"\b[0-9]{1,7}\b", line)]
    living = [pid for pid in pids if psutil.pid_exists(pid)]
    message = f"another run is active in this folder, pid {living[0] if living else 'unknown'}"
    if living and living[0] in pids[1:]:
        message += " (a Snakemake whose launcher was killed)"
    return message


def _this_folder() -> str:
    folder = Path.cwd()
    status = folder.stat()
    return f"{folder} {status.st_dev}:{status.st_ino}"


def _other_processes() -> Iterator[psutil.Process]:
    """Iterate over all processes but this one and those that it stands under."""
    this = psutil.Process()
    family = {this, *this.parents()}
    return (process for process in psutil.process_iter() if process not in family)


def refuse_beside_run_by_hand() -> None:
    """Raise an error if a Snakemake without a launcher lives in this folder.

    It may have been started since a run of the launcher was killed, and the lock is then its own.
    """
    for process in _other_processes():
        # A process of somebody else, or one that has just ended, shows nothing of itself.
        with suppress(psutil.Error, OSError):
            names = [Path(part).name for part in process.cmdline()[:3]]
            by_hand = _FOLDER_MARK not in process.environ()
            if "snakemake" in names and by_hand and Path.cwd().samefile(process.cwd()):
                raise AnotherRunIsActive(
                    f"another run is active in this folder, pid {process.pid} (a Snakemake that "
                    "was started by hand)"
                )


def _end_orphans() -> int:
    """End what a killed run has left at work in this folder; return the number of processes.

    An orphan would compete with the run that does its job again, and might put its file in place
    after it, when all that is made from the file looks out of date. To be called by the holder of
    the lock alone, so that no process with the folder's mark belongs to a living Snakemake.
    """
    orphans = []
    for process in _other_processes():
        # A process of somebody else, or one that has just ended, does not show its environment.
        with suppress(psutil.Error, OSError):
            if process.environ().get(_FOLDER_MARK) == _this_folder():
                process.terminate()
                orphans.append(process)
    _, alive = psutil.wait_procs(orphans, timeout=5)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return len(orphans)


def run_snakemake(command: Sequence[str], lock: IO[str], environment: Mapping[str, str]) -> int:
    """Run Snakemake; it inherits the lock and so keeps it should the launcher be killed.

    Whether the run has ended is whether it left no lock of Snakemake's behind. Any exit status of
    its own says so: Snakemake then removed its lock, and one that stands is that of another run,
    about which it may have complained. A signal alone does not tell. Snakemake answers an
    interrupt or a termination by ending its jobs and removing its lock, but early and late in its
    life, and at each kill, it just dies. Then a lock that was not there before is its own.
    """
    locks_of_others = snakemake_locks()
    UNFINISHED.touch()
    process = subprocess.Popen(
        command,
        pass_fds=[lock.fileno()],
        env={**environment, _FOLDER_MARK: _this_folder()},
    )
    _write_holders(lock, os.getpid(), process.pid)
    status = None
    while status is None:
        # The terminal has sent the signal to Snakemake too, which ends its jobs in order.
        with suppress(KeyboardInterrupt):
            status = process.wait()
    if status >= 0 or snakemake_locks() <= locks_of_others:
        UNFINISHED.unlink()
    return status


def snakemake_locks() -> set[str]:
    """Return the names of the locks of Snakemakes that are at work or were killed."""
    return {path.name for path in _SNAKEMAKE_LOCKS.glob("*.lock")}
