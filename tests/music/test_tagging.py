"""Models of songs and tags: only training songs enter, pools add up, seeds belong to songs."""

import io
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import soundfile
import yaml

from replication.data.sources import prepare
from replication.music.annotations import (
    AUDIO_FOLDER,
    Annotations,
    read_annotations,
    write_annotations,
)
from replication.music.estimation import (
    compare_estimation,
    measure_memory,
    peak_of,
    spread_tags,
)
from replication.music.evaluation import (
    ScoringSettings,
    evaluate_tagging,
    join_folds,
    resample_songs,
    song_stage,
    tags_given_up,
)
from replication.music.mfcc import MFCC, write_features
from replication.music.tagging.pools import Pool, pools_from_arrays, pools_to_arrays
from replication.music.tagging.scoring import mean_scores, score_songs
from replication.music.tagging.song_models import SequenceSettings, SongSettings, fit_song_models
from replication.music.tagging.songs import FeatureFiles, SongSplit, block_of_songs, song_groups
from replication.music.tagging.tag_models import TagSettings, fit_tag_models
from replication.registry import FEATURES_OF_KIND, SONG_MODELS
from replication.standins import cal500 as embedded
from replication.standins.order_collection import write_order_songs
from vhem import H3M, HMM

SEQUENCES = SequenceSettings(length=20, overlap=0.5)
SONGS = SongSettings(
    n_components=2,
    n_states=2,
    n_mix=1,
    n_gaussians=2,
    dtm_states=2,
    dtm_components=2,
    dtm_overlap=0.5,
    n_init=1,
    max_iter=5,
    covariance_floor=1e-2,
)
TAGS = TagSettings(
    n_components=2,
    n_gaussians=2,
    virtual_samples=100,
    length=4,
    power=0.5,
    kernel_root="frame",
    em_overlap=0,
    em_share=1.0,
    shem_samples=3,
    n_init=1,
    max_iter=5,
    seconds=1e6,
)
SEED = {"seed": 5, "experiment": "test"}
SCORING = ScoringSettings(annotated=1, retrieved=2, empty_precision="prior")


@pytest.fixture(scope="module")
def features():
    """Eight songs of 60 frames: four that swing, four that stand."""
    rng = np.random.default_rng(0)
    swing = 3 * np.sin(0.7 * np.arange(60))[:, None]
    return {
        f"song_{i}": (swing * (i % 2) + rng.normal(size=(60, 3))).astype(np.float32)
        for i in range(8)
    }


@pytest.fixture(scope="module")
def split():
    """Swinging and standing songs, in both folds; a third tag that one song has."""
    swings = np.arange(8) % 2 == 1
    annotations = np.stack([swings, ~swings, np.arange(8) == 0], axis=1)
    return SongSplit(
        songs=np.array([f"song_{i}" for i in range(8)]),
        tags=np.array(["swinging", "standing", "rare"]),
        annotations=annotations,
        folds=np.repeat([0, 1], 4),
        scored=np.ones(3, dtype=bool),
    )


@pytest.fixture(scope="module")
def pools(features):
    return {
        kind: fit_song_models(kind, features, SEQUENCES, SONGS, **SEED)[0]
        for kind in FEATURES_OF_KIND
    }


def base_of(method, pools, features):
    kind = SONG_MODELS[method]
    return features if kind is None else pools[kind]


def fit(method, base, split, folds=(0,), tags=TAGS):
    return fit_tag_models(method, base, split, folds, SEQUENCES, SONGS, tags, **SEED)


def assert_equal(first, second):
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)


# --- pools --------------------------------------------------------------------------------------


def level(mean):
    return HMM([1.0], [[1.0]], [[1.0]], [[[mean]]], [[[1.0]]])


def test_a_pool_scores_like_the_mixtures_that_it_was_joined_from():
    mixtures = {
        "a": H3M.from_hmms([level(0.0), level(1.0)], [0.25, 0.75]),
        "b": H3M.from_hmms([level(5.0)]),
        "c": H3M.from_hmms([level(2.0), level(3.0), level(9.0)], [0.5, 0.5, 0.0]),
    }
    pool = Pool.join(mixtures)
    np.testing.assert_allclose(pool.mixture.weights, np.array([0.25, 0.75, 1, 0.5, 0.5, 0]) / 3)
    sequences = list(np.random.default_rng(1).normal(size=(4, 6, 1)))
    expected = np.stack([m.score_samples(sequences) for m in mixtures.values()], axis=1)
    np.testing.assert_allclose(pool.log_likelihoods(sequences), expected)
    assert pool.names() == ["a", "b", "c"]


