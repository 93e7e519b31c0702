"""A wrong configuration is answered with what is allowed and the nearest known key."""

import copy

import pytest
import yaml

from replication.config import ConfigError, check_config


@pytest.fixture(scope="module")
def schema(repository):
    return repository / "workflow/schemas/config.schema.yaml"


@pytest.fixture
def config(repository):
    return yaml.safe_load((repository / "config.yaml").read_text())


def test_default_configuration_is_valid(config, schema):
    check_config(config, schema)


def merge(base, overlay):
    for key, value in overlay.items():
        if key == "variants":
            # Names of the user's own, which may be new.
            base[key] = {**base[key], **value}
        elif isinstance(value, dict):
            merge(base[key], value)
        else:
            assert key in base, f"{key} overrides nothing"
            base[key] = value
    return base


def test_every_shipped_configuration_is_valid(repository, config, schema):
    shipped = sorted((repository / "configs").glob("*.yaml"))
    assert {path.name for path in shipped} >= {"smoke.yaml", "paper.yaml"}
    for path in shipped:
        check_config(merge(copy.deepcopy(config), yaml.safe_load(path.read_text())), schema)


def closed_objects(node, path="config"):
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield path, node.get("additionalProperties")
        for key, value in node.items():
            yield from closed_objects(value, f"{path}.{key}")


def test_schema_is_closed_everywhere(schema):
    objects = list(closed_objects(yaml.safe_load(schema.read_text())))
    assert len(objects) > 5
    # A map with names of the user's own is closed by the schema of its values.
    assert [path for path, extra in objects if extra is None or extra is True] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c.update(sead=1),
            r"'sead' is not a known key; allowed: .*did you mean 'seed'\?",
        ),
        (
            lambda c: c["datasets"].update(uiuc_textures={}),
            r"'datasets\.uiuc_textures' .*did you mean 'datasets\.uiuc_texture'\?",
        ),
        (
            lambda c: c["datasets"]["uiuc_texture"].update(source="archive"),
            r"'datasets\.uiuc_texture\.source' is 'archive'; allowed: embedded, archives, "
            r"download; did you mean 'archives'\?",
        ),
        (lambda c: c.pop("seed"), r"'seed' is missing"),
        (lambda c: c.update(seed=-1), r"'seed': -1 is less than the minimum of 0 \(a non-negative"),
        (lambda c: c.update(run="a/b"), r"'run': 'a/b' does not match .*letters, digits"),
        (
            lambda c: c["experiments"]["textures"]["sliced_wasserstein"].update(n_angles=45),
            r"n_angles': 45 is not a multiple of 2 \(even number of directions",
        ),
    ],
)
def test_faults_are_named(config, schema, change, message):
    change(config)
    with pytest.raises(ConfigError, match=message):
        check_config(config, schema)


def test_text_of_the_command_line_becomes_what_the_schema_wants(config, schema):
    config.update(allow_subset="true", seed="7", run="3")
    config["experiments"]["textures"]["variance"].update(share="0.7", gammas=["1", "4"])
    check_config(config, schema)
    assert (config["allow_subset"], config["seed"], config["run"]) == (True, 7, "3")
    assert config["experiments"]["textures"]["variance"]["share"] == 0.7
    assert config["experiments"]["textures"]["variance"]["gammas"] == [1, 4]


def test_all_faults_are_listed_at_once(config, schema):
    config.update(sead=1, seed="many")
    with pytest.raises(ConfigError) as caught:
        check_config(config, schema)
    assert "sead" in str(caught.value)
    assert "'seed': 'many' is not of type 'integer'" in str(caught.value)


def test_a_variant_that_is_null_is_left_out(config, schema):
    variants = config["experiments"]["faces"]["sensitivity"]["variants"]
    kept = dict(variants, deviation=None)
    config["experiments"]["faces"]["sensitivity"]["variants"] = kept
    check_config(config, schema)
    assert set(kept) == set(variants) - {"deviation"}
    config["experiments"]["faces"]["svm"] = None
    with pytest.raises(ConfigError, match="svm"):
        check_config(config, schema)
    with pytest.raises(ConfigError, match="experiments"):
        check_config({**config, "experiments": None}, schema)


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
def test_a_kernel_in_two_lists_is_named_with_them(config, schema, experiment, additions, message):
    svm = config["experiments"][experiment]["svm"]
    for part, kernels in additions.items():
        svm[f"{part}_methods"] = [*svm[f"{part}_methods"], *kernels]
    with pytest.raises(ConfigError, match=f"'experiments.{experiment}.svm': kernel {message}"):
        check_config(config, schema)
    # Beside other faults, and where there is no list to look into.
    config.update(seed="many")
    with pytest.raises(ConfigError, match=r"'seed'.*\n.*" + message):
        check_config(config, schema)
    svm["slow_methods"] = None
    with pytest.raises(ConfigError, match="slow_methods"):
        check_config(config, schema)


def test_a_kernel_moved_to_another_list_is_in_order(config, schema):
    svm = config["experiments"]["textures"]["svm"]
    svm["extra_methods"] = [*svm["extra_methods"], "rbf"]
    svm["paper_methods"] = [name for name in svm["paper_methods"] if name != "rbf"]
    check_config(config, schema)
