"""Mixtures of hidden Markov models and the variational hierarchical EM algorithm."""

from .controls import ParameterKMeans, SampledKLClustering, sampled_divergence
from .dynamic_texture import HEMDTM, DynamicTexture, DynamicTextureMixture, fit_dynamic_texture
from .em import EMH3M
from .gaussian import HEMGMM
from .hierarchy import ClusterHierarchy, cluster_hierarchy
from .models import H3M, HMM
from .ppk import PPKSpectralClustering, probability_product_kernel
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
    "ClusterHierarchy",
    "DynamicTexture",
    "DynamicTextureMixture",
    "PPKSpectralClustering",
    "ParameterKMeans",
    "SampledKLClustering",
    "cluster_hierarchy",
    "expected_log_likelihood",
    "fit_dynamic_texture",
    "probability_product_kernel",
    "sampled_divergence",
]