def test_selected_owners_weigh_the_same():
    pool = Pool.join(
        {"a": H3M.from_hmms([level(0.0), level(1.0)]), "b": H3M.from_hmms([level(5.0)])}
    )
    chosen = pool.select(["b", "a"])
    np.testing.assert_allclose(chosen.mixture.weights, [0.5, 0.25, 0.25])
    assert chosen.owners.tolist() == ["b", "a", "a"]
    with pytest.raises(KeyError, match="no model of 'z'"):
        pool.select(["z"])


def test_pools_of_blocks_join_into_the_pool_of_all():
    owners = {
        name: H3M.from_hmms([level(mean), level(-mean)])
        for name, mean in zip("abc", (1, 2, 3), strict=True)
    }
    blocks = [Pool.join({"a": owners["a"], "b": owners["b"]}), Pool.join({"c": owners["c"]})]
    joined = Pool.from_files([block.to_arrays() for block in blocks])
    assert_equal(
        {k: np.asarray(v) for k, v in joined.to_arrays().items()}, Pool.join(owners).to_arrays()
    )


def test_owners_may_have_different_numbers_of_gaussians():
    two = HMM([1.0], [[1.0]], [[0.5, 0.5]], [[[0.0], [4.0]]], [[[1.0], [1.0]]])
    mixtures = {"one": H3M.from_hmms([level(1.0)]), "two": H3M.from_hmms([two])}
    sequences = list(np.random.default_rng(1).normal(size=(4, 6, 1)))
    expected = np.stack([m.score_samples(sequences) for m in mixtures.values()], axis=1)
    np.testing.assert_allclose(Pool.join(mixtures).log_likelihoods(sequences), expected)


@pytest.mark.parametrize("kind", ["h3m", "dtm"])
def test_pools_survive_being_saved(kind, pools):
    arrays = pools_to_arrays({3: pools[kind], 4: pools[kind]})
    again = pools_from_arrays(arrays)
    assert list(again) == [3, 4]
    assert_equal(again[4].to_arrays(), pools[kind].to_arrays())


# --- songs --------------------------------------------------------------------------------------


def test_blocks_share_the_songs_out():
    rows = [("a", "song", "used"), ("vocab", "annotations", "used"), ("b", "song", "skipped")]
    rows += [("c", "song", "used"), ("d", "song", "used")]
    manifest = pd.DataFrame(rows, columns=["id", "label", "status"])
    blocks = [block_of_songs(manifest, block, 2)["id"].tolist() for block in (0, 1)]
    assert blocks == [["a", "d"], ["c"]]


def test_features_are_read_when_asked_for(tmp_path):
    folder = tmp_path / "songs"
    embedded.write(folder, songs=2, seconds=4)
    paths = sorted((folder / AUDIO_FOLDER).iterdir())
    for path in paths:
        write_features(tmp_path / f"{path.stem}.npz", [path.stem], [path], MFCC())
    features = FeatureFiles(sorted(tmp_path.glob("*.npz")))
    assert list(features) == [path.stem for path in paths]
    assert features[paths[1].stem].shape == (171, 39)
    with pytest.raises(KeyError):
        features["nobody-nothing"]


@pytest.mark.parametrize("kind", FEATURES_OF_KIND)
def test_a_song_does_not_depend_on_its_block(kind, features, pools):
    alone, timings = fit_song_models(kind, {"song_3": features["song_3"]}, SEQUENCES, SONGS, **SEED)
    assert_equal(alone.to_arrays(), pools[kind].select(["song_3"]).to_arrays())
    assert [(row["method"], row["item"], row["metric"]) for row in timings] == [
        (kind, "songs", "seconds")
    ]


