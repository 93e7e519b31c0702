"""The synthetic motions: reproducible and bodily possible."""

import numpy as np
import pytest

from replication.motion.asf_amc import read_amc, read_asf
from replication.motion.skeleton import forward_kinematics, pose, refer, rest_sides
from replication.standins.cmu_mocap import (
    CLASSES,
    FRAME_RATE_HZ,
    make_motion,
    make_skeleton,
    write_motions,
)

SEQUENCES_PER_CLASS = 4


@pytest.fixture(scope="module")
def positions():
    """World positions of some sequences a class, all of one subject: {class: [(T, 31, 3)]}."""
    skeleton = make_skeleton(0, 16)
    return {
        label: [
            forward_kinematics(skeleton, pose(skeleton, make_motion(0, label, i, 16, skeleton)))
            for i in range(SEQUENCES_PER_CLASS)
        ]
        for label in CLASSES
    }


JOINTS = make_skeleton(0, 16).joints
FEET = [JOINTS.index(name) for name in ("lfoot", "ltoes", "rfoot", "rtoes")]


def lowest_foot(positions):
    return positions[:, FEET, 1].min(axis=1)


def speed(positions):
    steps = np.diff(positions[:, 0][:, [0, 2]], axis=0)
    return np.linalg.norm(steps, axis=1).mean() * FRAME_RATE_HZ


def test_skeleton_has_the_joints_and_channels_of_cmu():
    skeleton = make_skeleton(3, 9)
    assert len(skeleton.joints) == 31
    assert len(skeleton.channels) == 62
    assert {bone.name for bone in skeleton.bones if not bone.dofs} == {"lhipjoint", "rhipjoint"}
    sides = dict(zip(skeleton.joints, rest_sides(skeleton), strict=True))
    assert sides["root"] == sides["head"] == 0
    assert sides["lfoot"] == sides["lhand"] == 1
    assert sides["rfoot"] == sides["rhand"] == -1


def test_bodies_are_of_human_size_and_differ():
    heights = []
    for subject in (9, 10, 14, 16, 35):
        skeleton = make_skeleton(0, subject)
        standing = np.zeros((1, 62))
        legs = {("lfemur", "rz"): -20.0, ("rfemur", "rz"): 20.0}
        for channel, value in legs.items():
            standing[0, skeleton.channels.index(channel)] = value
        y = forward_kinematics(skeleton, pose(skeleton, standing))[0, :, 1]
        heights.append(np.ptp(y))
    # To the middle of the head, so somewhat less than the stature.
    assert all(1.4 < height < 1.9 for height in heights)
    assert np.ptp(heights) > 0.02


def test_a_sequence_depends_on_seed_class_and_index_only():
    skeleton = make_skeleton(0, 16)
    again = make_motion(0, "jog", 2, 16, skeleton)
    make_motion(0, "run", 0, 16, skeleton)
    np.testing.assert_array_equal(make_motion(0, "jog", 2, 16, skeleton), again)
    for seed, label, index in ((1, "jog", 2), (0, "run", 2), (0, "jog", 3)):
        other = make_motion(seed, label, index, 16, skeleton)
        assert other.shape != again.shape or np.abs(other - again).max() > 1


def test_files_are_those_of_cmu_and_equal_for_equal_seeds(tmp_path):
    motions = [("walk 1", 0, "16_15", "16"), ("basket", 0, "06_02", "10")]
    write_motions(tmp_path / "a", 0, motions)
    write_motions(tmp_path / "b", 0, motions[::-1])
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.a*"))
    assert [file.as_posix() for file in files] == [
        "all_asfamc/subjects/06/06_02.amc",
        "all_asfamc/subjects/10/10.asf",
        "all_asfamc/subjects/16/16.asf",
        "all_asfamc/subjects/16/16_15.amc",
    ]
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    subjects = tmp_path / "a" / "all_asfamc" / "subjects"
    skeleton = read_asf(subjects / "10" / "10.asf")
    values = read_amc(subjects / "06" / "06_02.amc", skeleton)
    expected = make_motion(0, "basket", 0, 6, make_skeleton(0, 10))
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("label", CLASSES)
def test_feet_stand_on_the_floor(positions, label):
    for motion in positions[label]:
        low = lowest_foot(motion)
        assert low.min() > -0.06
        if label == "jump":
            assert low.max() > 0.12
        assert np.median(low) < 0.05


@pytest.mark.parametrize(
    ("label", "slowest", "fastest"),
    [
        ("walk 1", 0.8, 1.8),
        ("walk 2", 0.8, 1.8),
        ("run", 2.0, 4.5),
        ("jog", 2.0, 4.5),
        ("basket", 0.4, 1.5),
        ("soccer", 0.3, 1.5),
        ("jump", 0.0, 0.9),
        ("sit", 0.0, 0.5),
    ],
)
def test_speeds_are_those_of_people(positions, label, slowest, fastest):
    for motion in positions[label]:
        assert slowest < speed(motion) < fastest


@pytest.mark.parametrize("label", ["walk 1", "walk 2", "jog", "run"])
def test_gaits_go_forward(positions, label):
    """The way of a quarter of a second points where the body faces."""
    skeleton = make_skeleton(0, 16)
    for index, motion in enumerate(positions[label]):
        values = make_motion(0, label, index, 16, skeleton)
        heading = np.radians(values[:, skeleton.channels.index(("root", "ry"))])
        way = motion[30:, 0] - motion[:-30, 0]
        forward = way[:, 0] * np.sin(heading[15:-15]) + way[:, 2] * np.cos(heading[15:-15])
        assert (forward > 0.9 * np.linalg.norm(way[:, [0, 2]], axis=1)).all()


def test_only_sitting_brings_the_hips_low_for_long(positions):
    for label, motions in positions.items():
        for motion in motions:
            height = motion[:, 0, 1]
            low = (height < np.quantile(height, 0.8) - 0.25).mean()
            assert (low > 0.2) == (label == "sit")


def test_arms_swing_against_the_legs(positions):
    skeleton = make_skeleton(0, 16)
    for label in ("walk 1", "walk 2", "run", "jog"):
        values = make_motion(0, label, 0, 16, skeleton)
        body = forward_kinematics(skeleton, refer(pose(skeleton, values), "root_heading"))
        hand, foot = body[:, JOINTS.index("lhand"), 2], body[:, JOINTS.index("lfoot"), 2]
        assert np.corrcoef(hand, foot)[0, 1] < -0.5


@pytest.mark.parametrize("pair", [("run", "jog"), ("walk 1", "walk 2")])
def test_neighbouring_classes_overlap(positions, pair):
    """The reach of a foot is no border between them, as it is between walking and running."""

    def reaches(label):
        left = JOINTS.index("lfoot")
        return [np.ptp(np.linalg.norm(m[:, left] - m[:, 0], axis=1)) for m in positions[label]]

    first, second = map(reaches, pair)
    assert min(first) < max(second)
    assert min(second) < max(first)
