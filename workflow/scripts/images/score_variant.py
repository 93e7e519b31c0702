from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.data.manifest import groups_of, read_manifest
from replication.images.kmeans import score_kmeans
from replication.images.matrices import TrainTemplate, compare_images
from replication.images.svm import Grid, cross_validate
from replication.images.variance import variance_rows
from replication.io import start_job, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
chosen = snakemake.params
densities, manifest = np.load(snakemake.input.densities), read_manifest(snakemake.input.manifest)
labels = manifest["label"].to_numpy()
shared = {"seed": chosen.seed, "experiment": snakemake.wildcards.experiment}
embedding, matrices = compare_images(
    densities, chosen.transport, beyond_paper=False, n_jobs=snakemake.threads
)
rows = cross_validate(
    TrainTemplate(matrices, densities, embedding, chosen.transport),
    labels,
    chosen.methods,
    Grid(**{key: chosen.svm[key] for key in Grid._fields}),
    repeats=range(chosen.repeats),
    n_folds=chosen.svm["folds"],
    n_inner_folds=chosen.svm["inner_folds"],
    groups=groups_of(manifest),
    **shared,
)
if chosen.spaces:
    rows += score_kmeans(matrices, labels, **chosen.spaces["kmeans"], **shared)
    rows += variance_rows(matrices, **chosen.spaces["variance"], **shared)
scores = pd.DataFrame(rows).assign(variant=snakemake.wildcards.variant)
write_table(snakemake.output.scores, scores)
