"""Mixtures of hidden Markov models and the variational hierarchical EM algorithm."""

from .em import EMH3M
from .models import H3M, HMM
from .variational import VHEM, expected_log_likelihood

__all__ = ["EMH3M", "H3M", "HMM", "VHEM", "expected_log_likelihood"]
