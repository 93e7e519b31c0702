"""Forward kinematics against geometry done by hand, and the invariances of the features."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from replication.motion.asf_amc import Bone, Motion, Skeleton
from replication.motion.skeleton import (
    Pose,
    feature_names,
    forward_kinematics,
    heading,
    mean_skeleton,
    motion_features,
    pose,
    resample,
    rest_height,
)

DOWN, FORWARD = (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)
STRAIGHT = (0.0, 0.0, 0.0)
REFERENCES = ("world", "horizontal", "root", "root_heading")


def leg(side):
    """One leg, its rest pose spread by 20 degrees about own axes, as in CMU's skeletons."""
    x = {"l": 1.0, "r": -1.0}[side]
    slope = (x * np.sin(np.radians(20)), -np.cos(np.radians(20)), 0.0)
    axis = (0.0, 0.0, x * 20.0)
    return [
        Bone(f"{side}hip", "root", (x, 0.0, 0.0), 1.0, STRAIGHT, ()),
        Bone(f"{side}thigh", f"{side}hip", slope, 4.0, axis, ("rx", "ry", "rz")),
        Bone(f"{side}shin", f"{side}thigh", slope, 4.0, axis, ("rx",)),
        Bone(f"{side}foot", f"{side}shin", FORWARD, 2.0, (-90.0, 0.0, x * 20.0), ("rx", "rz")),
    ]


WALKER = Skeleton((*leg("l"), *leg("r")), 0.45)
METRE = 1 / WALKER.metres_per_unit


def channels(skeleton, n_frames=1, **values):
    """Channel values that are zero except for ``joint_channel=value``."""
    array = np.zeros((n_frames, len(skeleton.channels)))
    for name, value in values.items():
        joint, _, channel = name.rpartition("_")
        array[:, skeleton.channels.index((joint, channel))] = value
    return array


def positions(skeleton, values):
    array = forward_kinematics(skeleton, pose(skeleton, values))
    return {name: array[:, j] for j, name in enumerate(skeleton.joints)}


def random_values(skeleton, n_frames, seed, degrees=60.0):
    """Smooth random angles, so that consecutive frames are neighbours."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 1, n_frames)[:, np.newaxis]
    n = len(skeleton.channels)
    return degrees * np.sin(2 * np.pi * (rng.random(n) * time + rng.random(n)))


def pendulum(axis=STRAIGHT, direction=DOWN, dofs=("rx", "ry", "rz")):
    """Two bones of 1 m that hang from the root."""
    upper = Bone("upper", "root", direction, METRE, axis, dofs)
    return Skeleton((upper, Bone("lower", "upper", direction, METRE, axis, dofs)), 0.45)


@pytest.mark.parametrize(
    ("values", "upper", "lower"),
    [
        ({}, (0, -1, 0), (0, -2, 0)),
        # A right-handed turn about x brings what hangs down backwards: y -> z, so -y -> -z.
        ({"upper_rx": 90}, (0, 0, -1), (0, 0, -2)),
        ({"upper_rx": -90}, (0, 0, 1), (0, 0, 2)),
        ({"lower_rx": -90}, (0, -1, 0), (0, -1, 1)),
        ({"upper_rx": -90, "lower_rx": 90}, (0, 0, 1), (0, -1, 1)),
        ({"upper_rz": 90}, (1, 0, 0), (2, 0, 0)),
        ({"upper_ry": 90}, (0, -1, 0), (0, -2, 0)),
        # Rx acts first, then Rz: forward, and a turn about z leaves z alone ...
        ({"upper_rx": -90, "upper_rz": 90}, (0, 0, 1), (0, 0, 2)),
        # ... while Ry turns forward to the left.
        ({"upper_rx": -90, "upper_ry": 90}, (1, 0, 0), (2, 0, 0)),
        # The child's axes turn along with its parent.
        ({"upper_ry": 90, "lower_rx": -90}, (0, -1, 0), (1, -1, 0)),
        ({"root_rz": 90}, (1, 0, 0), (2, 0, 0)),
        ({"root_tx": 3 * METRE, "root_ty": METRE}, (3, 0, 0), (3, -1, 0)),
    ],
)
def test_poses_computed_by_hand(values, upper, lower):
    skeleton = pendulum()
    found = positions(skeleton, channels(skeleton, **values))
    np.testing.assert_allclose(found["upper"][0], upper, atol=1e-12)
    np.testing.assert_allclose(found["lower"][0], lower, atol=1e-12)


def test_own_axes_turn_the_axis_of_rotation():
    """With axes turned by 90 degrees about z, the own x axis is the global y axis."""
    skeleton = pendulum(axis=(0.0, 0.0, 90.0), direction=FORWARD)
    found = positions(skeleton, channels(skeleton, upper_rx=90))
    np.testing.assert_allclose(found["upper"][0], (1, 0, 0), atol=1e-12)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_equal_to_products_of_rotation_matrices(seed):
    """G = G_parent C E C^-1 in matrices, frame by frame, with scipy's Euler angles."""
    values = random_values(WALKER, 3, seed, degrees=170)
    found = forward_kinematics(WALKER, pose(WALKER, values))
    for frame, row in zip(found, values, strict=True):
        angle = dict(zip(WALKER.channels, row, strict=True))
        turned = {"root": Rotation.from_euler("xyz", row[3:6], degrees=True).as_matrix()}
        end = {"root": row[:3] / METRE}
        for bone in WALKER.bones:
            own = [angle.get((bone.name, dof), 0.0) for dof in ("rx", "ry", "rz")]
            c = Rotation.from_euler("xyz", bone.axis, degrees=True).as_matrix()
            e = Rotation.from_euler("xyz", own, degrees=True).as_matrix()
            turned[bone.name] = turned[bone.parent] @ c @ e @ c.T
            offset = np.array(bone.direction) * bone.length / METRE
            end[bone.name] = end[bone.parent] + turned[bone.name] @ offset
        np.testing.assert_allclose(frame, [end[name] for name in WALKER.joints], atol=1e-12)


