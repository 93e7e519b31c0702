"""Claims, costs and the table of the music experiment follow from scores by hand."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from replication.report.claims import Claim, ClaimError, evaluate_claims
from replication.report.metrics import metric_table
from replication.report.statistics import holm, paired_t
from replication.report.tables import tabulate_tagging
from replication.standins.order_songs import ORDER_MARGIN


def decide(rule, rows, kind="empirical", origin="real"):
    claim = Claim("c", "nips2012", "Table 3", "a beats b", kind, ("music",), "", rule)
    table = metric_table(rows, experiment="music", dataset="cal500", origin=origin)
    return evaluate_claims([claim], table)


def by_tag(metric, songs=0.0, **methods):
    """Scores of tags in two folds, and their means over resampled songs (deviation ``songs``)."""
    rng = np.random.default_rng(0)
    tags = rng.normal(scale=0.1, size=(30, 2))
    rows = []
    for method, (mean, spread) in methods.items():
        own = rng.normal(scale=spread, size=(30, 2))
        rows += [
            {
                "method": method,
                "metric": metric,
                "item": f"t{t}",
                "fold": f,
                "value": mean + tags[t, f] + own[t, f],
            }
            for t in range(30)
            for f in range(2)
        ]
        draws = mean + rng.normal(scale=songs, size=100)
        rows += [
            {"method": method, "metric": f"resampled_{metric}", "repeat": d, "value": value}
            for d, value in enumerate(draws)
        ]
    return rows


TAGS = {"name": "tag_difference", "metrics": ["f"], "pairs": [["a", "b"]]}


def test_paired_t_is_scipys():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 12))
    interval, p = paired_t(a - b)
    found = stats.ttest_rel(a, b)
    assert p == pytest.approx(found.pvalue)
    limits = found.confidence_interval()
    assert interval == pytest.approx(((a - b).mean(), limits.low, limits.high))
    assert paired_t([0.0, 0.0])[1] == 1
    assert paired_t([1.0, 1.0])[1] == 0
    with pytest.raises(ValueError, match="at least two"):
        paired_t([1.0])


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.03, 0.01, 0.04, 0.5]), [0.09, 0.04, 0.09, 0.5])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1, 1])


@pytest.mark.parametrize(
    ("means", "songs", "verdict"),
    [
        ({"a": (0.5, 0.01), "b": (0.4, 0.01)}, 0.01, "reproduced"),
        ({"a": (0.4, 0.01), "b": (0.5, 0.01)}, 0.01, "reversed"),
        ({"a": (0.45, 0.3), "b": (0.44, 0.3)}, 0.01, "same direction, undecided"),
        # Tags agree with each other, songs do not.
        ({"a": (0.5, 0.01), "b": (0.4, 0.01)}, 0.2, "same direction, undecided"),
        ({"a": (0.4, 0.01), "b": (0.5, 0.01)}, 0.2, "undecided"),
    ],
)
def test_tags_and_songs_must_agree(means, songs, verdict):
    row = decide(TAGS, by_tag("f", songs, **means)).iloc[0]
    assert row["verdict"] == verdict
    assert row["low"] < row["value"] < row["high"]
    assert row["reason"].startswith("f a - b: ")
    assert "(p " in row["reason"]


@pytest.mark.parametrize("name", ["tag_difference", "no_tag_difference"])
def test_variants_do_not_enter_the_claims_of_the_main_settings(name):
    rows = by_tag("f", 0.01, a=(0.5, 0.01), b=(0.4, 0.01))
    varied = [{**r, "variant": "empty_precision_zero", "value": 9.0} for r in rows[::2]]
    before, after = (decide({**TAGS, "name": name}, each) for each in (rows, rows + varied))
    pd.testing.assert_frame_equal(before, after[after["variant"] == ""])


def test_folds_that_only_one_method_has_are_left_out():
    rows = by_tag("f", a=(0.5, 0.0), b=(0.4, 0.0))
    rows = [r for r in rows if not (r["method"] == "b" and r.get("fold") == 1)]
    assert decide({**TAGS, "resampled": False}, rows).iloc[0]["value"] == pytest.approx(0.1)


def test_songs_are_resampled_on_the_largest_set_of_folds_that_both_have():
    rows = by_tag("f", a=(0.5, 0.01), b=(0.4, 0.01))
    rows = [r for r in rows if r["metric"] == "f"]
    sets = {"a": {"": 0.9, "0,2": 0.2, "2": 0.9}, "b": {"0,2": 0.1, "2": 0.1}}
    for method, values in sets.items():
        for item, mean in values.items():
            rows += [
                {
                    "method": method,
                    "metric": "resampled_f",
                    "item": item,
                    "repeat": draw,
                    "value": mean + 0.001 * draw * (method == "a"),
                }
                for draw in range(11)
            ]
    row = decide(TAGS, rows).iloc[0]
    assert row["verdict"] == "reproduced"
    # Differences of .1 to .11 on folds 0 and 2, not of .5 on all, nor of .8 on one.
    assert "over songs [0.1, 0.11]" in row["reason"]
    row = decide({**TAGS, "pairs": [["a", "a"]]}, rows).iloc[0]
    assert "over songs [0, 0]" in row["reason"]


def gave_up(**tags):
    return [
        {
            "method": method,
            "metric": "tags_given_up",
            "item": "tags",
            "fold": fold,
            "value": float(count),
        }
        for method, counts in tags.items()
        for fold, count in enumerate(counts)
    ]


@pytest.mark.parametrize(
    "rule",
    [
        TAGS,
        {"name": "no_tag_difference", "metrics": ["f"], "pairs": [["a", "b"]]},
        {"name": "margin", "metric": "f", "pairs": [["a", "b"]], "at_least": 0.1},
        {"name": "attempt", "method": "a", "metrics": ["f"], "pairs": [["a", "b"]]},
        {"name": "learning_time_ratio", "pairs": [["b", "a"]]},
        {"name": "stage_share", "method": "b", "item": "tags", "at_least": 0, "at_most": 1},
    ],
)
def test_a_method_that_gave_up_in_every_fold_decides_nothing(rule):
    """And does not stop the claims about others."""
    rows = by_tag("f", a=(0.5, 0.01)) + gave_up(a=(0, 0), b=(3, 4))
    rows += seconds(a=[("tags", 0, 1.0), ("tags", 1, 1.0)], b=[("tags", 0, 9.0), ("tags", 1, 9.0)])
    # What is counted again with the scores is not counted twice.
    rows += [{**row, "item": ""} for row in gave_up(b=(3, 4))]
    row = decide(rule, rows).iloc[0]
    assert row["verdict"] == "not decided"
    assert row["reason"] == "b gave up on 7 tags"
    assert np.isnan(row["value"])


def test_pairs_without_the_method_that_gave_up_are_decided():
    rows = by_tag("f", 0.01, a=(0.5, 0.01), c=(0.4, 0.01)) + gave_up(a=(0, 0), b=(1, 1), c=(0, 0))
    row = decide({**TAGS, "pairs": [["a", "b"], ["a", "c"]]}, rows).iloc[0]
    assert row["verdict"] == "reproduced"
    assert row["reason"].startswith("f a - c: ")
    assert row["reason"].endswith("; b gave up on 2 tags")


def test_a_method_that_gave_up_in_one_fold_is_compared_in_the_others():
    rows = by_tag("f", 0.01, a=(0.5, 0.01), b=(0.4, 0.01)) + gave_up(a=(0, 0), b=(0, 5))
    rows = [r for r in rows if not (r["method"] == "b" and r["metric"] == "f" and r["fold"] == 1)]
    row = decide(TAGS, rows).iloc[0]
    assert row["verdict"] == "reproduced"
    assert "gave up" not in row["reason"]


def test_two_methods_that_share_no_fold_decide_nothing():
    rows = by_tag("f", a=(0.5, 0.01), b=(0.4, 0.01)) + gave_up(a=(0, 2), b=(5, 0))
    own = {"a": 0, "b": 1}
    rows = [r for r in rows if r["metric"] != "f" or r["fold"] == own[r["method"]]]
    row = decide(TAGS, rows).iloc[0]
    assert row["verdict"] == "not decided"
    assert row["reason"] == "a gave up on 2 tags; b gave up on 5 tags"


def test_scores_that_lack_for_no_reason_are_an_error():
    rows = by_tag("f", a=(0.5, 0.01)) + gave_up(a=(1, 0), b=(0, 0), c=(0, 0))
    with pytest.raises(ClaimError, match="no scores 'f' of 'b'"):
        decide({**TAGS, "pairs": [["b", "c"]]}, rows)


def test_many_comparisons_ask_for_more():
    """A difference that is significant alone is not among twenty others without any."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=30)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    # t = 2.5 with 29 degrees of freedom: p = .018
    shifts = {"m0": 2.5 / np.sqrt(30), **{f"m{i}": 0.0 for i in range(1, 20)}}
    rows = [
        {"method": method, "metric": metric, "item": f"t{t}", "fold": 0, "value": value}
        for metric, shift in shifts.items()
        for t in range(30)
        for method, value in (("a", noise[t] + shift), ("b", 0.0))
    ]
    rule = {"name": "tag_difference", "pairs": [["a", "b"]], "resampled": False}
    assert decide({**rule, "metrics": ["m0"]}, rows).iloc[0]["verdict"] == "reproduced"
    row = decide({**rule, "metrics": list(shifts)}, rows).iloc[0]
    assert row["reason"].count("reproduced") == 0
    # No difference is not easier to claim among many: the one that is there is found.
    same = {"name": "no_tag_difference", "pairs": [["a", "b"]]}
    assert decide({**same, "metrics": ["m0"]}, rows).iloc[0]["verdict"] == "reversed"
    assert decide({**same, "metrics": list(shifts)}, rows).iloc[0]["verdict"] == "mixed"
    assert decide({**same, "metrics": list(shifts)[1:]}, rows).iloc[0]["verdict"] == "reproduced"


