"""What is published: tables and curves, no images without leave; claims come from the table."""

import gzip
import json
import shutil

import pandas as pd
import pytest

from replication.digests import keep_digests, sha256_of
from replication.report import publish as publishing
from replication.report.claims import CLAIM_COLUMNS
from replication.report.publish import (
    PublishError,
    claims_as_markdown,
    main,
    publish,
)

CLAIM = dict.fromkeys(CLAIM_COLUMNS, "x") | {
    "experiment": "textures",
    "statement": "A beats B.",
    "place": "Figure 4",
    "compared": "accuracy",
    "value": 5.12,
    "low": 3.0,
    "high": 7.0,
    "verdict": "reproduced",
    "depends_on": "C: 1 reversed | b: 2",
}


REAL = [
    {"dataset": "uiuc_texture", "origin": "real"},
    {"dataset": "animal_faces", "origin": "real"},
    {"dataset": "cmu_mocap", "origin": "real"},
]
FIGURE_NAMES = ("cvpr2016_fig1", "cvpr2016_fig2", "cvpr2016_fig3", "nips2012_fig1")


@pytest.fixture
def run(tmp_path, monkeypatch):
    run = tmp_path / "results/paper"
    for folder in ("tables", "metrics", "figures"):
        (run / folder).mkdir(parents=True)
    claims = [CLAIM, CLAIM | {"experiment": "faces", "statement": "B beats A."}]
    pd.DataFrame(claims).to_csv(run / "claims.csv", index=False)
    (run / "multiverse.csv").write_text("experiment,choice\ntextures,64\nfaces,96\n")
    (run / "deviations.csv").write_text("experiment,setting\ntextures,levels\nfaces,side\n")
    (run / "tables/cvpr2016_fig4.csv").write_text(
        "experiment,kernel,value\ntextures,linear,0.1234567\nfaces,rbf,0.5\n"
    )
    (run / "tables/nips2012_table2.csv").write_text("experiment,level\nmotion,2\n")
    for experiment in ("textures", "faces", "motion"):
        (run / f"metrics/{experiment}_svm.csv").write_text("value\n0.5\n")
    for name in FIGURE_NAMES:
        for suffix in ("svg", "png", "pdf"):
            (run / f"figures/{name}.{suffix}").write_text(name)
    finish(run)
    return run


def finish(run, data=REAL):
    """Write the record of the files that stand there."""
    (run / "run.json").unlink(missing_ok=True)
    shutil.rmtree(run / ".digests", ignore_errors=True)
    files = {name: sha256_of(run / name) for name in files_in(run) if name[0] != "."}
    (run / "run.json").write_text(json.dumps({"config": {}, "data": data, "files": files}))
    keep_digests(run)


