from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from replication.io import save_arrays, start_job, write_table
from replication.music.tagging.pools import pools_to_arrays
from replication.music.tagging.scoring import score_songs
from replication.music.tagging.song_models import SequenceSettings, SongSettings
from replication.music.tagging.songs import FeatureFiles, SongSplit
from replication.music.tagging.tag_models import TagSettings, fit_tag_models, read_base

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
names = snakemake.wildcards
split = SongSplit.from_arrays(np.load(snakemake.input.split))
sequences = SequenceSettings(**snakemake.params.sequences)
models, timings = fit_tag_models(
    names.method,
    read_base(names.method, snakemake.input.base),
    split,
    range(int(names.first), int(names.last) + 1),
    sequences,
    SongSettings(**snakemake.params.songs),
    TagSettings(**snakemake.params.tags),
    seed=snakemake.params.seed,
    experiment=snakemake.params.experiment,
)
save_arrays(snakemake.output.models, **pools_to_arrays(models))
features = FeatureFiles(snakemake.input.features)
scores, more = score_songs(names.method, models, features, split, sequences)
save_arrays(snakemake.output.scores, **scores)
write_table(snakemake.output.timing, pd.DataFrame([*timings, *more]))
