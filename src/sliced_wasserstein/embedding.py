r"""The sliced Wasserstein embedding of density images, and the distance it linearises.

The squared sliced Wasserstein distance averages the squared 2-Wasserstein distance of the slices
over all directions (Definition 3). On the line this distance is the :math:`L^2(0, 1)` distance of
quantile functions, so SW is the norm of a difference of embedded points (Eq. 17). The paper writes
the embedding relative to a template density :math:`I_0` as

.. math:: \phi(t, \theta) = (f(t, \theta) - t)\sqrt{\mathscr{R}I_0(t, \theta)}
          \qquad\text{(Eq. 15)}

with f the monotone map from the slice of :math:`I_0` to that of I. With the change of variable
:math:`u = F_0(t)` this is the difference of quantile functions :math:`Q(u, \theta) - Q_0(u,
\theta)`, which needs neither positive densities nor a division. That form is what
:meth:`SlicedWassersteinEmbedding.transform` returns; :meth:`~SlicedWassersteinEmbedding
.transport_maps` evaluates Eq. 15 as printed, for pictures.

References
----------
S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
CVPR 2016.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sliced_wasserstein._validation import (
    PointCloud,
    as_point_clouds,
    check_choice,
    iter_batches,
    normalized_densities,
)
from sliced_wasserstein.inversion import (
    expectation_maximization,
    filtered_back_projection,
    projection_matrix,
    slice_residuals,
    slices_from_quantiles,
)
from sliced_wasserstein.projection import (
    deposit_space,
    directions_from_angles,
    half_circle_angles,
    line_extents,
    line_plan,
    pixel_positions,
    project,
    slice_masses,
    unit_vectors,
)
from sliced_wasserstein.quantiles import (
    bin_means,
    cloud_quantiles,
    invert_cdf,
    quantile_edges,
    squared_w2_sorted,
)

from ._compile import compiled

__all__ = ["SlicedWassersteinEmbedding", "sliced_wasserstein_distance"]

Footprint = Literal["box", "point"]
Measure = Literal["probability", "surface"]

DEFAULT_N_QUANTILES = 128
DEFAULT_OVERSAMPLING = 8


class SlicedWassersteinEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Embed density images so that Euclidean distance is sliced Wasserstein distance.

    Feature (k, j) of image i is

    .. math:: z_{i,kj} = \sqrt{w_j / n}\,\big(\bar Q_{i,kj} - \bar Q_{0,kj}\big)

    with :math:`\bar Q_{i,kj}` the mean over the j-th bin of u, of width :math:`w_j`, of the
    quantile function of the slice at angle :math:`\theta_k = (k + 1/2)\pi/n`, and
    :math:`\bar Q_0` that of the template. Then :math:`\|z_i\| = SW(I_i, I_0)` and
    :math:`\|z_i - z_j\| = SW(I_i, I_j)` (Eqs. 16 and 17) in px.

    Parameters
    ----------
    n_angles : int, default=60
        Number of equispaced angles of the half-circle. An even number keeps quarter turns and
        transposition exact symmetries.
    n_quantiles : int, default=128
        Number of bins of each quantile function.
    footprint : {"box", "point"}, default="box"
        Whether a pixel is a unit square or a point. ``"box"`` is the image as a density;
        ``"point"`` agrees with solvers for discrete measures. Distances differ by well below a
        pixel, but for nearly equal images the points' lattice shows.
    oversampling : int, default=8
        Bins of the t-grid per shadow of a pixel's side, even. Used with ``"box"`` only: slices of
        points need no grid.
    measure : {"probability", "surface"}, default="probability"
        Average over directions, or the paper's integral over the unit circle, which multiplies
        all squared distances by :math:`2\pi`.
    template : "mean", "zero", None or array-like of shape (height, width), default="mean"
        Density :math:`I_0` relative to which images are embedded. ``"mean"`` is the mean of the
        images given to :meth:`fit`, as in the paper; ``"zero"`` or None subtracts nothing.
        Distances do not depend on it, inner products do.
    n_jobs : int or None, default=None
        Number of threads, each working on some of the angles, with joblib's meaning of None and
        -1. The result is the same to the last bit for any number.

    Attributes
    ----------
    angles_ : ndarray of shape (n_angles,)
        Angles in radians.
    quantile_edges_ : ndarray of shape (n_quantiles + 1,)
        Edges of the bins of u.
    t_grid_ : ndarray of shape (n_t,)
        Positions (px), one pixel apart, at which :meth:`transport_maps` evaluates by default; 91
        for images of 64 x 64 pixels.
    image_shape_ : (int, int)
        Height and width of the images.
    template_density_ : ndarray of shape (height, width) or None
        The template, with sum 1; None without one.
    template_quantiles_ : ndarray of shape (n_angles, n_quantiles)
        Its bin-averaged quantile functions (px); zeros without a template.
    n_features_in_ : int
        Number of pixels.

    Notes
    -----
    Images need not be positive or sum to 1: each is divided by its sum, and empty regions are
    jumps of a quantile function, harmless here. Nothing is ever added to an image.

    Bin means are an orthogonal projection: distances are not over-estimated by binning u, and
    Gram matrices are positive semi-definite up to rounding.

    References
    ----------
    S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
    CVPR 2016, Definition 3, Eqs. 15 to 17.

    Examples
    --------
    A shift by v px changes nothing but the mean, so that :math:`SW^2 = |v|^2 / 2`:

    >>> import numpy as np
    >>> from sliced_wasserstein import SlicedWassersteinEmbedding, squared_distances
    >>> images = np.zeros((2, 16, 16))
    >>> images[0, 3:6, 2:7] = images[1, 7:10, 5:10] = 1.0
    >>> Z = SlicedWassersteinEmbedding().fit_transform(images)
    >>> Z.shape
    (2, 7680)
    >>> squared_distances(Z).round(4)  # v = (3, 4)
    array([[ 0. , 12.5],
           [12.5,  0. ]])
    """

    def __init__(
        self,
        n_angles: int = 60,
        n_quantiles: int = DEFAULT_N_QUANTILES,
        footprint: Footprint = "box",
        oversampling: int = DEFAULT_OVERSAMPLING,
        measure: Measure = "probability",
        template: str | ArrayLike | None = "mean",
        n_jobs: int | None = None,
    ) -> None:
        self.n_angles = n_angles
        self.n_quantiles = n_quantiles
        self.footprint = footprint
        self.oversampling = oversampling
        self.measure = measure
        self.template = template
        self.n_jobs = n_jobs

    def fit(self, densities: ArrayLike | Iterable[ArrayLike], y: object = None) -> Self:
        """Learn the shape of the images and the template.

        Parameters
        ----------
        densities : array-like of shape (n, height, width), or iterator of such chunks
            Non-negative images. An iterator is used up by this call.
        y : ignored
            Present for scikit-learn pipelines.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is outside its range; if an image contains a negative, NaN or infinite
            value or only zeros (the message gives its index); if shapes differ, the batch is
            empty or it has not three dimensions.
        """
        self._check_parameters()
        batches = iter_batches(densities, None)
        rows, shape = next(batches)
        total, count = np.zeros(rows.shape[1]), 0
        for batch, _ in itertools.chain([(rows, shape)], batches):
            # Summed image after image, so that the mean does not depend on the chunks.
            for row in batch:
                total += row
            count += len(batch)
        self.image_shape_ = shape
        self.n_features_in_ = total.size
        self.angles_ = half_circle_angles(self.n_angles)
        self.quantile_edges_ = quantile_edges(self.n_quantiles)
        half = math.ceil(math.hypot(*shape) / 2 - 0.5)
        self.t_grid_ = np.arange(-half, half + 1, dtype=np.float64)
        self.template_density_ = self._template_density(total / count)
        if self.template_density_ is None:
            self.template_quantiles_ = np.zeros((self.n_angles, self.n_quantiles))
        else:
            self.template_quantiles_ = self._quantiles(self.template_density_.reshape(1, -1))[:, 0]
        return self

    def transform(
        self,
        densities: ArrayLike | Iterable[ArrayLike],
        out: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        r"""Embed images.

        Parameters
        ----------
        densities : array-like of shape (n, height, width), or iterator of such chunks
            Non-negative images of the shape seen in :meth:`fit`.
        out : ndarray of shape (n, n_angles * n_quantiles) and dtype float32, optional
            Where to write, for instance a ``numpy.memmap``. Together with an iterator this keeps
            memory flat for any number of images.

        Returns
        -------
        ndarray of shape (n, n_angles * n_quantiles), float32
            Embedded images (px), features ordered by angle, then bin; `out` if it was given.

        Raises
        ------
        ValueError
            As in :meth:`fit`; if the images differ in shape from those seen there; if `out` has
            the wrong shape or type.
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.
        """
        check_is_fitted(self)
        n_features = self.n_angles * self.n_quantiles
        if out is not None and (out.dtype != np.float32 or out.shape[1:] != (n_features,)):
            raise ValueError(
                f"out must be float32 of shape (n, {n_features}), got {out.dtype} {out.shape}"
            )
        if out is None and not isinstance(densities, Iterator):
            out = np.empty((len(densities), n_features), np.float32)  # type: ignore[arg-type]
        parts = []
        done = 0
        for rows, _ in iter_batches(densities, self.image_shape_):
            part = self._features(rows)
            if out is None:
                parts.append(part)
            elif done + len(part) > len(out):
                raise ValueError(f"out has {len(out)} rows, there are more images")
            else:
                out[done : done + len(part)] = part
            done += len(part)
        if out is None:
            return np.concatenate(parts)
        if done != len(out):
            raise ValueError(f"out has {len(out)} rows, there are {done} images")
        return out

    def transport_maps(
        self,
        densities: ArrayLike,
        t_grid: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        r"""Evaluate the paper's form of the embedding on a grid of t, for pictures.

        .. math:: \phi(t, \theta) = (f(t, \theta) - t)\sqrt{\mathscr{R}I_0(t, \theta)},
                  \qquad f(t, \theta) = F^{-1}(F_0(t, \theta), \theta)

        (Eq. 15; Figures 1c and 2c). On a fine grid its inner products, times the spacing and
        averaged over the angles, are those of :meth:`transform` under the probability measure.

        Parameters
        ----------
        densities : array-like of shape (n, height, width)
            Non-negative images of the shape seen in :meth:`fit`.
        t_grid : array-like of shape (n_t,), optional
            Positions (px); :attr:`t_grid_` by default.

        Returns
        -------
        ndarray of shape (n, n_angles, n_t)
            phi (px^(1/2)), zero where the template's slice is zero.

        Raises
        ------
        ValueError
            As in :meth:`transform`; without a template or with ``footprint="point"``, where a
            slice has no density.
        """
        check_is_fitted(self)
        if self.template_density_ is None:
            raise ValueError("transport maps start from a template: fit with one")
        if self.footprint != "box":
            raise ValueError('transport maps need slices with a density: use footprint="box"')
        t = self.t_grid_ if t_grid is None else np.asarray(t_grid, dtype=np.float64)
        images = normalized_densities(densities, shape=self.image_shape_)
        stack = np.vstack([self.template_density_.reshape(1, -1), images])
        stack = stack.reshape(-1, *self.image_shape_)
        maps = np.empty((len(images), self.n_angles, len(t)))
        for k, direction in enumerate(directions_from_angles(self.angles_)):
            grid, masses = project(stack, direction, self.oversampling)
            edges = grid.edges
            template = masses[0] / masses[0].sum()
            cdf = np.interp(t, edges, np.concatenate([[0.0], np.cumsum(template)]))
            centres = (edges[1:] + edges[:-1]) / 2
            density = np.interp(t, centres, template / grid.step, left=0.0, right=0.0)
            for i, slice_ in enumerate(masses[1:]):
                f = invert_cdf(edges, slice_, np.clip(cdf, 0.0, 1.0))
                maps[i, k] = (f - t) * np.sqrt(density)
        return maps

    @overload
    def inverse_transform(
        self,
        Z: ArrayLike,
        *,
        method: Literal["em", "fbp"] = ...,
        n_iter: int = ...,
        return_residual: Literal[False] = ...,
    ) -> NDArray[np.float64]: ...

    @overload
    def inverse_transform(
        self,
        Z: ArrayLike,
        *,
        method: Literal["em", "fbp"] = ...,
        n_iter: int = ...,
        return_residual: Literal[True],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def inverse_transform(
        self,
        Z: ArrayLike,
        *,
        method: Literal["em", "fbp"] = "em",
        n_iter: int = 200,
        return_residual: bool = False,
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return density images whose embedding is as given, exactly or as a fit.

        Quantile functions are made monotone, turned into slices, and the slices into an image
        (see :mod:`sliced_wasserstein.inversion`). A point that is not the embedding of an image,
        such as a mean of embedded images, is approximated; the residual tells how well.

        Parameters
        ----------
        Z : array-like of shape (n, n_angles * n_quantiles)
            Embedded points (px).
        method : {"em", "fbp"}, default="em"
            Maximum-likelihood expectation maximisation, or filtered back-projection.
        n_iter : int, default=200
            Steps of ``"em"``.
        return_residual : bool, default=False
            Whether to return the residuals as well.

        Returns
        -------
        images : ndarray of shape (n, height, width)
            Non-negative, each with sum 1.
        residuals : ndarray of shape (n,)
            Only with `return_residual`. Mean over angles of the L1 distance between the slices of
            the image and those asked for: 0 for a perfect fit, at most 2.

        Raises
        ------
        ValueError
            If `Z` has not the right number of features, contains NaN or infinite values, or a
            parameter is outside its range.
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.

        Warns
        -----
        UserWarning
            If there are fewer slice values than pixels, so that many images share the slices.
            Images of 128 x 128 pixels need about 180 angles.
        """
        check_is_fitted(self)
        check_choice("method", method, ("em", "fbp"))
        if n_iter < 1:
            raise ValueError(f"n_iter must be at least 1, got {n_iter}")
        if self.n_quantiles < 2:
            raise ValueError("the inverse needs at least 2 quantiles")
        points = np.asarray(Z, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self._n_features_out:
            raise ValueError(f"expected shape (n, {self._n_features_out}), got {points.shape}")
        if not np.isfinite(points).all():
            raise ValueError("Z contains values that are NaN or infinite")
        directions = directions_from_angles(self.angles_)
        matrix = projection_matrix(self.image_shape_, directions)
        n_equations = int(np.count_nonzero(np.diff(matrix.indptr)))
        if n_equations < self.n_features_in_:
            warnings.warn(
                f"{self.n_angles} angles give {n_equations} slice values for "
                f"{self.n_features_in_} pixels: the inverse is not unique, use more angles",
                stacklevel=2,
            )
        scale = feature_scale(self.measure, 2, self.n_angles, self.quantile_edges_)
        quantiles = points.reshape(-1, self.n_angles, self.n_quantiles) / scale
        quantiles += self.template_quantiles_
        slices = np.stack(
            [
                slices_from_quantiles(q, self.quantile_edges_, self.image_shape_, directions)
                for q in quantiles
            ]
        )
        if method == "em":
            rows = expectation_maximization(slices, matrix, n_iter)
        else:
            rows = filtered_back_projection(slices, self.image_shape_, directions)
        images = rows.reshape(-1, *self.image_shape_)
        if not return_residual:
            return images
        return images, slice_residuals(rows, slices, matrix)

    @property
    def _n_features_out(self) -> int:
        return self.n_angles * self.n_quantiles

    def _check_parameters(self) -> None:
        for name in ("n_angles", "n_quantiles", "oversampling"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value!r}")
        if self.oversampling % 2:
            raise ValueError(f"oversampling must be even, got {self.oversampling}")
        check_choice("footprint", self.footprint, ("box", "point"))
        check_choice("measure", self.measure, ("probability", "surface"))
        if isinstance(self.template, str):
            check_choice("template", self.template, ("mean", "zero"))

    def _template_density(self, mean: NDArray[np.float64]) -> NDArray[np.float64] | None:
        if self.template is None or (isinstance(self.template, str) and self.template == "zero"):
            return None
        if isinstance(self.template, str):
            density = mean
        else:
            image = np.asarray(self.template)
            if image.shape != self.image_shape_:
                raise ValueError(
                    f"template has shape {image.shape}, the images have {self.image_shape_}"
                )
            try:
                density = normalized_densities(image[np.newaxis])
            except ValueError as error:
                raise ValueError(str(error).replace("image 0", "template")) from None
        return density.reshape(self.image_shape_)

    def _quantiles(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return slice_quantiles(
            rows,
            self.image_shape_,
            directions_from_angles(self.angles_),
            self.quantile_edges_,
            self.footprint,
            self.oversampling,
            self.n_jobs,
        )

    def _features(self, rows: NDArray[np.float64]) -> NDArray[np.float32]:
        quantiles = self._quantiles(rows)
        scale = feature_scale(self.measure, 2, self.n_angles, self.quantile_edges_)
        features = np.empty((len(rows), self.n_angles, self.n_quantiles), dtype=np.float32)
        for k, template in enumerate(self.template_quantiles_):
            features[:, k] = (quantiles[k] - template) * scale
        return features.reshape(len(rows), -1)


def sliced_wasserstein_distance(
    a: ArrayLike | tuple[ArrayLike, ArrayLike],
    b: ArrayLike | tuple[ArrayLike, ArrayLike],
    *,
    n_angles: int = 60,
    footprint: Footprint = "box",
    method: Literal["binned", "exact"] = "binned",
    directions: ArrayLike | None = None,
) -> float:
    r"""Sliced Wasserstein distance between two density images, volumes or point clouds.

    .. math:: SW(a, b) = \Big(\frac1n \sum_{k=1}^n W_2^2\big(\mathscr{R}a(\cdot, \theta_k),
              \mathscr{R}b(\cdot, \theta_k)\big)\Big)^{1/2}

    the mean over directions of Definition 3. (The paper integrates over the circle instead: its
    value is :math:`\sqrt{2\pi}` times this one.)

    Parameters
    ----------
    a, b : array-like of shape (height, width) or (depth, height, width), or pair of arrays
        Non-negative images or volumes of one shape, or clouds ``(positions, weights)`` of shapes
        (n_points, d) and (n_points,); each is divided by its sum.
    n_angles : int, default=60
        Number of equispaced angles of the half-circle, in the plane.
    footprint : {"box", "point"}, default="box"
        Whether a pixel of an image is a unit square or a point at its centre. Voxels are points.
    method : {"binned", "exact"}, default="binned"
        ``"binned"`` is what :class:`SlicedWassersteinEmbedding` with its default grids gives,
        before rounding to single precision. ``"exact"`` merges the sorted masses: exact at the
        given directions, for points only.
    directions : array-like of shape (n, d), optional
        Unit vectors instead of the equispaced angles; coordinates x (columns), y (rows), z.
        Necessary above two dimensions, see :func:`sliced_directions`.

    Returns
    -------
    float
        Distance in px, or in the unit of the positions.

    Raises
    ------
    ValueError
        If an image is not a density (see :meth:`SlicedWassersteinEmbedding.fit`), the shapes
        differ, the directions are missing or not unit vectors, or ``"exact"`` is asked for boxes.

    References
    ----------
    S. Kolouri, Y. Zou, G. K. Rohde, "Sliced Wasserstein Kernels for Probability Distributions",
    CVPR 2016, Definition 3.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.zeros((2, 8, 8))
    >>> a[2, 3] = b[6, 3] = 1.0
    >>> round(sliced_wasserstein_distance(a, b) ** 2, 4)  # |v|² / 2
    8.0
    """
    check_choice("footprint", footprint, ("box", "point"))
    check_choice("method", method, ("binned", "exact"))
    if isinstance(a, tuple) or isinstance(b, tuple) or np.ndim(a) > 2:
        clouds = _pair_of_clouds(a, b)
        dimension = clouds[0].positions.shape[1]
        if directions is None and dimension > 2:
            raise ValueError(f"give directions in {dimension} dimensions: see sliced_directions")
        vectors = _vectors(directions, n_angles, dimension)
        return _cloud_distance(clouds[0], clouds[1], vectors, method)
    rows = normalized_densities([a, b])
    height, width = np.shape(a)
    vectors = _vectors(directions, n_angles, 2)
    if method == "binned":
        edges = quantile_edges(DEFAULT_N_QUANTILES)
        first, second = slice_quantiles(
            rows, (height, width), vectors, edges, footprint, DEFAULT_OVERSAMPLING, None
        ).transpose(1, 0, 2)
        return _distance_of_quantiles(first, second, edges)
    if footprint == "box":
        raise ValueError('method="exact" merges point masses: use it with footprint="point"')
    positions = pixel_positions((height, width))
    return _cloud_distance(
        PointCloud(positions, rows[0]), PointCloud(positions, rows[1]), vectors, method
    )


def _vectors(directions: ArrayLike | None, n_angles: int, dimension: int) -> NDArray[np.float64]:
    if directions is not None:
        return unit_vectors(directions, dimension)
    if dimension == 1:
        return np.ones((1, 1))
    return directions_from_angles(half_circle_angles(n_angles))


def _pair_of_clouds(a: Any, b: Any) -> list[PointCloud]:
    """Read clouds or volumes; a volume's voxels are points."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return as_point_clouds([a, b])
    if np.shape(a) != np.shape(b):
        raise ValueError(f"the volumes have different shapes: {np.shape(a)} and {np.shape(b)}")
    return as_point_clouds(np.stack([a, b]))


def _cloud_distance(
    a: PointCloud, b: PointCloud, directions: NDArray[np.float64], method: str
) -> float:
    if method == "binned":
        edges = quantile_edges(DEFAULT_N_QUANTILES)
        return _distance_of_quantiles(
            cloud_quantiles(*a, directions, edges), cloud_quantiles(*b, directions, edges), edges
        )
    squared = np.empty(len(directions))
    for k, direction in enumerate(directions):
        s, t = a.positions @ direction, b.positions @ direction
        i, j = np.argsort(s, kind="stable"), np.argsort(t, kind="stable")
        squared[k] = squared_w2_sorted(s[i], a.weights[i], t[j], b.weights[j])
    return float(np.sqrt(squared.mean()))


def _distance_of_quantiles(
    a: NDArray[np.float64], b: NDArray[np.float64], edges: NDArray[np.float64]
) -> float:
    return float(np.sqrt(((a - b) ** 2 @ np.diff(edges)).mean()))


def feature_scale(
    measure: Measure, dimension: int, n_directions: int, edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the square roots of the weights of quantile differences in SW², one per bin of u.

    Parameters
    ----------
    measure : {"probability", "surface"}
        Whether the sphere of directions has measure 1 or its surface.
    dimension : int
        Dimension d of the space.
    n_directions : int
        Number of directions.
    edges : ndarray of shape (n_quantiles + 1,)
        Edges of the bins of u.

    Returns
    -------
    ndarray of shape (n_quantiles,)
    """
    sphere = 1.0
    if measure == "surface":
        sphere = 2 * math.pi ** (dimension / 2) / math.gamma(dimension / 2)
    scale: NDArray[np.float64] = np.sqrt(sphere * np.diff(edges) / n_directions)
    return scale


def slice_quantiles(
    rows: NDArray[np.float64],
    shape: tuple[int, int],
    directions: NDArray[np.float64],
    edges: NDArray[np.float64],
    footprint: Footprint,
    oversampling: int,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Return the bin-averaged quantile functions of the slices of images.

    Parameters
    ----------
    rows : ndarray of shape (n, height * width)
        Densities.
    shape : (int, int)
        Height and width.
    directions : ndarray of shape (n_directions, 2)
        Unit vectors.
    edges : ndarray of shape (n_quantiles + 1,)
        Edges of the bins of u.
    footprint, oversampling, n_jobs
        See :class:`SlicedWassersteinEmbedding`.

    Returns
    -------
    ndarray of shape (n_directions, n, n_quantiles)
        Means (px).
    """
    quantiles = np.empty((len(directions), len(rows), len(edges) - 1))
    if footprint == "box":
        fill = _box_filler(rows.reshape(-1, *shape), directions, edges, oversampling, quantiles)
    else:
        fill = _point_filler(rows, pixel_positions(shape), directions, edges, quantiles)
    pairs = _transposed_pairs(directions)
    # Threads, because the loops release the interpreter lock; over directions, so that every
    # number is computed by one thread in one order.
    if effective_n_jobs(n_jobs) == 1:
        for pair in pairs:
            fill(pair)
    else:
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(fill)(pair) for pair in pairs)
    return quantiles


class _Pair(NamedTuple):
    """Two directions that transposition exchanges, up to a sign; one alone pairs with itself."""

    first: int
    second: int
    opposite: bool


def _transposed_pairs(directions: NDArray[np.float64]) -> list[_Pair]:
    """Pair each direction (a, b) with (b, a) or (-b, -a), if that is among the directions."""
    cosines = directions @ directions[:, ::-1].T
    pairs, done = [], set()
    for k, row in enumerate(cosines):
        if k in done:
            continue
        other = next((j for j in np.flatnonzero(np.abs(row) > 1 - 1e-14) if j not in done), k)
        done |= {k, int(other)}
        pairs.append(_Pair(k, int(other), bool(row[other] < 0)))
    return pairs


def _box_filler(
    images: NDArray[np.float64],
    directions: NDArray[np.float64],
    edges: NDArray[np.float64],
    oversampling: int,
    quantiles: NDArray[np.float64],
) -> Callable[[_Pair], None]:
    """Return the function that fills ``quantiles[k]`` for images of unit squares.

    An image that equals its transpose, such as a symmetric co-occurrence matrix, has the same
    slice in both directions of a pair: half of its slices are copies.
    """
    height, width = images.shape[1:]
    symmetric = np.zeros(len(images), dtype=np.bool_)
    if height == width:
        _find_symmetric(images, symmetric)
    columns = images
    if not symmetric.all():
        columns = np.ascontiguousarray(images.transpose(0, 2, 1))
    extents = {True: line_extents(images), False: line_extents(columns)}

    def compute(k: int, which: NDArray[np.bool_]) -> None:
        plan = line_plan((height, width), directions[k], oversampling)
        _box_quantiles(
            images if plan.by_rows else columns,
            np.flatnonzero(which),
            *extents[plan.by_rows],
            plan.first,
            plan.weights,
            oversampling,
            plan.reverse,
            np.empty(deposit_space(plan.grid, oversampling)),
            plan.grid.edges[:-1],
            plan.grid.step,
            edges,
            quantiles[k],
        )

    def fill(pair: _Pair) -> None:
        compute(pair.first, np.ones(len(images), dtype=np.bool_))
        if pair.second == pair.first:
            return
        compute(pair.second, ~symmetric)
        # Along the opposite direction the quantile function is -Q(1 - u).
        slices = quantiles[pair.first, symmetric]
        quantiles[pair.second, symmetric] = -slices[:, ::-1] if pair.opposite else slices

    return fill


def _point_filler(
    rows: NDArray[np.float64],
    positions: NDArray[np.float64],
    directions: NDArray[np.float64],
    edges: NDArray[np.float64],
    quantiles: NDArray[np.float64],
) -> Callable[[_Pair], None]:
    """Return the function that fills ``quantiles[k]`` for images of points."""

    def fill(pair: _Pair) -> None:
        for k in {pair.first, pair.second}:
            t = positions @ directions[k]
            # One order for all images: they share their pixels.
            order = np.argsort(t, kind="stable")
            _point_quantiles(rows, order, t[order], edges, quantiles[k])

    return fill


@compiled()
def _find_symmetric(images, symmetric):  # type: ignore[no-untyped-def]
    """Tell which images equal their transposes; most others differ in their first pixels."""
    for n in range(images.shape[0]):
        same = True
        for i in range(images.shape[1]):
            for j in range(i):
                if images[n, i, j] != images[n, j, i]:
                    same = False
                    break
            if not same:
                break
        symmetric[n] = same


@compiled()
def _box_quantiles(  # type: ignore[no-untyped-def]
    lines,
    which,
    starts,
    stops,
    first,
    weights,
    oversampling,
    reverse,
    deposits,
    lefts,
    step,
    edges,
    out,
):
    masses = np.empty(lefts.shape[0])
    for i in which:
        slice_masses(
            lines[i], starts[i], stops[i], first, weights, oversampling, reverse, deposits, masses
        )
        bin_means(lefts, step, masses, edges, out[i])


@compiled()
def _point_quantiles(rows, order, t, edges, out):  # type: ignore[no-untyped-def]
    masses = np.empty(t.shape[0])
    for i in range(rows.shape[0]):
        for p in range(t.shape[0]):
            masses[p] = rows[i, order[p]]
        bin_means(t, 0.0, masses, edges, out[i])
