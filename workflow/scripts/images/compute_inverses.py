from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import read_manifest
from replication.images.inverse_scores import inverse_rows
from replication.images.inverses import inverse_panels
from replication.io import save_arrays, start_job
from replication.report.metrics import write_scores
from sliced_wasserstein import SlicedWassersteinEmbedding

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
experiment, transport = snakemake.wildcards.experiment, snakemake.params.transport
panels = inverse_panels(
    np.load(snakemake.input.densities),
    read_manifest(snakemake.input.manifest)["label"].to_numpy(),
    SlicedWassersteinEmbedding(**transport, n_jobs=snakemake.threads),
    **snakemake.params.inverses,
    not_shown=snakemake.params.not_shown,
    seed=snakemake.params.seed,
    experiment=experiment,
)
save_arrays(snakemake.output.inverses, **panels)
rows = inverse_rows(panels, transport["n_angles"])
write_scores(snakemake.output.metrics, rows, experiment=experiment, summary=snakemake.input.summary)
