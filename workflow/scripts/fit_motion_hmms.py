from typing import TYPE_CHECKING

import numpy as np

from replication.io import log_to
from replication.protocols.motion import HMMSettings, MotionSet, fit_hmms

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
models = fit_hmms(
    MotionSet.from_arrays(np.load(snakemake.input.sequences)).sequences,
    HMMSettings(**snakemake.params.hmms),
    trial=int(snakemake.wildcards.trial),
    seed=snakemake.params.seed,
    experiment="motion",
)
models.save(snakemake.output.models)
