"""Every claim of the papers with our value, its interval and a verdict that nobody typed in.

A claim (``resources/claims.yaml``) names a rule and the scores that it needs. A rule turns scores
into comparisons, each with an interval of its own that fits how the scores arose, and with a
:class:`~replication.report.claims.scores.Standing` that follows from where the interval lies:

============================  ====================================================================
``reproduced``                the interval lies on the claimed side
``same direction, undecided`` the estimate lies on the claimed side, its interval on both
``undecided``                 the estimate lies on the other side, or on the border, its interval
                              on both
``reversed``                  the interval lies on the other side
============================  ====================================================================

The verdict on a claim is that of its weakest comparison. Other verdicts are

============================  ====================================================================
``mixed``                     one comparison is reproduced and another is reversed
``not decided``               a method failed on every trial, gave up on tags in every fold, or
                              its clusters were decided by rounding, so that nothing can be compared
``not in this run``           the configuration leaves out what would be compared
``synthetic data only``       the claim is about data, and these are synthetic: no verdict (unless
                              the claim is about data constructed to decide it)
============================  ====================================================================

What the paper says of one drawn hierarchy is decided by whether a trial shows it: reproduced if at
least half of the trials do, ``same direction, undecided`` if some do, reversed if none does.

The same rules are applied to every variant of the settings that the papers leave open, see
:mod:`replication.report.multiverse`.
"""

from replication.report.claims.evaluation import (
    CLAIM_COLUMNS,
    Claim,
    ClaimError,
    evaluate_claims,
    read_claims,
)

__all__ = ["CLAIM_COLUMNS", "Claim", "ClaimError", "evaluate_claims", "read_claims"]
