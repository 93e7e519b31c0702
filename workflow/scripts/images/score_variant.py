from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.data.manifest import read_manifest
from replication.images.kmeans import score_kmeans
from replication.images.variance import variance_rows
from replication.io import start_job, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
matrices = np.load(snakemake.input.matrices)
labels = read_manifest(snakemake.input.manifest)["label"].to_numpy()
shared = {"seed": snakemake.params.seed, "experiment": snakemake.wildcards.experiment}
rows = score_kmeans(matrices, labels, **snakemake.params.kmeans, **shared)
rows += variance_rows(matrices, **snakemake.params.variance, **shared)
scores = pd.DataFrame(rows).assign(variant=snakemake.wildcards.variant)
write_table(snakemake.output.scores, scores)
