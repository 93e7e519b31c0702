r"""Pictures that only an invertible embedding can draw (CVPR 2016, sections 4.1 to 4.3).

The paper says that the sliced Wasserstein SVM "can be sampled along side the orthogonal direction
to the discriminating hyperplane" and inverted "to directly get the discriminating features in the
space of the probability densities", and that k-means gives barycentres. It shows neither. Here
points of the space of :math:`\phi_\sigma` are inverted:

``normal``
    along the normal of the linear SVM between two classes,
``component_1``, ``component_2``, ``component_3``
    along the first kernel principal components,
``barycentre``
    means of embedded densities, i.e. SW barycentres, beside Euclidean means (``mean``),
``centre``
    the centres of SW k-means.

Classes that are not to be shown take no part: a small cluster's centre is nearly a picture of one
of its members.

Such a point need not be the embedding of any density. Its inverse is then a fit, and the residual
says how good a one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
from sklearn.svm import SVC

from replication.arrays import AnyArray, Bools, Floats, Floats32
from replication.seeds import repetition_seed
from sliced_wasserstein import (
    KernelKMeans,
    SlicedWassersteinEmbedding,
    center_gram,
    gram_matrix,
    kernel_scale,
)

__all__ = [
    "STEPS",
    "Line",
    "discriminant_line",
    "inverse_panels",
    "principal_lines",
]


STEPS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Positions along a line, in standard deviations of the data along it."""


class Line(NamedTuple):
    """A straight line in the space of the embedding."""

    origin: Floats
    """Point at step 0."""
    step: Floats
    """One standard deviation along the line."""

    def points(self) -> Floats:
        """Points at :data:`STEPS`, shape (5, n_features)."""
        return self.origin + np.outer(STEPS, self.step)


class Discriminant(NamedTuple):
    """A linear decision function f(z) = <weights, z> + offset and the line along its normal."""

    line: Line
    weights: Floats
    offset: float

    def decide(self, points: npt.NDArray[np.floating]) -> Floats:
        """Evaluate f; positive on the side of the second class."""
        values: Floats = points @ self.weights + self.offset
        return values


def discriminant_line(
    features: Floats32, labels: AnyArray, classes: Sequence[str], C: float
) -> Discriminant:
    r"""Train a linear SVM between two classes and follow its normal.

    Parameters
    ----------
    features : ndarray of shape (n, n_features)
        Embedded densities.
    labels : ndarray of shape (n,)
    classes : sequence of two str
        The normal points from the first to the second.
    C : float
        Of the SVM on features divided by their mean norm.

    Returns
    -------
    Discriminant
        Its line goes through the point of the hyperplane next to the middle of the class means.

    Raises
    ------
    ValueError
        If a class has no member, or the classes are so alike that there is no normal.
    """
    first, second = classes
    for label in classes:
        if label not in labels:
            raise ValueError(f"classes: {label!r} has no member; there are {set(labels.tolist())}")
    rows = np.flatnonzero((labels == first) | (labels == second))
    chosen = features[rows].astype(np.float64)
    is_second = labels[rows] == second
    gram = chosen @ chosen.T
    scale = kernel_scale(np.diagonal(gram))
    machine = SVC(C=C, kernel="precomputed").fit(gram / scale, is_second)
    weights = machine.dual_coef_[0] @ chosen[machine.support_] / scale
    offset = float(machine.intercept_[0])
    norm = np.linalg.norm(weights)
    if not norm > 0:
        raise ValueError(f"classes: nothing tells {first!r} from {second!r}")
    unit = weights / norm
    middle = (chosen[is_second].mean(axis=0) + chosen[~is_second].mean(axis=0)) / 2
    on_plane = middle - (middle @ weights + offset) / norm * unit
    return Discriminant(Line(on_plane, (chosen @ unit).std() * unit), weights, offset)


def principal_lines(features: Floats32, gram: Floats, n_components: int) -> list[Line]:
    r"""Return the axes of kernel PCA through the mean.

    With :math:`v` a unit eigenvector of the centred Gram matrix, one standard deviation along its
    axis is :math:`\sum_i v_i \phi_i / \sqrt n`.

    Parameters
    ----------
    features : ndarray of shape (n, n_features)
    gram : ndarray of shape (n, n)
        Their inner products.
    n_components : int

    Returns
    -------
    list of Line
        In descending order of variance. The sign, which is arbitrary, makes the largest entry of
        the eigenvector positive.
    """
    n = len(gram)
    _, vectors = scipy.linalg.eigh(
        center_gram(gram), subset_by_index=[n - n_components, n - 1], driver="evr"
    )
    mean = features.mean(axis=0, dtype=np.float64)
    lines = []
    for vector in vectors.T[::-1]:
        signed = vector * np.sign(vector[np.abs(vector).argmax()])
        # Entries of v sum to 0, so the mean cancels.
        step = (signed.astype(np.float32) @ features).astype(np.float64) / np.sqrt(n)
        lines.append(Line(mean, step))
    return lines


