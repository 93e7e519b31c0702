from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.io import save_arrays, start_job, write_table
from replication.motion.protocol import HierarchySettings, HMMSettings, cluster_motions
from replication.motion.sequences import MotionSet
from vhem import H3M

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
names = snakemake.wildcards
trials = range(int(names.first), int(names.last) + 1)
runs, timings = cluster_motions(
    snakemake.params.methods,
    MotionSet.from_arrays(np.load(snakemake.input.sequences)).sequences,
    dict(zip(trials, map(H3M.load, snakemake.input.models), strict=True)),
    HMMSettings(**snakemake.params.hmms),
    HierarchySettings(**snakemake.params.hierarchy),
    seed=snakemake.params.seed,
    experiment="motion",
    log=snakemake.log[0],
)
save_arrays(snakemake.output.runs, **runs)
write_table(snakemake.output.timing, pd.DataFrame(timings))
