"""The CMU motions from archive to features: synthetic files, damaged ones, and the real ones."""

import os
import time
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from replication.data.catalog import DataSetError, read_checksums
from replication.data.sources import prepare
from replication.io import AlteredFileError, sha256_of
from replication.motion import cmu_mocap
from replication.motion.asf_amc import MotionFileError, read_amc, read_asf
from replication.motion.cmu_mocap import (
    CLASS_SIZES,
    SKELETON_LABEL,
    listed_motions,
    load_recordings,
    n_unsolved_frames,
)
from replication.motion.skeleton import (
    feature_names,
    forward_kinematics,
    mean_skeleton,
    motion_features,
    pose,
)
from replication.standins.asf_amc_writer import write_amc
from replication.standins.cmu_mocap import make_motion, make_skeleton

NAME = "cmu_mocap"
GOLDEN = Path(__file__).parents[1] / "golden" / "mocap" / "forward_kinematics.npz"


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    """Two synthetic sequences a class, prepared: (raw folder, Prepared)."""
    raw = tmp_path_factory.mktemp("synthetic") / NAME
    return raw, prepare(
        NAME, source="embedded", raw=raw, embedded={"max_sequences_per_class": 2}, seed=0
    )


@pytest.fixture
def archives(tmp_path, synthetic):
    """Pack synthetic files as if they were published: a function of changes to them."""
    raw, prepared = synthetic

    def pack(**changes):
        """Each change maps an id to new content, or to None for a file left out."""
        archive = tmp_path / "archives" / NAME / "allasfamc.zip"
        archive.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(archive, "w") as file:
            for name, identity in zip(
                prepared.manifest["file"], prepared.manifest["id"], strict=True
            ):
                content = changes.get(f"s{identity}", (raw / name).read_bytes())
                if content is not None:
                    file.writestr(name, content)
            file.writestr("all_asfamc/subjects/99/99_01.amc", "no sequence of ours")
        return archive.parents[1]

    return pack


@pytest.fixture
def unlisted(monkeypatch):
    """No checksum is published, so that synthetic files pass for real ones."""
    monkeypatch.setattr("replication.data.archives.read_checksums", lambda name: {})
    monkeypatch.setattr("replication.motion.cmu_mocap._FRAMES_AT_60_HZ", {})


def prepared_from(archives, tmp_path, **options):
    raw = tmp_path / "raw"
    return raw, prepare(NAME, source="archives", raw=raw, archives=archives, **options)


def test_listed_sequences_have_the_class_sizes_of_the_extended_paper():
    motions = listed_motions()
    assert len(motions) == 56
    assert Counter(m.label for m in motions) == CLASS_SIZES
    assert {m.frame_rate_hz for m in motions} == {120.0}
    assert sum(m.reconstructed for m in motions) == 11
    assert all(m.file.endswith(f"/{m.subject}/{m.id}.amc") for m in motions)


def test_checksums_are_those_of_the_original_files():
    listed = read_checksums(NAME)
    original = {m.file for m in listed_motions() if not m.reconstructed}
    skeletons = {m.skeleton_file for m in listed_motions()}
    assert set(listed) == original | skeletons


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("walk 1\t16_15\t16\t120\toriginal\twalk", "twice: 16_15"),
        ("walk 1\t16_99\t16\t120\toriginal\twalk", "expected"),
        ("dance\t16_99\t16\t120\toriginal\tdance", "expected"),
    ],
)
def test_altered_list_is_refused(tmp_path, monkeypatch, line, fault):
    content = (cmu_mocap.RESOURCES / "motions.tsv").read_text()
    (tmp_path / "motions.tsv").write_text(content + line + "\n")
    monkeypatch.setattr(cmu_mocap, "RESOURCES", tmp_path)
    with pytest.raises(ValueError, match=rf"motions\.tsv: .*{fault}"):
        listed_motions.__wrapped__()


def test_synthetic_data_have_the_layout_and_the_manifest_of_the_real_ones(synthetic):
    raw, prepared = synthetic
    manifest = prepared.manifest
    assert set(manifest["origin"]) == {"synthetic"}
    assert Counter(manifest["label"]) == dict.fromkeys(CLASS_SIZES, 2) | {SKELETON_LABEL: 5}
    assert all((raw / file).is_file() for file in manifest["file"])


