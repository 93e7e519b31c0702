"""``make reproduce``, ``plan``, ``report`` and ``clean``: what make was given becomes one request.

``CONFIG``, ``ONLY`` and the others come through the environment, past any shell. The configuration
is read and checked before Snakemake sees any of it, which is handed one file with the result: its
own loader runs code that a configuration file may hold.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replication.digests import AlteredFileError, check_digests, find_altered, known_digests, mend
from replication.registry import DATASETS, EXPERIMENTS, FIGURES, exhibits_of
from replication.run_lock import (
    LOCK,
    AnotherRunIsActive,
    refuse_beside_run_by_hand,
    run_lock,
    run_snakemake,
    snakemake_locks,
)
from replication.settings import ConfigError, check_config, load_config

__all__ = ["LaunchError", "Request", "main"]

#: What make hands over, see the README.
_VARIABLES = ("CONFIG", "ARCHIVES", "ALLOW_SUBSET", "ONLY", "TARGET", "CORES")
#: Folder of the configurations that Snakemake is given, each named by its content, so that a plan
#: beside a run has one of its own. For the workflow they are the whole configuration.
_CONFIGURATIONS = Path(".snakemake/configurations")
#: Named targets that need the claims, see the Snakefile; so does a run without targets.
_TARGETS_WITH_CLAIMS = {"all", "claims", "shareable"}
#: File of each kind of report, in the folder of the run.
_REPORTS = {"report": "report.html", "report-public": "report-public.html"}


class LaunchError(ValueError):
    """A run cannot be asked for like this; the message is one line that says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what a target of the Makefile asks for and return the exit status.

    It is Snakemake's, 128 + n if Snakemake was ended by signal n, and 1 if it was not started.
    """
    parser = argparse.ArgumentParser(prog="python -m replication.launch", description=__doc__)
    actions = ["reproduce", "plan", *_REPORTS, "clean"]
    parser.add_argument("action", choices=actions, nargs="?", default="reproduce")
    action = parser.parse_args(arguments).action
    try:
        if action == "clean":
            return _clean()
        request = Request.from_environment(os.environ)
        if action in _REPORTS:
            return _report(request, action)
        return _plan(request) if action == "plan" else _reproduce(request)
    except (LaunchError, ConfigError, AnotherRunIsActive, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


@dataclass(frozen=True)
class Request:
    """What is asked for: the merged and checked configuration, and what to make of it."""

    config: dict[str, Any]
    targets: list[str]
    cores: str
    #: What the user gave, to name the command that makes what is missing.
    given: dict[str, str]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Request:
        """Read what make exports.

        Raises
        ------
        LaunchError, ConfigError
            What is wrong with a variable, or with the configuration.
        """
        if {"{", "}"} & set(here := str(Path.cwd())):
            raise LaunchError(f"Snakemake cannot work below a folder with a brace: {here!r}")
        given = {name: environment[name] for name in _VARIABLES if name in environment}
        for name, value in given.items():
            if not value.strip():
                raise LaunchError(f"{name} is empty; give a value or leave it out")
            try:
                value.encode()
            except UnicodeEncodeError:
                raise LaunchError(f"{name} is {value!r}, which is not encoded in UTF-8") from None
        cores = given.get("CORES", "all")
        if not re.fullmatch("all|[1-9][0-9]{0,5}", cores):
            raise LaunchError(f"CORES is {cores!r}; allowed are all and whole numbers from 1")
        only = [name.strip() for name in given["ONLY"].split(",")] if "ONLY" in given else []
        files = [Path("config.yaml"), *_configuration_files(given.get("CONFIG", "config.yaml"))]
        config = load_config(files, _overrides(given, only))
        for name in only:
            # Whatever is not as the schema wants it is for the schema to say.
            with suppress(KeyError, TypeError):
                if config["datasets"][name]["enabled"] is False:
                    raise LaunchError(
                        f"ONLY: data set {name!r} is off in this configuration "
                        f"(datasets.{name}.enabled: false), so there is nothing to do"
                    )
        check_config(config)
        return cls(config, _targets(given.get("TARGET", ""), config), cores, given)

    @property
    def results(self) -> Path:
        """Folder of the run."""
        return Path("results", self.config["run"])

    @property
    def command(self) -> str:
        """What the user would type to make everything."""
        given = [f"{name}={shlex.quote(value)}" for name, value in self.given.items()]
        return " ".join(["make reproduce", *given])

    def snakemake(self, *options: str, targets: Sequence[str] | None = None) -> list[str]:
        """Return the command line of Snakemake, whose configuration is written here."""
        text = json.dumps(self.config, indent=1, ensure_ascii=False)
        path = _CONFIGURATIONS / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        # Another launcher may be at work on the same.
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
        command = [sys.executable, "-m", "replication.screen", "--cores", self.cores]
        command += ["--configfile", str(path), "--quiet", "reason", "host", *options]
        return [*command, "--", *(self.targets if targets is None else targets)]


def _configuration_files(text: str) -> list[Path]:
    """Split at blanks, unless there is a file of the whole name."""
    whole = _expanded("CONFIG", text)
    return [whole] if whole.is_file() else [_expanded("CONFIG", name) for name in text.split()]


def _expanded(variable: str, text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise LaunchError(f"{variable}: there is no home folder for {text!r}") from None


def _overrides(given: Mapping[str, str], only: Sequence[str]) -> dict[str, Any]:
    """Return what the command line says of the configuration, as plain values."""
    overrides: dict[str, Any] = {}
    if "ARCHIVES" in given:
        overrides["archives"] = str(_expanded("ARCHIVES", given["ARCHIVES"]))
    if "ALLOW_SUBSET" in given:
        if given["ALLOW_SUBSET"] not in ("true", "false"):
            found = given["ALLOW_SUBSET"]
            raise LaunchError(f"ALLOW_SUBSET is {found!r}; allowed are true and false")
        overrides["allow_subset"] = given["ALLOW_SUBSET"] == "true"
    if only:
        known = list(DATASETS)
        if unknown := [name for name in only if name not in known]:
            raise LaunchError(f"ONLY: no data set {unknown[0]!r}; there are {', '.join(known)}")
        overrides["datasets"] = {name: {"enabled": False} for name in known if name not in only}
    return overrides


def _targets(text: str, config: Mapping[str, Any]) -> list[str]:
    """Return named targets and files of the run; refuse those for which nothing would be done."""
    run = config["run"]
    targets = [os.path.normpath(target) for target in text.split()]
    for target in targets:
        if not re.fullmatch(rf"\w+|(results|data/raw)/{run}/.+", target):
            raise LaunchError(
                f"TARGET: {target!r} is neither a named target nor a file below results/{run}/"
            )
        name = EXPERIMENTS[target].dataset if target in EXPERIMENTS else None
        if name and not config["datasets"][name]["enabled"]:
            raise LaunchError(f"TARGET: {target!r} needs data set {name!r}, which is off here")
        if target == "figures":
            _refuse_without_figures(config)
    return targets


def _refuse_without_figures(config: Mapping[str, Any]) -> None:
    enabled = [
        name
        for name, experiment in EXPERIMENTS.items()
        if config["datasets"][experiment.dataset]["enabled"]
    ]
    if not exhibits_of(FIGURES, enabled):
        raise LaunchError(f"this run has no figure (its experiments: {', '.join(enabled)})")


def _reproduce(request: Request) -> int:
    start = time.time()
    with run_lock() as lock:
        environment = _environment()

        def make_again(files: list[str]) -> int:
            # Unless the settings no longer ask for them.
            plan = request.snakemake("--dry-run", targets=files)
            if subprocess.run(plan, env=environment, capture_output=True).returncode != 0:
                return 0
            return run_snakemake(request.snakemake(targets=files), lock, environment)

        raw = Path("data/raw", request.config["run"])
        # With a lock, a run that was started by hand is at work: Snakemake will say so.
        status = 0 if snakemake_locks() else mend(request.results, raw, make_again)
        status = status or run_snakemake(request.snakemake(), lock, environment)
    if status < 0:
        print(
            f"error: Snakemake was ended by signal {-status} ({signal.strsignal(-status)}); "
            "finished work is kept, and the same command goes on from there",
            file=sys.stderr,
        )
        # As a shell reports it: Python would turn -9 into 247.
        return 128 - status
    if status == 0:
        claims = request.results / "claims.csv"
        if _claims_are_current(claims, request.targets, start):
            _say(_claims_summary(claims))
        _say(f"Results: {request.results}/")
    return status


def _plan(request: Request) -> int:
    command = request.snakemake("--dry-run")
    _say(_data_preflight(request.config))
    for path, fault in find_altered(request.results, Path("data/raw", request.config["run"])):
        _say(f"{path} {fault}: would be moved away and, if it is needed, made again")
    return subprocess.run(command, env=_environment()).returncode


def _report(request: Request, kind: str) -> int:
    _refuse_without_figures(request.config)
    figures = [path for path in known_digests(request.results) if path.parent.name == "figures"]
    try:
        check_digests(path for path in figures if path.is_file())
    except AlteredFileError as error:
        raise LaunchError(f"{error}; it is made again by: {request.command}") from None
    report = request.results / _REPORTS[kind]
    report.parent.mkdir(parents=True, exist_ok=True)
    targets = ["shareable"] if kind == "report-public" else None
    command = request.snakemake("--report", str(report), targets=targets)
    status = subprocess.run(command, env=_environment()).returncode
    if status != 0:
        print(f"error: no report; what is missing is made by: {request.command}", file=sys.stderr)
    return status


def _clean() -> int:
    """Remove results and unpacked data, unless a run is at work in this folder."""
    with run_lock():
        refuse_beside_run_by_hand()
        notes = [path for path in LOCK.parent.iterdir() if path.name != LOCK.name]
        for path in (Path("results"), Path("data/raw"), *notes):
            if path.is_symlink() or path.is_file():
                path.unlink()
            elif path.exists():
                shutil.rmtree(path)
    return 0


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
    columns = ("id", "experiment", "verdict")
    widths = [max(len(claim[name]) for claim in claims) for name in columns]
    for claim in claims:
        # A claim about which nothing can be compared has no value.
        value, low, high = (f"{float(claim[n] or 'nan'):.3g}" for n in ("value", "low", "high"))
        limits = f" [{low}, {high}]" if claim["low"] != claim["high"] else ""
        text = f"{value}{limits}" if claim["value"] else ""
        cells = [f"{claim[name]:<{width}}" for name, width in zip(columns, widths, strict=True)]
        lines.append("  ".join(["", *cells, text]).rstrip())
    return "\n".join(lines)


def _environment() -> dict[str, str]:
    """Return the environment of Snakemake, with a folder for caches that can be written to."""
    name = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        cache = Path(name).expanduser()
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            return dict(os.environ)
    except (OSError, RuntimeError) as error:
        own = Path(".snakemake/cache").absolute()
        # No home folder is a RuntimeError.
        reason = error.strerror if isinstance(error, OSError) else error
        _say(f"{name}: {reason}; caches are kept in {own.relative_to(Path.cwd())} instead.")
        return {**os.environ, "XDG_CACHE_HOME": str(own), "MPLCONFIGDIR": str(own / "matplotlib")}


def _say(text: str) -> None:
    """Print; a screen that is closed or full does not matter to what has been computed."""
    try:
        print(text, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _data_preflight(config: Mapping[str, Any]) -> str:
    """Say of each real data set of the run what is missing, how large and how long to fetch."""
    # Seconds of imports that only a plan is worth.
    from replication.data.catalog import dataset_of
    from replication.data.download import describe_missing

    texts = []
    for name in DATASETS:
        settings = config["datasets"].get(name, {})
        source = settings.get("source")
        if settings.get("enabled") and source in ("archives", "download"):
            raw = Path("data/raw", config["run"], name)
            missing = describe_missing(dataset_of(name), Path(config["archives"], name), raw)
            what_then = "will be fetched" if source == "download" else "must be put there by hand"
            texts.append(f"{missing}\n  {what_then}\n" if missing else f"{name}: at hand\n")
    return "".join(texts)


if __name__ == "__main__":
    sys.exit(main())
