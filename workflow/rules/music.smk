# Two collections go the same way: CAL500, or its stand-in, and songs that differ in order only.
def music_manifest(collection):
    """List of the songs of a collection."""
    return (
        manifest("music") if collection == "cal500" else results("data/order_songs.csv")
    )


def music_summary(collection):
    """Origin of a collection."""
    return (
        summary("music") if collection == "cal500" else results("data/order_songs.json")
    )


def music_experiment(wildcards):
    """Name under which a collection is scored; it decides the collection's seeds."""
    return COLLECTIONS[wildcards.collection]


def music_sequences():
    """How songs are cut."""
    features = settings("music", "features")
    return {"length": features["sequence_length"], "overlap": features["overlap"]}


def music_split(wildcards):
    """How songs are dealt out; all tags of the order collection take part and are scored."""
    order = {"vocabulary": "modelled", "min_songs": 1}
    changes = order if wildcards.collection == "order" else {}
    return {**settings("music", "split"), **changes}


def music_scoring(wildcards):
    """How songs are scored; those of the order collection have one tag each."""
    changes = {"annotated": 1} if wildcards.collection == "order" else {}
    return {**settings("music", "scoring"), **changes}


def music_made_with(wildcards):
    """What decides the tags that synthetic songs are made from: a ceiling for every method."""
    data = config["datasets"]["cal500"]
    if wildcards.collection != "cal500" or data["source"] != "embedded":
        return {}
    sizes = {key: data["embedded"][key] for key in ("songs", "tags")}
    return {**sizes, "seed": config["seed"]}


def music_features(collection, features):
    """Features of all songs of a collection."""
    return [
        results(f"features/music/{collection}/{features}_{block}.npz")
        for block in range(settings("music", "features")["blocks"])
    ]


def music_song_models(collection, kind, folder="models", suffix="npz"):
    """Models of one kind of all songs of a collection."""
    return [
        results(f"{folder}/music/{collection}/songs_{kind}_{block}.{suffix}")
        for block in range(settings("music", "features")["blocks"])
    ]


def song_model_features(wildcards):
    """Features that a block of models of songs is of."""
    features = FEATURES_OF_KIND[wildcards.kind]
    path = "features/music/{collection}/{features}_{block}.npz"
    return results(path.format(features=features, **wildcards))


def tag_model_base(wildcards):
    """What a method learns tags from: models of songs, or their features."""
    kind = SONG_MODELS[wildcards.method]
    if kind is None:
        return music_features(wildcards.collection, "mfcc")
    return music_song_models(wildcards.collection, kind)


def method_features(wildcards):
    """Features that a method scores."""
    kind = SONG_MODELS[wildcards.method]
    return music_features(wildcards.collection, FEATURES_OF_KIND.get(kind, "mfcc"))


def music_methods(collection):
    """Methods that are run on a collection."""
    part = (
        config["experiments"]["music"]
        if collection == "cal500"
        else settings("music", "order")
    )
    return [*dict.fromkeys([*part["methods"], *part.get("once", [])])]


def music_blocks(collection):
    """Methods with the folds of each of their jobs, as in vhem_0-4; some get one fold only."""
    split = settings("music", "split")
    once = config["experiments"]["music"]["once"]
    return [
        f"{method}_{first}-{last}"
        for method in music_methods(collection)
        for first, last in (
            [(0, 0)]
            if method in once
            else repeat_blocks(split["folds"], split["block"])
        )
    ]


def music_runs(collection):
    """Scores of the songs of a collection by all methods."""
    return [
        results(f"runs/music/{collection}/{block}.npz")
        for block in music_blocks(collection)
    ]


def music_timings():
    """Costs of learning and scoring CAL500."""
    kinds = {SONG_MODELS[method] for method in music_methods("cal500")} - {None}
    return [
        results("timings/music/memory.csv"),
        *(
            path
            for kind in sorted(kinds)
            for path in music_song_models("cal500", kind, "timings", "csv")
        ),
        *(
            results(f"timings/music/cal500/{stage}_{block}.csv")
            for block in music_blocks("cal500")
            for stage in ("tags", "scores")
        ),
    ]