@pytest.mark.parametrize(("kind", "size"), [("h3m", 2), ("hmm", 1), ("hmm_pair", 2), ("gmm", 1)])
def test_kinds_of_song_models_have_their_sizes(kind, size, pools):
    assert np.unique(pools[kind].owners, return_counts=True)[1].tolist() == [size] * 8
    if kind == "gmm":
        assert pools[kind].mixture.mixture_weights.shape == (8, 1, 2)


def test_songs_are_dealt_out_evenly(tmp_path):
    write_order_songs(tmp_path, songs=10, seconds=4)
    songs = [f"order_band_{i:04d}-song_{i:04d}" for i in range(10) if i != 3]
    options = {"vocabulary": "modelled", "min_songs": 1, "n_folds": 3}
    split = SongSplit.from_folder(tmp_path, songs, **options, **SEED)
    assert np.bincount(split.folds).tolist() == [3, 3, 3]
    assert split.songs.tolist() == songs
    assert split.annotations.shape == (9, 5)
    assert split.scored.tolist() == split.annotations.any(axis=0).tolist()
    again = SongSplit.from_folder(tmp_path, songs, **options, seed=6, experiment="test")
    assert (again.folds != split.folds).any()
    with pytest.raises(ValueError, match="10 folds of 9 songs"):
        SongSplit.from_folder(tmp_path, songs, **{**options, "n_folds": 10}, **SEED)


def test_copies_go_to_one_fold_and_are_named(tmp_path, capsys):
    write_order_songs(tmp_path, songs=9, seconds=4)
    songs = list(read_annotations(tmp_path).songs)
    manifest = pd.DataFrame({"id": songs, "sha256": [f"{i}" for i in range(9)]})
    frames = {song: np.full((5, 2), i, np.float32) for i, song in enumerate(songs)}
    options = {"vocabulary": "modelled", "min_songs": 1, **SEED}

    def folds(n_folds=3):
        groups = song_groups(manifest, frames)
        return SongSplit.from_folder(tmp_path, songs, n_folds=n_folds, groups=groups, **options)

    alone = SongSplit.from_folder(tmp_path, songs, n_folds=3, **options)
    np.testing.assert_array_equal(folds().folds, alone.folds)
    assert not capsys.readouterr().out
    # Equal files, and another file with the same sound.
    manifest.loc[[0, 5], "sha256"] = "same"
    frames[songs[7]] = frames[songs[5]]
    found = folds().folds
    assert found[0] == found[5] == found[7]
    assert sorted(np.bincount(found[[0, 1, 2, 3, 4, 6, 8]])) == [2, 2, 3]
    assert f"one fold: {songs[0]}, {songs[5]}, {songs[7]}" in capsys.readouterr().out
    with pytest.raises(ValueError, match="8 folds of 9 songs, of which 7 differ, cannot"):
        folds(n_folds=8)


def test_a_song_too_short_for_its_model_is_named(features):
    short = {"artist-short": next(iter(features.values()))[:2]}
    with pytest.raises(ValueError, match="song artist-short: "):
        fit_song_models("h3m", short, SEQUENCES, SONGS, **SEED)


@pytest.mark.parametrize("vocabulary", ["scored", "modelled"])
def test_rare_tags_take_part_but_are_not_scored(vocabulary, tmp_path):
    songs, tags = tuple("abcd"), ("Rare", "Genre-Best-Usual", "Usual", "Frequent")
    hard = np.array([[1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1]], dtype=bool)
    write_annotations(tmp_path, Annotations(songs, tags, hard, 1.0 * hard))
    options = {"vocabulary": vocabulary, "min_songs": 2, "n_folds": 2, **SEED}
    split = SongSplit.from_folder(tmp_path, songs, **options)
    expected = {"Usual": True, "Frequent": True}
    if vocabulary == "modelled":
        expected = {"Rare": False, **expected}
    assert dict(zip(split.tags.tolist(), split.scored.tolist(), strict=True)) == expected
    again = SongSplit.from_arrays(split.to_arrays())
    np.testing.assert_array_equal(again.scored, split.scored)


