"""What the documentation shows runs as shown."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


pytest.importorskip("hmmlearn")


def test_tutorial_runs(capsys):
    """It asserts what it claims; here it only has to reach its last line."""
    runpy.run_path(str(DOCS / "tutorials" / "clustering_hmms.py"))
    assert "saved and loaded" in capsys.readouterr().out


def test_readme_example_runs_and_finds_the_groups():
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (code,) = (block for block in blocks if "VHEM" in block)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 10
    names: dict[str, object] = {}
    exec(code, names)
    labels = names["vhem"].labels_
    groups = np.arange(50) % 3
    np.testing.assert_array_equal(labels[:, None] == labels, groups[:, None] == groups)
    assert len(names["centres"]) == 3