def inverse_panels(
    densities: Floats32,
    labels: AnyArray,
    embedding: SlicedWassersteinEmbedding,
    *,
    classes: Sequence[str],
    C: float,
    n_iter: int,
    not_shown: Collection[str] = (),
    seed: int,
    experiment: str,
) -> dict[str, AnyArray]:
    """Invert the points named in the module's text.

    Parameters
    ----------
    densities : ndarray of shape (n, height, width)
    labels : ndarray of shape (n,)
    embedding : SlicedWassersteinEmbedding
        Not yet fitted; with as many angles as an inverse needs.
    classes : sequence of two str
        Classes between which the SVM decides and whose barycentres are shown.
    C : float
        Of the SVM, see :func:`discriminant_line`.
    n_iter : int
        Steps of the inversion.
    not_shown : collection of str
        Classes that take no part.
    seed : int
    experiment : str

    Returns
    -------
    dict of ndarrays
        A row a picture: ``kind`` (see the module's text), ``title``, ``images`` (m, height, width)
        float32 densities, ``residuals`` (m,), which is NaN for Euclidean means, and ``decisions``
        (m,): the decision value of the SVM at the embedding of the picture, NaN elsewhere.
        ``classes`` are the two classes.
    """
    shown = ~np.isin(labels, list(not_shown))
    densities, labels = densities[shown], labels[shown]
    features = embedding.fit_transform(densities)
    gram = gram_matrix(features)
    discriminant = discriminant_line(features, labels, classes, C)
    kinds, titles, points = ["normal"] * len(STEPS), [_position(step) for step in STEPS], []
    points.append(discriminant.line.points())
    for number, line in enumerate(principal_lines(features, gram, 3), start=1):
        kinds += [f"component_{number}"] * len(STEPS)
        titles += [_position(step) for step in STEPS]
        points.append(line.points())
    # The seed of the first repetition of k-means in Figure 5.
    n_clusters = len(np.unique(labels))
    state = repetition_seed(seed, f"{experiment}/kmeans", 0)
    scaled = gram / kernel_scale(np.diagonal(gram))
    clusters = KernelKMeans(n_clusters, n_init=1, random_state=state).fit(scaled).labels_
    means = _groups(labels, clusters, classes)
    kinds += [kind for kind, _ in means]
    titles += [title.split(" ", 1)[-1] if kind == "centre" else title for kind, title in means]
    points.append(
        np.stack([features[rows].mean(axis=0, dtype=np.float64) for rows in means.values()])
    )
    images, residuals = embedding.inverse_transform(
        np.concatenate(points), n_iter=n_iter, return_residual=True
    )
    euclidean = {
        title: densities[rows].mean(axis=0, dtype=np.float64)
        for (kind, title), rows in means.items()
        if kind == "barycentre"
    }
    kinds += ["mean"] * len(euclidean)
    titles += list(euclidean)
    decisions = np.full(len(kinds), np.nan)
    along = slice(0, len(STEPS))
    decisions[along] = discriminant.decide(embedding.transform(images[along]))
    return {
        "kind": np.array(kinds),
        "title": np.array(titles),
        "images": np.concatenate([images, np.stack(list(euclidean.values()))]).astype(np.float32),
        "residuals": np.concatenate([residuals, np.full(len(euclidean), np.nan)]),
        "decisions": decisions,
        "classes": np.array(classes),
    }


def _groups(
    labels: AnyArray, clusters: AnyArray, classes: Sequence[str]
) -> dict[tuple[str, str], Bools]:
    """Kind and title of each mean, and the rows that it is of: classes, all, clusters."""
    means: dict[tuple[str, str], Bools] = {("barycentre", name): labels == name for name in classes}
    means["barycentre", "all"] = np.ones(len(labels), dtype=bool)
    for cluster in range(clusters.max() + 1):
        members = clusters == cluster
        names, counts = np.unique(labels[members], return_counts=True)
        title = f"{members.sum()}: {counts.max()} {names[counts.argmax()]}"
        means["centre", f"{cluster} {title}"] = members
    return means


def _position(step: float) -> str:
    return f"{step:+g} s.d." if step else "0"