@pytest.mark.real
def test_the_published_annotations_give_the_papers_numbers_of_tags(real_archives):
    folder = real_archives / "cal500"
    songs = read_annotations(folder).songs
    for vocabulary, n_tags in (("scored", 97), ("modelled", 149)):
        split = SongSplit.from_folder(
            folder, songs, vocabulary=vocabulary, min_songs=30, n_folds=5, **SEED
        )
        assert split.annotations.shape == (502, n_tags)
        assert np.bincount(split.folds).tolist() == [101, 101, 100, 100, 100]
        assert split.scored.sum() == 97
        assert (split.annotations[:, split.scored].sum(axis=0) >= 30).all()
        if vocabulary == "scored":
            # Each scored tag can be learned in each fold.
            assert all(len(split.learnable(fold)) == 97 for fold in range(5))


@pytest.mark.real
def test_mp3s_of_annotated_songs_go_from_the_archives_to_scores(real_archives, tmp_path):
    """Twenty songs of the published annotations, each without a stated number of frames."""
    folder = tmp_path / "archives" / "cal500"
    shutil.copytree(real_archives / "cal500", folder)
    (folder / "CAL500_32kps").mkdir()
    songs = read_annotations(folder).songs[::25][:20]
    rng = np.random.default_rng(0)
    for number, song in enumerate(songs):
        pitch = np.sin(np.arange(4 * 22050) * 0.02 * (number + 1))
        loud = np.repeat([1.0, 0.05], 2 * 22050)  # of variable rate
        buffer = io.BytesIO()
        samples = loud * (0.2 * pitch + 0.05 * rng.standard_normal(pitch.size))
        mode = ("CONSTANT", "VARIABLE")[number % 2]
        soundfile.write(buffer, samples, 22050, format="MP3", bitrate_mode=mode)
        content = buffer.getvalue()
        path = folder / "CAL500_32kps" / f"{song}.mp3"
        path.write_bytes(content[content.index(content[:2], 4) :])
    raw = tmp_path / "raw"
    prepared = prepare(
        "cal500", source="archives", raw=raw, archives=tmp_path / "archives", allow_subset=True
    )
    assert prepared.describe() == "20 of 502 songs (20 without a published checksum)"
    manifest = block_of_songs(prepared.manifest, 0, 1)
    names, paths = manifest["id"].tolist(), [raw / file for file in manifest["file"]]
    write_features(tmp_path / "mfcc.npz", names, paths, MFCC())
    features = FeatureFiles([tmp_path / "mfcc.npz"])
    assert {len(frames) for frames in features.values()} <= set(range(171, 178))
    groups = song_groups(manifest, features)
    options = {"vocabulary": "scored", "min_songs": 12, "n_folds": 2, "groups": groups, **SEED}
    split = SongSplit.from_folder(raw, names, **options)
    base = fit_song_models("gmm", features, SEQUENCES, SONGS, **SEED)[0]
    models = fit_tag_models("hem_gmm", base, split, range(2), SEQUENCES, SONGS, TAGS, **SEED)[0]
    scores = score_songs("hem_gmm", models, features, split, SEQUENCES)[0]["scores"]
    assert scores.shape == (20, len(split.tags))
    assert np.isfinite(scores).all()


# --- tags ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SONG_MODELS)
def test_only_training_songs_enter_a_fold(method, features, pools, split):
    base = base_of(method, pools, features)
    expected = fit(method, base, split)[0][0]
    train = split.songs[split.folds != 0].tolist()
    # Nothing of a test song is there to be used.
    visible = base.select(train) if isinstance(base, Pool) else {s: features[s] for s in train}
    assert_equal(fit(method, visible, split)[0][0].to_arrays(), expected.to_arrays())


@pytest.mark.parametrize("method", SONG_MODELS)
def test_every_method_tells_swinging_from_standing(method, features, pools, split):
    models, timings = fit(method, base_of(method, pools, features), split, (0, 1))
    # The rare tag's only song is tested in fold 0.
    assert models[0].names() == ["swinging", "standing"]
    assert models[1].names() == ["swinging", "standing", "rare"]
    scores, more = score_songs(method, models, features, split, SEQUENCES)
    assert np.isnan(scores["scores"][:4, 2]).all()
    assert not np.isnan(scores["scores"][4:]).any()
    swings = split.annotations[:, 0]
    assert ((scores["scores"][:, 0] > scores["scores"][:, 1]) == swings).all()
    assert {row["metric"] for row in timings} == {"seconds", "tags_given_up"}
    assert [row["fold"] for row in more] == [0, 1]
    again, _ = fit(method, base_of(method, pools, features), split, (1,))
    assert_equal(again[1].to_arrays(), models[1].to_arrays())


