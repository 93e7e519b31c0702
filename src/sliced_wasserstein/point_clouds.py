r"""The sliced Wasserstein embedding of point clouds and volumes, in any dimension.

A cloud is a discrete measure: positions with masses. Its slices are discrete as well, their
quantile functions are steps, and the bin means of a step function are exact: there is no grid
here. Directions matter more than for images. Where SW is to see a translation by v in d
dimensions as :math:`|v|^2 / d`, the directions must satisfy :math:`\frac1n\sum_k
\theta_k\theta_k^\top = I/d` exactly; unrelated random directions, or points spread evenly over a
sphere, only approach this. Orthonormal frames satisfy it by construction.

References
----------
S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
CVPR 2016, Definitions 2 and 3 (stated there for d dimensions), Section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import NoReturn, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sliced_wasserstein._validation import PointCloud, as_point_clouds, check_choice
from sliced_wasserstein.embedding import (
    DEFAULT_N_QUANTILES,
    Measure,
    feature_scale,
)
from sliced_wasserstein.projection import sliced_directions, unit_vectors
from sliced_wasserstein.quantiles import cloud_quantiles, quantile_edges

__all__ = ["PointCloudEmbedding"]

Clouds = Sequence[ArrayLike | tuple[ArrayLike, ArrayLike]] | NDArray[np.generic]


class PointCloudEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Embed point clouds or volumes so that Euclidean distance is sliced Wasserstein distance.

    The features are those of :class:`~sliced_wasserstein.SlicedWassersteinEmbedding`, for
    discrete measures in d dimensions and directions on the unit sphere.

    Parameters
    ----------
    n_directions : int, default=60
        Least number of directions, see :func:`~sliced_wasserstein.sliced_directions`. Unused if
        `directions` are given.
    n_quantiles : int, default=128
        Number of bins of each quantile function.
    directions : array-like of shape (n, d), optional
        Unit vectors to use instead.
    measure : {"probability", "surface"}, default="probability"
        Average over directions, or integral over the unit sphere of d dimensions, which
        multiplies all squared distances by its surface :math:`2\pi^{d/2} / \Gamma(d/2)`.
    template : "mean", "zero", None or a cloud, default="mean"
        Measure relative to which clouds are embedded. ``"mean"`` is the mean of the measures
        given to :meth:`fit`; ``"zero"`` or None subtracts nothing.
    n_jobs : int or None, default=None
        Number of threads, with joblib's meaning of None and -1. The result is the same to the
        last bit for any number.
    random_state : int, RandomState instance or None, default=None
        Source of the random frames, drawn in :meth:`fit`; unused in one and two dimensions.

    Attributes
    ----------
    directions_ : ndarray of shape (n, d)
        Unit vectors.
    quantile_edges_ : ndarray of shape (n_quantiles + 1,)
        Edges of the bins of u.
    template_quantiles_ : ndarray of shape (n, n_quantiles)
        Bin-averaged quantile functions of the template (unit of the positions).
    n_features_in_ : int
        Dimension d of the space.

    Notes
    -----
    Clouds are given as a list whose items are position arrays of shape (n_points, d), all points
    of equal mass, or pairs ``(positions, weights)``; or as one array of shape (n, n_points, d).
    Arrays of four and more axes, ``(n, depth, height, width)``, are volumes: voxels are points at
    centred positions, one unit apart, coordinates in the order x, y, z.

    There is no inverse: above the plane the number of directions that determine a density is out
    of reach, and in the plane a cloud has no pixels to return to (see
    :meth:`SlicedWassersteinEmbedding.inverse_transform` for images).

    References
    ----------
    S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
    CVPR 2016, Definition 3, Eqs. 15 to 17.

    Examples
    --------
    A translation by v in three dimensions gives :math:`SW^2 = |v|^2 / 3`:

    >>> import numpy as np
    >>> from sliced_wasserstein import PointCloudEmbedding, squared_distances
    >>> cloud = np.random.default_rng(0).normal(size=(40, 3))
    >>> Z = PointCloudEmbedding(random_state=0).fit_transform([cloud, cloud + [3.0, 0.0, 0.0]])
    >>> squared_distances(Z).round(4)
    array([[0., 3.],
           [3., 0.]])
    """

    def __init__(
        self,
        n_directions: int = 60,
        n_quantiles: int = DEFAULT_N_QUANTILES,
        directions: ArrayLike | None = None,
        measure: Measure = "probability",
        template: str | ArrayLike | tuple[ArrayLike, ArrayLike] | None = "mean",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_directions = n_directions
        self.n_quantiles = n_quantiles
        self.directions = directions
        self.measure = measure
        self.template = template
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, clouds: Clouds, y: object = None) -> Self:
        """Draw the directions and embed the template.

        Parameters
        ----------
        clouds : list of clouds, or array
            See the notes of the class.
        y : ignored
            Present for scikit-learn pipelines.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is outside its range, or a cloud is empty, of another dimension, not
            finite, or without positive mass (the message gives its index).
        """
        for name in ("n_directions", "n_quantiles"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value!r}")
        check_choice("measure", self.measure, ("probability", "surface"))
        if isinstance(self.template, str):
            check_choice("template", self.template, ("mean", "zero"))
        measures = as_point_clouds(clouds)
        dimension = measures[0].positions.shape[1]
        self.n_features_in_ = dimension
        if self.directions is None:
            self.directions_ = sliced_directions(self.n_directions, dimension, self.random_state)
        else:
            self.directions_ = unit_vectors(self.directions, dimension)
        self.quantile_edges_ = quantile_edges(self.n_quantiles)
        template = self._template_cloud(measures)
        if template is None:
            self.template_quantiles_ = np.zeros((len(self.directions_), self.n_quantiles))
        else:
            self.template_quantiles_ = cloud_quantiles(
                *template, self.directions_, self.quantile_edges_
            )
        return self

    def transform(self, clouds: Clouds) -> NDArray[np.float32]:
        """Embed clouds.

        Parameters
        ----------
        clouds : list of clouds, or array
            See the notes of the class.

        Returns
        -------
        ndarray of shape (n, n_directions * n_quantiles), float32
            Embedded clouds, features ordered by direction, then bin.

        Raises
        ------
        ValueError
            If a cloud is not a measure of the dimension seen in :meth:`fit`.
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.
        """
        check_is_fitted(self)
        measures = as_point_clouds(clouds, self.n_features_in_)
        scale = feature_scale(
            self.measure, self.n_features_in_, len(self.directions_), self.quantile_edges_
        )
        features = np.empty((len(measures), self._n_features_out), dtype=np.float32)

        def fill(i: int) -> None:
            quantiles = cloud_quantiles(*measures[i], self.directions_, self.quantile_edges_)
            features[i] = ((quantiles - self.template_quantiles_) * scale).ravel()

        Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(fill)(i) for i in range(len(measures))
        )
        return features

    def inverse_transform(self, Z: ArrayLike) -> NoReturn:
        """Raise an error: clouds and volumes cannot be recovered (see the notes of the class)."""
        raise NotImplementedError(
            "the inverse exists for images only (SlicedWassersteinEmbedding); a cloud has no grid "
            "to return to, and above two dimensions too many directions would be needed"
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.directions_) * self.n_quantiles

    def _template_cloud(self, measures: list[PointCloud]) -> PointCloud | None:
        if self.template is None or (isinstance(self.template, str) and self.template == "zero"):
            return None
        if isinstance(self.template, str):
            return PointCloud(
                np.concatenate([m.positions for m in measures]),
                np.concatenate([m.weights for m in measures]) / len(measures),
            )
        try:
            return as_point_clouds([self.template], self.n_features_in_)[0]
        except ValueError as error:
            raise ValueError(str(error).replace("cloud 0", "template")) from None
