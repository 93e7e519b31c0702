from typing import TYPE_CHECKING

from replication.io import read_metrics, start_job, write_table
from replication.report.claims import evaluate_claims, read_claims

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

start_job(snakemake)
scores = read_metrics([*snakemake.input.metrics, *snakemake.input.timings])
claims = evaluate_claims(read_claims(snakemake.input.claims), scores)
write_table(snakemake.output.claims, claims)
