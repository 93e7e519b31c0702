"""What the reader of Acclaim files promises: valid files in any layout, errors with a line."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replication.motion.asf_amc import (
    Bone,
    MotionFileError,
    Skeleton,
    read_amc,
    read_asf,
)
from replication.standins.asf_amc_writer import write_amc, write_asf

ASF = """\
# made for a test
:version 1.10
:name VICON
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
   any text (even this)
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name hip
     direction 0 -1 0
     length 2.5
     axis 0 0 0  XYZ
  end
  begin
     id 2
     name thigh
     direction 0.6 -0.8 0
     length 7
     axis 0 0 20  XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 70.0)
  end
  begin
     id 3
     name shin
     direction 0 -1 0
     length 7.78223
     axis 0 7.62852e-016 20  XYZ
    dof rx
  end
:hierarchy
  begin
    root hip
    hip thigh
    thigh shin
  end
"""

AMC = """\
#!OML:ASF F:\\VICON\\USER DATA\\my skeleton.ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 10 20 30
shin -1.16413e-014
thigh 4 5 6
2
root 1.5 2 3 10 20 30
shin 7
thigh 4 5 .6
"""


@pytest.fixture
def skeleton(tmp_path):
    (tmp_path / "a.asf").write_text(ASF)
    return read_asf(tmp_path / "a.asf")


def read_asf_text(tmp_path, text):
    path = tmp_path / "bad.asf"
    path.write_bytes(text.encode("latin-1"))
    return read_asf(path)


def read_amc_text(tmp_path, skeleton, text):
    path = tmp_path / "bad.amc"
    path.write_bytes(text.encode("latin-1"))
    return read_amc(path, skeleton)


def line_of(text, part):
    return next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "10 20 30\nshin -1",
            "10 20 3601\nshin -1",
            r"rz of 'root' is 3601 in frame 0 from 0, beyond",
        ),
        ("shin 7", "shin 1e308", r"rx of 'shin' is 1e\+308 in frame 1 from 0, beyond 3600"),
        ("root 1.5 2 3", "root 1.5 -2e6 3", r"ty of 'root' is -2e\+06"),
    ],
)
def test_numbers_beyond_belief(tmp_path, skeleton, old, new, fault):
    assert old in AMC
    with pytest.raises(MotionFileError, match=fault):
        read_amc_text(tmp_path, skeleton, AMC.replace(old, new))


def test_radians_that_are_called_degrees(tmp_path, skeleton):
    values = read_amc_text(tmp_path, skeleton, AMC)
    values[:, 3:] = np.radians(values[:, 3:])
    write_amc(tmp_path / "a.amc", skeleton, values, "radians")
    with pytest.raises(MotionFileError, match=r"no rotation is beyond 0\.524: radians"):
        read_amc(tmp_path / "a.amc", skeleton)


@pytest.mark.parametrize(
    ("old", "new"), [("length 7\n", "length 1e300\n"), ("length 0.45", "length 1e9")]
)
def test_skeletons_of_no_human_size(tmp_path, old, new):
    assert old in ASF
    with pytest.raises(MotionFileError, match=r"all bones together are .* metres long"):
        read_asf_text(tmp_path, ASF.replace(old, new, 1))


def test_skeleton_holds_what_the_file_says(skeleton):
    assert skeleton.joints == ("root", "hip", "thigh", "shin")
    np.testing.assert_array_equal(skeleton.parents, [-1, 0, 1, 2])
    thigh = skeleton.bones[1]
    assert thigh == Bone(
        "thigh", "hip", (0.6, -0.8, 0.0), 7.0, (0.0, 0.0, 20.0), ("rx", "ry", "rz")
    )
    assert skeleton.bones[0].dofs == ()
    assert [c for c in skeleton.channels if c[0] != "root"] == [
        ("thigh", "rx"),
        ("thigh", "ry"),
        ("thigh", "rz"),
        ("shin", "rx"),
    ]
    # 0.45 units an inch, 0.0254 m an inch.
    assert skeleton.metres_per_unit * 0.45 == pytest.approx(0.0254)


def test_values_are_found_by_name(tmp_path, skeleton):
    values = read_amc_text(tmp_path, skeleton, AMC)
    np.testing.assert_array_equal(
        values,
        [
            [1, 2, 3, 10, 20, 30, 4, 5, 6, -1.16413e-14],
            [1.5, 2, 3, 10, 20, 30, 4, 5, 0.6, 7],
        ],
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="windows line ends"),
        pytest.param(lambda text: text.replace("shin ", "shin \t "), id="tabs"),
        pytest.param(lambda text: text.replace("\nroot", "\n\n  root"), id="blank lines, indents"),
        pytest.param(lambda text: text.replace("2\nroot", "2\n# here\nroot"), id="comment inside"),
        pytest.param(lambda text: text.replace("\n", "  \n"), id="blanks at line ends"),
        pytest.param(lambda text: text.rstrip("\n"), id="no line end at the end"),
        pytest.param(
            lambda text: text.replace("\n1\n", "\n7\n").replace("\n2\n", "\n8\n"), id="7,8"
        ),
        pytest.param(lambda text: text.replace(":FULLY-SPECIFIED\n:DEGREES\n", ""), id="no header"),
        pytest.param(
            lambda text: text.replace("my skeleton", "måx – 1".encode().decode("latin-1")),
            id="path",
        ),
        pytest.param(
            lambda text: re.sub(
                r"(?s)(2\n)(root[^\n]*\n)(shin[^\n]*\n)(thigh.*)", r"\1\4\3\2", text
            ),
            id="another order in one frame",
        ),
    ],
)
def test_layout_does_not_matter(tmp_path, skeleton, change):
    changed = change(AMC)
    assert changed != AMC
    np.testing.assert_array_equal(
        read_amc_text(tmp_path, skeleton, changed), read_amc_text(tmp_path, skeleton, AMC)
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "fault"),
    [
        ("thigh 4 5 .6\n", "", 8, "frame 2 lacks 'thigh'"),
        ("shin -1.16413e-014\n", "", 4, "frame 1 lacks 'shin'"),
        ("thigh 4 5 6", "thigh 4 5", 7, "'thigh' has 2 values, expected 3"),
        ("thigh 4 5 6", "thigh 4 5 6 7", 7, "'thigh' has 4 values, expected 3"),
        ("thigh 4 5 6", "thigh 4 5 six", 7, "not all finite numbers: '4 5 six'"),
        ("thigh 4 5 6", "thigh 4 5 nan", 7, "not all finite numbers"),
        ("thigh 4 5 6", "thigh 4 5 -inf", 7, "not all finite numbers"),
        ("thigh 4 5 6", "thigh 4 5 1e999", 7, "not all finite numbers"),
        ("thigh 4 5 6", "thigh 4 5 6_0", 7, "not all finite numbers"),
        ("thigh 4 5 6", "thigh 4 5 -1.#IND", 7, "not all finite numbers"),
        ("\n2\n", "\n3\n", 8, "frame 3 follows frame 1"),
        ("\n2\n", "\n1\n", 8, "frame 1 follows frame 1"),
        ("\n2\n", "\n2 2\n", 8, "a line of one frame number"),
        ("\n2\n", "\n" + "2" * 5000 + "\n", 8, "a line of one frame number"),
        ("\n2\n", "\n", 8, "a second 'root' in frame 1"),
        ("thigh 4 5 6\n2\n", "thigh 4 5\n6 2\n", 7, "'thigh' has 2 values"),
        ("\n1\n", "\n", 4, "expected #, :FULLY-SPECIFIED, :DEGREES or the first frame"),
        ("shin 7", "tail 7", 10, "'tail' is no movable bone"),
        ("shin 7", "hip 7", 10, "'hip' is no movable bone"),
        ("shin 7", "shin 7\n:DEGREES", 11, "':DEGREES' is no movable bone"),
        (":DEGREES", ":RADIANS", 3, "degrees"),
        (":DEGREES", ":SAMPLES-PER-SECOND 120", 3, "expected #"),
    ],
)
def test_bad_amc_is_an_error_with_file_and_line(tmp_path, skeleton, old, new, line, fault):
    assert old in AMC
    with pytest.raises(MotionFileError) as caught:
        read_amc_text(tmp_path, skeleton, AMC.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'bad.amc'}:{line}: ")
    assert fault in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", AMC[: AMC.index("1\n")], "# nothing\n"])
def test_amc_without_frames(tmp_path, skeleton, text):
    with pytest.raises(MotionFileError, match=r"bad\.amc: no frame"):
        read_amc_text(tmp_path, skeleton, text)


@pytest.mark.parametrize(
    ("old", "new", "where", "fault"),
    [
        ("    dof rx\n", "    dof rw\n", "dof rw", "unknown degree of freedom 'rw'"),
        ("    dof rx\n", "    dof rx tx\n", "dof rx tx", "unknown degree of freedom 'tx'"),
        ("    dof rx ry rz", "    dof rz rx ry", "dof rz", "in the order rx ry rz"),
        ("    dof rx\n", "    dof rx rx\n", "dof rx rx", "in the order rx ry rz"),
        ("    dof rx\n", "    dof rx\n    dof rx\n", "hierarchy", "second entry 'dof'"),
        ("    dof rx\n", "    fod rx\n", "fod", "unknown entry 'fod'"),
        ("thigh shin\n", "thigh shin tail\n", "thigh shin", "bone 'tail' is missing in :bonedata"),
        ("    thigh shin\n", "", "id 3", "does not connect bone 'shin' to root"),
        ("thigh shin\n", "thigh shin\n    shin thigh\n", "shin thigh", "second parent"),
        ("root hip\n", "shin hip\n", "shin hip", "does not connect"),
        ("thigh shin\n", "thigh shin root\n", "thigh shin", "second parent"),
        ("name shin", "name thigh", "id 3", "second bone is called 'thigh'"),
        ("name shin", "name root", "id 3", "second bone is called 'root'"),
        ("name shin", "name 12", "name 12", "begins with a letter"),
        ("length 7\n", "length seven\n", "length seven", "'seven' is not a finite number"),
        ("length 7\n", "length -7\n", "length -7", "negative"),
        ("length 7\n", "", "name thigh", "entry 'length' is missing"),
        ("0.6 -0.8 0", "0.6 -0.8", "0.6 -0.8", "expected 3 numbers, found 2"),
        ("0.6 -0.8 0", "6 -8 0", "6 -8 0", "not of length 1"),
        ("axis 0 0 20  XYZ", "axis 0 0 20", "axis 0 0 20", "three angles and XYZ"),
        ("axis 0 0 20  XYZ", "axis 0 0 20 ZYX", "axis 0 0 20", "three angles and XYZ"),
        ("angle deg", "angle rad", "angle rad", "degrees"),
        ("length 0.45", "length 0", "length 0", "must be positive"),
        ("order TX TY TZ RX RY RZ", "order RX RY RZ TX TY TZ", "order", "TX TY TZ RX RY RZ"),
        ("axis XYZ", "axis ZYX", "axis ZYX", "axis must be XYZ"),
        ("position 0 0 0", "position 0 1 0", "position", "must be 0 0 0"),
        (":version 1.10", ":vresion 1.10", ":vresion", "unknown keyword ':vresion'"),
        (":version 1.10", ":units", ":units", "second time"),
        ("    thigh shin\n  end\n", "    thigh shin\n", "root hip", "no 'end'"),
        ("  end\n  begin\n     id 3", "     id 3", "id 3", "second entry 'id'"),
        ("# made for a test", "made for a test", "made for", "expected a :keyword"),
    ],
)
def test_bad_asf_is_an_error_with_file_and_line(tmp_path, old, new, where, fault):
    assert old in ASF
    text = ASF.replace(old, new, 1)
    with pytest.raises(MotionFileError) as caught:
        read_asf_text(tmp_path, text)
    message = str(caught.value)
    assert fault in message
    line = int(re.match(re.escape(str(tmp_path / "bad.asf")) + r":(\d+): ", message)[1])
    # An error of a whole block stands at its `begin`, one of a line at that line.
    assert abs(line - line_of(text, where)) <= 2


@pytest.mark.parametrize("part", ["units", "root", "bonedata", "hierarchy"])
def test_missing_part_of_asf(tmp_path, part):
    text = re.sub(rf"(?ms)^:{part}.*?(?=^:|\Z)", "", ASF)
    with pytest.raises(MotionFileError, match=rf"bad\.asf: the part :{part} is missing"):
        read_asf_text(tmp_path, text)


def test_cut_off_asf_never_reads(tmp_path):
    lines = ASF.splitlines(keepends=True)
    for stop in range(len(lines)):
        with pytest.raises(MotionFileError):
            read_asf_text(tmp_path, "".join(lines[:stop]))


def test_truncated_amc_never_loses_a_frame_silently(tmp_path, skeleton):
    """Cut at any byte, a file is an error or ends with a whole line of its last frame."""
    whole = read_amc_text(tmp_path, skeleton, AMC)
    for stop in range(len(AMC)):
        try:
            values = read_amc_text(tmp_path, skeleton, AMC[:stop])
        except MotionFileError:
            continue
        # What cannot be told from a shorter recording or a shorter last number.
        np.testing.assert_array_equal(values[:, :-2], whole[: len(values), :-2])


def test_asf_with_windows_line_ends_is_the_same(tmp_path, skeleton):
    assert read_asf_text(tmp_path, ASF.replace("\n", "\r\n")) == skeleton


def test_hierarchy_lines_may_stand_in_any_order(tmp_path, skeleton):
    text = ASF.replace(
        "    root hip\n    hip thigh\n    thigh shin\n",
        "    thigh shin\n    hip thigh\n    root hip\n",
    )
    assert text != ASF
    assert read_asf_text(tmp_path, text) == skeleton


def test_error_survives_the_way_from_a_worker_process(tmp_path, skeleton):
    with pytest.raises(MotionFileError) as caught:
        read_amc_text(tmp_path, skeleton, "x")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_skeleton_refuses_what_is_no_tree():
    bone = Bone("a", "b", (0.0, 1.0, 0.0), 1.0, (0.0, 0.0, 0.0), ())
    with pytest.raises(ValueError, match="before its parent 'b'"):
        Skeleton((bone,), 0.45)
    bone = Bone("a", "root", (0.0, 1.0, 0.0), 1.0, (0.0, 0.0, 0.0), ())
    with pytest.raises(ValueError, match="two joints"):
        Skeleton((bone, bone), 0.45)
    with pytest.raises(ValueError, match="length_unit"):
        Skeleton((bone,), 0.0)


def test_writing_refuses_another_number_of_columns(tmp_path, skeleton):
    with pytest.raises(ValueError, match=r"\(n_frames, 10\)"):
        write_amc(tmp_path / "a.amc", skeleton, np.zeros((3, 9)), "test")


def test_what_is_written_is_read_again(tmp_path, skeleton):
    write_asf(tmp_path / "w.asf", skeleton, "test")
    assert read_asf(tmp_path / "w.asf") == skeleton
    values = np.random.default_rng(0).normal(scale=100, size=(5, 10))
    write_amc(tmp_path / "w.amc", skeleton, values, "test")
    np.testing.assert_allclose(read_amc(tmp_path / "w.amc", skeleton), values, rtol=5e-6)


FUZZ = settings(
    max_examples=300,
    deadline=2000,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Words that mean something in the files, and some that should not.
WORDS = st.sampled_from(
    [*sorted({*ASF.split(), *AMC.split()}), "\x00", "١", "9" * 40, "nan", "1_0", "(", "\xa0"]
)


@st.composite
def mutated(draw, text):
    """A file some of whose words, characters or lines were replaced, dropped or doubled."""
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["word", "character", "drop line", "double line", "cut"]))
        if kind == "word":
            words = re.split(r"(\s+)", text)
            words[draw(st.integers(0, len(words) - 1))] = draw(WORDS)
            text = "".join(words)
        elif kind == "character":
            at = draw(st.integers(0, len(text)))
            text = text[:at] + draw(st.characters()) + text[at + draw(st.integers(0, 2)) :]
        elif kind == "cut":
            text = text[: draw(st.integers(0, len(text)))]
        else:
            lines = text.splitlines(keepends=True) or [""]
            at = draw(st.integers(0, len(lines) - 1))
            text = "".join(
                lines[:at] + lines[at : at + 1] * 2 * (kind == "double line") + lines[at + 1 :]
            )
    return text.encode("utf-8", errors="surrogatepass")


@FUZZ
@given(st.one_of(mutated(ASF), st.binary(max_size=200)))
def test_no_asf_raises_anything_but_our_error(tmp_path, content):
    (tmp_path / "fuzz.asf").write_bytes(content)
    try:
        skeleton = read_asf(tmp_path / "fuzz.asf")
    except MotionFileError:
        return
    assert all(
        np.isfinite((bone.length, *bone.direction, *bone.axis)).all() for bone in skeleton.bones
    )


@FUZZ
@given(st.one_of(mutated(AMC), mutated(AMC + AMC[AMC.index("1\n") :]), st.binary(max_size=200)))
def test_no_amc_raises_anything_but_our_error(tmp_path, skeleton, content):
    (tmp_path / "fuzz.amc").write_bytes(content)
    try:
        values = read_amc(tmp_path / "fuzz.amc", skeleton)
    except MotionFileError:
        return
    assert values.ndim == 2
    assert values.shape[0] > 0
    assert np.isfinite(values).all()


@FUZZ
@given(mutated(AMC))
def test_reading_all_at_once_and_line_by_line_agree(tmp_path, skeleton, content):
    """A comment within a frame forces the second way; it must not change the outcome."""
    (tmp_path / "fast.amc").write_bytes(content)
    (tmp_path / "slow.amc").write_bytes(content + b"\n#")
    outcomes = []
    for name in ("fast.amc", "slow.amc"):
        try:
            outcomes.append(read_amc(tmp_path / name, skeleton).tolist())
        except MotionFileError as error:
            outcomes.append(error.args[2].partition(" in this file")[0])
    assert outcomes[0] == outcomes[1]
