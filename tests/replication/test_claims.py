"""Verdicts follow from scores and nothing else; what cannot be computed is an error."""

import numpy as np
import pandas as pd
import pytest
import yaml

from replication.claims import CLAIM_COLUMNS, Claim, ClaimError, evaluate_claims, read_claims
from replication.protocols.metrics import metric_table
from replication.statistics import corrected_resampled_t


def claim(rule, kind="empirical", **fields):
    return Claim(
        **{
            "id": "c",
            "paper": "cvpr2016",
            "place": "Figure 4",
            "statement": "a beats b",
            "kind": kind,
            "experiments": ("textures",),
            "printed": "figure only",
            "rule": rule,
            **fields,
        }
    )


def scores(rows, origin="real"):
    return metric_table(rows, experiment="textures", dataset="uiuc_texture", origin=origin)


def accuracies(**means):
    rng = np.random.default_rng(0)
    splits = rng.normal(scale=0.02, size=(10, 5))
    return [
        {
            "method": method,
            "metric": "accuracy",
            "repeat": repeat,
            "fold": fold,
            # Splits are harder or easier for all methods alike, which pairing takes out.
            "value": mean + splits[repeat, fold] + rng.normal(scale=0.002),
        }
        for method, mean in means.items()
        for repeat in range(10)
        for fold in range(5)
    ]


CV = {"name": "cv_difference", "pairs": [["a", "b"]]}


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ({"a": 0.8, "b": 0.7}, "reproduced"),
        ({"a": 0.7, "b": 0.8}, "not reproduced"),
        ({"a": 0.8, "b": 0.8}, "not reproduced"),
    ],
)
def test_verdict_follows_the_interval(means, verdict):
    table = evaluate_claims([claim(CV)], scores(accuracies(**means)))
    assert tuple(table.columns) == CLAIM_COLUMNS
    row = table.iloc[0]
    assert row["verdict"] == verdict
    assert row["low"] < means["a"] - means["b"] < row["high"]
    assert f"accuracy a - b: {row['value']:.3g}" in row["reason"]


def test_interval_of_accuracies_knows_the_share_of_a_test_fold():
    rows = accuracies(a=0.8, b=0.7)
    values = pd.DataFrame(rows).pivot(index=["repeat", "fold"], columns="method", values="value")
    expected = corrected_resampled_t(values["a"] - values["b"], test_share=1 / 5)
    row = evaluate_claims([claim(CV)], scores(rows)).iloc[0]
    np.testing.assert_allclose(row[["value", "low", "high"]].astype(float), expected)


def test_some_of_several_comparisons_is_mixed():
    rule = {"name": "cv_difference", "pairs": [["a", "b"], ["a", "c"]]}
    row = evaluate_claims([claim(rule)], scores(accuracies(a=0.8, b=0.7, c=0.9))).iloc[0]
    assert row["verdict"] == "mixed"
    assert row["value"] < 0, "the weakest comparison speaks for the claim"


def test_synthetic_data_give_no_verdict_on_data():
    row = evaluate_claims([claim(CV)], scores(accuracies(a=0.8, b=0.7), "synthetic")).iloc[0]
    assert row["verdict"] == "synthetic data only"


@pytest.mark.parametrize(("value", "verdict"), [(1e-12, "reproduced"), (1e-3, "not reproduced")])
def test_identities_are_decided_on_any_data(value, verdict):
    rule = {"name": "bound", "metric": "error", "at_most": 1e-10}
    rows = [{"method": "m", "metric": "error", "value": v} for v in (0.0, value)]
    table = evaluate_claims([claim(rule, kind="identity")], scores(rows, "synthetic"))
    assert table.iloc[0]["verdict"] == verdict
    assert table.iloc[0]["value"] == value, "the worst value decides"


def test_lower_bound():
    rule = {"name": "bound", "metric": "eigenvalue", "at_least": -1e-10}
    rows = [{"method": "m", "metric": "eigenvalue", "value": v} for v in (-1e-3, 1.0)]
    table = evaluate_claims([claim(rule, kind="identity")], scores(rows))
    assert table.iloc[0]["verdict"] == "not reproduced"


def test_subsets_must_agree_at_every_number_of_components():
    rule = {
        "name": "subsampled_difference",
        "metric": "cpv",
        "pairs": [["a", "b"]],
        "items": [1, 10],
    }
    rows = [
        {"method": method, "metric": "cpv", "item": item, "repeat": draw, "value": value + draw}
        for draw in range(20)
        for method, item, value in [("a", 1, 3), ("b", 1, 1), ("a", 10, 5), ("b", 10, 5)]
    ]
    row = evaluate_claims([claim(rule)], scores(rows)).iloc[0]
    assert row["verdict"] == "mixed"
    assert "cpv of 1 components, a - b: 2 holds" in row["reason"]


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "cv_difference", "pairs": [["a", "absent"]]},
        {"name": "bound", "metric": "absent", "at_most": 1},
        {"name": "bound", "metric": "accuracy"},
        {"name": "run_difference", "metric": "accuracy"},
    ],
)
def test_a_rule_that_cannot_be_computed_is_an_error(rule):
    with pytest.raises(ClaimError, match="c: rule cannot be computed for textures"):
        evaluate_claims([claim(rule)], scores(accuracies(a=0.8, b=0.7)))


def test_variants_never_enter_a_claim():
    rows = accuracies(a=0.8, b=0.7)
    rows += [{**row, "variant": "levels_32", "value": 0.0} for row in rows if row["method"] == "a"]
    row = evaluate_claims([claim(CV)], scores(rows)).iloc[0]
    assert row["value"] == pytest.approx(0.1, abs=0.01)


