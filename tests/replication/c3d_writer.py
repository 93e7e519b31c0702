"""Write C3D files by the format's description, for tests of the reader."""

import struct

import numpy as np

INTEL, DEC, MIPS = 84, 85, 86


def floats(values, processor):
    """Bytes of floats as a processor writes them; a VAX float is four times its words' value."""
    values = np.asarray(values, dtype=np.float64)
    if processor == DEC:
        words = np.ascontiguousarray(values * 4, "<f4").view("<u2").reshape(-1, 2)
        return words[:, ::-1].tobytes()
    return values.astype(">f4" if processor == MIPS else "<f4").tobytes()


def c3d_bytes(positions, labels, *, unit="mm", rate=120.0, processor=INTEL, scale=-1.0, n_analog=0):
    """Lay out positions (n_frames, n_markers, 3) by the format's description.

    NaN is a marker that was not seen. A positive scale writes 16-bit integers.
    """
    order = ">" if processor == MIPS else "<"
    n_frames, n_points = positions.shape[:2]

    def record(name, group, body):
        content = struct.pack("bb", len(name), group) + name.encode()
        return content + struct.pack(f"{order}H", len(body) + 2) + body

    def text(values):
        width = max(map(len, values), default=0)
        shape = struct.pack("bBBB", -1, 2, width, len(values))
        return shape + "".join(value.ljust(width) for value in values).encode() + b"\0"

    parameters = bytes([1, 0x50, 0, processor])
    parameters += record("TRIAL", -2, b"\0") + record("LABELS", 2, text(["not", "these"]))
    parameters += record("POINT", -1, b"\0") + record("RATE", 1, b"\4\0" + bytes(4) + b"\0")
    parameters += record("LABELS", 1, text(labels)) + record("UNITS", 1, text([unit])) + bytes(2)
    n_blocks = -(-len(parameters) // 512)
    parameters = parameters[:2] + bytes([n_blocks]) + parameters[3:]

    header = bytes([2, 0x50]) + struct.pack(
        f"{order}5H", n_points, n_analog, 1, max(n_frames, 0), 10
    )
    header += floats([scale], processor) + struct.pack(f"{order}2H", 2 + n_blocks, 1)
    header += floats([rate], processor)

    points = np.concatenate([positions, np.zeros((n_frames, n_points, 1))], axis=2)
    points[np.isnan(positions).any(axis=2)] = [0, 0, 0, -1]
    if scale > 0:
        points[..., :3] /= scale
    frames = points.reshape(n_frames, 4 * n_points)
    frames = np.concatenate([frames, np.full((n_frames, n_analog), 7.0)], axis=1)
    data = floats(frames, processor) if scale < 0 else frames.round().astype(f"{order}i2").tobytes()
    return header.ljust(512, b"\0") + parameters.ljust(512 * n_blocks, b"\0") + data
