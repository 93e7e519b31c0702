"""Pictures of real data leave the machine only where datasets.csv says that they may."""

import pytest

from replication.registry import FIGURES, experiments_of
from replication.report.sharing import may_publish_images, withheld_figures

REAL = [{"dataset": name, "origin": "real"} for name in ("uiuc_texture", "animal_faces")]


def table(tmp_path, **answers):
    path = tmp_path / "datasets.csv"
    rows = "".join(f"{name},{answer}\n" for name, values in answers.items() for answer in values)
    path.write_text("dataset,publish_images\n" + rows)
    return path


def test_pictures_of_real_sets_are_withheld_as_the_table_says(tmp_path):
    path = table(tmp_path, uiuc_texture=["no"], animal_faces=["yes"], cmu_mocap=["yes"])
    assert withheld_figures(REAL, path) == {"cvpr2016_fig1"}
    synthetic = [entry | {"origin": "synthetic"} for entry in REAL]
    assert withheld_figures(synthetic, path) == set()


def test_one_no_among_several_ways_is_a_no(tmp_path):
    assert may_publish_images(table(tmp_path, a=["yes", "no"], b=["yes"])) == {
        "a": False,
        "b": True,
    }


def test_doubt_is_a_no(tmp_path):
    path = table(tmp_path, uiuc_texture=["yes"])
    # A data set without a row, and one that the run does not name.
    assert "cvpr2016_fig2" in withheld_figures(REAL, path)
    assert "cvpr2016_fig2" in withheld_figures([], path)


def test_an_unreadable_answer_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"line 2: publish_images is 'perhaps'"):
        may_publish_images(table(tmp_path, a=["perhaps"]))


def test_the_shipped_table_withholds_photographs(repository):
    table = repository / "resources/datasets.csv"
    # Motions may be shown: their terms permit it.
    assert withheld_figures(REAL, table) == {n for n, f in FIGURES.items() if f.pictures_of} - {
        "extra_motion_clusters"
    }


def test_class_means_stand_for_the_photographs_that_are_withheld(repository):
    withheld = withheld_figures(REAL, repository / "resources/datasets.csv")
    for figure in ("cvpr2016_fig1", "cvpr2016_fig2"):
        assert figure in withheld
        assert f"{figure}_means" in set(FIGURES) - withheld


def test_experiments_of_a_figure():
    assert experiments_of("cvpr2016_fig1") == ["textures"]
    with pytest.raises(ValueError, match="extra_unknown"):
        experiments_of("extra_unknown")
