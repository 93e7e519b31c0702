"""What the synthetic pictures share: a camera, smooth noise, and JPEG files of classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import joblib
import numpy as np
import scipy.fft
from PIL import Image
from scipy.ndimage import fourier_gaussian, gaussian_filter

from replication.arrays import Floats, Pixels
from replication.io import atomic_path

__all__ = ["photograph", "smooth_noise", "write_classes"]


def smooth_noise(rng: np.random.Generator, shape: tuple[int, int], *sigma: float) -> Floats:
    """Draw periodic noise of unit variance, smoothed over ``sigma`` pixels down and across."""
    spectrum = scipy.fft.rfft2(rng.standard_normal(shape))
    field = scipy.fft.irfft2(fourier_gaussian(spectrum, sigma, n=shape[1]), s=shape)
    return np.asarray(field / field.std())


def photograph(rng: np.random.Generator, picture: Floats) -> Pixels:
    """Take a grey or colour picture in [0, 1] with a camera of random exposure, focus and noise."""
    exposure = np.exp(0.1 * rng.standard_normal() + 0.03 * rng.standard_normal(picture.shape[2:]))
    picture = np.clip(exposure * picture, 0, 1) ** np.exp(0.1 * rng.standard_normal())
    picture = gaussian_filter(picture, rng.uniform(0.2, 0.6), axes=(0, 1))
    picture = 255 * picture + rng.uniform(1, 3) * rng.standard_normal(picture.shape)
    return np.clip(np.round(picture), 0, 255).astype(np.uint8)


def write_classes(
    folder: str | os.PathLike[str],
    classes: Iterable[str],
    draw: Callable[[str], Iterable[tuple[str, Pixels]]],
    n_jobs: int | None,
) -> None:
    """Write the pictures of each class, which ``draw`` gives with their paths in the folder."""

    def write_class(name: str) -> None:
        for file, picture in draw(name):
            with atomic_path(Path(folder) / file) as path:
                Image.fromarray(picture).save(path, "JPEG", quality=90)

    joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(write_class)(name) for name in classes)
