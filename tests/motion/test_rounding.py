"""Rounding decides no result: motions that differ in the twelfth digit are clustered alike."""

import numpy as np
import pytest

from replication.data.sources import prepare
from replication.motion.cmu_mocap import load_recordings
from replication.motion.protocol import (
    METHODS,
    HierarchySettings,
    HMMSettings,
    cluster_motions,
    fit_hmms,
)
from replication.motion.scores import determined_levels
from replication.motion.sequences import MotionSet
from vhem import H3M

HMMS = HMMSettings(n_states=3, n_mix=2, n_init=1, covariance_floor=2.5e-4)
HIERARCHY = HierarchySettings(
    levels=(8, 4, 2),
    n_init=3,
    max_iter=20,
    length=10,
    power=0.5,
    kernel_root="value",
    dtm_states=5,
    time_limit_s=600,
)
SEED = {"seed": 2016, "experiment": "rounding"}


def motions(raw, **source):
    prepared = prepare("cmu_mocap", raw=raw, **source)
    recordings = load_recordings(prepared.manifest, raw)
    return MotionSet.from_recordings(recordings, frame_rate_hz=30).sequences


@pytest.fixture(scope="module", params=["synthetic", pytest.param("real", marks=pytest.mark.real)])
def inputs(request, tmp_path_factory):
    """Sequences and their HMMs."""
    if request.param == "real":
        archives = request.getfixturevalue("real_archives")
        source = {"source": "archives", "archives": archives, "allow_subset": True}
    else:
        source = {"source": "embedded", "embedded": {"max_sequences_per_class": 4}}
    sequences = motions(tmp_path_factory.mktemp("motions") / "cmu_mocap", **source)
    return sequences, fit_hmms(sequences, HMMS, trial=0, **SEED)


def perturbed(sequences, models):
    rng = np.random.default_rng(0)

    def nearly(array):
        return array * (1 + 1e-12 * rng.uniform(-1, 1, array.shape))

    others = H3M(
        models.weights,
        models.startprob,
        models.transmat,
        models.mixture_weights,
        nearly(models.means),
        nearly(models.covars),
    )
    return [nearly(sequence) for sequence in sequences], others


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:the graph of affinities falls into:UserWarning")
def test_the_twelfth_digit_changes_no_cluster(method, inputs):
    found, again = (
        cluster_motions([method], sequences, {0: models}, HMMS, HIERARCHY, **SEED)[0]
        for sequences, models in (inputs, perturbed(*inputs))
    )
    determined = determined_levels(found)
    np.testing.assert_array_equal(determined_levels(again), determined)
    # In so many dimensions the kernel itself leaves a graph in pieces.
    assert determined.all() != method.startswith("ppk_sc_literal")
    for key in ("labels", "log_likelihoods"):
        np.testing.assert_allclose(
            again[key][:, determined], found[key][:, determined], rtol=1e-5, err_msg=key
        )
