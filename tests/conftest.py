import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the checkout."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_archives() -> Path:
    """Return the folder of the published archives, or skip."""
    folder = os.environ.get("REPLICATION_ARCHIVES")
    if not folder:
        pytest.skip("no real data")
    return Path(folder)
