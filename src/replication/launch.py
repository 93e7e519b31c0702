"""``make reproduce``: start Snakemake so that a killed run needs nobody's hands.

A killed Snakemake leaves a lock behind and refuses to start again until somebody says that nobody
else is at work. This launcher can say it, because it holds a lock of the operating system for as
long as it or its Snakemake lives:

- the lock is taken: another run is active, and the message names the process that lives, be it
  the launcher or a Snakemake whose launcher was killed;
- the lock is free, and the last run through the launcher is not on record as ended, because the
  launcher was killed or saw its Snakemake killed: its Snakemake lock is stale and is removed, and
  jobs that outlived it are ended, since nobody would take their results in;
- otherwise a Snakemake lock belongs to a run that was started by hand, and stays.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil
import yaml

from replication.digests import mend

__all__ = ["main", "merged_configuration"]


#: Environment variable of all processes that a launcher starts: the folder they work in, and which
#: one of that name it is, since containers and moved folders share names.
_FOLDER_MARK = "REPLICATION_FOLDER"
#: Where Snakemake keeps the locks of its runs, which it removes however it ends but by a kill.
_SNAKEMAKE_LOCKS = Path(".snakemake/locks")
#: Named targets that need the claims, see the Snakefile; so does a run without targets.
_TARGETS_WITH_CLAIMS = {"all", "claims", "shareable"}
#: Characters of the launcher's record. A constant number is overwritten at one go, so that a kill
#: at no moment leaves an empty record, which would look like that of a folder never run in.
_RECORD_LENGTH = 120
#: File of each kind of report, in the folder of the run.
_REPORTS = {"full": "report.html", "public": "report-public.html"}


class AnotherRunIsActive(RuntimeError):
    """The folder's run lock is held by a living process."""


class UnknownDataSet(ValueError):
    """A run is asked for with a data set that the configuration does not have."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the workflow and return Snakemake's exit status, or 1 if another run is active.

    It is 128 + n if Snakemake was ended by signal n.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        command = _snakemake_command(options)
    except UnknownDataSet as error:
        parser.error(str(error))
    if options.report:
        report = Path("results") / str(merged_configuration(*options.configfile).get("run"))
        report = report / _REPORTS[options.report]
        report.parent.mkdir(parents=True, exist_ok=True)
        return subprocess.run([*command, "--report", str(report), "--quiet", "all"]).returncode
    if options.plan:
        print(_data_preflight(options), end="", flush=True)
        return subprocess.run([*command, "--dry-run", "--quiet", "reason", "host"]).returncode
    start = time.time()
    try:
        with _run_lock(Path(".snakemake/launcher.json")) as (lock, last_run_died):
            if last_run_died:
                _refuse_beside_run_by_hand()
                print("The last run was killed; its lock is removed and its finished work kept.")
                if n_ended := _end_orphans():
                    print(f"Jobs of it that were still at work are ended: {n_ended}.")
                subprocess.run([*command, "--unlock", "--quiet", "all"], check=True)
            results = Path("results") / str(merged_configuration(*options.configfile).get("run"))
            raw = Path("data/raw") / results.name
            status = mend(results, raw, lambda files: _make_again(options, files, lock))
            status = status or _run(command, lock)
    except AnotherRunIsActive as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if status < 0:
        print(
            f"error: Snakemake was ended by signal {-status} ({signal.strsignal(-status)}); "
            "finished work is kept, and the same command goes on from there",
            file=sys.stderr,
        )
        # As a shell reports it: Python would turn -9 into 247.
        return 128 - status
    if status != 0:
        print(_data_faults(results, start), end="", file=sys.stderr)
    else:
        if _claims_are_current(results / "claims.csv", options.targets, start):
            print(_claims_summary(results / "claims.csv"), end="")
        print(f"Results: {results}/")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m replication.launch", description=__doc__)
    parser.add_argument("targets", nargs="*", help="named targets or files; default: everything")
    parser.add_argument(
        "--configfile",
        nargs="+",
        default=[Path("config.yaml")],
        type=Path,
        help="what differs from config.yaml; of several files the later wins",
    )
    parser.add_argument(
        "--only", help="data sets that take part, with commas between; the others are left out"
    )
    parser.add_argument("--archives", help="folder of the published archives")
    parser.add_argument("--allow-subset", choices=["true", "false"])
    parser.add_argument("--cores", default="all")
    parser.add_argument(
        "--report",
        choices=list(_REPORTS),
        help="only write the report of what is finished; public: without withheld pictures",
    )
    parser.add_argument("--plan", action="store_true", help="only say what would be done")
    return parser


def _snakemake_command(options: argparse.Namespace) -> list[str]:
    """Build the Snakemake command line that the same options stand for."""
    overrides = []
    if options.archives:
        overrides.append(f"archives={json.dumps(options.archives)}")
    if options.only:
        overrides.append(f"datasets={json.dumps(_left_out(options))}")
    if options.allow_subset:
        overrides.append(f"allow_subset={options.allow_subset}")
    return [
        sys.executable,
        "-m",
        "snakemake",
        *(["shareable"] if options.report == "public" else options.targets),
        "--cores",
        options.cores,
        "--configfile",
        *map(str, options.configfile),
        *(["--config", *overrides] if overrides else []),
    ]


def _left_out(options: argparse.Namespace) -> dict[str, dict[str, bool]]:
    """Return the settings that leave all data sets out but those of ``--only``."""
    if not options.only:
        return {}
    known = list(merged_configuration(*options.configfile).get("datasets", {}))
    wanted = options.only.split(",")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UnknownDataSet(f"--only: no data set {unknown[0]!r}; there are {', '.join(known)}")
    return {name: {"enabled": False} for name in known if name not in wanted}


@contextmanager
def _run_lock(path: Path) -> Iterator[tuple[IO[str], bool]]:
    """Hold the folder's run lock; yield its file and whether the last holder was killed."""
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AnotherRunIsActive(_describe_holder(_read(file))) from None
        last_run_died = _read(file).get("state") == "running"
        _rewrite(file, {"pid": os.getpid(), "state": "running"})
        yield file, last_run_died


