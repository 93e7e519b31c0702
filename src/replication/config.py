"""Check a configuration against its closed schema and say what is wrong in a user's words."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

__all__ = ["ConfigError", "check_config"]


class ConfigError(ValueError):
    """The configuration does not fit the schema; the message lists every fault."""


def check_config(config: Mapping[str, Any], schema: str | Path) -> None:
    """Raise an error that lists every fault of a configuration.

    Parameters
    ----------
    config : mapping
        The merged configuration as Snakemake passes it.
    schema : path-like
        A JSON schema in YAML (draft 2020-12), closed by ``additionalProperties: false``.

    Raises
    ------
    ConfigError
        One line a fault: the key with its full path, what is allowed there, and for an unknown
        key the nearest known one.
    """
    rules = yaml.safe_load(Path(schema).read_text(encoding="utf-8"))
    errors = sorted(
        Draft202012Validator(rules).iter_errors(dict(config)), key=lambda error: error.json_path
    )
    faults = [line for error in errors for line in _describe(error)]
    if faults:
        raise ConfigError("the configuration is not valid:\n" + "\n".join(f"  {f}" for f in faults))


def _describe(error: ValidationError) -> Iterator[str]:
    """Yield the faults behind one schema violation, a line each."""
    place = error.json_path.removeprefix("$").removeprefix(".")
    prefix = f"{place}." if place else ""
    if error.validator == "additionalProperties":
        known = sorted(error.schema["properties"])
        for key in sorted(set(error.instance) - set(known), key=str):
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {prefix + near[0]!r}?" if near else ""
            yield f"{prefix + str(key)!r} is not a known key; allowed: {', '.join(known)}{hint}"
    elif error.validator == "required":
        for key in error.validator_value:
            if key not in error.instance:
                yield f"{prefix + key!r} is missing"
    elif error.validator == "enum":
        allowed = ", ".join(map(str, error.validator_value))
        near = difflib.get_close_matches(str(error.instance), map(str, error.validator_value), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        yield f"{place!r} is {error.instance!r}; allowed: {allowed}{hint}"
    else:
        meaning = error.schema.get("description", "")
        yield f"{place!r}: {error.message}" + (f" ({meaning})" if meaning else "")
