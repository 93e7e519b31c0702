"""Tables and deviations are computed from scores; what they name must exist."""

import numpy as np
import pandas as pd
import pytest
import yaml

from replication.images.svm import FAMILIES
from replication.report.deviations import DEVIATION_COLUMNS, list_deviations
from replication.report.metrics import metric_table
from replication.report.tables import (
    tabulate_accuracy,
    tabulate_clustering,
    tabulate_face_classes,
    write_tables,
)


@pytest.fixture
def scores():
    rows = []
    for variant, shift in (("", 0.0), ("levels_32", -0.1)):
        for method, mean in (("linear", 0.6), ("sw_gaussian", 0.8)):
            for repeat in range(2):
                for fold in range(5):
                    names = {"method": method, "variant": variant, "repeat": repeat, "fold": fold}
                    value = mean + shift + 0.02 * repeat + 0.01 * (fold - 2)
                    rows.append({**names, "metric": "accuracy", "value": value})
                    rows.append({**names, "metric": "on_edge", "value": float(fold == 0)})
                    rows.append({**names, "metric": "C", "value": 1.0 if fold == 4 else 100.0})
                    rows.append({**names, "metric": "parameter", "value": 0.25})
    return metric_table(rows, experiment="textures", dataset="uiuc_texture", origin="real")


def test_accuracy_table_by_hand(scores):
    table = tabulate_accuracy(scores)
    assert table["kernel"].tolist() == ["sw_gaussian", "linear"]
    best = table.iloc[0]
    assert best["accuracy (%)"] == pytest.approx(81.0)
    assert best["s.d. over repetitions"] == pytest.approx(np.std([80, 82], ddof=1))
    assert best["choices on a grid edge (%)"] == pytest.approx(20.0)
    assert (best["usual C"], best["usual gamma or degree"]) == (100.0, 0.25)
    assert best["paper"] == "figure only"


def test_clustering_table_by_hand():
    metrics = [
        "inertia",
        "relative_inertia",
        "inertia_in_phi",
        "v_measure",
        "adjusted_mutual_information",
        "iterations",
    ]
    rows = [
        {"method": "kmeans", "repeat": repeat, "metric": metric, "value": float(repeat)}
        for metric in metrics
        for repeat in (1, 3)
    ]
    table = tabulate_clustering(
        metric_table(rows, experiment="textures", dataset="uiuc_texture", origin="synthetic")
    )
    assert table.loc[0, "v measure"] == 2.0
    assert table.loc[0, "v measure s.d."] == pytest.approx(np.sqrt(2))
    assert table.loc[0, "origin"] == "synthetic"


@pytest.fixture
def inversion():
    quality = {
        ("", "DogHead"): 0.8,
        ("", "CatHead"): 0.5,
        ("", "all"): 0.65,
        ("atoms_32", "DogHead"): 0.4,
        ("atoms_32", "CatHead"): 0.2,
        ("atoms_32", "all"): 0.3,
    }
    rows = [
        {
            "method": "hoggles",
            "variant": variant,
            "item": label,
            "metric": "grey_correlation",
            "value": value,
        }
        for (variant, label), value in quality.items()
    ]
    for label, images, copies in (("DogHead", 32, 2), ("CatHead", 11, 1)):
        counts = {"images": images, "copies": copies, "used": images - copies}
        rows += [
            {"method": "data", "item": label, "metric": m, "value": v} for m, v in counts.items()
        ]
    return metric_table(rows, experiment="faces", dataset="animal_faces", origin="real")


def test_table_of_classes_by_hand(inversion):
    table = tabulate_face_classes(inversion)
    assert table.drop(columns=["experiment", "dataset", "origin"]).fillna(
        -1
    ).to_numpy().tolist() == [
        ["CatHead", 11, 1, 10, 25.0, 0.5, 0.2, -1],
        ["DogHead", 32, 2, 30, 75.0, 0.8, 0.4, -1],
        ["all", 43, 3, 40, 100.0, 0.65, 0.3, 75.0],
    ]
    assert table.columns[-3:].tolist() == [
        "correlation with grey, main",
        "correlation with grey, atoms_32",
        "largest class = chance (%)",
    ]
    assert set(table["experiment"]) == {"faces"}


