from typing import TYPE_CHECKING

from replication.data.manifest import read_manifest
from replication.io import save_arrays, start_job
from replication.motion.cmu_mocap import load_recordings
from replication.motion.sequences import MotionSet
from replication.settings import ConfigError, Counts, check_counts

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
recordings = load_recordings(
    read_manifest(snakemake.input.manifest),
    snakemake.params.raw,
    allow_subset=snakemake.params.allow_subset,
)
motions = MotionSet.from_recordings(recordings, **snakemake.params.settings)
try:
    counts = Counts(len(motions.sequences), frames=min(map(len, motions.sequences)))
    check_counts(snakemake.config, "motion", counts, snakemake.wildcards.variant)
except ConfigError as error:
    raise SystemExit(str(error)) from None
save_arrays(snakemake.output.sequences, **motions.to_arrays())