def test_scores_are_means_over_frames_of_sequences_without_overlap(features, pools):
    pool = pools["h3m"].select(["song_1", "song_2"])
    found = mean_scores(pool, features, ["song_5"], 20)
    cut = features["song_5"].reshape(3, 20, 3)
    for column, owner in enumerate(("song_1", "song_2")):
        alone = pools["h3m"].select([owner]).mixture
        assert found[0, column] == pytest.approx(alone.score_samples(list(cut)).sum() / 60)


def test_a_method_gives_up_when_its_time_is_over(pools, split):
    models, timings = fit("shem", pools["h3m"], split, tags=replace(TAGS, seconds=1e-9))
    given_up = [row["value"] for row in timings if row["metric"] == "tags_given_up"]
    assert models[0].names() == ["swinging"]
    assert given_up == [1]
    scores = np.full((8, 3), np.nan)
    scores[:, 0] = 1.0
    assert join_folds(split, [found_by(scores)]) == {}


def test_the_default_run_tries_every_method(repository):
    """A claim about a method that is not run has no row, which would go unnoticed."""
    for path in ("config.yaml", "configs/smoke.yaml", "configs/paper.yaml"):
        config = yaml.safe_load((repository / "config.yaml").read_text())["experiments"]["music"]
        changed = yaml.safe_load((repository / path).read_text())["experiments"]["music"]
        config = {**config, **changed}
        assert {*config["methods"], *config["once"]} == set(SONG_MODELS), path


# --- evaluation ---------------------------------------------------------------------------------


def found_by(scores, folds=(0, 1), method="m"):
    return {"method": np.array(method), "folds": np.array(folds), "scores": np.array(scores)}


def test_scores_by_hand(split):
    scores = np.where(split.annotations, 0.0, -1.0)
    scores[:4, 2] = np.nan
    scores[5, :2] = [-1.0, 0.0]  # a swinging song that is heard standing
    rows = evaluate_tagging(split, join_folds(split, [found_by(scores)]), SCORING)
    value = {(r["item"], r["fold"], r["metric"]): r["value"] for r in rows if "variant" not in r}
    assert value["swinging", 0, "f_score"] == 1
    assert value["standing", 1, "precision"] == pytest.approx(2 / 3)
    assert value["swinging", 1, "recall"] == 0.5
    assert value["swinging", 1, "precision_at_k"] == pytest.approx(0.5 + 0.5 / 3)
    assert ("rare", 0, "recall") not in value, "it has no model"
    assert ("rare", 1, "recall") not in value, "it has no song"


def test_other_rules_for_tags_that_no_song_got_are_variants(split):
    scores = np.where(split.annotations, 0.0, -1.0)
    scores[:4, :2] = [0.0, -1.0]  # all of fold 0 is heard swinging, none standing
    scores[:4, 2] = np.nan
    found = join_folds(split, [found_by(scores)])
    rows = evaluate_tagging(split, found, SCORING)
    value = {(r.get("variant", ""), r["item"], r["fold"], r["metric"]): r["value"] for r in rows}
    assert value["", "standing", 0, "precision"] == 0.5
    assert value["empty_precision_zero", "standing", 0, "precision"] == 0
    assert ("empty_precision_skip", "standing", 0, "precision") not in value
    assert ("empty_precision_prior", "standing", 0, "precision") not in value
    for variant in ("empty_precision_zero", "empty_precision_skip"):
        # All else is as it was.
        assert value[variant, "swinging", 0, "precision"] == 0.5
        assert value[variant, "standing", 1, "precision"] == 1
        assert value[variant, "standing", 0, "f_score"] == 0
    varied = {r["metric"] for r in rows if r.get("variant")}
    assert varied == {"precision", "f_score"}
    zero = evaluate_tagging(split, found, replace(SCORING, empty_precision="zero"))
    assert {r.get("variant", "") for r in zero} == {
        "",
        "empty_precision_prior",
        "empty_precision_skip",
    }


