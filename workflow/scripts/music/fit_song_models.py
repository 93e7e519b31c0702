from typing import TYPE_CHECKING

import pandas as pd

from replication.io import save_arrays, start_job, write_table
from replication.music.tagging.song_models import SequenceSettings, SongSettings, fit_song_models
from replication.music.tagging.songs import FeatureFiles

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
models, timings = fit_song_models(
    snakemake.wildcards.kind,
    FeatureFiles([snakemake.input.features]),
    SequenceSettings(**snakemake.params.sequences),
    SongSettings(**snakemake.params.songs),
    seed=snakemake.params.seed,
    experiment=snakemake.params.experiment,
)
save_arrays(snakemake.output.models, **models.to_arrays())
write_table(snakemake.output.timing, pd.DataFrame(timings))
