"""What a script is made of: bounded from below by what it holds, from above by the import graph."""

import ast
import functools
import importlib

import grimp
import pytest

from replication import dependencies
from replication.dependencies import PLUMBING, code_digest, modules_of
from replication.registry import DATASETS, FIGURES, TABLES, standin_of

PACKAGES = ("replication", "sliced_wasserstein", "vhem")


@pytest.fixture(scope="module")
def scripts(repository):
    return sorted((repository / "workflow/scripts").rglob("*.py"))


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def ours(module):
    return module is not None and module.partition(".")[0] in PACKAGES


def statements(script):
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(script.read_text()))
        if isinstance(node, ast.ImportFrom) and ours(node.module)
        for alias in node.names
    ]


def test_no_module_is_left_out(scripts):
    """Every function and class that a module holds comes from a module that counts."""
    for script in scripts:
        found = modules_of(script)
        held = [getattr(importlib.import_module(m), name) for m, name in statements(script)]
        for module in found:
            held += vars(importlib.import_module(module)).values()
        owners = {getattr(each, "__module__", None) for each in held if callable(each)}
        assert {o for o in owners if isinstance(o, str) and ours(o)} <= {*found, *PLUMBING}, script


def test_no_module_is_added(scripts, graph):
    for script in scripts:
        roots = {m if m in graph.modules else m.rpartition(".")[0] for m, _ in statements(script)}
        roots |= {f"{m}.{name}" for m, name in statements(script)} & graph.modules
        above = set().union(*(graph.find_upstream_modules(root) for root in roots)) | roots
        assert set(modules_of(script)) <= above, script


def test_plumbing_is_there_and_counts_for_nothing(scripts):
    assert all(dependencies._file(name) for name in PLUMBING)
    assert not set().union(*map(modules_of, scripts)) & set(PLUMBING)


def test_modules_that_are_named_in_the_registry_exist():
    exhibits = [*FIGURES.values(), *TABLES.values()]
    for module in [*DATASETS.values(), *map(standin_of, DATASETS), *(e.module for e in exhibits)]:
        assert module in modules_of(module)
    for exhibit in exhibits:
        assert callable(getattr(importlib.import_module(exhibit.module), exhibit.function))


def test_an_edit_changes_the_digest_of_what_uses_it_and_of_nothing_else(scripts, monkeypatch):
    before = {script: code_digest(script) for script in scripts}
    read, edited = functools.cache(dependencies._read), {}
    monkeypatch.setattr(dependencies, "_read", lambda path: edited.get(path) or read(path))
    # An edit below changes no import.
    monkeypatch.setattr(dependencies, "_imported", functools.cache(dependencies._imported))
    users = {script: set(modules_of(script)) for script in scripts}
    for module in sorted(m for m in set().union(*users.values()) if m.startswith("replication.")):
        path = modules_of(module)[module]
        edited = {path: read(path)._replace(deeds=f"{read(path).deeds}\n_EDITED = 1")}
        changed = {script for script in scripts if code_digest(script) != before[script]}
        assert changed == {script for script in scripts if module in users[script]}, module


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('"""Another."""\n\n# A remark.\nX = 1\n\n\ndef f():\n    return (X)\n', True),
        ('"""Doc."""\nX = 1\ndef f():\n    """Doc."""\n    return X\n"""About f."""\n', True),
        ('"""Doc."""\nX = 2\ndef f():\n    return X\n', False),
        ('"""Doc."""\nX = 1\ndef f(): return X\nimport sys\n', False),
    ],
)
def test_deeds_count_and_words_do_not(tmp_path, text, same):
    script = tmp_path / "script.py"
    script.write_text('"""Doc."""\nX = 1\ndef f():\n    return X\n')
    before = code_digest(script)
    script.write_text(text)
    assert (code_digest(script) == before) is same


def test_a_name_that_is_passed_on_leads_to_where_it_is_defined(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from sliced_wasserstein import SlicedWassersteinEmbedding\n")
    assert "sliced_wasserstein.embedding" in modules_of(script)
    assert not {"sliced_wasserstein", "sliced_wasserstein.clustering"} & set(modules_of(script))


def test_an_import_that_leads_nowhere_is_an_error(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import replication.nowhere\n")
    with pytest.raises(ValueError, match=r"no module 'replication\.nowhere'"):
        modules_of(script)