@pytest.mark.parametrize(
    ("means", "songs", "verdict"),
    [
        # Neither tags nor songs tell them apart,
        ({"a": (0.45, 0.3), "b": (0.45, 0.3)}, 0.01, "reproduced"),
        # tags do,
        ({"a": (0.5, 0.01), "b": (0.4, 0.01)}, 0.2, "reversed"),
        # songs do, in either direction.
        ({"a": (0.55, 0.6), "b": (0.45, 0.6)}, 0.01, "reversed"),
        ({"a": (0.45, 0.6), "b": (0.55, 0.6)}, 0.01, "reversed"),
    ],
)
def test_no_difference_is_one_that_neither_tags_nor_songs_find(means, songs, verdict):
    rule = {"name": "no_tag_difference", "metrics": ["f"], "pairs": [["a", "b"]]}
    rows = by_tag("f", songs, **means)
    row = decide(rule, rows).iloc[0]
    assert row["verdict"] == verdict, row["reason"]
    only_tags = decide(rule, [r for r in rows if r["metric"] == "f"]).iloc[0]
    assert (only_tags["verdict"] == "reproduced") == (max(s for _, s in means.values()) > 0.1)


@pytest.mark.parametrize(
    ("margin", "verdict"), [(0.05, "reproduced"), (0.15, "same direction, undecided")]
)
def test_a_construction_is_decided_on_its_synthetic_songs(margin, verdict):
    rows = by_tag("aroc", 0.01, a=(0.6, 0.0), b=(0.5, 0.0))
    rule = {"name": "margin", "metric": "aroc", "pairs": [["a", "b"]], "at_least": margin}
    row = decide(rule, rows, "construction", "synthetic").iloc[0]
    assert row["verdict"] == verdict
    assert decide(rule, rows, "empirical", "synthetic").iloc[0]["verdict"] == "synthetic data only"


