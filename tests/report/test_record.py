"""What a run says of itself: where its dictionaries of HOGgles come from."""

import json
from types import SimpleNamespace

import jinja2
import numpy as np
import pytest
import yaml

from replication.images.hoggles.dictionary import PairedDictionary
from replication.report.record import describe_dictionary, describe_run


def saved(path, origin, n_atoms=3):
    dictionary = PairedDictionary(
        grey=np.zeros((n_atoms, 24, 24)),
        hog=np.zeros((n_atoms, 1, 1, 32)),
        penalty=0.02,
        cell=8,
        origin=origin,
    )
    dictionary.save(path)
    return path


def learned(n_images):
    return {
        "method": "learned here",
        "images": {f"image {i}": f"{i:064x}" for i in range(n_images)},
        "random_state": 7,
        "training": "faces",
        "leakage": True,
    }


def test_a_learned_dictionary_names_its_images_its_seed_and_its_leakage(tmp_path):
    found = describe_dictionary(saved(tmp_path / "d.npz", learned(2)))
    assert found == {**learned(2), "n_atoms": 3, "penalty": 0.02, "cell": 8}


def test_many_images_are_a_number_and_a_checksum_that_tells_them_apart(tmp_path):
    origin, other = learned(2420), learned(2420)
    other["images"]["image 5"] = "0" * 64
    found, changed = (
        describe_dictionary(saved(tmp_path / f"{i}.npz", o))["images"]
        for i, o in enumerate((origin, other))
    )
    assert found["number"] == 2420
    assert len(found["sha256_of_list"]) == 64
    assert changed["sha256_of_list"] != found["sha256_of_list"]


def test_a_file_that_was_read_is_named_and_its_training_is_not_guessed(tmp_path):
    origin = {"method": "read from pd.mat", "file": "pd.mat", "sha256": "ab"}
    found = describe_dictionary(saved(tmp_path / "d.npz", origin))
    assert (found["file"], found["sha256"]) == ("pd.mat", "ab")
    assert found["training"] is None
    assert found["leakage"] is None


def test_the_record_holds_the_origins_of_all_dictionaries(tmp_path, repository):
    paths = {"main": saved(tmp_path / "a.npz", learned(2)), "small": saved(tmp_path / "b.npz", {})}
    lock = repository / "requirements.lock"
    record = describe_run({}, [], lock, paths)
    assert {name: entry["leakage"] for name, entry in record["dictionaries"].items()} == {
        "main": True,
        "small": None,
    }
    json.dumps(record)
    assert describe_run({}, [], lock)["dictionaries"] == {}


@pytest.mark.parametrize(
    ("change", "said", "unsaid"),
    [
        ({}, "128 atoms learned from: sample_photographs. What", "leakage"),
        ({"training": "faces"}, "learned from: faces. It has seen", "user gave"),
        ({"file": "/home/me/pd.mat"}, "the user gave, pd.mat. What", "sample_photographs"),
    ],
)
def test_the_caption_of_figure_2_says_what_the_dictionary_is(repository, change, said, unsaid):
    config = yaml.safe_load((repository / "config.yaml").read_text())
    config["experiments"]["faces"]["dictionary"].update(change)
    text = (repository / "workflow/report/cvpr2016_fig2.rst").read_text()
    caption = jinja2.Template(text).render(snakemake=SimpleNamespace(config=config))
    caption = " ".join(caption.split())
    assert said in caption
    assert unsaid not in caption
    assert "/home" not in caption
    assert "run.json. Images are brought to 96 pixels" in caption
