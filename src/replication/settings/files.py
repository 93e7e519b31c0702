"""Read configuration files without surprises: no code, no key twice, no value that YAML twists.

What YAML reads in another way than it looks (``02_01`` is the number 201, ``1e-3`` is a text) is
refused with what to write, so that every YAML reader agrees on what is accepted. JSON files are
read by the same rules.
"""

from __future__ import annotations

import json
import os
import re
import reprlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import yaml

__all__ = ["ConfigError", "ConfigFileError", "load_config", "plain_value"]

#: Bytes of the largest file; the longest of our own has 16 thousand.
_LARGEST = 1_000_000
#: Mappings and lists within each other; our own go to nine.
_DEEPEST = 40
#: Keys whose texts are paths, wherever they stand.
_PATHS = ("archives", "file")
_YAML = "tag:yaml.org,2002:"
#: What a plain word of each kind may look like. YAML 1.1 reads more than that: 010 is 8, 1:30 is
#: 90, 02_01 is 201, and ``on`` is true.
_KINDS = {
    "null": re.compile(r"~|null|Null|NULL|"),
    "bool": re.compile(r"[Tt]rue|TRUE|[Ff]alse|FALSE"),
    "int": re.compile(r"[-+]?(0|[1-9][0-9]{0,99})"),
    "float": re.compile(
        r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]{1,9})?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
}
#: A number for everybody but YAML 1.1, which wants a point and the exponent's sign.
_EXPONENT = re.compile(r"([-+]?)([0-9]*)(\.[0-9]*)?[eE]([-+]?)([0-9]{1,9})")


class ConfigError(ValueError):
    """The configuration is not one; the message lists every fault."""


class ConfigFileError(ConfigError):
    """A configuration file cannot be read; with its ``path``, the ``line`` if known, ``reason``."""

    def __init__(self, path: str | os.PathLike[str], reason: str, line: int | None = None) -> None:
        self.path, self.reason, self.line = Path(path), reason, line
        name = str(path) if str(path).isprintable() else repr(str(path))
        super().__init__(f"{name}{f', line {line}' if line else ''}: {reason}")


