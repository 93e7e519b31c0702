from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.io import save_arrays, start_job, write_table
from replication.motion.cmu_mocap import load_recordings
from replication.motion.scores import cluster_exemplars, join_blocks, shown_hierarchies
from replication.motion.sequences import MotionSet

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
motions = MotionSet.from_arrays(np.load(snakemake.input.sequences))
found = join_blocks(map(np.load, snakemake.input.runs))
shown = {method: found[method] for method in ("vhem", "ppk_sc")}
write_table(snakemake.output.hierarchies, shown_hierarchies(motions, shown))
recordings = load_recordings(
    read_manifest(snakemake.input.manifest),
    snakemake.params.raw,
    allow_subset=snakemake.params.allow_subset,
)
exemplars = cluster_exemplars(recordings, motions, found["vhem"])
save_arrays(snakemake.output.exemplars, **exemplars)
