"""One way into randomness for the whole library."""

from __future__ import annotations

import numpy as np

from ._types import Floats, Integers

__all__ = ["RandomState", "draw_base", "generator"]

RandomState = (
    None | int | np.integer | np.random.SeedSequence | np.random.Generator | np.random.RandomState
)


def generator(random_state: RandomState) -> np.random.Generator:
    """Turn what users pass as ``random_state`` into a Generator.

    A Generator is used as it is (and advanced); a legacy RandomState seeds a new Generator, so
    that scikit-learn's habits work; anything else goes to :func:`numpy.random.default_rng`, whose
    errors are told of ``random_state``.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(f"random_state is {random_state!r}: {error}") from None


def draw_base(base_weights: Floats, number: int, rng: np.random.Generator) -> Integers:
    """Return indices of different base components of positive weight, for a start."""
    return rng.choice(np.flatnonzero(base_weights > 0), number, replace=False)