def test_a_margin_that_other_songs_might_lose_does_not_hold():
    rows = by_tag("aroc", 0.2, a=(0.6, 0.0), b=(0.5, 0.0))
    rule = {"name": "margin", "metric": "aroc", "pairs": [["a", "b"]], "at_least": 0.05}
    row = decide(rule, rows, "construction", "synthetic").iloc[0]
    assert row["value"] == pytest.approx(0.1)
    assert row["verdict"] == "same direction, undecided"


def seconds(**stages):
    return [
        {"method": method, "metric": "seconds", "item": item, "fold": fold, "value": value}
        for method, parts in stages.items()
        for item, fold, value in parts
    ]


TIMES = seconds(
    vhem=[("songs", "", 4.0), ("tags", 0, 3.0), ("tags", 1, 5.0), ("scores", 0, 99.0)],
    em=[("tags", 0, 20.0), ("tags", 1, 10.0)],
    once=[("songs", "", 4.0), ("tags", 0, 3.0)],
)


def test_learning_times_count_songs_once_and_no_scoring():
    rule = {"name": "learning_time_ratio", "pairs": [["em", "vhem"]]}
    row = decide(rule, TIMES, "cost").iloc[0]
    # Fold 0: 20 / (2 + 3), fold 1: 10 / (2 + 5), in all 30 / 12.
    assert (row["value"], row["low"], row["high"]) == pytest.approx((2.5, 10 / 7, 4))
    rule = {
        "name": "stage_share",
        "method": "vhem",
        "item": "songs",
        "at_least": 0.3,
        "at_most": 0.4,
    }
    row = decide(rule, TIMES, "cost").iloc[0]
    assert (row["value"], row["verdict"]) == (pytest.approx(1 / 3), "reproduced")


