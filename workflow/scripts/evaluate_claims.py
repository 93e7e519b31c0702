from typing import TYPE_CHECKING

from replication.claims import evaluate_claims, read_claims
from replication.io import log_to, read_metrics, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

log_to(snakemake.log[0])
scores = read_metrics([*snakemake.input.metrics, *snakemake.input.timings])
claims = evaluate_claims(read_claims(snakemake.input.claims), scores)
write_table(snakemake.output.claims, claims)
