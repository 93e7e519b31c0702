"""The UIUC texture database: 25 classes of 40 grey photographs, ``T01_bark1/T01_01.jpg``."""

from __future__ import annotations

import re
from pathlib import Path

from replication.data.catalog import DataSet
from replication.data.images import ImageFileError, load_grey

__all__ = ["CLASSES", "DATASET"]

CLASSES = (
    "T01_bark1",
    "T02_bark2",
    "T03_bark3",
    "T04_wood1",
    "T05_wood2",
    "T06_wood3",
    "T07_water",
    "T08_granite",
    "T09_marble",
    "T10_floor1",
    "T11_floor2",
    "T12_pebbles",
    "T13_wall",
    "T14_brick1",
    "T15_brick2",
    "T16_glass1",
    "T17_glass2",
    "T18_carpet1",
    "T19_carpet2",
    "T20_upholstery",
    "T21_wallpaper",
    "T22_fur",
    "T23_knit",
    "T24_corduroy",
    "T25_plaid",
)
"""The published folders."""

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