def test_a_method_that_is_faster_on_a_fold_is_not_slower():
    times = seconds(
        vhem=[("tags", 0, 5.0), ("tags", 1, 7.0)], em=[("tags", 0, 20.0), ("tags", 1, 6.0)]
    )
    row = decide({"name": "learning_time_ratio", "pairs": [["em", "vhem"]]}, times, "cost").iloc[0]
    assert row["value"] > 1
    assert row["verdict"] == "same direction, undecided"


def test_a_method_that_is_tried_once_bears_one_folds_part_of_the_songs():
    """Identical costs of songs and of the fold are a ratio of one, not of all songs to a part."""
    rule = {"name": "learning_time_ratio", "pairs": [["once", "vhem"]]}
    row = decide(rule, TIMES, "cost").iloc[0]
    assert (row["value"], row["low"], row["high"]) == (1, 1, 1)
    assert row["verdict"] == "undecided"


def test_folds_in_which_a_method_gave_up_are_left_out_of_its_times():
    """Fewer tags take less time; the part of the songs that such a fold bears goes with it."""
    rows = TIMES + gave_up(em=(0, 7), vhem=(0, 0))
    row = decide({"name": "learning_time_ratio", "pairs": [["em", "vhem"]]}, rows, "cost").iloc[0]
    assert (row["value"], row["low"], row["high"]) == (4, 4, 4)
    rows = TIMES + gave_up(vhem=(0, 7))
    row = decide({"name": "learning_time_ratio", "pairs": [["em", "vhem"]]}, rows, "cost").iloc[0]
    assert row["value"] == 4
    share = {"name": "stage_share", "method": "vhem", "item": "songs", "at_least": 0, "at_most": 1}
    assert decide(share, rows, "cost").iloc[0]["value"] == pytest.approx(2 / 5)


def test_memory_is_that_of_the_largest_stage():
    rows = [
        {"method": method, "metric": "peak_bytes", "item": item, "value": value}
        for method, item, value in (("v", "songs", 5.0), ("v", "tags", 2.0), ("e", "tags", 20.0))
    ]
    row = decide({"name": "memory_ratio", "pairs": [["e", "v"]]}, rows, "cost").iloc[0]
    assert (row["value"], row["verdict"]) == (4, "reproduced")


def test_an_attempt_fails_by_giving_up_or_by_its_scores():
    rule = {"name": "attempt", "method": "b", "metrics": ["f"], "pairs": [["a", "b"]]}
    gave_up = [{"method": "b", "metric": "tags_given_up", "value": 3.0}]
    assert decide(rule, gave_up).iloc[0]["value"] == 3
    ended = [{"method": "b", "metric": "tags_given_up", "value": 0.0}]
    rows = ended + by_tag("f", a=(0.5, 0.01), b=(0.4, 0.01))
    assert decide(rule, rows).iloc[0]["verdict"] == "reproduced"
    rows = ended + by_tag("f", a=(0.4, 0.01), b=(0.4, 0.01))
    assert decide(rule, rows).iloc[0]["verdict"] != "reproduced"
    # Tags agree with each other, songs do not.
    rows = ended + by_tag("f", 0.2, a=(0.5, 0.01), b=(0.4, 0.01))
    assert decide(rule, rows).iloc[0]["verdict"] != "reproduced"


