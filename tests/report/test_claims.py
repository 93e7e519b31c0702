"""Verdicts follow from scores and nothing else; what cannot be computed is an error."""

import numpy as np
import pandas as pd
import pytest
import yaml

from replication.report.claims import CLAIM_COLUMNS, Claim, ClaimError, evaluate_claims, read_claims
from replication.report.metrics import metric_table
from replication.report.statistics import corrected_resampled_t


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
        ({"a": 0.7, "b": 0.8}, "reversed"),
        ({"a": 0.8005, "b": 0.8}, "same direction, undecided"),
        ({"a": 0.8, "b": 0.8005}, "undecided"),
    ],
)
def test_verdict_follows_the_interval(means, verdict):
    table = evaluate_claims([claim(CV)], scores(accuracies(**means)))
    assert tuple(table.columns) == CLAIM_COLUMNS
    row = table.iloc[0]
    assert row["verdict"] == verdict
    assert row["low"] < 100 * (means["a"] - means["b"]) < row["high"]
    assert row["compared"] == "accuracy a - b (percentage points)"
    assert row["reason"].startswith(f"{row['compared']}: {row['value']:.3g} [")
    assert "mean and s.d. over repetitions: a 8" in row["reason"].replace("a 7", "a 8")


def test_interval_of_accuracies_knows_the_share_of_a_test_fold():
    rows = accuracies(a=0.8, b=0.7)
    values = pd.DataFrame(rows).pivot(index=["repeat", "fold"], columns="method", values="value")
    expected = corrected_resampled_t(100 * (values["a"] - values["b"]), test_share=1 / 5)
    row = evaluate_claims([claim(CV)], scores(rows)).iloc[0]
    np.testing.assert_allclose(row[["value", "low", "high"]].astype(float), expected)


@pytest.mark.parametrize(
    ("third", "verdict"),
    [(0.9, "mixed"), (0.8005, "undecided"), (0.7995, "same direction, undecided")],
)
def test_the_weakest_of_several_comparisons_speaks_unless_they_contradict(third, verdict):
    rule = {"name": "cv_difference", "pairs": [["a", "b"], ["a", "c"]]}
    row = evaluate_claims([claim(rule)], scores(accuracies(a=0.8, b=0.7, c=third))).iloc[0]
    assert row["verdict"] == verdict
    assert row["compared"].startswith("accuracy a - c")


def test_each_reading_of_a_claim_has_a_verdict_of_its_own(tmp_path):
    rule = {"name": "cv_difference", "each": True, "pairs": [["a", "b"], ["a", "c"]]}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([{**claim(rule).__dict__, "experiments": ["textures"]}]))
    table = evaluate_claims(read_claims(path), scores(accuracies(a=0.8, b=0.7, c=0.9)))
    assert table["id"].tolist() == ["c/a-b", "c/a-c"]
    assert table["verdict"].tolist() == ["reproduced", "reversed"]
    assert table["statement"].tolist() == [
        "a beats b (a against b).",
        "a beats b (a against c).",
    ]


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ({"b": 0.7, "c": 0.7, "d": 0.9}, "reproduced"),
        ({"b": 0.7, "c": 0.9, "d": 0.9}, "reversed"),
        ({"b": 0.7, "c": 0.7995, "d": 0.9}, "same direction, undecided"),
        ({"b": 0.7, "c": 0.8005, "d": 0.9}, "undecided"),
    ],
)
def test_often_is_more_than_half(means, verdict):
    rule = {"name": "often", "pairs": [["a", other] for other in "bcd"]}
    row = evaluate_claims([claim(rule)], scores(accuracies(a=0.8, **means))).iloc[0]
    assert row["verdict"] == verdict


