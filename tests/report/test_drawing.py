"""A figure or table is made from the files of a run that the registry names, in their order."""

import json

import numpy as np
import pytest

from replication.registry import Exhibit
from replication.report import tables
from replication.report.drawing import make_exhibit


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "echo", lambda *given, **named: (given, named), raising=False)
    for name in ("data", "metrics", "figdata"):
        (tmp_path / name).mkdir()
    for dataset in ("uiuc_texture", "animal_faces"):
        (tmp_path / f"data/{dataset}.json").write_text(json.dumps({"dataset": dataset}))
    for experiment in ("textures", "faces"):
        (tmp_path / f"metrics/{experiment}_svm.csv").write_text(f"experiment,x\n{experiment},\n")
    np.savez(tmp_path / "figdata/a.npz", x=np.arange(3))
    return tmp_path


def exhibit(**changes):
    reads = (("figdata/a.npz",), ("metrics/{experiment}_svm.csv",))
    options = {"reads": reads, "experiments": ("textures", "faces"), "options": {"dark": True}}
    return Exhibit("report.tables:echo", **{**options, **changes})


@pytest.mark.parametrize("experiments", [("faces", "textures", "music"), ("faces",)])
def test_files_of_the_experiments_that_take_part_and_their_notes(run, experiments):
    part = [name for name in ("textures", "faces") if name in experiments]
    (arrays, metrics, notes), named = make_exhibit(exhibit(), run, experiments, retrieved=10)
    assert arrays["x"].tolist() == [0, 1, 2]
    assert metrics["experiment"].tolist() == part
    assert metrics["x"].tolist() == [""] * len(part)
    names = {"textures": "uiuc_texture", "faces": "animal_faces"}
    assert [note["dataset"] for note in notes] == [names[experiment] for experiment in part]
    assert named == {"dark": True, "retrieved": 10}


def test_what_shows_no_data_has_no_notes_and_the_papers_numbers_keep_their_gaps(run):
    reads = (("resources/paper/nips2012_table2.csv",),)
    (paper,), _ = make_exhibit(exhibit(reads=reads, noted=False), run, ["textures"])
    assert len(paper)
    assert not (paper.astype(object) == "").any(axis=None)
