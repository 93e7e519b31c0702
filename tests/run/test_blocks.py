"""Blocks go on in another run only if nothing that decides their numbers has changed."""

import copy
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from replication import blocks
from replication.blocks import BlockError, export_blocks, import_blocks
from replication.digests import keep_digests
from replication.settings import load_config

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPTS = [REPOSITORY / "workflow/scripts/images/run_svm.py"]
CONFIG = load_config(
    [REPOSITORY / "config.yaml"],
    {
        "seed": 1,
        "experiments": {
            "faces": {
                "images": {"side": 96, "natural": True, "copies": False},
                "dictionary": {"n_atoms": 8},
                "density": {"reading": "minmax"},
                "sliced_wasserstein": {"n_angles": 60},
                "svm": {
                    "folds": 5,
                    "inner_folds": 3,
                    "C": [1, 10],
                    "gamma": [1],
                    "degree": [1],
                    "paper_repeats": 5,
                    "paper_methods": ["linear"],
                    "extra_repeats": 2,
                    "extra_methods": ["chi_squared"],
                    "slow_repeats": 1,
                    "slow_methods": ["sw_mean_gaussian"],
                    "block": 2,
                    "slow_block": 1,
                },
            }
        },
    },
)


def start_run(folder, images="id\na\n"):
    for name, text in (
        ("features/faces/main/images.csv", images),
        ("models/faces/main/matrices.npz", "matrices"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def write_block(run, name, method):
    for part, text in (("runs", f"method,value\n{method},0.25\n"), ("timings", "seconds\n3\n")):
        path = run / part / "faces/main" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def exported(tmp_path):
    run = start_run(tmp_path / "first")
    write_block(run, "svm_paper_0-1.csv", "linear")
    write_block(run, "svm_extra_0-1.csv", "chi_squared")
    folder = tmp_path / "blocks"
    found = export_blocks(CONFIG, run, folder, "faces", SCRIPTS)
    assert found == ["svm_paper_0-1.csv", "svm_extra_0-1.csv"]
    return folder


def test_finished_blocks_arrive_unchanged_and_newer_than_what_they_follow_from(exported, tmp_path):
    run = start_run(tmp_path / "second")
    imported, ignored = import_blocks(CONFIG, run, exported, "faces", SCRIPTS)
    assert sorted(imported) == ["svm_extra_0-1.csv", "svm_paper_0-1.csv"]
    assert ignored == []
    scores = run / "runs/faces/main/svm_paper_0-1.csv"
    assert scores.read_text() == "method,value\nlinear,0.25\n"
    assert (run / "timings/faces/main/svm_paper_0-1.csv").read_text() == "seconds\n3\n"
    matrices = run / "models/faces/main/matrices.npz"
    assert scores.stat().st_mtime_ns >= matrices.stat().st_mtime_ns
    assert not (run / "runs/faces/main/svm_paper_2-3.csv").exists()


def change(*path, value):
    config = copy.deepcopy(CONFIG)
    target = config
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (change("seed", value=2), "seed: 1 there, 2 here"),
        (
            change("experiments", "faces", "density", "reading", value="deviation"),
            "settings.density.reading: minmax there, deviation here",
        ),
        (
            change("experiments", "faces", "svm", "C", value=[1]),
            r"settings.svm.C: \[1, 10\] there, \[1\] here",
        ),
    ],
)
def test_other_settings_are_refused(exported, tmp_path, config, message):
    run = start_run(tmp_path / "second")
    with pytest.raises(BlockError, match=message):
        import_blocks(config, run, exported, "faces", SCRIPTS)
    assert not (run / "runs").exists()


def test_other_images_are_refused(exported, tmp_path):
    run = start_run(tmp_path / "second", images="id\nb\n")
    with pytest.raises(BlockError, match="images_sha256"):
        import_blocks(CONFIG, run, exported, "faces", SCRIPTS)


