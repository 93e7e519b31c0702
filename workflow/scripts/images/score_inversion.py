from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.hoggles_quality import inversion_rows
from replication.io import start_job
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
rows = inversion_rows(
    read_manifest(snakemake.input.images),
    np.load(snakemake.input.faces),
    {
        variant: np.concatenate([np.load(block) for block in blocks])
        for variant, blocks in snakemake.params.hoggles.items()
    },
    read_manifest(snakemake.input.chosen),
)
write_scores(snakemake.output.metrics, rows, experiment="faces", summary=snakemake.input.summary)
