from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.io import save_arrays, start_job, write_table
from replication.music.tagging import (
    FeatureFiles,
    SequenceSettings,
    SongSplit,
    pools_from_arrays,
    score_songs,
)

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
