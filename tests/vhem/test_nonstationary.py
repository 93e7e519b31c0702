"""What HEM-DTM cannot tell apart: the direction of time in sequences that change regime.

A dynamic texture knows means, covariances and their decay in time. Sequences that pass through
the same regimes, on one line in space, in the opposite order have all of these in common.
"""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, rand_score

from vhem import EMH3M, H3M, HEMDTM, VHEM, fit_dynamic_texture


def sequences_that_change_regime(rng, copies):
    """Regimes 0, 1, 2 with random durations; half of the sequences in the opposite order."""
    direction = np.array([1.0, -0.5, 0.3, 0.8])
    sequences, labels = [], np.repeat([0, 1], copies)
    for label in labels:
        durations = rng.integers(20, 40, size=3)
        levels = np.repeat([0.0, 1.0, 3.0], durations)
        path = levels if label == 0 else levels[::-1]
        sequences.append(path[:, None] * direction + 0.3 * rng.normal(size=(len(path), 4)))
    return sequences, labels


def test_a_reversed_sequence_has_the_same_dynamic_texture():
    (sequence, *_), _ = sequences_that_change_regime(np.random.default_rng(0), 1)
    forwards = fit_dynamic_texture(sequence, 1)
    backwards = fit_dynamic_texture(sequence[::-1], 1)
    np.testing.assert_allclose(backwards.observation, forwards.observation, atol=1e-12)
    np.testing.assert_allclose(backwards.initial_covar, forwards.initial_covar)
    # Only the two ends enter the two regressions differently.
    np.testing.assert_allclose(backwards.transition, forwards.transition, atol=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_vhem_separates_what_hem_dtm_cannot(seed):
    sequences, labels = sequences_that_change_regime(np.random.default_rng(seed), 12)
    hmms = [
        EMH3M(n_states=3, n_init=3, random_state=0).fit([sequence]).model_[0]
        for sequence in sequences
    ]
    vhem = VHEM(2, n_init=5, random_state=0).fit(H3M.from_hmms(hmms))
    assert rand_score(vhem.labels_, labels) == 1.0
    textures = [fit_dynamic_texture(sequence, 1) for sequence in sequences]
    hem_dtm = HEMDTM(2, n_init=5, random_state=0).fit(textures)
    assert adjusted_rand_score(hem_dtm.labels_, labels) < 0.3
