"""A wrong configuration is answered with what is allowed and the nearest known key."""

import copy
import json
import re
import subprocess
import sys

import pytest
import yaml
from jsonschema import Draft202012Validator

from replication.registry import DATASETS, EXPERIMENTS
from replication.settings import (
    ConfigError,
    Counts,
    check_config,
    check_counts,
    count_members,
    load_config,
)
from replication.settings.schema import CONFIG, json_schema

SECTIONS = {"datasets": [*DATASETS], "experiments": [*EXPERIMENTS]}


@pytest.fixture(scope="module")
def schema():
    return json_schema()


@pytest.fixture(scope="module")
def default(repository):
    return yaml.safe_load((repository / "config.yaml").read_text())


@pytest.fixture
def config(default):
    return copy.deepcopy(default)


def test_default_configuration_is_valid(config):
    check_config(config)


def test_every_shipped_configuration_is_valid(repository):
    shipped = sorted((repository / "configs").glob("*.yaml"))
    assert {path.name for path in shipped} >= {"smoke.yaml", "paper.yaml"}
    faces = [repository / f"configs/faces_{name}.yaml" for name in ("one_sitting", "with_textures")]
    for files in [*([path] for path in shipped), [repository / "configs/paper.yaml", *faces]]:
        check_config(load_config([repository / "config.yaml", *files]))


def closed_objects(node, path="config"):
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield path, node.get("additionalProperties")
        for key, value in node.items():
            yield from closed_objects(value, f"{path}.{key}")


def test_schema_is_closed_everywhere(schema):
    objects = list(closed_objects(schema))
    assert len(objects) > 5
    # A map with names of the user's own is closed by the schema of its values.
    assert [path for path, extra in objects if extra is None or extra is True] == []


