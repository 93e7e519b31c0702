r"""Paired dictionaries: what a grey patch looks like and what its HOG looks like.

A training window is 5 x 5 cells of HOG together with the 7 x 7 cells of grey pixels that it was
computed from. Grey part and HOG part are each reduced to their contrast, v <- (v - mean v) / |v -
mean v|, and stacked. Online dictionary learning then solves

    min_{D, a >= 0}  sum_i  1/2 |v_i - D a_i|^2 + lambda |a_i|_1,      |d_k| <= 1,

so that one code a reconstructs both parts (Vondrick, Khosla, Malisiewicz, Torralba: HOGgles, ICCV
2013, equation 6). The dictionary that came with that paper cannot be assumed to be at hand: one is
learned here from photographs that installed packages ship. If somebody has the original file,
:func:`read_pd_mat` reads it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.resources
import io
import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io
from numpy.lib.stride_tricks import sliding_window_view
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from replication.arrays import Floats, Floats32, Integers, Pixels
from replication.data.images import load_grey
from replication.images.hoggles.hog import N_CHANNELS, hog_features
from replication.io import atomic_path

__all__ = [
    "SAMPLE_PHOTOGRAPHS",
    "PairedDictionary",
    "learn_dictionary",
    "read_pd_mat",
    "sample_photographs",
    "unit_contrast",
]

SAMPLE_PHOTOGRAPHS = {
    "skimage": (
        "data/astronaut.png",
        "data/brick.png",
        "data/camera.png",
        "data/chelsea.png",
        "data/clock_motion.png",
        "data/coffee.png",
        "data/coins.png",
        "data/grass.png",
        "data/gravel.png",
        "data/motorcycle_left.png",
        "data/rocket.jpg",
    ),
    "sklearn": ("datasets/images/china.jpg", "datasets/images/flower.jpg"),
}
"""Photographs of everyday scenes inside the installed packages; none has to be downloaded.

