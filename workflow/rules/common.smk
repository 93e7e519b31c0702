from pathlib import Path

from snakemake.exceptions import WorkflowError

from replication.settings import (
    ConfigError,
    check_config,
    load_config,
    repeat_blocks,
    share_sources,
    svm_blocks,
)
from replication.digests import keep_digests
from replication.registry import (
    COLLECTIONS,
    DATASETS,
    EXPERIMENTS,
    MOTION_METHODS,
    SONG_MODELS,
    standin_of,
)
from replication.report.sharing import withheld_figures

# Not by `configfile:`, which merges what Snakemake's loader made of the files: of two equal keys it
# keeps the last. The launcher's file is the whole configuration, others say what differs.
given = workflow.config_settings
files = [*map(Path, given.configfiles)]
if not any(file.parent.match(".snakemake/configurations") for file in files):
    files.insert(0, Path("config.yaml"))

try:
    config = load_config(files, given.config)
    check_config(config, Path(workflow.basedir) / "workflow/schemas/config.schema.yaml")
except ConfigError as error:
    raise WorkflowError(str(error))

share_sources(workflow.basedir)

RUN = config["run"]
RESULTS = f"results/{RUN}"
FORMATS = ["svg", "pdf", "png"]


wildcard_constraints:
    dataset="|".join(config["datasets"]),
    experiment="|".join(EXPERIMENTS),
    variant="[a-z0-9_]+",
    part="paper|extra|slow",
    method="|".join(dict.fromkeys([*MOTION_METHODS, *SONG_MODELS])),
    collection="|".join(COLLECTIONS),
    kind="h3m|hmm|hmm_pair|gmm|dtm",
    block="[0-9]+",
    trial="[0-9]+",
    first="[0-9]+",
    last="[0-9]+",


def results(path):
    """Path of a result of this run."""
    return f"{RESULTS}/{path}"


def package_sources(*modules):
    """Source files of packages or modules, so that editing them re-runs what uses them."""
    files = set()
    for module in modules:
        path = Path("src", *module.split("."))
        source = path.with_suffix(".py")
        files.update([source] if source.exists() else path.rglob("*.py"))
    return sorted(map(str, files))


def dataset_sources(wildcards):
    """Source files that decide a data set's raw files: the shared ones and its own."""
    shared = (
        "archives",
        "catalog",
        "download",
        "embedded",
        "images",
        "manifest",
        "sources",
    )
    own = (DATASETS[wildcards.dataset], standin_of(wildcards.dataset))
    # Motions and songs are read, and synthetic ones made, by modules with names of their own.
    more = {
        "cmu_mocap": [
            "replication.motion.asf_amc",
            "replication.motion.skeleton",
            "replication.standins.asf_amc_writer",
        ],
        "cal500": [
            "replication.data.audio",
            "replication.data.mp3",
            "replication.music.annotations",
            "replication.standins.song_tags",
            "replication.standins.song_sound",
        ],
    }
    return package_sources(
        *(f"replication.data.{module}" for module in shared),
        *own,
        *more.get(wildcards.dataset, []),
    )


def enabled_experiments(*experiments):
    """Those of the experiments (default: all) whose data set takes part in this run."""
    return [
        e
        for e in experiments or EXPERIMENTS
        if config["datasets"][EXPERIMENTS[e].dataset]["enabled"]
    ]


def settings(experiment, part):
    """A part of an experiment's configuration."""
    return config["experiments"][experiment][part]


def variant_settings(experiment, variant, part):
    """The same with the changes that a variant of the sensitivity study makes."""
    changes = (
        {}
        if variant == "main"
        else settings(experiment, "sensitivity")["variants"][variant]
    )
    return {**settings(experiment, part), **changes.get(part, {})}


def sliced_wasserstein_settings(wildcards):
    """Parameters of the embedding of an experiment's variant."""
    return variant_settings(
        wildcards.experiment, wildcards.variant, "sliced_wasserstein"
    )


def not_shown(wildcards):
    """Classes of an experiment of which no picture is drawn."""
    return settings(wildcards.experiment, "samples").get("not_shown", [])


