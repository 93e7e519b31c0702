"""The frames of an MP3, counted: what a decoder is given, and what is missing.

An MP3 has no length. It is a row of frames of equal duration, each with a header of four bytes that
tells its size. Some encoders put a frame without sound in front that states how many there are
(Xing, Info, VBRI); decoders believe it, and without it they divide the size of the file by the bit
rate of the first frame. Both may be wrong by any factor. Here the frames are counted, and a decoder
gets them alone with their true number in front.

=====================================  =========================================================
file                                   result
=====================================  =========================================================
tags, or up to 64 kB of other bytes,   passed over
before and behind the frames
a number that is zero, too small,      the frames that are there
absent, or too large beside all bytes
fewer frames than stated               an error
the last frame is cut off              an error, unless all stated frames are there
zeros in the place of frames           the same
other bytes between frames             an error, unless they are a tag: frames are damaged
cut between two frames, no number      **not noticed**: nothing tells it from a shorter song
cut at the beginning, no number        **not noticed**
damage inside of frames                **not noticed**: they have no checksum that is in use
=====================================  =========================================================

References: ISO/IEC 11172-3 and 13818-3 (layer III); the frame in front is that of the Xing and
Fraunhofer encoders, which LAME took over.
"""

from __future__ import annotations

import re
from mmap import mmap
from typing import NamedTuple

__all__ = ["Mp3", "Mp3Error", "after_id3", "read_mp3"]

Content = bytes | mmap

_SYNC = re.compile(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb]")  # layer III of MPEG-2.5, 2 and 1
_ZEROS = re.compile(rb"\0*")
_HEADER = 4
_MPEG1 = 3
_HALVINGS = {_MPEG1: 0, 2: 1, 0: 2}  # of the sampling rates, by the version's number
_SAMPLING_RATES = (44100, 48000, 32000)
# In kbit/s. Zero is the free format: a rate that no table has, the same in all frames.
_BIT_RATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_LOWER_BIT_RATES = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_LONGEST_FREE = 6000
# Four bytes that look like a header are found anywhere; so many, each where the frame before ends,
# are no chance.
_ROW = 3
_STRAY = 1 << 16
_TAGS = (b"ID3", b"TAG", b"APETAGEX", b"LYRICSBEGIN")
# A bit rate at which a frame has room for the number of frames, whatever the sampling rate.
_ROOMY = 9


class Mp3Error(ValueError):
    """Frames of an MP3 are missing; the message goes on where the file's name ends."""


class Mp3(NamedTuple):
    """The frames of an MP3.

    Attributes
    ----------
    content : bytes
        A frame that states the number of frames, and these.
    sampling_rate : int
        In Hz.
    n_samples : int
        Samples of a channel, with the silence that the encoder added.
    """

    content: bytes
    sampling_rate: int
    n_samples: int


class _Frame(NamedTuple):
    kind: tuple[int, int, bool]  # version, sampling rate in Hz, one channel: equal in all frames
    is_free: bool
    size: int  # in bytes; in the free format what is beyond the size of all frames

    @property
    def sampling_rate(self) -> int:
        return self.kind[1]

    @property
    def n_samples(self) -> int:
        return 1152 if self.kind[0] == _MPEG1 else 576

    @property
    def number_at(self) -> int:
        """Where a frame without sound states the number: behind the side information."""
        version, _, is_mono = self.kind
        long, short = (32, 17) if version == _MPEG1 else (17, 9)
        return _HEADER + (short if is_mono else long)


class _Row(NamedTuple):
    start: int
    frame: _Frame  # the first
    free_size: int  # of all frames in the free format, else 0

    def end_of(self, content: Content, at: int) -> int | None:
        """Where a frame that begins here ends, maybe behind the end of the file."""
        frame = _parse(content, at)
        if frame is None or (frame.kind, frame.is_free) != (self.frame.kind, self.frame.is_free):
            return None
        return at + frame.size + self.free_size

    def is_long(self, content: Content) -> bool:
        """Whether so many frames follow each other that it is no chance."""
        at: int | None = self.start
        for _ in range(_ROW):
            at = None if at is None else self.end_of(content, at)
        return at is not None and at <= len(content)


