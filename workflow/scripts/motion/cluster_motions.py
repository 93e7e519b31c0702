from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.io import save_arrays, start_job, write_table
from replication.motion.protocol import (
    HierarchySettings,
    HMMSettings,
    cluster_motions,
    first_levels,
)
from replication.motion.sequences import MotionSet
from vhem import H3M

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
names = snakemake.wildcards
sequences = MotionSet.from_arrays(np.load(snakemake.input.sequences)).sequences
blocks = map(H3M.load, snakemake.input.models)
models = first_levels(blocks, len(sequences), snakemake.params.start)
runs, timings = cluster_motions(
    snakemake.params.methods,
    sequences,
    {trial: models[trial] for trial in range(int(names.first), int(names.last) + 1)},
    HMMSettings(**snakemake.params.hmms),
    HierarchySettings(**snakemake.params.hierarchy),
    seed=snakemake.params.seed,
    experiment="motion",
    log=snakemake.log[0],
)
save_arrays(snakemake.output.runs, **runs)
write_table(snakemake.output.timing, pd.DataFrame(timings))