@pytest.mark.parametrize(
    "rule",
    [
        {**TAGS, "pairs": [["a", "c"]]},
        {"name": "attempt", "method": "c", "metrics": ["f"], "pairs": [["a", "c"]]},
        {"name": "stage_share", "method": "c", "item": "tags", "at_least": 0, "at_most": 1},
        {"name": "learning_time_ratio", "pairs": [["c", "a"]]},
    ],
)
def test_a_claim_about_a_method_that_was_not_run_says_so(rule):
    row = decide(rule, by_tag("f", a=(1, 0), b=(1, 0.1))).iloc[0]
    assert (row["verdict"], row["reason"]) == ("not in this run", "c not in this run")


def test_the_margin_is_the_one_that_was_fixed_with_the_songs(repository):
    claims = yaml.safe_load((repository / "resources/claims.yaml").read_text())
    (order,) = [claim for claim in claims if claim["experiments"] == ["music_order"]]
    assert order["rule"]["at_least"] == ORDER_MARGIN


# --- the table ----------------------------------------------------------------------------------


def table(repository, retrieved=10, origin="real"):
    values = {"vhem": {"a": [0.5, 0.7], "b": [0.2]}, "mine": {"a": [0.1], "b": [0.3]}}
    rows = [
        {"method": method, "metric": metric, "item": tag, "fold": fold, "value": value}
        for metric in ("precision", "precision_at_k")
        for method, tags in values.items()
        for tag, folds in tags.items()
        for fold, value in enumerate(folds)
    ]
    rows.append({**rows[0], "variant": "other", "value": 99})
    shared = {"experiment": "music", "dataset": "cal500", "origin": origin}
    costs = seconds(
        vhem=[("songs", "", 3600.0), ("tags", 0, 3600.0), ("scores", 0, 360.0)],
        mine=[("tags", 0, 7200.0)],
    )
    found = tabulate_tagging(
        metric_table(rows, **shared),
        metric_table(costs, **shared),
        pd.read_csv(repository / "resources/paper/nips2012_table3.csv"),
        retrieved,
    )
    return found.set_index(["method", "quantity"])


def test_synthetic_songs_are_not_subtracted_from_the_papers(repository):
    found = table(repository, origin="synthetic")
    assert found["difference"].isna().all()
    assert found.loc["vhem", "P"]["paper"] == 0.446


def test_table_by_hand(repository):
    found = table(repository)
    row = found.loc["vhem", "P"]
    assert row["ours"] == pytest.approx((0.6 + 0.2) / 2)
    assert row["s.e."] == pytest.approx(0.2)
    assert (row["paper"], row["tags"], row["folds"]) == (0.446, 2, 2)
    assert row["difference"] == pytest.approx(0.4 - 0.446)
    assert found.loc["vhem", "P@10"]["paper"] == 0.451
    assert found.loc["vhem", "hours of learning"]["ours"] == 2
    assert found.loc["vhem", "hours of learning"]["paper"] == 678
    assert found.loc["vhem", "hours: scores"]["ours"] == pytest.approx(0.1)
    assert found.loc["vhem", "share of songs in hours"]["ours"] == 0.5
    assert np.isnan(found.loc["vhem", "share of songs in hours"]["difference"])
    assert np.isnan(found.loc["mine", "P"]["paper"])
    assert (found["kind"] == "cost").sum() == 9


def test_another_rank_is_not_subtracted_from_the_papers(repository):
    row = table(repository, retrieved=5).loc["vhem", "P@5 (paper: P@10)"]
    assert row["paper"] == 0.451
    assert np.isnan(row["difference"])


