r"""How fast the estimates become good (NIPS 2012, section 4).

The paper: "Relative to direct EM estimation on the entire data, VHEM-H3M [...] does not need to
evaluate the likelihood of all the samples at each iteration, and converges to effective estimates
in shorter times." On level 2 of the motion experiment both algorithms learn the same kind of model,
so that they can start from the same one: as many HMMs of level 1 as there are clusters, drawn at
random. After every M-step the model is judged by what EM maximises, the log-likelihood of the
sequences under the mixture,

.. math:: \sum_i \log \sum_j \omega_j \, p(y_i \mid \mathcal{M}_j),

and by the processor time that it took so far; judging takes none of it. VHEM needs the HMMs of
level 1, so that the time of learning these is measured too. EM has its start for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

import numpy as np

from replication.arrays import Floats
from replication.motion.identities import check_bounds
from replication.motion.protocol import HierarchySettings, HMMSettings, fit_hmms
from replication.seeds import repetition_seed
from vhem import EMH3M, H3M, VHEM

__all__ = ["measure_convergence"]

_Fit = Callable[[Callable[[H3M], object]], object]


def measure_convergence(
    sequences: Sequence[Floats],
    hmms: HMMSettings,
    hierarchy: HierarchySettings,
    *,
    trial: int,
    seed: int,
    experiment: str,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Follow VHEM and EM from the same start.

    Parameters
    ----------
    sequences : sequence of ndarray of shape (n_frames_i, n_features)
    hmms : HMMSettings
    hierarchy : HierarchySettings
        ``levels[0]`` is the number of clusters.
    trial : int
        The HMMs of level 1 are those of this trial.
    seed : int
    experiment : str

    Returns
    -------
    scores : list of dict
        Rows with the metric ``log_likelihood_by_iteration`` in nats, the number of M-steps as
        ``item``, for the methods ``vhem`` and ``em_h3m``, and what
        :func:`replication.motion.identities.check_bounds` finds of the former.
    timings : list of dict
        Rows with the metric ``seconds_by_iteration``, likewise, and one with the metric
        ``first_level_seconds`` of the method ``vhem``. Processor time, without compiling.
    """
    state = repetition_seed(seed, f"{experiment}/convergence", trial)
    # Compile what is timed below.
    fit_hmms(sequences[:1], hmms, trial=trial, seed=seed, experiment=experiment)
    begun = process_time()
    models = fit_hmms(sequences, hmms, trial=trial, seed=seed, experiment=experiment)
    first_level = process_time() - begun
    chosen = np.random.default_rng(state).choice(len(models), hierarchy.levels[0], replace=False)
    start = H3M.from_hmms([models[int(i)] for i in chosen])

    variational = VHEM(len(start), virtual_length=hierarchy.length, init=start)

    def vhem(max_iter: int) -> _Fit:
        variational.set_params(max_iter=max_iter)
        return lambda monitor: variational.fit(models, monitor=monitor)

    def em(max_iter: int) -> _Fit:
        estimator = EMH3M(
            len(start),
            hmms.n_states,
            hmms.n_mix,
            max_iter=max_iter,
            covariance_floor=hmms.covariance_floor,
        )
        return lambda monitor: estimator.fit(sequences, init=start, monitor=monitor)

    scores: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    for method, make in (("vhem", vhem), ("em_h3m", em)):
        make(1)(lambda model: None)  # compiles
        seen, seconds = _follow(make(hierarchy.max_iter))
        for step, (model, passed) in enumerate(zip(seen, seconds, strict=True)):
            here = {"method": method, "repeat": trial, "seed": state, "item": step}
            value = float(model.score_samples(sequences).sum())
            scores.append({**here, "metric": "log_likelihood_by_iteration", "value": value})
            timings.append({**here, "metric": "seconds_by_iteration", "value": passed})
    shared = {"method": "vhem", "repeat": trial, "seed": state}
    scores += [
        {**shared, **row} for row in check_bounds(models, variational, hierarchy.length, state)
    ]
    timings.append({**shared, "metric": "first_level_seconds", "value": first_level})
    return scores, timings


def _follow(fit: _Fit) -> tuple[list[H3M], list[float]]:
    """Return the models after 0, 1, ... M-steps and the processor seconds until each."""
    seen: list[H3M] = []
    seconds: list[float] = []
    begun = process_time()

    def monitor(model: H3M) -> None:
        seconds.append(process_time() - begun)
        seen.append(model)

    fit(monitor)
    return seen, seconds