def _read(file: IO[str]) -> dict[str, Any]:
    file.seek(0)
    content = file.read()
    return json.loads(content) if content else {}


def _rewrite(file: IO[str], record: dict[str, Any]) -> None:
    # In place: a renamed file would carry no lock.
    file.seek(0)
    file.write(json.dumps(record).ljust(_RECORD_LENGTH))
    file.flush()


def _describe_holder(record: dict[str, Any]) -> str:
    """Name the process that holds the lock: the launcher, or its Snakemake that outlived it."""
    holders = [record.get("pid"), record.get("snakemake")]
    pid = next((pid for pid in holders if pid is not None and _is_alive(pid)), "unknown")
    message = f"another run is active in this folder, pid {pid}"
    if pid != "unknown" and pid == record.get("snakemake"):
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


def _refuse_beside_run_by_hand() -> None:
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


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # A process of somebody else.
        return True
    return True


def _run(command: Sequence[str], lock: IO[str]) -> int:
    """Run Snakemake; it inherits the lock and so keeps it should the launcher be killed.

    Whether the run has ended is whether it left no lock of Snakemake's behind. Any exit status of
    its own says so: Snakemake then removed its lock, and one that stands is that of another run,
    about which it may have complained. A signal alone does not tell. Snakemake answers an
    interrupt or a termination by ending its jobs and removing its lock, but early and late in its
    life, and at each kill, it just dies. Then a lock that was not there before is its own.
    """
    locks_of_others = _snakemake_locks()
    process = subprocess.Popen(
        [*command, "--quiet", "rules", "reason", "host"],
        pass_fds=[lock.fileno()],
        env={**os.environ, _FOLDER_MARK: _this_folder()},
    )
    _rewrite(lock, {"pid": os.getpid(), "snakemake": process.pid, "state": "running"})
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            # The terminal has sent the signal to Snakemake too, which ends its jobs in order.
            continue
    if status >= 0 or _snakemake_locks() <= locks_of_others:
        _rewrite(lock, {"pid": os.getpid(), "state": "ended"})
    return status


