"""Check a configuration against its closed schema and say what is wrong in a user's words."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from replication.config_files import ConfigError, leave_out_variants, load_config

__all__ = [
    "ConfigError",
    "check_config",
    "load_config",
    "repeat_blocks",
    "share_sources",
    "svm_blocks",
]


def check_config(config: dict[str, Any], schema: str | Path) -> None:
    """Raise an error that lists every fault of a configuration.

    Snakemake hands over values of its command line as text (``--config allow_subset=true``). Text
    that stands where the schema wants something else is read as YAML, in place. Files are merged
    key by key and so can only add variants to a sensitivity study; one whose value is ``null`` is
    left out, in place.

    Parameters
    ----------
    config : dict
        The merged configuration as Snakemake passes it.
    schema : path-like
        A JSON schema in YAML (draft 2020-12), closed by ``additionalProperties: false``.

    Raises
    ------
    ConfigError
        One line a fault: the key with its full path, what is allowed there, and for an unknown
        key the nearest known one; a kernel that stands in two of an experiment's lists of
        kernels, with the lists.
    """
    leave_out_variants(config)
    rules = yaml.safe_load(Path(schema).read_text(encoding="utf-8"))
    validator = Draft202012Validator(rules)
    for error in validator.iter_errors(config):
        if error.validator == "type" and isinstance(error.instance, str):
            _replace(config, list(error.absolute_path), yaml.safe_load(error.instance))
    errors = sorted(validator.iter_errors(config), key=lambda error: error.json_path)
    faults = [line for error in errors for line in _describe(error)]
    faults += _kernels_in_two_lists(config)
    if faults:
        raise ConfigError("the configuration is not valid:\n" + "\n".join(f"  {f}" for f in faults))


def _kernels_in_two_lists(config: Any) -> list[str]:
    """Name the kernels that would be scored twice, each time with a row of its own."""
    faults = []
    # Whatever is not as the schema wants it is for the schema to say.
    with suppress(AttributeError, KeyError, TypeError):
        for experiment, parts in config["experiments"].items():
            if "svm" not in parts:
                continue
            lists_of: dict[str, list[str]] = {}
            for name in ("paper_methods", "extra_methods", "slow_methods"):
                for kernel in dict.fromkeys(parts["svm"][name]):
                    lists_of.setdefault(kernel, []).append(name)
            faults += [
                f"'experiments.{experiment}.svm': kernel {kernel!r} is in "
                f"{' and in '.join(names)}; it belongs in one of them"
                for kernel, names in lists_of.items()
                if len(names) > 1
            ]
    return faults


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


def _describe(error: ValidationError) -> Iterator[str]:
    """Yield the faults behind one schema violation, a line each."""
    # jsonschema types these as unions with "unset", which a raised error never has.
    schema: Any = error.schema
    allowed: Any = error.validator_value
    found: Any = error.instance
    place = error.json_path.removeprefix("$").removeprefix(".")
    prefix = f"{place}." if place else ""
    if error.validator == "additionalProperties":
        known = sorted(schema["properties"])
        for key in sorted(set(found) - set(known), key=str):
            hint = _nearest(str(key), known, prefix)
            yield f"{prefix + str(key)!r} is not a known key; allowed: {', '.join(known)}{hint}"
    elif error.validator == "required":
        for key in allowed:
            if key not in found:
                yield f"{prefix + key!r} is missing"
    elif error.validator == "enum":
        names = [str(value) for value in allowed]
        yield f"{place!r} is {found!r}; allowed: {', '.join(names)}{_nearest(str(found), names)}"
    else:
        meaning = schema.get("description", "")
        yield f"{place!r}: {error.message}" + (f" ({meaning})" if meaning else "")


def _nearest(word: str, known: Sequence[str], prefix: str = "") -> str:
    """Suggest the known word that looks most like a wrong one, if any does."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {prefix + near[0]!r}?" if near else ""
