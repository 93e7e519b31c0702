from typing import TYPE_CHECKING

from replication.io import start_job, write_json, write_table
from replication.standins.order_collection import prepare_order_songs

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
manifest, summary = prepare_order_songs(
    snakemake.params.raw,
    songs=snakemake.params.settings["songs"],
    seconds=snakemake.params.settings["seconds"],
    seed=snakemake.params.seed,
)
write_table(snakemake.output.manifest, manifest)
write_json(snakemake.output.summary, summary)
