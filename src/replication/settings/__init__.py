"""Check a configuration against its schema and say what is wrong in a user's words."""

from __future__ import annotations

import difflib
import functools
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError

from replication.settings.files import ConfigError, leave_out_variants, load_config, plain_value
from replication.settings.rules import Counts, check_counts, check_rules, count_members, shown

__all__ = [
    "ConfigError",
    "Counts",
    "check_config",
    "check_counts",
    "count_members",
    "load_config",
    "repeat_blocks",
    "share_sources",
    "svm_blocks",
]


def check_config(config: dict[str, Any]) -> None:
    """Raise an error that lists every fault of a configuration.

    Snakemake hands over nested values of its command line as text. A word that stands where the
    schema wants a number or truth value is read as in a file, in place. A variant of a sensitivity
    study whose value is ``null`` is left out, in place.

    Parameters
    ----------
    config : dict
        The merged configuration, see :func:`load_config`; what each value may be is in
        :mod:`replication.settings.schema`.

    Raises
    ------
    ConfigError
        One line a fault: the key with its full path, its value and what is allowed there; for an
        unknown key the nearest known one. Where a part fits the schema, also what does not fit
        together, see :mod:`replication.settings.rules`.
    """
    leave_out_variants(config)
    validator = _validator()
    for error in validator.iter_errors(config):
        if error.validator == "type" and isinstance(error.instance, str):
            _replace(config, list(error.absolute_path), plain_value(error.instance))
    errors = sorted(validator.iter_errors(config), key=lambda error: error.json_path)
    faults = [line for error in errors for line in _describe(error)]
    faults += check_rules(config, [list(map(str, error.absolute_path)) for error in errors])
    if faults:
        lines = dict.fromkeys(faults)
        raise ConfigError("the configuration is not valid:\n" + "\n".join(f"  {f}" for f in lines))


@functools.cache
def _validator() -> Any:
    # Only who checks a configuration pays for the import of pydantic.
    from replication.settings.schema import json_schema

    return _VALIDATOR(json_schema())


def _replace(config: Any, path: Sequence[str | int], value: Any) -> None:
    """Set the value at a path of nested mappings and lists."""
    for key in path[:-1]:
        config = config[key]
    config[path[-1]] = value


def repeat_blocks(repeats: int, size: int) -> list[tuple[int, int]]:
    """Split repetitions into blocks, each computed by one job.

    Parameters
    ----------
    repeats : int
        Number of repetitions, counted from 0.
    size : int
        Repetitions in a block; the last block may hold fewer.

    Returns
    -------
    list of (first, last)
        First and last repetition of each block.

    Examples
    --------
    >>> repeat_blocks(5, 2)
    [(0, 1), (2, 3), (4, 4)]
    """
    return [(first, min(first + size, repeats) - 1) for first in range(0, repeats, size)]


def svm_blocks(svm: Mapping[str, Any]) -> dict[str, list[str]]:
    """Name the blocks of repetitions of the support vector machines, and the kernels of each.

    The paper's kernels, those beyond it, and those of which a repetition takes longest have
    numbers of repetitions of their own.

    Parameters
    ----------
    svm : mapping
        ``experiments.<name>.svm`` of the configuration.

    Returns
    -------
    dict of str to list of str
        Kernels by name of the file.

    Examples
    --------
    >>> svm_blocks(
    ...     {
    ...         "paper_methods": ["linear"],
    ...         "paper_repeats": 7,
    ...         "extra_methods": ["polynomial"],
    ...         "extra_repeats": 2,
    ...         "slow_methods": ["sw_mean_gaussian"],
    ...         "slow_repeats": 2,
    ...         "block": 5,
    ...         "slow_block": 1,
    ...     }
    ... )  # doctest: +NORMALIZE_WHITESPACE
    {'svm_paper_0-4.csv': ['linear'], 'svm_paper_5-6.csv': ['linear'],
     'svm_extra_0-1.csv': ['polynomial'],
     'svm_slow_0-0.csv': ['sw_mean_gaussian'], 'svm_slow_1-1.csv': ['sw_mean_gaussian']}
    """
    sizes = {"paper": svm["block"], "extra": svm["block"], "slow": svm["slow_block"]}
    return {
        f"svm_{part}_{first}-{last}.csv": list(svm[f"{part}_methods"])
        for part, size in sizes.items()
        if svm[f"{part}_methods"]
        for first, last in repeat_blocks(svm[f"{part}_repeats"], size)
    }


