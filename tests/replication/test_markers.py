"""CMU motions as markers, from files that the tests write to features; none of CMU's was tried."""

import numpy as np
import pytest
from c3d_writer import c3d_bytes

from replication.datasets import DataSetError, prepare
from replication.datasets.asf_amc import MotionFileError
from replication.datasets.c3d import CMU_MARKERS, MarkerRecording
from replication.datasets.cmu_mocap import listed_motions, load_markers
from replication.features.markers import marker_features, vertical_axis
from replication.protocols.motion import MotionSet

NAME = "cmu_mocap"
IDS = ("16_15", "16_21", "14_27")
WAIST = [CMU_MARKERS.index(name) for name in ("LFWT", "RFWT", "LBWT", "RBWT")]


def body(rng, n_frames=40, up=1):
    """Markers (n_frames, 41, 3) in metres that walk on; head at 1.7 m and toes at 0.02 m."""
    heights = np.full(41, 1.0)
    heights[:4] = 1.7
    heights[[CMU_MARKERS.index(name) for name in ("LTOE", "RTOE")]] = 0.02
    positions = 0.2 * rng.normal(size=(n_frames, 41, 3))
    positions[..., up] = heights + 0.01 * rng.normal(size=(n_frames, 41))
    positions[..., (up + 1) % 3] += 0.05 * np.arange(n_frames)[:, None]
    return positions


def recording(positions, rate=120.0):
    return MarkerRecording(CMU_MARKERS, positions, rate)


@pytest.fixture
def offered(tmp_path):
    """Write the files of some sequences into a folder of archives; return it and the markers."""
    rng = np.random.default_rng(0)
    markers = {}
    for name in IDS:
        markers[name] = body(rng)
        path = tmp_path / "archives" / NAME / "all_c3d/subjects" / name[:2] / f"{name}.c3d"
        path.parent.mkdir(parents=True, exist_ok=True)
        labels = [f"subject:{marker}" for marker in CMU_MARKERS]
        path.write_bytes(c3d_bytes(1000 * markers[name], labels))
    return tmp_path / "archives", markers


def prepared(archives, tmp_path, **options):
    settings = {"source": "archives", "file_format": "c3d", "allow_subset": True, **options}
    raw = tmp_path / "raw"
    return raw, prepare(NAME, raw=raw, archives=archives, **settings)


def test_files_become_features_of_123_dimensions(offered, tmp_path):
    archives, markers = offered
    raw, data = prepared(archives, tmp_path)
    assert set(data.manifest["id"]) == set(IDS)
    assert set(data.manifest["check"]) == {"unlisted"}
    assert len(data.missing) == 56 - 3
    assert data.describe() == "0 of 53 marker files and 3 unlisted"
    motions = MotionSet.from_files(
        data.manifest, raw, allow_subset=True, max_gap_s=0.1, reference="world",
        representation="positions", common_skeleton=False, frame_rate_hz=120.0, scaling="none",
    )  # fmt: skip
    assert motions.ids.tolist() == [m.id for m in listed_motions() if m.id in IDS]
    assert set(motions.labels) == {m.label for m in listed_motions() if m.id in IDS}
    for name, sequence in zip(motions.ids, motions.sequences, strict=True):
        np.testing.assert_allclose(sequence, markers[name].reshape(40, 123), atol=1e-6)


def test_a_subset_must_be_allowed(offered, tmp_path):
    archives, _ = offered
    with pytest.raises(DataSetError, match="3 of 56 marker files are at hand"):
        prepared(archives, tmp_path, allow_subset=False)
    raw, data = prepared(archives, tmp_path)
    with pytest.raises(DataSetError, match="3 of 56 sequences have markers"):
        load_markers(data.manifest, raw)


def test_both_formats_lie_side_by_side(offered, tmp_path):
    """The skeletons' archive is no part of the markers, nor they of it."""
    archives, _ = offered
    (archives / NAME / "all_asfamc/subjects/16").mkdir(parents=True)
    (archives / NAME / "all_asfamc/subjects/16/16.asf").write_text("damaged")
    raw, data = prepared(archives, tmp_path)
    assert len(data.manifest) == 3
    with pytest.raises(DataSetError, match=r"16\.asf"):
        prepared(archives, tmp_path, file_format="asf_amc")
    # A change of format never mixes with what was unpacked before.
    assert sorted(path.suffix for path in raw.rglob("1*.*")) == [".c3d"] * 3


