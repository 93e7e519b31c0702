from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.io import save_arrays, start_job, write_table
from replication.music.tagging.pools import pools_from_arrays
from replication.music.tagging.scoring import score_songs
from replication.music.tagging.song_models import SequenceSettings
from replication.music.tagging.songs import FeatureFiles, SongSplit

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
scores, timings = score_songs(
    snakemake.wildcards.method,
    pools_from_arrays(np.load(snakemake.input.models)),
    FeatureFiles(snakemake.input.features),
    SongSplit.from_arrays(np.load(snakemake.input.split)),
    SequenceSettings(**snakemake.params.sequences),
)
save_arrays(snakemake.output.scores, **scores)
write_table(snakemake.output.timing, pd.DataFrame(timings))
