from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.data.manifest import groups_of, read_manifest
from replication.images.matrices import TrainTemplate
from replication.images.svm import Grid, cross_validate
from replication.io import start_job, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
start = perf_counter()
manifest = read_manifest(snakemake.input.manifest)
svm, names = snakemake.params.svm, snakemake.wildcards
matrices = TrainTemplate(
    np.load(snakemake.input.matrices),
    np.load(snakemake.input.densities),
    np.load(snakemake.input.embedding),
    snakemake.params.transport,
)
rows = cross_validate(
    matrices,
    manifest["label"].to_numpy(),
    snakemake.params.methods,
    Grid(svm["C"], svm["gamma"], svm["degree"]),
    repeats=range(int(names.first), int(names.last) + 1),
    n_folds=svm["folds"],
    n_inner_folds=svm["inner_folds"],
    groups=groups_of(manifest),
    seed=snakemake.params.seed,
    experiment=names.experiment,
)
variant = "" if names.variant == "main" else names.variant
write_table(snakemake.output.scores, pd.DataFrame(rows).assign(variant=variant))
timing = {"seconds": perf_counter() - start, "kind": "cost"}
write_table(snakemake.output.timing, pd.DataFrame([timing]))