def test_hidden_markers_are_bridged_up_to_the_stated_time(offered, tmp_path):
    archives, markers = offered
    gapped = markers["16_15"].copy()
    gapped[10:22, 5] = np.nan  # 0.1 s are 12 frames
    file = archives / NAME / "all_c3d/subjects/16/16_15.c3d"
    file.write_bytes(c3d_bytes(1000 * gapped, CMU_MARKERS))
    raw, data = prepared(archives, tmp_path)
    found = load_markers(data.manifest, raw, allow_subset=True)
    bridged = found.recordings[[m.id for m in found.listed].index("16_15")].positions
    line = np.linspace(markers["16_15"][9, 5], markers["16_15"][22, 5], 14)
    np.testing.assert_allclose(bridged[9:23, 5], line, atol=1e-6)
    with pytest.raises(MotionFileError, match="is not seen for 12 frames, allowed are 6"):
        load_markers(data.manifest, raw, allow_subset=True, max_gap_s=0.05)


@pytest.mark.parametrize(
    ("content", "fault"), [(b"text", "cut off in its header"), (None, "no marker 'LMT5'")]
)
def test_damaged_files_stop_or_are_skipped(offered, tmp_path, content, fault):
    archives, markers = offered
    file = archives / NAME / "all_c3d/subjects/16/16_15.c3d"
    if content is None:
        labels = [name.replace("LMT5", "other") for name in CMU_MARKERS]
        content = c3d_bytes(markers["16_15"], labels)
    file.write_bytes(content)
    with pytest.raises(DataSetError, match=fault):
        prepared(archives, tmp_path)
    _, data = prepared(archives, tmp_path, on_bad_file="skip")
    assert list(data.skipped) == ["all_c3d/subjects/16/16_15.c3d"]


@pytest.mark.parametrize("source", ["embedded", "download"])
def test_markers_are_neither_synthetic_nor_fetched(tmp_path, source):
    with pytest.raises(DataSetError, match="only taken from the folder of archives"):
        prepared(tmp_path, tmp_path, source=source)


def test_unknown_format_is_named(tmp_path):
    with pytest.raises(ValueError, match="format 'bvh' is unknown; it comes with: asf_amc, c3d"):
        prepared(tmp_path, tmp_path, file_format="bvh")


@pytest.mark.parametrize("up", [1, 2])
def test_place_is_taken_away_and_height_is_not(up):
    positions = body(np.random.default_rng(1), up=up)
    assert vertical_axis(recording(positions)) == up
    floor = [axis for axis in range(3) if axis != up]
    (found,) = marker_features([recording(positions)])
    found = found.reshape(-1, 41, 3)
    np.testing.assert_allclose(found[:, WAIST].mean(axis=1)[:, floor], 0, atol=1e-12)
    np.testing.assert_allclose(found[..., up], positions[..., up])
    (root,) = marker_features([recording(positions)], reference="root")
    np.testing.assert_allclose(root.reshape(-1, 41, 3)[:, WAIST].mean(axis=1), 0, atol=1e-12)
    shift = np.zeros(3)
    shift[floor] = 3.0, -2.0
    (moved,) = marker_features([recording(positions + shift)])
    np.testing.assert_allclose(moved.reshape(-1, 41, 3), found, atol=1e-12)


def test_other_frame_rates_lie_on_the_same_lines():
    positions = np.arange(41.0)[:, None, None] * np.ones((1, 41, 3))
    (half,) = marker_features([recording(positions)], reference="world", frame_rate_hz=60.0)
    np.testing.assert_allclose(half[:, 0], np.arange(0, 41, 2))
    (third,) = marker_features([recording(positions)], reference="world", frame_rate_hz=160.0)
    np.testing.assert_allclose(third[:, 0], 0.75 * np.arange(54))


def test_scaled_columns_have_deviation_one():
    rng = np.random.default_rng(2)
    sequences = marker_features([recording(body(rng)), recording(body(rng))], scaling="standard")
    frames = np.concatenate(sequences)
    np.testing.assert_allclose(frames.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(frames.std(axis=0), 1)


def test_settings_that_need_a_skeleton_are_refused(offered, tmp_path):
    archives, _ = offered
    raw, data = prepared(archives, tmp_path)
    markers = load_markers(data.manifest, raw, allow_subset=True)
    for settings, message in (
        ({"representation": "quaternions"}, "representation must be 'positions' for markers"),
        ({"common_skeleton": True}, "common_skeleton must be False for markers, got True"),
        ({"reference": "root_heading"}, "reference must be one of world, horizontal, root"),
    ):
        with pytest.raises(ValueError, match=message):
            MotionSet.from_markers(markers, **settings)
