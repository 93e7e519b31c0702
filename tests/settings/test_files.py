"""A configuration file is read as it looks, or refused in one line that says where and why."""

import json
import os

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from snakemake.utils import update_config

from replication.settings import ConfigError, load_config
from replication.settings.files import ConfigFileError


def load(folder, content, name="own.yaml", base=None):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    files = [path]
    if base is not None:
        files.insert(0, folder / "base.yaml")
        files[0].write_text(base)
    return load_config(files)


REFUSED = {
    "key twice": ("seed: 1\nrun: a\nseed: 2\n", 3, "'seed' stands twice, on lines 1 and 3"),
    "key twice below": (
        "a:\n  b: {c: 1,\n    c: 2}\n",
        3,
        "'a.b.c' stands twice, on lines 2 and 3",
    ),
    "key twice in a list": ("a: [{b: 1, b: 2}]", 1, r"'a\[0\].b' stands twice"),
    "empty": ("", None, "nothing at the top level"),
    "comments": ("# seed: 1\n", None, "nothing at the top level"),
    "list": ("- a\n", None, "a list at the top level"),
    "word": ("smoke\n", None, "one word at the top level"),
    "two documents": ("seed: 1\n---\nseed: 2\n", 2, "single document"),
    "UTF-16": ("seed: 1\n".encode("utf-16"), None, "UTF-16; save it as UTF-8"),
    "latin-1": ("a: 1\nrun: smöke\n".encode("latin-1"), 2, "not encoded in UTF-8 .byte 0xf6"),
    "NUL": ("a: 1\nseed: 2\x00\n", 2, "a character that text cannot have, #x0000"),
    "half a character": (r'a: "\ud83d"', 1, "half a character"),
    "tab": ("a:\n\tb: 1\n", 2, "a tab"),
    "open bracket": ("run: [\n", 2, "expected the node content"),
    "two colons": ("a: b: c\n", 1, "mapping values are not allowed here"),
    "tag that makes objects": ("a: !!python/object/apply:os.getcwd []\n", 1, "python/object.*not"),
    "tag of our own": ("a: !mine 1\n", 1, "tag '!mine' is not known"),
    "set": ("a: !!set {b, c}\n", 1, "set' is not known"),
    "bytes": ("a: !!binary aGk=\n", 1, "binary' is not known"),
    "alias": ("a: &x [1]\nb: *x\n", 2, "'x' is an alias"),
    "alias of itself": ("a: &x {b: *x}\n", 1, "'x' is an alias"),
    "merge key": ("<<: {a: 1}\n", 1, "'<<'"),
    "deep": ("a: " + "[" * 3000 + "]" * 3000, 1, "more than 40 lists"),
    "deep JSON": ('{"a": ' * 3000 + "1" + "}" * 3000, 1, "more than 40 lists"),
    "large": ("a: 1 #" + "x" * 1_000_000, None, "1,000,000 bytes"),
    "key on": ("a: {on: 2}\n", 1, "a key of a: 'on' may be read as True"),
    "key 1": ("1: 2\n", 1, "key '1' is read as 1; put it into quotes"),
    "key null": ("null: 2\n", 1, "key 'null' is read as None"),
    "key a list": ("? [a]\n: 2\n", 1, "the key .a list"),
    "on": ("a: on\n", 1, "a: 'on' may be read as True or False; write true or false, or put"),
    "trial": ("a: {b: [x, 02_01]}\n", 1, r"a.b\[1\]: '02_01' may be read as a number"),
    "octal": ("seed: 010\n", 1, "'010'.*write a decimal number"),
    "hexadecimal": ("seed: 0x10\n", 1, "'0x10'.*write a decimal number"),
    "minutes": ("seed: 1:30\n", 1, "'1:30'.*write a decimal number"),
    "date": ("run: 2016-01-01\n", 1, "'2016-01-01'.*put a text into quotes"),
    "digits without end": ("seed: " + "9" * 5000, 1, "seed: '9{12}[.]{3}9{12,13}' may"),
    "exponent": ("a: 1e-3\n", 1, "a: '1e-3' is read as a text; write 1.0e-3$"),
    "exponent with a point": ("a: -.5E3\n", 1, r"write -0\.5e\+3$"),
    "exponent of a float": ("a: 2.e5\n", 1, r"write 2\.0e\+5$"),
    "number of a tag": ("a: !!int 1_0\n", 1, "'1_0' may"),
}


@pytest.mark.parametrize(("content", "line", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_with_a_file_is_said_in_a_line(tmp_path, content, line, reason):
    with pytest.raises(ConfigFileError, match=reason) as caught:
        load(tmp_path, content)
    place = f"{tmp_path / 'own.yaml'}" + (f", line {line}" if line else "")
    assert str(caught.value).startswith(f"{place}: ")
    assert "\n" not in str(caught.value)
    assert len(caught.value.reason) < 200
    assert (caught.value.path, caught.value.line) == (tmp_path / "own.yaml", line)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.yaml", "No such file"),
        (".", "a folder or a device"),
        (os.devnull, "a folder or a device"),
        ("a\0b", "null"),
        ("x" * 300, "too long"),
    ],
)
def test_what_is_no_file_is_said(tmp_path, name, reason):
    with pytest.raises(ConfigError, match=reason) as caught:
        load_config([tmp_path / name])
    assert str(caught.value).count(": ") == 1  # after the name, once


