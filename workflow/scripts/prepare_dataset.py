from typing import TYPE_CHECKING

from replication.datasets import prepare, write_manifest
from replication.io import log_to, write_json

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
name = snakemake.wildcards.dataset
settings = snakemake.params.settings
prepared = prepare(
    name,
    source=settings["source"],
    raw=f"data/raw/{snakemake.params.run}/{name}",
    archives=snakemake.config["archives"],
    allow_subset=snakemake.params.allow_subset,
    on_bad_file=settings["on_bad_file"],
    embedded=settings["embedded"],
    seed=snakemake.params.seed,
    n_jobs=snakemake.threads,
)
write_manifest(snakemake.output.manifest, prepared)
write_json(snakemake.output.summary, prepared.summary())
