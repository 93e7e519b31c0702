import os
import re
import subprocess
import sys
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "tutorial_sliced_wasserstein.py"


def test_tutorial_runs_and_shows_what_it_says(tmp_path):
    result = subprocess.run(
        [sys.executable, "-W", "error", TUTORIAL],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ,
    )
    assert result.returncode == 0, result.stderr
    said = dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line)
    assert said["one pair"] == said["the same pair"]
    assert float(said["V-measure of the clouds' clusters"]) == 1
    assert float(said["accuracy of a linear SVM"]) > 0.8
    exact, embedded = map(float, re.findall(r"\d+\.\d+", result.stdout.splitlines()[-1]))
    assert abs(embedded / exact - 1) < 0.02


def test_readme_example_runs():
    text = (TUTORIAL.parents[2] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (code,) = (block for block in blocks if "SlicedWassersteinEmbedding" in block)
    names: dict[str, object] = {}
    exec(code, names)
    assert names["Z"].shape[0] == len(names["labels"]) == 100
