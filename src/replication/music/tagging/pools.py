"""Mixtures of many songs, or of many tags, in one: learned together, saved together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from replication.arrays import AnyArray, Floats, Texts
from replication.music.mfcc import Frames
from vhem import (
    H3M,
    HMM,
    DynamicTexture,
    DynamicTextureMixture,
)

__all__ = ["Mixture", "Pool", "pools_from_arrays", "pools_to_arrays"]

Mixture = H3M | DynamicTextureMixture


@dataclass(frozen=True, eq=False)
class Pool:
    """The mixtures of many songs, or of many tags, in one.

    Parameters
    ----------
    mixture : H3M or DynamicTextureMixture
        Components of all owners. Each owner has the same part of the weights.
    owners : ndarray of str, shape (n_components,)
        Song or tag that each component belongs to; those of one owner stand together.
    """

    mixture: Mixture
    owners: Texts

    @classmethod
    def join(cls, mixtures: Mapping[str, Mixture]) -> Self:
        """Put the mixture of every owner into one pool."""
        parts = list(mixtures.values())
        owners = np.repeat(list(mixtures), [len(part) for part in parts])
        return cls(_stacked(parts, 1 / len(parts)), owners)

    def select(self, owners: Sequence[str]) -> Pool:
        """Return the pool of some owners, in the given order.

        Raises
        ------
        KeyError
            If an owner has no component.
        """
        chosen = [np.flatnonzero(self.owners == owner) for owner in owners]
        for owner, rows in zip(owners, chosen, strict=True):
            if not rows.size:
                raise KeyError(f"the pool has no model of {owner!r}")
        rows = np.concatenate(chosen)
        arrays = {field.name: getattr(self.mixture, field.name)[rows] for field in _of(self)}
        arrays["weights"] = arrays["weights"] / arrays["weights"].sum()
        return Pool(type(self.mixture)(**arrays), self.owners[rows])

    def log_likelihoods(self, sequences: Sequence[npt.ArrayLike] | Frames) -> Floats:
        """Log-likelihood of each sequence under the mixture of each owner.

        All components of all owners go through one batched forward pass.

        Parameters
        ----------
        sequences : sequence of array-like of shape (T_i, d)

        Returns
        -------
        ndarray, shape (n, n_owners)
            In nats; owners in the order of their first component.
        """
        joint = self.mixture.component_log_likelihoods(list(sequences))
        firsts = self._firsts()
        own = np.add.reduceat(self.mixture.weights, firsts)
        sizes = np.diff(np.append(firsts, len(self.owners)))
        with np.errstate(divide="ignore"):
            joint = joint + np.log(self.mixture.weights / np.repeat(own, sizes))
        return np.stack(
            [logsumexp(part, axis=1) for part in np.split(joint, firsts[1:], axis=1)], axis=1
        )

    def names(self) -> list[str]:
        """Owners in the order of their first component."""
        return self.owners[self._firsts()].tolist()

    def _firsts(self) -> npt.NDArray[np.int64]:
        changes = np.flatnonzero(self.owners[1:] != self.owners[:-1]) + 1
        return np.concatenate([[0], changes])

    def to_arrays(self, prefix: str = "") -> dict[str, AnyArray]:
        """Return arrays that can be saved, see :meth:`from_arrays`."""
        arrays = {field.name: getattr(self.mixture, field.name) for field in _of(self)}
        arrays["owners"] = self.owners
        return {prefix + name: array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray], prefix: str = "") -> Self:
        """Rebuild what :meth:`to_arrays` returned."""
        kind = H3M if f"{prefix}transmat" in arrays else DynamicTextureMixture
        mixture = kind(*(arrays[prefix + field.name] for field in fields(kind)))
        return cls(mixture, arrays[f"{prefix}owners"])

    @classmethod
    def from_files(cls, files: Iterable[Mapping[str, AnyArray]]) -> Self:
        """Join pools that were saved apart; each owner gets the same weight."""
        pools = [cls.from_arrays(file) for file in files]
        counts = [len(pool.names()) for pool in pools]
        scaled = _stacked([pool.mixture for pool in pools], np.array(counts) / sum(counts))
        return cls(scaled, np.concatenate([pool.owners for pool in pools]))


def _of(pool: Pool) -> Any:
    return fields(pool.mixture)


def _stacked(mixtures: Sequence[Mixture], shares: npt.ArrayLike) -> Mixture:
    """One mixture of the components of several, each of which gets its share of the weights."""
    sizes = [len(mixture) for mixture in mixtures]
    scales = np.repeat(np.broadcast_to(shares, len(mixtures)), sizes)
    weights = np.concatenate([mixture.weights for mixture in mixtures]) * scales
    parts = [part for mixture in mixtures for part in mixture]
    if isinstance(mixtures[0], H3M):
        # A tag of few songs may have fewer Gaussians than others.
        return H3M.from_hmms(cast(list[HMM], parts), weights)
    return DynamicTextureMixture.from_systems(cast(list[DynamicTexture], parts), weights)


def pools_to_arrays(pools: Mapping[int, Pool]) -> dict[str, AnyArray]:
    """Return arrays of the pools of several folds that can be saved together."""
    arrays = {"folds": np.array(list(pools))}
    for fold, pool in pools.items():
        arrays |= pool.to_arrays(f"{fold}_")
    return arrays


def pools_from_arrays(arrays: Mapping[str, AnyArray]) -> dict[int, Pool]:
    """Rebuild what :func:`pools_to_arrays` returned."""
    return {fold: Pool.from_arrays(arrays, f"{fold}_") for fold in arrays["folds"].tolist()}
