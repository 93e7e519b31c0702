"""Seeds that belong to a repetition, not to the job, block or core that computes it."""

from __future__ import annotations

from zlib import crc32

import numpy as np

__all__ = ["repetition_seed"]


def repetition_seed(seed: int, experiment: str, repetition: int) -> int:
    """Return the 32-bit seed of one repetition of one experiment.

    It is the first word of ``SeedSequence([seed, crc32(experiment), repetition])``, so that it
    depends on nothing but its arguments.

    Parameters
    ----------
    seed : int
        Seed of the run, not negative.
    experiment : str
        Name of the experiment and its part, e.g. ``"textures/svm"``.
    repetition : int
        Number of the repetition, from 0.

    Returns
    -------
    int

    Examples
    --------
    >>> repetition_seed(1, "textures/svm", 0) == repetition_seed(1, "textures/svm", 1)
    False
    """
    sequence = np.random.SeedSequence([seed, crc32(experiment.encode()), repetition])
    return int(sequence.generate_state(1)[0])
