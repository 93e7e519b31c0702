"""What an installation brings: versions, types, and no more requirements than it says."""

import importlib.metadata
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import replication
import sliced_wasserstein
import vhem

PACKAGES = (replication, sliced_wasserstein, vhem)


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], check=False, capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


def test_one_version_everywhere(repository):
    version = importlib.metadata.version("distributions-as-data")
    assert {package.__version__ for package in PACKAGES} == {version}
    assert yaml.safe_load((repository / "CITATION.cff").read_text())["version"] == version


def test_wheel_holds_the_three_packages_with_their_types_and_nothing_else(repository, tmp_path):
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(repository))
    (wheel,) = builder.build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    names = [name for name in names if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in names} == {p.__name__ for p in PACKAGES}
    assert {f"{package.__name__}/py.typed" for package in PACKAGES} <= set(names)
    sources = {
        str(path.relative_to(repository / "src"))
        for path in (repository / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert set(names) == sources


def test_method_libraries_need_no_hmmlearn_and_the_bridge_names_its_extra():
    status, _, said = run(
        "import sys\n"
        "sys.modules['hmmlearn'] = None\n"
        "import sliced_wasserstein, vhem\n"
        "hmm = vhem.HMM([1.0], [[1.0]], [[1.0]], [[[0.0]]], [[[1.0]]])\n"
        "for call in (hmm.to_hmmlearn, lambda: vhem.HMM.from_hmmlearn(hmm)):\n"
        "    try:\n"
        "        call()\n"
        "    except ImportError as error:\n"
        "        assert \"pip install 'distributions-as-data[hmmlearn]'\" in str(error), error\n"
        "    else:\n"
        "        raise AssertionError\n"
    )
    assert status == 0, said


def test_replication_without_its_extra_names_it():
    """In an installation of the two libraries only."""
    status, _, said = run(
        "import importlib.metadata as metadata\n"
        "real = metadata.distribution\n"
        "def distribution(name):\n"
        "    if name in ('snakemake', 'pooch'):\n"
        "        raise metadata.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "metadata.distribution = distribution\n"
        "import replication\n"
    )
    assert status == 1
    assert re.fullmatch(
        r"ImportError: replication needs an extra: "
        r"pip install 'distributions-as-data\[workflow\]' \(not installed: pooch, snakemake\)",
        said.strip().splitlines()[-1],
    )


def test_libraries_compute_where_no_cache_can_be_written():
    """One warning a library, which says what to set."""
    status, out, said = run(
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "import numpy as np\n"
        "import sliced_wasserstein, vhem\n"
        "terms, sums = np.log([[[3.0], [1.0]]]), np.empty((1, 1))\n"
        "vhem._numerics.mixture_terms(terms, sums)\n"
        "print(terms.round(12).ravel().tolist(), np.exp(sums).round(12).tolist())\n"
        "print(sliced_wasserstein.wasserstein_1d([0.0], [3.0]))\n"
    )
    assert status == 0, said
    assert out.splitlines() == ["[0.75, 0.25] [[4.0]]", "3.0"]
    warned = [line for line in said.splitlines() if "set NUMBA_CACHE_DIR" in line]
    assert [Path(line.partition(".py:")[0]).parent.name for line in warned] == [
        "sliced_wasserstein",
        "vhem",
    ], said
