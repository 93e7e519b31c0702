"""What the immutable containers of arrays share: equality, pickling and a file format."""

from __future__ import annotations

import hashlib
import io
import os
import uuid
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._types import Floats
from ._validation import frozen_array

__all__ = ["Container", "ModelFileError"]

# Files of version 1 have no digest.
_FORMAT_VERSION = 2


class ModelFileError(ValueError):
    """A file is not a whole, valid model.

    Attributes
    ----------
    path : Path
        The file.
    reason : str
        What is wrong with it.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        # Both go to the base class, which is what pickling gives back to the constructor.
        super().__init__(path, reason)
        self.path = Path(path)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Container:
    """A frozen dataclass whose fields are arrays."""

    def _names(self) -> list[str]:
        return [field.name for field in fields(self)]  # type: ignore[arg-type]

    def _arrays(self) -> list[Floats]:
        return [getattr(self, name) for name in self._names()]

    def _freeze(self, reference: str, **shapes: str) -> None:
        """Exchange the fields for read-only copies whose shapes fit together.

        Parameters
        ----------
        reference : str
            The field whose lengths the others must have.
        **shapes : str
            The axes of every field, one letter each; equal letters stand for equal lengths.
        """
        first = frozen_array(reference, getattr(self, reference), tuple(shapes[reference]))
        lengths = dict(zip(shapes[reference], first.shape, strict=True))
        for name, axes in shapes.items():
            array = first
            if name != reference:
                wanted = tuple(lengths[axis] for axis in axes)
                array = frozen_array(name, getattr(self, name), wanted)
            object.__setattr__(self, name, array)

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays are writeable; going through the constructor freezes them again.
        return type(self), tuple(self._arrays())

    def __eq__(self, other: object) -> bool:
        """Whether the other is of the same class and all numbers are equal."""
        if type(other) is not type(self):
            return NotImplemented
        return all(map(np.array_equal, self._arrays(), other._arrays()))

    def __hash__(self) -> int:
        # Numbers, not bytes: 0 and -0 are equal.
        return hash((type(self), *(tuple(array.flat) for array in self._arrays())))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an ``.npz`` file.

        The file holds plain arrays (no pickle), a format version and a digest. It is written beside
        its place and moved there when it is whole and on the disk, so that the place holds the old
        content or the new, whatever happens. Equal models give equal bytes.

        Parameters
        ----------
        path : path-like
            Name of the file, used as it is: no suffix is added.
        """
        path = Path(path)
        arrays: dict[str, NDArray[Any]] = {
            "format": np.array(f"vhem.{type(self).__name__}"),
            "format_version": np.array(_FORMAT_VERSION),
        }
        arrays.update(zip(self._names(), self._arrays(), strict=True))
        arrays["digest"] = np.array(_digest(arrays))
        temporary = path.parent / f".{uuid.uuid4().hex}.tmp"
        try:
            with temporary.open("xb") as file:
                with zipfile.ZipFile(file, "w") as archive:
                    for name, array in arrays.items():
                        # A ZipInfo of our own carries no time stamp, unlike numpy.savez.
                        with archive.open(
                            zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True
                        ) as member:
                            np.lib.format.write_array(member, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by :meth:`save`. Pickled content is never executed.

        Parameters
        ----------
        path : path-like
            Name of the file.

        Returns
        -------
        Container
            An instance of the class that it is called on.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ModelFileError
            If the file is cut or damaged, was not written by :meth:`save` of this class, was
            written by a newer version of the library, or holds arrays that are no valid model.
        """
        if Path(path).is_dir():
            raise ModelFileError(path, "is a folder")
        content = Path(path).read_bytes()
        kind = f"vhem.{cls.__name__}"
        try:
            arrays = _read_arrays(content)
        # What the parsers of zip archives and of array headers raise on arbitrary bytes is
        # documented nowhere, and all of it means the same.
        except Exception as error:
            raise ModelFileError(path, f"not a whole {kind} file ({error})") from error
        if "format" not in arrays or "format_version" not in arrays:
            raise ModelFileError(path, f"not a {kind} file (it has no format mark)")
        if (found := str(arrays["format"])) != kind:
            raise ModelFileError(path, f"holds {found}, expected {kind}")
        version = arrays["format_version"]
        if version.shape != () or version.dtype.kind not in "iu" or version < 1:
            raise ModelFileError(path, f"format version {version} is no version")
        if version > _FORMAT_VERSION:
            raise ModelFileError(
                path,
                f"format version {version} is newer than this library reads "
                f"({_FORMAT_VERSION}); update the library",
            )
        if version > 1 and str(arrays.pop("digest", "")) != _digest(arrays):
            raise ModelFileError(path, "its arrays are not those that were saved")
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        if missing := [name for name in names if name not in arrays]:
            raise ModelFileError(path, f"lacks the array(s) {', '.join(missing)}")
        try:
            return cls(*(arrays[name] for name in names))
        except ValueError as error:
            raise ModelFileError(path, str(error)) from error


def _digest(arrays: dict[str, NDArray[Any]]) -> str:
    """SHA-256 of names, types, shapes and numbers."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _read_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """Arrays of an uncompressed ``.npz`` file.

    Unlike :func:`numpy.load` it allocates nothing on the word of a header: members are stored, so
    none is larger than the file, and an array must have the size of its member.
    """
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name in arrays:
                raise ValueError(f"{name} is there twice")
            if info.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{name} is compressed")
            member = io.BytesIO(archive.read(info))
            version = np.lib.format.read_magic(member)
            if version != (1, 0):
                raise ValueError(f"{name} has array format {version}")
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(member)
            if dtype.kind not in "fiubU":
                raise ValueError(f"{name} holds {dtype}")
            data = member.read()
            if dtype.itemsize == 0 or min(shape, default=0) < 0:
                raise ValueError(f"{name} has shape {shape} of {dtype}")
            array = np.frombuffer(data, dtype)
            arrays[name] = array.reshape(shape, order="F" if fortran else "C")
    return arrays