def files_in(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_publishes_tables_and_curves_but_no_images(run, tmp_path):
    destination = tmp_path / "docs/results/all"
    for _ in range(2):
        main([str(run), str(destination)])
        tables = [
            f"tables/{name}.{suffix}"
            for name in ("cvpr2016_fig4", "nips2012_table2")
            for suffix in ("csv", "md", "tex")
        ]
        assert files_in(destination) == [
            "README.md",
            "claims.csv",
            "deviations.csv",
            "figures/cvpr2016_fig3.png",
            "figures/cvpr2016_fig3.svg",
            "figures/nips2012_fig1.png",
            "figures/nips2012_fig1.svg",
            "metrics/faces_svm.csv.gz",
            "metrics/motion_svm.csv.gz",
            "metrics/textures_svm.csv.gz",
            "multiverse.csv",
            "run.json",
            *tables,
        ]
        content = (destination / "metrics/textures_svm.csv.gz").read_bytes()
        assert gzip.decompress(content) == b"value\n0.5\n"
    text = (destination / "README.md").read_text()
    row = (
        "| A beats B. | Figure 4 | 5.12 [3, 7] accuracy | **reproduced** | C: 1 reversed<br>b: 2 |"
    )
    assert row in text


def test_one_experiment_gets_its_rows_its_figures_and_its_claims(run, tmp_path):
    destination = tmp_path / "docs/results/animal_faces"
    block = destination / "blocks/svm_0-9.csv"
    block.parent.mkdir(parents=True)
    block.write_text("value\n1\n")
    (destination / "figures").mkdir()
    (destination / "figures/cvpr2016_fig2.svg").write_text("of a former call")
    main([str(run), str(destination), "--experiment", "faces"])
    assert files_in(destination) == [
        "README.md",
        "blocks/svm_0-9.csv",
        "claims.csv",
        "deviations.csv",
        "figures/cvpr2016_fig3.png",
        "figures/cvpr2016_fig3.svg",
        "metrics/faces_svm.csv.gz",
        "multiverse.csv",
        "run.json",
        "tables/cvpr2016_fig4.csv",
        "tables/cvpr2016_fig4.md",
        "tables/cvpr2016_fig4.tex",
    ]
    assert (destination / "tables/cvpr2016_fig4.csv").read_text() == (
        "experiment,kernel,value\nfaces,rbf,0.5\n"
    )
    assert "levels" not in (destination / "deviations.csv").read_text()
    credit = (destination / "README.md").read_text()
    assert "real data: LHI animal face data set" in credit
    assert "Si, S.-C. Zhu" in credit
    assert "UIUC" not in credit, "of another experiment"
    assert "B beats A." in credit
    assert "A beats B." not in credit


def test_pictures_of_photographs_are_withheld_and_their_numbers_are_not(run, tmp_path, monkeypatch):
    (run / "metrics/faces_inverses.csv").write_text("metric,value\nrelative_residual,0.02\n")
    (run / "tables/faces_classes.csv").write_text("experiment,class,images\nfaces,CatHead,160\n")
    for suffix in ("svg", "png"):
        (run / f"figures/extra_faces_inverse.{suffix}").write_text("a face")
    finish(run)
    main([str(run), str(tmp_path / "docs"), "--experiment", "faces"])
    found = files_in(tmp_path / "docs")
    assert not [name for name in found if "extra_faces_inverse" in name]
    assert {"metrics/faces_inverses.csv.gz", "tables/faces_classes.md"} <= set(found)


def test_synthetic_images_are_published(run, tmp_path):
    finish(run, [entry | {"origin": "synthetic"} for entry in REAL])
    main([str(run), str(tmp_path / "docs"), "--experiment", "faces"])
    assert (tmp_path / "docs/figures/cvpr2016_fig2.png").exists()


def test_an_experiment_without_results_is_named(run, tmp_path):
    (run / "metrics/motion_svm.csv").unlink()
    finish(run)
    with pytest.raises(PublishError, match="no results of the experiment 'motion'"):
        publish(run, tmp_path / "docs", "motion")


def test_a_figure_that_nobody_has_classified_is_not_published(run, tmp_path, capsys):
    (run / "figures/extra_new.svg").write_text("?")
    finish(run)
    assert main([str(run), str(tmp_path / "docs")]) == 1
    assert "extra_new" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


def cut(path):
    path.write_bytes(path.read_bytes()[:-2])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("run.json", lambda path: path.unlink()),
        ("run.json", lambda path: path.write_text("{}")),
        ("run.json", lambda path: path.write_text(path.read_text().replace("real", "synthetic"))),
        ("run.json", cut),
        ("claims.csv", cut),
        ("deviations.csv", lambda path: path.unlink()),
        ("metrics/faces_svm.csv", lambda path: path.write_text("value\n0.9\n")),
        ("metrics/motion_svm.csv", lambda path: path.unlink()),
        ("tables/cvpr2016_fig4.csv", cut),
        ("figures/cvpr2016_fig3.png", lambda path: path.unlink()),
        ("figures/cvpr2016_fig3.pdf", cut),
    ],
)
def test_a_run_that_is_not_whole_is_refused_and_the_former_publication_stays(
    run, tmp_path, capsys, name, change
):
    docs = tmp_path / "docs"
    publish(run, docs)
    before = {path: path.read_bytes() for path in docs.rglob("*") if path.is_file()}
    change(run / name)
    assert main([str(run), str(docs)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert str(run / name) in line
    assert "make reproduce" in line
    assert {path: path.read_bytes() for path in docs.rglob("*") if path.is_file()} == before


def test_what_is_not_on_record_is_not_published(run, tmp_path):
    for name in ("figures/.x1.svg", "figures/x.svg", "metrics/.x2.csv", "tables/.x3.csv"):
        (run / name).write_text("half")
    (run / "metrics/textures_other.csv").write_text("value\n1\n")
    publish(run, tmp_path / "docs")
    assert not [name for name in files_in(tmp_path / "docs") if "x" in name.split("/")[-1][:2]]
    assert not (tmp_path / "docs/metrics/textures_other.csv.gz").exists()


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("step", ["claims", "swap", "old", "thrown away"])
def test_a_kill_leaves_the_former_publication_or_the_new_one(
    run, tmp_path, monkeypatch, at_once, step
):
    docs = tmp_path / "docs"
    publish(run, docs)
    (docs / "notes.md").write_text("kept")
    before = files_in(docs)
    (run / "metrics/textures_new.csv").write_text("value\n1\n")
    finish(run)

    class Killed(BaseException):
        pass

    def dies(*args, **kwargs):
        raise Killed

    with monkeypatch.context() as patch:
        if not at_once:
            patch.setattr("replication.io._exchange", lambda one, other: False)
        renames = []
        rename = type(docs).rename

        def rename_or_die(path, target):
            renames.append(path)
            if step == "old" and len(renames) == (1 if at_once else 2):
                dies()
            return rename(path, target)

        if step == "claims":
            patch.setattr(publishing, "write_tables", dies)
        if step == "swap":
            patch.setattr("replication.io.swap_in", dies)
        patch.setattr(type(docs), "rename", rename_or_die)
        if step == "thrown away":
            patch.setattr("replication.io.shutil.rmtree", lambda *a, **k: renames and dies())
        with pytest.raises(Killed):
            publish(run, docs)
    if step == "old" and not at_once:
        assert not docs.exists(), "such file systems have no single call"
    else:
        now = files_in(docs)
        assert now in (before, sorted([*before, "metrics/textures_new.csv.gz"]))
    publish(run, docs)
    assert files_in(docs) == sorted([*before, "metrics/textures_new.csv.gz"])
    assert (docs / "notes.md").read_text() == "kept"
    assert list(tmp_path.glob(".*")) == []


def test_a_folder_with_more_than_results_is_not_replaced(run, tmp_path, monkeypatch):
    with pytest.raises(PublishError, match="holds more than results"):
        publish(run, tmp_path)
    monkeypatch.chdir(tmp_path / "results")
    with pytest.raises(PublishError, match="holds more than results"):
        publish(run, tmp_path / "results")
    with pytest.raises(PublishError, match="is a file"):
        publish(run, run / "claims.csv")


def test_an_exact_value_has_no_interval():
    table = claims_as_markdown(pd.DataFrame([CLAIM | {"low": 5.12, "high": 5.12}]))
    assert "| 5.12 accuracy |" in table


def test_a_claim_that_nothing_decides_has_no_value():
    nothing = {"value": float("nan"), "low": float("nan"), "high": float("nan")}
    table = claims_as_markdown(pd.DataFrame([CLAIM | nothing | {"verdict": "not in this run"}]))
    assert "|  | **not in this run** |" in table