@pytest.mark.parametrize("rate", [120.0, 60.0, 47.0, 200.0])
def test_bone_lengths_are_constant(rate):
    motion = resample(pose(WALKER, random_values(WALKER, 50, 1, degrees=200)), 120.0, rate)
    found = forward_kinematics(WALKER, motion)
    for j, bone in enumerate(WALKER.bones, start=1):
        length = np.linalg.norm(found[:, j] - found[:, WALKER.parents[j]], axis=1)
        np.testing.assert_allclose(length, bone.length / METRE, rtol=0, atol=1e-9)


def test_mirrored_motion_of_a_symmetric_skeleton_is_mirrored():
    values = random_values(WALKER, 20, 2)
    mirrored = np.empty_like(values)
    swap = {"l": "r", "r": "l"}
    for column, (joint, channel) in enumerate(WALKER.channels):
        other = joint if joint == "root" else swap[joint[0]] + joint[1:]
        # A mirror at x = 0 turns tx and the rotations about y and z round.
        sign = -1 if channel in ("tx", "ry", "rz") else 1
        mirrored[:, WALKER.channels.index((other, channel))] = sign * values[:, column]
    found, image = positions(WALKER, values), positions(WALKER, mirrored)
    for joint in WALKER.joints:
        other = joint if joint == "root" else swap[joint[0]] + joint[1:]
        np.testing.assert_allclose(image[other], found[joint] * [-1, 1, 1], atol=1e-12)


def test_angle_that_jumps_by_a_full_turn_gives_no_jump():
    turning = np.arange(100.0, 500.0, 3.0)
    values = channels(WALKER, len(turning), lthigh_ry=turning)
    wrapped = channels(WALKER, len(turning), lthigh_ry=(turning + 180) % 360 - 180)
    a, b = pose(WALKER, values), pose(WALKER, wrapped)
    np.testing.assert_allclose(a.rotations, b.rotations, atol=1e-12)
    assert np.abs(np.diff(b.rotations, axis=0)).max() < np.radians(3)
    assert (b.rotations[0, :, 0] >= 0).all()


def test_resampling_to_the_same_rate_changes_nothing():
    motion = pose(WALKER, random_values(WALKER, 30, 3))
    same = resample(motion, 120.0, 120.0)
    np.testing.assert_allclose(same.translation, motion.translation, atol=1e-12)
    np.testing.assert_allclose(same.rotations, motion.rotations, atol=1e-12)


@pytest.mark.parametrize("n_frames", [1, 2, 30, 31, 32])
def test_resampling_to_a_third_keeps_every_third_frame(n_frames):
    motion = pose(WALKER, random_values(WALKER, n_frames, 4))
    third = resample(motion, 120.0, 40.0)
    np.testing.assert_allclose(third.rotations, motion.rotations[::3], atol=1e-12)
    np.testing.assert_allclose(third.translation, motion.translation[::3], atol=1e-12)