def test_ratios_are_of_learning_on_the_same_folds(repository):
    paper = pd.read_csv(repository / "resources/paper/nips2012_table3.csv")
    shared = {"experiment": "music", "dataset": "cal500", "origin": "synthetic"}
    rows = [
        {"method": method, "metric": "precision", "item": "a", "fold": fold, "value": 0.5}
        for method, folds in (("vhem", 2), ("em_h3m", 2), ("ppk_sc", 2), ("ppk_sc_pair", 1))
        for fold in range(folds)
    ]
    costs = seconds(
        vhem=[("songs", "", 1.0), ("tags", 0, 2.0), ("tags", 1, 3.0)],
        em_h3m=[("tags", 0, 10.0), ("tags", 1, 2.0)],
        ppk_sc=[("songs", "", 2.0), ("tags", 0, 2.0), ("tags", 1, 9.0)],
        ppk_sc_pair=[("songs", "", 4.0), ("tags", 0, 7.0)],
    )
    found = tabulate_tagging(
        metric_table(rows, **shared), metric_table(costs, **shared), paper, 10
    ).set_index(["method", "quantity"])
    row = found.loc["vhem", "hours / em_h3m"]
    assert (row["ours"], row["paper"], row["folds"]) == (pytest.approx(0.5), 0.36, 2)
    row = found.loc["vhem", "hours / ppk_sc"]
    assert (row["ours"], row["paper"], row["folds"]) == (pytest.approx(6 / 13), 0.65, 2)
    # Fold 0 only, with half of the seconds of all songs.
    row = found.loc["ppk_sc_pair", "hours / ppk_sc"]
    assert (row["ours"], row["paper"], row["folds"]) == (pytest.approx((2 + 7) / (1 + 2)), 4, 1)
    assert np.isnan(row["difference"])
    assert found.loc["ppk_sc_pair", "hours: songs"]["ours"] == pytest.approx(4 / 3600)


def test_ceilings_stand_last_and_are_no_methods(repository):
    paper = pd.read_csv(repository / "resources/paper/nips2012_table3.csv")
    shared = {"experiment": "music", "dataset": "cal500", "origin": "synthetic"}
    row = {"metric": "precision", "item": "a", "fold": 0, "value": 0.5}
    rows = [{**row, "method": method} for method in ("vhem", "mine")]
    rows[1:1] = [{**row, "method": "oracle", "variant": "ceiling", "value": 0.9}]
    costs = seconds(vhem=[("songs", "", 1.0), ("tags", 0, 2.0)], mine=[("tags", 0, 1.0)])
    found = tabulate_tagging(metric_table(rows, **shared), metric_table(costs, **shared), paper, 10)
    assert found["kind"].tolist().count("ceiling") == 1
    ceiling = found[found["kind"] == "ceiling"].iloc[0]
    assert ceiling[["method", "quantity", "ours", "folds"]].tolist() == ["oracle", "P", 0.9, 1]
    assert ceiling[["paper", "difference"]].isna().all()
    assert found.iloc[-1]["kind"] == "ceiling"


def test_a_method_that_gave_up_has_a_row_and_no_ratio(repository):
    paper = pd.read_csv(repository / "resources/paper/nips2012_table3.csv")
    shared = {"experiment": "music", "dataset": "cal500", "origin": "synthetic"}
    rows = [
        {"method": method, "metric": "precision", "item": "a", "fold": fold, "value": 0.5}
        for method, folds in (("vhem", 2), ("ppk_sc", 1))
        for fold in range(folds)
    ]
    costs = seconds(
        vhem=[("songs", "", 1.0), ("tags", 0, 2.0), ("tags", 1, 3.0)],
        em_h3m=[("tags", 0, 10.0), ("tags", 1, 2.0)],
        ppk_sc=[("songs", "", 2.0), ("tags", 0, 4.0), ("tags", 1, 9.0)],
    )
    costs += gave_up(vhem=(0, 0), em_h3m=(3, 4), ppk_sc=(0, 1))
    found = tabulate_tagging(
        metric_table(rows, **shared), metric_table(costs, **shared), paper, 10
    ).set_index(["method", "quantity"])
    assert found.loc["em_h3m", "tags given up"][["ours", "folds"]].tolist() == [7, 0]
    assert found.loc["ppk_sc", "tags given up"][["ours", "folds"]].tolist() == [1, 1]
    assert ("vhem", "tags given up") not in found.index
    assert ("vhem", "hours / em_h3m") not in found.index
    row = found.loc["vhem", "hours / ppk_sc"]
    assert (row["ours"], row["folds"]) == (pytest.approx((0.5 + 2) / (1 + 4)), 1)


# --- start-up -----------------------------------------------------------------------------------


def test_listing_data_sets_imports_nothing_that_makes_sound():
    code = (
        "import sys, replication.data; "
        "print([m for m in ('scipy.signal', 'soundfile', 'librosa') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
