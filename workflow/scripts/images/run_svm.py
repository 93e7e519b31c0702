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
files = (snakemake.input[name] for name in ("matrices", "densities", "embedding"))
matrices = TrainTemplate(*map(np.load, files), snakemake.params.transport)
rows = cross_validate(
    matrices,
    manifest["label"].to_numpy(),
    snakemake.params.methods,
    Grid(**{key: svm[key] for key in Grid._fields}),
    repeats=range(int(names.first), int(names.last) + 1),
    n_folds=svm["folds"],
    n_inner_folds=svm["inner_folds"],
    groups=groups_of(manifest),
    **snakemake.params.multiclass,
    seed=snakemake.params.seed,
    experiment=names.experiment,
)
# Of the rows only those of other multi-class schemes name a variant.
write_table(snakemake.output.scores, pd.DataFrame([{"variant": "", **row} for row in rows]))
timing = {"seconds": perf_counter() - start, "kind": "cost"}
write_table(snakemake.output.timing, pd.DataFrame([timing]))
