"""A workflow of three jobs, and the launcher at work on it."""

import os
import subprocess
import sys
import time
from pathlib import Path

SNAKEFILE = """
rule all:
    input: expand("out/{{i}}.txt", i=range(3))

rule make:
    output: "out/{{i}}.txt"
    shell: "touch started/{{wildcards.i}}; {delay}; echo {{wildcards.i}} > {{output}}"
"""
CONFIG = (
    (Path(__file__).resolve().parents[2] / "config.yaml")
    .read_text(encoding="utf-8")
    .replace("run: embedded", "run: demo")
    .replace("cal500:\n    enabled: true", "cal500:\n    enabled: false")
)


def toy_workflow(folder):
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "started").mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE.format(delay="true"))
    return folder


def launch(folder, action="reproduce", **variables):
    return subprocess.Popen(
        [sys.executable, "-m", "replication.launch", action],
        cwd=folder,
        env={**os.environ, "CORES": "1", **variables},
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