def test_recordings_keep_the_order_of_the_list(synthetic):
    raw, prepared = synthetic
    loaded = load_recordings(prepared.manifest.iloc[::-1], raw)
    ids = [recording.listed.id for recording in loaded.recordings]
    assert ids == [m.id for m in listed_motions() if m.id in ids]
    assert Counter(loaded.labels) == dict.fromkeys(CLASS_SIZES, 2)
    assert loaded.subjects == [name.partition("_")[0] for name in ids]
    assert len(loaded.missing) == 56 - 16
    assert loaded.describe() == "16 of 56 sequences"


def test_features_of_recordings(synthetic):
    raw, prepared = synthetic
    loaded = load_recordings(prepared.manifest, raw)
    features = motion_features(loaded.motions, frame_rate_hz=30.0)
    assert [len(f) for f in features] == [-(-len(m.values) // 4) for m in loaded.motions]
    assert {f.shape[1] for f in features} == {91}
    assert len(feature_names(loaded.motions[0].skeleton)) == 91


@pytest.mark.usefixtures("unlisted")
def test_archive_without_checksums_is_taken_as_unlisted(archives, tmp_path):
    raw, prepared = prepared_from(archives(), tmp_path, allow_subset=True)
    assert set(prepared.manifest["check"]) == {"unlisted"}
    assert set(prepared.manifest["origin"]) == {"real"}
    assert prepared.ignored == ("all_asfamc/subjects/99/99_01.amc",)
    assert len(load_recordings(prepared.manifest, raw, allow_subset=True).recordings) == 16


@pytest.mark.usefixtures("unlisted")
def test_missing_real_sequences_are_an_error_unless_a_subset_is_allowed(archives, tmp_path):
    packed = archives(s16_15=None)
    with pytest.raises(DataSetError, match=r"20 of 61 motion files .*\n.*missing files \(41\)"):
        prepared_from(packed, tmp_path)
    raw, prepared = prepared_from(packed, tmp_path, allow_subset=True)
    assert len(prepared.missing) == 61 - 20
    assert "all_asfamc/subjects/16/16_15.amc" in prepared.missing
    assert set(prepared.table["check"]) == {"unlisted"}
    with pytest.raises(DataSetError, match=r"15 of 56 sequences .*missing: 16_15, 16_21"):
        load_recordings(prepared.manifest, raw)
    assert "16_15" in load_recordings(prepared.manifest, raw, allow_subset=True).missing


@pytest.mark.usefixtures("unlisted")
def test_an_archive_that_is_gone_leaves_nothing_missing_that_was_taken(archives, tmp_path):
    packed = archives()
    _, before = prepared_from(packed, tmp_path, allow_subset=True)
    (packed / NAME / "allasfamc.zip").unlink()
    _, after = prepared_from(packed, tmp_path, allow_subset=True)
    assert after.manifest.equals(before.manifest)
    assert after.missing == before.missing


@pytest.mark.usefixtures("unlisted")
def test_sequences_without_their_skeleton_are_missing(archives, tmp_path):
    raw, prepared = prepared_from(archives(s14=None), tmp_path, allow_subset=True)
    loaded = load_recordings(prepared.manifest, raw, allow_subset=True)
    assert "sit" not in loaded.labels
    assert "14_27" in loaded.missing


@pytest.mark.usefixtures("unlisted")
def test_equal_files_are_flagged(archives, tmp_path, synthetic):
    raw, _ = synthetic
    twin = (raw / "all_asfamc/subjects/14/14_27.amc").read_bytes()
    _, prepared = prepared_from(archives(s14_28=twin), tmp_path, allow_subset=True)
    folder = "all_asfamc/subjects/14"
    assert prepared.copies == {f"{folder}/14_28.amc": f"equal to {folder}/14_27.amc"}


@pytest.mark.parametrize("ends", [b"\n", b"\r"])
def test_changed_line_ends_are_put_right(archives, tmp_path, synthetic, monkeypatch, ends, capsys):
    raw, original = synthetic
    sums = dict(zip(original.manifest["file"], original.manifest["sha256"], strict=True))
    monkeypatch.setattr("replication.data.archives.read_checksums", lambda name: sums)
    content = (raw / "all_asfamc/subjects/16/16_15.amc").read_bytes()
    changed = archives(s16_15=content.replace(b"\r\n", ends))
    folder, prepared = prepared_from(changed, tmp_path, allow_subset=True)
    assert (folder / "all_asfamc/subjects/16/16_15.amc").read_bytes() == content
    assert prepared.manifest["sha256"].equals(original.manifest["sha256"])
    assert "16_15.amc: only its line ends differ" in capsys.readouterr().out
    altered = archives(s16_15=content.replace(b"\r\n", ends).replace(b"lowerback", b"lowerbacK"))
    with pytest.raises(DataSetError, match=r"16_15\.amc line"):
        prepare(
            NAME, source="archives", raw=tmp_path / "other", archives=altered, allow_subset=True
        )


@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"s16_15": b"1\nroot 0 0 0 0 0 0\n"}, r"16_15\.amc line 1: frame 1 lacks"),
        ({"s16_15": b""}, r"16_15\.amc no frame"),
        ({"s16": b""}, r"16\.asf the part :units is missing"),
    ],
)
def test_damaged_file_stops_or_is_skipped(archives, tmp_path, change, fault):
    packed = archives(**change)
    with pytest.raises(DataSetError, match=fault):
        prepared_from(packed, tmp_path, allow_subset=True)
    _, prepared = prepared_from(packed, tmp_path, allow_subset=True, on_bad_file="skip")
    (file,) = prepared.skipped
    assert Path(file).stem == next(iter(change))[1:]