class _Stated(NamedTuple):
    """What a frame without sound says of the others; zero for what it does not say."""

    n_frames: int
    n_bytes: int  # with its own
    at: int  # where decoders look for it, else 0


def read_mp3(content: Content, max_seconds: float) -> Mp3 | None:
    """Find the frames of an MP3.

    Parameters
    ----------
    content : bytes or mmap
        The file.
    max_seconds : float
        Longest duration in s.

    Returns
    -------
    Mp3 or None
        ``None`` if there is no row of frames near the beginning.

    Raises
    ------
    Mp3Error
        If frames are missing, by the rules of the module's table, or last too long.
    """
    begin = after_id3(content)
    row = _find_row(content, begin, begin + _STRAY)
    if row is None:
        return None
    pieces, n_frames, end = _collect(content, row, max_seconds)
    head = content[row.start : row.end_of(content, row.start)]
    stated = _stated(head, row.frame)
    if stated is not None:
        n_frames -= 1
    if stated is None or not _has_all(stated, n_frames, sum(map(len, pieces)), content, row):
        _check_ends(content, begin, row, end)
    body = b"".join(pieces)
    if stated is not None:
        body = body[len(head) :]
    front = _front(head, row.frame, stated, n_frames, len(body))
    return Mp3(front + body, row.frame.sampling_rate, n_frames * row.frame.n_samples)


def after_id3(content: Content) -> int:
    """Find the place behind tags of the kind ID3v2, whose size stands in bytes of seven bits."""
    at = 0
    while content[at : at + 3] == b"ID3" and len(header := content[at : at + 10]) == 10:
        size = sum(byte << 7 * place for place, byte in enumerate(reversed(header[6:])))
        at += 10 + size + (10 if header[5] & 0x10 else 0)
    return at


