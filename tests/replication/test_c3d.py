"""C3D files, which the tests write themselves: none of CMU's own has been tried."""

import numpy as np
import pytest
from c3d_writer import DEC, INTEL, MIPS, c3d_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replication.datasets.asf_amc import MotionFileError
from replication.datasets.c3d import CMU_MARKERS, read_c3d

MARKERS = ("LFHD", "RFHD", "LTOE")


@pytest.fixture
def metres():
    return np.random.default_rng(0).normal(size=(30, 3, 3))


def write(tmp_path, *args, **kwargs):
    path = tmp_path / "a.c3d"
    path.write_bytes(c3d_bytes(*args, **kwargs))
    return path


def test_cmu_has_41_markers_the_123_dimensions_of_the_paper():
    assert len(set(CMU_MARKERS)) == 41


@pytest.mark.parametrize(("unit", "factor"), [("mm", 1000), ("cm", 100), ("m", 1)])
@pytest.mark.parametrize("processor", [INTEL, DEC, MIPS])
@pytest.mark.parametrize("n_analog", [0, 5])
def test_positions_in_metres_whatever_the_file_s_numbers(
    tmp_path, metres, unit, factor, processor, n_analog
):
    for scale, tolerance in ((-1.0, 1e-6), (0.01 * factor / 100, 1e-4)):
        path = write(
            tmp_path,
            metres * factor,
            MARKERS,
            unit=unit,
            processor=processor,
            scale=scale,
            n_analog=n_analog,
        )
        recording = read_c3d(path, MARKERS)
        np.testing.assert_allclose(recording.positions, metres, rtol=0, atol=tolerance)
        assert recording.frame_rate_hz == 120
        assert recording.markers == MARKERS


def test_markers_are_found_behind_a_subject_s_name_in_any_order(tmp_path, metres):
    path = write(tmp_path, metres[:, [2, 1, 0]] * 1000, ("liu:LTOE", "RFHD", "liu:LFHD"))
    np.testing.assert_allclose(read_c3d(path, MARKERS).positions, metres, atol=1e-6)


def test_other_markers_do_not_matter_even_if_never_seen(tmp_path, metres):
    positions = np.concatenate([np.full((30, 1, 3), np.nan), metres * 1000], axis=1)
    path = write(tmp_path, positions, ("*41", *MARKERS))
    np.testing.assert_allclose(read_c3d(path, MARKERS).positions, metres, atol=1e-6)


def test_short_gap_is_a_straight_line(tmp_path, metres):
    metres[:, 1] = np.arange(30)[:, np.newaxis] * [0.01, 0.02, -0.01]
    gapped = metres * 1000
    gapped[10:15, 1] = np.nan
    path = write(tmp_path, gapped, MARKERS)
    found = read_c3d(path, MARKERS, max_gap_s=5 / 120)
    np.testing.assert_allclose(found.positions, metres, atol=1e-6)
    with pytest.raises(MotionFileError, match="RFHD is not seen for 5 frames, allowed are 4"):
        read_c3d(path, MARKERS, max_gap_s=4 / 120)


@pytest.mark.parametrize("frame", [0, 29])
def test_gap_at_an_end_cannot_be_closed(tmp_path, metres, frame):
    metres[frame, 2] = np.nan
    path = write(tmp_path, metres * 1000, MARKERS)
    with pytest.raises(MotionFileError, match="LTOE is not seen at the beginning or at the end"):
        read_c3d(path, MARKERS)


@pytest.mark.parametrize(
    ("labels", "kwargs", "fault"),
    [
        (("LFHD", "RFHD", "RTOE"), {}, "no marker 'LTOE'; found LFHD, RFHD, RTOE"),
        (("LFHD", "XLTOE", "RFHD"), {}, "no marker 'LTOE'"),
        (("LFHD", "a:RFHD", "b:RFHD"), {}, "'RFHD' is not unique: a:RFHD, b:RFHD"),
        ((), {}, "POINT:LABELS is missing"),
        (MARKERS, {"unit": "furlong"}, "unknown unit 'furlong'"),
        (MARKERS, {"rate": 0.0}, r"frame rate 0\.0 Hz"),
        (MARKERS, {"rate": np.nan}, "frame rate nan Hz"),
        (MARKERS, {"processor": 0}, "unknown processor type 0"),
    ],
)
def test_unusable_files_name_the_fault(tmp_path, metres, labels, kwargs, fault):
    path = write(tmp_path, metres * 1000, labels, **kwargs)
    with pytest.raises(MotionFileError, match=fault) as caught:
        read_c3d(path, MARKERS)
    assert str(caught.value).startswith(str(path))


def test_file_without_points_or_frames(tmp_path, metres):
    with pytest.raises(MotionFileError, match=r"a\.c3d: 0 points in 30 frames"):
        read_c3d(write(tmp_path, metres[:, :0], ("none",)), MARKERS)
    with pytest.raises(MotionFileError, match=r"a\.c3d: 3 points in 0 frames"):
        read_c3d(write(tmp_path, metres[:0], MARKERS), MARKERS)


def test_cut_off_file_is_an_error_wherever_it_ends(tmp_path, metres):
    content = c3d_bytes(metres, MARKERS)
    for n_bytes in range(0, len(content), 7):
        (tmp_path / "cut.c3d").write_bytes(content[:n_bytes])
        with pytest.raises(MotionFileError):
            read_c3d(tmp_path / "cut.c3d", MARKERS)


def test_no_c3d_file(tmp_path):
    (tmp_path / "text.c3d").write_text("not a C3D file\n" * 100)
    with pytest.raises(MotionFileError, match="no C3D file"):
        read_c3d(tmp_path / "text.c3d", MARKERS)


@settings(
    max_examples=200,
    deadline=2000,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(st.integers(0, 1100), st.integers(0, 255)), min_size=1, max_size=4),
    st.sampled_from([INTEL, DEC, MIPS]),
)
def test_altered_bytes_raise_nothing_but_our_error(tmp_path, changes, processor):
    content = bytearray(c3d_bytes(np.zeros((3, 3, 3)), MARKERS, processor=processor))
    for at, value in changes:
        content[at % len(content)] = value
    (tmp_path / "fuzz.c3d").write_bytes(content)
    try:
        recording = read_c3d(tmp_path / "fuzz.c3d", MARKERS)
    except MotionFileError:
        return
    assert np.isfinite(recording.positions).all()


def test_what_ezc3d_writes_is_read(tmp_path, metres):
    ezc3d = pytest.importorskip("ezc3d", reason="ezc3d is not installed")
    file = ezc3d.c3d()
    points = np.ones((4, 3, 30))
    points[:3] = np.moveaxis(metres * 1000, -1, 0).swapaxes(1, 2)
    points[:3, 1, 5] = np.nan
    for name, value in (("RATE", [120.0]), ("LABELS", MARKERS), ("UNITS", ["mm"])):
        file["parameters"]["POINT"][name]["value"] = value
    file["data"]["points"] = points
    file.write(str(tmp_path / "theirs.c3d"))
    found = read_c3d(tmp_path / "theirs.c3d", MARKERS)
    known = np.delete(np.arange(30), 5)
    np.testing.assert_allclose(found.positions[known], metres[known], atol=1e-6)
    assert found.frame_rate_hz == 120