def _make_again(options: argparse.Namespace, files: list[str], lock: IO[str]) -> int:
    """Make files that were set aside, unless the settings no longer ask for them."""
    command = _snakemake_command(argparse.Namespace(**{**vars(options), "targets": files}))
    plan = subprocess.run([*command, "--dry-run", "--quiet", "all"], capture_output=True)
    return _run(command, lock) if plan.returncode == 0 else 0


def _snakemake_locks() -> set[str]:
    return {path.name for path in _SNAKEMAKE_LOCKS.glob("*.lock")}


def _claims_are_current(path: Path, targets: Sequence[str], start: float) -> bool:
    """Say whether a successful run made the claims, or found them up to date.

    A run of other targets leaves those of an older run as they are, whatever they were made from.
    """
    if not targets or _TARGETS_WITH_CLAIMS & set(targets) or str(path) in targets:
        return True
    # A file that is made from the claims was asked for.
    return path.exists() and path.stat().st_mtime >= start


def _claims_summary(path: Path) -> str:
    """Say a line a claim what became of it; nothing if there are none."""
    if not path.exists():
        return ""
    with path.open(encoding="utf-8", newline="") as file:
        claims = list(csv.DictReader(file))
    if not claims:
        return ""
    verdicts = Counter(claim["verdict"] for claim in claims)
    lines = ["Claims: " + ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())]
    width = max(len(claim["id"]) for claim in claims)
    for claim in claims:
        limits = f"[{float(claim['low']):.3g}, {float(claim['high']):.3g}]"
        value = f"{float(claim['value']):.3g}"
        if claim["low"] != claim["high"]:
            value += f" {limits}"
        lines.append(f"  {claim['id']:<{width}}  {claim['verdict']:<20} {value}")
    return "\n".join(lines) + "\n"


def merged_configuration(*configfiles: Path) -> dict[str, Any]:
    """Merge the given configurations into the default one, as Snakemake does.

    What is wrong with a file is for Snakemake to say, which reads it too; it counts as empty here.
    """
    from snakemake.utils import update_config

    merged: dict[str, Any] = {}
    for path in (Path("config.yaml"), *configfiles):
        with suppress(OSError, yaml.YAMLError, AttributeError):
            update_config(merged, yaml.safe_load(path.read_text(encoding="utf-8")))
    return merged


def _data_faults(results: Path, start: float) -> str:
    """Repeat what data sets that could not be prepared need, else lost among the messages."""
    return "".join(
        "\n" + log.read_text(encoding="utf-8")
        for log in sorted((results / "logs/prepare_dataset").glob("*.log"))
        if log.stat().st_mtime >= start and not (results / f"data/{log.stem}.csv").exists()
    )


def _data_preflight(options: argparse.Namespace) -> str:
    """Say of each real data set of the run what is missing, how large and how long to fetch."""
    # Seconds of imports that only a plan is worth.
    from replication.datasets import DATASETS
    from replication.datasets.download import describe_missing

    config = merged_configuration(*options.configfile)
    archives = Path(options.archives or config.get("archives", "data/archives"))
    texts = []
    left_out = _left_out(options)
    for name in DATASETS:
        settings = {**config.get("datasets", {}).get(name, {}), **left_out.get(name, {})}
        source = settings.get("source")
        if settings.get("enabled") and source in ("archives", "download"):
            raw = Path("data/raw") / str(config["run"]) / name
            missing = describe_missing(DATASETS[name], archives / name, raw)
            what_then = "will be fetched" if source == "download" else "must be put there by hand"
            texts.append(f"{missing}\n  {what_then}\n" if missing else f"{name}: at hand\n")
    return "".join(texts)


if __name__ == "__main__":
    sys.exit(main())
