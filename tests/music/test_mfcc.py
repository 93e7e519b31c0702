"""Spectral features follow their formulas, frame by frame, whatever the number of cores."""

import numpy as np
import pytest
from scipy.fft import dct

from replication.data.audio import AudioFileError
from replication.music.framing import frame_seconds, framing
from replication.music.mfcc import (
    MFCC,
    LogMel,
    cut_sequences,
    read_features,
    song_features,
    write_features,
)

soundfile = pytest.importorskip("soundfile")

RATE = 22050
NOISE = (0.1 * np.random.default_rng(5).standard_normal(3 * RATE)).astype(np.float32)


def slaney_mel(hertz):
    """The Auditory Toolbox's scale: linear below 1 kHz, 27 steps a factor of 6.4 above."""
    hertz = np.asarray(hertz, dtype=float)
    return np.where(
        hertz < 1000, 3 * hertz / 200, 15 + 27 * np.log(np.maximum(hertz, 1) / 1000) / np.log(6.4)
    )


def slaney_hertz(mel):
    mel = np.asarray(mel, dtype=float)
    return np.where(mel < 15, 200 * mel / 3, 1000 * np.exp(np.log(6.4) * (mel - 15) / 27))


def bands_by_the_formula(signal, n_bands):
    """The module's B, written with loops and numpy's FFT."""
    edges = slaney_hertz(np.linspace(0, slaney_mel(RATE / 2), n_bands + 2))
    f = np.arange(513) * RATE / 1024
    triangles = np.array(
        [
            np.interp(f, [low, mid, high], [0, 1, 0]) * 2 / (high - low)
            for low, mid, high in zip(edges[:-2], edges[1:-1], edges[2:], strict=True)
        ]
    )
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(1024) / 1024)
    starts = range(0, len(signal) - 1023, 512)
    power = np.array([abs(np.fft.rfft(hann * signal[s : s + 1024])) ** 2 for s in starts])
    return 10 * np.log10(np.maximum(1e-10, power @ triangles.T))


def test_mel_bands_follow_the_formula():
    bands = LogMel()(NOISE)
    assert bands.dtype == np.float32
    assert bands.shape == (1 + (NOISE.size - 1024) // 512, 34)
    np.testing.assert_allclose(bands, bands_by_the_formula(NOISE, 34), atol=1e-3)


def test_cepstrum_and_derivatives_follow_the_formula():
    features = MFCC()(NOISE)
    c = dct(bands_by_the_formula(NOISE, 40), type=2, norm="ortho", axis=1)[:, :13]
    assert features.shape == (len(c), 39)
    np.testing.assert_allclose(features[:, :13], c, atol=1e-3)
    np.testing.assert_allclose(features[1:-1, 13:26], (c[2:] - c[:-2]) / 2, atol=1e-3)
    second = c[2:] - 2 * c[1:-1] + c[:-2]
    np.testing.assert_allclose(features[1:-1, 26:], second, atol=2e-3)
    # The outermost frames take their neighbours' derivatives.
    np.testing.assert_allclose(features[[0, -1], 13:], features[[1, -2], 13:], atol=1e-4)


@pytest.mark.parametrize("hertz", [110.0, 440.0, 2000.0, 6000.0])
def test_a_tone_is_loudest_in_the_band_around_it(hertz):
    tone = np.sin(2 * np.pi * hertz * np.arange(RATE) / RATE).astype(np.float32)
    centres = slaney_hertz(np.linspace(0, slaney_mel(RATE / 2), 36))[1:-1]
    loudest = np.bincount(LogMel()(tone).argmax(axis=1)).argmax()
    assert abs(slaney_mel(centres[loudest]) - slaney_mel(hertz)) <= slaney_mel(RATE / 2) / 35


def test_amplification_moves_only_the_zeroth_coefficient():
    quiet, loud = MFCC()(NOISE), MFCC()(10 * NOISE)
    np.testing.assert_allclose(loud[:, 0] - quiet[:, 0], 20 * np.sqrt(40), atol=1e-3)
    np.testing.assert_allclose(loud[:, 1:], quiet[:, 1:], atol=1e-3)


@pytest.mark.parametrize("features", [MFCC(), LogMel()])
def test_a_frame_depends_only_on_its_own_samples(features):
    changed = NOISE.copy()
    changed[RATE:] *= 1000  # far above librosa's default range of 80 dB below the maximum
    untouched = (RATE - 1024) // 512 - 1
    np.testing.assert_allclose(features(changed)[:untouched], features(NOISE)[:untouched])


@pytest.mark.parametrize("features", [MFCC(), LogMel()])
def test_a_delay_of_one_hop_is_a_delay_of_one_frame(features):
    delayed = features(NOISE[512:])
    np.testing.assert_allclose(delayed[1:-1], features(NOISE)[2:-1], atol=1e-3)


def test_digital_silence_is_finite():
    assert np.isfinite(MFCC()(np.zeros(RATE, np.float32))).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogMel(n_bands=400), "400 Mel bands do not fit"),
        (lambda: LogMel(n_bands=0), "0 Mel bands do not fit"),
        (lambda: LogMel(hop=2048), "hop must lie between"),
        (lambda: LogMel(f_max=12000.0), "f_min and f_max"),
        (lambda: MFCC(n_coefficients=41), "n_coefficients must lie between 1 and n_bands = 40"),
        (lambda: MFCC(derivative_width=4), "odd and at least 3"),
        (lambda: MFCC(f_min=-1.0), "f_min and f_max"),
        (lambda: LogMel()(NOISE[:1023]), "at least 1024 samples"),
        (lambda: LogMel()(NOISE[None]), "one channel"),
        (lambda: LogMel()(np.where(NOISE[7] == NOISE, np.nan, NOISE)), "finite"),
        (lambda: MFCC()(NOISE[:1536]), "2 frames, fewer than derivative_width = 3"),
    ],
)
def test_bad_settings_and_signals_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050])
def test_frames_last_as_long_at_any_rate(rate):
    lengths = framing(rate)
    assert lengths["window"] / rate == pytest.approx(1024 / RATE, rel=3e-3)
    assert lengths["hop"] / rate == pytest.approx(512 / RATE, rel=3e-3)
    for features in (MFCC(**lengths), LogMel(**lengths)):
        signal = np.random.default_rng(0).standard_normal(3 * rate).astype(np.float32)
        n_frames = len(features(signal))
        assert abs(n_frames - 128) <= 1
        assert frame_seconds(n_frames, rate) <= 3 < frame_seconds(n_frames + 1, rate)


