from typing import TYPE_CHECKING

import numpy as np

from replication.io import start_job, write_table
from replication.motion.protocol import MotionSet
from replication.motion.scores import join_blocks, shown_hierarchies

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
motions = MotionSet.from_arrays(np.load(snakemake.input.sequences))
found = join_blocks(map(np.load, snakemake.input.runs))
write_table(snakemake.output.hierarchies, shown_hierarchies(motions, found))
