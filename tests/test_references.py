"""What docstrings and comments point to exists: modules, names in them, files, rules."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src"
ROLE = re.compile(r":(?:func|mod|data|class|meth|attr|exc):`~?([\w.]+)`")
FILE = re.compile(r"\b(?:workflow|resources|configs)/[\w./-]*\.\w+")
RULE = re.compile(r"\brules? ``(\w+)``(?:\s+and\s+``(\w+)``)?")


def resolves(reference, module, text):
    """Whether a name is one of the module, of a class in it, of its package, or imported."""
    if reference.endswith("_") and re.search(rf"^ +{reference} : ", text, re.MULTILINE):
        return True  # what an estimator learns stands in its docstring only
    package = module.__name__ if hasattr(module, "__path__") else module.__package__
    classes = [value.__name__ for value in vars(module).values() if isinstance(value, type)]
    places = [package] if reference.startswith(".") else ["", "builtins", package, module.__name__]
    places += [f"{module.__name__}.{name}" for name in classes]
    return any(exists(f"{place}.{reference.lstrip('.')}".lstrip(".")) for place in places)


def exists(name):
    owner, _, last = name.rpartition(".")
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        # A field of a dataclass has no value in its class.
        try:
            return last in pkgutil.resolve_name(owner).__annotations__
        except (ImportError, AttributeError, ValueError):
            return False
    return True


@pytest.mark.parametrize(
    "path", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES))
)
def test_what_is_named_is_there(path, repository):
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(SOURCES).with_suffix("").parts
    if parts[-1] != "__main__":
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
        assert not [
            name for name in sorted({*ROLE.findall(text)}) if not resolves(name, module, text)
        ]
    assert not [name for name in sorted({*FILE.findall(text)}) if not (repository / name).exists()]
    rules = "".join(file.read_text() for file in (repository / "workflow").rglob("*.smk"))
    named = {name for pair in RULE.findall(text) for name in pair if name}
    assert not [name for name in sorted(named) if f"rule {name}:" not in rules]