def test_mixed_origins_are_an_error():
    table = pd.concat([scores(accuracies(a=0.8), "real"), scores(accuracies(b=0.7), "synthetic")])
    with pytest.raises(ClaimError, match="mix origins"):
        evaluate_claims([claim(CV)], table)


def test_experiments_that_did_not_run_have_no_row():
    other = claim(CV, experiments=("faces",))
    assert evaluate_claims([other], scores(accuracies(a=0.8, b=0.7))).empty


def test_shipped_claims_are_well_formed(repository):
    claims = read_claims(repository / "resources/claims.yaml")
    assert len(claims) >= 14
    text = (repository / "resources/claims.yaml").read_text()
    assert "verdict:" not in text
    assert "reproduced" not in text.replace("may be reproduced on any data", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "reproduced"}, r"unknown keys \['verdict'\]"),
        ({"rule": {"name": "guess"}}, "rule 'guess'; allowed: attempt, bound, "),
        ({"kind": "opinion"}, "kind 'opinion'; allowed: construction, cost, empirical, identity"),
    ],
)
def test_malformed_claims_are_named(tmp_path, change, message):
    entry = {**claim(CV).__dict__, "experiments": ["textures"], **change}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([entry]))
    with pytest.raises(ClaimError, match=message):
        read_claims(path)


def test_repeated_ids_are_named(tmp_path):
    entry = {**claim(CV).__dict__, "experiments": ["textures"]}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([entry, entry]))
    with pytest.raises(ClaimError, match=r"repeated ids \['c'\]"):
        read_claims(path)


def levels(metric, **means):
    """Scores of methods on levels 2 and 3 in four trials, and ten draws near their means."""
    rng = np.random.default_rng(1)
    rows = []
    for method, (second, third) in means.items():
        for item, mean in ((2, second), (3, third)):
            names = {"method": method, "item": str(item)}
            rows += [{**names, "metric": metric, "repeat": t, "value": mean} for t in range(4)]
            rows += [
                {**names, "metric": f"resampled_{metric}", "repeat": d, "value": mean + noise}
                for d, noise in enumerate(rng.normal(scale=0.01, size=10))
            ]
    return rows


@pytest.mark.parametrize(
    ("chosen", "verdict"), [([2], "not reproduced"), ([3], "reproduced"), ([2, 3], "mixed")]
)
def test_levels_of_a_hierarchy_are_compared_one_by_one(chosen, verdict):
    rule = {"name": "level_difference", "metric": "m", "pairs": [["a", "b"]], "levels": chosen}
    rows = levels("m", a=(0.8, 0.7), b=(0.9, 0.5))
    row = evaluate_claims([claim(rule)], scores(rows)).iloc[0]
    assert row["verdict"] == verdict
    assert row["value"] == pytest.approx(0.2 if chosen == [3] else -0.1)
    assert row["low"] < row["value"] < row["high"]


@pytest.mark.parametrize(("bound", "verdict"), [(0.5, "reproduced"), (0.9, "not reproduced")])
def test_bound_on_trials_is_met_by_their_percentiles(bound, verdict):
    rows = [
        {"method": "a", "metric": "purity", "item": item, "repeat": t, "value": value}
        for item, values in (("run", (0.8, 0.9, 1.0)), ("jog", (0.0, 0.0, 0.0)))
        for t, value in enumerate(values)
    ]
    rule = {"name": "trial_bound", "metric": "purity", "method": "a", "at_least": bound}
    row = evaluate_claims([claim({**rule, "items": ["run"]})], scores(rows)).iloc[0]
    assert row["verdict"] == verdict
    assert row["value"] == pytest.approx(0.9)
    with pytest.raises(ClaimError, match="no 'purity' of 'sit'"):
        evaluate_claims([claim({**rule, "items": ["sit"]})], scores(rows))


def test_costs_are_compared_trial_by_trial_and_give_no_verdict_on_synthetic_data():
    rows = [
        {"method": method, "metric": "seconds", "repeat": t, "value": factor * (t + 1)}
        for method, factor in (("slow", 6.0), ("fast", 2.0))
        for t in range(3)
    ]
    rule = {"name": "cost_ratio", "pairs": [["slow", "fast"]]}
    row = evaluate_claims([claim(rule, kind="cost")], scores(rows)).iloc[0]
    assert (row["value"], row["low"], row["high"]) == (3, 3, 3)
    assert row["verdict"] == "reproduced"
    synthetic = evaluate_claims([claim(rule, kind="cost")], scores(rows, "synthetic"))
    assert synthetic.iloc[0]["verdict"] == "synthetic data only"


def test_methods_that_failed_on_every_trial_are_left_out_of_comparisons():
    rule = {"name": "level_difference", "metric": "m", "levels": [2]}
    rows = levels("m", a=(0.9, 0.7), b=(0.8, 0.5))
    rows += [{"method": "c", "metric": "failed", "item": "2", "repeat": 0, "value": 1.0}]
    # b failed once, which leaves its other trials.
    rows += [{"method": "b", "metric": "failed", "item": "2", "repeat": 9, "value": 1.0}]
    both = claim({**rule, "pairs": [["a", "b"], ["a", "c"]]})
    alone = claim({**rule, "pairs": [["a", "c"]]}, id="d")
    first, second = evaluate_claims([both, alone], scores(rows)).to_dict("records")
    assert first["verdict"] == "reproduced"
    assert first["reason"].endswith("; c failed on every trial")
    assert second["verdict"] == "not decided"
    assert second["reason"] == "c failed on every trial"
    assert np.isnan(second["value"])