def _parse(content: Content, at: int) -> _Frame | None:
    header = content[at : at + _HEADER]
    if len(header) < _HEADER or _SYNC.match(header) is None:
        return None
    version, rate = header[1] >> 3 & 3, header[2] >> 2 & 3
    bit_rate, padding = header[2] >> 4, header[2] >> 1 & 1
    if bit_rate == len(_BIT_RATES) or rate == len(_SAMPLING_RATES):
        return None
    kind = (version, _SAMPLING_RATES[rate] >> _HALVINGS[version], header[3] >> 6 == 3)
    frame = _Frame(kind, bit_rate == 0, padding)
    kilobits = (_BIT_RATES if version == _MPEG1 else _LOWER_BIT_RATES)[bit_rate]
    return frame._replace(size=frame.n_samples // 8 * 1000 * kilobits // kind[1] + padding)


def _find_row(content: Content, begin: int, end: int, like: _Frame | None = None) -> _Row | None:
    """Find the first row of frames that begins in a part of the file."""
    for match in _SYNC.finditer(content, begin, end):
        start = match.start()
        frame = _parse(content, start)
        if frame is None or (like is not None and frame.kind != like.kind):
            continue
        sizes = [0]
        if frame.is_free:
            after = _SYNC.finditer(content, start + _HEADER, start + _LONGEST_FREE)
            sizes = [other.start() - start - frame.size for other in after]
        for size in sizes:
            row = _Row(start, frame, size)
            if row.is_long(content):
                return row
    return None


def _collect(content: Content, row: _Row, max_seconds: float) -> tuple[list[bytes], int, int]:
    """Take all frames: those that follow each other, the number of all, and where they end."""
    limit = int(max_seconds * row.frame.sampling_rate / row.frame.n_samples) + 2
    pieces, n_frames, at = [], 0, row.start
    while True:
        begin = at
        while (end := row.end_of(content, at)) is not None and end <= len(content):
            at = end
            n_frames += 1
            if n_frames > limit:
                raise Mp3Error(f"lasts longer than {max_seconds:g} s")
        pieces.append(content[begin:at])
        following = _find_row(content, at, len(content), row.frame)
        if following is None:
            return pieces, n_frames, at
        if not content[at : at + 16].startswith(_TAGS):
            raise Mp3Error(
                f"is damaged: no MPEG frame at byte {at:,}, where the one before ends, but from "
                f"byte {following.start:,} on"
            )
        at = following.start


def _stated(head: bytes, frame: _Frame) -> _Stated | None:
    """Read what the first frame says of the others, or None if it has sound."""

    def number(at: int) -> int:
        return int.from_bytes(head[at : at + 4], "big")

    # A frame with a checksum has two bytes more.
    for at in (frame.number_at, frame.number_at + 2):
        if head[at : at + 4] in (b"Xing", b"Info"):
            has_frames, has_bytes = bool(number(at + 4) & 1), bool(number(at + 4) & 2)
            n_frames = number(at + 8) if has_frames else 0
            n_bytes = number(at + 8 + 4 * has_frames) if has_bytes else 0
            return _Stated(n_frames, n_bytes, at if has_frames and has_bytes else 0)
    at = _HEADER + 32
    if head[at : at + 4] == b"VBRI":
        return _Stated(number(at + 14), number(at + 10), 0)
    return None


def _has_all(stated: _Stated, n_frames: int, n_bytes: int, content: Content, row: _Row) -> bool:
    """Whether there are as many frames as stated; an error if fewer, unless the number is wrong."""
    if not stated.n_frames:
        if stated.n_bytes > len(content) - row.start:
            raise Mp3Error(
                f"is truncated: has {len(content) - row.start:,} of the {stated.n_bytes:,} bytes "
                "that its first MPEG frame states"
            )
        return False
    if n_frames >= stated.n_frames:
        return True
    # Without a number of bytes: some encoders count the frame without sound as well.
    missing = stated.n_frames - n_frames
    if (stated.n_bytes > n_bytes) if stated.n_bytes else (missing > 1):
        raise Mp3Error(
            f"is truncated: holds {n_frames:,} of the {stated.n_frames:,} MPEG frames that its "
            "first one states"
        )
    return False


def _check_ends(content: Content, begin: int, row: _Row, end: int) -> None:
    """Raise an error if what stands before and behind the frames may have been frames."""
    size = row.frame.size + row.free_size
    for at, stop in ((begin, row.start), (end, len(content))):
        zeros = _ZEROS.match(content, at, stop)
        if zeros is not None and zeros.end() - at >= size:
            raise Mp3Error(
                f"is truncated or was never finished: {zeros.end() - at:,} zero bytes from byte "
                f"{at:,} on, where MPEG frames should be"
            )
    last = row.end_of(content, end)
    rest = content[end : end + 16]
    is_begun = len(rest) < _HEADER and content[row.start : row.start + 2].startswith(rest[:2])
    if last is not None or (rest and is_begun):
        raise Mp3Error("is truncated: it ends inside of an MPEG frame")
    if len(content) - end > _STRAY and not rest.startswith(_TAGS):
        raise Mp3Error(
            f"is damaged: behind its last MPEG frame, which ends at byte {end:,}, are "
            f"{len(content) - end:,} bytes that are neither frames nor a tag"
        )


def _front(
    head: bytes, frame: _Frame, stated: _Stated | None, n_frames: int, n_bytes: int
) -> bytes:
    """Make a frame that states the right numbers, of the one that there is if it can be had.

    That one may tell how much silence the encoder added, which decoders leave out.
    """
    if stated is not None and stated.at:
        front, at = bytearray(head), stated.at
    else:
        header = bytes([head[0], head[1] | 1, _ROOMY << 4 | head[2] & 0b1100, head[3]])
        roomy = _parse(header, 0)
        assert roomy is not None
        at = frame.number_at
        front = bytearray(header.ljust(roomy.size, b"\0"))
        front[at : at + 8] = b"Info\0\0\0\3"
    front[at + 8 : at + 12] = n_frames.to_bytes(4, "big")
    front[at + 12 : at + 16] = (len(front) + n_bytes).to_bytes(4, "big")
    return bytes(front)
