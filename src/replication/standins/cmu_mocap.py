"""Synthetic motion capture in CMU's layout, for runs without the real data.

Written are ``all_asfamc/subjects/NN/NN.asf`` and ``NN_MM.amc`` for the sequences of
``resources/motions.tsv``, at 120 Hz. A body of 31 joints moves by angles of the joints over time:

- the gaits (walk 1, walk 2, jog, run, and the steps of basket and soccer) are oscillators: one
  phase drives all joints through periodic curves, left and right half a cycle apart;
- jump, sit, and the kick of soccer go through key poses;
- a sequence has its own speed, amplitude, phase, duration, heading and noise; a subject has its own
  body and posture, which all its sequences share, as in the real data.

The root's height puts the lowest foot on the floor. Neighbouring classes overlap on purpose: jog
and run, and the two walks, differ in the means of the same parameters by one or two standard
deviations.

A sequence depends on (seed, class, index) and its subject only, a subject on (seed, number).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.ndimage import gaussian_filter1d

from replication.arrays import Floats
from replication.motion.asf_amc import ROTATIONS, Bone, Skeleton
from replication.motion.cmu_mocap import CLASS_SIZES, DEGREES_OF_FREEDOM, listed_motions
from replication.motion.skeleton import forward_kinematics, pose
from replication.standins.asf_amc_writer import write_amc, write_asf

__all__ = ["FRAME_RATE_HZ", "make_motion", "make_skeleton", "write"]

FRAME_RATE_HZ = 120
_METRES_PER_UNIT = 0.0254 / 0.45
_CLASSES = tuple(CLASS_SIZES)
_Course = dict[str, Floats]
"""Over time: joint angles in degrees by anatomical name (and side: ``knee_l``), the speed forwards
(m/s), and the height of the lower foot above the floor (m). What is not named is zero."""
_Times = Sequence[float] | Floats

# Parent, direction, length as a part of the stature, axis about z in degrees. Those of a side are
# the left side's. In the rest pose legs are spread and arms stretched out, as in CMU's files.
_BONES = {
    "hipjoint": ("root", (0.63, -0.71, 0.3), 0.079, 0),
    "femur": ("hipjoint", (0.342, -0.94, 0), 0.235, 20),
    "tibia": ("femur", (0.342, -0.94, 0), 0.247, 20),
    "foot": ("tibia", (0.09, -0.4, 0.91), 0.085, 0),
    "toes": ("foot", (0, 0, 1), 0.036, 0),
    "lowerback": ("root", (0, 0.99, -0.12), 0.068, 0),
    "upperback": ("lowerback", (0, 1, 0), 0.068, 0),
    "thorax": ("upperback", (0, 1, 0.04), 0.07, 0),
    "lowerneck": ("thorax", (0, 0.99, 0.14), 0.05, 0),
    "upperneck": ("lowerneck", (0, 0.99, -0.13), 0.05, 0),
    "head": ("upperneck", (0, 1, -0.06), 0.054, 0),
    "clavicle": ("thorax", (0.95, 0.23, -0.2), 0.112, 0),
    "humerus": ("clavicle", (1, 0, 0), 0.166, 90),
    "radius": ("humerus", (1, 0, 0), 0.121, 90),
    "wrist": ("radius", (1, 0, 0), 0.061, 90),
    "hand": ("wrist", (1, 0, 0), 0.021, 90),
    "fingers": ("hand", (1, 0, 0), 0.017, 90),
    "thumb": ("wrist", (0.707, 0, 0.707), 0.024, 90),
}

# Flexion in degrees at 0, 10, ..., 90 % of the cycle, which begins when the foot strikes; forward
# swing of the thigh, bending of the knee and lifting of the foot are positive. The shape is that of
# published gait analyses.
_WALKING = {
    "hip": (24, 22, 14, 5, -4, -12, -8, 13, 26, 27),
    "knee": (5, 13, 13, 8, 6, 18, 44, 64, 48, 14),
    "ankle": (2, -4, 2, 6, 9, 4, -9, 3, 6, 4),
    "toes": (12, 0, 0, 0, 8, 28, 36, 22, 12, 12),
}
_RUNNING = {
    "hip": (30, 25, 14, 0, -12, -8, 12, 33, 43, 38),
    "knee": (18, 38, 42, 33, 31, 64, 98, 103, 68, 24),
    "ankle": (6, 18, 22, 8, -14, -12, -5, 0, 5, 7),
    "toes": (8, 0, 0, 12, 35, 20, 5, 0, 0, 5),
}


class _Gait(NamedTuple):
    """Means over sequences of what drives an oscillator."""

    curves: Mapping[str, tuple[int, ...]]
    cycles_per_second: float
    amplitude: float
    metres_per_cycle: float
    arm_swing: float  # degrees to each side
    elbow: float  # degrees, mean bend
    lean: float  # degrees forwards


_GAITS = {
    "walk 1": _Gait(_WALKING, 0.94, 1.0, 1.35, 9, 20, 4),
    "walk 2": _Gait(_WALKING, 0.88, 0.94, 1.3, 8, 17, 5),
    "run": _Gait(_RUNNING, 1.44, 1.04, 2.2, 20, 88, 17),
    "jog": _Gait(_RUNNING, 1.34, 0.93, 2.1, 17, 84, 15),
    "basket": _Gait(_WALKING, 0.95, 0.95, 1.0, 9, 35, 14),
    "soccer": _Gait(_RUNNING, 1.15, 0.85, 1.7, 24, 35, 12),
}

# Seconds that a sequence lasts: about what the real ones last, but half of it for sit.
_SECONDS = {
    **{"walk 1": (2.2, 4.0), "walk 2": (2.2, 3.2), "run": (1.1, 1.4), "jog": (1.1, 1.6)},
    **{"basket": (3.2, 5.5), "soccer": (3.2, 6.0), "jump": (2.6, 3.6), "sit": (8.0, 11.0)},
}


def make_skeleton(seed: int, subject: int) -> Skeleton:
    """Make the body of CMU's subject of a number: 31 joints, stature 1.6 to 1.9 m."""
    rng = _subject_rng(seed, subject)
    stature = rng.uniform(1.6, 1.9) / _METRES_PER_UNIT
    bones = []
    for name, dofs in DEGREES_OF_FREEDOM.items():
        side = "" if name in _BONES else name[0]
        parent, direction, part, about_z = _BONES[name.removeprefix(side)]
        mirror = -1.0 if side == "r" else 1.0
        x, y, z = (np.array(direction) / np.linalg.norm(direction)).tolist()
        bones.append(
            Bone(
                name=name,
                parent=side + parent if side + parent in DEGREES_OF_FREEDOM else parent,
                direction=(mirror * x, y, z),
                length=part * stature * rng.normal(1, 0.03),
                axis=(0.0, 0.0, mirror * about_z),
                dofs=dofs,
            )
        )
    return Skeleton(tuple(bones), 0.45)