Left out are the packages' drawings, text pages, microscopy, retina and telescope images, and the
second view of the motorcycle.
"""

_BORDER = 1  # cells of grey pixels around the HOG cells of a window


@dataclass(frozen=True, eq=False)
class PairedDictionary:
    """Atoms of grey patches and of HOG windows that share their codes.

    Parameters
    ----------
    grey : ndarray of float, shape (n_atoms, (ny + 2) * cell, (nx + 2) * cell)
        Grey patches.
    hog : ndarray of float, shape (n_atoms, ny, nx, 32)
        HOG windows; ny and nx count cells.
    penalty : float
        lambda of the lasso, the same in learning and in inversion.
    cell : int
        Side of a cell in pixels.
    origin : dict, optional
        Where the dictionary comes from: images with checksums, seed, number of windows and steps.
        Kept in the file; must be expressible in JSON.

    Raises
    ------
    ValueError
        If the shapes do not belong together, a value is no real number of single precision, or
        ``penalty`` or ``cell`` is not positive.
    """

    grey: npt.NDArray[np.floating]
    hog: npt.NDArray[np.floating]
    penalty: float
    cell: int
    origin: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.hog.ndim != 4 or self.hog.shape[3] != N_CHANNELS or 0 in self.hog.shape:
            raise ValueError(
                f"hog must have the shape (n_atoms, ny, nx, {N_CHANNELS}), got {self.hog.shape}"
            )
        n_atoms, ny, nx, _ = self.hog.shape
        expected = (n_atoms, (ny + 2 * _BORDER) * self.cell, (nx + 2 * _BORDER) * self.cell)
        if self.grey.shape != expected:
            raise ValueError(
                f"grey must have the shape {expected} to go with hog of shape {self.hog.shape} "
                f"and cells of {self.cell} pixels, got {self.grey.shape}"
            )
        for name in ("grey", "hog"):
            values = getattr(self, name)
            if values.dtype.kind not in "fiu":
                raise ValueError(f"{name} must hold real numbers, got {values.dtype}")
            # They are kept in single precision.
            if not (np.abs(values) <= np.finfo(np.float32).max).all():
                raise ValueError(f"{name} holds values that are not finite")
        if self.cell < 1:
            raise ValueError(f"cell must be positive, got {self.cell}")
        if not 0 < self.penalty < np.inf:
            raise ValueError(f"penalty must be positive and finite, got {self.penalty}")

    @property
    def n_atoms(self) -> int:
        """Number of pairs K."""
        return self.hog.shape[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the dictionary as a compressed ``.npz`` file, atomically, in single precision."""
        path = Path(path)
        if path.suffix != ".npz":
            raise ValueError(f"{path}: a dictionary is saved as .npz")
        with atomic_path(path) as temporary:
            np.savez_compressed(
                temporary,
                grey=self.grey.astype(np.float32),
                hog=self.hog.astype(np.float32),
                penalty=np.float64(self.penalty),
                cell=np.int64(self.cell),
                origin=np.array(json.dumps(self.origin, sort_keys=True)),
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PairedDictionary:
        """Read a dictionary written by :meth:`save`.

        Raises
        ------
        ValueError
            Whatever is wrong with what the file holds; the message begins with its name.
        OSError
            If it cannot be read at all (missing, no permission).
        """
        with _content_of(path, "is no paired dictionary") as (content, _):
            found = dict(np.load(content, allow_pickle=False))
            origin = json.loads(str(found["origin"]))
            if not isinstance(origin, dict):
                raise ValueError(f"the origin is no table but {origin!r}")
            return cls(
                grey=found["grey"],
                hog=found["hog"],
                penalty=float(found["penalty"]),
                cell=_whole(found["cell"], "cell"),
                origin=origin,
            )


@contextlib.contextmanager
def _content_of(path: str | os.PathLike[str], fault: str) -> Iterator[tuple[io.BytesIO, str]]:
    """Yield what a file holds and its SHA-256; any error in what follows names the file."""
    content = Path(path).read_bytes()
    try:
        yield io.BytesIO(content), hashlib.sha256(content).hexdigest()
    except Exception as error:
        # Readers raise nearly anything on damaged bytes, from ValueError to zlib.error.
        raise ValueError(f"{os.fspath(path)}: {fault} ({error})") from error


def _whole(value: Any, name: str) -> int:
    number = np.asarray(value)
    if number.shape != () or number.dtype.kind not in "fiu" or not float(number).is_integer():
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    return int(number)


def sample_photographs() -> dict[str, Pixels]:
    """Return the grey photographs of :data:`SAMPLE_PHOTOGRAPHS`, by package and file name."""
    photographs = {}
    for package, names in SAMPLE_PHOTOGRAPHS.items():
        folder = importlib.resources.files(package)
        for name in names:
            with importlib.resources.as_file(folder.joinpath(name)) as path:
                photographs[f"{package}/{name}"] = load_grey(path)
    return photographs


def unit_contrast(windows: npt.NDArray[np.floating]) -> Floats:
    """Subtract from every row its mean, then divide it by its Euclidean norm.

    A constant row becomes zeros: the square of its norm, which is only rounding error, is small
    against the machine precision that is added to the squared norm.

    Parameters
    ----------
    windows : ndarray of float, shape (n, d)

    Returns
    -------
    ndarray of float64, shape (n, d)
    """
    centred = windows - windows.mean(axis=1, keepdims=True, dtype=np.float64)
    energy = np.einsum("ij,ij->i", centred, centred)[:, np.newaxis]
    unit: Floats = centred / np.sqrt(energy + np.finfo(np.float64).eps)
    return unit


def learn_dictionary(
    images: Mapping[str, Pixels],
    n_atoms: int,
    *,
    penalty: float = 0.02,
    cells: int = 5,
    cell: int = 8,
    n_windows: int = 20_000,
    n_steps: int = 200,
    batch_size: int = 400,
    random_state: int = 0,
) -> PairedDictionary:
    """Learn a paired dictionary from grey images.

    The computation runs on one thread, because the order of additions in a parallel one would
    make the last digits depend on the machine's number of cores.

    Parameters
    ----------
    images : mapping of str to ndarray of uint8, shape (height, width)
        Training images by name; names and checksums of the pixels go into the dictionary's origin.
    n_atoms : int
        Number of atoms K; 1024 in the published program.
    penalty : float, default 0.02
        lambda of the lasso, the published value.
    cells : int, default 5
        Cells of HOG on each side of a window.
    cell : int, default 8
        Side of a cell in pixels.
    n_windows : int, default 20,000
        Windows drawn without replacement from all positions on the grid of cells. If there are
        fewer, all are taken. Windows without any contrast are left out.
    n_steps : int, default 200
        Minibatches. An epoch goes through all windows in random order.
    batch_size : int, default 400
        Windows in a minibatch.
    random_state : int, default 0
        Seed of the windows drawn, of their order and of the replacement of unused atoms.

    Returns
    -------
    PairedDictionary

    Raises
    ------
    ValueError
        If there are fewer windows with contrast than atoms, or a number is not positive.
    """
    for name, value in (
        ("n_atoms", n_atoms),
        ("cells", cells),
        ("n_windows", n_windows),
        ("n_steps", n_steps),
        ("batch_size", batch_size),
    ):
        if value < 1:
            raise ValueError(f"{name} must be positive, got {value}")
    rng = np.random.default_rng(random_state)
    grey, hog = _draw_windows(images, cells, cell, n_windows, rng)
    windows = np.hstack([grey, hog])
    if len(windows) < n_atoms:
        raise ValueError(
            f"images hold {len(windows)} windows of {cells + 2} x {cells + 2} cells with contrast, "
            f"fewer than the {n_atoms} atoms wanted (n_atoms)"
        )
    # Windows as first atoms: codes are positive, so atoms need the sign of what they reconstruct.
    order = rng.permutation(len(windows))
    first = windows[order[:n_atoms]].astype(np.float64) / np.sqrt(2)
    # A second of imports that only the learning needs.
    from sklearn.decomposition import MiniBatchDictionaryLearning
    from sklearn.exceptions import ConvergenceWarning

    learner = MiniBatchDictionaryLearning(
        n_components=n_atoms,
        alpha=penalty,
        batch_size=batch_size,
        fit_algorithm="cd",
        positive_code=True,
        dict_init=first,
        random_state=random_state,
    )
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # Nearly equal atoms, of which one will be replaced, can keep a code from settling. A step
        # on the way to a dictionary does not need it to the last digit; inversion does, and warns.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for batch in tqdm(
            _batches(len(windows), batch_size, n_steps, rng), "dictionary", n_steps, unit="step"
        ):
            learner.partial_fit(windows[batch].astype(np.float64))
    atoms = learner.components_.astype(np.float32)
    side = (cells + 2 * _BORDER) * cell
    return PairedDictionary(
        grey=atoms[:, : side**2].reshape(-1, side, side),
        hog=atoms[:, side**2 :].reshape(-1, cells, cells, N_CHANNELS),
        penalty=penalty,
        cell=cell,
        origin={
            "method": "learned here",
            "images": {name: _sha256(image) for name, image in images.items()},
            "n_windows": len(windows),
            "n_steps": n_steps,
            "batch_size": batch_size,
            "random_state": random_state,
        },
    )


