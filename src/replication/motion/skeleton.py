r"""Joint positions and joint rotations of a moving skeleton, as sequences of feature vectors.

With :math:`E(x, y, z) = R_z R_y R_x` (angles in degrees), a bone with axes :math:`C = E(axis)` and
rotations :math:`\theta` turns by

.. math:: L = C \, E(\theta) \, C^{-1}, \qquad G = G_{parent} \, L, \qquad
          end = start + G \, (direction \cdot length),

where the root has :math:`G = E(rx, ry, rz)` and stands at its translation. All of it is done on
unit quaternions (w, x, y, z), for all frames at once. The vertical axis is y, as in CMU's files.

Two things in these features depend on who moves rather than on how:

- the bones' lengths. By default all motions drive one common skeleton, the mean of those that
  take part, and translations are scaled by the ratio of the roots' heights in the rest pose, so
  that feet stay on the floor and long legs do not show in the height of the root;
- the place in the room and the direction of walking. What of them is taken away is the
  ``reference``: ``world`` nothing; ``horizontal`` (default) the root's x and z in each frame;
  ``root`` its whole translation; ``root_heading`` also its rotation about the vertical axis.

Columns that are zero by construction (the root's own position where it is the origin, the
quaternion parts of a hinge that it cannot have) are left out: in a Gaussian their variance would
be whatever floor the estimator sets, and the likelihood would report that floor. With 31 joints
the positions have 93, 91, 90 and 90 dimensions for the four references.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from replication.arrays import Floats, Indices
from replication.motion.asf_amc import ROOT, ROTATIONS, Bone, Motion, Skeleton

__all__ = [
    "Pose",
    "Reference",
    "Representation",
    "Scaling",
    "feature_names",
    "forward_kinematics",
    "heading",
    "mean_skeleton",
    "motion_features",
    "pose",
    "refer",
    "resample",
    "rest_height",
    "rest_sides",
    "standardised",
]

Representation = Literal["positions", "quaternions"]
Reference = Literal["world", "horizontal", "root", "root_heading"]
Scaling = Literal["none", "standard"]

# Angles of different subjects' files mean the same only about the same axes.
_AXIS_TOLERANCE_DEGREES = 1e-6
# A column that varies less than this (m, or parts of a unit quaternion) is left unscaled.
_CONSTANT = 1e-9
# The spine of a real skeleton wavers about the middle by less than this (m).
_MIDDLE = 0.03


@dataclass(frozen=True)
class Pose:
    r"""A motion without the skeleton's sizes.

    Parameters
    ----------
    translation : ndarray of shape (n_frames, 3)
        Position of the root in metres.
    rotations : ndarray of shape (n_frames, n_joints, 4)
        Unit quaternions (w, x, y, z) of each joint about its own axes, :math:`E(\theta)`. Of the
        two signs, the first frame has w >= 0 and later ones follow without a jump.
    """

    translation: Floats
    rotations: Floats


def pose(skeleton: Skeleton, values: Floats) -> Pose:
    """Turn the channels of an AMC file into rotations and a translation in metres.

    Parameters
    ----------
    skeleton : Skeleton
        With J joints.
    values : ndarray of shape (n_frames, n_channels)
        Columns as ``skeleton.channels``; degrees, and the skeleton's unit of length.

    Returns
    -------
    Pose

    Raises
    ------
    ValueError
        If ``values`` has another number of columns.
    """
    if values.ndim != 2 or values.shape[1] != len(skeleton.channels):
        raise ValueError(
            f"values must have shape (n_frames, {len(skeleton.channels)}), got {values.shape}"
        )
    joint_of = {name: j for j, name in enumerate(skeleton.joints)}
    angles = np.zeros((len(values), len(skeleton.joints), 3))
    translation = np.zeros((len(values), 3))
    for column, (joint, channel) in enumerate(skeleton.channels):
        if channel in ROTATIONS:
            angles[:, joint_of[joint], ROTATIONS.index(channel)] = values[:, column]
        else:
            translation[:, "xyz".index(channel[1])] = values[:, column]
    return Pose(
        translation=translation * skeleton.metres_per_unit,
        rotations=_continuous(_from_euler(angles)),
    )


def forward_kinematics(skeleton: Skeleton, motion: Pose) -> Floats:
    """Compute where the joints are.

    Parameters
    ----------
    skeleton : Skeleton
        With J joints; gives the lengths, which need not be those of who moved.
    motion : Pose
        Its rotations have J joints.

    Returns
    -------
    ndarray of shape (n_frames, J, 3)
        Positions in metres: the root, then the end of each bone; axes as in the file, y upwards.

    Raises
    ------
    ValueError
        If the pose has another number of joints.
    """
    n_joints = len(skeleton.joints)
    if motion.rotations.shape[1] != n_joints:
        raise ValueError(
            f"motion has {motion.rotations.shape[1]} joints, the skeleton has {n_joints}"
        )
    positions = np.empty((len(motion.translation), n_joints, 3))
    positions[:, 0] = motion.translation
    turned = [motion.rotations[:, 0]]
    for j, bone in enumerate(skeleton.bones, start=1):
        parent = skeleton.parents[j]
        axes = _from_euler(np.array(bone.axis))
        local = _multiply(_multiply(axes, motion.rotations[:, j]), _conjugate(axes))
        turned.append(_multiply(turned[parent], local))
        offset = np.array(bone.direction) * (bone.length * skeleton.metres_per_unit)
        positions[:, j] = positions[:, parent] + _rotate(turned[j], offset)
    return positions


def resample(motion: Pose, rate_hz: float, new_rate_hz: float) -> Pose:
    """Change the frame rate.

    New frames are at 0, 1/new_rate, ... up to the time of the last one. Translations between two
    frames are linear, rotations are normalised linear mixtures of quaternions; so bones keep
    their lengths. There is no low-pass filter: movement faster than half the new rate would alias.

    Parameters
    ----------
    motion : Pose
    rate_hz, new_rate_hz : float
        Frames a second before and after.

    Returns
    -------
    Pose

    Raises
    ------
    ValueError
        If a rate is not positive.
    """
    if not (rate_hz > 0 and new_rate_hz > 0):
        raise ValueError(f"frame rates must be positive, got {rate_hz} and {new_rate_hz} Hz")
    n_frames = len(motion.translation)
    # The tolerance keeps the last frame where the division does not come out even.
    n_new = int(np.floor((n_frames - 1) * new_rate_hz / rate_hz + 1e-9)) + 1
    time = np.minimum(np.arange(n_new) * (rate_hz / new_rate_hz), n_frames - 1)
    before = np.minimum(time.astype(np.intp), max(n_frames - 2, 0))
    after = np.minimum(before + 1, n_frames - 1)
    part = (time - before)[:, np.newaxis]

    def mixed(values: Floats, part: Floats) -> Floats:
        return (1 - part) * values[before] + part * values[after]

    rotations = mixed(motion.rotations, part[:, :, np.newaxis])
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    return Pose(mixed(motion.translation, part), rotations)


def heading(motion: Pose) -> Floats:
    """Angle of the root's rotation about the vertical axis.

    The root's quaternion is a turn about y after one about a horizontal axis; this is the first
    one's angle, 2 atan2(y, w). It exists unless the root stands on its head.

    Returns
    -------
    ndarray of shape (n_frames,)
        Degrees.
    """
    root = motion.rotations[:, 0]
    return np.degrees(2 * np.arctan2(root[:, 2], root[:, 0]))


def refer(motion: Pose, reference: Reference) -> Pose:
    """Take away what the reference takes away from the root; see the head of this module."""
    translation = np.zeros_like(motion.translation)
    kept = _kept_root_columns(reference)
    translation[:, kept] = motion.translation[:, kept]
    if reference != "root_heading":
        return Pose(translation, motion.rotations)
    half = np.radians(heading(motion)) / 2
    zero = np.zeros_like(half)
    back = np.stack([np.cos(half), zero, -np.sin(half), zero], axis=-1)
    rotations = motion.rotations.copy()
    rotations[:, 0] = _continuous(_multiply(back, rotations[:, 0]))
    return Pose(translation, rotations)


def rest_sides(skeleton: Skeleton) -> Indices:
    """Side of each joint in the rest pose: 1 left (x > 0), -1 right, 0 the middle line."""
    still = np.zeros((1, len(skeleton.channels)))
    x = forward_kinematics(skeleton, pose(skeleton, still))[0, :, 0]
    return np.where(np.abs(x) < _MIDDLE, 0, np.sign(x)).astype(np.intp)


def rest_height(skeleton: Skeleton) -> float:
    """Height of the root above the lowest joint in the rest pose, metres."""
    still = np.zeros((1, len(skeleton.channels)))
    return -float(forward_kinematics(skeleton, pose(skeleton, still))[0, :, 1].min())


def mean_skeleton(skeletons: Sequence[Skeleton]) -> Skeleton:
    """Average skeletons of one structure: mean direction and mean length of each bone.

    Parameters
    ----------
    skeletons : sequence of Skeleton
        Each subject's once.

    Returns
    -------
    Skeleton
        In the first one's unit of length.

    Raises
    ------
    ValueError
        If there is none, or joints, degrees of freedom or axes differ.
    """
    if not skeletons:
        raise ValueError("skeletons must hold at least one skeleton")
    first = skeletons[0]
    for other in skeletons[1:]:
        _check_same_structure(first, other)
    bones = []
    for versions in zip(*(skeleton.bones for skeleton in skeletons), strict=True):
        metres = [
            bone.length * skeleton.metres_per_unit
            for bone, skeleton in zip(versions, skeletons, strict=True)
        ]
        direction = np.mean([bone.direction for bone in versions], axis=0)
        x, y, z = (direction / np.linalg.norm(direction)).tolist()
        length = float(np.mean(metres)) / first.metres_per_unit
        bones.append(replace(versions[0], direction=(x, y, z), length=length))
    return Skeleton(tuple(bones), first.length_unit)


def _check_same_structure(first: Skeleton, other: Skeleton) -> None:
    if first.joints != other.joints:
        differing = sorted(set(first.joints) ^ set(other.joints)) or ["their order"]
        raise ValueError(f"skeletons differ in their joints: {', '.join(differing)}")
    for a, b in zip(first.bones, other.bones, strict=True):
        _check_same_bone(a, b)


def _check_same_bone(a: Bone, b: Bone) -> None:
    if (a.parent, a.dofs) != (b.parent, b.dofs):
        raise ValueError(f"skeletons differ in the parent or the degrees of freedom of {a.name!r}")
    if not np.allclose(a.axis, b.axis, rtol=0, atol=_AXIS_TOLERANCE_DEGREES):
        raise ValueError(f"skeletons differ in the axes of {a.name!r}: {a.axis}, {b.axis}")


def motion_features(
    motions: Sequence[Motion],
    *,
    representation: Representation = "positions",
    reference: Reference = "horizontal",
    common_skeleton: bool = True,
    frame_rate_hz: float = 120.0,
    scaling: Scaling = "none",
) -> list[Floats]:
    """Turn recorded motions into sequences of feature vectors.

    Parameters
    ----------
    motions : sequence of Motion
        With their own skeletons and frame rates.
    representation : {"positions", "quaternions"}
        Joint positions in metres, or the root's position in metres and the joints' rotations
        about their own axes as unit quaternions.
    reference : {"world", "horizontal", "root", "root_heading"}
        What of the root's motion is kept; see the head of this module.
    common_skeleton : bool
        Whether all motions move the mean of all skeletons that take part, or each its own.
    frame_rate_hz : float
        Frames a second of the result.
    scaling : {"none", "standard"}
        ``standard`` divides each column by its standard deviation over all frames of all motions
        after taking off the mean.

    Returns
    -------
    list of ndarray of shape (n_frames_i, n_features)
        In the order of ``motions``; columns as :func:`feature_names`.

    Raises
    ------
    ValueError
        If a choice is unknown, there is no motion, or the skeletons have different structures.
    """
    for name, choice, choices in (
        ("representation", representation, get_args(Representation)),
        ("reference", reference, get_args(Reference)),
        ("scaling", scaling, get_args(Scaling)),
    ):
        if choice not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}; got {choice!r}")
    # The subjects' skeletons count once each, however many sequences they have.
    mean = mean_skeleton(list(dict.fromkeys(motion.skeleton for motion in motions)))
    sequences = []
    for motion in motions:
        moved = resample(pose(motion.skeleton, motion.values), motion.frame_rate_hz, frame_rate_hz)
        skeleton = motion.skeleton
        if common_skeleton:
            ratio = rest_height(mean) / rest_height(skeleton)
            moved = Pose(moved.translation * ratio, moved.rotations)
            skeleton = mean
        moved = refer(moved, reference)
        root = moved.translation[:, _kept_root_columns(reference)]
        if representation == "positions":
            ends = forward_kinematics(skeleton, moved)[:, 1:]
            rest = ends.reshape(len(ends), -1)
        else:
            rest = _quaternion_features(skeleton, moved)
        sequences.append(np.concatenate([root, rest], axis=1))
    return standardised(sequences) if scaling == "standard" else sequences


def feature_names(
    skeleton: Skeleton,
    *,
    representation: Representation = "positions",
    reference: Reference = "horizontal",
) -> list[str]:
    """Name the columns of :func:`motion_features`, such as ``lfoot_y`` or ``ltibia_qw``."""
    root = [f"{ROOT}_{'xyz'[k]}" for k in _kept_root_columns(reference)]
    if representation == "positions":
        return root + [f"{bone.name}_{axis}" for bone in skeleton.bones for axis in "xyz"]
    return root + [
        f"{skeleton.joints[j]}_q{'wxyz'[part]}" for j, part in _quaternion_columns(skeleton)
    ]


def _kept_root_columns(reference: Reference) -> list[int]:
    return {"world": [0, 1, 2], "horizontal": [1], "root": [], "root_heading": []}[reference]


def _quaternion_features(skeleton: Skeleton, motion: Pose) -> Floats:
    return np.stack([motion.rotations[:, j, k] for j, k in _quaternion_columns(skeleton)], axis=1)


def _quaternion_columns(skeleton: Skeleton) -> list[tuple[int, int]]:
    """Joint and quaternion part of each column that can differ from zero."""
    columns = [(0, part) for part in range(4)]
    for j, bone in enumerate(skeleton.bones, start=1):
        if len(bone.dofs) == 1:
            columns += [(j, 0), (j, 1 + ROTATIONS.index(bone.dofs[0]))]
        elif bone.dofs:
            columns += [(j, part) for part in range(4)]
    return columns


def standardised(sequences: list[Floats]) -> list[Floats]:
    """Give each column the mean 0 and the standard deviation 1 over all frames of all sequences."""
    frames = np.concatenate(sequences)
    mean, deviation = frames.mean(axis=0), frames.std(axis=0)
    deviation[deviation < _CONSTANT] = 1.0
    return [(sequence - mean) / deviation for sequence in sequences]


def _from_euler(degrees: Floats) -> Floats:
    """Quaternions of E(x, y, z) = Rz Ry Rx, shape (..., 3) to (..., 4)."""
    half = np.radians(degrees) / 2
    (cx, cy, cz), (sx, sy, sz) = (np.moveaxis(f(half), -1, 0) for f in (np.cos, np.sin))
    return np.stack(
        [
            cx * cy * cz + sx * sy * sz,
            sx * cy * cz - cx * sy * sz,
            cx * sy * cz + sx * cy * sz,
            cx * cy * sz - sx * sy * cz,
        ],
        axis=-1,
    )


def _continuous(rotations: Floats) -> Floats:
    """Choose the signs of quaternions (n_frames, ..., 4): first w >= 0, then without a jump."""
    steps = np.einsum("t...q,t...q->t...", rotations[1:], rotations[:-1])
    first = np.where(rotations[:1, ..., 0] < 0, -1.0, 1.0)
    signs = np.cumprod(np.concatenate([first, np.where(steps < 0, -1.0, 1.0)]), axis=0)
    return rotations * signs[..., np.newaxis]


def _conjugate(q: Floats) -> Floats:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def _multiply(a: Floats, b: Floats) -> Floats:
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def _rotate(q: Floats, v: Floats) -> Floats:
    """Turn vectors (..., 3) by unit quaternions (..., 4)."""
    axis = q[..., 1:]
    across = 2 * np.cross(axis, v)
    return v + q[..., :1] * across + np.cross(axis, across)
