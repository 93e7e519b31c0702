from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.io import save_arrays, start_job
from replication.motion.cmu_mocap import load_recordings
from replication.motion.protocol import MotionSet
from replication.motion.scores import cluster_exemplars, join_blocks

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
recordings = load_recordings(
    read_manifest(snakemake.input.manifest),
    snakemake.params.raw,
    allow_subset=snakemake.params.allow_subset,
)
motions = MotionSet.from_arrays(np.load(snakemake.input.sequences))
(runs,) = join_blocks(map(np.load, snakemake.input.runs)).values()
save_arrays(snakemake.output.exemplars, **cluster_exemplars(recordings, motions, runs))