def test_resampled_frames_stand_at_their_times():
    time = np.arange(121) / 120
    values = channels(WALKER, 121)
    values[:, 0] = time * METRE
    values[:, WALKER.channels.index(("lshin", "rx"))] = 90 * time
    resampled = resample(pose(WALKER, values), 120.0, 50.0)
    new_time = np.arange(51) / 50
    np.testing.assert_allclose(resampled.translation[:, 0], new_time, atol=1e-12)
    half = 2 * np.arccos(resampled.rotations[:, WALKER.joints.index("lshin"), 0])
    np.testing.assert_allclose(np.degrees(half), 90 * new_time, atol=1e-3)


def test_one_frame_may_be_resampled_upwards():
    motion = pose(WALKER, random_values(WALKER, 1, 5))
    assert len(resample(motion, 60.0, 120.0).translation) == 1


def test_heading_is_the_turn_about_the_vertical():
    values = channels(WALKER, 7, root_rx=15.0, root_ry=np.linspace(-170, 170, 7))
    # Rx acts before Ry: a lean, then a turn.
    np.testing.assert_allclose(heading(pose(WALKER, values)), np.linspace(-170, 170, 7))


def turned_about_vertical(values, degrees):
    """Channels of the same motion done in a room that is turned."""
    turn = Rotation.from_euler("y", degrees, degrees=True)
    turned = values.copy()
    turned[:, :3] = turn.apply(values[:, :3])
    root = turn * Rotation.from_euler("xyz", values[:, 3:6], degrees=True)
    turned[:, 3:6] = root.as_euler("xyz", degrees=True)
    return turned


def moved_sideways(values, x, z):
    return values + np.eye(values.shape[1])[0] * x + np.eye(values.shape[1])[2] * z


def lifted(values, y):
    return values + np.eye(values.shape[1])[1] * y


@pytest.mark.parametrize("representation", ["positions", "quaternions"])
@pytest.mark.parametrize(
    ("change", "unseen_by"),
    [
        (lambda v: moved_sideways(v, 40.0, -3.0), {"horizontal", "root", "root_heading"}),
        (lambda v: lifted(v, 10.0), {"root", "root_heading"}),
        (lambda v: turned_about_vertical(v, 40.0), {"root_heading"}),
    ],
)
def test_each_reference_takes_away_what_it_says(change, unseen_by, representation):
    values = random_values(WALKER, 10, 6, degrees=40)
    for reference in REFERENCES:
        kwargs = {"representation": representation, "reference": reference}
        (before,) = motion_features([Motion(WALKER, values, 120.0)], **kwargs)
        (after,) = motion_features([Motion(WALKER, change(values), 120.0)], **kwargs)
        if reference in unseen_by:
            np.testing.assert_allclose(after, before, atol=1e-9)
        else:
            assert np.abs(after - before).max() > 0.01


def test_positions_are_those_of_forward_kinematics():
    values = random_values(WALKER, 10, 7)
    (world,) = motion_features([Motion(WALKER, values, 120.0)], reference="world")
    expected = forward_kinematics(WALKER, pose(WALKER, values))
    np.testing.assert_allclose(world, expected.reshape(10, -1), atol=1e-12)
    names = feature_names(WALKER, reference="world")
    np.testing.assert_allclose(
        world[:, names.index("rfoot_y")], expected[:, WALKER.joints.index("rfoot"), 1], atol=1e-12
    )


@pytest.mark.parametrize("representation", ["positions", "quaternions"])
@pytest.mark.parametrize("reference", REFERENCES)
def test_every_column_has_a_name_and_varies(representation, reference):
    motion = Motion(WALKER, random_values(WALKER, 50, 8), 120.0)
    kwargs = {"representation": representation, "reference": reference}
    (features,) = motion_features([motion], **kwargs)
    names = feature_names(WALKER, **kwargs)
    assert features.shape == (50, len(names))
    assert len(set(names)) == len(names)
    varies = dict(zip(names, features.std(axis=0) > 1e-6, strict=True))
    # Without heading, a rotation has no part about the vertical.
    still = {"root_qy"} if (representation, reference) == ("quaternions", "root_heading") else set()
    assert {name for name, v in varies.items() if not v} == still


def test_quaternions_are_of_unit_length():
    motion = Motion(WALKER, random_values(WALKER, 50, 9), 120.0)
    (features,) = motion_features([motion], representation="quaternions", frame_rate_hz=70.0)
    names = feature_names(WALKER, representation="quaternions")
    for joint in WALKER.joints:
        columns = [k for k, name in enumerate(names) if name.startswith(f"{joint}_q")]
        if columns:
            np.testing.assert_allclose((features[:, columns] ** 2).sum(axis=1), 1)


