"""What the estimators take: models of every kind, and lists of them, told apart from sequences."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ._types import Floats
from ._validation import real_array
from .models import H3M, HMM

if TYPE_CHECKING:
    from hmmlearn.hmm import GMMHMM, GaussianHMM

# Strings, because hmmlearn need not be installed.
Model: TypeAlias = "H3M | HMM | GaussianHMM | GMMHMM"
Models: TypeAlias = "Model | Sequence[Model]"

__all__ = [
    "Models",
    "as_h3m",
    "as_items",
    "bytes_of",
    "check_available",
    "check_resolution",
    "checked_weights",
    "first_of",
    "is_hmm",
    "warn_of_duplicates",
    "warn_of_large_floor",
    "warn_of_swapped_axes",
]

# Nats; as much of a variance is lost where it is computed from moments.
_TOLERABLE_LOSS = 1e-3
_KINDS = "an H3M, an HMM, a fitted hmmlearn model, or a list of these"


def first_of(items: Any) -> tuple[Any, Any]:
    """Return the first item of a collection, anything else as it is; and what to read from then on.

    That is a list where the collection can be read once only, or is indexed by labels.
    """
    by_label = getattr(items, "ndim", None) == 1 and not isinstance(items, np.ndarray)
    if isinstance(items, Iterable) and (by_label or not hasattr(items, "__getitem__")):
        items = list(items)
    listed = isinstance(items, list | tuple) or (
        isinstance(items, np.ndarray) and items.dtype == object
    )
    return (items[0] if listed and len(items) else items), items


def is_hmm(item: object) -> bool:
    """Whether ``item`` is a model that :func:`as_h3m` takes."""
    # By name, because hmmlearn need not be installed.
    of_hmmlearn = any(c.__module__.partition(".")[0] == "hmmlearn" for c in type(item).__mro__)
    return isinstance(item, H3M | HMM) or of_hmmlearn


def as_items(items: Any, name: str, kinds: str) -> list[Any]:
    """Return a list or another iterable as a list that is not empty.

    Raises
    ------
    TypeError, ValueError
        If it is no collection or has nothing in it.
    """
    if isinstance(items, str | bytes | dict | set) or not isinstance(items, Iterable):
        raise TypeError(f"{name} is a {type(items).__name__}, expected {kinds}")
    listed = list(items)
    if not listed:
        raise ValueError(f"{name} is empty, expected {kinds}")
    return listed


def as_h3m(models: Models, name: str = "models") -> H3M:
    """Bring models together in one mixture.

    Parameters
    ----------
    models : H3M, HMM, fitted hmmlearn model, or list of these
        Every item of a list weighs the same; the components of an H3M in it share its weight.
    name : str, default="models"
        Name of the argument, for messages.

    Returns
    -------
    H3M
        All components, in their order.

    Raises
    ------
    TypeError
        If something is no such model; the message gives its index.
    ValueError
        If there is none, one is not fitted, their numbers of features differ, or means are so large
        that their squares overflow.
    """
    if isinstance(models, H3M):
        real_array(f"{name}.means", models.means)
        return models
    items = [models] if is_hmm(models) else as_items(models, name, _KINDS)
    hmms: list[HMM] = []
    weights: list[Floats] = []
    for i, item in enumerate(items):
        if not is_hmm(item):
            hint = "; for sequences there is EMH3M" if np.ndim(item) in (1, 2) else ""
            raise TypeError(f"{name}[{i}] is a {type(item).__name__}, expected {_KINDS}{hint}")
        try:
            part = item if isinstance(item, H3M | HMM) else HMM.from_hmmlearn(item)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}[{i}]: {error}") from None
        if hmms and part.n_features != hmms[0].n_features:
            raise ValueError(
                f"{name}[{i}] has {part.n_features} features, {name}[0] has {hmms[0].n_features}"
            )
        hmms.extend(part if isinstance(part, H3M) else [part])
        weights.append((part.weights if isinstance(part, H3M) else np.ones(1)) / len(items))
    return as_h3m(H3M.from_hmms(hmms, np.concatenate(weights)), name)


def checked_weights(weights: ArrayLike | None, n_items: int) -> Floats:
    """Return base weights scaled to sum 1; ``None`` means equal ones.

    Raises
    ------
    ValueError
        If the shape differs from ``(n_items,)``, a weight is negative or not finite, or all
        are zero.
    """
    if weights is None:
        return np.full(n_items, 1.0 / n_items)
    checked = real_array("weights", weights)
    if checked.shape != (n_items,):
        raise ValueError(f"weights has shape {checked.shape}, expected ({n_items},)")
    bad = np.flatnonzero(checked < 0)
    if bad.size:
        raise ValueError(f"weights[{bad[0]}] is {checked[bad[0]]}, expected a number >= 0")
    if checked.sum() == 0:
        raise ValueError("weights are all zero")
    return checked / checked.sum()


def check_available(n_components: int, base_weights: Floats) -> None:
    """Refuse more components than the base has of positive weight."""
    available = int((base_weights > 0).sum())
    if n_components > available:
        raise ValueError(
            f"n_components is {n_components}, but base has only {available} components of "
            "positive weight"
        )


def warn_of_duplicates(parameter: str, wanted: int, items: Iterable[bytes], what: str) -> int:
    """Warn if fewer than ``wanted`` different items are there; return how many, at most that.

    Parameters
    ----------
    parameter, wanted : str, int
        The parameter that asks for so many.
    items : iterable of bytes
        Read until enough different ones are found.
    what : str
        What the items are, in the plural.
    """
    seen: set[bytes] = set()
    for item in items:
        seen.add(item)
        if len(seen) >= wanted:
            return wanted
    warnings.warn(
        f"{parameter} is {wanted}, but only {len(seen)} {what} are distinct: equal ones stay "
        "together",
        UserWarning,
        stacklevel=4,
    )
    return len(seen)


def warn_of_large_floor(floor: float, variances: Floats) -> None:
    """Warn if no feature varies by more than ``covariance_floor``, which then hides all clusters.

    Parameters
    ----------
    floor : float
        Smallest variance that a model may have.
    variances : ndarray of shape (d,)
        Overall variance of the frames.
    """
    if floor >= (largest := variances.max()):
        warnings.warn(
            f"covariance_floor is {floor:g}, but the variance of the frames is at most "
            f"{largest:.3g}: all clusters become alike; rescale the data or give a smaller floor",
            UserWarning,
            stacklevel=5,
        )


def warn_of_swapped_axes(sequences: object) -> None:
    """Warn of an array of shape (n, T, d) with fewer frames than features."""
    shape = np.shape(sequences) if isinstance(sequences, np.ndarray) else ()
    if len(shape) == 3 and shape[1] < shape[2]:
        warnings.warn(
            f"an array of shape {shape} is read as {shape[0]} sequences of {shape[1]} frames with "
            f"{shape[2]} features; if its last axis is time, as in aeon, give "
            "X.transpose(0, 2, 1)",
            UserWarning,
            stacklevel=3,
        )


def check_resolution(deviations: Floats, variances: Any) -> None:
    """Check that second moments about a common centre resolve the variances of Gaussians.

    The expansion of ``(mu_p - mu_q)^2 / v_q`` into moments loses ``eps mu_q^2 / v_q`` nats, and a
    variance that comes of moments the same share of itself.

    Parameters
    ----------
    deviations : ndarray of shape (n, d)
        Means about the centre.
    variances : ndarray of shape (n, d), or float
        Variances, or the smallest of them.

    Raises
    ------
    ValueError
        If no digit is left.

    Warns
    -----
    UserWarning
        If fewer than three digits are left.
    """
    with np.errstate(over="ignore"):
        lost = np.finfo(np.float64).eps * (deviations**2 / variances).sum(axis=1).max()
    if lost < _TOLERABLE_LOSS:
        return
    far = (
        "means lie so many standard deviations from their common centre that rounding costs "
        f"{lost:.2g} nats per observation"
    )
    if lost > 1:
        raise ValueError(f"{far}: scale the features, or cluster the far models apart")
    warnings.warn(far, UserWarning, stacklevel=5)


def bytes_of(model: Any, weighted: bool = True) -> list[bytes]:
    """Return the parameters of each component of a mixture, to compare them.

    Components of weight zero are left out if ``weighted``.
    """
    names = [field.name for field in fields(model) if field.name != "weights"]
    arrays = [getattr(model, name) for name in names]
    chosen = np.flatnonzero(model.weights > 0) if weighted else range(len(model))
    return [b"".join(array[k].tobytes() for array in arrays) for k in chosen]
