"""Every claim of the papers with our value, its interval and a verdict that nobody typed in.

A claim (``resources/claims.yaml``) names a rule and the scores that it needs. A rule turns scores
into comparisons, each with an interval of its own that fits how the scores arose; the verdict
follows from the comparisons:

==========================  ======================================================================
``reproduced``              every comparison holds: its interval lies on the claimed side
``mixed``                   some comparisons hold, others do not
``not reproduced``          none holds
``not decided``             a method failed on every trial, or gave up on tags in every fold, so
                            that nothing can be compared
``not in this run``         the configuration leaves out what would be compared
``synthetic data only``     the claim is about data, and these are synthetic: no verdict (unless
                            the claim is about songs constructed to decide it)
==========================  ======================================================================
"""

from replication.report.claims.evaluation import (
    CLAIM_COLUMNS,
    Claim,
    ClaimError,
    evaluate_claims,
    read_claims,
)

__all__ = ["CLAIM_COLUMNS", "Claim", "ClaimError", "evaluate_claims", "read_claims"]
