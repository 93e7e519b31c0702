"""HOGgles: what is left of a picture after its HOG features were computed and inverted.

HOG features (:mod:`.hog`), a dictionary that pairs grey patches with HOG windows
(:mod:`.dictionary`), and the inversion (:mod:`.inversion`), after Vondrick, Khosla, Malisiewicz,
Torralba: HOGgles: visualizing object detection features, ICCV 2013.
"""

from replication.images.hoggles.dictionary import (
    PairedDictionary,
    learn_dictionary,
    read_pd_mat,
    sample_photographs,
)
from replication.images.hoggles.hog import hog_features, hog_vectors
from replication.images.hoggles.inversion import hoggles, invert_hog
from replication.images.hoggles.training import TRAINING_SETS, make_dictionary

__all__ = [
    "TRAINING_SETS",
    "PairedDictionary",
    "hog_features",
    "hog_vectors",
    "hoggles",
    "invert_hog",
    "learn_dictionary",
    "make_dictionary",
    "read_pd_mat",
    "sample_photographs",
]
