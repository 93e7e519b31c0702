from typing import TYPE_CHECKING

import numpy as np

from replication.io import start_job
from replication.music.estimation import compare_estimation
from replication.music.tagging.song_models import SequenceSettings, SongSettings
from replication.music.tagging.songs import FeatureFiles, SongSplit
from replication.music.tagging.tag_models import TagSettings, read_base
from replication.report.metrics import write_scores

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
rows = compare_estimation(
    read_base("vhem", snakemake.input.models),
    FeatureFiles(snakemake.input.features),
    SongSplit.from_arrays(np.load(snakemake.input.split)),
    SequenceSettings(**snakemake.params.sequences),
    SongSettings(**snakemake.params.songs),
    TagSettings(**snakemake.params.tags),
    **snakemake.params.estimation,
    seed=snakemake.params.seed,
    experiment="music",
)
write_scores(snakemake.output.metrics, rows, experiment="music", summary=snakemake.input.summary)
