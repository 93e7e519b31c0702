# What the rules of rules/music.smk ask for.
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


def music_runs(collection, folder="runs", suffix="npz"):
    """Scores of the songs of a collection by all methods."""
    return [
        results(f"{folder}/music/{collection}/{block}.{suffix}")
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
        *music_runs("cal500", "timings", "csv"),
    ]