def test_tags_that_are_not_scored_compete_by_hand(split):
    """A tag that no score counts takes songs from the others, and probability."""
    split = replace(split, scored=np.array([True, True, False]))
    scores = np.where(split.annotations, 0.0, -1.0)
    scores[:4, 2] = np.nan  # no model in fold 0
    scores[5, 2] = 3.0  # the rare tag takes a swinging song,
    scores[7] = [0.0, -1.0, -0.5]  # but not this one
    found = join_folds(split, [found_by(scores)])
    rows = evaluate_tagging(split, found, SCORING)
    value = {(r["item"], r["fold"], r["metric"]): r["value"] for r in rows if "variant" not in r}
    assert {item for item, _, _ in value} == {"swinging", "standing"}
    assert value["swinging", 0, "recall"] == 1
    assert value["swinging", 1, "recall"] == 0.5
    assert value["swinging", 1, "precision"] == 1
    # Probabilities among three tags: song 5 1 / (1 + 1 / e + e ** 3) = .047, song 7 .506, the
    # standing songs .212. Among two tags both swinging songs would come first.
    assert value["swinging", 1, "aroc"] == 0.5
    resampled = resample_songs(split, found, SCORING, draws=2, **SEED)
    alone = replace(split, scored=np.array([True, False, False]))
    other = resample_songs(alone, found, SCORING, draws=2, **SEED)
    assert [r["value"] for r in resampled] != [r["value"] for r in other]


def test_resampled_songs_are_the_same_for_all_methods(split):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=split.annotations.shape)
    found = join_folds(
        split, [found_by(scores), found_by(scores, method="same"), found_by(scores, (0,), "once")]
    )
    rows = resample_songs(split, found, SCORING, draws=4, **SEED)
    assert {row["method"] for row in rows if row["item"] == ""} == {"m", "same"}
    value = {(r["method"], r["repeat"], r["metric"]): r["value"] for r in rows if not r["item"]}
    aroc = [value["m", draw, "resampled_aroc"] for draw in range(4)]
    assert aroc == [value["same", draw, "resampled_aroc"] for draw in range(4)]
    assert len(set(aroc)) > 1


def test_songs_are_resampled_on_each_set_of_folds_that_methods_share():
    split = SongSplit(
        songs=np.array([f"s{i}" for i in range(12)]),
        tags=np.array(["x", "y"]),
        annotations=np.stack([np.arange(12) % 2 == 0, np.arange(12) % 2 == 1], axis=1),
        folds=np.arange(12) // 4,
        scored=np.ones(2, dtype=bool),
    )
    scores = np.random.default_rng(0).normal(size=(12, 2))
    lacking = {"all": (0, 1, 2), "early": (0, 1), "late": (1, 2), "first": (0,)}
    blocks = [found_by(scores, folds, method) for method, folds in lacking.items()]
    rows = resample_songs(split, join_folds(split, blocks), SCORING, draws=3, **SEED)
    sets = {method: {r["item"] for r in rows if r["method"] == method} for method in lacking}
    assert sets == {
        "all": {"", "0,1", "1,2", "0", "1"},
        "early": {"0,1", "0", "1"},
        "late": {"1,2", "1"},
        "first": {"0"},
    }
    # The same models and songs in the same folds: the same score, whatever else a method ran.
    table = pd.DataFrame(rows).groupby(["item", "repeat", "metric"])["value"]
    assert (table.nunique() == 1).all()
    mean = pd.DataFrame(rows).set_index(["method", "item", "repeat", "metric"])["value"]
    # No tag lacks songs, so that the mean over folds is that of the folds.
    np.testing.assert_allclose(
        mean["all", "0,1", 0, "resampled_recall"],
        (mean["all", "0", 0, "resampled_recall"] + mean["all", "1", 0, "resampled_recall"]) / 2,
    )


def test_tags_that_a_method_gave_up_on_are_counted_with_its_scores(split):
    scores = np.zeros((8, 3))
    scores[:4, 1:] = np.nan
    rows = tags_given_up(split, [found_by(scores), found_by(np.zeros((8, 3)), method="other")])
    # The rare tag has no training songs in fold 0.
    assert rows == [{"method": "m", "fold": 0, "metric": "tags_given_up", "value": 1}]


