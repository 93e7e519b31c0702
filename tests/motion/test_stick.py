"""Stick figures show the bones that they are given, where a person would expect them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from replication.motion.figures.stick import plot_stick_figures
from replication.report.style import save_figure

NOTE = {"title": "CMU motion capture", "origin": "synthetic", "coverage": "16 sequences"}
PARENTS = np.array([-1, 0, 0, 2])
SIDES = np.array([0, 1, -1, -1])
# Above the floor: the root, then a left hand, a right hand and its finger, all 0.3 m ahead.
POSE = np.array([[0, 1.0, 0], [0.2, 1.2, 0.3], [-0.2, 1.2, 0.3], [-0.2, 1.3, 0.3]])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def walking(n_frames=50):
    """The pose, carried along the room by 10 m."""
    return POSE + np.linspace(0, 10, n_frames)[:, np.newaxis, np.newaxis] * [0, 0, 1]


def segments(figure, row=0):
    return [s for c in figure.axes[row].collections for s in c.get_segments()]


def test_every_pose_has_every_bone_from_parent_to_joint():
    figure = plot_stick_figures({"walk": walking()}, PARENTS, SIDES, [NOTE], n_poses=5)
    found = segments(figure)
    assert len(found) == 5 * 3
    heights = {(round(start[1], 6), round(end[1], 6)) for start, end in found}
    assert heights == {(1.0, 1.2), (1.2, 1.3)}


def test_poses_stand_apart_however_far_one_walks_and_face_the_right():
    figure = plot_stick_figures({"walk": walking()}, PARENTS, SIDES, [NOTE], n_poses=5)
    roots = sorted({round(s[0][0], 6) for s in segments(figure) if np.isclose(s[0][1], 1.0)})
    assert len(roots) == 5
    np.testing.assert_allclose(np.diff(roots), np.diff(roots)[0])
    for start, end in segments(figure)[:2]:
        assert end[0] > start[0]


def test_from_the_side_depth_does_not_show():
    figure = plot_stick_figures({"a": POSE[np.newaxis]}, PARENTS, SIDES, [], azimuth=-90, n_poses=1)
    left, right, _ = segments(figure)
    np.testing.assert_allclose(left, right, atol=1e-12)
    np.testing.assert_allclose(left[1] - left[0], [0.3, 0.2], atol=1e-12)


def test_sides_have_their_colours():
    figure = plot_stick_figures({"walk": walking()}, PARENTS, SIDES, [NOTE], n_poses=1)
    left, right, finger = (to_hex(c) for c in figure.axes[0].collections[0].get_colors())
    assert right == finger != left


def test_each_motion_has_its_row_and_the_data_are_named(tmp_path):
    motions = {"walk": walking(), "sit": walking(3)}
    figure = plot_stick_figures(motions, PARENTS, SIDES, [NOTE])
    assert [axis.get_ylabel() for axis in figure.axes] == ["walk", "sit"]
    assert "SYNTHETIC DATA" in figure.get_supxlabel()
    save_figure(figure, [tmp_path / "a.svg"])
    save_figure(plot_stick_figures(motions, PARENTS, SIDES, [NOTE]), [tmp_path / "b.svg"])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("motions", "fault"),
    [
        ({}, "at least one motion"),
        ({"walk": walking()[:, :3]}, r"'walk' must have shape \(n_frames > 0, 4, 3\), got"),
        ({"walk": walking()[:0]}, "'walk' must have shape"),
    ],
)
def test_bad_input_is_named(motions, fault):
    with pytest.raises(ValueError, match=fault):
        plot_stick_figures(motions, PARENTS, SIDES, [NOTE])
