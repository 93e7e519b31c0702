"""Short-time spectra of recordings: MFCCs with derivatives for HMMs, Mel bands for textures.

A signal x at f_s = 22,050 Hz is cut into frames of 1,024 samples (46 ms), half overlapping (hop
512 samples, 23 ms); :mod:`replication.music.framing` has other rates. Only whole frames count
and nothing is padded, so n samples give 1 + (n - 1024) // 512 frames and every frame holds sound of
the song alone. With a Hann window h,

    S[t, f] = |Σ_m h[m] x[512 t + m] exp(-2πi f m / 1024)|²        power spectrum
    B[t, b] = 10 log10 max(1e-10, Σ_f W[b, f] S[t, f])              Mel bands in dB
    C[t, c] = Σ_b D[c, b] B[t, b]                                   orthonormal DCT-II, c = 0..12

W are triangles on the Mel scale of Slaney's Auditory Toolbox, each of unit area. The floor of
1e-10 is absolute: librosa's default cuts 80 dB below the loudest frame of the SONG, which would
make a frame's features depend on other frames.

MFCC features are C with its first and second derivatives over time, 39 numbers a frame (NIPS
2012, section 4.2: "with first and second instantaneous derivatives"). Read literally, these are
the shortest symmetric differences, (C[t+1] - C[t-1]) / 2 and C[t+1] - 2 C[t] + C[t-1]; a wider
fit of a line and a parabola is a setting. The outermost frames, which lack a neighbour, take the
derivatives of the outermost fit.

None of the papers states the number of Mel bands of its MFCCs. Forty is that of the Auditory
Toolbox. Programs differ in all of this, therefore every parameter is passed explicitly.
"""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import joblib
import librosa
import numpy as np
from threadpoolctl import threadpool_limits

from replication.arrays import Floats32
from replication.data.audio import MAX_SECONDS, AudioFileError, load_audio
from replication.io import atomic_path

__all__ = [
    "MFCC",
    "FrameFeatures",
    "Frames",
    "LogMel",
    "cut_sequences",
    "read_features",
    "song_features",
    "write_features",
]

Frames = Floats32

_FLOOR = 1e-10
_SONGS_A_PROCESS = 4


class FrameFeatures(Protocol):
    """What turns a signal into one feature vector a frame: :class:`MFCC` or :class:`LogMel`."""

    @property
    def sampling_rate(self) -> int:
        """Sampling rate of the signals in Hz."""

    @property
    def window(self) -> int:
        """Samples in a frame."""

    @property
    def hop(self) -> int:
        """Samples from one frame to the next."""

    def __call__(self, signal: Floats32) -> Frames:
        """Compute the features of a signal, shape (n_frames, n_features)."""


@dataclass(frozen=True)
class LogMel:
    """Mel bands in dB, the features of dynamic textures.

    Parameters
    ----------
    n_bands : int, default 34
        Number of bands (JMLR 2014, footnote 17).
    sampling_rate : int, default 22050
        In Hz.
    window, hop : int, default 1024 and 512
        Length of a frame and step between frames, in samples.
    f_min, f_max : float, default 0 and 11025
        Range of the bands in Hz.

    Examples
    --------
    >>> LogMel()(np.sin(np.arange(22050, dtype=np.float32))).shape
    (42, 34)
    """

    n_bands: int = 34
    sampling_rate: int = 22050
    window: int = 1024
    hop: int = 512
    f_min: float = 0.0
    f_max: float = 11025.0

    def __post_init__(self) -> None:
        if self.window < 2 or not 1 <= self.hop <= self.window:
            raise ValueError(
                f"hop must lie between 1 and window samples, got {self.hop} and {self.window}"
            )
        if not 0 <= self.f_min < self.f_max <= self.sampling_rate / 2:
            raise ValueError(
                "f_min and f_max must satisfy 0 <= f_min < f_max <= sampling_rate / 2 = "
                f"{self.sampling_rate / 2:g} Hz, got {self.f_min:g} and {self.f_max:g}"
            )
        # A triangle narrower than the bins of the transform would be an all-zero band.
        if self.n_bands < 1 or (self._filters().max(axis=1) == 0).any():
            raise ValueError(
                f"n_bands: {self.n_bands} Mel bands do not fit the {self.window // 2 + 1} "
                "frequencies of a frame, a band would be empty"
            )

    def __call__(self, signal: Floats32) -> Frames:
        """Compute the bands of a signal.

        Parameters
        ----------
        signal : ndarray of float32, shape (n_samples,)
            Samples at ``sampling_rate``.

        Returns
        -------
        ndarray of float32, shape (n_frames, n_bands)
            In dB.

        Raises
        ------
        ValueError
            If the signal is not one-dimensional, not finite or shorter than a frame.
        """
        if signal.ndim != 1 or signal.size < self.window:
            raise ValueError(
                f"signal must be one channel of at least {self.window} samples, "
                f"got shape {signal.shape}"
            )
        if not np.isfinite(signal).all():
            raise ValueError("signal must be finite")
        spectrum = librosa.stft(
            np.asarray(signal, dtype=np.float32),
            n_fft=self.window,
            hop_length=self.hop,
            win_length=self.window,
            window="hann",
            center=False,
        )
        power = spectrum.real**2 + spectrum.imag**2
        # Products of matrices round differently for different numbers of threads.
        with threadpool_limits(limits=1):
            bands = self._filters() @ power
        decibels = librosa.power_to_db(bands, ref=1.0, amin=_FLOOR, top_db=None)
        return np.ascontiguousarray(decibels.T, dtype=np.float32)

    def _filters(self) -> Floats32:
        with warnings.catch_warnings():
            # librosa goes on with an empty band; the constructor makes an error of it.
            warnings.filterwarnings("ignore", message="Empty filters detected")
            filters: Floats32 = librosa.filters.mel(
                sr=self.sampling_rate,
                n_fft=self.window,
                n_mels=self.n_bands,
                fmin=self.f_min,
                fmax=self.f_max,
                htk=False,
                norm="slaney",
                dtype=np.float32,
            )
        return filters


