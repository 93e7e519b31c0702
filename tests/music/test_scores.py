"""Tagging scores equal hand-computed cases and scikit-learn, and depend on no order."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from replication.music.scores import (
    annotation_scores,
    mean_log_likelihoods,
    mean_over_tags,
    retrieval_scores,
    semantic_multinomial,
    top_shares,
)

NAN = float("nan")


@st.composite
def scored_songs(draw):
    """Scores on a coarse grid, so that ties are common, and annotations."""
    seed = draw(st.integers(0, 2**32 - 1))
    grid = draw(st.sampled_from([2, 5, 1000]))
    songs, tags = draw(st.integers(2, 40)), draw(st.integers(2, 8))
    rng = np.random.default_rng(seed)
    values = rng.integers(0, grid, (songs, tags)) / grid
    return values, rng.random((songs, tags)) < rng.uniform(0.05, 0.95, tags)


# --- from fragments to multinomials -------------------------------------------------------------


def test_mean_log_likelihood_is_the_mean_over_frames():
    # Song 0 has fragments 0 and 2, song 1 has fragment 1; 5 frames each.
    scores = mean_log_likelihoods([[-10, -20], [-5, 0], [-30, -20]], [0, 1, 0], 2, length=5)
    np.testing.assert_allclose(scores, [[-4, -4], [-1, 0]])


def test_more_fragments_of_the_same_kind_change_nothing():
    once = mean_log_likelihoods([[-1.0, -2.0], [-4.0, -3.0]], [0, 1], 2, length=2)
    twice = mean_log_likelihoods([[-1.0, -2.0], [-4.0, -3.0], [-1.0, -2.0]], [0, 1, 0], 2, length=2)
    np.testing.assert_allclose(once, twice)


@pytest.mark.parametrize(
    ("values", "song", "length", "message"),
    [
        ([[0.0, NAN]], [0], 1, r"fragment 0 \(song 0\) under tag 1 is nan"),
        ([[0.0]], [1], 1, "between 0 and 0"),
        ([[0.0]], [0, 0], 1, r"got \(1, 1\) and \(2,\)"),
        ([[0.0]], [0.0], 1, "integers"),
        ([[0.0]], [0], 0, "length must be at least 1"),
    ],
)
def test_bad_fragments_are_named(values, song, length, message):
    with pytest.raises(ValueError, match=message):
        mean_log_likelihoods(values, song, 1, length=length)


def test_a_song_without_fragments_is_named():
    with pytest.raises(ValueError, match="song 1 has no fragment"):
        mean_log_likelihoods([[0.0], [0.0]], [0, 2], 3, length=1)


def test_semantic_multinomial_is_bayes_rule():
    scores = np.log([[0.2, 0.6], [0.5, 0.5]])
    np.testing.assert_allclose(semantic_multinomial(scores), [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(semantic_multinomial(scores, [3, 1]), [[0.5, 0.5], [0.75, 0.25]])


def test_semantic_multinomial_survives_extreme_scores():
    multinomial = semantic_multinomial([[-1e6, -1e6 + 1, -np.inf]])
    np.testing.assert_allclose(multinomial, [[1 / (1 + np.e), np.e / (1 + np.e), 0]])


@pytest.mark.parametrize(
    ("scores", "prior", "message"),
    [
        ([[0.0, NAN]], None, "song 0 and tag 1 is nan"),
        ([[0.0, 1.0], [-np.inf, -np.inf]], None, "song 1 are -inf under every tag"),
        ([[0.0, 1.0]], [1.0], "2 positive values"),
        ([[0.0, 1.0]], [1.0, 0.0], "2 positive values"),
        ([0.0, 1.0], None, "shape"),
    ],
)
def test_bad_scores_are_named(scores, prior, message):
    with pytest.raises(ValueError, match=message):
        semantic_multinomial(scores, prior)


# --- ties ---------------------------------------------------------------------------------------


@given(scored_songs(), st.data())
@settings(deadline=None, max_examples=50)
def test_top_shares_is_the_expectation_over_random_orders(case, data):
    row = case[0][:1, :6]
    k = data.draw(st.integers(1, row.shape[1]))
    counts = np.zeros(row.shape[1])
    orders = list(itertools.permutations(range(row.shape[1])))
    for order in orders:
        order = np.array(order)
        counts[order[np.argsort(-row[0, order], kind="stable")[:k]]] += 1
    np.testing.assert_allclose(top_shares(row, k, axis=1)[0], counts / len(orders))


@given(scored_songs(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50)
def test_no_score_depends_on_the_order_of_songs_or_tags(case, seed):
    values, truth = case
    rng = np.random.default_rng(seed)
    songs, tags = rng.permutation(values.shape[0]), rng.permutation(values.shape[1])
    shuffled = values[np.ix_(songs, tags)], truth[np.ix_(songs, tags)]
    for score in (
        lambda *a: annotation_scores(*a, n_annotated=2),
        lambda *a: retrieval_scores(*a, k=2),
    ):
        plain, moved = score(values, truth), score(*shuffled)
        for name in plain.__dataclass_fields__:
            np.testing.assert_allclose(getattr(plain, name)[tags], getattr(moved, name))


# --- annotation ---------------------------------------------------------------------------------

# Four songs, four tags. The two most probable tags of each song:
#   song 0: a b, song 1: a b, song 2: a c, song 3: a and one half each of b and c
MULTINOMIAL = np.array(
    [
        [0.50, 0.30, 0.15, 0.05],
        [0.40, 0.35, 0.20, 0.05],
        [0.45, 0.10, 0.40, 0.05],
        [0.60, 0.15, 0.15, 0.10],
    ]
)
TRUTH = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]], dtype=bool)
# annotated: a 4, b 2.5, c 1.5, d 0; correct: a 3, b 1.5, c 0, d 0; true: a 3, b 2, c 0, d 1


def test_annotation_by_hand():
    scores = annotation_scores(MULTINOMIAL, TRUTH, n_annotated=2)
    np.testing.assert_allclose(scores.precision, [3 / 4, 3 / 5, NAN, 1 / 4])
    np.testing.assert_allclose(scores.recall, [1, 3 / 4, NAN, 0])
    np.testing.assert_allclose(scores.f_score, [6 / 7, 2 / 3, NAN, 0])


@pytest.mark.parametrize(
    ("rule", "prior", "expected"),
    [("prior", None, 1 / 4), ("prior", [0.1, 0.2, 0.3, 0.4], 0.4), ("zero", None, 0)],
)
def test_precision_of_a_tag_never_given(rule, prior, expected):
    scores = annotation_scores(
        MULTINOMIAL, TRUTH, n_annotated=2, empty_precision=rule, tag_prior=prior
    )
    assert scores.precision[3] == expected
    # The rule touches no other tag and never recall and F.
    np.testing.assert_allclose(scores.precision[:2], [3 / 4, 3 / 5])
    assert scores.recall[3] == scores.f_score[3] == 0


def test_precision_of_a_tag_never_given_can_be_left_out():
    scores = annotation_scores(MULTINOMIAL, TRUTH, n_annotated=2, empty_precision="skip")
    assert np.isnan(scores.precision[3])
    assert scores.recall[3] == scores.f_score[3] == 0
    assert mean_over_tags([scores.precision]) == (pytest.approx((3 / 4 + 3 / 5) / 2), 2)


def test_perfect_annotation_scores_one():
    truth = np.eye(5, dtype=bool)
    scores = annotation_scores(truth * 0.9 + 0.01, truth, n_annotated=1)
    for name in scores.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(scores, name), 1)


@given(scored_songs())
@settings(deadline=None, max_examples=50)
def test_annotation_equals_sklearn_without_ties(case):
    values, truth = case
    values = values + np.random.default_rng(0).random(values.shape) * 1e-6
    given_tags = top_shares(values, 1, axis=1).astype(bool)
    scores = annotation_scores(values, truth, n_annotated=1, empty_precision="zero")
    expected = precision_recall_fscore_support(truth, given_tags, zero_division=0.0)
    scored = truth.any(axis=0)
    for ours, theirs in zip(
        (scores.precision, scores.recall, scores.f_score), expected[:3], strict=True
    ):
        np.testing.assert_allclose(ours[scored], theirs[scored])
        assert np.isnan(ours[~scored]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_annotated": 5}, "between 1 and the 4 entries"),
        ({"n_annotated": 0}, "between 1 and the 4 entries"),
        ({"empty_precision": "one"}, "empty_precision must be one of"),
        ({"tag_prior": [0.5]}, "4 probabilities"),
        ({"tag_prior": [0.5, 0.5, 0.5, 1.5]}, "4 probabilities"),
    ],
)
def test_bad_annotation_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        annotation_scores(MULTINOMIAL, TRUTH, **{"n_annotated": 2, **change})


@pytest.mark.parametrize("score", [annotation_scores, retrieval_scores])
def test_unlike_shapes_and_bad_annotations_are_named(score):
    with pytest.raises(ValueError, match=r"same shape .*got \(4, 4\) and \(3, 4\)"):
        score(MULTINOMIAL, TRUTH[:3])
    with pytest.raises(ValueError, match="only 0 and 1"):
        score(MULTINOMIAL, TRUTH * 2)
    with pytest.raises(ValueError, match="song 1 and tag 0 is nan"):
        score(np.where(np.arange(16).reshape(4, 4) == 4, NAN, MULTINOMIAL), TRUTH)


# --- retrieval ----------------------------------------------------------------------------------


def test_retrieval_by_hand():
    # True songs at ranks 1, 3 and 4 of 5.
    values = np.array([[0.9], [0.8], [0.7], [0.6], [0.5]])
    truth = np.array([[1], [0], [1], [1], [0]], dtype=bool)
    scores = retrieval_scores(values, truth, k=2)
    np.testing.assert_allclose(scores.average_precision, (1 + 2 / 3 + 3 / 4) / 3)
    np.testing.assert_allclose(scores.precision_at_k, 1 / 2)
    np.testing.assert_allclose(scores.aroc, 4 / 6)


def test_retrieval_of_ties_by_hand():
    # 0.9 (true), then three songs at 0.5 of which one is true.
    values = np.array([[0.5], [0.9], [0.5], [0.5]])
    truth = np.array([[0], [1], [1], [0]], dtype=bool)
    scores = retrieval_scores(values, truth, k=2)
    np.testing.assert_allclose(scores.average_precision, (1 + 2 / 4) / 2)
    np.testing.assert_allclose(scores.precision_at_k, (1 + 1 / 3) / 2)
    np.testing.assert_allclose(scores.aroc, (2 + 2 * 0.5) / 4)


def test_equal_scores_are_worth_chance():
    truth = np.arange(20)[:, None] < [1, 5, 20]
    scores = retrieval_scores(np.full((20, 3), 0.3), truth)
    np.testing.assert_allclose(scores.average_precision, [0.05, 0.25, 1])
    np.testing.assert_allclose(scores.precision_at_k, [0.05, 0.25, 1])
    np.testing.assert_allclose(scores.aroc, [0.5, 0.5, NAN])


def test_tags_without_true_songs_have_no_score():
    scores = retrieval_scores(MULTINOMIAL, TRUTH, k=2)
    for name in scores.__dataclass_fields__:
        np.testing.assert_array_equal(np.isnan(getattr(scores, name)), [False, False, True, False])


@given(scored_songs())
@settings(deadline=None, max_examples=100)
def test_retrieval_equals_sklearn_with_ties(case):
    values, truth = case
    scores = retrieval_scores(values, truth, k=1)
    for tag in range(values.shape[1]):
        if truth[:, tag].any():
            expected = average_precision_score(truth[:, tag], values[:, tag])
            assert scores.average_precision[tag] == pytest.approx(expected)
            if not truth[:, tag].all():
                expected = roc_auc_score(truth[:, tag], values[:, tag])
                assert scores.aroc[tag] == pytest.approx(expected)


def test_precision_at_more_songs_than_there_are_is_an_error():
    with pytest.raises(ValueError, match="between 1 and the 4 entries"):
        retrieval_scores(MULTINOMIAL, TRUTH, k=10)


# --- averages -----------------------------------------------------------------------------------


def test_mean_is_over_folds_then_tags():
    # Tag 0: mean 0.5; tag 1: only 0.2; tag 2: never defined.
    mean, n_tags = mean_over_tags([[0.0, 0.2, NAN], [1.0, NAN, NAN]])
    assert (mean, n_tags) == (pytest.approx(0.35), 2)


def test_mean_of_nothing():
    assert np.isnan(mean_over_tags([[NAN]])[0])
    with pytest.raises(ValueError, match="folds is empty"):
        mean_over_tags([])