def scaled(skeleton, factor):
    return Skeleton(
        tuple(replace(bone, length=bone.length * factor) for bone in skeleton.bones),
        skeleton.length_unit,
    )


def test_one_skeleton_hides_who_moved():
    """Who is 20 % larger and moves alike gives equal features, unless each has its own skeleton."""
    values = random_values(WALKER, 10, 10)
    larger = values.copy()
    larger[:, :3] *= 1.2
    motions = [Motion(WALKER, values, 120.0), Motion(scaled(WALKER, 1.2), larger, 120.0)]
    a, b = motion_features(motions)
    np.testing.assert_allclose(a, b, atol=1e-12)
    a, b = motion_features(motions, common_skeleton=False)
    assert np.abs(a - b).max() > 0.05


def test_common_skeleton_counts_each_skeleton_once():
    motions = [
        Motion(skeleton, random_values(skeleton, 5, seed), 120.0)
        for seed, skeleton in enumerate([WALKER, WALKER, WALKER, scaled(WALKER, 3.0)])
    ]
    (features, *_) = motion_features(motions, reference="root")
    thigh = features[:, :3] - features[:, 3:6]
    mean_length = (4 + 12) / 2 / METRE
    np.testing.assert_allclose(np.linalg.norm(thigh, axis=1), mean_length)


def test_common_skeleton_of_one_is_itself():
    found = mean_skeleton([WALKER])
    np.testing.assert_allclose(
        [bone.direction for bone in found.bones], [bone.direction for bone in WALKER.bones]
    )
    assert [b.length for b in found.bones] == pytest.approx([b.length for b in WALKER.bones])


def test_common_skeleton_averages_metres_whatever_the_unit():
    inches = Skeleton(
        tuple(replace(bone, length=bone.length / 0.45) for bone in WALKER.bones), length_unit=1.0
    )
    assert rest_height(inches) == pytest.approx(rest_height(WALKER))
    assert rest_height(mean_skeleton([inches, WALKER])) == pytest.approx(rest_height(WALKER))


def changed_bone(**changes):
    return Skeleton((replace(WALKER.bones[0], **changes), *WALKER.bones[1:]), 0.45)


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        (Skeleton(WALKER.bones[:-1], 0.45), "rfoot"),
        (Skeleton((*leg("r"), *leg("l")), 0.45), "their order"),
        (changed_bone(dofs=("rx",)), "degrees of freedom of 'lhip'"),
        (changed_bone(axis=(0.0, 0.0, 1.0)), "axes of 'lhip'"),
    ],
)
def test_skeletons_of_other_structure_have_no_mean(other, fault):
    with pytest.raises(ValueError, match=fault):
        mean_skeleton([WALKER, other])


def test_standard_scaling_is_over_all_frames_of_all_motions():
    motions = [Motion(WALKER, random_values(WALKER, n, n), 120.0) for n in (10, 40)]
    frames = np.concatenate(motion_features(motions, scaling="standard"))
    np.testing.assert_allclose(frames.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(frames.std(axis=0), 1)
    still = [Motion(WALKER, channels(WALKER, 5), 120.0)]
    np.testing.assert_allclose(motion_features(still, scaling="standard")[0], 0, atol=1e-9)


def test_frame_rate_is_each_recording_s_own():
    """One motion recorded at 120 and at 60 Hz gives equal features."""
    values = random_values(WALKER, 41, 11)
    motions = [Motion(WALKER, values, 120.0), Motion(WALKER, values[::2], 60.0)]
    a, b = motion_features(motions, frame_rate_hz=30.0)
    np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize(
    ("kwargs", "fault"),
    [
        ({"representation": "angles"}, "representation must be one of positions, quaternions"),
        ({"reference": "hips"}, "reference must be one of world, horizontal, root, root_heading"),
        ({"scaling": "minmax"}, "scaling must be one of none, standard"),
        ({"frame_rate_hz": 0.0}, "frame rates must be positive"),
    ],
)
def test_unknown_choices_are_named(kwargs, fault):
    with pytest.raises(ValueError, match=fault):
        motion_features([Motion(WALKER, channels(WALKER), 120.0)], **kwargs)


def test_no_motion_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        motion_features([])


def test_wrong_shapes_are_errors():
    with pytest.raises(ValueError, match=r"\(n_frames, 18\), got \(5, 17\)"):
        pose(WALKER, np.zeros((5, 17)))
    with pytest.raises(ValueError, match="2 joints, the skeleton has 9"):
        forward_kinematics(WALKER, Pose(np.zeros((1, 3)), np.zeros((1, 2, 4))))
