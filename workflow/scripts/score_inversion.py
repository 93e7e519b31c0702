from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replication.datasets import read_manifest
from replication.datasets.animal_faces import load_faces
from replication.io import log_to
from replication.protocols.hoggles_quality import inversion_rows
from replication.protocols.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
images = read_manifest(snakemake.input.images)
paths = [Path(snakemake.params.raw, file) for file in images["file"]]
rows = inversion_rows(
    images,
    load_faces(paths, snakemake.params.side, n_jobs=snakemake.threads),
    {
        variant: np.concatenate([np.load(block) for block in blocks])
        for variant, blocks in snakemake.params.hoggles.items()
    },
)
write_scores(snakemake.output.metrics, rows, experiment="faces", summary=snakemake.input.summary)