def test_a_variant_of_the_settings_is_decided_by_the_same_rule():
    rows = [
        *accuracies(a=0.8, b=0.7),
        *({**row, "variant": "other"} for row in accuracies(a=0.7, b=0.8)),
        # Variants that lack a method, or the scores, say nothing.
        *({**row, "variant": "half"} for row in accuracies(a=0.7)),
        *({"method": m, "variant": "none", "metric": "m", "value": 1.0} for m in "ab"),
    ]
    table = evaluate_claims([claim(CV)], scores(rows))
    assert table["variant"].tolist() == ["", "other"]
    assert table["standing"].tolist() == ["reproduced", "reversed"]
    synthetic = evaluate_claims([claim(CV)], scores(rows, "synthetic"))
    assert set(synthetic["verdict"]) == {"synthetic data only"}
    assert synthetic["standing"].tolist() == ["reproduced", "reversed"]


def test_a_fault_in_a_variant_is_not_passed_over():
    rows = accuracies(a=0.8, b=0.7)
    broken = [{**row, "variant": "other"} for row in rows]
    broken[3]["value"] = np.nan
    with pytest.raises(ClaimError, match="not finite numbers"):
        evaluate_claims([claim(CV)], scores([*rows, *broken]))


def test_synthetic_data_give_no_verdict_on_data():
    row = evaluate_claims([claim(CV)], scores(accuracies(a=0.8, b=0.7), "synthetic")).iloc[0]
    assert row["verdict"] == "synthetic data only"


@pytest.mark.parametrize(("value", "verdict"), [(1e-12, "reproduced"), (1e-3, "reversed")])
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
    assert table.iloc[0]["verdict"] == "reversed"


SUBSETS = {
    "name": "subsampled_difference",
    "metric": "cpv",
    "draws": "part_of_cpv",
    "pairs": [["a", "b"]],
    "items": [1],
}


def subsets(a, b, parts, share=0.8, item=1):
    """Scores of all data, and of subsets of which those of ``b`` are 0."""
    rows = [{"method": m, "metric": "cpv", "value": v} for m, v in (("a", a), ("b", b))]
    for method in "ab":
        rows.append({"method": method, "metric": "part_of_cpv_share", "value": share})
        rows += [
            {
                "method": method,
                "metric": "part_of_cpv",
                "repeat": draw,
                "value": part if method == "a" else 0.0,
            }
            for draw, part in enumerate(parts)
        ]
    return [{**row, "item": item} for row in rows]


def test_subsets_are_scaled_to_the_sampling_spread_and_centred_on_all_data():
    """Differences 0, 1, ..., 40 of subsets: percentiles 1 and 39, that is 20 -+ 19."""
    for share, scale in ((0.5, 1), (0.8, 2), (0.9, 3)):
        rows = subsets(7.0, 4.0, range(41), share)
        row = evaluate_claims([claim(SUBSETS)], scores(rows)).iloc[0]
        limits = (3, 3 - 19 * scale, 3 + 19 * scale)
        np.testing.assert_allclose(row[["value", "low", "high"]].astype(float), limits)
        assert row["verdict"] == "same direction, undecided"


def test_subsets_must_agree_at_every_number_of_components():
    rule = {**SUBSETS, "items": [1, 10]}
    parts = [10.0, 10.1, 10.2]
    rows = subsets(3.0, 1.0, parts) + subsets(4.0, 5.0, parts, item=10)
    # Scores of textures have items that are words.
    rows.append({"method": "a", "metric": "other", "item": "T01_bark1", "value": 1.0})
    table = scores(rows).astype({"item": str})
    row = evaluate_claims([claim(rule)], table).iloc[0]
    assert row["verdict"] == "mixed"
    name = "cpv of 1 components, a - b (percentage points)"
    assert f"{name}: 2 [1.81, 2.19]: reproduced" in row["reason"]
    swapped = claim({**rule, "items": [1], "pairs": [["b", "a"]]})
    assert evaluate_claims([swapped], table).iloc[0]["verdict"] == "reversed"


