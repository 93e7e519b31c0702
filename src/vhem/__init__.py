"""Mixtures of hidden Markov models and the variational hierarchical EM algorithm."""

from .controls import ParameterKMeans, SampledKLClustering, sampled_divergence
from .dynamic_texture import HEMDTM, DynamicTexture, DynamicTextureMixture, fit_dynamic_texture
from .em import EMH3M
from .gaussian import HEMGMM
from .models import H3M, HMM
from .sampling import SHEM
from .variational import VHEM, expected_log_likelihood

__all__ = [
    "EMH3M",
    "H3M",
    "HEMDTM",
    "HEMGMM",
    "HMM",
    "SHEM",
    "VHEM",
    "DynamicTexture",
    "DynamicTextureMixture",
    "ParameterKMeans",
    "SampledKLClustering",
    "expected_log_likelihood",
    "fit_dynamic_texture",
    "sampled_divergence",
]
