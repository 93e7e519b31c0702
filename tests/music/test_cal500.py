"""Annotations and recordings of songs: matched, listed, or refused by name."""

import hashlib
import io
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from replication.data import catalog
from replication.data.audio import load_audio
from replication.data.sources import prepare
from replication.music import annotations as song_annotations
from replication.music.annotations import (
    Annotations,
    Cal500Error,
    check_published_counts,
    modelled_tags,
    read_annotations,
    scored_tags,
    write_annotations,
)
from replication.music.cal500 import find_audio
from replication.music.mfcc import MFCC, LogMel, cut_sequences, song_features

RATE = 22050
SECONDS = 4
TIME = np.arange(SECONDS * RATE) / RATE
TONE = 0.5 * np.sin(2 * np.pi * 440 * TIME)


def encoded(samples, rate=RATE, kind="WAV", **options):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=kind, **options)
    return buffer.getvalue()


# --- annotations --------------------------------------------------------------------------------

SONGS = ("10cc-for_you", "abba-waterloo_(live,_1974)", "semi-charmed-life")
TAGS = ("Genre-Rock", "Genre-Best-Rock", "Instrument_-_Piano", "Instrument_-_Piano-Solo")
HARD = np.array([[1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 1, 0]], dtype=bool)
SMALL = Annotations(SONGS, TAGS, HARD, np.where(HARD, 0.8, 0.25))


def test_annotations_are_read_as_written(tmp_path):
    write_annotations(tmp_path, SMALL)
    again = read_annotations(tmp_path)
    assert (again.songs, again.tags) == (SONGS, TAGS)
    np.testing.assert_array_equal(again.hard, SMALL.hard)
    np.testing.assert_array_equal(again.soft, SMALL.soft)


def test_selection_keeps_the_given_order():
    part = SMALL.select(songs=(SONGS[2], SONGS[0]), tags=(TAGS[2],))
    assert (part.songs, part.tags) == ((SONGS[2], SONGS[0]), (TAGS[2],))
    np.testing.assert_array_equal(part.hard, [[1], [0]])
    with pytest.raises(KeyError, match="unknown"):
        SMALL.select(songs=["unknown"])


def test_repeating_tags_get_no_model_and_rare_ones_no_score():
    assert modelled_tags(SMALL) == ("Genre-Rock", "Instrument_-_Piano")
    assert scored_tags(SMALL, min_songs=2) == ("Genre-Rock", "Instrument_-_Piano")
    assert scored_tags(SMALL.select(songs=SONGS[:2]), min_songs=2) == ("Genre-Rock",)
    with pytest.raises(ValueError, match="no tag has 3 of the 3 songs, the most frequent has 2"):
        scored_tags(SMALL, min_songs=3)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("songNames.txt", None, "songNames.txt: no such file"),
        ("vocab.txt", "", "vocab.txt: is empty"),
        ("songNames.txt", "a-b\na-b\na-c\n", "songNames.txt: 'a-b' stands there twice"),
        ("songNames.txt", "a-b\n../c\na-c\n", r"songNames.txt: '\.\./c' cannot be the name"),
        ("hardAnnotations.txt", "1,1,0,0\n", "has 1 rows, songNames.txt names 3 songs"),
        ("hardAnnotations.txt", "1,1,0\n" * 3, "row 1 has 3 values, vocab.txt lists 4 tags"),
        ("hardAnnotations.txt", "1,x,0,0\n" * 3, "hardAnnotations.txt: row 1: could not convert"),
        ("hardAnnotations.txt", "1,2,0,0\n" * 3, "values other than 0 and 1"),
        ("softAnnotations.txt", "1,0,0,1.5\n" * 3, "softAnnotations.txt: holds values outside"),
        ("softAnnotations.txt", "1,0,0,nan\n" * 3, "softAnnotations.txt: holds values outside"),
        ("vocab.txt", b"\xff\xfe", "vocab.txt: is no text in UTF-8"),
    ],
)
def test_bad_annotations_are_named(file, content, message, tmp_path):
    write_annotations(tmp_path, SMALL)
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(Cal500Error, match=message):
        read_annotations(tmp_path)


def test_wrong_counts_tell_each_number():
    songs, tags = tuple(map(str, range(60))), tuple(map(str, range(4)))
    annotations = Annotations(songs, tags, np.ones((60, 4), bool), np.ones((60, 4)))
    with pytest.raises(Cal500Error, match=r"60 songs .*502, 4 tags .*174, 4 modelled .*149, 4 sco"):
        check_published_counts(annotations)


