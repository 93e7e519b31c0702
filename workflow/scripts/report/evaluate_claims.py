from typing import TYPE_CHECKING

from replication.io import read_metrics, start_job, write_table
from replication.report.claims import evaluate_claims, read_claims
from replication.report.deviations import setting_labels
from replication.report.multiverse import headlines, name_settings

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
scores = read_metrics([*snakemake.input.metrics, *snakemake.input.timings])
claims = evaluate_claims(read_claims(snakemake.input.claims), scores)
named = name_settings(
    claims, snakemake.params.experiments, setting_labels(snakemake.input.deviations)
)
write_table(snakemake.output.multiverse, named)
write_table(snakemake.output.claims, headlines(named))