@dataclass(frozen=True)
class MFCC:
    """Mel-frequency cepstral coefficients with first and second derivatives.

    Parameters
    ----------
    n_coefficients : int, default 13
        Coefficients a frame, with the zeroth, which carries the loudness.
    n_bands : int, default 40
        Mel bands below them.
    derivative_width : int, default 3
        Frames that a derivative is fitted to (Savitzky-Golay; odd, at least 3).
    sampling_rate, window, hop, f_min, f_max
        As in :class:`LogMel`.

    Examples
    --------
    >>> MFCC()(np.sin(np.arange(22050, dtype=np.float32))).shape
    (42, 39)
    """

    n_coefficients: int = 13
    n_bands: int = 40
    derivative_width: int = 3
    sampling_rate: int = 22050
    window: int = 1024
    hop: int = 512
    f_min: float = 0.0
    f_max: float = 11025.0

    def __post_init__(self) -> None:
        self._bands()  # checks what the two share
        if not 1 <= self.n_coefficients <= self.n_bands:
            raise ValueError(
                f"n_coefficients must lie between 1 and n_bands = {self.n_bands}, "
                f"got {self.n_coefficients}"
            )
        if self.derivative_width < 3 or self.derivative_width % 2 == 0:
            raise ValueError(
                f"derivative_width must be odd and at least 3, got {self.derivative_width}"
            )

    def __call__(self, signal: Floats32) -> Frames:
        """Compute the features of a signal.

        Parameters
        ----------
        signal : ndarray of float32, shape (n_samples,)
            Samples at ``sampling_rate``.

        Returns
        -------
        ndarray of float32, shape (n_frames, 3 * n_coefficients)
            Coefficients, their first and their second derivatives (per frame, per frame²).

        Raises
        ------
        ValueError
            If the signal is not one-dimensional, not finite or shorter than
            ``derivative_width`` frames.
        """
        bands = self._bands()(signal)
        if len(bands) < self.derivative_width:
            raise ValueError(
                f"signal has {len(bands)} frames, fewer than derivative_width = "
                f"{self.derivative_width}"
            )
        coefficients = librosa.feature.mfcc(
            S=bands.T, n_mfcc=self.n_coefficients, dct_type=2, norm="ortho", lifter=0
        )
        derivatives = [
            librosa.feature.delta(
                coefficients, width=self.derivative_width, order=order, axis=-1, mode="interp"
            )
            for order in (1, 2)
        ]
        return np.ascontiguousarray(
            np.concatenate([coefficients, *derivatives]).T, dtype=np.float32
        )

    def _bands(self) -> LogMel:
        return LogMel(
            self.n_bands, self.sampling_rate, self.window, self.hop, self.f_min, self.f_max
        )