# --- files of songs -----------------------------------------------------------------------------


def audio_folder(folder, *names):
    (folder / "CAL500_32kps").mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / "CAL500_32kps" / name).write_bytes(encoded(TONE, kind="FLAC"))


def test_recordings_are_matched_by_name(tmp_path):
    strangers = ["abba-waterloo.mp3", f"{SONGS[1]}.m4a"]
    others = ["Thumbs.db", "desktop.ini", "readme.txt", f"{SONGS[1]}.mp3.part"]
    audio_folder(tmp_path, f"{SONGS[2]}.OGG", f"{SONGS[0]}.mp3", ".DS_Store", *strangers, *others)
    files = find_audio(tmp_path, SONGS)
    assert list(files.paths) == [SONGS[0], SONGS[2]]
    assert files.songs_without_audio == (SONGS[1],)
    assert [path.name for path in files.audio_without_song] == sorted(strangers)
    assert [path.name for path in files.others] == sorted(others)


def test_what_is_no_recording_by_name_is_left_out_and_counted(place):
    (place.mine / "CAL500_32kps" / "desktop.ini").touch()
    assert place.prepare().ignored == ("CAL500_32kps/desktop.ini",)
    (place.mine / "CAL500_32kps" / f"{SONGS[1]}.m4a").touch()
    with pytest.raises(Cal500Error, match=r"1974\)\.m4a: a recording must end with \.mp3, \.wav"):
        place.prepare()


def test_two_recordings_of_a_song_are_an_error(tmp_path):
    audio_folder(tmp_path, f"{SONGS[0]}.mp3", f"{SONGS[0]}.flac")
    with pytest.raises(Cal500Error, match=r"10cc-for_you\.mp3: song .* another file, .*\.flac"):
        find_audio(tmp_path, SONGS)


COMPOSED, DECOMPOSED = "caf\u00e9-se\u00f1or", "cafe\u0301-sen\u0303or"