def test_a_name_of_two_lines_is_shown_in_one(tmp_path):
    with pytest.raises(ConfigError, match=r"b\\nc.yaml': No such file"):
        load_config([tmp_path / "b\nc.yaml"])


@pytest.mark.parametrize("change", ["", "[]", "all", "3"])
def test_a_section_stays_one(tmp_path, change):
    with pytest.raises(ConfigFileError, match=r"own.yaml: 'a.b' is .*; it has keys .*: c, d$"):
        load(tmp_path, f"a:\n  b: {change}\n", base="a: {b: {c: 1, d: 2}}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[true, False, 7, -7, +7, 0]", [True, False, 7, -7, 7, 0]),
        ("[0.5, .5, 1., 1.0e-3, 2.5E+3]", [0.5, 0.5, 1.0, 1e-3, 2500.0]),
        ('["02_01", "on", \'1e-3\', "2016-01-01"]', ["02_01", "on", "1e-3", "2016-01-01"]),
        ("[a b, ünï, T01_bark1, ../x, 08, '']", ["a b", "ünï", "T01_bark1", "../x", "08", ""]),
        ("!!str 12", "12"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_plain_values_are_read_as_they_look(tmp_path, text, value):
    found = load(tmp_path, f"a: {text}\n")["a"]
    assert found == value
    assert [type(item) for item in found] == [type(item) for item in value]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_a_byte_order_mark_change_nothing(tmp_path, ends, mark):
    text = f"seed: 1{ends}run: ü{ends}".encode()
    assert load(tmp_path, mark + text) == {"seed": 1, "run": "ü"}


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_json_is_read_by_the_same_rules(tmp_path, indent):
    content = {"run": 'ünï 😀 \\ " /', "C": [1e-3, 1e5, 1e22, 0.1], "a": {"b": True, "c": -1}}
    for escaped in (True, False):
        text = json.dumps(content, indent=indent, ensure_ascii=escaped)
        assert load(tmp_path, text, "own.json") == content
    with pytest.raises(ConfigFileError, match="'a' stands twice"):
        load(tmp_path, '{"a": 1, "a": 2}')
    # No number, and so for the check to refuse where one is wanted.
    assert load(tmp_path, '{"a": [NaN, Infinity]}') == {"a": ["NaN", "Infinity"]}


plain = st.one_of(
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\ufeff"), max_size=8),
    st.sampled_from(["on", "02_01", "1e-3", "2016-01-01", "~", "1:30", "null", "<<", "="]),
)
keys = st.text("abc_ -é:#", min_size=1, max_size=4)
trees = st.dictionaries(
    keys,
    st.recursive(
        plain,
        lambda part: st.lists(part, max_size=3) | st.dictionaries(keys, part, max_size=3),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40, deadline=None)
@given(content=trees)
def test_what_json_writes_is_read_again(tmp_path_factory, content):
    """The whole configuration is handed on in such a file, which all must read alike."""
    found = load(tmp_path_factory.getbasetemp(), json.dumps(content), "own.json")
    assert repr(found) == repr(content)


def test_no_code_of_a_file_is_run(tmp_path):
    text = "__use_yte__: true\nseed: ?__import__('os').mkdir('made')\n"
    assert load(tmp_path, text)["seed"].startswith("?__import__")
    assert not (tmp_path / "made").exists()


def test_a_tilde_that_begins_a_path_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    found = load(tmp_path, "{archives: ~/a, faces: {dictionary: {file: ~/d.mat}}, run: ~/r}")
    assert found["archives"] == f"{tmp_path}/a"
    assert found["faces"]["dictionary"]["file"] == f"{tmp_path}/d.mat"
    assert found["run"] == "~/r"
    with pytest.raises(ConfigFileError, match="'archives': there is no home folder for '~nobody9/"):
        load(tmp_path, "archives: ~nobody9/a")


def test_files_are_merged_as_snakemake_does(repository):
    shipped = sorted((repository / "configs").glob("*.yaml"))
    assert {path.name for path in shipped} >= {"smoke.yaml", "paper.yaml"}
    for overlay in shipped:
        files = [repository / "config.yaml", overlay]
        overrides = {"archives": "a b", "datasets": {"cal500": {"enabled": False}}}
        expected = {}
        for changes in (*(yaml.safe_load(path.read_text()) for path in files), overrides):
            update_config(expected, changes)
        for experiment in expected["experiments"].values():
            variants = experiment.get("sensitivity", {"variants": {}})["variants"]
            for name in [name for name in variants if variants[name] is None]:
                del variants[name]
        assert load_config(files, overrides) == expected


def test_later_files_win_and_a_null_variant_is_left_out(tmp_path):
    variants = "experiments: {faces: {sensitivity: {variants: %s}}}\n"
    merged = load(
        tmp_path,
        "a: {b: 2}\n" + variants % "{x: null, y: {k: 3}, z: null}",
        base="a: {b: 1, c: 1}\n" + variants % "{x: {k: 1}, y: {j: 1, k: 1}}",
    )
    assert merged["a"] == {"b": 2, "c": 1}
    assert merged["experiments"]["faces"]["sensitivity"]["variants"] == {"y": {"j": 1, "k": 3}}