def test_a_class_without_a_count_is_named(inversion):
    lacking = inversion[~((inversion["method"] == "data") & (inversion["item"] == "DogHead"))]
    with pytest.raises(ValueError, match="DogHead"):
        tabulate_face_classes(lacking)


def test_every_format_holds_every_row(scores, tmp_path):
    paths = [tmp_path / f"t.{suffix}" for suffix in ("csv", "md", "tex")]
    write_tables(paths, tabulate_accuracy(scores))
    for path in paths:
        text = path.read_text()
        assert "81" in text
        assert text.count("sw_gaussian") + text.count(r"sw\_gaussian") == 1
    expected = tabulate_accuracy(scores)
    pd.testing.assert_frame_equal(pd.read_csv(paths[0]), expected, check_dtype=False)


VARIANTS = {
    "levels_16": {"cooccurrence": {"levels": 16}},
    "levels_32": {"cooccurrence": {"levels": 32}},
    "world": {"features": {"reference": "world"}},
}


def deviations(tmp_path, scores, **entry):
    path = tmp_path / "deviations.yaml"
    base = {"setting": "Levels", "experiment": "textures", "paper": "not stated", "source": "ours"}
    path.write_text(yaml.safe_dump([{**base, **entry}]))
    textures = {
        "cooccurrence": {"levels": 64, "symmetric": True},
        "features": {"reference": "root"},
        "sensitivity": {"variants": VARIANTS},
    }
    return list_deviations(path, {"experiments": {"textures": textures}}, scores)


def test_our_value_and_the_effect_of_variants_that_change_it_are_computed(tmp_path, scores):
    table = deviations(tmp_path, scores, config="cooccurrence.levels")
    assert tuple(table.columns) == DEVIATION_COLUMNS
    assert table.loc[0, "ours"] == "64"
    assert table.loc[0, "effect"] == ("levels_32: accuracy linear -10.0, sw_gaussian -10.0 points")


def test_our_value_of_a_switch_names_it(tmp_path, scores):
    table = deviations(tmp_path, scores, config="cooccurrence.symmetric")
    assert table.loc[0, "ours"] == "symmetric: true"


def test_our_value_without_a_setting_stands_in_words(tmp_path, scores):
    assert deviations(tmp_path, scores, ours="0 and 1").loc[0, "ours"] == "0 and 1"
    assert deviations(tmp_path, scores).loc[0, "ours"] == "see source"


def test_shipped_deviations_list_every_grid_and_say_our_value_once(repository):
    entries = yaml.safe_load((repository / "resources/deviations.yaml").read_text())
    assert not [entry["setting"] for entry in entries if {"config", "ours"} <= set(entry)]
    for experiment in ("textures", "faces"):
        listed = [e.get("config") for e in entries if e["experiment"] == experiment]
        for grid in ("svm.C", "svm.gamma", "svm.degree"):
            assert listed.count(grid) == 1, (experiment, grid)


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (
            {"methods": [["absent", "linear"], ["sw_gaussian", "linear"]]},
            "accuracy sw_gaussian - linear: +20.0 points",
        ),
        ({"methods": [["sw_gaussian", "absent"]]}, "not varied"),
        ({"edges": ["absent", "linear"]}, "choices on an edge of a grid: linear 20 %"),
        ({"edges": ["absent"]}, "not varied"),
        ({"schemes": ["absent"]}, "not varied"),
    ],
)
def test_what_a_run_does_not_have_is_left_out_of_an_effect(tmp_path, scores, effect, text):
    assert deviations(tmp_path, scores, effect=effect).loc[0, "effect"] == text


def test_a_kernel_of_a_variant_alone_has_no_change(tmp_path, scores):
    scores = scores[(scores["method"] != "linear") | (scores["variant"] != "")]
    table = deviations(tmp_path, scores, config="cooccurrence.levels")
    assert table.loc[0, "effect"] == "levels_32: accuracy sw_gaussian -10.0 points"


def test_shipped_deviations_name_kernels_that_there_are(repository):
    for entry in yaml.safe_load((repository / "resources/deviations.yaml").read_text()):
        effect = entry.get("effect", {})
        for kernels in (*effect.get("methods", []), effect.get("edges", [])):
            assert set(kernels) <= set(FAMILIES), entry["setting"]