#: Key, wrong value, and what the one line about it says beside both.
WRONG = [
    ("sead", 1, "is not a known key; allowed: .*did you mean 'seed'"),
    ("datasets.uiuc_textures", {}, "did you mean 'datasets.uiuc_texture'"),
    ("experiments.textures.svm.fold", 5, "did you mean 'experiments.textures.svm.folds'"),
    ("__use_yte__", True, "is not a known key"),
    # kinds
    ("seed", "many", "whole numbers from 0"),
    ("seed", -1, "whole numbers from 0"),
    ("seed", 2016.0, "whole numbers from 0"),
    ("seed", True, "whole numbers from 0"),
    ("seed", None, "whole numbers from 0"),
    ("seed", 10**30, "to 4294967295"),
    ("seed", "[1", "whole numbers"),
    ("run", 2016, "put a text into quotes"),
    ("run", "a/b", "letters, digits"),
    ("run", "smoke\n", "letters, digits"),
    ("run", "a" * 300, "at most 60 characters"),
    ("archives", "", "a text"),
    ("archives", "a\0b", "a text"),
    ("allow_subset", 1, "true or false"),
    ("datasets", None, "is None; allowed: keys: uiuc_texture"),
    ("datasets.cal500.enabled", "no", "true or false"),
    ("datasets.uiuc_texture.source", "archive", "embedded, archives, download .*'archives'"),
    ("experiments.faces", [], "is .*; allowed: keys: images, dictionary"),
    # domains
    ("datasets.uiuc_texture.embedded.width", 10**9, "from 32 to 2048"),
    ("datasets.cal500.embedded.tags", 100_000, "from 32 to 200"),
    ("experiments.textures.cooccurrence.levels", 16.0, "whole numbers from 2 to 256"),
    ("experiments.textures.cooccurrence.offsets", [[0, 1], [0, 0]], "not both 0"),
    ("experiments.textures.cooccurrence.offsets", [0, 1], "rows, columns"),
    ("experiments.textures.sliced_wasserstein.n_angles", 45, "even whole numbers"),
    ("experiments.textures.sliced_wasserstein.n_quantiles", 1, "from 2"),
    ("experiments.faces.sliced_wasserstein.oversampling", 3, "even whole numbers"),
    ("experiments.textures.inverses.classes", ["T01_bark", "T25_plaid"], "'T01_bark1'"),
    ("experiments.faces.samples.not_shown", ["HumanHeads"], "'HumanHead'"),
    ("experiments.textures.variance.components", [], "a list of 1 to 100, ascending"),
    ("experiments.textures.variance.components", [5, 2], "ascending"),
    ("experiments.textures.variance.gammas", [1, 2, 3, 4, 5], "at most 4"),
    ("experiments.textures.variance.share", float("nan"), "numbers from 0.05"),
    ("experiments.textures.variance.share", 1e-9, "numbers from 0.05"),
    ("experiments.textures.svm.C", [1, float("inf")], "numbers from 1e-09"),
    ("experiments.textures.svm.C", [1, 1], "ascending"),
    ("experiments.textures.svm.C", [1, 1.0000001], "ascending"),
    ("experiments.textures.svm.C", ["1e-3"], "numbers from 1e-09"),
    ("experiments.textures.svm.degree", [1000], "from 1 to 20"),
    ("experiments.textures.svm.paper_methods", [], "one kernel or more"),
    ("experiments.textures.svm.slow_methods", ["hog_linear"], "no HOG vectors"),
    ("experiments.faces.svm.multiclass_methods", ["sw_cubic"], "linear, rbf"),
    ("experiments.faces.sensitivity.methods", ["chi_squared"], "linear, rbf"),
    ("experiments.textures.sensitivity.variants", {"a\n": {}}, "lower-case letters"),
    ("experiments.textures.sensitivity.variants", {"main": {}}, "not the name of what all"),
    ("experiments.textures.sensitivity.variants", {"a": {"cooccurrence": {}}}, "keys: levels"),
    ("experiments.faces.dictionary.penalty", 1e300, "to 0.2"),
    ("experiments.motion.hierarchy.levels", [2, 4, 8], "a list of 3, decreasing"),
    ("experiments.motion.hierarchy.levels", [4, 4, 4], "decreasing"),
    ("experiments.motion.hmms.covariance_floor", float("inf"), "numbers from"),
    ("experiments.motion.features.frame_rate_hz", 1e-6, "numbers from 1 to 480"),
    ("experiments.music.features.derivative_width", 4, "3, 5, 7"),
    ("experiments.music.methods", ["em"], "did you mean"),
    # what does not fit together
    ("datasets.animal_faces.embedded.min_side", 200, r"at most max_side \(128\)"),
    ("experiments.textures.cooccurrence.offsets", [[121, 0]], "120 rows and 160 columns"),
    ("experiments.textures.svm.folds", 21, "at most 20 .images of the smallest class"),
    ("datasets.uiuc_texture.embedded.images_per_class", 3, "leave 3 of the 3 images"),
    ("experiments.textures.svm.inner_folds", 17, "at most 16 .images .* in a training part"),
    ("experiments.textures.variance.components", [1, 400], "at most 399"),
    ("experiments.textures.identities.n_samples", 501, "at most 500 .all the images"),
    ("experiments.textures.kmeans.sweep_repeats", 101, "at most 100 .kmeans.repeats"),
    ("experiments.faces.sliced_wasserstein.n_quantiles", 2048, "at most 728 .with the angles"),
    ("experiments.faces.inverses.classes", ["HumanHead", "CatHead"], "shown"),
    ("experiments.faces.dictionary.file", "nosuch.mat", "a file; there is none"),
    ("experiments.faces.dictionary.file", "src", "a file; there is a folder"),
    ("experiments.faces.dictionary.file", "README.md", "a MATLAB file"),
    ("experiments.faces.dictionary.n_windows", 100, "n_atoms' is 128; allowed: at most 50"),
    ("experiments.faces.hoggles.blocks", 253, "at most 252 .images"),
    ("experiments.motion.hierarchy.levels", [57, 4, 2], "at most 56 .sequences"),
    ("experiments.motion.hmms.n_mix", 60, "n_states' is 4; allowed: at most 2 .a Gaussian for"),
    ("experiments.music.once", ["vhem"], "not in music.methods"),
    ("experiments.music.features.blocks", 61, "at most 60 .songs"),
    ("experiments.music.features.sampling_rate", 44100, "from 4000 to 22050 .Hz"),
    ("experiments.music.features.sequence_length", 645, "at most 644 .frames of the shortest"),
    ("experiments.music.split.folds", 61, "at most 60 .songs"),
    ("experiments.music.split.min_songs", 101, "at most 100 .songs"),
    ("experiments.music.songs.n_components", 22, "at most 21 .sequences of a song"),
    ("experiments.music.songs.dtm_states", 35, "at most 34 .bands of a frame"),
    ("experiments.music.scoring.retrieved", 13, "at most 12 .songs of a fold"),
    ("experiments.music.scoring.annotated", 33, "at most 32 .tags"),
]