def make_motion(seed: int, label: str, index: int, subject: int, skeleton: Skeleton) -> Floats:
    """Make sequence ``index`` (from 0) of a class, as a subject moves a skeleton.

    Returns
    -------
    ndarray of shape (n_frames, n_channels)
        Columns as ``skeleton.channels``, 120 frames a second.
    """
    rng = np.random.default_rng([seed, _CLASSES.index(label), index])
    time = np.arange(round(rng.uniform(*_SECONDS[label]) * FRAME_RATE_HZ)) / FRAME_RATE_HZ
    make = {"basket": _dribble, "soccer": _kick, "jump": _jump, "sit": _sit}.get(label, _walk)
    course = make(time, label, rng)
    values = _channel_values(skeleton, course, _subject_rng(seed, subject).spawn(1)[0])
    # Muscles are not exact (slow), and neither are marker measurements (fast).
    moved = np.flatnonzero([channel in ROTATIONS for _, channel in skeleton.channels])
    slow, fast = rng.normal(size=(2, len(time), len(moved)))
    slow = gaussian_filter1d(slow, 0.15 * FRAME_RATE_HZ, axis=0, mode="wrap")
    values[:, moved] += 1.2 * slow / slow.std() + 0.02 * fast
    # The lowest of heels, balls and toes stands on the floor.
    feet = [
        skeleton.joints.index(side + bone) for bone in ("tibia", "foot", "toes") for side in "lr"
    ]
    heights = forward_kinematics(skeleton, pose(skeleton, values))[:, feet, 1]
    lowest = (heights - [0.06, 0.06, 0, 0, 0, 0]).min(axis=1)
    height = gaussian_filter1d(course.get("lift", 0) - lowest, 3, mode="nearest")
    way = np.cumsum(course.get("speed", 0 * time)) / FRAME_RATE_HZ
    heading = rng.uniform(-180, 180)
    x, z = way * np.sin(np.radians(heading)), way * np.cos(np.radians(heading))
    values[:, :3] = np.stack([x, height, z], axis=1) / _METRES_PER_UNIT
    values[:, skeleton.channels.index(("root", "ry"))] += heading
    return values


