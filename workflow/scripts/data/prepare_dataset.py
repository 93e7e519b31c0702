from typing import TYPE_CHECKING

from replication.data.catalog import DataSetError
from replication.data.manifest import groups_of, write_manifest
from replication.data.sources import fetch_archives, prepare
from replication.io import start_job, write_json
from replication.settings import ConfigError, check_counts, count_members

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

name, settings = snakemake.wildcards.dataset, snakemake.params.settings
raw = f"data/raw/{snakemake.params.run}/{name}"
archives = snakemake.config["archives"]
try:
    if settings["source"] == "download":
        # Before the log: terms and progress are for whoever sits at the terminal.
        fetch_archives(name, archives, raw=raw, allow_subset=snakemake.params.allow_subset)
    start_job(snakemake)
    prepared = prepare(
        name,
        source=settings["source"],
        raw=raw,
        archives=archives,
        allow_subset=snakemake.params.allow_subset,
        on_bad_file=settings["on_bad_file"],
        embedded=settings["embedded"],
        seed=snakemake.params.seed,
        recordings=snakemake.params.recordings,
        n_jobs=snakemake.threads,
    )
    if name == "uiuc_texture":
        used = prepared.table.query("status == 'used'")
        check_counts(snakemake.config, "textures", count_members(used["label"], groups_of(used)))
except (ConfigError, DataSetError) as error:
    # A matter of the data, not of the program: no traceback.
    start_job(snakemake)
    raise SystemExit(str(error)) from None
write_manifest(snakemake.output.manifest, prepared)
write_json(snakemake.output.summary, prepared.summary())