def put(config, key, value):
    *path, last = key.split(".")
    for name in path:
        config = config[name]
    config[last] = value


@pytest.mark.parametrize(("key", "value", "words"), WRONG, ids=lambda part: str(part)[:40])
def test_a_wrong_value_is_named_with_what_is_allowed(
    config, repository, monkeypatch, key, value, words
):
    monkeypatch.chdir(repository)
    put(config, key, value)
    with pytest.raises(ConfigError, match=words) as caught:
        check_config(config)
    _, *faults = str(caught.value).splitlines()
    assert all(re.match(r"  ['\"][\w.\[\]'\\]+['\"]( is | has |: )", fault) for fault in faults)
    assert all(len(fault) < 600 for fault in faults)


@pytest.mark.parametrize(
    ("experiment", "dataset", "key", "value"),
    [
        ("textures", "uiuc_texture", "svm.folds", 21),
        ("motion", "cmu_mocap", "hierarchy.levels", [57, 4, 2]),
        ("music", "cal500", "split.folds", 61),
    ],
)
def test_what_takes_no_part_need_not_fit(config, experiment, dataset, key, value):
    put(config, f"experiments.{experiment}.{key}", value)
    config["datasets"][dataset]["enabled"] = False
    check_config(config)


def test_a_run_without_data_is_refused(config):
    for data in config["datasets"].values():
        data["enabled"] = False
    with pytest.raises(ConfigError, match="'datasets': none takes part; allowed: one or more"):
        check_config(config)


def test_variants_have_to_fit_too(config):
    variants = config["experiments"]["textures"]["sensitivity"]["variants"]
    variants["far"] = {"cooccurrence": {"offsets": [[0, 161]]}}
    with pytest.raises(ConfigError, match=r"variants\.far\.cooccurrence\.offsets' is \[\[0, 161]]"):
        check_config(config)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("experiments.textures.variance.components", [1, 2]),
        ("experiments.textures.svm.paper_methods", ["linear", "sw_gaussian"]),
        ("experiments.textures.svm.extra_methods", []),
        ("experiments.textures.svm.slow_repeats", 0),
        ("experiments.textures.sliced_wasserstein.footprint", "point"),
        ("experiments.music.methods", ["hem_gmm"]),
        ("datasets.uiuc_texture.source", "download"),
        ("datasets.cal500.source", "archives"),
        ("experiments.music.features.sampling_rate", 11025),
    ],
)
def test_documented_switches_are_accepted(config, key, value):
    put(config, key, value)
    check_config(config)


@pytest.mark.parametrize(
    ("experiment", "enough", "too_few", "message"),
    [
        (
            "textures",
            Counts(500, 5),
            Counts(500, 4),
            r"textures.svm.folds' is 5; allowed: at most 4",
        ),
        ("motion", Counts(56, frames=8), Counts(56, frames=7), r"hmms.n_states' is 4; .*at most 3"),
        ("music", Counts(100, tags=8), Counts(100, tags=7), r"n_tags' is 8; .* at most 7 \(tags"),
        ("music", Counts(100, tags=8), Counts(100, tags=1), r"min_songs' is 10; allowed: less"),
    ],
)
def test_what_was_found_is_held_against_the_settings(config, experiment, enough, too_few, message):
    check_counts(config, experiment, enough)
    with pytest.raises(ConfigError, match=f"does not fit the data: .*{message}") as caught:
        check_counts(config, experiment, too_few)
    assert "\n" not in str(caught.value)
    config["datasets"][EXPERIMENTS[experiment].dataset]["enabled"] = False
    check_counts(config, experiment, too_few)


def test_the_data_of_a_variant_are_its_own(config):
    variants = config["experiments"]["motion"]["sensitivity"]["variants"]
    variants["small"] = {"hmms": {"n_states": 2}}
    check_counts(config, "motion", Counts(56, frames=7), "small")
    with pytest.raises(ConfigError, match=r"'experiments.motion.hmms.n_states'"):
        check_counts(config, "motion", Counts(56, frames=7), "main")
    with pytest.raises(ConfigError, match=r"variants.own_skeleton.hmms.n_states'"):
        check_counts(config, "motion", Counts(56, frames=7), "own_skeleton")