def test_subsets_need_their_share():
    rows = [row for row in subsets(3.0, 1.0, [1.0, 2.0]) if row["metric"] != "part_of_cpv_share"]
    with pytest.raises(ClaimError, match="no scores 'part_of_cpv_share' of 'a'"):
        evaluate_claims([claim(SUBSETS)], scores(rows))
    rows = subsets(3.0, 1.0, [1.0, 2.0])
    next(r for r in rows if r["metric"] == "part_of_cpv_share")["value"] = 0.5
    with pytest.raises(ClaimError, match="'part_of_cpv' of 'a' and 'b': subsets of shares"):
        evaluate_claims([claim(SUBSETS)], scores(rows))


RESAMPLED = {"name": "resampled_difference", "metric": "m", "pairs": [["a", "b"]]}


def resampled(a, b, single=((5.0, 0.0), (6.0, 0.0))):
    """Draws of two methods, paired by item, and scores of single runs, paired by repeat."""
    rows = [
        {"method": method, "metric": "resampled_m", "item": draw, "value": value}
        for method, values in (("a", a), ("b", b))
        for draw, value in enumerate(values)
    ]
    rows += [
        {"method": method, "metric": "m", "repeat": repeat, "value": value}
        for repeat, pair in enumerate(single)
        for method, value in zip("ab", pair, strict=True)
    ]
    return rows


def test_draws_are_paired_and_their_percentiles_decide():
    """Differences 0, 1, ..., 40, whose 2.5th and 97.5th percentiles are 1 and 39."""
    noise = np.random.default_rng(0).normal(scale=1000, size=41)
    rows = resampled(np.arange(41) + noise, noise)
    row = evaluate_claims([claim(RESAMPLED)], scores(rows)).iloc[0]
    np.testing.assert_allclose(row[["value", "low", "high"]].astype(float), (20, 1, 39))
    assert row["verdict"] == "reproduced"
    note = "mean and s.d. over starts: a 5.5 (0.71), b 0 (0)"
    assert row["reason"] == f"m a - b: 20 [1, 39] ({note}): reproduced"
    swapped = claim({**RESAMPLED, "pairs": [["b", "a"]]})
    row = evaluate_claims([swapped], scores(rows)).iloc[0]
    np.testing.assert_allclose(row[["value", "low", "high"]].astype(float), (-20, -39, -1))
    assert row["verdict"] == "reversed"


def test_draws_on_both_sides_decide_nothing():
    rows = resampled(np.arange(41) - 2.0, np.zeros(41))
    row = evaluate_claims([claim(RESAMPLED)], scores(rows)).iloc[0]
    np.testing.assert_allclose(row[["value", "low", "high"]].astype(float), (18, -1, 37))
    assert row["verdict"] == "same direction, undecided"


BOUND = {"name": "bound", "metric": "error", "at_most": 1e-10}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, ""])
@pytest.mark.parametrize(
    ("rule", "rows", "where"),
    [
        (BOUND, [{"method": m, "metric": "error", "value": 1e-12} for m in "ab"], 1),
        (CV, accuracies(a=0.8, b=0.7), 7),
        (SUBSETS, subsets(3.0, 1.0, [1.0, 2.0]), 3),
        (RESAMPLED, resampled([1.0, 2.0], [0.0, 0.0]), 3),
        (
            {"name": "cost_ratio", "pairs": [["a", "b"]]},
            [{"method": m, "metric": "seconds", "repeat": 0, "value": 1.0} for m in "ab"],
            1,
        ),
        (
            {"name": "memory_ratio", "pairs": [["a", "b"]]},
            [{"method": m, "metric": "peak_bytes", "value": 1.0} for m in "abb"],
            2,
        ),
    ],
)
def test_scores_that_are_not_numbers_are_an_error(rule, rows, where, value):
    assert len(evaluate_claims([claim(rule)], scores(rows))) == 1
    rows = [dict(row) for row in rows]
    bad = rows[where]
    bad["value"] = value
    # As in a file with an empty cell, from which all its values are read as text.
    table = scores(rows).astype({"value": str if value == "" else float})
    message = f"1 of [0-9]+ scores '{bad['metric']}' are not finite numbers, of '{bad['method']}'"
    with pytest.raises(ClaimError, match=message):
        evaluate_claims([claim(rule)], table)