rule split_songs:
    input:
        manifest=lambda wildcards: music_manifest(wildcards.collection),
        features=lambda wildcards: music_features(wildcards.collection, "mfcc"),
    output:
        split=results("features/music/{collection}/split.npz"),
    log:
        results("logs/split_songs/{collection}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/split_songs"),
        seed=config["seed"],
        experiment=music_experiment,
        raw=lambda wildcards: music_raw(wildcards.collection),
        settings=music_split,
    script:
        "../scripts/music/split_songs.py"


rule make_song_features:
    input:
        manifest=lambda wildcards: music_manifest(wildcards.collection),
    output:
        mfcc=results("features/music/{collection}/mfcc_{block}.npz"),
        mel=results("features/music/{collection}/mel_{block}.npz"),
    log:
        results("logs/make_song_features/{collection}_{block}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/make_song_features"),
        raw=lambda wildcards: music_raw(wildcards.collection),
        settings=settings("music", "features"),
    script:
        "../scripts/music/make_song_features.py"


rule fit_song_models:
    input:
        features=song_model_features,
    output:
        models=results("models/music/{collection}/songs_{kind}_{block}.npz"),
        timing=results("timings/music/{collection}/songs_{kind}_{block}.csv"),
    log:
        results("logs/fit_song_models/{collection}_{kind}_{block}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/fit_song_models"),
        seed=config["seed"],
        experiment=music_experiment,
        sequences=music_sequences(),
        songs=settings("music", "songs"),
    script:
        "../scripts/music/fit_song_models.py"


rule fit_tag_models:
    input:
        split=results("features/music/{collection}/split.npz"),
        base=tag_model_base,
    output:
        models=results("models/music/{collection}/tags_{method}_{first}-{last}.npz"),
        timing=results("timings/music/{collection}/tags_{method}_{first}-{last}.csv"),
    log:
        results("logs/fit_tag_models/{collection}_{method}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/fit_tag_models"),
        seed=config["seed"],
        experiment=music_experiment,
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
    script:
        "../scripts/music/fit_tag_models.py"


rule score_songs:
    input:
        split=results("features/music/{collection}/split.npz"),
        features=method_features,
        models=results("models/music/{collection}/tags_{method}_{first}-{last}.npz"),
    output:
        scores=results("runs/music/{collection}/{method}_{first}-{last}.npz"),
        timing=results("timings/music/{collection}/scores_{method}_{first}-{last}.csv"),
    log:
        results("logs/score_songs/{collection}_{method}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/score_songs"),
        sequences=music_sequences(),
    script:
        "../scripts/music/score_songs.py"


rule evaluate_tagging:
    input:
        summary=lambda wildcards: music_summary(wildcards.collection),
        split=results("features/music/{collection}/split.npz"),
        scores=lambda wildcards: music_runs(wildcards.collection),
    output:
        metrics=results("metrics/music_{collection}.csv"),
    log:
        results("logs/evaluate_tagging/{collection}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/evaluate_tagging"),
        seed=config["seed"],
        experiment=music_experiment,
        scoring=music_scoring,
        made_with=music_made_with,
        draws=settings("music", "bootstrap")["draws"],
    script:
        "../scripts/music/evaluate_tagging.py"


rule compare_estimation:
    input:
        summary=summary("music"),
        split=results("features/music/cal500/split.npz"),
        features=music_features("cal500", "mfcc"),
        models=music_song_models("cal500", "h3m"),
    output:
        metrics=results("metrics/music_estimation.csv"),
    log:
        results("logs/compare_estimation.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/compare_estimation"),
        seed=config["seed"],
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
        estimation=settings("music", "estimation"),
    script:
        "../scripts/music/compare_estimation.py"


# A job is a process of its own, so that nothing else is in the memory that is measured.
rule measure_memory:
    input:
        split=results("features/music/cal500/split.npz"),
        features=music_features("cal500", "mfcc"),
        models=music_song_models("cal500", "h3m"),
    output:
        timing=results("timings/music/memory.csv"),
    log:
        results("logs/measure_memory.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/measure_memory"),
        seed=config["seed"],
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
    script:
        "../scripts/music/measure_memory.py"


rule collect_music_timings:
    input:
        summary=summary("music"),
        timings=music_timings(),
    output:
        timings=results("timings/music_tagging.csv"),
    log:
        results("logs/collect_music_timings.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/collect_music_timings"),
        methods=music_methods("cal500"),
    script:
        "../scripts/music/collect_music_timings.py"
