from functools import cache
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
from replication.dependencies import code_digest
from replication.digests import keep_digests
from replication.registry import (
    COLLECTIONS,
    DATASETS,
    EXPERIMENTS,
    FEATURES_OF_KIND,
    FIGURES,
    MOTION_METHODS,
    SONG_MODELS,
    TABLES,
    exhibits_of,
    standin_of,
)
from replication.report.drawing import FORMATS
from replication.report.sharing import withheld_figures

# Not by `configfile:`, which merges what Snakemake's loader made of the files: of two equal keys it
# keeps the last. The launcher's file is the whole configuration, others say what differs.
given = workflow.config_settings
files = [*map(Path, given.configfiles)]
if not any(file.parent.match(".snakemake/configurations") for file in files):
    files.insert(0, Path("config.yaml"))

try:
    config = load_config(files, given.config)
    check_config(config)
except ConfigError as error:
    raise WorkflowError(str(error))

share_sources(workflow.basedir)

RUN = config["run"]
RESULTS = f"results/{RUN}"
TABLE_FORMATS = ["csv", "md", "tex"]


wildcard_constraints:
    dataset="|".join(config["datasets"]),
    experiment="|".join(EXPERIMENTS),
    variant="[a-z0-9_]+",
    part="|".join(["paper", "extra", "slow", "quick", *MOTION_METHODS]),
    collected="svm|sensitivity",
    method="|".join(SONG_MODELS),
    collection="|".join(COLLECTIONS),
    kind="|".join(FEATURES_OF_KIND),
    block="[0-9]+",
    first="[0-9]+",
    last="[0-9]+",


def results(path):
    """Path of a result of this run."""
    return f"{RESULTS}/{path}"


def code_of(script, *modules):
    """What of src decides the results of a script, besides what its rule names as modules."""
    path = Path(workflow.basedir, "workflow/scripts", f"{script}.py")
    digest = cache(lambda: code_digest(path, *modules))
    return lambda wildcards: digest()


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


def raw_folder(experiment):
    """Folder of the published files that an experiment reads."""
    return f"data/raw/{RUN}/{EXPERIMENTS[experiment].dataset}"


def manifest(experiment):
    """List of the files that an experiment uses."""
    if experiment == "faces":
        # Classes are chosen and copies left out first.
        return results("features/faces/main/images.csv")
    return results(f"data/{EXPERIMENTS[experiment].dataset}.csv")


def dataset_manifest(dataset):
    """List of all files of a data set."""
    return results(f"data/{dataset}.csv")


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


def music_raw(collection):
    """Folder of a collection's files."""
    return (
        raw_folder("music") if collection == "cal500" else f"data/raw/{RUN}/order_songs"
    )


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
    """All that a run promises of the experiments (default: all).

    Figures of verdicts ask for all experiments, and so are no part of a single one.
    """
    of_verdicts = [
        name for name in FIGURES if ("multiverse.csv",) in FIGURES[name].reads
    ]
    return [
        *figure_files(*experiments, without=of_verdicts if experiments else ()),
        *table_files(*experiments),
        *metric_files(*experiments),
        *timing_files(*experiments),
        *figdata_files(*experiments),
    ]


def verdict_files():
    """Verdicts of a run, and what they depend on."""
    return [
        results(name) for name in ("claims.csv", "multiverse.csv", "deviations.csv")
    ]


def run_files():
    """All that a run promises but its record, which lists these."""
    return [*experiment_files(), *verdict_files()]


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
    names = {*exhibits_of(FIGURES, enabled_experiments(*experiments))} - {*without}
    return expand(
        results("figures/{name}.{format}"), name=sorted(names), format=FORMATS
    )


def table_files(*experiments):
    """Files of the tables that the experiments (default: all) take part in."""
    names = exhibits_of(TABLES, enabled_experiments(*experiments))
    return expand(
        results("tables/{name}.{format}"),
        name=sorted(names),
        format=TABLE_FORMATS,
    )


def run_record():
    """The record of the run, which is written when everything else stands."""
    return results("run.json")