def write(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    max_sequences_per_class: int = max(CLASS_SIZES.values()),
    n_jobs: int | None = None,
) -> None:
    """Write the stand-in; its seconds are not worth more than one process.

    Parameters
    ----------
    folder, seed, n_jobs
        See :mod:`replication.standins`.
    max_sequences_per_class : int, default 11
        Of the sequences of ``resources/motions.tsv``, the first so many of each class.
    """
    del n_jobs
    subjects = Path(folder) / "all_asfamc" / "subjects"
    counts: Counter[str] = Counter()
    bodies: dict[str, Skeleton] = {}
    for motion in listed_motions():
        index, owner = counts[motion.label], motion.skeleton
        counts[motion.label] += 1
        if index >= max_sequences_per_class:
            continue
        if owner not in bodies:
            bodies[owner] = make_skeleton(seed, int(owner))
            write_asf(subjects / owner / f"{owner}.asf", bodies[owner], "synthetic body")
        subject = motion.id.partition("_")[0]
        values = make_motion(seed, motion.label, index, int(subject), bodies[owner])
        path = subjects / subject / f"{motion.id}.amc"
        write_amc(path, bodies[owner], values, f"synthetic motion of {owner}.asf")


def _subject_rng(seed: int, subject: int) -> np.random.Generator:
    return np.random.default_rng([seed, len(_CLASSES), subject])


def _walk(time: Floats, label: str, rng: np.random.Generator) -> _Course:
    gait = _GAITS[label]
    # Who takes longer steps takes them faster: one factor moves both.
    effort, *own = rng.normal(size=3)
    rate, amplitude = (
        mean * (1 + 0.07 * (0.6 * effort + 0.8 * noise))
        for mean, noise in zip((gait.cycles_per_second, gait.amplitude), own, strict=True)
    )
    cycle = rng.random() + rate * time
    swing, elbow = gait.arm_swing * amplitude * rng.normal(1, 0.15), gait.elbow + rng.normal(0, 6)
    course = {
        "twist": -9 * amplitude * np.cos(2 * np.pi * cycle),
        "lean": np.full_like(time, gait.lean + rng.normal(0, 2)),
        "speed": np.full_like(time, gait.metres_per_cycle * amplitude * rate),
    }
    for side, phase in (("r", cycle), ("l", cycle + 0.5)):
        for joint, values in gait.curves.items():
            curve = CubicSpline(np.linspace(0, 1, 11), [*values, values[0]], bc_type="periodic")
            course[f"{joint}_{side}"] = amplitude * curve(phase % 1)
        # The arm swings back while the leg of its side swings forward.
        forward = -np.cos(2 * np.pi * phase)
        course[f"shoulder_{side}"] = swing * (forward + 0.15)
        course[f"elbow_{side}"] = elbow + 0.35 * swing * forward
    return course


def _dribble(time: Floats, label: str, rng: np.random.Generator) -> _Course:
    """Walk forward bent over the ball, which one hand keeps beating down."""
    course = _walk(time, label, rng)
    beat = np.sin(2 * np.pi * (rng.normal(1.85, 0.12) * time + rng.random()))
    for joint, bent in (("hip", 12), ("knee", 22), ("ankle", 10)):
        for side in "lr":
            course[f"{joint}_{side}"] += bent
    return course | {"shoulder_r": 22 + 10 * beat, "elbow_r": 62 - 26 * beat}


def _kick(time: Floats, label: str, rng: np.random.Generator) -> _Course:
    """Wait, run up, kick with the right foot, and come to rest."""
    kick = rng.uniform(0.15, 0.3) * time[-1] + rng.uniform(0.8, 1.2)
    running = _through(time, [kick - 1.25, kick - 0.9, kick - 0.4, kick - 0.25], (0, 1, 1, 0))
    course = {name: running * values for name, values in _walk(time, label, rng).items()}
    # Back-swing, contact and follow-through.
    times = kick + np.array([-0.45, -0.22, -0.10, 0, 0.16, 0.45])
    poses = {
        "hip_r": (0, -28, -18, 22, 62, 0),
        "knee_r": (0, 72, 92, 40, 18, 0),
        "hip_l": (0, 14, 8, 2, -8, 0),
        "knee_l": (0, 14, 13, 12, 8, 0),
        "shoulder_l": (0, 10, 25, 45, 55, 0),
        "shoulder_r": (0, 20, 10, -30, -45, 0),
        "twist": (0, -18, -10, 8, 20, 0),
    }
    for name, values in poses.items():
        course[name] += rng.normal(1, 0.1) * _through(time, times, values)
    return course