def raw_folder(experiment):
    """Folder of the published files that an experiment reads."""
    return f"data/raw/{RUN}/{EXPERIMENTS[experiment].dataset}"


def manifest(experiment):
    """List of the files that an experiment uses."""
    if experiment == "faces":
        # Classes are chosen and copies found first.
        return results("features/faces/images.csv")
    return results(f"data/{EXPERIMENTS[experiment].dataset}.csv")


def dataset_manifest(dataset):
    """List of all files of a data set."""
    return results(f"data/{dataset}.csv")


def owner_of(variant, *parts):
    """The variant whose results serve a variant that does not change these parts."""
    if variant == "main":
        return variant
    changes = settings("faces", "sensitivity")["variants"][variant]
    return variant if set(parts) & set(changes) else "main"


def dictionary_file(variant):
    """Dictionary of HOGgles of a variant of the faces experiment."""
    # Only a dictionary that is learned from faces depends on their size.
    return results(f"models/faces/{owner_of(variant, 'dictionary')}/dictionary.npz")


def dictionaries():
    """Dictionaries of all variants of the faces experiment that have one of their own."""
    variants = (
        ["main", *settings("faces", "sensitivity")["variants"]]
        if enabled_experiments("faces")
        else []
    )
    return {
        variant: dictionary_file(variant)
        for variant in variants
        if owner_of(variant, "dictionary") == variant
    }


def dictionary_training(wildcards):
    """Data set that a dictionary is learned from, besides the sample photographs."""
    training = variant_settings("faces", wildcards.variant, "dictionary")["training"]
    return "textures" if training == "with_textures" else "faces"


def hoggles_blocks(variant):
    """Blocks of inverted faces of a variant of the faces experiment."""
    owner = owner_of(variant, "dictionary", "images")
    return [
        results(f"features/faces/{owner}/hoggles_{block}.npy")
        for block in range(settings("faces", "hoggles")["blocks"])
    ]


def hoggles_of_variants():
    """Blocks of all variants that invert faces in a way of their own at the main size."""
    variants = ["main", *settings("faces", "sensitivity")["variants"]]
    return {
        variant: hoggles_blocks(variant)
        for variant in variants
        if owner_of(variant, "dictionary", "images") == variant
        if owner_of(variant, "images") == "main"
    }


def hog_vectors(wildcards):
    """Raw HOG vectors, which only photographs have, where kernels beyond the paper are compared."""
    is_main = wildcards.variant == "main"
    found = wildcards.experiment == "faces" and is_main
    return results("features/faces/hog.npy") if found else []


def summary(experiment):
    """Origin and completeness of the data that an experiment uses."""
    return results(f"data/{EXPERIMENTS[experiment].dataset}.json")


def summaries(part=None):
    """Origin and completeness of all data of this run, or of those that a protocol scores."""
    return [
        summary(experiment)
        for experiment in enabled_experiments()
        if part is None or part in EXPERIMENTS[experiment].metrics
    ]


def svm_protocol(experiment):
    """Settings that decide the score of a repetition, so that more of them can be asked for later."""
    svm = settings(experiment, "svm")
    return {key: svm[key] for key in ("folds", "inner_folds", "C", "gamma", "degree")}


def svm_methods(wildcards):
    """Kernels of a block: the paper's, those beyond it, the slow, or the sensitivity study's."""
    if wildcards.variant == "main":
        return settings(wildcards.experiment, "svm")[f"{wildcards.part}_methods"]
    return settings(wildcards.experiment, "sensitivity")["methods"]


def svm_scores(experiment):
    """Blocks of repetitions of all kernels and variants of an experiment."""
    svm, sensitivity = settings(experiment, "svm"), settings(experiment, "sensitivity")
    blocks = [f"main/{name}" for name in svm_blocks(svm)]
    blocks += [
        f"{variant}/svm_paper_{first}-{last}.csv"
        for variant in sensitivity["variants"]
        for first, last in repeat_blocks(sensitivity["repeats"], svm["block"])
    ]
    return [results(f"runs/{experiment}/{block}") for block in blocks]


