"""The bridge to hmmlearn, which is an optional dependency and imported here only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._types import Floats

if TYPE_CHECKING:
    from hmmlearn.hmm import GMMHMM, GaussianHMM

__all__ = ["model_from", "parameters"]


_KINDS = ("spherical", "diag", "full", "tied")


def _hmmlearn() -> Any:
    try:
        from hmmlearn import hmm
    except ImportError as error:
        raise ImportError(
            "hmmlearn is not installed: pip install 'distributions-as-data[hmmlearn]'",
            name="hmmlearn",
        ) from error
    return hmm


def parameters(model: GaussianHMM | GMMHMM) -> tuple[Floats, ...]:
    """Arguments of :class:`vhem.HMM` with the distribution of a fitted hmmlearn model.

    Raises
    ------
    TypeError
        If it is another kind of model.
    ValueError
        If it is not fitted, or its arrays do not have the shapes that its parameters say.
    """
    hmm = _hmmlearn()
    if not isinstance(model, hmm.GaussianHMM | hmm.GMMHMM):
        raise TypeError(f"expected a GaussianHMM or GMMHMM, got {type(model).__name__}")
    kind = type(model).__name__
    mixtures = isinstance(model, hmm.GMMHMM)
    # hmmlearn's property covars_ of a GaussianHMM makes full matrices of whatever is there, and
    # fails for fitted spherical ones.
    covars_name = "covars_" if mixtures else "_covars_"
    names = ["startprob_", "transmat_", "means_", covars_name] + ["weights_"] * mixtures
    for name in names:
        if not hasattr(model, name):
            raise ValueError(f"the {kind} is not fitted: it has no {name.removeprefix('_')}")
    if model.covariance_type not in _KINDS:
        raise ValueError(
            f"the {kind} has covariance_type {model.covariance_type!r}, expected one of {_KINDS}"
        )
    startprob, transmat, means, covars, *weights = (np.asarray(getattr(model, n)) for n in names)
    if not mixtures:
        means, weights = means[:, None], [np.ones((len(means), 1))]
    states, n_mix, features = model.n_components, model.n_mix if mixtures else 1, means.shape[-1]
    if means.shape[:-1] != (states, n_mix):
        raise ValueError(
            f"means_ of the {kind} has shape {np.shape(model.means_)}, which does not fit "
            f"n_components={states}" + (f" and n_mix={n_mix}" if mixtures else "")
        )
    return startprob, transmat, weights[0], means, _covars(kind, model, covars, features, mixtures)


def _covars(
    kind: str, model: GaussianHMM | GMMHMM, covars: Floats, features: int, mixtures: bool
) -> Floats:
    """Covariances in the shape (S, M, d) or (S, M, d, d)."""
    states = model.n_components
    own = (states, model.n_mix) if mixtures else (states,)
    shapes: dict[str, list[tuple[int, ...]]] = {
        # A fitted GaussianHMM repeats the variance for each feature, a GMMHMM does not.
        "spherical": [own, (*own, 1)] + [(*own, features)] * (not mixtures),
        "diag": [(*own, features)],
        "full": [(*own, features, features)],
        "tied": [(states, features, features) if mixtures else (features, features)],
    }
    expected = shapes[model.covariance_type]
    if covars.shape not in expected:
        raise ValueError(
            f"covars_ of the {kind} has shape {covars.shape}, expected {expected[0]} for "
            f"covariance_type {model.covariance_type!r}: was a parameter changed after the fit?"
        )
    if model.covariance_type == "tied":
        covars = covars[:, None] if mixtures else covars
        return np.broadcast_to(covars, (states, model.n_mix if mixtures else 1, features, features))
    if model.covariance_type == "spherical" and covars.shape == own:
        covars = np.broadcast_to(covars[..., None], (*own, features))
    return covars if mixtures else covars[:, None]


def model_from(
    startprob: Floats, transmat: Floats, weights: Floats, means: Floats, covars: Floats
) -> GaussianHMM | GMMHMM:
    """Return an hmmlearn model with the distribution of a :class:`vhem.HMM` of these arrays."""
    module = _hmmlearn()
    n_states, n_mix, n_features = means.shape
    kind = "full" if covars.ndim == 4 else "diag"
    model: GaussianHMM | GMMHMM
    if n_mix == 1:
        model = module.GaussianHMM(n_states, covariance_type=kind)
        means, covars = means[:, 0], covars[:, 0]
    else:
        model = module.GMMHMM(n_states, n_mix, covariance_type=kind)
        # hmmlearn takes logarithms without care for zeros; this one vanishes in any sum.
        model.weights_ = np.maximum(weights, np.finfo(float).tiny)
    # The setter of covariances reads the number of features.
    model.n_features = n_features
    model.means_, model.covars_ = means.copy(), covars.copy()
    model.startprob_, model.transmat_ = startprob.copy(), transmat.copy()
    return model
