from typing import TYPE_CHECKING

from replication.datasets.order_songs import prepare_order_songs
from replication.io import log_to, write_json, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
manifest, summary = prepare_order_songs(
    snakemake.params.raw,
    songs=snakemake.params.settings["songs"],
    seconds=snakemake.params.settings["seconds"],
    seed=snakemake.params.seed,
)
write_table(snakemake.output.manifest, manifest)
write_json(snakemake.output.summary, summary)
