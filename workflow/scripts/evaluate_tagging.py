from typing import TYPE_CHECKING

import numpy as np

from replication.io import log_to
from replication.protocols.metrics import write_scores
from replication.protocols.tagging import SongSplit
from replication.protocols.tagging_evaluation import (
    ScoringSettings,
    evaluate_tagging,
    join_folds,
    resample_songs,
)

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
split = SongSplit.from_arrays(np.load(snakemake.input.split))
found = join_folds(split, map(np.load, snakemake.input.scores))
scoring = ScoringSettings(**snakemake.params.scoring)
experiment = snakemake.params.experiment
rows = evaluate_tagging(split, found, scoring)
rows += resample_songs(
    split,
    found,
    scoring,
    draws=snakemake.params.draws,
    seed=snakemake.params.seed,
    experiment=experiment,
)
write_scores(snakemake.output.metrics, rows, experiment=experiment, summary=snakemake.input.summary)