@pytest.mark.parametrize(("song", "name"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_an_accent_matches_in_both_its_forms(song, name, tmp_path):
    audio_folder(tmp_path, f"{name}.mp3")
    files = find_audio(tmp_path, [song])
    assert list(files.paths) == [song]
    assert files.audio_without_song == ()
    audio_folder(tmp_path, f"{song}.mp3")
    with pytest.raises(Cal500Error, match=r"another file, .*differ in the Unicode form"):
        find_audio(tmp_path, [song])


def test_a_song_in_two_unicode_forms_is_listed_twice(tmp_path):
    songs = (COMPOSED, DECOMPOSED, SONGS[0])
    write_annotations(tmp_path, Annotations(songs, TAGS, HARD, 1.0 * HARD))
    with pytest.raises(Cal500Error, match="stands there twice, in two Unicode forms"):
        read_annotations(tmp_path)


def test_a_missing_folder_says_what_it_must_hold(tmp_path):
    with pytest.raises(Cal500Error, match="CAL500_32kps: no such folder; it must hold"):
        find_audio(tmp_path, SONGS)


# --- as a data set of the workflow --------------------------------------------------------------


class Place:
    """A published collection of three songs, and what a user has of it."""

    def __init__(self, folder):
        self.archives, self.raw = folder / "archives", folder / "run" / "cal500"
        self.mine = self.archives / "cal500"
        write_annotations(self.mine, SMALL)
        (self.mine / "README_CAL500.txt").write_text("the notice")
        audio_folder(self.mine, *(f"{song}.mp3" for song in SONGS))

    def prepare(self, **options):
        return prepare(
            "cal500",
            **{"source": "archives", "raw": self.raw, "archives": self.archives, **options},
        )


@pytest.fixture
def place(tmp_path, monkeypatch):
    place = Place(tmp_path)
    resources = tmp_path / "resources"
    (resources / "checksums").mkdir(parents=True)
    (resources / "datasets.csv").write_bytes((catalog.RESOURCES / "datasets.csv").read_bytes())
    (resources / "checksums" / "cal500.sha256").write_text(
        "".join(
            f"{hashlib.sha256((place.mine / file).read_bytes()).hexdigest()}  {file}\n"
            for file in song_annotations.FILES
        )
    )
    monkeypatch.setattr(catalog, "RESOURCES", resources)
    monkeypatch.setattr(
        song_annotations,
        "PUBLISHED_COUNTS",
        {"songs": 3, "tags": 4, "modelled tags": 2, "scored tags": 2},
    )
    monkeypatch.setattr(song_annotations.scored_tags, "__defaults__", (2,))
    return place


def songs_of(prepared, status="used"):
    table = prepared.table
    return sorted(table.loc[(table["label"] == "song") & (table["status"] == status), "id"])


def test_a_whole_collection_is_taken_with_its_notice(place):
    prepared = place.prepare()
    assert songs_of(prepared) == sorted(SONGS)
    assert prepared.describe() == "3 songs (3 without a published checksum)"
    assert prepared.origin == "real"
    checks = prepared.table.groupby("label")["check"].unique().map(list).to_dict()
    assert checks == {"annotations": ["listed"], "song": ["unlisted"]}
    assert (place.raw / "README_CAL500.txt").read_text() == "the notice"
    assert list(find_audio(place.raw, SONGS).paths) == list(SONGS)
    assert read_annotations(place.raw).songs == SONGS


def test_missing_songs_stop_the_run_unless_a_subset_is_allowed(place):
    (place.mine / "CAL500_32kps" / f"{SONGS[1]}.mp3").unlink()
    with pytest.raises(Cal500Error, match=r"(?s)2 of 3 songs.*abba-waterloo.*allow_subset: true"):
        place.prepare()
    prepared = place.prepare(allow_subset=True)
    assert prepared.describe() == "2 of 3 songs (2 without a published checksum)"
    assert prepared.missing == (f"CAL500_32kps/{SONGS[1]}.mp3",)


def test_annotations_alone_are_no_data_set(place):
    for path in (place.mine / "CAL500_32kps").iterdir():
        path.unlink()
    for empty in (True, False):
        if not empty:
            (place.mine / "CAL500_32kps").rmdir()
        with pytest.raises(Cal500Error, match=r"0 of 3 songs.*") as caught:
            place.prepare(allow_subset=True)
        assert "named <artist>-<title>" in str(caught.value)


def test_a_damaged_recording_stops_the_run_or_is_listed(place):
    path = place.mine / "CAL500_32kps" / f"{SONGS[0]}.mp3"
    path.write_bytes(encoded(0 * TONE))
    with pytest.raises(Cal500Error, match=r"10cc-for_you\.mp3 is silent.*on_bad_file: skip"):
        place.prepare()
    prepared = place.prepare(on_bad_file="skip")
    assert songs_of(prepared, "skipped") == [SONGS[0]]
    assert prepared.describe() == "2 of 3 songs (2 without a published checksum)"
    assert "silent" in prepared.skipped[f"CAL500_32kps/{path.name}"]
    assert not (place.raw / "CAL500_32kps" / path.name).exists()


def test_recordings_must_fit_the_features_that_are_made_of_them(place):
    path = place.mine / "CAL500_32kps" / f"{SONGS[0]}.mp3"
    path.write_bytes(encoded(TONE[::2], RATE // 2))
    with pytest.raises(Cal500Error, match=r"10cc.*features\.sampling_rate: 11025"):
        place.prepare()
    low = {"sampling_rate": RATE // 2, "min_frames": 125}
    assert songs_of(place.prepare(recordings=low)) == sorted(SONGS)
    # What was taken for other features is looked at anew.
    with pytest.raises(Cal500Error, match=r"10cc.* lasts 4\.00 s, shorter than"):
        place.prepare(recordings={**low, "min_frames": 400})


def test_copies_are_named_and_keep_the_names_of_their_songs(place):
    folder = place.mine / "CAL500_32kps"
    path = folder / f"{SONGS[2]}.mp3"
    path.write_bytes(encoded(0.5 * TONE, kind="FLAC"))
    prepared = place.prepare()
    assert prepared.copies == {
        f"CAL500_32kps/{SONGS[1]}.mp3": f"equal to CAL500_32kps/{SONGS[0]}.mp3"
    }


def test_a_recording_of_no_song_stops_the_run_or_is_listed(place):
    folder = place.mine / "CAL500_32kps"
    (folder / f"{SONGS[1]}.mp3").rename(folder / "abba-waterloo_live_1974.mp3")
    with pytest.raises(Cal500Error, match=r"waterloo_live_1974.* meant for 'abba-waterloo_\(live"):
        place.prepare(allow_subset=True)
    prepared = place.prepare(allow_subset=True, on_bad_file="skip")
    assert prepared.ignored == ("CAL500_32kps/abba-waterloo_live_1974.mp3",)


def test_altered_or_missing_annotations_are_never_used(place):
    path = place.mine / "hardAnnotations.txt"
    path.write_text(path.read_text().replace("1,1,0,0", "1,1,1,0"))
    with pytest.raises(Cal500Error, match=r"hardAnnotations\.txt: differs from the published file"):
        place.prepare()
    path.unlink()
    with pytest.raises(Cal500Error, match=r"hardAnnotations\.txt is missing"):
        place.prepare()


@pytest.mark.parametrize("ends", [b"\r\n", b"\r"])
def test_annotations_are_the_same_whatever_their_line_ends(place, ends):
    path = place.mine / "hardAnnotations.txt"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\n", ends))
    assert songs_of(place.prepare()) == sorted(SONGS)
    assert (place.raw / path.name).read_bytes() == content


def test_a_second_run_needs_no_archives_and_changes_nothing(place):
    first = place.prepare()
    stamps = {path: path.stat().st_mtime_ns for path in place.raw.rglob("*.mp3")}
    place.archives.rename(place.archives.with_name("elsewhere"))
    second = place.prepare(archives=None)
    assert first.table.equals(second.table)
    assert stamps == {path: path.stat().st_mtime_ns for path in place.raw.rglob("*.mp3")}


def test_a_new_recording_of_a_song_replaces_the_old_one(place):
    place.prepare()
    new = encoded(0.5 * TONE, kind="FLAC")
    (place.mine / "CAL500_32kps" / f"{SONGS[0]}.mp3").write_bytes(new)
    place.prepare()
    assert (place.raw / "CAL500_32kps" / f"{SONGS[0]}.mp3").read_bytes() == new


def test_embedded_songs_come_through_the_same_interface(tmp_path):
    prepared = prepare(
        "cal500", source="embedded", raw=tmp_path / "raw", embedded={"songs": 2, "seconds": 4}
    )
    assert prepared.origin == "synthetic"
    assert len(songs_of(prepared)) == 2
    assert set(prepared.manifest["label"]) == {"annotations", "song"}
    assert tuple(songs_of(prepared)) == read_annotations(tmp_path / "raw").songs


# --- real data ----------------------------------------------------------------------------------


@pytest.fixture
def real():
    folder = os.environ.get("REPLICATION_ARCHIVES")
    if folder is None or not (Path(folder) / "cal500").is_dir():
        pytest.skip("no real data")
    return Path(folder)


@pytest.mark.real
def test_real_annotations_have_the_papers_numbers(real):
    annotations = read_annotations(real / "cal500")
    check_published_counts(annotations)
    assert (len(modelled_tags(annotations)), len(scored_tags(annotations))) == (149, 97)
    for file, expected in catalog.read_checksums("cal500").items():
        found = hashlib.sha256((real / "cal500" / file).read_bytes()).hexdigest()
        assert found == expected, file


@pytest.mark.real
def test_real_annotations_without_recordings_say_what_is_missing(real, tmp_path):
    with pytest.raises(Cal500Error, match=r"recordings of 0 of 502 songs are at hand"):
        prepare("cal500", source="archives", raw=tmp_path / "raw", archives=real)


@pytest.mark.real
def test_real_recordings_go_through_loader_and_features(real, tmp_path):
    clips = sorted((real / "music_clips" / "audio").glob("*.ogg"))
    if not clips:
        pytest.skip("no real data")
    (tmp_path / "CAL500_32kps").mkdir()
    songs = [clip.name.removesuffix(".ogg") for clip in clips]
    for clip in clips:
        (tmp_path / "CAL500_32kps" / clip.name).symlink_to(clip)
    files = find_audio(tmp_path, songs)
    assert list(files.paths) == songs
    paths = list(files.paths.values())
    cepstra = list(song_features(paths, MFCC()))
    for frames, path in zip(cepstra, paths, strict=True):
        signal = load_audio(path)
        assert frames.shape == (1 + (signal.size - 1024) // 512, 39)
        assert np.isfinite(frames).all()
        assert (frames.std(axis=0) > 0).all()
        assert cut_sequences(frames).shape[1:] == (125, 39)
        assert LogMel()(signal).shape == (len(frames), 34)
    # Each recording is nearer to its own other half than to most others: features hold timbre.
    means = np.array(
        [[half[:, :13].mean(axis=0) for half in np.array_split(f, 2)] for f in cepstra]
    )
    distance = np.linalg.norm(means[:, None, 0] - means[None, :, 1], axis=2)
    ranks = (distance < np.diag(distance)[:, None]).sum(axis=1)
    assert np.median(ranks) == 0
