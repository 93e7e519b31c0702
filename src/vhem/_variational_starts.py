"""Where the variational hierarchical EM begins: base HMMs, and splits of a component."""

from __future__ import annotations

import numpy as np

from ._random import draw_base
from ._types import Booleans, Floats, Integers
from .models import H3M, HMM

__all__ = ["base_start", "resized", "split"]


# Standard deviations by which a copied Gaussian is moved: equal ones would stay equal for ever.
_JITTER = 0.1
# Standard deviations between the two halves of a split component.
_SPLIT = 1.0
# Share of the uniform distribution in chains whose states were exchanged.
_SMOOTHING = 0.1


def base_start(
    base: H3M, n_components: int, n_states: int, n_mix: int, rng: np.random.Generator
) -> H3M:
    """Random base components of positive weight, with equal weights."""
    chosen = draw_base(base.weights, n_components, rng)
    return H3M.from_hmms([resized(base, int(i), n_states, n_mix, rng) for i in chosen])


def resized(base: H3M, i: int, n_states: int, n_mix: int, rng: np.random.Generator) -> HMM:
    """Component ``i`` with another number of states or Gaussians.

    Of too many states a random subset remains, of too many Gaussians the heaviest; what is missing
    is copied from what is there and moved a little. Chains are restricted to the chosen states and
    smoothed, so that no state is cut off.
    """
    hmm = base[i]
    if (n_states, n_mix) == (hmm.n_states, hmm.n_mix):
        return hmm
    startprob, transmat = hmm.startprob, hmm.transmat
    states, copied_state = np.arange(hmm.n_states), np.zeros(n_states, dtype=bool)
    if n_states != hmm.n_states:
        states, copied_state = _choose(hmm.n_states, n_states, rng)
        startprob = _smoothed(startprob[states])
        transmat = _smoothed(transmat[np.ix_(states, states)])
    weights = np.empty((n_states, n_mix))
    means = np.empty((n_states, n_mix, hmm.n_features))
    covars = np.empty((n_states, n_mix, *hmm.covars.shape[2:]))
    for s, origin in enumerate(states):
        order = np.argsort(-hmm.weights[origin], kind="stable")[:n_mix]
        extra = rng.choice(hmm.n_mix, max(0, n_mix - hmm.n_mix), p=hmm.weights[origin])
        gaussians = np.concatenate([order, extra])
        copied = (np.arange(n_mix) >= len(order)) | copied_state[s]
        multiplicity = np.bincount(gaussians, minlength=hmm.n_mix)[gaussians]
        weights[s] = hmm.weights[origin][gaussians] / multiplicity
        covars[s] = hmm.covars[origin][gaussians]
        deviations = np.sqrt(_variances(covars[s], hmm.covariance_type == "full"))
        noise = rng.standard_normal(deviations.shape) * deviations
        means[s] = hmm.means[origin][gaussians] + _JITTER * copied[:, None] * noise
    weights /= weights.sum(axis=1, keepdims=True)
    return HMM(startprob, transmat, weights, means, covars)


def split(model: H3M, rng: np.random.Generator) -> H3M:
    """Replace the heaviest component by two, moved apart along each Gaussian's widest axis."""
    heaviest = int(model.weights.argmax())
    hmm = model[heaviest]
    if hmm.covariance_type == "full":
        values, vectors = np.linalg.eigh(hmm.covars)
        shift = vectors[..., -1] * np.sqrt(values[..., -1:])
    else:
        widest = hmm.covars.argmax(axis=-1)[..., None]
        shift = np.zeros_like(hmm.means)
        deviations = np.sqrt(np.take_along_axis(hmm.covars, widest, axis=-1))
        np.put_along_axis(shift, widest, deviations, axis=-1)
    signs = rng.choice([-1.0, 1.0], size=(*shift.shape[:2], 1))
    halves = [
        HMM(
            hmm.startprob,
            hmm.transmat,
            hmm.weights,
            hmm.means + side * 0.5 * _SPLIT * signs * shift,
            hmm.covars,
        )
        for side in (-1.0, 1.0)
    ]
    weight = model.weights[heaviest]
    others = [k for k in range(len(model)) if k != heaviest]
    weights = np.concatenate([model.weights[others], [0.5 * weight, 0.5 * weight]])
    return H3M.from_hmms([*(model[k] for k in others), *halves], weights)


def _choose(available: int, wanted: int, rng: np.random.Generator) -> tuple[Integers, Booleans]:
    """Choose the states to take; say which of them are copies."""
    if wanted <= available:
        return np.sort(rng.choice(available, wanted, replace=False)), np.zeros(wanted, dtype=bool)
    extra = rng.choice(available, wanted - available)
    return np.concatenate([np.arange(available), extra]), np.arange(wanted) >= available


def _smoothed(probabilities: Floats) -> Floats:
    """Rows scaled to sum 1 and mixed with the uniform distribution."""
    sums = probabilities.sum(axis=-1, keepdims=True)
    uniform = 1.0 / probabilities.shape[-1]
    scaled = np.where(sums > 0, probabilities / np.where(sums > 0, sums, 1.0), uniform)
    return (1.0 - _SMOOTHING) * scaled + _SMOOTHING * uniform


def _variances(covars: Floats, full: bool) -> Floats:
    return np.diagonal(covars, axis1=-2, axis2=-1) if full else covars