def test_scores_of_other_methods_may_be_undefined():
    rule = {"name": "level_difference", "metric": "m", "pairs": [["a", "b"]], "levels": [3]}
    rows = levels("m", a=(0.8, 0.7), b=(0.9, 0.5))
    rows.append({"method": "c", "metric": "m", "item": "3", "repeat": 0, "value": np.nan})
    assert evaluate_claims([claim(rule)], scores(rows)).iloc[0]["verdict"] == "reproduced"


def test_a_ratio_to_zero_is_an_error():
    rows = [
        {"method": method, "metric": "seconds", "repeat": 0, "value": value}
        for method, value in (("a", 1.0), ("b", 0.0))
    ]
    rule = {"name": "cost_ratio", "pairs": [["a", "b"]]}
    with pytest.raises(ClaimError, match="seconds a / b: not all of the 1 ratios are finite"):
        evaluate_claims([claim(rule)], scores(rows))


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        (CV, accuracies(a=0.8, b=0.7)),
        (SUBSETS, subsets(3.0, 1.0, [1.0, 2.0])),
        (RESAMPLED, resampled([1.0, 2.0], [0.0, 0.0])),
    ],
)
def test_scores_that_are_there_twice_are_an_error(rule, rows):
    """A kernel in two lists of the configuration gives them, and a sample that looks larger."""
    twice = rows + [row for row in rows if row["method"] == "b"]
    with pytest.raises(ClaimError, match=r"several scores '\w+' of 'b' with the same "):
        evaluate_claims([claim(rule)], scores(twice))


def test_only_repeats_that_both_methods_have_count():
    rows = [r for r in accuracies(a=0.8, b=0.7) if r["method"] == "a" or r["repeat"] == 3]
    row = evaluate_claims([claim(CV)], scores(rows)).iloc[0]
    shared = pd.DataFrame(rows).query("repeat == 3")
    shared = shared.pivot(index="fold", columns="method", values="value")
    expected = corrected_resampled_t(100 * (shared["a"] - shared["b"]), test_share=1 / 5)
    np.testing.assert_allclose(row[["value", "low", "high"]].astype(float), expected)


@pytest.mark.parametrize("methods", ["b", "ab"])
def test_folds_of_a_shared_repeat_must_be_the_same(methods):
    rows = [
        row
        for row in accuracies(a=0.8, b=0.7)
        if not (row["method"] in methods and row["repeat"] == 3 and row["fold"] == 4)
    ]
    message = rf"'{methods[0]}' has folds \[0, 1, 2, 3\] in repeat 3, where others are"
    with pytest.raises(ClaimError, match=message):
        evaluate_claims([claim(CV)], scores(rows))


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "bound", "metric": "absent", "at_most": 1},
        {"name": "bound", "metric": "accuracy"},
        {"name": "resampled_difference", "metric": "accuracy"},
        {"name": "resampled_difference", "metric": "accuracy", "pairs": [["a", "b"]]},
    ],
)
def test_a_rule_that_cannot_be_computed_is_an_error(rule):
    with pytest.raises(ClaimError, match="c: rule cannot be computed for textures"):
        evaluate_claims([claim(rule)], scores(accuracies(a=0.8, b=0.7)))


@pytest.mark.parametrize("origin", ["real", "synthetic"])
def test_a_claim_about_what_the_configuration_leaves_out_says_so(origin):
    rows = accuracies(a=0.8, b=0.7)
    rows += [{**row, "method": "c", "variant": "levels_32"} for row in rows if row["method"] == "a"]
    alone, both = ({**CV, "pairs": pairs} for pairs in ([["a", "c"]], [["a", "c"], ["a", "b"]]))
    row = evaluate_claims([claim(alone)], scores(rows, origin)).iloc[0]
    assert (row["verdict"], row["reason"]) == ("not in this run", "c not in this run")
    assert np.isnan(row["value"])
    row = evaluate_claims([claim(both)], scores(rows, "real")).iloc[0]
    assert row["verdict"] == "reproduced"
    assert row["reason"].endswith("; c not in this run")