def test_difference_of_methods_and_edges(tmp_path, scores):
    effect = {"methods": [["sw_gaussian", "linear"]], "edges": ["linear"]}
    table = deviations(tmp_path, scores, effect=effect)
    assert "accuracy sw_gaussian - linear: +20.0 points" in table.loc[0, "effect"]
    assert "linear 20 %" in table.loc[0, "effect"]


@pytest.mark.parametrize(
    "entry",
    [
        {"config": "cooccurrence.level"},
        {"effect": {"guess": []}},
    ],
)
def test_what_does_not_exist_is_named(tmp_path, scores, entry):
    with pytest.raises(ValueError, match="'Levels': not found"):
        deviations(tmp_path, scores, **entry)


def test_parts_of_a_graph_are_an_effect(tmp_path, scores):
    parts = metric_table(
        [
            {"method": "ppk_sc", "item": level, "metric": "graph_parts", "value": value}
            for level, values in ((2, (15, 17, 19)), (3, (2, 2, 2)))
            for value in values
        ],
        experiment="textures",
        dataset="uiuc_texture",
        origin="real",
    )
    table = deviations(tmp_path, pd.concat([scores, parts]), effect={"parts": ["ppk_sc"]})
    assert table.loc[0, "effect"] == "graph of ppk_sc: 15 to 19 parts, median 17"


def rand(**means):
    """Rand indices of methods in two trials on level 2, with and without a variant."""
    rows = []
    for method, (main, varied) in means.items():
        for variant, mean in (("", main), ("world", varied)):
            trials = [""] if method == "subject" else [0, 1]
            for trial in trials:
                value = mean + (0.01 * trial if trial else 0.0)
                names = {"method": method, "variant": variant, "item": 2, "repeat": trial}
                rows.append({**names, "metric": "rand_index", "value": value})
    return metric_table(rows, experiment="textures", dataset="uiuc_texture", origin="real")


def test_variants_change_the_rand_index_by_their_difference_to_the_main_settings(tmp_path):
    scores = rand(vhem=(0.9, 0.8), ppk_sc=(0.5, 0.7), subject=(0.6, 0.6))
    table = deviations(tmp_path, scores, config="features.reference")
    assert table.loc[0, "effect"] == (
        "world: Rand index of vhem -0.100 on level 2; world: Rand index of ppk_sc +0.200 on level 2"
    )


def test_sweep_of_gamma_is_a_mean_over_starts(tmp_path, scores):
    sweep = metric_table(
        [
            {
                "method": method,
                "variant": f"gamma_{gamma:g}",
                "repeat": repeat,
                "metric": "v_measure",
                "value": value + 0.2 * repeat,
            }
            for method, values in (("a", {0.25: 0.3, 4: 0.5}), ("b", {0.25: 0.0, 4: 0.0}))
            for gamma, value in values.items()
            for repeat in range(2)
        ],
        experiment="textures",
        dataset="uiuc_texture",
        origin="real",
    )
    table = deviations(tmp_path, pd.concat([scores, sweep]), effect={"sweep": ["a"]})
    assert table.loc[0, "effect"] == "V-measure of a: 0.400 at 0.25, 0.600 at 4"


def test_effects_on_tags_by_hand(tmp_path):
    """Of each method the change of means over tags of means over folds."""
    rows = [
        {
            "method": "a",
            "variant": variant,
            "item": tag,
            "fold": fold,
            "metric": "precision",
            "value": value,
        }
        for variant, values in {
            "": {"x": [0.5, 0.7], "y": [0.2, 0.2]},
            "empty_precision_zero": {"x": [0.5, 0.0], "y": [0.2, 0.2]},
            "empty_precision_skip": {"x": [0.5], "y": [0.2, 0.2]},
        }.items()
        for tag, folds in values.items()
        for fold, value in enumerate(folds)
    ]
    rows += [{**row, "metric": "f_score", "value": 0.1} for row in rows]
    scores = metric_table(rows, experiment="textures", dataset="d", origin="real")
    variants = ["empty_precision_prior", "empty_precision_zero", "empty_precision_skip"]
    found = deviations(tmp_path, scores, effect={"tag_scores": variants}).iloc[0]
    assert found["effect"] == (
        "empty_precision_zero: a P -0.175, F +0.000; empty_precision_skip: a P -0.050, F +0.000"
    )
    with pytest.raises(ValueError, match="variants"):
        deviations(tmp_path, scores, effect={"tag_scores": ["other"]})
