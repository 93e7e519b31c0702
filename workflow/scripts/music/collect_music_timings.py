from typing import TYPE_CHECKING

from replication.io import read_metrics, start_job
from replication.music.evaluation import song_stage
from replication.registry import SONG_MODELS
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
rows = read_metrics(snakemake.input.timings).fillna("").to_dict("records")
write_scores(
    snakemake.output.timings,
    song_stage(rows, SONG_MODELS, snakemake.params.methods),
    experiment="music",
    summary=snakemake.input.summary,
)
