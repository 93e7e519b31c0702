"""Verdicts beside the settings they were reached under, and what they depend on in words."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from replication.io import read_metrics, write_table
from replication.report.forest import plot_multiverse
from replication.report.multiverse import changed_settings, headlines, name_settings

EXPERIMENT = {
    "cooccurrence": {"levels": 64, "symmetric": True},
    "kmeans": {"gamma": 1},
    "sensitivity": {
        "variants": {
            "levels_8": {"cooccurrence": {"levels": 8}},
            "levels_256": {"cooccurrence": {"levels": 256}},
            "both": {"cooccurrence": {"levels": 32, "symmetric": False}},
        }
    },
}
LABELS = {("textures", "cooccurrence.levels"): "Grey levels", ("faces", "kmeans.gamma"): "no"}


def claims(standings, experiment="textures", claim="cvpr2016-a"):
    """Rows as evaluate_claims writes them, of which the first is the main one."""
    return pd.DataFrame(
        {
            "id": claim,
            "experiment": experiment,
            "kind": "empirical",
            "variant": variant,
            "value": value,
            "low": value - 1.0,
            "high": value + 1.0,
            "compared": "accuracy a - b (points)",
            "standing": standing,
            "verdict": standing,
        }
        for variant, (value, standing) in standings.items()
    )


ROWS = {
    "": (0.5, "undecided"),
    "levels_256": (2.0, "reproduced"),
    "levels_8": (-2.0, "reversed"),
    "both": (0.4, "undecided"),
    "gamma_1": (0.5, "undecided"),
    "gamma_0.25": (0.5, "undecided"),
    "one_vs_rest": (3.0, "reproduced"),
    "ceiling": (9.0, "reproduced"),
}


@pytest.fixture
def named():
    return name_settings(claims(ROWS), {"textures": EXPERIMENT}, LABELS)


def test_each_choice_stands_beside_its_setting_and_ours_too(named):
    choices = named.groupby("setting", sort=False)[["choice", "standing"]].agg(list)
    assert choices["choice"].to_dict() == {
        "": [""],
        "Grey levels": ["64", "256", "8"],
        "Grey levels and cooccurrence.symmetric": ["64, true", "32, false"],
        # The value of the main settings is theirs, and is not drawn twice.
        "kmeans.gamma": ["1", "0.25"],
        "svm.multiclass": ["one vs one", "one vs rest"],
    }
    assert choices.loc["Grey levels", "standing"] == ["undecided", "reproduced", "reversed"]


def test_a_choice_under_which_nothing_can_be_compared_is_said_and_not_drawn(tmp_path):
    rows = claims({**ROWS, "levels_8": (np.nan, "")})
    named = name_settings(rows, {"textures": EXPERIMENT}, LABELS)
    (row,) = headlines(named).to_dict("records")
    assert row["depends_on"].startswith("Grey levels: 8 not decided; 64 undecided")
    note = {"origin": "real", "title": "T", "coverage": "all"}
    write_table(tmp_path / "multiverse.csv", named)
    read = read_metrics([tmp_path / "multiverse.csv"])
    (axis, *_) = plot_multiverse(read, [note], experiment="textures").axes
    assert axis.get_xlim()[1] == pytest.approx(4, abs=0.5)
    (whole, *_) = plot_multiverse(
        name_settings(claims(ROWS), {"textures": EXPERIMENT}, LABELS), [note], experiment="textures"
    ).axes
    assert len(axis.lines) == len(whole.lines) - 2


def test_what_is_of_no_setting_is_no_choice():
    assert changed_settings(EXPERIMENT, "ceiling") == {}


def test_dependence_is_said_in_words_in_the_order_of_the_numbers(named):
    (row,) = headlines(named).to_dict("records")
    assert row["verdict"] == "undecided"
    assert row["depends_on"] == (
        "Grey levels: 8 reversed; 64 undecided; 256 reproduced"
        " | svm.multiclass: one vs one undecided; one vs rest reproduced"
    )
    assert not {"variant", "standing", "setting", "choice"} & set(row)


def test_neighbours_of_one_standing_are_said_together():
    rows = {
        "": (0, "undecided"),
        "levels_8": (0, "undecided"),
        "levels_256": (0, "reproduced"),
    }
    table = headlines(name_settings(claims(rows), {"textures": EXPERIMENT}, LABELS))
    assert table.loc[0, "depends_on"] == "Grey levels: 8, 64 undecided; 256 reproduced"


def test_what_depends_on_nothing_says_how_much_was_tried():
    rows = {"": (0, "undecided"), "levels_8": (0, "undecided"), "levels_256": (0, "undecided")}
    table = headlines(name_settings(claims(rows), {"textures": EXPERIMENT}, LABELS))
    assert table.loc[0, "depends_on"] == "the same under 2 other choices"
    alone = headlines(name_settings(claims({"": (0, "undecided")}), {}, {}))
    assert alone.loc[0, "depends_on"] == ""


def test_the_figure_draws_each_choice_of_each_claim(named):
    second = name_settings(
        claims({"": (1, "reproduced"), "levels_8": (2, "reproduced")}, claim="cvpr2016-b"),
        {"textures": EXPERIMENT},
        LABELS,
    )
    note = {"origin": "real", "title": "T", "coverage": "all"}
    figure = plot_multiverse(pd.concat([named, second]), [note], experiment="textures")
    first, other = (axis for axis in figure.axes if axis.get_visible())
    drawn = {
        float(np.ravel(line.get_xdata())[0]): line
        for line in first.get_lines()
        if line.get_marker() not in ("None", "")
    }
    assert set(drawn) == {0.5, 2.0, -2.0, 0.4, 3.0}
    # Rows are shared: a choice stands at one height in all columns, numbers from top to bottom.
    names = [text.get_text() for text in first.get_yticklabels()]
    assert names[:3] == ["8", "64", "256"]
    eight = next(line for line in other.get_lines() if list(np.ravel(line.get_xdata())) == [2])
    assert eight.get_ydata()[0] == drawn[-2.0].get_ydata()[0] < drawn[2.0].get_ydata()[0]
    # The side on which the claim holds is shaded, from zero on.
    (shade,) = first.patches
    assert shade.get_x() == 0
    assert shade.get_x() + shade.get_width() == pytest.approx(first.get_xlim()[1])
    assert first.get_xlim()[0] <= -3
    plt.close(figure)


def test_a_run_that_varies_nothing_has_a_figure_that_says_so_by_being_empty():
    table = name_settings(claims({"": (0, "undecided")}), {}, {})
    figure = plot_multiverse(table, [], experiment="textures")
    assert not [line for axis in figure.axes for line in axis.get_lines()]
    plt.close(figure)