def test_members_that_stay_together_count_once():
    assert count_members(["a", "a", "a", "b", "b"]) == Counts(5, smallest_class=2)
    assert count_members(["a", "a", "a", "b", "b"], [0, 0, 0, 3, 4]) == Counts(5, smallest_class=1)


def leaves(node):
    """Yield the parts of the schema that describe a value and not a section."""
    if isinstance(node, dict):
        if "enum" in node or node.get("type", "object") != "object":
            yield node
        for value in node.values():
            yield from leaves(value)
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value)


def test_every_value_has_a_bounded_domain(schema):
    bounds = {
        "integer": {"minimum", "maximum"},
        "number": {"minimum", "maximum"},
        "string": {"pattern", "maxLength"},
        "array": {"maxItems"},
        "boolean": set(),
    }
    found = list(leaves(schema))
    assert len(found) > 60
    for leaf in found:
        assert "enum" in leaf or bounds[leaf["type"]] <= set(leaf), leaf


def test_the_registry_names_what_has_settings():
    parts = {name: [*CONFIG.model_fields[name].annotation.model_fields] for name in SECTIONS}
    assert parts == SECTIONS


def test_only_who_checks_a_configuration_imports_pydantic():
    code = "import sys, replication.settings; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_schema_is_printed_for_editors(schema):
    command = [sys.executable, "-W", "error", "-m", "replication.settings.schema"]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    Draft202012Validator.check_schema(printed)
    assert printed["properties"].keys() == schema["properties"].keys()


def test_text_of_the_command_line_becomes_what_the_schema_wants(config):
    config.update(allow_subset="true", seed="7", run="3")
    config["experiments"]["textures"]["variance"].update(share="0.7", gammas=["1", "4"])
    check_config(config)
    assert (config["allow_subset"], config["seed"], config["run"]) == (True, 7, "3")
    assert config["experiments"]["textures"]["variance"]["share"] == 0.7
    assert config["experiments"]["textures"]["variance"]["gammas"] == [1, 4]


def test_all_faults_are_listed_at_once(config):
    config.update(sead=1, seed="many")
    with pytest.raises(ConfigError) as caught:
        check_config(config)
    assert "sead" in str(caught.value)
    assert "'seed' is 'many'" in str(caught.value)


def test_a_variant_that_is_null_is_left_out(config):
    variants = config["experiments"]["faces"]["sensitivity"]["variants"]
    kept = dict(variants, deviation=None)
    config["experiments"]["faces"]["sensitivity"]["variants"] = kept
    check_config(config)
    assert set(kept) == set(variants) - {"deviation"}
    config["experiments"]["faces"]["svm"] = None
    with pytest.raises(ConfigError, match="svm"):
        check_config(config)
    with pytest.raises(ConfigError, match="experiments"):
        check_config({**config, "experiments": None})


@pytest.mark.parametrize(
    ("experiment", "additions", "message"),
    [
        ("textures", {"extra": ["linear"]}, "'linear' is in paper_methods and in extra_methods;"),
        ("faces", {"paper": ["hog_linear"]}, "'hog_linear' is in paper_methods and in extra_"),
        (
            "faces",
            {"slow": ["rbf"], "extra": ["rbf"]},
            "'rbf' is in paper_methods and in extra_methods and in slow_methods;",
        ),
    ],
)
def test_a_kernel_in_two_lists_is_named_with_them(config, experiment, additions, message):
    svm = config["experiments"][experiment]["svm"]
    for part, kernels in additions.items():
        svm[f"{part}_methods"] = [*svm[f"{part}_methods"], *kernels]
    with pytest.raises(ConfigError, match=f"'experiments.{experiment}.svm': kernel {message}"):
        check_config(config)
    # Beside other faults, and where there is no list to look into.
    config.update(seed="many")
    with pytest.raises(ConfigError, match=r"'seed'.*\n.*" + message):
        check_config(config)
    svm["slow_methods"] = None
    with pytest.raises(ConfigError, match="slow_methods"):
        check_config(config)


def test_a_kernel_moved_to_another_list_is_in_order(config):
    svm = config["experiments"]["textures"]["svm"]
    svm["extra_methods"] = [*svm["extra_methods"], "rbf"]
    svm["paper_methods"] = [name for name in svm["paper_methods"] if name != "rbf"]
    check_config(config)
