from typing import TYPE_CHECKING

import numpy as np

from replication.data.manifest import groups_of, read_manifest
from replication.images.svm import Grid, compare_multiclass
from replication.io import start_job
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
svm, experiment = snakemake.params.svm, snakemake.wildcards.experiment
matrices = np.load(snakemake.input.matrices)
manifest = read_manifest(snakemake.input.manifest)
rows = compare_multiclass(
    lambda name, train: matrices[name],
    manifest["label"].to_numpy(),
    snakemake.params.methods,
    Grid(svm["C"], svm["gamma"], svm["degree"]),
    repeats=range(snakemake.params.repeats),
    n_folds=svm["folds"],
    n_inner_folds=svm["inner_folds"],
    groups=groups_of(manifest),
    seed=snakemake.params.seed,
    experiment=experiment,
)
write_scores(snakemake.output.metrics, rows, experiment=experiment, summary=snakemake.input.summary)
