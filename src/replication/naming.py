"""Names of files in the errors of functions that know their images by position only."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence

__all__ = ["images_named"]

_POSITION = re.compile(r"images\[(\d+)\]")


@contextlib.contextmanager
def images_named(files: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Begin the message of a ``ValueError`` about ``images[i]`` with the name of the i-th file.

    Parameters
    ----------
    files : callable
        Returns the files in the order of the images; called only after an error.

    Raises
    ------
    ValueError
        The block's own, as it is if its message does not begin with a position in the list.

    Examples
    --------
    >>> with images_named(lambda: ["a.png", "b.png"]):
    ...     raise ValueError("images[1] is constant")
    Traceback (most recent call last):
        ...
    ValueError: b.png: images[1] is constant
    """
    try:
        yield
    except ValueError as error:
        position = _POSITION.match(str(error))
        if position is None:
            raise
        names = list(files())
        if int(position[1]) >= len(names):
            raise
        raise ValueError(f"{names[int(position[1])]}: {error}") from error