def test_a_file_cut_between_two_frames(archives, tmp_path, synthetic, monkeypatch):
    raw, _ = synthetic
    content = (raw / "all_asfamc/subjects/06/06_02.amc").read_bytes()
    starts = [n for n, line in enumerate(content.splitlines()) if line.isdigit()]
    monkeypatch.setattr("replication.data.archives.read_checksums", lambda name: {})
    monkeypatch.setattr(cmu_mocap, "_FRAMES_AT_60_HZ", {"06_02": len(starts) // 2})
    prepared_from(archives(), tmp_path / "whole", allow_subset=True)
    half = b"".join(content.splitlines(keepends=True)[: starts[len(starts) // 2]])
    with pytest.raises(DataSetError, match=r"06_02\.amc has \d+ frames, about \d+ were published"):
        prepared_from(archives(s06_02=half), tmp_path / "half", allow_subset=True)


def test_altered_file_is_refused(archives, tmp_path, monkeypatch):
    """The synthetic 16_15 is intact, but it is not the published one."""
    monkeypatch.setattr(cmu_mocap, "_FRAMES_AT_60_HZ", {})
    with pytest.raises(DataSetError, match="differs from the published file"):
        prepared_from(archives(), tmp_path, allow_subset=True)


def test_unreadable_file_of_a_manifest_is_named(synthetic, tmp_path):
    raw, prepared = synthetic
    manifest = prepared.manifest[prepared.manifest["id"].isin(["16", "16_15"])]
    for file in manifest["file"]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes((raw / file).read_bytes()[:-100])
    with pytest.raises(AlteredFileError, match=r"16\.asf: is not the file that was checked"):
        load_recordings(manifest, tmp_path)
    manifest = manifest.assign(sha256=[sha256_of(tmp_path / file) for file in manifest["file"]])
    with pytest.raises(MotionFileError, match=r"16\.asf:\d+: "):
        load_recordings(manifest, tmp_path)


def test_leading_frames_without_a_body_are_dropped(tmp_path, synthetic):
    raw, prepared = synthetic
    skeleton = read_asf(raw / "all_asfamc/subjects/16/16.asf")
    values = make_motion(0, "walk 1", 0, 16, skeleton)
    assert n_unsolved_frames(skeleton, values) == 0
    # Frames without any joint, then without one arm; a joint that never moves says nothing.
    values[:3] = 0
    values[:5, skeleton.channel_slices["lhumerus"]] = 0
    values[:, skeleton.channel_slices["lclavicle"]] = 0
    values[:20, skeleton.channel_slices["ltibia"]] = 0
    assert n_unsolved_frames(skeleton, values) == 5
    manifest = prepared.manifest[prepared.manifest["id"].isin(["16", "16_15"])]
    (tmp_path / "all_asfamc/subjects/16").mkdir(parents=True)
    for file in manifest["file"]:
        (tmp_path / file).write_bytes((raw / file).read_bytes())
    write_amc(tmp_path / "all_asfamc/subjects/16/16_15.amc", skeleton, values, "test")
    manifest = manifest.assign(sha256=[sha256_of(tmp_path / file) for file in manifest["file"]])
    (recording,) = load_recordings(manifest, tmp_path).recordings
    assert recording.n_unsolved == 5
    assert len(recording.motion.values) == len(values) - 5


def test_motionless_recording_keeps_its_frames():
    skeleton = make_skeleton(0, 1)
    assert n_unsolved_frames(skeleton, np.zeros((4, len(skeleton.channels)))) == 0


# --- the real motions -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The real files, prepared: (raw folder, Prepared)."""
    folder = os.environ.get("REPLICATION_ARCHIVES")
    if not folder or not (Path(folder) / NAME / "allasfamc.zip").is_file():
        pytest.skip("no real data")
    raw = tmp_path_factory.mktemp("real") / NAME
    return raw, prepare(NAME, source="archives", raw=raw, archives=folder, allow_subset=True)


@pytest.fixture(scope="module")
def loaded(real):
    raw, prepared = real
    return load_recordings(prepared.manifest, raw)


@pytest.mark.real
def test_real_originals_match_their_checksums_and_the_rest_is_unlisted(real):
    _, prepared = real
    table = prepared.manifest.set_index("id")
    for motion in listed_motions():
        assert table.loc[motion.id, "check"] == ("unlisted" if motion.reconstructed else "listed")
    assert prepared.missing == ()


@pytest.mark.real
def test_real_positions_equal_those_of_another_program(real):
    raw, _ = real
    golden = np.load(GOLDEN)
    for motion in listed_motions():
        if f"{motion.id}_frames" not in golden:
            continue
        skeleton = read_asf(raw / motion.skeleton_file)
        values = read_amc(raw / motion.file, skeleton)
        assert len(values) == golden[f"{motion.id}_n_frames"]
        found = forward_kinematics(skeleton, pose(skeleton, values))
        joints = [skeleton.joints.index(name) for name in golden[f"{motion.id}_joints"]]
        np.testing.assert_allclose(
            found[golden[f"{motion.id}_frames"]][:, joints],
            golden[f"{motion.id}_positions"] / 0.45 * 0.0254,
            rtol=0,
            atol=1e-12,
        )


@pytest.mark.real
def test_all_real_sequences_in_at_most_fifteen_seconds(real):
    raw, prepared = real
    start = time.process_time()
    loaded = load_recordings(prepared.manifest, raw)
    features = motion_features(loaded.motions)
    assert time.process_time() - start < 15
    assert Counter(loaded.labels) == CLASS_SIZES
    assert loaded.missing == ()
    assert loaded.describe() == "56 sequences"
    assert all(np.isfinite(f).all() and f.shape[1] == 91 for f in features)


@pytest.mark.real
def test_real_feet_stand_on_the_floor_on_the_common_skeleton(loaded):
    """Scaling the translations with the rest height keeps feet where they were, within 2 cm."""
    joints = loaded.motions[0].skeleton.joints
    feet = [f"{joint}_y" for joint in ("lfoot", "ltoes", "rfoot", "rtoes") if joint in joints]
    names = feature_names(loaded.motions[0].skeleton)
    columns = [names.index(foot) for foot in feet]
    motions = loaded.motions[::7]
    own = motion_features(motions, common_skeleton=False)
    common = motion_features(motions)
    for a, b in zip(own, common, strict=True):
        low_own, low_common = (np.median(f[:, columns].min(axis=1)) for f in (a, b))
        assert abs(low_common - low_own) < 0.02


@pytest.mark.real
def test_real_skeletons_share_their_structure(loaded):
    skeletons = {motion.skeleton for motion in loaded.motions}
    assert len(skeletons) == 5
    assert len(mean_skeleton(list(skeletons)).joints) == 31
    # The generator's skeleton, which checks unlisted files, has the same channels.
    assert {s.channels for s in skeletons} == {next(iter(skeletons)).channels}
    assert set(make_skeleton(0, 0).channels) == set(next(iter(skeletons)).channels)


@pytest.mark.real
def test_real_frames_do_not_jump_once_the_body_is_solved(loaded):
    dropped = {r.listed.id: r.n_unsolved for r in loaded.recordings if r.n_unsolved}
    assert dropped == {"09_10": 4, "16_15": 7}
    for motion in loaded.motions:
        positions = forward_kinematics(motion.skeleton, pose(motion.skeleton, motion.values))
        # 0.15 m in 1/120 s are 18 m/s.
        assert np.abs(np.diff(positions, axis=0)).max() < 0.15
