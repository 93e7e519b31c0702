"""Recordings in any condition: the whole sound, or an error that names the file and the fault."""

import functools
import io
import shutil
import struct
import subprocess

import numpy as np
import pytest
import soundfile

from replication.data.audio import AudioFileError, load_audio

RATE = 22050
SECONDS = 4
TIME = np.arange(SECONDS * RATE) / RATE
TONE = 0.5 * np.sin(2 * np.pi * 440 * TIME)
NOISE = np.random.default_rng(0).normal(0, 0.1, TIME.size)

ID3 = b"ID3\4\0\0\0\0\1\0" + bytes(128)


def encoded(samples, rate=RATE, kind="WAV", **options):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=kind, **options)
    return buffer.getvalue()


@pytest.fixture
def stored(tmp_path):
    def store(content, name="song.mp3"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return store


def refused(path, message, **options):
    """The error names the file first, then the fault."""
    with pytest.raises(AudioFileError, match=message) as caught:
        load_audio(path, **options)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("kind", ["WAV", "RF64", "AIFF", "AU", "CAF", "FLAC", "OGG", "MP3"])
def test_every_kind_gives_the_same_sound_whatever_its_suffix(kind, stored):
    signal = load_audio(stored(encoded(TONE, kind=kind), name="song.raw"))
    assert signal.dtype == np.float32
    assert signal.shape == TONE.shape
    middle = slice(RATE, 3 * RATE)
    lossy = kind in ("OGG", "MP3")
    np.testing.assert_allclose(signal[middle], TONE[middle], atol=0.02 if lossy else 1e-4)


def test_channels_are_averaged(stored):
    stereo = np.column_stack([TONE, 0.2 * TONE])
    np.testing.assert_allclose(load_audio(stored(encoded(stereo))), 0.6 * TONE, atol=1e-4)


def test_channels_that_cancel_out_are_an_error(stored):
    refused(stored(encoded(np.column_stack([TONE, -TONE]))), "silent")


@pytest.mark.parametrize("rate", [44100, 48000])
def test_a_higher_rate_is_resampled_without_aliases(rate, stored):
    t = np.arange(SECONDS * rate) / rate
    high = 0.4 * np.sin(2 * np.pi * 15000 * t)  # above half of 22,050 Hz
    path = stored(encoded(0.5 * np.sin(2 * np.pi * 440 * t) + high, rate))
    signal = load_audio(path)
    assert signal.size == TONE.size
    middle = slice(RATE, 3 * RATE)
    np.testing.assert_allclose(signal[middle], TONE[middle], atol=2e-3)


def test_a_lower_rate_is_an_error(stored):
    path = stored(encoded(TONE[::2], RATE // 2))
    setting = r"experiments\.music\.features\.sampling_rate: 11025"
    refused(path, f"sampling rate of 11025 Hz, below the 22050 Hz .*{setting}")
    assert load_audio(path, sampling_rate=RATE // 2).size == TONE.size // 2


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        (TONE[:RATE], {}, r"lasts 1\.00 s, shorter than 3 s"),
        (TONE[:0], {}, r"lasts 0\.00 s"),
        (TONE, {"max_seconds": 3.9}, r"lasts longer than 3\.9 s"),
        (0 * TONE, {}, "silent"),
        (1e-3 * TONE, {}, "silent"),
    ],
)
def test_unusable_recordings_are_named(samples, options, message, stored):
    refused(stored(encoded(samples)), message, **options)


def test_the_limits_of_duration_are_inclusive(stored):
    load_audio(stored(encoded(TONE)), min_seconds=SECONDS, max_seconds=SECONDS)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_samples_that_are_no_numbers_are_an_error(value, stored):
    samples = TONE.copy()
    samples[1000] = value
    refused(stored(encoded(samples, subtype="FLOAT")), "NaN or infinite")


@pytest.mark.parametrize(
    "content", [b"", b"no music " * 1000, bytes(20000), encoded(TONE)[:20]], ids=len
)
def test_what_is_no_audio_is_an_error(content, stored):
    refused(stored(content), "empty|no intact audio file|of no kind that is read")


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
@pytest.mark.parametrize(
    "kind", ["WAV", "WAVEX", "RF64", "AIFF", "AU", "CAF", "FLAC", "OGG", "MP3"]
)
def test_truncated_recordings_are_errors(kind, share, stored):
    content = encoded(NOISE, kind=kind)
    load_audio(stored(content), min_seconds=0)
    path = stored(content[: int(share * len(content))])
    refused(path, "truncated|no intact audio", min_seconds=0)


KINDS_REFUSED = ("W64", "VOC", "NIST", "SVX", "PAF", "IRCAM", "MAT4", "MAT5", "PVF", "AVR")


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [*((kind, None) for kind in KINDS_REFUSED), ("AIFF", "DWVW_16"), ("CAF", "ALAC_16")],
)
def test_a_kind_that_could_be_cut_without_a_trace_is_refused_by_name(kind, subtype, stored):
    path = stored(encoded(NOISE, kind=kind, subtype=subtype))
    refused(path, "(is of the kind|is of no kind).*WAV, RF64, AIFF, AU, CAF, FLAC, Ogg and MP3")


def test_what_was_written_to_a_pipe_is_read_to_its_end_if_it_says_so(stored):
    wav = bytearray(encoded(TONE))
    wav[4:8] = wav[40:44] = b"\xff" * 4
    assert load_audio(stored(wav)).size == TONE.size
    flac = bytearray(encoded(TONE, kind="FLAC"))
    flac[22:42] = bytes(20)  # number of samples, sum
    assert load_audio(stored(flac)).size == TONE.size
    au = bytearray(encoded(TONE, kind="AU"))
    au[8:12] = b"\xff" * 4
    refused(stored(au), "does not state how long it is")


def test_a_flac_with_fewer_samples_stated_is_not_cut_in_silence(stored):
    content = bytearray(encoded(TONE, kind="FLAC"))
    content[22:26] = (TONE.size // 2).to_bytes(4, "big")
    refused(stored(content), "truncated or corrupt", min_seconds=0)


@pytest.mark.parametrize("kind", ["WAV", "AIFF", "FLAC", "OGG", "MP3"])
def test_tags_around_the_sound_are_no_part_of_it(kind, stored):
    content = encoded(TONE, kind=kind)
    whole = load_audio(stored(content))
    footer = b"ID3\4\0\x10\0\0\1\0" + bytes(128) + b"3DI\4\0\x10\0\0\1\0"
    for before, behind in ((b"", b"TAG" + bytes(125)), (ID3, b""), (footer, b""), (ID3, footer)):
        np.testing.assert_array_equal(load_audio(stored(before + content + behind)), whole)


def test_a_header_that_promises_anything_costs_neither_time_nor_memory(stored):
    rf64 = bytearray(encoded(TONE, kind="RF64"))
    sizes = rf64.index(b"ds64") + 8
    rf64[sizes : sizes + 24] = struct.pack("<QQQ", 1 << 62, 1 << 62, 1 << 61)
    refused(stored(rf64), "truncated|does not state|no intact")
    wide = encoded(np.broadcast_to(TONE[:, None] / 2, (TONE.size, 64)))
    assert load_audio(stored(wide)).size == TONE.size


@pytest.mark.parametrize("kind", ["FLAC", "OGG"])
def test_damage_inside_is_an_error_where_the_format_has_checksums(kind, stored):
    content = bytearray(encoded(NOISE, kind=kind))
    middle = len(content) // 2
    content[middle : middle + 300] = bytes(300)
    refused(stored(bytes(content)), "corrupt|no intact audio")


def test_what_follows_an_ogg_stream_is_a_whole_stream(stored):
    content = encoded(TONE, kind="OGG")
    refused(stored(content + content[: len(content) // 2]), "truncated")


def test_errors_survive_the_way_from_a_worker_process(stored):
    import pickle

    with pytest.raises(AudioFileError) as caught:
        load_audio(stored(b""))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_missing_file_is_the_system_s_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_audio(tmp_path / "none.mp3")


# --- MP3 ----------------------------------------------------------------------------------------


@functools.cache
def song(rate, channels, mode):
    """Two seconds, loud and then quiet."""
    samples = np.resize(LOUD_THEN_QUIET, 2 * rate)
    return mp3(np.column_stack([samples, 0.5 * samples][:channels]), rate, mode)


def mp3(samples, rate=RATE, mode="VARIABLE"):
    return encoded(samples, rate, "MP3", bitrate_mode=mode, compression_level=0.5)


def without_number(content):
    """Take away the frame in front, which states how many there are."""
    return content[content.index(content[:2], 4) :]


def with_number(content, change):
    """Change the stated number of frames."""
    at = max(content.find(b"Xing", 0, 64), content.find(b"Info", 0, 64)) + 8
    number = change(int.from_bytes(content[at : at + 4], "big"))
    return content[:at] + number.to_bytes(4, "big") + content[at + 4 :]


LOUD_THEN_QUIET = np.concatenate([NOISE[:RATE], 0.02 * TONE[:RATE]])
FRONTS = {
    "right": lambda content: content,
    "none": without_number,
    "zero": lambda content: with_number(content, lambda n: 0),
    "half": lambda content: with_number(content, lambda n: n // 2),
    "double": lambda content: with_number(content, lambda n: 2 * n),
}


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("mode", ["CONSTANT", "VARIABLE"])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [8000, 22050, 44100])  # MPEG-2.5, 2 and 1
def test_an_mp3_is_decoded_to_its_end_whatever_its_front_says(rate, channels, mode, front, stored):
    content = song(rate, channels, mode)
    whole = load_audio(stored(content), rate, min_seconds=0)
    assert whole.size == 2 * rate
    changed = load_audio(stored(FRONTS[front](content)), rate, min_seconds=0)
    if front == "none":
        # The silence that the encoder added, a few frames, is then a part of the song.
        assert 0 < changed.size - whole.size < 4 * 1152
    else:
        np.testing.assert_array_equal(changed, whole)


@pytest.mark.parametrize(
    "command",
    [
        "lame -t -b 32",
        "lame -t -V 5",
        "lame --freeformat -b 60",
        "lame -p -m m -b 24",
        "ffmpeg -b:a 32k",
        "ffmpeg -q:a 5",
    ],
)
def test_mp3s_of_other_encoders_are_decoded_to_their_end(command, stored):
    program, *options = command.split()
    if shutil.which(program) is None:
        pytest.skip(f"no {program}")
    source = stored(encoded(LOUD_THEN_QUIET), "a.wav")
    if program == "lame":
        call = ["lame", "--quiet", "--resample", "22.05", *options, source, "-"]
    else:
        call = ["ffmpeg", "-loglevel", "error", "-i", source, *options, "-f", "mp3", "-"]
    content = subprocess.run(call, check=True, capture_output=True).stdout
    assert 2 <= load_audio(stored(content), min_seconds=0).size / RATE < 2.2
    refused(stored(content[:-1]), "truncated", min_seconds=0)


def test_an_mp3_read_in_blocks_is_the_mp3_read_at_once(stored):
    content = mp3(np.resize(NOISE, 15 * RATE))  # more than a block
    at_once, _ = soundfile.read(io.BytesIO(content), dtype="float32")
    np.testing.assert_allclose(load_audio(stored(content)), at_once, atol=1e-6)


def test_what_lies_in_the_working_folder_does_not_matter(stored, tmp_path, monkeypatch):
    (tmp_path / "._").touch()
    monkeypatch.chdir(tmp_path)
    assert load_audio(stored(mp3(TONE))).size == TONE.size


@pytest.mark.parametrize("front", ["right", "none"])
def test_a_cut_mp3_is_truncated_unless_the_cut_leaves_no_trace(front, stored):
    content = FRONTS[front](mp3(NOISE))
    whole = load_audio(stored(content), min_seconds=0).size
    silent = set()
    for missing in [*range(1, 9), *range(9, 400, 16)]:
        try:
            samples = load_audio(stored(content[:-missing]), min_seconds=0)
        except AudioFileError as error:
            assert "truncated" in error.fault  # noqa: PT017
        else:
            silent.add(whole - samples.size)
    # Without a number whole frames may be missing.
    assert silent <= (set() if front == "right" else {576, 2 * 576, 3 * 576, 4 * 576})


@pytest.mark.parametrize("front", ["right", "none"])
def test_tags_and_strays_around_an_mp3_are_no_part_of_it(front, stored):
    content = FRONTS[front](mp3(NOISE))
    whole = load_audio(stored(content))
    tag = b"TAG" + b"old tag".ljust(125, b"\0")
    strays = np.random.default_rng(1).bytes(5000)
    for before, behind in ((ID3, b""), (b"", tag), (b"", tag + b"junk" * 500), (ID3, strays)):
        np.testing.assert_array_equal(load_audio(stored(before + content + behind)), whole)
    twice = without_number(content) if front == "right" else content
    joined = load_audio(stored(content + tag + ID3 + twice))
    assert joined.size - 2 * whole.size < 8 * 576


@pytest.mark.parametrize("front", ["right", "none"])
def test_zeros_and_gaps_in_the_place_of_frames_are_errors(front, stored):
    content = FRONTS[front](mp3(NOISE))
    third = len(content) // 3
    refused(stored(content[:-third] + bytes(third)), "truncated")
    refused(stored(content[:third] + bytes(1000) + content[third + 1000 :]), "damaged|truncated")
    refused(stored(content[:third] + content[third + 500 :]), "damaged|truncated")
