"""A workflow of three jobs, and the launcher at work on it."""

import os
import subprocess
import sys
import time

SNAKEFILE = """
rule all:
    input: expand("out/{{i}}.txt", i=range(3))

rule make:
    output: "out/{{i}}.txt"
    shell: "touch started/{{wildcards.i}}; {delay}; echo {{wildcards.i}} > {{output}}"
"""
CONFIG = """run: demo
archives: data/archives
datasets: {uiuc_texture: {enabled: true, n: 1}, animal_faces: {enabled: true},
           cmu_mocap: {enabled: true}, cal500: {enabled: false}}
"""


def toy_workflow(folder):
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "workflow/schemas").mkdir(parents=True)
    (folder / "workflow/schemas/config.schema.yaml").write_text("type: object\n")
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