def _sha256(image: Pixels) -> str:
    height, width = image.shape
    digest = hashlib.sha256(f"{height} x {width}:".encode())
    digest.update(image.tobytes())
    return digest.hexdigest()


def _draw_windows(
    images: Mapping[str, Pixels],
    cells: int,
    cell: int,
    n_windows: int,
    rng: np.random.Generator,
) -> tuple[Floats32, Floats32]:
    """Contrasts of grey patches and HOG windows: (n, side^2) and (n, cells^2 * 32)."""
    side = (cells + 2 * _BORDER) * cell
    grids = {
        name: tuple(length // cell - cells - 2 * _BORDER + 1 for length in image.shape)
        for name, image in images.items()
    }
    too_small = [name for name, grid in grids.items() if min(grid) < 1]
    if too_small:
        raise ValueError(f"images: {', '.join(too_small)}: smaller than a window of {side} pixels")
    ends = np.cumsum([rows * columns for rows, columns in grids.values()])
    total = int(ends[-1]) if len(ends) else 0
    drawn = np.sort(rng.choice(total, min(n_windows, total), replace=False))
    parts_grey, parts_hog = [], []
    start = 0
    for (name, image), end in zip(images.items(), ends, strict=True):
        columns = grids[name][1]
        here = drawn[(drawn >= start) & (drawn < end)] - start
        start = end
        if not here.size:  # one of many images, of which few windows are drawn
            continue
        row, column = np.divmod(here, columns)
        # Whole cells only, so that a window's grey pixels never reach beyond the image.
        whole = image[tuple(slice(length // cell * cell) for length in image.shape)]
        patches = sliding_window_view(whole, (side, side))[row * cell, column * cell]
        features = sliding_window_view(hog_features(whole, cell), (cells, cells), axis=(0, 1))
        windows = features[row, column].transpose(0, 2, 3, 1)
        grey = unit_contrast(patches.reshape(len(row), -1) / 255)
        hog = unit_contrast(windows.reshape(len(row), -1))
        contrast = (np.abs(grey).max(axis=1) > 0) & (np.abs(hog).max(axis=1) > 0)
        parts_grey.append(grey[contrast].astype(np.float32))
        parts_hog.append(hog[contrast].astype(np.float32))
    if not parts_grey:
        raise ValueError("images is empty: there is nothing to learn a dictionary from")
    return np.concatenate(parts_grey), np.concatenate(parts_hog)


def _batches(
    n_windows: int, batch_size: int, n_steps: int, rng: np.random.Generator
) -> list[Integers]:
    """Rows of every minibatch: epochs of random order, one after the other."""
    n_epochs = -(-n_steps * batch_size // n_windows)
    order = np.concatenate([rng.permutation(n_windows) for _ in range(n_epochs)])
    return [order[step * batch_size : (step + 1) * batch_size] for step in range(n_steps)]


def read_pd_mat(path: str | os.PathLike[str]) -> PairedDictionary:
    """Read a dictionary of the published HOGgles program (``pd.mat``).

    The MATLAB structure ``pd`` has the fields ``dgray`` ((ny + 2) * sbin * (nx + 2) * sbin rows, a
    column an atom), ``dhog`` (ny * nx * 32 rows), ``ny``, ``nx``, ``sbin`` and ``lambda``. MATLAB
    counts down the columns of an array first; the atoms are turned accordingly.

    Parameters
    ----------
    path : path-like
        MATLAB file of version 7 or older.

    Returns
    -------
    PairedDictionary

    Raises
    ------
    ValueError
        Whatever is wrong with what the file holds; the message names the file and the field.
    OSError
        If it cannot be read at all (missing, no permission).
    """
    with _content_of(path, "is no published dictionary") as (content, digest):
        try:
            found = scipy.io.loadmat(content, squeeze_me=True, struct_as_record=False)
        except NotImplementedError:
            raise ValueError(
                "a MATLAB 7.3 file; save it again in MATLAB with save(..., '-v7')"
            ) from None
        structure = found.get("pd")
        keys = ("dgray", "dhog", "ny", "nx", "sbin", "lambda")
        missing = [key for key in keys if not hasattr(structure, key)]
        if missing:
            raise ValueError(f"the structure pd lacks {', '.join(missing)}")
        ny, nx, cell = (_whole(getattr(structure, key), f"pd.{key}") for key in keys[2:5])
        height, width = (ny + 2 * _BORDER) * cell, (nx + 2 * _BORDER) * cell
        arrays = {}
        for key, shape in (("dgray", (height, width)), ("dhog", (ny, nx, N_CHANNELS))):
            columns = np.asarray(getattr(structure, key))
            if columns.ndim == 1:  # a single atom
                columns = columns[:, np.newaxis]
            if columns.ndim != 2 or columns.shape[0] != math.prod(shape):
                raise ValueError(
                    f"pd.{key} must have {math.prod(shape)} rows for {ny} x {nx} cells of "
                    f"{cell} pixels, got the shape {columns.shape}"
                )
            arrays[key] = np.stack([column.reshape(shape, order="F") for column in columns.T])
        return PairedDictionary(
            grey=arrays["dgray"],
            hog=arrays["dhog"],
            penalty=float(getattr(structure, "lambda")),
            cell=cell,
            origin={"method": "read from pd.mat", "file": Path(path).name, "sha256": digest},
        )