def _jump(time: Floats, label: str, rng: np.random.Generator) -> _Course:
    """Stand, crouch with the arms back, jump up with the arms, land, stand."""
    del label
    flight = rng.uniform(0.36, 0.55)  # seconds
    take_off = rng.uniform(0.4, 0.55) * (time[-1] - flight)
    since = np.array([-0.85, -0.28, 0, flight / 2, flight, flight + 0.26, flight + 0.9])
    poses = {
        "hip": (4, 62, 4, 14, 24, 56, 4),
        "knee": (6, 74, 8, 24, 32, 68, 6),
        "ankle": (2, 24, -32, -28, -6, 23, 2),
        "shoulder": (0, -12, 30, 42, 28, 8, 0),
        "elbow": (12, 30, 45, 50, 45, 35, 12),
        "lean": (2, 36, 6, 4, 14, 30, 2),
    }
    in_air = np.clip(time - take_off, 0, flight)
    course = _both_sides(time, take_off + since, poses, rng.normal(1, 0.08))
    return course | {"lift": 9.81 / 2 * in_air * (flight - in_air)}


def _sit(time: Floats, label: str, rng: np.random.Generator) -> _Course:
    """Sit down on a stool and stand up, twice; seated, swing a leg."""
    del label
    times: list[float] = []
    for start, end in ((0.04, 0.47), (0.53, 0.96)):
        down, up = start * time[-1] + rng.uniform(0, 0.5), end * time[-1] - rng.uniform(0, 0.5)
        times += [down, down + 0.65, down + 1.3, up - 1.2, up - 0.6, up]
    # The trunk comes forward halfway down and halfway up.
    poses = {
        "hip": (3, 45, 88, 88, 45, 3) * 2,
        "knee": (5, 45, 84, 84, 45, 5) * 2,
        "shoulder": (0, 26, 24, 24, 26, 0) * 2,
        "elbow": (12, 36, 60, 60, 36, 12) * 2,
        "lean": (3, 43, 15, 15, 43, 3) * 2,
    }
    course = _both_sides(time, times, poses, rng.normal(1, 0.05))
    seated = _through(time, times, (0, 0, 1, 1, 0, 0) * 2)
    swing = np.sin(2 * np.pi * (rng.normal(0.9, 0.1) * time + rng.random()))
    course["knee_l"] -= seated * (22 + 16 * swing)
    return course


def _through(time: Floats, times: _Times, values: Sequence[float]) -> Floats:
    """Curve through key values without overshoot, constant before and after."""
    return np.asarray(PchipInterpolator(times, values)(np.clip(time, times[0], times[-1])))


def _both_sides(
    time: Floats, times: _Times, poses: Mapping[str, tuple[int, ...]], scale: float
) -> _Course:
    """Key poses that left and right share."""
    course: _Course = {}
    for name, values in poses.items():
        for sided in [name] if name == "lean" else [f"{name}_l", f"{name}_r"]:
            course[sided] = scale * _through(time, times, values)
    return course


def _channel_values(skeleton: Skeleton, course: _Course, rng: np.random.Generator) -> Floats:
    """Angles of all channels; ``rng`` says how the subject holds itself whatever it does."""
    zero = np.zeros(len(next(iter(course.values()))))
    own_lean, own_head, own_arms, own_elbow, toes_out = rng.normal(
        [0, 0, 10, 0, 6], [2, 3, 2, 5, 3]
    )

    def angle(name: str) -> Floats:
        return course.get(name, zero)

    lean = angle("lean") + own_lean
    columns = {("root", "rx"): 0.15 * lean, ("root", "ry"): -0.5 * angle("twist")}
    for bone in ("lowerback", "upperback", "thorax"):
        columns |= {(bone, "rx"): 0.85 * lean / 3, (bone, "ry"): angle("twist") / 3}
    for bone in ("lowerneck", "upperneck", "head"):
        # One looks ahead however the trunk leans.
        columns |= {(bone, "rx"): (own_head - 0.6 * lean) / 3, (bone, "ry"): -angle("twist") / 6}
    for side, mirror in (("l", 1), ("r", -1)):
        columns |= {
            # The trunk leans with the pelvis; thighs keep their angle to the vertical.
            (f"{side}femur", "rx"): -angle(f"hip_{side}") - 0.15 * lean,
            (f"{side}femur", "ry"): zero + mirror * toes_out,
            (f"{side}femur", "rz"): zero - mirror * 19,
            (f"{side}tibia", "rx"): angle(f"knee_{side}"),
            (f"{side}foot", "rx"): -angle(f"ankle_{side}"),
            (f"{side}toes", "rx"): -angle(f"toes_{side}"),
            (f"{side}humerus", "rx"): -angle(f"shoulder_{side}"),
            (f"{side}humerus", "rz"): zero + mirror * (own_arms - 90),
            (f"{side}radius", "rx"): -np.clip(angle(f"elbow_{side}") + own_elbow, 3, 145),
            (f"{side}fingers", "rx"): zero - 12,
        }
    values = np.zeros((len(zero), len(skeleton.channels)))
    for channel, column in columns.items():
        values[:, skeleton.channels.index(channel)] = column
    return values
