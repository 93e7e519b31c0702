"""Sliced Wasserstein distances, embeddings and kernels for probability distributions.

Definitions, equations, theorems and sections that the modules name are those of [1]_.

References
----------
.. [1] S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
   CVPR 2016.
"""

import importlib.metadata

from sliced_wasserstein._validation import ImageError
from sliced_wasserstein.clustering import KernelKMeans
from sliced_wasserstein.distances import (
    sliced_wasserstein_distance,
    sliced_wasserstein_image_distance,
)
from sliced_wasserstein.embedding import SlicedWassersteinEmbedding
from sliced_wasserstein.kernels import (
    center_gram,
    change_template,
    gaussian_kernel,
    gram_matrix,
    kernel_scale,
    median_squared_distance,
    polynomial_kernel,
    squared_distances,
)
from sliced_wasserstein.point_clouds import PointCloudEmbedding
from sliced_wasserstein.projection import sliced_directions
from sliced_wasserstein.quantiles import wasserstein_1d

__all__ = [
    "ImageError",
    "KernelKMeans",
    "PointCloudEmbedding",
    "SlicedWassersteinEmbedding",
    "center_gram",
    "change_template",
    "gaussian_kernel",
    "gram_matrix",
    "kernel_scale",
    "median_squared_distance",
    "polynomial_kernel",
    "sliced_directions",
    "sliced_wasserstein_distance",
    "sliced_wasserstein_image_distance",
    "squared_distances",
    "wasserstein_1d",
]

__version__ = importlib.metadata.version("distributions-as-data")
