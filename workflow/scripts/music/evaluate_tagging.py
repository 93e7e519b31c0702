from typing import TYPE_CHECKING

import numpy as np

from replication.io import start_job
from replication.music.evaluation import (
    ScoringSettings,
    evaluate_tagging,
    join_folds,
    resample_songs,
    tags_given_up,
)
from replication.music.tagging.songs import SongSplit
from replication.report.metrics import write_scores
from replication.standins.ceiling import ceilings, evaluate_ceilings

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
split = SongSplit.from_arrays(np.load(snakemake.input.split))
blocks = [dict(np.load(path)) for path in snakemake.input.scores]
found = join_folds(split, blocks)
scoring = ScoringSettings(**snakemake.params.scoring)
experiment = snakemake.params.experiment
rows = evaluate_tagging(split, found, scoring)
rows += tags_given_up(split, blocks)
rows += resample_songs(
    split,
    found,
    scoring,
    draws=snakemake.params.draws,
    seed=snakemake.params.seed,
    experiment=experiment,
)
if snakemake.params.made_with:
    known = ceilings(split, **snakemake.params.made_with)
    rows += evaluate_ceilings(split, known, scoring)
write_scores(snakemake.output.metrics, rows, experiment=experiment, summary=snakemake.input.summary)