def test_a_claim_about_more_components_than_a_run_scores_says_so():
    rule = {**SUBSETS, "items": [1, 10]}
    row = evaluate_claims([claim(rule)], scores(subsets(3.0, 1.0, [10.0, 10.1]))).iloc[0]
    assert row["verdict"] == "reproduced"
    assert row["reason"].endswith("; 10 not in this run")
    row = evaluate_claims(
        [claim({**rule, "items": [10]})], scores(subsets(3.0, 1.0, [10.0, 10.1]))
    ).iloc[0]
    assert row["verdict"] == "not in this run"


def test_variants_never_enter_a_claim():
    rows = accuracies(a=0.8, b=0.7)
    rows += [{**row, "variant": "levels_32", "value": 0.0} for row in rows if row["method"] == "a"]
    row = evaluate_claims([claim(CV)], scores(rows)).iloc[0]
    assert row["value"] == pytest.approx(10, abs=1)


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


def test_a_level_on_which_resampling_changes_the_order_does_not_hold():
    rule = {"name": "level_difference", "metric": "m", "pairs": [["a", "b"]], "levels": [2]}
    row = evaluate_claims([claim(rule)], scores(levels("m", a=(0.802, 0), b=(0.8, 0)))).iloc[0]
    assert row["value"] > 0
    assert row["verdict"] == "same direction, undecided"


@pytest.mark.parametrize(
    ("chosen", "verdict"), [([2], "reversed"), ([3], "reproduced"), ([2, 3], "mixed")]
)
def test_levels_of_a_hierarchy_are_compared_one_by_one(chosen, verdict):
    rule = {"name": "level_difference", "metric": "m", "pairs": [["a", "b"]], "levels": chosen}
    rows = levels("m", a=(0.8, 0.7), b=(0.9, 0.5))
    row = evaluate_claims([claim(rule)], scores(rows)).iloc[0]
    assert row["verdict"] == verdict
    assert row["value"] == pytest.approx(0.2 if chosen == [3] else -0.1)
    assert row["low"] < row["value"] < row["high"]


@pytest.mark.parametrize(
    ("third", "verdict"),
    [
        (0.5, "reproduced"),
        (0.795, "same direction, undecided"),  # by less than resampling moves it
        (0.9, "reversed"),  # a is above b, by less than before
    ],
)
def test_a_gap_that_grows_from_level_to_level(third, verdict):
    rule = {"name": "level_trend", "metric": "m", "pairs": [["a", "b"]], "levels": [2, 3]}
    rows = levels("m", a=(0.9, 1.0), b=(0.7, third))
    row = evaluate_claims([claim(rule)], scores(rows)).iloc[0]
    assert row["verdict"] == verdict
    assert row["value"] == pytest.approx(0.8 - third)
    assert row["reason"].startswith("m, a - b, on level 3 less on level 2: ")


def test_a_gap_is_followed_within_each_draw():
    """Draws that move both levels alike say nothing against the trend."""
    rule = {"name": "level_trend", "metric": "m", "pairs": [["a", "b"]], "levels": [2, 3]}
    rows = levels("m", a=(0.9, 1.0), b=(0.7, 0.7))
    noise = np.random.default_rng(2).normal(scale=10, size=10)
    for row in rows:
        if row["metric"] == "resampled_m" and row["method"] == "a":
            row["value"] += noise[row["repeat"]]
    row = evaluate_claims([claim(rule)], scores(rows)).iloc[0]
    assert row["verdict"] == "reproduced"
    assert row["high"] < 1


