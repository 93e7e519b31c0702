"""Artefacts are whole or absent, equal content gives equal bytes, logs hold everything."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from replication import io


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")

    def fail_half_way():
        with io.atomic_path(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fail_half_way()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_cannot_be_finished_leaves_the_old_one_and_nothing_else(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a").write_text("old")

    def fail(folder):
        (folder / "a").write_text("new")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"), io.atomic_folder(tmp_path / "out") as folder:
        fail(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out/a").read_text() == "old"


def test_written_files_are_as_readable_as_any_other(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    io.write_json(tmp_path / "a.json", {})
    assert (tmp_path / "a.json").stat().st_mode == plain.stat().st_mode


def test_equal_arrays_give_equal_bytes(tmp_path):
    array = np.arange(6.0)
    for name in ("a.npz", "b.npz"):
        io.save_arrays(tmp_path / name, x=array, labels=np.array(["α", "b"]))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    np.testing.assert_array_equal(np.load(tmp_path / "a.npz")["x"], array)
    io.save_array(tmp_path / "c.npy", array)
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy", mmap_mode="r"), array)


def test_objects_are_never_pickled(tmp_path):
    with pytest.raises(ValueError, match=r"[Oo]bject arrays"):
        io.save_array(tmp_path / "a.npy", np.array([{}], dtype=object))
    assert list(tmp_path.iterdir()) == []


def test_tables_hide_the_last_bits(tmp_path):
    table = pd.DataFrame({"value": [0.1 + 0.2, 1 / 3]})
    io.write_table(tmp_path / "a.csv", table)
    assert (tmp_path / "a.csv").read_bytes() == b"value\n0.3\n0.333333333333\n"


def test_json_round_trip(tmp_path):
    content = {"b": [1, "ü"], "a": None}
    io.write_json(tmp_path / "a.json", content)
    assert io.read_json(tmp_path / "a.json") == content


def test_log_holds_output_of_children_and_the_traceback(tmp_path):
    code = (
        "import subprocess; from replication.io import log_to; "
        f"log_to({str(tmp_path / 'logs/a.log')!r}); print('from python', flush=True); "
        "subprocess.run(['echo', 'from a child']); raise ValueError('the reason')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == done.stderr == ""
    log = (tmp_path / "logs/a.log").read_text()
    assert [part in log for part in ("from python", "from a child", "the reason")] == [True] * 3
