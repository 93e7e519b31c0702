"""Mixtures of hidden Markov models and the variational hierarchical EM algorithm."""

from .dynamic_texture import HEMDTM, DynamicTexture, DynamicTextureMixture, fit_dynamic_texture
from .em import EMH3M
from .gaussian import HEMGMM
from .models import H3M, HMM

__all__ = [
    "EMH3M",
    "H3M",
    "HEMDTM",
    "HEMGMM",
    "HMM",
    "DynamicTexture",
    "DynamicTextureMixture",
    "fit_dynamic_texture",
]
