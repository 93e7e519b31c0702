from typing import TYPE_CHECKING

import numpy as np

from replication.io import atomic_path, start_job
from replication.motion.protocol import HMMSettings, fit_hmms
from replication.motion.sequences import MotionSet

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
models = fit_hmms(
    MotionSet.from_arrays(np.load(snakemake.input.sequences)).sequences,
    HMMSettings(**snakemake.params.hmms),
    trial=int(snakemake.wildcards.trial),
    seed=snakemake.params.seed,
    experiment="motion",
)
with atomic_path(snakemake.output.models) as temporary:
    models.save(temporary)
