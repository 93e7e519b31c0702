"""Recordings of any common kind as one channel at one sampling rate, by written rules.

A file is opened by its content; its suffix does not matter. WAV (also RIFX, RF64), AIFF, AU, CAF,
FLAC, Ogg (Vorbis, Opus) and MP3 (layer III) are decoded by libsndfile, other kinds are refused.
What becomes of a file:

======================  =======================================================================
file                    result
======================  =======================================================================
one channel             as it is
several channels        their mean; an error if they cancel out
a higher sampling rate  resampled by soxr's band-limited "HQ" filter
a lower sampling rate   an error: its upper band would be empty, and an empty band separates
                        files by their encoder and not by their music
shorter than a minimum  an error
longer than a maximum   an error before the samples are kept, so that memory stays bounded
silent                  an error: no sample reaches -60 dB of full scale
NaN or infinite         an error (files of floats can hold them)
corrupt, truncated      an error
of unknown length       WAV and FLAC that were written to a pipe and say so are read to their end;
                        others are an error, since they could be truncated (AU, W64)
======================  =======================================================================

What is missing is found by what each kind promises. FLAC has a number of samples. WAV, AIFF, AU and
CAF have a size of their data, of which libsndfile makes a number of samples that end with the file
at the latest; asked once more, with a file that claims to go on for ever, it tells how many there
should be. Ogg has a page that ends a stream. MP3 has frames, see :mod:`replication.data.mp3`,
which also says which cuts leave no trace.

Other damage is found by checksums where there are some: FLAC has one of each frame and one of all
samples, Ogg one of each page (its decoder bridges damaged pages in silence, so both are compared
here). The others have none and may decode to wrong samples, in any program. Every error is an
:class:`AudioFileError` with the file's name.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Literal

import librosa
import numpy as np
import numpy.typing as npt
import soundfile

from replication.data.mp3 import Mp3Error, after_id3, read_mp3

__all__ = ["MAX_SECONDS", "SILENCE", "AudioFileError", "load_audio"]

MAX_SECONDS = 1200.0
"""Default longest recording, 20 minutes: 53 MB of samples at 22,050 Hz."""
SILENCE = 1e-3
"""A recording is silent if every |sample| is below this share of full scale (-60 dB)."""

_BEGINNINGS = (b"RIFF", b"RIFX", b"RF64", b"FORM", b".snd", b"dns.", b"caff", b"fLaC", b"OggS")
_KINDS = ("WAV", "WAVEX", "RF64", "AIFF", "AU", "CAF", "FLAC", "OGG")
_UNSIZED = ("ALAC", "DWVW")  # codings whose number of samples does not follow from a size
_READ = "WAV, RF64, AIFF, AU, CAF, FLAC, Ogg and MP3 are read"
_BLOCK = 1 << 18  # samples of all channels together
_MUCH_LONGER = 1 << 40
_NO_NUMBER = (1 << 63) - 1  # what libsndfile has for FLAC without a number of samples
_UNKNOWN = b"\xff" * 4
# Decoders may drop a part of the last MPEG frame of an intact MP3; nothing else has such a slack.
_MP3_FRAME = 1152
_FLAC_BYTES = {"PCM_S8": 1, "PCM_16": 2, "PCM_24": 3}
_OGG_PAGE, _OGG_HEADER = b"OggS", 27
_OGG_END_OF_STREAM = 4
_REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class AudioFileError(ValueError):
    """A file cannot be used as a recording; the message begins with its name."""

    def __init__(self, path: str | os.PathLike[str], fault: str) -> None:
        # Both arguments reach Exception, so that the error survives the way from a worker process.
        super().__init__(os.fspath(path), fault)
        self.fault = fault

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.fault}"


def load_audio(
    path: str | os.PathLike[str],
    sampling_rate: int = 22050,
    *,
    min_seconds: float = 3.0,
    max_seconds: float = MAX_SECONDS,
) -> npt.NDArray[np.float32]:
    """Read a recording as one channel at a given sampling rate.

    Parameters
    ----------
    path : path-like
        Audio file; its suffix is ignored. See the module's table for what becomes of each kind.
    sampling_rate : int, default 22050
        Sampling rate of the result in Hz.
    min_seconds, max_seconds : float, default 3 and 1200
        Shortest and longest duration in s.

    Returns
    -------
    ndarray of float32, shape (n_samples,)
        Samples, 1 being full scale.

    Raises
    ------
    AudioFileError
        For every fault in the module's table. It is a :class:`ValueError`.
    OSError
        If the file cannot be read at all (missing, no permission).
    """
    path = Path(path)
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise AudioFileError(path, "is empty")
        content = mmap(file.fileno(), 0, access=ACCESS_READ)
    try:
        samples, rate = _decode(content, path, sampling_rate, max_seconds)
    except soundfile.LibsndfileError as error:
        raise AudioFileError(path, f"is no intact audio file ({error.error_string})") from None
    except Mp3Error as error:
        raise AudioFileError(path, str(error)) from None
    seconds = samples.size / rate
    if not samples.size or seconds < min_seconds:
        raise AudioFileError(path, f"lasts {seconds:.2f} s, shorter than {min_seconds:g} s")
    if not np.isfinite(samples).all():
        raise AudioFileError(path, "holds samples that are NaN or infinite")
    if np.abs(samples).max() < SILENCE:
        raise AudioFileError(path, "is silent: no sample reaches -60 dB of full scale")
    if rate == sampling_rate:
        return samples
    resampled: npt.NDArray[np.float32] = librosa.resample(
        samples, orig_sr=rate, target_sr=sampling_rate, res_type="soxr_hq", fix=True, scale=False
    )
    return resampled


class _File:
    """Bytes as a file that may claim to be longer than they are, or shorter."""

    def __init__(self, content: bytes | mmap, claimed: int = 0) -> None:
        self._content, self._size, self._at = content, len(content) + claimed, 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, origin + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        found = self._content[self._at : self._at + size]
        self._at += len(found)
        return found


class _Sound(soundfile.SoundFile):
    """A file that is read forwards only.

    After each block soundfile seeks the place where it is already; a decoder of MP3 then begins
    anew, and its first frame is wrong, and one of FLAC does not find the end.
    """

    def seekable(self) -> bool:
        return False


def _decode(
    content: bytes | mmap, path: Path, sampling_rate: int, max_seconds: float
) -> tuple[npt.NDArray[np.float32], int]:
    mp3 = None
    start = after_id3(content)
    if content[start : start + 4] not in _BEGINNINGS:
        mp3 = read_mp3(content, max_seconds)
        if mp3 is None:
            found = f"is of no kind that is read (it begins with {content[:8]!r})"
            raise AudioFileError(path, f"{found}; {_READ}")
    elif start:
        content = content[start:]
    # Beside a file that has a length libsndfile looks for "._", what a Mac leaves, before it takes
    # it for an MP3; the length of an MP3 is its number of frames.
    file = _File(content) if mp3 is None else _File(mp3.content, claimed=-len(mp3.content))
    with _Sound(file) as sound:
        kind, rate, promised = sound.format, int(sound.samplerate), int(sound.frames)
        if mp3 is None:
            _check_promise(content, path, sound)
        if rate < sampling_rate:
            raise AudioFileError(
                path,
                f"has a sampling rate of {rate} Hz, below the {sampling_rate} Hz of the features; "
                f"experiments.music.features.sampling_rate: {rate} makes those of all songs fit",
            )
        parts: list[npt.NDArray[np.float32]] = []
        decoded = 0
        # What a header promises may be wrong: the samples are counted as well.
        for block in _blocks(sound, "float32"):
            decoded += len(block)
            if decoded > max_seconds * rate:
                raise AudioFileError(path, f"lasts longer than {max_seconds:g} s")
            parts.append(block.mean(axis=1))
    slack = 0 if mp3 is None else _MP3_FRAME
    is_short = decoded + slack < promised and promised != _NO_NUMBER
    if is_short or (kind in _HAVE_SUMS and not _HAVE_SUMS[kind](content)):
        raise AudioFileError(path, f"is truncated or corrupt (decoded {decoded / rate:.2f} s)")
    return np.concatenate(parts) if parts else np.empty(0, np.float32), rate


def _blocks(sound: _Sound, dtype: Literal["float32", "int32"]) -> Iterator[npt.NDArray[Any]]:
    """Read a file to the end that its header states; what follows may be a tag."""
    size, left = max(1, _BLOCK // sound.channels), int(sound.frames)
    while left and len(block := sound.read(min(size, left), dtype=dtype, always_2d=True)):
        left -= len(block)
        yield block


def _check_promise(content: bytes | mmap, path: Path, sound: _Sound) -> None:
    """Raise an error if a file is of another kind or ends before its header says."""
    kind, frames = sound.format, int(sound.frames)
    if kind not in _KINDS or sound.subtype.startswith(_UNSIZED):
        raise AudioFileError(path, f"is of the kind {kind} ({sound.subtype}); {_READ}")
    promised = [frames, frames]
    if kind not in ("FLAC", "OGG") and (not kind.startswith("WAV") or content[4:8] != _UNKNOWN):
        for place, claimed in enumerate((_MUCH_LONGER, 2 * _MUCH_LONGER)):
            with _Sound(_File(content, claimed)) as longer:
                promised[place] = int(longer.frames)
    if promised[0] != promised[1]:
        raise AudioFileError(
            path, "does not state how long it is, so that it could be cut without a trace"
        )
    if promised[0] > frames:
        rate = sound.samplerate
        raise AudioFileError(
            path,
            f"is truncated: holds {frames / rate:.2f} of the {promised[0] / rate:.2f} s that its "
            "header states",
        )


def _flac_is_whole(content: bytes | mmap) -> bool:
    """Whether the samples have the MD5 sum that the file states, if it does (RFC 9639, 8.2)."""
    stated = content[26:42]
    found = hashlib.md5(usedforsecurity=False)
    with _Sound(_File(content)) as sound:
        for block in _blocks(sound, "int32"):
            words = block.astype("<i4").view(np.uint8).reshape(-1, 4)
            found.update(words[:, -_FLAC_BYTES[sound.subtype] :].tobytes())
    return not any(stated) or found.digest() == stated


def _ogg_is_whole(content: bytes | mmap) -> bool:
    """Whether Ogg pages follow each other with right checksums to the end of the stream (RFC 3533).

    What follows an end of stream is another stream, or a tag that some programs append.
    """
    position, ended = 0, False
    while content[position : position + len(_OGG_PAGE)] == _OGG_PAGE:
        header = content[position : position + _OGG_HEADER]
        if len(header) < _OGG_HEADER:
            return False
        body = position + _OGG_HEADER + header[26]
        end = body + sum(content[position + _OGG_HEADER : body])
        blanked = header[:22] + bytes(4) + header[26:] + content[position + _OGG_HEADER : end]
        if end > len(content) or _ogg_checksum(blanked) != header[22:26]:
            return False
        position, ended = end, bool(header[5] & _OGG_END_OF_STREAM)
    return ended


def _ogg_checksum(page: bytes) -> bytes:
    """Compute the checksum of a page: zlib's CRC-32 with all bits in reverse, from zero."""
    crc = zlib.crc32(page.translate(_REVERSED_BITS), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{crc:032b}"[::-1], 2).to_bytes(4, "little")


_HAVE_SUMS = {"FLAC": _flac_is_whole, "OGG": _ogg_is_whole}
