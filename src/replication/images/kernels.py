"""Kernels of support vector machines and spaces of k-means, by name; nothing slow is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["FAMILIES", "SPACES", "KernelFamily"]


@dataclass(frozen=True)
class KernelFamily:
    """A kernel with free parameters on top of one precomputed matrix.

    Parameters
    ----------
    matrix : str
        Name of the matrix: inner products for ``linear`` and ``polynomial``, squared distances
        for ``gaussian``.
    form : {"linear", "gaussian", "polynomial"}
    coef0 : float
        Constant of the polynomial kernel.
    """

    matrix: str
    form: Literal["linear", "gaussian", "polynomial"]
    coef0: float = 0.0


#: The kernels that the paper compares, the Euclidean polynomial kernels that its abstract names,
#: and kernels beyond the paper that tell which part of the sliced Wasserstein distance matters.
FAMILIES: Mapping[str, KernelFamily] = {
    "linear": KernelFamily("density_gram", "linear"),
    "rbf": KernelFamily("density_distance", "gaussian"),
    "polynomial": KernelFamily("density_gram", "polynomial"),
    "polynomial_1": KernelFamily("density_gram", "polynomial", coef0=1.0),
    "sw_gaussian": KernelFamily("sw_distance", "gaussian"),
    "sw_polynomial": KernelFamily("sw_gram", "polynomial"),
    "sw_polynomial_1": KernelFamily("sw_gram", "polynomial", coef0=1.0),
    "sw_polynomial_train": KernelFamily("sw_gram_train", "polynomial"),
    "sw_polynomial_1_train": KernelFamily("sw_gram_train", "polynomial", coef0=1.0),
    "hellinger_rbf": KernelFamily("hellinger_distance", "gaussian"),
    "chi_squared": KernelFamily("chi_squared_distance", "gaussian"),
    "sw_mean_gaussian": KernelFamily("sw_mean_distance", "gaussian"),
    "sw_centred_gaussian": KernelFamily("sw_centred_distance", "gaussian"),
    "hog_linear": KernelFamily("hog_gram", "linear"),
}

#: Spaces of k-means: method -> (matrix of inner products or squared distances, form of the kernel).
SPACES: Mapping[str, tuple[str, str]] = {
    "kmeans": ("density_gram", "linear"),
    "sw_kmeans": ("sw_gram", "linear"),
    "rbf_kmeans": ("density_distance", "gaussian"),
    "sw_gaussian_kmeans": ("sw_distance", "gaussian"),
    "sw_polynomial_kmeans": ("sw_gram", "polynomial"),
}
