"""Mixtures of hidden Markov models and the variational hierarchical EM algorithm.

:class:`HMM` and :class:`H3M` hold hidden Markov models with Gaussian-mixture emissions and mixtures
of them; :class:`EMH3M` fits them to sequences; :class:`VHEM` clusters HMMs by the distributions
they stand for and learns a new HMM for each cluster ([1]_); :func:`expected_log_likelihood` is the
bound that it maximises. :func:`cluster_hierarchy` does so level by level. What the papers compare
VHEM with has the same interface: :class:`PPKSpectralClustering`, :class:`SHEM`, :class:`HEMDTM` on
:class:`DynamicTexture` models, :class:`HEMGMM`, and the controls :class:`ParameterKMeans` and
:class:`SampledKLClustering`.

References
----------
.. [1] E. Coviello, A. B. Chan, G. R. G. Lanckriet, "The variational hierarchical EM algorithm for
   clustering hidden Markov models", NIPS 2012.

Examples
--------
Fifty hmmlearn models into three, and the centres back as hmmlearn models:

>>> import numpy as np
>>> from hmmlearn.hmm import GaussianHMM
>>> from vhem import VHEM
>>> rng = np.random.default_rng(0)
>>> series = [rng.normal(5 * (i % 3), 1.0, size=(100, 2)) for i in range(50)]
>>> models = [GaussianHMM(2, random_state=0).fit(y) for y in series]
>>> vhem = VHEM(n_components=3, random_state=0).fit(models)
>>> sorted(np.bincount(vhem.labels_).tolist())
[16, 17, 17]
>>> vhem.model_.to_hmmlearn()[0]
GaussianHMM(n_components=2)
"""

import importlib.metadata

from ._storage import ModelFileError
from .em import EMH3M
from .hierarchy import ClusterHierarchy, cluster_hierarchy
from .models import H3M, HMM
from .rivals.controls import ParameterKMeans, SampledKLClustering, sampled_divergence
from .rivals.dynamic_texture import DynamicTexture, DynamicTextureMixture, fit_dynamic_texture
from .rivals.gaussian import HEMGMM
from .rivals.hem_dtm import HEMDTM
from .rivals.kernel import probability_product_kernel
from .rivals.ppk import PPKSpectralClustering
from .rivals.sampling import SHEM
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
    "ModelFileError",
    "PPKSpectralClustering",
    "ParameterKMeans",
    "SampledKLClustering",
    "cluster_hierarchy",
    "expected_log_likelihood",
    "fit_dynamic_texture",
    "probability_product_kernel",
    "sampled_divergence",
]

__version__ = importlib.metadata.version("distributions-as-data")