def share_sources(root: str | os.PathLike[str]) -> None:
    """Let every job import the packages of a checkout, those in conda environments too.

    Parameters
    ----------
    root : path-like
        The checkout; its ``src`` is put in front of ``PYTHONPATH``, which jobs inherit.
    """
    paths = [str(Path(root) / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def _is_integer(checker: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(checker: Any, value: Any) -> bool:
    return _is_integer(checker, value) or (isinstance(value, float) and math.isfinite(value))


def _fit_pattern(
    validator: Any, pattern: str, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    # "$" would let a line feed pass.
    if isinstance(value, str) and not re.fullmatch(pattern, value):
        yield ValidationError("pattern")


def _fit_order(
    validator: Any, order: str, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(value, list) or not all(_is_number(None, item) for item in value):
        return
    pairs = pairwise(value if order == "ascending" else value[::-1])
    # Names are made of six digits of a number.
    if any(low >= high or f"{low:g}" == f"{high:g}" for low, high in pairs):
        yield ValidationError("order")


_VALIDATOR: Any = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {"pattern": _fit_pattern, "order": _fit_order},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": _is_integer, "number": _is_number}
    ),
)


def _describe(error: ValidationError) -> Iterator[str]:
    """Yield the faults behind one schema violation, a line each."""
    # jsonschema types these as unions with "unset", which a raised error never has.
    schema: Any = error.schema
    expected: Any = error.validator_value
    found: Any = error.instance
    place = _place(error.absolute_path)
    prefix = f"{place}." if place else ""
    if error.validator == "additionalProperties":
        known = sorted(schema["properties"])
        for key in sorted(set(found) - set(known), key=str):
            hint = _nearest(str(key), known, prefix)
            yield f"{prefix + str(key)!r} is not a known key; allowed: {', '.join(known)}{hint}"
    elif error.validator == "required":
        for key in expected:
            if key not in found:
                yield f"{prefix + key!r} is missing"
    elif "propertyNames" in error.absolute_schema_path:
        yield f"{place!r} has the key {shown(found)}; allowed: {_allowed(schema)}"
    else:
        if error.validator == "enum" and isinstance(found, str):
            hint = _nearest(str(found), [str(value) for value in expected])
        else:
            hint = "; put a text into quotes" if schema.get("type") == "string" else ""
        place = repr(place) if place else "the configuration"
        yield f"{place} is {shown(found)}; allowed: {_allowed(schema)}{hint}"


def _place(path: Iterable[str | int]) -> str:
    """Write a path of keys and numbers in lists, as in ``a.b[0]``."""
    parts = (
        f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part!r}]"
        for part in path
    )
    return "".join(parts).removeprefix(".")


def _allowed(schema: Mapping[str, Any]) -> str:
    """Say in words what a part of the schema allows."""
    kind = schema.get("type")
    if "enum" in schema:
        text = ", ".join(map(str, schema["enum"]))
    elif kind == "boolean":
        text = "true or false"
    elif kind in ("integer", "number"):
        parts = {1: "", 2: "even "}
        factor = schema.get("multipleOf", 1)
        text = f"{parts.get(factor, '')}{'whole ' if kind == 'integer' else ''}numbers"
        text += f" from {schema['minimum']:g} to {schema['maximum']:.10g}"
        text += f", multiples of {factor}" if factor not in parts else ""
    elif kind == "array":
        order = schema.get("order", "each once" if schema.get("uniqueItems") else "")
        sizes = sorted({schema.get("minItems", 0), schema["maxItems"]})
        text = f"a list of {' to '.join(map(str, sizes))}" + (f", {order}" if order else "")
    elif kind == "object":
        text = "keys: " + ", ".join(schema.get("properties", {})) if "properties" in schema else ""
        text = text or "keys and values"
    else:
        text = f"a text of at most {schema['maxLength']} characters" if kind == "string" else ""
    meaning = schema.get("description", "")
    return f"{text} ({meaning})" if text and meaning else text or meaning


def _nearest(word: str, known: Sequence[str], prefix: str = "") -> str:
    """Suggest the known word that looks most like a wrong one, if any does."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {prefix + near[0]!r}?" if near else ""