def test_other_code_is_refused(exported, tmp_path):
    run = start_run(tmp_path / "second")
    (tmp_path / "run_svm.py").write_text("from replication.images import kmeans")
    with pytest.raises(BlockError, match="code"):
        import_blocks(CONFIG, run, exported, "faces", [tmp_path / "run_svm.py"])


def test_more_repetitions_are_welcome_and_other_kernels_ignored(exported, tmp_path):
    config = change("experiments", "faces", "svm", "paper_repeats", value=100)
    config["experiments"]["faces"]["svm"]["extra_methods"] = ["chi_squared", "hog_linear"]
    run = start_run(tmp_path / "second")
    assert import_blocks(config, run, exported, "faces", SCRIPTS) == (
        ["svm_paper_0-1.csv"],
        ["svm_extra_0-1.csv"],
    )


def test_a_folder_holds_blocks_of_one_identity(exported, tmp_path):
    run = start_run(tmp_path / "other", images="id\nb\n")
    write_block(run, "svm_paper_2-3.csv", "linear")
    with pytest.raises(BlockError, match="do not belong"):
        export_blocks(CONFIG, run, exported, "faces", SCRIPTS)
    assert not (exported / "scores/svm_paper_2-3.csv.gz").exists()


def test_a_run_that_has_not_come_so_far_is_told_what_to_do(exported, tmp_path):
    run = start_run(tmp_path / "second")
    (run / "models/faces/main/matrices.npz").unlink()
    with pytest.raises(BlockError, match="make reproduce TARGET="):
        import_blocks(CONFIG, run, exported, "faces", SCRIPTS)
    with pytest.raises(BlockError, match="no block of faces is finished"):
        export_blocks(CONFIG, run, tmp_path / "nothing", "faces", SCRIPTS)


