"""Mixtures of hidden Markov models and the variational hierarchical EM algorithm."""

from .models import H3M, HMM

__all__ = ["H3M", "HMM"]