def cut_sequences(frames: Frames, length: int = 125, overlap: float = 0.8) -> Frames:
    """Cut a song into sequences of equal length.

    Sequence i holds frames i h to i h + T - 1 with the hop h = round((1 - overlap) T); frames
    after the last whole sequence are left out. T = 125 and 80 % (h = 25) are the paper's; direct
    EM on songs uses no overlap (JMLR 2014, pp. 726 and 728).

    Parameters
    ----------
    frames : ndarray, shape (n_frames, n_features)
        Features of a song.
    length : int, default 125
        Frames in a sequence, T; 125 last 2.9 s.
    overlap : float, default 0.8
        Share of a sequence that the next one repeats, in [0, 1).

    Returns
    -------
    ndarray, shape (n_sequences, length, n_features)
        A read-only view of ``frames``: overlap costs no memory.

    Raises
    ------
    ValueError
        If the song is shorter than a sequence or an argument is out of range.

    Examples
    --------
    >>> cut_sequences(np.arange(10.0)[:, None], length=4, overlap=0.5)[:, :, 0]
    array([[0., 1., 2., 3.],
           [2., 3., 4., 5.],
           [4., 5., 6., 7.],
           [6., 7., 8., 9.]])
    """
    if frames.ndim != 2:
        raise ValueError(f"frames must have shape (n_frames, n_features), got {frames.shape}")
    if length < 1 or not 0 <= overlap < 1:
        raise ValueError(
            f"length must be at least 1 and overlap in [0, 1), got {length} and {overlap}"
        )
    if len(frames) < length:
        raise ValueError(f"a song of {len(frames)} frames is shorter than a sequence of {length}")
    hop = max(1, round(length * (1 - overlap)))
    windows = np.lib.stride_tricks.sliding_window_view(frames, length, axis=0)
    return windows[::hop].transpose(0, 2, 1)


def song_features(
    paths: Sequence[str | os.PathLike[str]],
    features: FrameFeatures,
    *,
    min_frames: int = 125,
    max_seconds: float = MAX_SECONDS,
    n_jobs: int | None = None,
) -> Iterator[Frames]:
    """Compute the features of songs, one at a time.

    Parameters
    ----------
    paths : sequence of path-like
        Audio files, read by :func:`replication.data.audio.load_audio`.
    features : MFCC or LogMel
        What to compute.
    min_frames : int, default 125
        Frames that a song must have, a sequence at least.
    max_seconds : float, default 1200
        Longest song in s.
    n_jobs : int, optional
        Number of processes (joblib's convention). The result does not depend on it.

    Yields
    ------
    ndarray of float32, shape (n_frames, n_features)
        In the order of ``paths``. At most four songs a process are in memory.

    Raises
    ------
    ValueError
        If ``paths`` is empty or a file is no usable recording; the message then names the file.
    """
    if len(paths) == 0:
        raise ValueError("paths is empty: there is no song to compute features of")
    # Workers do not wait for a slow consumer; a finite group of songs at a time bounds what they
    # can pile up.
    group = _SONGS_A_PROCESS * joblib.effective_n_jobs(n_jobs)
    for start in range(0, len(paths), group):
        yield from joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
            joblib.delayed(_features_of_file)(path, features, min_frames, max_seconds)
            for path in paths[start : start + group]
        )


def write_features(
    target: str | os.PathLike[str],
    songs: Sequence[str],
    paths: Sequence[str | os.PathLike[str]],
    features: FrameFeatures,
    *,
    min_frames: int = 125,
    max_seconds: float = MAX_SECONDS,
    n_jobs: int | None = None,
) -> None:
    """Write the features of a block of songs to one file.

    A block is what one job computes. The file is an uncompressed ``.npz`` with one array a song;
    arrays are written as they come, so memory does not grow with the block, and equal input gives
    equal bytes.

    Parameters
    ----------
    target : path-like
        The ``.npz`` file; it appears only when it is whole.
    songs : sequence of str
        Names of the songs, distinct.
    paths : sequence of path-like
        Their audio files.
    features, min_frames, max_seconds, n_jobs
        As in :func:`song_features`.

    Raises
    ------
    ValueError
        As :func:`song_features`, and if names are repeated or do not match ``paths`` in number.
    """
    if len(songs) != len(paths):
        raise ValueError(f"songs and paths must match, got {len(songs)} and {len(paths)}")
    if len(set(songs)) != len(songs):
        raise ValueError("songs must be distinct names")
    results = song_features(
        paths, features, min_frames=min_frames, max_seconds=max_seconds, n_jobs=n_jobs
    )
    with atomic_path(target) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for song, frames in zip(songs, results, strict=True):
            # An entry opened for writing gets the constant date of 1980.
            with archive.open(f"{song}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, frames, allow_pickle=False)


def read_features(path: str | os.PathLike[str]) -> Iterator[tuple[str, Frames]]:
    """Read a file of :func:`write_features`, one song at a time.

    Parameters
    ----------
    path : path-like
        The ``.npz`` file.

    Yields
    ------
    song : str
        Name of a song, in the order of writing.
    frames : ndarray of float32, shape (n_frames, n_features)
        Its features.
    """
    with np.load(path, allow_pickle=False) as archive:
        for song in archive.files:
            yield song, archive[song]


def _features_of_file(
    path: str | os.PathLike[str], features: FrameFeatures, min_frames: int, max_seconds: float
) -> Frames:
    shortest = (features.window + (min_frames - 1) * features.hop) / features.sampling_rate
    signal = load_audio(path, features.sampling_rate, min_seconds=shortest, max_seconds=max_seconds)
    frames = features(signal)
    if len(frames) < min_frames:
        raise AudioFileError(path, f"has {len(frames)} frames, fewer than {min_frames}")
    return frames
