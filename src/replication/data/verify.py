"""Compare a folder of archives, packed or unpacked, with the lists of published files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from replication.data.archives import offers
from replication.data.catalog import DataSet, read_checksums, read_published

__all__ = ["Verdict", "verify"]

_SHOWN = 10


@dataclass(frozen=True)
class Verdict:
    """What a folder holds of a data set.

    Parameters
    ----------
    dataset : DataSet
    right, missing : tuple of str
        Listed files that are as published, and those that are not there.
    wrong : tuple of str
        Listed files whose content differs from the published one.
    unlisted : tuple of str
        Files of the data set that its list does not hold.
    """

    dataset: DataSet
    right: tuple[str, ...]
    missing: tuple[str, ...]
    wrong: tuple[str, ...]
    unlisted: tuple[str, ...]

    def describe(self) -> str:
        """Say it in some lines."""
        listed = len(self.right) + len(self.missing) + len(self.wrong)
        if not (self.right or self.wrong or self.unlisted):
            state = "absent"
        elif len(self.right) == listed:
            state = f"complete, {listed:,} listed {self.dataset.items}"
        else:
            state = f"subset, {len(self.right):,} of {listed:,} listed {self.dataset.items}"
        lines = [f"{self.dataset.name}: {state}"]
        for what, files in (("wrong", self.wrong), ("unlisted", self.unlisted)):
            if files:
                more = f", ... ({len(files):,} in all)" if len(files) > _SHOWN else ""
                lines.append(f"  {what}: {', '.join(files[:_SHOWN])}{more}")
        return "\n".join(lines)


def verify(dataset: DataSet, folder: Path) -> Verdict:
    """Compare what a folder holds of a data set with its list.

    Parameters
    ----------
    dataset : DataSet
    folder : pathlib.Path
        The data set's folder of archives.

    Returns
    -------
    Verdict

    Raises
    ------
    ArchiveError
        If an archive is corrupt or unsafe.
    """
    listed = read_checksums(dataset.name)
    found: dict[str, set[str]] = {}
    for offer in offers(dataset, read_published(dataset.name), folder):
        for file, sha256 in offer.sums(listed):
            found.setdefault(file, set()).add(sha256)
    return Verdict(
        dataset,
        right=tuple(file for file in listed if found.get(file) == {listed[file]}),
        missing=tuple(file for file in listed if file not in found),
        # A right copy does not excuse a wrong one: which is used depends on the order.
        wrong=tuple(file for file in listed if file in found and found[file] != {listed[file]}),
        unlisted=tuple(sorted(set(found) - set(listed))),
    )
