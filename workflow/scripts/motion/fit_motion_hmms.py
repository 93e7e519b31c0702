from typing import TYPE_CHECKING

import numpy as np

from replication.io import atomic_path, start_job
from replication.motion.protocol import HMMSettings, fit_hmms
from replication.motion.sequences import MotionSet
from vhem import H3M

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
names = snakemake.wildcards
models = [
    hmm
    for trial in range(int(names.first), int(names.last) + 1)
    for hmm in fit_hmms(
        MotionSet.from_arrays(np.load(snakemake.input.sequences)).sequences,
        HMMSettings(**snakemake.params.hmms),
        trial=trial,
        seed=snakemake.params.seed,
        experiment="motion",
    )
]
with atomic_path(snakemake.output.models) as temporary:
    H3M.from_hmms(models).save(temporary)
