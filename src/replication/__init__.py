"""Data sets, protocols and figures of the two replicated papers."""

import importlib.metadata

_DISTRIBUTION = "distributions-as-data"


def _missing() -> list[str]:
    """Return what the extra ``workflow`` names and is not installed."""
    missing = []
    for line in importlib.metadata.requires(_DISTRIBUTION) or []:
        requirement, _, marker = line.partition(";")
        name = requirement.split(">=")[0].split("[")[0].strip()
        if "extra == 'workflow'" in marker.replace('"', "'"):
            try:
                importlib.metadata.distribution(name)
            except importlib.metadata.PackageNotFoundError:
                missing.append(name)
    return missing


__version__ = importlib.metadata.version(_DISTRIBUTION)

if missing := _missing():
    raise ImportError(
        f"replication needs an extra: pip install '{_DISTRIBUTION}[workflow]' "
        f"(not installed: {', '.join(missing)})"
    )
