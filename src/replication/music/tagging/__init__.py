r"""Models of songs and tags for automatic music tagging (NIPS 2012, section 4.2).

The paper: "for each song the EM algorithm is used to learn a H3Ms with K(s) = 6 components [...].
Then, for each tag, the relevant song-level H3Ms are pooled together and the VHEM-H3M algorithm is
used to learn the final H3M tag model with K = 3 components." The extended paper (JMLR 15, 2014,
section 6.3) adds :math:`N = N_v N_t K^{(s)}` virtual sequences of ten steps, with
:math:`N_v = 1000` and :math:`N_t` songs that have the tag, sequences of 125 frames that overlap by
80 %, and that direct EM had to do with fewer: without overlap, 73 % of them.

Three steps, each the work of one job for some songs or folds: models of songs
(:mod:`replication.music.tagging.song_models`), models of tags
(:mod:`replication.music.tagging.tag_models`), scores (:mod:`replication.music.tagging.scoring`).
Song models never see a tag, and a tag's model in a fold only sees songs outside it. What comes out
is scored in :mod:`replication.music.evaluation`.
"""
