from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.io import start_job, write_table
from replication.music.estimation import measure_memory
from replication.music.tagging.song_models import SequenceSettings, SongSettings
from replication.music.tagging.songs import FeatureFiles, SongSplit
from replication.music.tagging.tag_models import TagSettings, read_base

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
rows = measure_memory(
    lambda: read_base("vhem", snakemake.input.models),
    FeatureFiles(snakemake.input.features),
    SongSplit.from_arrays(np.load(snakemake.input.split)),
    SequenceSettings(**snakemake.params.sequences),
    SongSettings(**snakemake.params.songs),
    TagSettings(**snakemake.params.tags),
    seed=snakemake.params.seed,
    experiment="music",
)
write_table(snakemake.output.timing, pd.DataFrame(rows))