def cut(content):
    return content[: len(content) // 2]


def half_of_the_rows(content):
    lines = gzip.decompress(content).splitlines(keepends=True)
    return gzip.compress(b"".join(lines[: len(lines) // 2]), mtime=0)


def other_values(content):
    content = gzip.decompress(content).replace(b"0.25", b"0.75").replace(b"3", b"4")
    return gzip.compress(content, mtime=0)


@pytest.mark.parametrize("change", [cut, half_of_the_rows, other_values, lambda content: None])
@pytest.mark.parametrize("file", ["scores/svm_paper_0-1.csv.gz", "timing/svm_paper_0-1.csv.gz"])
def test_blocks_that_are_not_what_was_exported_are_refused(exported, tmp_path, file, change):
    path = exported / file
    content = change(path.read_bytes())
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    run = start_run(tmp_path / "second")
    with pytest.raises(BlockError, match=file):
        import_blocks(CONFIG, run, exported, "faces", SCRIPTS)
    assert not (run / "runs").exists()


@pytest.mark.parametrize("content", [b"", b'{"a": ', b"[]", b"{}", bytes(50), b'{"files": [1]}'])
def test_a_broken_identity_is_refused(exported, tmp_path, content):
    (exported / "identity.json").write_bytes(content)
    with pytest.raises(BlockError, match=r"identity\.json"):
        import_blocks(CONFIG, start_run(tmp_path / "second"), exported, "faces", SCRIPTS)


def test_a_foreign_block_is_not_imported(exported, tmp_path):
    for kind in ("scores", "timing"):
        packed = exported / kind / "svm_paper_0-1.csv.gz"
        shutil.copy(packed, packed.with_name("svm_paper_2-3.csv.gz"))
    imported, _ = import_blocks(CONFIG, start_run(tmp_path / "second"), exported, "faces", SCRIPTS)
    assert "svm_paper_2-3.csv" not in imported


def test_an_altered_block_is_not_exported(tmp_path):
    run = start_run(tmp_path / "first")
    write_block(run, "svm_paper_0-1.csv", "linear")
    keep_digests(run)
    scores = run / "runs/faces/main/svm_paper_0-1.csv"
    scores.write_text(scores.read_text().replace("0.25", "0.75"))
    with pytest.raises(BlockError, match=r"svm_paper_0-1\.csv: was altered"):
        export_blocks(CONFIG, run, tmp_path / "blocks", "faces", SCRIPTS)


def test_an_export_that_was_killed_is_not_there_and_blocks_no_other(
    exported, tmp_path, monkeypatch
):
    run = start_run(tmp_path / "first")
    write_block(run, "svm_paper_0-1.csv", "linear")
    (run / "timings/faces/main/svm_paper_0-1.csv").write_text("seconds\n5\n")
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "write_json", lambda *arguments: sys.exit("killed"))
        with pytest.raises(SystemExit):
            export_blocks(CONFIG, run, exported, "faces", SCRIPTS)
    packed = exported / "timing/svm_paper_0-1.csv.gz"
    assert gzip.decompress(packed.read_bytes()) == b"seconds\n3\n"
    # Nor does a block that this run has whole.
    packed.write_bytes(b"")
    export_blocks(CONFIG, run, exported, "faces", SCRIPTS)
    assert gzip.decompress(packed.read_bytes()) == b"seconds\n5\n"
    assert list(tmp_path.glob(".*")) == []
    (exported / "timing/svm_extra_0-1.csv.gz").write_bytes(b"")
    shutil.rmtree(run / "runs/faces/main", ignore_errors=True)
    write_block(run, "svm_paper_0-1.csv", "linear")
    with pytest.raises(BlockError, match="svm_extra_0-1"):
        export_blocks(CONFIG, run, exported, "faces", SCRIPTS)


def test_equal_blocks_give_equal_bytes(exported):
    packed = exported / "scores/svm_paper_0-1.csv.gz"
    content = gzip.decompress(packed.read_bytes())
    assert packed.read_bytes() == gzip.compress(content, mtime=0)
    assert pd.read_csv(packed)["value"].tolist() == [0.25]


def write_config(folder, **changes):
    (folder / "config.yaml").write_text(json.dumps(CONFIG | changes))


def test_command_line(exported, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, run="third")
    (tmp_path / "Snakefile").write_text("rule run_svm:\n    output: '{block}'\n    shell: ':'\n")
    (tmp_path / "workflow/scripts/images").mkdir(parents=True)
    shutil.copy(SCRIPTS[0], tmp_path / "workflow/scripts/images")
    assert blocks.main(["import", str(exported)]) == 1
    assert "error:" in capsys.readouterr().err
    start_run(tmp_path / "results/third")
    assert blocks.main(["import", str(exported)]) == 0
    assert "2 blocks imported, 0 not asked for" in capsys.readouterr().out


@pytest.mark.parametrize("levels", [1, 2])
def test_blocks_of_other_settings_are_not_exported(tmp_path, monkeypatch, capsys, levels):
    """A block was computed with level 1; the configuration may say something else by now."""
    (tmp_path / "Snakefile").write_text(
        'configfile: "config.yaml"\n'
        "rule block:\n"
        '    output: "results/demo/runs/faces/main/svm_paper_0-1.csv"\n'
        '    params: level=config["seed"]\n'
        "    shell: \"printf 'method,value\\nlinear,1\\n' > {output}\"\n"
    )
    write_config(tmp_path, run="demo")
    run = start_run(tmp_path / "results/demo")
    block = "results/demo/runs/faces/main/svm_paper_0-1.csv"
    command = [sys.executable, "-m", "snakemake", block, "--cores", "1", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True)
    timing = run / "timings/faces/main/svm_paper_0-1.csv"
    timing.parent.mkdir(parents=True)
    timing.write_text("seconds\n1\n")
    write_config(tmp_path, run="demo", seed=levels)
    monkeypatch.chdir(tmp_path)
    assert blocks.main(["export", "blocks"]) == levels - 1
    assert (tmp_path / "blocks/identity.json").exists() is (levels == 1)
    assert ("not exported" in capsys.readouterr().err) is (levels == 2)
