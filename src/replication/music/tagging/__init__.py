r"""Models of songs and tags for automatic music tagging (NIPS 2012, section 4.2).

The paper: "for each song the EM algorithm is used to learn a H3Ms with K(s) = 6 components [...].
Then, for each tag, the relevant song-level H3Ms are pooled together and the VHEM-H3M algorithm is
used to learn the final H3M tag model with K = 3 components." The extended paper (JMLR 15, 2014,
section 6.3) adds :math:`N = N_v N_t K^{(s)}` virtual sequences of ten steps, with
:math:`N_v = 1000` and :math:`N_t` songs that have the tag, sequences of 125 frames that overlap by
80 %, and that direct EM had to do with fewer: without overlap, 73 % of them.

Three steps, each the work of one job for some songs or folds: :func:`fit_song_models`,
:func:`fit_tag_models`, :func:`score_songs`. Song models never see a tag, and a tag's model in a
fold only sees songs outside it. What comes out is scored in
:mod:`replication.music.evaluation`.
"""

from replication.music.tagging.pools import Pool, pools_from_arrays, pools_to_arrays
from replication.music.tagging.scoring import mean_scores, score_songs
from replication.music.tagging.song_models import (
    SequenceSettings,
    SongSettings,
    fit_song_models,
)
from replication.music.tagging.songs import FeatureFiles, SongSplit, block_of_songs, song_groups
from replication.music.tagging.tag_models import (
    TagSettings,
    fit_direct,
    fit_tag_models,
    read_base,
)

__all__ = [
    "FeatureFiles",
    "Pool",
    "SequenceSettings",
    "SongSettings",
    "SongSplit",
    "TagSettings",
    "block_of_songs",
    "fit_direct",
    "fit_song_models",
    "fit_tag_models",
    "mean_scores",
    "pools_from_arrays",
    "pools_to_arrays",
    "read_base",
    "score_songs",
    "song_groups",
]
