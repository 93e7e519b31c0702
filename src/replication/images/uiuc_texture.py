"""The UIUC texture database: 25 classes of 40 grey photographs, ``T01_bark1/T01_01.jpg``."""

from __future__ import annotations

import re
from pathlib import Path

from replication.data.catalog import DataSet
from replication.data.images import ImageFileError, load_grey
from replication.images.classes import TEXTURE_CLASSES as CLASSES

__all__ = ["CLASSES", "DATASET"]

_IMAGE = re.compile(r"(?P<label>(?P<number>T\d\d)_\w+)/(?P<id>(?P=number)_\d\d)\.(jpg|JPG)")


def _identify(file: str) -> tuple[str, str] | None:
    match = _IMAGE.fullmatch(file)
    if match is None or match["label"] not in CLASSES:
        return None
    return match["id"], match["label"]


def _fault_of(path: Path) -> str | None:
    try:
        load_grey(path)
    except ImageFileError as error:
        return error.fault
    return None


DATASET = DataSet(
    name="uiuc_texture",
    items="images",
    identify=_identify,
    fault_of=_fault_of,
    max_archive_bytes=1 << 30,
)
"""The published archives hold about 50 MB each."""