def load_config(
    files: Iterable[str | os.PathLike[str]], overrides: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Read configuration files and merge them key by key; later ones win.

    Parameters
    ----------
    files : iterable of path-like
        YAML or JSON files in UTF-8, the one with all keys first.
    overrides : mapping, optional
        What the command line says, which wins over all files.

    Returns
    -------
    dict
        Plain mappings, lists, texts, numbers and truth values, as Snakemake would merge them. A
        variant of a sensitivity study whose value is ``null`` is left out. A tilde that begins a
        path stands for the home folder.

    Raises
    ------
    ConfigFileError
        The file cannot be read; its name, the line and what to write instead.
    """
    merged: dict[str, Any] = {}
    for path in files:
        _merge(merged, _read(Path(path)), path)
    if overrides:
        _merge(merged, overrides, "command line")
    leave_out_variants(merged)
    return merged


def leave_out_variants(config: Any) -> None:
    """Drop the variants of sensitivity studies that are ``null``, in place.

    Files are merged key by key and so can only add variants.
    """
    # Whatever is not as the schema wants it is for the schema to say.
    with suppress(AttributeError, KeyError, TypeError):
        for experiment in config["experiments"].values():
            variants = experiment.get("sensitivity", {}).get("variants", {})
            for name in [name for name, changes in variants.items() if changes is None]:
                del variants[name]


def plain_value(text: str) -> Any:
    """Read one word as a configuration file would; what is no number or truth value stays text."""
    for kind in ("bool", "int", "float"):
        if _KINDS[kind].fullmatch(text):
            return yaml.safe_load(text)
    return text


def _merge(
    merged: dict[str, Any], changes: Mapping[str, Any], path: str | os.PathLike[str], at: str = ""
) -> None:
    for key, value in changes.items():
        place, old = at + key, merged.get(key)
        if isinstance(value, Mapping):
            if not isinstance(old, dict):
                old = merged[key] = {}
            _merge(old, value, path, f"{place}.")
        elif isinstance(old, dict) and not (value is None and at.endswith(".variants.")):
            found = "is empty" if value is None else f"is {reprlib.repr(value)}"
            raise ConfigFileError(path, f"{place!r} {found}; it has keys of its own: {_some(old)}")
        elif key in _PATHS and isinstance(value, str):
            try:
                merged[key] = str(Path(value).expanduser()) if value.startswith("~") else value
            except RuntimeError:
                fault = f"{place!r}: there is no home folder for {value!r}"
                raise ConfigFileError(path, fault) from None
        else:
            merged[key] = value


def _some(keys: Iterable[str]) -> str:
    keys = list(keys)
    return ", ".join(keys[:4]) + (", ..." if len(keys) > 4 else "")


def _read(path: Path) -> dict[str, Any]:
    """Read one file."""
    text = _decode(path)
    is_json = _is_json(text)
    try:
        # JSON allows tabs between its parts, and none within its texts.
        node = _Loader(text.replace("\t", " ") if is_json else text).get_single_node()
        content = None if node is None else _value(node, "", is_json)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigFileError(path, _reason(error), mark.line + 1 if mark else None) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"a character that text cannot have, #x{error.character:04x}"
        raise ConfigFileError(path, reason, line) from None
    if not isinstance(content, dict) or not content:
        found = "nothing" if not content else "a list" if isinstance(content, list) else "one word"
        raise ConfigFileError(path, f"{found} at the top level; lines such as 'seed: 1' are wanted")
    return content


def _decode(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise ConfigFileError(path, "is a folder or a device, not a file")
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigFileError(path, error.strerror or str(error)) from None
    except ConfigFileError:
        raise
    except ValueError as error:
        # A name with a NUL.
        raise ConfigFileError(path, str(error)) from None
    if len(content) > _LARGEST:
        raise ConfigFileError(path, f"has more than {_LARGEST:,} bytes; it is no configuration")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigFileError(path, "is encoded in UTF-16; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"is not encoded in UTF-8 (byte 0x{content[error.start]:02x}); save it as UTF-8"
        raise ConfigFileError(path, reason, line) from None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _reason(error: yaml.MarkedYAMLError) -> str:
    """Say in one line what YAML says in several."""
    if "'\\t'" in str(error.problem):
        return "a tab; use blanks"
    return ", ".join(part for part in (error.context, error.problem) if part)


class _Loader(yaml.SafeLoader):
    """Composes nodes, bounded in depth and without aliases, which could multiply without bound."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            _refuse(event, f"{event.anchor!r} is an alias of another place; write its value out")
        if self.depth >= _DEEPEST:
            _refuse(event, f"more than {_DEEPEST} lists or keys within each other")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _refuse(place: Any, reason: str) -> NoReturn:
    """Raise an error at a node or event of YAML."""
    raise yaml.MarkedYAMLError(problem=reason, problem_mark=place.start_mark)


def _shown(node: yaml.Node) -> str:
    return reprlib.repr(node.value) if isinstance(node, yaml.ScalarNode) else "(a list or section)"


def _joined(node: yaml.ScalarNode) -> str:
    """Return a text; JSON escapes characters beyond 16 bits as two, which YAML leaves apart."""
    try:
        return node.value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        _refuse(node, f"{_shown(node)} holds half a character")


def _value(node: yaml.Node, at: str, is_json: bool) -> Any:
    """Return what a node stands for; ``at`` is its key with the full path, for messages."""
    kind = node.tag.removeprefix(_YAML)
    if isinstance(node, yaml.MappingNode) and kind == "map":
        return _mapping(node, at, is_json)
    if isinstance(node, yaml.SequenceNode) and kind == "seq":
        return [_value(item, f"{at}[{i}]", is_json) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, kind, at, is_json)
    _refuse(node, f"{at}: the tag {node.tag!r} is not known here")


def _mapping(node: yaml.MappingNode, at: str, is_json: bool) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key_node, value_node in node.value:
        key = None
        if isinstance(key_node, yaml.ScalarNode):
            key = _value(key_node, f"a key of {at or 'the top level'}", is_json)
        if not isinstance(key, str):
            read = f"is read as {key!r}; put it into quotes"
            read = read if isinstance(key_node, yaml.ScalarNode) else "is no word"
            _refuse(key_node, f"the key {_shown(key_node)} {read}")
        place, line = f"{at}.{key}" if at else key, key_node.start_mark.line + 1
        if key in mapping:
            _refuse(key_node, f"the key {place!r} stands twice, on lines {lines[key]} and {line}")
        mapping[key], lines[key] = _value(value_node, place, is_json), line
    return mapping


def _scalar(node: yaml.ScalarNode, kind: str, at: str, is_json: bool) -> Any:
    text, shown = node.value, _shown(node)
    exponent = _EXPONENT.fullmatch(text) if node.style is None and kind == "str" else None
    if exponent and (exponent[2] or exponent[3]):
        if is_json:
            return float(text)
        sign, whole, decimals, power_sign, power = exponent.groups()
        decimals = decimals if decimals and decimals != "." else ".0"
        better = f"{sign}{whole or 0}{decimals}e{power_sign or '+'}{power}"
        _refuse(node, f"{at}: {shown} is read as a text; write {better}")
    if kind == "str":
        return _joined(node)
    if kind not in ("null", "bool", "int", "float", "timestamp", "merge", "value"):
        _refuse(node, f"{at}: the tag {node.tag!r} is not known here")
    if kind not in _KINDS or not _KINDS[kind].fullmatch(text):
        wanted = "true or false" if kind == "bool" else "a decimal number"
        read = "True or False" if kind == "bool" else "a number, date or sign"
        reason = f"{shown} may be read as {read}; write {wanted}, or put a text into quotes"
        _refuse(node, f"{at}: {reason}")
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    return int(text) if kind == "int" else yaml.safe_load(text)
