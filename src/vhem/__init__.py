"""Mixtures of hidden Markov models and the variational hierarchical EM algorithm."""

from .em import EMH3M
from .models import H3M, HMM

__all__ = ["EMH3M", "H3M", "HMM"]
