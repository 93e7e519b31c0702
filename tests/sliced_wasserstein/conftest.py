import numpy as np
import pytest
from scipy.ndimage import gaussian_filter


def cooccurrence(seed, levels=64):
    """Return the co-occurrence matrix of a random smooth texture: symmetric, sparse, diagonal."""
    rng = np.random.default_rng(seed)
    texture = gaussian_filter(rng.standard_normal((96, 96)), rng.uniform(0.7, 3.0), mode="wrap")
    texture = rng.uniform(0.1, 0.9) + rng.uniform(0.05, 0.2) * texture / texture.std()
    grey = (np.clip(texture, 0, 1 - 1e-9) * levels).astype(int)
    matrix = np.zeros((levels, levels))
    for shifted in (np.roll(grey, 1, axis=0), np.roll(grey, 1, axis=1)):
        np.add.at(matrix, (grey, shifted), 1.0)
    return (matrix + matrix.T) / matrix.sum() / 2


def mixture(seed, shape=(48, 48)):
    """Return a smooth positive density: a random mixture of Gaussian bumps on a background."""
    rng = np.random.default_rng(seed)
    rows, cols = np.indices(shape)
    image = np.full(shape, 1e-3)
    for _ in range(4):
        row, col = rng.uniform(0.25, 0.75, 2) * shape
        width = rng.uniform(2.0, 5.0)
        image += rng.uniform(0.5, 1.0) * np.exp(
            -((rows - row) ** 2 + (cols - col) ** 2) / (2 * width**2)
        )
    return image / image.sum()


@pytest.fixture(scope="session")
def glcms():
    return np.stack([cooccurrence(seed) for seed in range(12)])


@pytest.fixture(scope="session")
def mixtures():
    return np.stack([mixture(seed) for seed in range(8)])
