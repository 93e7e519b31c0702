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
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from sliced_wasserstein._checks import (
    check_choice,
    check_positive_integer,
    float_array,
    real_array,
    thread_count,
)
from sliced_wasserstein._types import Floats
from sliced_wasserstein._validation import (
    ImageError,
    as_images,
    check_fitted,
    iter_batches,
    normalized_densities,
    table_rows,
)
from sliced_wasserstein.inversion import (
    expectation_maximization,
    filtered_back_projection,
    projection_matrix,
    slice_residuals,
    slices_from_quantiles,
)
from sliced_wasserstein.projection import directions_from_angles, half_circle_angles, project
from sliced_wasserstein.quantiles import invert_cdf, quantile_edges
from sliced_wasserstein.slices import (
    DEFAULT_N_QUANTILES,
    DEFAULT_OVERSAMPLING,
    Footprint,
    slice_quantiles,
)

__all__ = ["Measure", "SlicedWassersteinEmbedding", "feature_scale"]

Measure = Literal["probability", "surface"]


#: parameters that transform uses again: a change after fit would mix two embeddings
_FITTED_PARAMETERS = (
    "n_angles",
    "n_quantiles",
    "footprint",
    "oversampling",
    "measure",
    "image_shape",
)


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
    image_shape : (int, int), optional
        Height and width. With it an array of two axes or a data frame is read as flat rows, one
        image each, pixel after pixel along its rows; one of the two may be -1, which the number
        of columns decides.
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
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if :meth:`fit` was given a data frame.

    Notes
    -----
    An array of three axes holds images here, whatever its shape; clouds of points are for
    :class:`~sliced_wasserstein.PointCloudEmbedding`.

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
        *,
        n_quantiles: int = DEFAULT_N_QUANTILES,
        footprint: Footprint = "box",
        oversampling: int = DEFAULT_OVERSAMPLING,
        measure: Measure = "probability",
        template: str | ArrayLike | None = "mean",
        image_shape: tuple[int, int] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_angles = n_angles
        self.n_quantiles = n_quantiles
        self.footprint = footprint
        self.oversampling = oversampling
        self.measure = measure
        self.template = template
        self.image_shape = image_shape
        self.n_jobs = n_jobs

    def fit(self, densities: ArrayLike | Iterable[ArrayLike], y: object = None) -> Self:
        """Learn the shape of the images and the template.

        Parameters
        ----------
        densities : array-like of shape (n, height, width), or iterator of such chunks
            Non-negative images; with `image_shape` also flat rows of shape (n, height * width).
            An iterator is used up by this call.
        y : ignored

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
        self.__dict__.pop("feature_names_in_", None)
        total, count = np.zeros(1), 0
        for batch, shape in iter_batches(densities, None, self._reader(reset=True)):
            self.image_shape_ = shape
            # Summed image after image, so that the mean does not depend on the chunks.
            for row in batch:
                total = total + row
            count += len(batch)
        self.angles_ = half_circle_angles(self.n_angles)
        self.quantile_edges_ = quantile_edges(self.n_quantiles)
        self._fitted_parameters = {name: getattr(self, name) for name in _FITTED_PARAMETERS}
        half = math.ceil(math.hypot(*self.image_shape_) / 2 - 0.5)
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
        *,
        out: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        r"""Embed images.

        Parameters
        ----------
        densities : array-like of shape (n, height, width), or iterator of such chunks
            Non-negative images of the shape seen in :meth:`fit`; with `image_shape` also rows.
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
            As in :meth:`fit`; if the images differ in shape from those seen there; if a parameter
            was changed since; if `out` has the wrong shape or type.
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.
        """
        check_fitted(self)
        if out is not None:
            self._check_out(out)
        parts = []
        done = 0
        for rows, _ in iter_batches(densities, self.image_shape_, self._reader(reset=False)):
            part = self._features(rows)
            if out is None:
                parts.append(part)
            elif done + len(part) > len(out):
                raise ValueError(f"out has {len(out)} rows, there are more images")
            else:
                out[done : done + len(part)] = part
            done += len(part)
        if out is None:
            return parts[0] if len(parts) == 1 else np.concatenate(parts)
        if done != len(out):
            raise ValueError(f"out has {len(out)} rows, there are {done} images")
        return out

    def fit_transform(self, densities: ArrayLike, y: object = None) -> NDArray[np.float32]:
        """Learn the template and embed the same images, see :meth:`fit` and :meth:`transform`.

        Parameters
        ----------
        densities : array-like of shape (n, height, width)
            Images. An iterator, which can be read only once, is an error.
        y : ignored

        Returns
        -------
        ndarray of shape (n, n_angles * n_quantiles), float32
        """
        if isinstance(densities, Iterator):
            raise ValueError("an iterator is used up by fit: call fit and transform with one each")
        return self.fit(densities).transform(densities)

    def transport_maps(
        self,
        densities: ArrayLike,
        t_grid: ArrayLike | None = None,
    ) -> Floats:
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
        check_fitted(self)
        if self.template_density_ is None:
            raise ValueError("transport maps start from a template: fit with one")
        if self.footprint != "box":
            raise ValueError('transport maps need slices with a density: use footprint="box"')
        t = self.t_grid_
        if t_grid is not None:
            t = float_array(t_grid, "t_grid", 1).astype(np.float64)
        images = normalized_densities(
            self._reader(reset=False)(densities, 0), shape=self.image_shape_
        )
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
    ) -> Floats: ...

    @overload
    def inverse_transform(
        self,
        Z: ArrayLike,
        *,
        method: Literal["em", "fbp"] = ...,
        n_iter: int = ...,
        return_residual: Literal[True],
    ) -> tuple[Floats, Floats]: ...

    def inverse_transform(
        self,
        Z: ArrayLike,
        *,
        method: Literal["em", "fbp"] = "em",
        n_iter: int = 200,
        return_residual: bool = False,
    ) -> Floats | tuple[Floats, Floats]:
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
        check_fitted(self)
        check_choice("method", method, ("em", "fbp"))
        check_positive_integer("n_iter", n_iter)
        if self.n_quantiles < 2:
            raise ValueError("the inverse needs at least 2 quantiles")
        points = float_array(Z, "Z", 2).astype(np.float64)
        if points.shape[1] != self._n_features_out:
            raise ValueError(f"expected Z of shape (n, {self._n_features_out}), got {points.shape}")
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _check_parameters(self) -> None:
        for name in ("n_angles", "n_quantiles", "oversampling"):
            check_positive_integer(name, getattr(self, name))
        if self.oversampling % 2:
            raise ValueError(f"oversampling must be even, got {self.oversampling}")
        check_choice("footprint", self.footprint, ("box", "point"))
        check_choice("measure", self.measure, ("probability", "surface"))
        thread_count(self.n_jobs, 1)
        if isinstance(self.template, str):
            check_choice("template", self.template, ("mean", "zero"))
        if self.image_shape is not None:
            _check_image_shape(self.image_shape)

    def _check_out(self, out: NDArray[np.float32]) -> None:
        expected = f"out must be a writeable float32 array of shape (n, {self._n_features_out})"
        if not isinstance(out, np.ndarray):
            raise ValueError(f"{expected}, got {type(out).__name__}")
        if (
            out.dtype != np.float32
            or out.shape[1:] != (self._n_features_out,)
            or not out.flags.writeable
        ):
            raise ValueError(f"{expected}, got {out.dtype} {out.shape}")

    def _reader(self, *, reset: bool) -> Callable[[Any, int], NDArray[np.generic]]:
        """Return the function that turns a chunk into images, be it images or flat rows."""
        wanted = self.image_shape

        def read(chunk: Any, index: int) -> NDArray[np.generic]:
            if wanted is None:
                images = as_images(chunk, index)
            elif not hasattr(chunk, "columns") and (array := real_array(chunk, "images")).ndim > 2:
                images = as_images(array, index)
            else:
                rows = table_rows(self, chunk, "images", reset=reset and index == 0)
                return _rows_as_images(rows, wanted)
            shape = images.shape[1:]
            if wanted and any(n not in (-1, m) for n, m in zip(wanted, shape, strict=True)):
                raise ImageError(index, f"has shape {shape}, image_shape is {wanted}")
            if reset and index == 0:
                self.n_features_in_ = images[0].size
            return images

        return read

    def _template_density(self, mean: Floats) -> Floats | None:
        if self.template is None or (isinstance(self.template, str) and self.template == "zero"):
            return None
        if isinstance(self.template, str):
            density = mean
        else:
            image = real_array(self.template, "template")
            if image.shape != self.image_shape_:
                raise ValueError(
                    f"template has shape {image.shape}, the images have {self.image_shape_}"
                )
            try:
                density = normalized_densities(image[np.newaxis])
            except ImageError as error:
                raise ValueError(f"template {error.fault}") from None
        return density.reshape(self.image_shape_)

    def _quantiles(self, rows: Floats) -> Floats:
        return slice_quantiles(
            rows,
            self.image_shape_,
            directions_from_angles(self.angles_),
            self.quantile_edges_,
            self.footprint,
            self.oversampling,
            self.n_jobs,
        )

    def _features(self, rows: Floats) -> NDArray[np.float32]:
        quantiles = self._quantiles(rows)
        scale = feature_scale(self.measure, 2, self.n_angles, self.quantile_edges_)
        features = np.empty((len(rows), self.n_angles, self.n_quantiles), dtype=np.float32)
        for k, template in enumerate(self.template_quantiles_):
            features[:, k] = (quantiles[k] - template) * scale
        return features.reshape(len(rows), -1)


def _check_image_shape(shape: Any) -> None:
    sides = list(shape) if isinstance(shape, (tuple, list)) else []
    if (
        len(sides) != 2
        or not all(isinstance(n, Integral) and not isinstance(n, bool) for n in sides)
        or min(sides) < -1
        or 0 in sides
        or max(sides) < 0
    ):
        raise ValueError(
            f"image_shape must be (height, width), positive, one of them may be -1; got {shape!r}"
        )


def _rows_as_images(rows: Floats, shape: tuple[int, int]) -> Floats:
    try:
        return rows.reshape(len(rows), *shape)
    except ValueError:
        raise ValueError(
            f"rows of {rows.shape[1]} values are no images of image_shape={shape}"
        ) from None


def feature_scale(measure: Measure, dimension: int, n_directions: int, edges: Floats) -> Floats:
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
    scale: Floats = np.sqrt(sphere * np.diff(edges) / n_directions)
    return scale