@pytest.mark.parametrize(
    ("bound", "n_shown", "verdict"),
    [
        (0.7, 4, "reproduced"),
        (0.9, 2, "reproduced"),
        (0.95, 1, "same direction, undecided"),
        (1.1, 0, "reversed"),
    ],
)
def test_what_one_drawing_shows_is_decided_by_whether_trials_show_it(bound, n_shown, verdict):
    rows = [
        {"method": "a", "metric": metric, "item": item, "repeat": t, "value": value}
        for metric, item, values in (
            ("purity_at_level_2", "run", (0.9, 1.0, 0.8, 0.7)),
            ("purity_at_level_2", "jog", (0.0, 0.0, 0.0, 0.0)),
            ("whole_at_level_4", "run", (0.9, 1.0, 1.0, 1.0)),
        )
        for t, value in enumerate(values)
    ]
    rows.append({"method": "a", "metric": "drawn", "item": "", "repeat": 1, "value": 1.0})
    shown = {"purity_at_level_2": ["run"], "whole_at_level_4": ["run"]}
    rule = {"name": "trial_shows", "method": "a", "shown": shown, "at_least": bound}
    row = evaluate_claims([claim(rule)], scores(rows)).iloc[0]
    assert row["value"] == n_shown / 4
    assert row["verdict"] == verdict
    drawn = "and" if n_shown else "not"
    assert f"({n_shown} of 4 trials, {drawn} in the drawn one)" in row["reason"]
    # All that the drawing shows has to be there, in one trial.
    both = {**rule, "shown": {**shown, "purity_at_level_2": ["run", "jog"]}}
    row = evaluate_claims([claim(both)], scores(rows)).iloc[0]
    assert row["verdict"] == "reversed"
    row = evaluate_claims([claim({**rule, "shown": {"whole_at_level_4": ["sit"]}})], scores(rows))
    assert row["reason"].tolist() == ["sit not in this run"]
    assert row["verdict"].tolist() == ["not in this run"]


def not_determined(method, level):
    return [
        {"method": method, "metric": metric, "item": str(level), "repeat": 0, "value": value}
        for metric, value in (("determined", 0.0), ("graph_parts", 13.0))
    ]


def test_scores_that_rounding_would_decide_decide_no_claim():
    rows = levels("m", a=(0.9, 0.7), b=(0.8, 0.5), c=(0.8, 0.5))
    rows = [row for row in rows if (row["method"], row["item"]) != ("c", "3")]
    rows += not_determined("c", 3)
    rule = {"name": "level_difference", "metric": "m", "pairs": [["a", "c"]]}
    below, above = evaluate_claims(
        [claim({**rule, "levels": [2]}), claim({**rule, "levels": [2, 3]}, id="d")], scores(rows)
    ).to_dict("records")
    assert below["verdict"] == "reproduced"
    assert above["verdict"] == "not decided"
    assert above["reason"].startswith("c on level 3 not determined on 1 of 1 trials")
    assert "13 parts" in above["reason"]
    shown = {"name": "trial_shows", "method": "c", "shown": {"n_at_level_3": ["x"]}, "at_least": 1}
    row = evaluate_claims([claim(shown)], scores(rows)).iloc[0]
    assert row["verdict"] == "not decided"
    assert row["reason"].startswith("c on level 3 not determined")


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


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        ((1.0, 1.0, 1.0), "reversed"),
        ((2.0, 2.0, 2.0), "undecided"),
        ((1.5, 4.0, 4.0), "same direction, undecided"),  # faster on a trial
    ],
)
def test_a_cost_claim_needs_trials_that_are_all_slower(seconds, verdict):
    rows = [{"method": "fast", "metric": "seconds", "repeat": t, "value": 2.0} for t in range(3)]
    rows += [
        {"method": "slow", "metric": "seconds", "repeat": t, "value": value}
        for t, value in enumerate(seconds)
    ]
    rule = {"name": "cost_ratio", "pairs": [["slow", "fast"]]}
    row = evaluate_claims([claim(rule, kind="cost")], scores(rows)).iloc[0]
    assert row["value"] == pytest.approx(np.mean(seconds) / 2)
    assert row["verdict"] == verdict


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
