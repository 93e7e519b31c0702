"""The synthetic motions: reproducible, bodily possible, and different."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import LeaveOneOut, cross_val_score

from replication.motion.asf_amc import read_amc, read_asf
from replication.motion.cmu_mocap import CLASS_SIZES, listed_motions
from replication.motion.skeleton import forward_kinematics, heading, pose, refer, rest_sides
from replication.standins.cmu_mocap import FRAME_RATE_HZ, make_motion, make_skeleton, write

CLASSES = tuple(CLASS_SIZES)
SKELETON = make_skeleton(0, 16)
FEET = [SKELETON.joints.index(name) for name in ("lfoot", "ltoes", "rfoot", "rtoes")]
SPEEDS = {
    **dict.fromkeys(("walk 1", "walk 2"), (0.8, 1.8)),
    **dict.fromkeys(("run", "jog"), (2.0, 4.5)),
    **{"basket": (0.4, 1.5), "soccer": (0.1, 1.5), "jump": (0, 0.01), "sit": (0, 0.01)},
}


@pytest.fixture(scope="module")
def poses():
    """Some sequences a class, all of one subject."""
    return {
        label: [pose(SKELETON, make_motion(0, label, i, 16, SKELETON)) for i in range(4)]
        for label in CLASSES
    }


@pytest.fixture(scope="module")
def positions(poses):
    return {k: [forward_kinematics(SKELETON, motion) for motion in v] for k, v in poses.items()}


def test_skeletons_have_the_joints_of_cmu_and_human_but_own_sizes():
    assert (len(SKELETON.joints), len(SKELETON.channels)) == (31, 62)
    sides = dict(zip(SKELETON.joints, rest_sides(SKELETON), strict=True))
    assert [sides[name] for name in ("root", "head", "lfoot", "rhand")] == [0, 0, 1, -1]
    heights = []
    for subject in (9, 10, 14, 16, 35):
        skeleton = make_skeleton(0, subject)
        still = np.zeros((1, len(skeleton.channels)))
        heights.append(np.ptp(forward_kinematics(skeleton, pose(skeleton, still))[0, :, 1]))
    # To the middle of the head, and with spread legs.
    assert all(1.35 < height < 1.9 for height in heights)
    assert np.ptp(heights) > 0.02


def test_a_sequence_depends_on_seed_class_and_index_only():
    again = make_motion(0, "jog", 2, 16, SKELETON)
    np.testing.assert_array_equal(make_motion(0, "jog", 2, 16, SKELETON), again)
    for seed, label, index in ((1, "jog", 2), (0, "run", 2), (0, "jog", 3)):
        other = make_motion(seed, label, index, 16, SKELETON)
        assert other.shape != again.shape or np.abs(other - again).max() > 1


def test_files_are_read_back_and_do_not_depend_on_how_many_are_made(tmp_path):
    for most in (1, 2):
        write(tmp_path / str(most), max_sequences_per_class=most)
    names = [path.relative_to(tmp_path / "1") for path in (tmp_path / "1").rglob("*.a*")]
    assert sum(name.suffix == ".amc" for name in names) == len(CLASSES)
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    borrowed = next(m for m in listed_motions() if not m.id.startswith(m.skeleton))
    subjects = tmp_path / "1" / "all_asfamc" / "subjects"
    owner, subject = borrowed.skeleton, borrowed.id[:2]
    skeleton = read_asf(subjects / owner / f"{owner}.asf")
    values = read_amc(subjects / subject / f"{borrowed.id}.amc", skeleton)
    made = make_skeleton(0, int(owner))
    expected = make_motion(0, borrowed.label, 0, int(subject), made)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-4)
    assert skeleton.joints == made.joints


@pytest.mark.parametrize("label", CLASSES)
def test_feet_stand_on_the_floor_and_speeds_are_those_of_people(positions, label):
    slowest, fastest = SPEEDS[label]
    for motion in positions[label]:
        low = motion[:, FEET, 1].min(axis=1)
        assert low.min() > -0.06
        assert (low.max() > 0.12) == (label == "jump")
        assert np.median(low) < 0.05
        steps = np.diff(motion[:, 0][:, [0, 2]], axis=0)
        assert slowest <= np.linalg.norm(steps, axis=1).mean() * FRAME_RATE_HZ < fastest


@pytest.mark.parametrize("label", ["walk 1", "walk 2", "jog", "run", "basket"])
def test_gaits_go_forward_with_arms_against_legs(poses, positions, label):
    """The way of a quarter of a second points where the body faces."""
    hand, foot = (SKELETON.joints.index(name) for name in ("lhand", "lfoot"))
    for motion, places in zip(poses[label], positions[label], strict=True):
        own = forward_kinematics(SKELETON, refer(motion, "root_heading"))
        assert np.corrcoef(own[:, hand, 2], own[:, foot, 2])[0, 1] < -0.5
        way, faced = places[30:, 0] - places[:-30, 0], np.radians(heading(motion)[15:-15])
        forward = way[:, 0] * np.sin(faced) + way[:, 2] * np.cos(faced)
        assert (forward > 0.9 * np.linalg.norm(way[:, [0, 2]], axis=1)).all()


def test_only_sitting_brings_the_hips_low_for_long(positions):
    for label, motions in positions.items():
        for motion in motions:
            height = motion[:, 0, 1]
            low = (height < np.quantile(height, 0.8) - 0.25).mean()
            assert (low > 0.2) == (label == "sit")


def test_classes_can_be_told_apart_but_for_neighbours(poses):
    """Means and deviations of joints tell most classes; run is taken for jog, or walk for walk."""
    bodies = [
        (label, forward_kinematics(SKELETON, refer(motion, "root_heading")).reshape(-1, 93))
        for label, motions in poses.items()
        for motion in motions
    ]
    labels = np.array([label for label, _ in bodies])
    seen = np.array([np.r_[body.mean(axis=0), body.std(axis=0)] for _, body in bodies])
    machine = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)

    def accuracy(known):
        return cross_val_score(machine, seen, known, cv=LeaveOneOut()).mean()

    merged = np.array([{"jog": "run", "walk 2": "walk 1"}.get(k, k) for k in labels])
    assert 0.6 < accuracy(labels) < 1
    assert accuracy(merged) > 0.9
