"""Synthetic motion capture in CMU's layout, for runs without the real data.

Written are ``all_asfamc/subjects/NN/NN.asf`` and ``NN_MM.amc`` for the sequences of
``resources/motions.tsv``: 56 sequences of eight classes at 120 Hz. A body of 31 joints moves by
angles of the joints over time:

- the gaits (walk 1, walk 2, jog, run, and the steps of basket and soccer) are oscillators. One
  phase drives all joints through periodic curves with the shape of published gait analyses; left
  and right are half a cycle apart, arms swing against the legs;
- jump, sit, and the kick of soccer go through key poses;
- a sequence has its own speed, amplitude, phase, duration, heading and noise; a subject has its own
  body and posture, which all its sequences share, as in the real data.

The root follows from the body: its height puts the lowest foot on the floor (plus the height of
flight), and it moves as the supporting foot is pushed backwards. Neighbouring classes overlap on
purpose: jog and run, and the two walks, differ in the means of the same parameters by one or two
standard deviations.

Every number of a sequence comes from
``SeedSequence([seed, class, index])`` and every number of a subject from
``SeedSequence([seed, 8, subject])``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.ndimage import gaussian_filter1d

from replication.motion.asf_amc import Bone, Skeleton
from replication.motion.cmu_mocap import CLASS_SIZES, listed_motions
from replication.motion.skeleton import forward_kinematics, pose
from replication.standins.asf_amc_writer import write_amc, write_asf

__all__ = [
    "CLASSES",
    "FRAME_RATE_HZ",
    "make_motion",
    "make_skeleton",
    "write",
    "write_motions",
]

Array = npt.NDArray[np.float64]

FRAME_RATE_HZ = 120.0
LENGTH_UNIT = 0.45
METRES_PER_UNIT = 0.0254 / LENGTH_UNIT
GRAVITY = 9.81  # m/s^2

# The legs of the rest pose are spread and the arms stretched out sideways, as in CMU's files;
# these angles (degrees) bring them down.
_LEG_SPREAD = 20.0
_ARM_SPREAD = 90.0

# Bone, parent, direction, length as a part of the stature, axis about z, degrees of freedom. The
# left side is mirrored from it. Lengths follow the usual tables of body segments.
_MIDDLE = (
    ("lowerback", "root", (0.0, 0.99, -0.12), 0.068, 0.0, ("rx", "ry", "rz")),
    ("upperback", "lowerback", (0.0, 1.0, 0.0), 0.068, 0.0, ("rx", "ry", "rz")),
    ("thorax", "upperback", (0.0, 0.999, 0.04), 0.070, 0.0, ("rx", "ry", "rz")),
    ("lowerneck", "thorax", (0.0, 0.99, 0.14), 0.050, 0.0, ("rx", "ry", "rz")),
    ("upperneck", "lowerneck", (0.0, 0.99, -0.13), 0.050, 0.0, ("rx", "ry", "rz")),
    ("head", "upperneck", (0.0, 0.998, -0.06), 0.054, 0.0, ("rx", "ry", "rz")),
)
_LEG = (
    ("hipjoint", "root", (0.63, -0.71, 0.3), 0.079, 0.0, ()),
    ("femur", "hipjoint", (0.342, -0.94, 0.0), 0.235, _LEG_SPREAD, ("rx", "ry", "rz")),
    ("tibia", "femur", (0.342, -0.94, 0.0), 0.247, _LEG_SPREAD, ("rx",)),
    ("foot", "tibia", (0.09, -0.40, 0.91), 0.085, 0.0, ("rx", "rz")),
    ("toes", "foot", (0.0, 0.0, 1.0), 0.036, 0.0, ("rx",)),
)
_ARM = (
    ("clavicle", "thorax", (0.95, 0.23, -0.2), 0.112, 0.0, ("ry", "rz")),
    ("humerus", "clavicle", (1.0, 0.0, 0.0), 0.166, _ARM_SPREAD, ("rx", "ry", "rz")),
    ("radius", "humerus", (1.0, 0.0, 0.0), 0.121, _ARM_SPREAD, ("rx",)),
    ("wrist", "radius", (1.0, 0.0, 0.0), 0.061, _ARM_SPREAD, ("ry",)),
    ("hand", "wrist", (1.0, 0.0, 0.0), 0.021, _ARM_SPREAD, ("rx", "rz")),
    ("fingers", "hand", (1.0, 0.0, 0.0), 0.017, _ARM_SPREAD, ("rx",)),
    ("thumb", "wrist", (0.707, 0.0, 0.707), 0.024, _ARM_SPREAD, ("rx", "rz")),
)
_FEET = ("ltibia", "lfoot", "ltoes", "rtibia", "rfoot", "rtoes")

# Flexion in degrees at 0, 10, ..., 90 % of the cycle, which begins when the foot strikes; forward
# swing of the thigh, bending of the knee and lifting of the foot are positive.
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
# Part of the cycle after which a foot leaves the floor. In running both are then in the air until
# half of the cycle, when the other one strikes.
_WALKING_STANCE = 0.62
_RUNNING_STANCE = 0.36


@dataclass(frozen=True)
class _Gait:
    """Means over sequences of what drives an oscillator, and how much sequences differ."""

    curves: Mapping[str, tuple[int, ...]]
    cycles_per_second: float
    amplitude: float
    arm_swing: float  # degrees to each side
    elbow: float  # degrees, mean bend
    lean: float  # degrees forwards
    spread: float = 0.07  # standard deviation of speed and amplitude, as a part of the mean


_GAITS = {
    "walk 1": _Gait(_WALKING, 0.94, 1.0, 9.0, 20.0, 4.0),
    "walk 2": _Gait(_WALKING, 0.88, 0.94, 8.0, 17.0, 5.0),
    "run": _Gait(_RUNNING, 1.44, 1.04, 20.0, 88.0, 17.0),
    "jog": _Gait(_RUNNING, 1.34, 0.93, 17.0, 84.0, 15.0),
    "basket": _Gait(_WALKING, 0.95, 0.95, 9.0, 35.0, 14.0),
    "soccer": _Gait(_RUNNING, 1.15, 0.85, 24.0, 35.0, 12.0),
}

# Seconds that a sequence lasts: about what the real ones last, but half of it for sit.
_SECONDS = {
    "walk 1": (2.2, 4.0),
    "walk 2": (2.2, 3.2),
    "run": (1.1, 1.4),
    "jog": (1.1, 1.6),
    "basket": (3.2, 5.5),
    "soccer": (3.2, 6.0),
    "jump": (2.6, 3.6),
    "sit": (8.0, 11.0),
}


@dataclass
class _Course:
    """Joint angles over time by their anatomical names, and the root's freedom.

    ``angles`` maps a name and a side (``knee_l``) or a name of the middle (``lean``) to degrees,
    each of shape (n_frames,); what is not named is zero. ``lift`` is the height of the lower foot
    above the floor in metres, ``swinging`` how far the right and the left foot (0 to 1) swing
    freely: just over the floor, but bearing nothing.
    """

    time: Array
    angles: dict[str, Array]
    lift: Array
    swinging: Array


def make_skeleton(seed: int, subject: int) -> Skeleton:
    """Make a subject's body.

    Parameters
    ----------
    seed : int
        The run's seed.
    subject : int
        CMU's number of the subject.

    Returns
    -------
    Skeleton
        31 joints with CMU's names and degrees of freedom; stature 1.6 to 1.9 m, each bone up to a
        few percent off its usual part of it.
    """
    rng = _subject_rng(seed, subject)
    stature = rng.uniform(1.6, 1.9) / METRES_PER_UNIT
    bones: list[Bone] = []
    for side in ("l", "r"):
        bones += _limb(_LEG, side, stature, rng.normal(1, 0.03, len(_LEG)))
    bones += _limb(_MIDDLE, "", stature, rng.normal(1, 0.03, len(_MIDDLE)))
    for side in ("l", "r"):
        bones += _limb(_ARM, side, stature, rng.normal(1, 0.03, len(_ARM)))
    return Skeleton(tuple(bones), LENGTH_UNIT)


def _limb(
    parts: Iterable[tuple[str, str, tuple[float, float, float], float, float, tuple[str, ...]]],
    side: str,
    stature: float,
    factors: Array,
) -> list[Bone]:
    mirror = -1.0 if side == "r" else 1.0
    own = {name for name, *_ in parts}
    bones = []
    for (name, parent, direction, part, about_z, dofs), factor in zip(parts, factors, strict=True):
        x, y, z = np.array(direction) / np.linalg.norm(direction)
        bones.append(
            Bone(
                name=side + name,
                parent=side + parent if parent in own else parent,
                direction=(mirror * float(x), float(y), float(z)),
                length=float(part * stature * factor),
                axis=(0.0, 0.0, mirror * about_z),
                dofs=dofs,
            )
        )
    return bones


def make_motion(
    seed: int, label: str, index: int, subject: int, skeleton: Skeleton
) -> npt.NDArray[np.float64]:
    """Make one sequence.

    Parameters
    ----------
    seed : int
        The run's seed.
    label : str
        One of ``CLASSES``.
    index : int
        Place of the sequence within its class, from 0.
    subject : int
        CMU's number of the subject, which gives the posture.
    skeleton : Skeleton
        The body that it moves, from :func:`make_skeleton`.

    Returns
    -------
    ndarray of shape (n_frames, n_channels)
        Columns as ``skeleton.channels``, 120 frames a second.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, CLASSES.index(label), index]))
    duration = rng.uniform(*_SECONDS[label])
    time = np.arange(round(duration * FRAME_RATE_HZ)) / FRAME_RATE_HZ
    course = _COURSES[label](time, label, rng)
    values = _channel_values(skeleton, course, _posture(seed, subject))
    # Muscles are not exact (slow), and neither are marker measurements (fast).
    moved = np.flatnonzero([channel.startswith("r") for _, channel in skeleton.channels])
    sigma = 0.15 * FRAME_RATE_HZ
    slow = gaussian_filter1d(rng.normal(size=(len(time), len(moved))), sigma, axis=0, mode="wrap")
    # Filtering white noise with a Gaussian leaves this variance: 1.2 degrees remain.
    values[:, moved] += 1.2 * np.sqrt(2 * np.sqrt(np.pi) * sigma) * slow
    values[:, moved] += rng.normal(0, 0.02, (len(time), len(moved)))
    x, height, z = _root_path(skeleton, values, course).T / METRES_PER_UNIT
    heading = rng.uniform(-180, 180)
    cos, sin = np.cos(np.radians(heading)), np.sin(np.radians(heading))
    values[:, :3] = np.stack([x * cos + z * sin, height, z * cos - x * sin], axis=1)
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
    folder : path-like
        Where CMU's folders are made.
    seed : int, default 0
        Non-negative seed of everything random.
    max_sequences_per_class : int, default 11
        Of the sequences of ``resources/motions.tsv``, the first so many of each class.
    n_jobs : int, optional
        Not used.
    """
    del n_jobs
    counts: Counter[str] = Counter()
    chosen = []
    for motion in listed_motions():
        index = counts[motion.label]
        counts[motion.label] += 1
        if index < max_sequences_per_class:
            chosen.append((motion.label, index, motion.id, motion.skeleton))
    write_motions(Path(folder), seed, chosen)


def write_motions(folder: Path, seed: int, motions: Iterable[tuple[str, int, str, str]]) -> None:
    """Write sequences and their subjects' skeletons in CMU's layout.

    Parameters
    ----------
    folder : Path
        Gets ``all_asfamc/subjects/NN/NN.asf`` and ``NN_MM.amc``.
    seed : int
        The run's seed.
    motions : iterable of (label, index, sequence, skeleton)
        Class, place within the class, CMU's name ``NN_MM``, and the subject ``NN`` whose skeleton
        the sequence moves.
    """
    subjects = folder / "all_asfamc" / "subjects"
    bodies: dict[str, Skeleton] = {}
    for label, index, sequence, owner in motions:
        if owner not in bodies:
            bodies[owner] = make_skeleton(seed, int(owner))
            write_asf(subjects / owner / f"{owner}.asf", bodies[owner], "synthetic body")
        subject = sequence.partition("_")[0]
        values = make_motion(seed, label, index, int(subject), bodies[owner])
        path = subjects / subject / f"{sequence}.amc"
        write_amc(path, bodies[owner], values, f"synthetic motion of {owner}.asf")


def _subject_rng(seed: int, subject: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, len(CLASSES), subject]))


def _posture(seed: int, subject: int) -> dict[str, float]:
    """How a subject holds itself whatever it does, degrees."""
    # Spawned, so that the body does not depend on how many numbers the posture takes.
    rng = _subject_rng(seed, subject).spawn(1)[0]
    usual = {
        "lean": (0, 2),
        "head": (0, 3),
        "arms_out": (10, 2),
        "elbow": (0, 5),
        "toes_out": (6, 3),
    }
    return {name: rng.normal(*moments) for name, moments in usual.items()}


def _walk(
    time: Array, label: str, rng: np.random.Generator, left_strikes_at: float | None = None
) -> _Course:
    gait = _GAITS[label]
    # Who takes longer steps takes them faster: one factor moves both.
    effort, *own = rng.normal(size=3)
    rate = gait.cycles_per_second * (1 + gait.spread * (0.6 * effort + 0.8 * own[0]))
    amplitude = gait.amplitude * (1 + gait.spread * (0.6 * effort + 0.8 * own[1]))
    phase = rng.random() + rate * time
    if left_strikes_at is not None:
        phase += 0.5 - np.interp(left_strikes_at, time, phase)
    angles = _gait_angles(gait, phase, amplitude, rng)
    lift = np.zeros_like(time)
    stance = _WALKING_STANCE
    if gait.curves is _RUNNING:
        stance = _RUNNING_STANCE
        # Each half cycle ends with a flight, over which the body falls freely.
        half = phase % 0.5 - _RUNNING_STANCE
        airborne = 0.5 - _RUNNING_STANCE
        lift = np.where(half > 0, GRAVITY / 2 * half * (airborne - half) / rate**2, 0.0)
    swinging = np.stack([_step(own % 1, stance, 0.05) for own in (phase, phase + 0.5)], axis=1)
    return _Course(time, angles, lift, swinging)


def _dribble(time: Array, label: str, rng: np.random.Generator) -> _Course:
    """Walk forward bent over the ball, which one hand keeps beating down."""
    course = _walk(time, label, rng)
    beat = np.sin(2 * np.pi * (rng.normal(1.85, 0.12) * time + rng.random()))
    for side in "lr":
        for joint, bent in (("hip", 12), ("knee", 22), ("ankle", 10)):
            course.angles[f"{joint}_{side}"] += bent
    course.angles |= {"shoulder_r": 22 + 10 * beat, "elbow_r": 62 - 26 * beat}
    return course


def _kick(time: Array, label: str, rng: np.random.Generator) -> _Course:
    """Wait, run up, kick with the right foot, and come to rest."""
    kick = rng.uniform(0.15, 0.3) * time[-1] + rng.uniform(0.8, 1.2)
    # The left foot is put down beside the ball before the right one swings.
    course = _walk(time, label, rng, left_strikes_at=kick - 0.4)
    running = _step(time, kick - 1.0, 0.4) * (1 - _step(time, kick - 0.4, 0.2))
    for name in course.angles:
        if name != "lean":
            course.angles[name] *= running
    course.lift *= running > 0.9
    kicking = _step(time, kick - 0.45, 0.1) - _step(time, kick + 0.45, 0.1)
    course.swinging *= running[:, np.newaxis]
    course.swinging[:, 0] += kicking
    # Seconds from the kick, and the poses of back-swing, contact, follow-through.
    times = kick + np.array([-0.45, -0.22, -0.10, 0.0, 0.16, 0.45])
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
        course.angles[name] += rng.normal(1, 0.1) * _through(time, times, values)
    return course


def _jump(time: Array, label: str, rng: np.random.Generator) -> _Course:
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
    }
    depth = rng.normal(1, 0.08)
    angles = {
        f"{name}_{side}": depth * _through(time, take_off + since, values)
        for name, values in poses.items()
        for side in "lr"
    }
    angles["lean"] = depth * _through(time, take_off + since, (2, 36, 6, 4, 14, 30, 2))
    in_air = np.clip(time - take_off, 0, flight)
    lift = GRAVITY / 2 * in_air * (flight - in_air)
    return _Course(time, angles, lift, np.zeros((len(time), 2)))


def _sit(time: Array, label: str, rng: np.random.Generator) -> _Course:
    """Sit down on a stool and stand up, twice; seated, swing a leg."""
    del label
    seat = rng.normal(88, 4)
    seated, bent = np.zeros_like(time), np.zeros_like(time)
    for start, end in ((0.04, 0.47), (0.53, 0.96)):
        down, up = start * time[-1] + rng.uniform(0, 0.5), end * time[-1] - rng.uniform(0, 0.5)
        seated += _step(time, down, 1.3) - _step(time, up - 1.2, 1.2)
        # The trunk comes forward halfway down and halfway up.
        for half in (down + 0.65, up - 0.6):
            bent += np.exp(-(((time - half) / 0.45) ** 2))
    angles = {"lean": 3 + 34 * bent + 12 * seated}
    for side in "lr":
        angles[f"hip_{side}"] = 3 + (seat - 3) * seated
        angles[f"knee_{side}"] = 5 + (seat - 9) * seated
        angles[f"shoulder_{side}"] = 24 * seated + 14 * bent
        angles[f"elbow_{side}"] = 12 + 48 * seated
    swing = np.sin(2 * np.pi * (rng.normal(0.9, 0.1) * time + rng.random()))
    angles["knee_l"] -= seated**4 * (22 + 16 * swing)
    return _Course(time, angles, np.zeros_like(time), np.zeros((len(time), 2)))


_COURSES: dict[str, Callable[[Array, str, np.random.Generator], _Course]] = {
    "walk 1": _walk,
    "jump": _jump,
    "run": _walk,
    "jog": _walk,
    "basket": _dribble,
    "soccer": _kick,
    "walk 2": _walk,
    "sit": _sit,
}
CLASSES = tuple(_COURSES)


def _gait_angles(
    gait: _Gait, phase: Array, amplitude: float, rng: np.random.Generator
) -> dict[str, Array]:
    angles: dict[str, Array] = {}
    swing = gait.arm_swing * amplitude * rng.normal(1, 0.15)
    elbow = gait.elbow + rng.normal(0, 6)
    for side, offset in (("r", 0.0), ("l", 0.5)):
        own = phase + offset
        for joint, curve in gait.curves.items():
            angles[f"{joint}_{side}"] = amplitude * _periodic(curve, own)
        # The arm swings back while the leg of its side swings forward.
        forward = -np.cos(2 * np.pi * own)
        angles[f"shoulder_{side}"] = swing * (forward + 0.15)
        angles[f"elbow_{side}"] = elbow + 0.35 * swing * forward
    angles["yaw"] = 5 * amplitude * np.cos(2 * np.pi * phase)
    angles["twist"] = -1.8 * angles["yaw"]
    angles["list"] = 1.5 * amplitude * np.sin(2 * np.pi * phase)
    angles["lean"] = np.full_like(phase, gait.lean + rng.normal(0, 2))
    return angles


def _periodic(curve: tuple[int, ...], phase: Array) -> Array:
    closed = np.array([*curve, curve[0]], dtype=np.float64)
    spline = CubicSpline(np.linspace(0, 1, len(closed)), closed, bc_type="periodic")
    return np.asarray(spline(phase % 1.0))


def _through(time: Array, times: Array, values: tuple[int, ...]) -> Array:
    """Curve through key values without overshoot, constant before and after."""
    curve = PchipInterpolator(times, values)
    return np.asarray(curve(np.clip(time, times[0], times[-1])))


def _step(time: Array, start: float, seconds: float) -> Array:
    """Smooth rise from 0 to 1."""
    x = np.clip((time - start) / seconds, 0, 1)
    return np.asarray(x * x * x * (10 + x * (6 * x - 15)))


def _channel_values(skeleton: Skeleton, course: _Course, posture: dict[str, float]) -> Array:
    zero = np.zeros_like(course.time)

    def angle(name: str) -> Array:
        return course.angles.get(name, zero)

    lean = angle("lean") + posture["lean"]
    columns: dict[tuple[str, str], Array] = {
        ("root", "ry"): angle("yaw"),
        ("root", "rz"): angle("list"),
        ("root", "rx"): 0.15 * lean,
    }
    for bone in ("lowerback", "upperback", "thorax"):
        columns[bone, "rx"] = 0.85 * lean / 3
        columns[bone, "ry"] = angle("twist") / 3
        columns[bone, "rz"] = -angle("list") / 3
    for bone in ("lowerneck", "upperneck", "head"):
        # One looks ahead however the trunk leans.
        columns[bone, "rx"] = (posture["head"] - 0.6 * lean) / 3
        columns[bone, "ry"] = -angle("twist") / 4
    for side, mirror in (("l", 1.0), ("r", -1.0)):
        # The trunk leans with the pelvis; thighs keep their angle to the vertical.
        columns[f"{side}femur", "rx"] = -angle(f"hip_{side}") - 0.15 * lean
        columns[f"{side}femur", "ry"] = mirror * posture["toes_out"] + zero
        columns[f"{side}femur", "rz"] = zero + mirror * (1 - _LEG_SPREAD)
        columns[f"{side}tibia", "rx"] = angle(f"knee_{side}")
        columns[f"{side}foot", "rx"] = -angle(f"ankle_{side}")
        columns[f"{side}toes", "rx"] = -angle(f"toes_{side}")
        columns[f"{side}humerus", "rx"] = -angle(f"shoulder_{side}")
        columns[f"{side}humerus", "rz"] = zero + mirror * (posture["arms_out"] - _ARM_SPREAD)
        columns[f"{side}radius", "rx"] = -np.clip(angle(f"elbow_{side}") + posture["elbow"], 3, 145)
        columns[f"{side}fingers", "rx"] = zero - 12
    values = np.zeros((len(course.time), len(skeleton.channels)))
    for channel, column in columns.items():
        values[:, skeleton.channels.index(channel)] = column
    return values


def _root_path(skeleton: Skeleton, values: Array, course: _Course) -> Array:
    """Where the root must be for the feet to stand on the floor, metres, with heading zero."""
    feet = [skeleton.joints.index(name) for name in _FEET]
    points = forward_kinematics(skeleton, pose(skeleton, values))[:, feet]
    # The heel is below the ankle by what the foot slopes down to its ball.
    foot = next(bone for bone in skeleton.bones if bone.name == "lfoot")
    heights = points[..., 1].copy()
    heights[:, [0, 3]] += foot.direction[1] * foot.length * skeleton.metres_per_unit
    seconds = 0.025 * FRAME_RATE_HZ
    height = gaussian_filter1d(course.lift - heights.min(axis=1), seconds, mode="nearest")
    # The lower a point the more it bears; within centimetres, so that steps blend.
    heights += 0.1 * course.swinging[:, [1, 1, 1, 0, 0, 0]]
    bearing = np.exp(-(heights - heights.min(axis=1, keepdims=True)) / 0.006)
    bearing /= bearing.sum(axis=1, keepdims=True)
    velocity = -np.gradient(points, course.time, axis=0)[..., [0, 2]]
    pushed = np.einsum("tp,tpk->tk", bearing, velocity)
    pushed = gaussian_filter1d(pushed, 0.06 * FRAME_RATE_HZ, axis=0, mode="nearest")
    x, z = np.cumsum(pushed, axis=0).T / FRAME_RATE_HZ
    return np.stack([x, height, z], axis=1)