def motion_blocks(variant, only=None, pattern="runs/motion/{variant}/{block}.npz"):
    """Blocks of trials of all (or only some) methods of a variant of the motion experiment."""
    trials = settings("motion", "trials" if variant == "main" else "sensitivity")
    methods = MOTION_METHODS if variant == "main" else trials["methods"]
    sizes = settings("motion", "trials")
    sizes = {
        method: sizes["slow_block" if method in sizes["slow_methods"] else "block"]
        for method in MOTION_METHODS
    }
    return [
        results(pattern.format(variant=variant, block=f"{method}_{first}-{last}"))
        for method in only or methods
        for first, last in repeat_blocks(trials["repeats"], sizes[method])
    ]


def motion_trials():
    """Numbers of the trials with the main settings."""
    return range(settings("motion", "trials")["repeats"])


def motion_variants():
    """Names of the settings of the motion experiment that are tried."""
    return ["main", *settings("motion", "sensitivity")["variants"]]


def block_models(wildcards):
    """First levels of the trials of a block."""
    return [
        results(f"models/motion/{wildcards.variant}/hmms_{trial}.npz")
        for trial in range(int(wildcards.first), int(wildcards.last) + 1)
    ]


def recordings(wildcards):
    """What recordings must be like to have features."""
    features = settings("music", "features")
    keys = {"sampling_rate": "sampling_rate", "min_frames": "sequence_length"}
    is_music = wildcards.dataset == EXPERIMENTS["music"].dataset
    return {key: features[name] for key, name in keys.items()} if is_music else {}


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


def music_raw(collection):
    """Folder of a collection's files."""
    return (
        raw_folder("music") if collection == "cal500" else f"data/raw/{RUN}/order_songs"
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
    features = "mel" if wildcards.kind == "dtm" else "mfcc"
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
    return music_features(wildcards.collection, "mel" if kind == "dtm" else "mfcc")


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


def metric_files(*experiments, part=None):
    """Scores of the experiments (default: all), or only those of one protocol."""
    return [
        results(f"metrics/{experiment}_{name}.csv")
        for experiment in enabled_experiments(*experiments)
        for name in EXPERIMENTS[experiment].metrics
        if part in (None, name)
    ]


def timing_files(*experiments):
    """Seconds of the experiments (default: all)."""
    return [
        results(f"timings/{experiment}_{name}.csv")
        for experiment in enabled_experiments(*experiments)
        for name in EXPERIMENTS[experiment].timings
    ]


def figdata_files(*experiments):
    """What the figures of the experiments (default: all) draw that is no score."""
    names = {
        name
        for e in enabled_experiments(*experiments)
        for name in EXPERIMENTS[e].figdata
    }
    return [results(f"figdata/{name}") for name in sorted(names)]


def experiment_files(*experiments):
    """All that a run promises of the experiments (default: all)."""
    return [
        *figure_files(*experiments),
        *table_files(*experiments),
        *metric_files(*experiments),
        *timing_files(*experiments),
        *figdata_files(*experiments),
    ]


def run_files():
    """All that a run promises but its record, which lists these."""
    return [*experiment_files(), results("claims.csv"), results("deviations.csv")]


def withheld():
    """Figures of this run that may not be passed on."""
    used = [
        {
            "dataset": name,
            "origin": "synthetic" if data["source"] == "embedded" else "real",
        }
        for name, data in config["datasets"].items()
        if data["enabled"]
    ]
    return withheld_figures(used, Path(workflow.basedir) / "resources/datasets.csv")


def figure_files(*experiments, without=()):
    """Files of the figures that the experiments (default: all) take part in."""
    names = {
        name
        for e in enabled_experiments(*experiments)
        for name in EXPERIMENTS[e].figures
    }
    names -= set(without)
    return expand(
        results("figures/{name}.{format}"), name=sorted(names), format=FORMATS
    )


def table_files(*experiments):
    """Files of the tables that the experiments (default: all) take part in."""
    names = {
        name
        for e in enabled_experiments(*experiments)
        for name in EXPERIMENTS[e].tables
    }
    return expand(
        results("tables/{name}.{format}"),
        name=sorted(names),
        format=["csv", "md", "tex"],
    )


def run_record():
    """The record of the run, which is written when everything else stands."""
    return results("run.json")
