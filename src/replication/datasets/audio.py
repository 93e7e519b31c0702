"""Recordings of any common kind as one channel at one sampling rate, by written rules.

A file is opened by its content; its suffix does not matter. WAV, FLAC, Ogg (Vorbis, Opus) and MP3
are read by libsndfile. What becomes of each kind:

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
======================  =======================================================================

A truncated file is found by what its format promises: the number of samples (FLAC, MP3), the
length of the file (WAV), the page that ends a stream (Ogg). Other damage is found by the checksums
of FLAC and Ogg (those of Ogg are compared here, since the decoder bridges damaged pages in
silence); WAV and MP3 have none and may decode to wrong samples, in any program. Every error is an
:class:`AudioFileError` with the file's name.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import BinaryIO

import librosa
import numpy as np
import numpy.typing as npt
import soundfile

__all__ = ["MAX_SECONDS", "SILENCE", "AudioFileError", "load_audio"]

MAX_SECONDS = 1200.0
"""Default longest recording, 20 minutes: 53 MB of samples at 22,050 Hz."""
SILENCE = 1e-3
"""A recording is silent if every |sample| is below this share of full scale (-60 dB)."""

_BLOCK = 1 << 18
# Decoders may drop the last partial MPEG frame of an intact MP3; no other format has such a slack.
_MP3_FRAME = 1152
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
        try:
            samples, rate = _decode(file, path, sampling_rate, max_seconds)
        except soundfile.LibsndfileError as error:
            raise AudioFileError(path, f"is no intact audio file ({error.error_string})") from None
    seconds = samples.size / rate
    if seconds < min_seconds:
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


def _decode(
    file: BinaryIO, path: Path, sampling_rate: int, max_seconds: float
) -> tuple[npt.NDArray[np.float32], int]:
    # By its number, since soundfile believes the suffix of a name in some cases.
    with soundfile.SoundFile(file.fileno(), closefd=False) as sound:
        rate, promised = int(sound.samplerate), int(sound.frames)
        if rate < sampling_rate:
            raise AudioFileError(
                path,
                f"has a sampling rate of {rate} Hz, below the {sampling_rate} Hz of the features",
            )
        blocks: list[npt.NDArray[np.float32]] = []
        decoded = 0
        while len(block := sound.read(_BLOCK, dtype="float32", always_2d=True)):
            # What a header promises may be wrong: the samples are counted as well.
            decoded += len(block)
            if decoded > max_seconds * rate:
                raise AudioFileError(path, f"lasts longer than {max_seconds:g} s")
            blocks.append(block.mean(axis=1))
        kind = sound.format
    slack = _MP3_FRAME if kind == "MP3" else 0
    if decoded + slack < promised or _is_damaged(file, kind):
        raise AudioFileError(path, f"is truncated or corrupt (decoded {decoded / rate:.2f} s)")
    return np.concatenate(blocks) if blocks else np.empty(0, np.float32), rate


def _is_damaged(file: BinaryIO, kind: str) -> bool:
    """Whether a WAV file ends before it says, or an Ogg file has a damaged or missing page."""
    size = file.seek(0, os.SEEK_END)
    if kind in ("WAV", "WAVEX"):
        file.seek(4)
        stated = int.from_bytes(file.read(4), "little")
        # Programs that cannot know the length beforehand leave 0 or the largest number.
        return stated not in (0, 0xFFFFFFFF) and stated + 8 > size
    if kind == "OGG":
        file.seek(0)
        return not _ogg_is_whole(file.read())
    return False


def _ogg_is_whole(content: bytes) -> bool:
    """Whether Ogg pages follow each other with right checksums to the end of the stream (RFC 3533).

    What follows an end of stream is another stream, or a tag that some programs append.
    """
    position, ended = 0, False
    while content.startswith(_OGG_PAGE, position):
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