def test_the_frames_of_the_default_rate_are_the_papers():
    assert MFCC(**framing(22050)) == MFCC()
    assert LogMel(**framing(22050)) == LogMel()


# --- sequences ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("overlap", "hop"), [(0.8, 25), (0.0, 125)])
def test_sequences_step_by_the_hop_and_share_memory(overlap, hop):
    frames = np.random.default_rng(0).random((643, 39)).astype(np.float32)
    sequences = cut_sequences(frames, 125, overlap)
    assert sequences.shape == (1 + (643 - 125) // hop, 125, 39)
    for i, sequence in enumerate(sequences):
        np.testing.assert_array_equal(sequence, frames[i * hop : i * hop + 125])
    assert np.shares_memory(sequences, frames)


@pytest.mark.parametrize(
    ("shape", "length", "overlap", "message"),
    [
        ((124, 39), 125, 0.8, "124 frames is shorter than a sequence of 125"),
        ((200, 39), 125, 1.0, "overlap in"),
        ((200, 39), 0, 0.0, "length must be at least 1"),
        ((200,), 125, 0.0, "shape"),
    ],
)
def test_bad_cuts_are_named(shape, length, overlap, message):
    with pytest.raises(ValueError, match=message):
        cut_sequences(np.zeros(shape, np.float32), length, overlap)


# --- songs --------------------------------------------------------------------------------------


@pytest.fixture
def songs(tmp_path):
    paths = []
    for k in range(5):
        path = tmp_path / f"artist-song_{k}.flac"
        soundfile.write(path, np.roll(NOISE, 1000 * k)[: NOISE.size - 700 * k], RATE)
        paths.append(path)
    return [path.stem for path in paths], paths


def test_a_block_does_not_depend_on_the_number_of_processes(songs, tmp_path):
    for n_jobs in (1, 2):
        write_features(tmp_path / f"{n_jobs}.npz", *songs, MFCC(), min_frames=100, n_jobs=n_jobs)
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_a_block_holds_each_song_s_own_features(songs, tmp_path):
    names, paths = songs
    write_features(tmp_path / "block.npz", names, paths, LogMel(), min_frames=100)
    stored = dict(read_features(tmp_path / "block.npz"))
    assert list(stored) == names
    for name, path in zip(names, paths, strict=True):
        signal, _ = soundfile.read(path, dtype="float32")
        np.testing.assert_array_equal(stored[name], LogMel()(signal))


def test_a_song_shorter_than_a_sequence_is_named_and_leaves_no_block(songs, tmp_path):
    names, paths = songs
    with pytest.raises(AudioFileError, match=r"song_4\.flac: lasts .* shorter than"):
        write_features(tmp_path / "block.npz", names, paths, MFCC(), min_frames=124)
    assert list(tmp_path.glob("*.npz")) == []


def test_blocks_of_nothing_and_repeated_names_are_errors(songs, tmp_path):
    names, paths = songs
    with pytest.raises(ValueError, match="paths is empty"):
        list(song_features([], MFCC()))
    with pytest.raises(ValueError, match="distinct"):
        write_features(tmp_path / "block.npz", names[:1] * 2, paths[:2], MFCC())
    with pytest.raises(ValueError, match="5 and 2"):
        write_features(tmp_path / "block.npz", names, paths[:2], MFCC())
