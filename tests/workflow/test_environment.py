"""The environment is described once and installed the same everywhere."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

# conda-forge's names where they differ from PyPI's
CONDA_NAME = {"matplotlib": "matplotlib-base", "soundfile": "pysoundfile"}
# Snakemake runs the conda environments and so is not part of them.
NOT_IN_CONDA = {"snakemake"}


@pytest.fixture(scope="module")
def project(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text())["project"]


def test_conda_spec_equals_pyproject(repository, project):
    wanted = {"python": set(project["requires-python"].split(","))}
    for line in project["dependencies"] + project["optional-dependencies"]["workflow"]:
        requirement = Requirement(line)
        if requirement.name not in NOT_IN_CONDA:
            name = CONDA_NAME.get(requirement.name, requirement.name)
            wanted[name] = {str(part) for part in requirement.specifier}
    spec = yaml.safe_load((repository / "envs/replication.yaml").read_text())
    found = {}
    for line in spec["dependencies"]:
        name, bounds = re.fullmatch(r"([a-z0-9-]+)(.*)", line).groups()
        found[name] = set(bounds.split(","))
    assert found == wanted


def test_lock_holds_every_requirement_with_hashes_and_no_address(repository, project):
    text = (repository / "requirements.lock").read_text()
    assert "://" not in text
    assert not re.search(r"^\s*--(?!hash)", text, re.MULTILINE), "the lock carries an option"
    packages = re.split(r"\n(?=\S)", text.strip())
    locked = {re.match(r"[A-Za-z0-9_.-]+", package).group() for package in packages}
    assert all("--hash=sha256:" in package for package in packages)
    extras = project["optional-dependencies"]
    wanted = {
        Requirement(line).name.lower()
        for line in project["dependencies"] + extras["workflow"] + extras["dev"]
    }
    assert wanted <= locked
