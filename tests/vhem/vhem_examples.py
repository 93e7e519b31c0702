"""Random models and other people's results, shared by the tests of vhem."""

from pathlib import Path

import numpy as np

from vhem import H3M, HMM

GOLDEN = Path(__file__).parents[1] / "golden" / "h3m"


def random_h3m(rng, K, S, M, d, full=False, spread=1.0, weights=None):
    """A mixture of K HMMs with everything random and nothing zero."""
    covars = rng.uniform(0.3, 2.0, (K, S, M, d))
    if full:
        factors = rng.normal(size=(K, S, M, d, d)) * 0.5
        covars = factors @ np.swapaxes(factors, -1, -2) + covars[..., None] * np.eye(d)
    return H3M(
        rng.dirichlet(np.full(K, 3.0)) if weights is None else weights,
        rng.dirichlet(np.ones(S), K),
        rng.dirichlet(np.ones(S), (K, S)),
        rng.dirichlet(np.full(M, 3.0), (K, S)),
        rng.normal(size=(K, S, M, d)) * spread,
        covars,
    )


def random_hmm(rng, S, M, d, full=False, spread=1.0):
    return random_h3m(rng, 1, S, M, d, full, spread)[0]


def noisy_copies(rng, prototypes, copies, noise):
    """``copies`` HMMs per prototype, with jittered means; and the prototype of each."""
    hmms, labels = [], []
    for label, hmm in enumerate(prototypes):
        for _ in range(copies):
            means = hmm.means + noise * rng.normal(size=hmm.means.shape)
            hmms.append(HMM(hmm.startprob, hmm.transmat, hmm.weights, means, hmm.covars))
            labels.append(label)
    return H3M.from_hmms(hmms), np.array(labels)


def left_right_hmm(rng, S, M, d, spread=3.0):
    """A chain that starts in state 0 and only stays or moves one state on."""
    stay = rng.uniform(0.5, 0.9, S)
    stay[-1] = 1.0
    transmat = np.diag(stay) + np.diag(1.0 - stay[:-1], 1)
    base = random_hmm(rng, S, M, d, spread=spread)
    return HMM(np.eye(S)[0], transmat, base.weights, base.means, base.covars)


def replaced(model, **arrays):
    """A copy of a model with some arrays exchanged."""
    names = list(type(model).__dataclass_fields__)
    return type(model)(*(arrays.get(name, getattr(model, name)) for name in names))


def golden_case(name):
    with np.load(GOLDEN / f"{name}.npz") as archive:
        return {key: archive[key] for key in archive.files}


def golden_h3m(case, prefix):
    """The mixture stored in a golden case under ``prefix`` (``base``, ``init``, ``it5``, ...)."""
    last = "Sigma" if f"{prefix}_Sigma" in case else "v"
    return H3M(*(case[f"{prefix}_{key}"] for key in ("w", "pi", "A", "c", "mu", last)))
