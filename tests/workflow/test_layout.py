"""The rules that keep the house in order."""

import ast
import re

import pytest
import yaml

from replication.registry import FIGURES, TABLES


def rules(repository):
    """Room, name and text of every rule; those made in a loop have the name of their script."""
    return [
        (path.stem, name or re.search(r"scripts/\w+/(\w+)\.py", body)[1], body)
        for path in sorted((repository / "workflow/rules").glob("*.smk"))
        for _, name, body in re.findall(
            r"^( *)rule(?: (\w+))?:\n((?:\1 +.*\n|\n)*)", path.read_text(), re.MULTILINE
        )
    ]


def test_every_rule_has_log_environment_and_a_script_of_its_name_that_decides(repository):
    found = rules(repository)
    assert len(found) >= 35
    for room, name, body in found:
        assert re.search(r"^ +log:", body, re.MULTILINE), name
        assert "envs/replication.yaml" in body, name
        assert f"scripts/{room}/{name}.py" in body, name
        decided = f'code_of("{room}/{name}"' in body or name == "prepare_dataset"
        assert decided, name
        assert not re.search(r"^ +(run|checkpoint):$", body, re.MULTILINE), name


def test_every_script_belongs_to_a_rule_and_is_short(repository):
    scripts = sorted((repository / "workflow/scripts").rglob("*.py"))
    assert {(path.parent.name, path.stem) for path in scripts} == {
        (room, name) for room, name, _ in rules(repository)
    }
    for path in scripts:
        text = path.read_text()
        assert len(text.splitlines()) <= 40, path.name
        assert "start_job(snakemake)" in text, path.name


def test_scripts_import_the_project_and_little_else(repository):
    allowed = {"replication", "sliced_wasserstein", "vhem", "numpy", "pandas"}
    allowed |= {"snakemake", "typing", "pathlib", "time"}
    for path in (repository / "workflow/scripts").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names.append(node.module)
            assert {name.split(".")[0] for name in names} <= allowed, path.name


def test_the_readme_names_what_differs_from_run_to_run(repository):
    """A figure or table differs if it is made from seconds; which claims do, is their kind."""
    promise = re.search(
        r"- \*The same bytes\*:.*?\n(?=- |\n)", (repository / "README.md").read_text(), re.DOTALL
    )[0]
    named = set(re.findall(r"`((?:cvpr2016|nips2012|extra|faces)_\w+)`", promise))
    made_from_seconds = {
        name
        for name, exhibit in {**FIGURES, **TABLES}.items()
        if any("timings/" in file for files in exhibit.reads for file in files)
    }
    assert named == made_from_seconds
    claims = yaml.safe_load((repository / "resources/claims.yaml").read_text())
    about_seconds = {claim["rule"]["name"] for claim in claims if claim["kind"] == "cost"}
    others = {claim["rule"]["name"] for claim in claims if claim["kind"] != "cost"}
    assert about_seconds
    assert not about_seconds & others
    (deviations,) = (body for _, name, body in rules(repository) if name == "list_deviations")
    assert "timing" not in deviations


def test_every_figure_has_a_caption(repository):
    captions = {path.stem for path in (repository / "workflow/report").glob("*_*.rst")}
    assert captions == set(FIGURES)


@pytest.mark.parametrize("word", ["/" + "work/", "/" + "farm/", "index" + "-url"])
def test_no_machine_path_and_no_registry_in_the_tree(repository, word):
    # Folders that tools and runs make; .gitignore keeps them out of the repository.
    made = {"results", "data", "build", "dist"}
    found = [
        str(path.relative_to(repository))
        for top in repository.iterdir()
        if top.name not in made and (top.is_file() or top.name == ".ci" or top.name[0] != ".")
        for path in ([top] if top.is_file() else top.rglob("*"))
        if path.is_file() and path.suffix in {".py", ".md", ".smk", ".yaml", ".toml", ".rst", ""}
        if "__pycache__" not in path.parts and word in path.read_text(errors="ignore")
    ]
    assert found == []
