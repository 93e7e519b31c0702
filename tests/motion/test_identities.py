"""The bound lies below what it bounds, and the check notices when it does not."""

import numpy as np
import pytest

from replication.motion import identities
from replication.motion.identities import check_bounds
from vhem import H3M, HMM, VHEM

LENGTH = 6


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    hmms = [
        HMM(
            startprob=[0.6, 0.4],
            transmat=[[0.8, 0.2], [0.3, 0.7]],
            weights=[[0.5, 0.5]] * 2,
            means=3 * (i % 2) + rng.normal(size=(2, 2, 3)),
            covars=rng.uniform(0.5, 2, size=(2, 2, 3)),
        )
        for i in range(8)
    ]
    return H3M.from_hmms(hmms)


@pytest.fixture(scope="module")
def fitted(models):
    return VHEM(2, virtual_length=LENGTH, random_state=0).fit(models)


def scores(models, fitted, random_state=1):
    rows = check_bounds(models, fitted, LENGTH, random_state)
    return {row["metric"]: row["value"] for row in rows}


def test_both_statements_hold(models, fitted):
    found = scores(models, fitted)
    assert found["bound_excess"] < 4
    assert found["objective_fall"] < 1e-9
    assert found == scores(models, fitted), "the draws follow from the seed"


def test_a_bound_above_the_expectation_is_noticed(models, fitted, monkeypatch):
    bound = identities.expected_log_likelihood

    def shifted(*arguments):
        # A nat of some tens.
        return bound(*arguments) + 1.0

    before = scores(models, fitted)["bound_excess"]
    monkeypatch.setattr(identities, "expected_log_likelihood", shifted)
    assert scores(models, fitted)["bound_excess"] > before + 2


def test_an_objective_that_falls_is_noticed(models, fitted):
    other = VHEM(2, virtual_length=LENGTH, random_state=0).fit(models)
    other.history_ = np.array([-10.0, -9.0, -9.5, -9.0])
    assert scores(models, other)["objective_fall"] == pytest.approx(0.5 / 9.5)
