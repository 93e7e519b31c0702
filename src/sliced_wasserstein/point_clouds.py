r"""The sliced Wasserstein embedding of point clouds and volumes, in any dimension.

A cloud is a discrete measure: positions with masses. Its slices are discrete as well, their
quantile functions are steps, and the bin means of a step function are exact: there is no grid
here. Directions matter more than for images. Where SW is to see a translation by v in d
dimensions as :math:`|v|^2 / d`, the directions must satisfy :math:`\frac1n\sum_k
\theta_k\theta_k^\top = I/d` exactly; unrelated random directions, or points spread evenly over a
sphere, only approach this. Orthonormal frames satisfy it by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from sliced_wasserstein._checks import (
    check_choice,
    check_positive_integer,
    real_array,
    thread_count,
)
from sliced_wasserstein._types import Floats
from sliced_wasserstein._validation import (
    PointCloud,
    as_point_cloud,
    as_point_clouds,
    check_fitted,
    table_rows,
)
from sliced_wasserstein.embedding import Measure, feature_scale
from sliced_wasserstein.projection import sliced_directions, unit_vectors
from sliced_wasserstein.quantiles import cloud_quantiles, quantile_edges
from sliced_wasserstein.slices import DEFAULT_N_QUANTILES

__all__ = ["PointCloudEmbedding"]

Clouds = Sequence[ArrayLike | tuple[ArrayLike, ArrayLike]] | NDArray[np.generic]

#: parameters that transform uses again: a change after fit would mix two embeddings
_FITTED_PARAMETERS = ("n_directions", "n_quantiles", "measure", "dimension")


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
    dimension : int, optional
        Dimension d of the space; that of the first cloud by default. With it an array of two axes
        or a data frame is read as flat rows, one cloud of points of equal mass each, point after
        point (x1, y1, x2, y2, ... in the plane).
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
    origin_ : ndarray of shape (d,)
        Mean of the clouds given to :meth:`fit`, from which positions are counted, so that clouds
        far from zero keep their digits. No feature depends on it but by rounding.
    template_quantiles_ : ndarray of shape (n, n_quantiles)
        Bin-averaged quantile functions of the template (unit of the positions), seen from
        `origin_`.
    dtype_ : dtype
        Type of the features: float32, or float64 where the clouds' size or their distance from
        the template is beyond single precision.
    n_features_in_ : int
        Dimension d of the space; number of columns of flat rows.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if :meth:`fit` was given data frames: of flat rows, or one a cloud
        with its coordinates as columns.

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
        *,
        n_quantiles: int = DEFAULT_N_QUANTILES,
        directions: ArrayLike | None = None,
        measure: Measure = "probability",
        template: str | ArrayLike | tuple[ArrayLike, ArrayLike] | None = "mean",
        dimension: int | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_directions = n_directions
        self.n_quantiles = n_quantiles
        self.directions = directions
        self.measure = measure
        self.template = template
        self.dimension = dimension
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, clouds: Clouds, y: object = None) -> Self:
        """Draw the directions and embed the template.

        Parameters
        ----------
        clouds : list of clouds, or array
            See the notes of the class.
        y : ignored

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
            check_positive_integer(name, getattr(self, name))
        if self.dimension is not None:
            check_positive_integer("dimension", self.dimension)
        check_choice("measure", self.measure, ("probability", "surface"))
        if isinstance(self.template, str):
            check_choice("template", self.template, ("mean", "zero"))
        thread_count(self.n_jobs, 1)
        self.__dict__.pop("feature_names_in_", None)
        measures = self._measures(clouds, self.dimension, reset=True)
        dimension = measures[0].positions.shape[1]
        if self.directions is None:
            self.directions_ = sliced_directions(self.n_directions, dimension, self.random_state)
        else:
            self.directions_ = unit_vectors(self.directions, dimension)
        self.quantile_edges_ = quantile_edges(self.n_quantiles)
        self._fitted_parameters = {name: getattr(self, name) for name in _FITTED_PARAMETERS}
        share = 1 / len(measures)
        self.origin_ = sum(share * (m.weights @ m.positions) for m in measures)
        template = self._template_cloud(measures, share)
        if template is None:
            # A point of mass 1 at zero: nothing is subtracted.
            self.template_quantiles_ = np.tile(
                -(self.directions_ @ self.origin_)[:, np.newaxis], self.n_quantiles
            )
        else:
            self.template_quantiles_ = self._quantiles(template)
        self.dtype_ = self._precision(measures)
        return self

    def transform(self, clouds: Clouds) -> NDArray[np.floating]:
        """Embed clouds.

        Parameters
        ----------
        clouds : list of clouds, or array
            See the notes of the class.

        Returns
        -------
        ndarray of shape (n, n_directions * n_quantiles) and type `dtype_`
            Embedded clouds, features ordered by direction, then bin.

        Raises
        ------
        ValueError
            If a cloud is not a measure of the dimension seen in :meth:`fit`, or lies too far away
            for the type of the features; if a parameter was changed since.
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.
        """
        check_fitted(self)
        measures = self._measures(clouds, self.directions_.shape[1], reset=False)
        scale = feature_scale(
            self.measure, self.directions_.shape[1], len(self.directions_), self.quantile_edges_
        )
        features = np.empty((len(measures), self._n_features_out), dtype=self.dtype_)

        def fill(i: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                differences = self._quantiles(measures[i]) - self.template_quantiles_
                features[i] = (differences * scale).ravel()

        n_threads = thread_count(self.n_jobs, len(measures))
        Parallel(n_jobs=n_threads, require="sharedmem")(
            delayed(fill)(i) for i in range(len(measures))
        )
        finite = np.isfinite(features).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"cloud {int(np.argmin(finite))} lies too far from those given to fit for features "
                f"of type {self.dtype_}"
            )
        return features

    def fit_transform(self, clouds: Clouds, y: object = None) -> NDArray[np.floating]:
        """Draw the directions and embed the same clouds, see :meth:`fit` and :meth:`transform`.

        Parameters
        ----------
        clouds : list of clouds, or array
            See the notes of the class.
        y : ignored

        Returns
        -------
        ndarray of shape (n, n_directions * n_quantiles)
        """
        return self.fit(clouds).transform(clouds)

    def inverse_transform(self, Z: ArrayLike) -> NoReturn:
        """Raise an error: clouds and volumes cannot be recovered (see the notes of the class)."""
        raise NotImplementedError(
            "the inverse exists for images only (SlicedWassersteinEmbedding); a cloud has no grid "
            "to return to, and above two dimensions too many directions would be needed"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = self.dimension is not None
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.directions_) * self.n_quantiles

    def _measures(self, clouds: Any, dimension: int | None, *, reset: bool) -> list[PointCloud]:
        """Read clouds, volumes or, if the parameter `dimension` says of what, flat rows."""
        if not isinstance(clouds, (list, tuple)) and not hasattr(clouds, "columns"):
            clouds = real_array(clouds, "clouds")
        if self.dimension is not None and _is_table(clouds):
            rows = table_rows(self, clouds, "clouds", reset=reset)
            if rows.shape[1] % self.dimension:
                raise ValueError(
                    f"rows of {rows.shape[1]} values hold no points in {self.dimension} dimensions"
                )
            return as_point_clouds(rows.reshape(len(rows), -1, self.dimension))
        if _is_table(clouds):
            raise ValueError(
                "expected a list of clouds, each an array (n_points, d) or a tuple (positions, "
                "weights), got a table; one cloud stands in a list, flat rows need dimension=d"
            )
        measures = as_point_clouds(clouds, dimension)
        if reset:
            self.n_features_in_ = measures[0].positions.shape[1]
        for index, cloud in enumerate(clouds):
            if hasattr(cloud, "columns"):
                # The same columns in the same order in all clouds.
                validate_data(self, cloud, reset=reset and index == 0, skip_check_array=True)
        return measures

    def _quantiles(self, cloud: PointCloud) -> Floats:
        with np.errstate(over="ignore"):
            positions = cloud.positions - self.origin_
        return cloud_quantiles(positions, cloud.weights, self.directions_, self.quantile_edges_)

    def _precision(self, measures: list[PointCloud]) -> np.dtype[np.floating]:
        """Return the type that holds the differences of these clouds."""
        with np.errstate(over="ignore"):
            size = max(float(np.abs(m.positions - self.origin_).max()) for m in measures)
        offset = float(np.abs(self.template_quantiles_).max())
        # Seven digits, of which an offset takes at most four.
        single = 1e-30 < size < 1e30 if size else True
        return np.dtype(np.float32 if single and offset <= 1e4 * size else np.float64)

    def _template_cloud(self, measures: list[PointCloud], share: float) -> PointCloud | None:
        if self.template is None or (isinstance(self.template, str) and self.template == "zero"):
            return None
        if isinstance(self.template, str):
            return PointCloud(
                np.concatenate([m.positions for m in measures]),
                share * np.concatenate([m.weights for m in measures]),
            )
        return as_point_cloud(self.template, "template", self.directions_.shape[1])


def _is_table(clouds: Any) -> bool:
    """Tell flat rows from a list of clouds: the first of the latter is no vector."""
    if hasattr(clouds, "columns"):
        return True
    if isinstance(clouds, np.ndarray):
        return clouds.ndim < 3
    if not isinstance(clouds, (list, tuple)) or not clouds or isinstance(clouds[0], tuple):
        return False
    first = clouds[0]
    if isinstance(first, list):
        return not np.iterable(first[0] if first else 0)
    return getattr(first, "ndim", 0) < 2