def test_resampling_draws_songs_within_their_fold(split, monkeypatch):
    """With every fold's songs drawn once each, the resampled score is the score."""
    rng = np.random.default_rng(3)
    found = join_folds(split, [found_by(rng.normal(size=split.annotations.shape))])
    plain = pd.DataFrame(evaluate_tagging(split, found, SCORING))
    plain = plain[plain["variant"].isna()]

    class Same:
        def choice(self, songs, size):
            assert size == len(songs) == 4
            return songs

    monkeypatch.setattr(np.random, "default_rng", lambda state: Same())
    rows = resample_songs(split, found, SCORING, draws=1, **SEED)
    for row in rows:
        values = plain[plain["metric"] == row["metric"].removeprefix("resampled_")]
        assert row["value"] == pytest.approx(values.groupby("item")["value"].mean().mean())


def test_a_song_stage_counts_for_each_method_that_needs_it():
    rows = [
        {"method": "h3m", "item": "songs", "metric": "seconds", "value": 2.0},
        {"method": "vhem", "item": "tags", "metric": "seconds", "value": 1.0},
        # Memory was measured for the method itself.
        {"method": "vhem", "item": "songs", "metric": "peak_bytes", "value": 9.0},
    ]
    out = list(song_stage(rows, SONG_MODELS, ["vhem", "em_h3m", "shem"]))
    assert [(row["method"], row["item"], row["value"]) for row in out] == [
        ("vhem", "songs", 2.0),
        ("shem", "songs", 2.0),
        ("vhem", "tags", 1.0),
        ("vhem", "songs", 9.0),
    ]


# --- two stages against direct EM ---------------------------------------------------------------


def test_over_fitting_is_training_minus_test(features, pools, split):
    rows = compare_estimation(
        pools["h3m"], features, split, SEQUENCES, SONGS, TAGS, n_tags=2, virtual_samples=[1], **SEED
    )
    value = {(r["method"], r["variant"], r["item"], r["metric"]): r["value"] for r in rows}
    assert {key[:2] for key in value} == {
        ("vhem", ""),
        ("em_h3m", ""),
        ("em_h3m_dense", ""),
        ("vhem", "virtual_samples_1"),
    }
    assert {key[2] for key in value} == {"swinging", "standing"}, "rare has no training song"
    model = fit("em_h3m", features, split)[0][0].select(["swinging"])
    train = mean_scores(model, features, ["song_5", "song_7"], 20).mean()
    test = mean_scores(model, features, ["song_1", "song_3"], 20).mean()
    own = ("em_h3m", "", "swinging")
    assert value[*own, "train_log_likelihood"] == pytest.approx(train)
    assert value[*own, "over_fitting"] == pytest.approx(train - test)


def test_tags_are_spread_from_rare_to_frequent():
    rng = np.random.default_rng(0)
    annotations = rng.random((40, 9)) < np.linspace(0.2, 0.9, 9)
    tags = np.array([f"tag_{i}" for i in range(9)])
    split = SongSplit(
        np.arange(40).astype(str), tags, annotations, np.arange(40) % 4, np.ones(9, dtype=bool)
    )
    counts = annotations.sum(axis=0)
    chosen = spread_tags(split, 3)
    assert counts[chosen[0]] == counts.min()
    assert counts[chosen[2]] == counts.max()
    assert len(spread_tags(split, 20)) == 9


def test_peak_memory_is_what_is_allocated_at_a_time():
    def one_after_the_other():
        for _ in range(3):
            np.ones(1_000_000).sum()

    def together():
        np.concatenate([np.ones(1_000_000) for _ in range(3)]).sum()

    assert 8e6 <= peak_of(one_after_the_other) < 17e6
    assert 48e6 <= peak_of(together) < 50e6


def test_direct_learning_needs_more_memory(pools, split):
    rng = np.random.default_rng(0)
    long = {f"song_{i}": rng.normal(size=(2000, 3)).astype(np.float32) for i in range(8)}
    rows = measure_memory(lambda: pools["h3m"], long, split, SEQUENCES, SONGS, TAGS, **SEED)
    peak = {(row["method"], row["item"]): row["value"] for row in rows}
    assert peak["em_h3m_dense", "tags"] > peak["em_h3m", "tags"]
    assert peak["em_h3m", "tags"] > peak["vhem", "tags"]
