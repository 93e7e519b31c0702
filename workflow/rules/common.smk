import os
from pathlib import Path

from snakemake.exceptions import WorkflowError

from replication.config import ConfigError, check_config

try:
    check_config(config, Path(workflow.basedir) / "workflow/schemas/config.schema.yaml")
except ConfigError as error:
    raise WorkflowError(str(error))

# The checkout's own packages serve every job, in conda environments too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(workflow.basedir) / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
)

RUN = config["run"]
RESULTS = f"results/{RUN}"
FORMATS = ["svg", "pdf", "png"]

# Which figures each experiment takes part in.
FIGURES = {"textures": ["cvpr2016_fig1", "cvpr2016_fig3"]}
DATASET_OF = {"textures": "uiuc_texture"}


wildcard_constraints:
    dataset="|".join(config["datasets"]),
    experiment="|".join(DATASET_OF),


def results(path):
    """Path of a result of this run."""
    return f"{RESULTS}/{path}"


def package_sources(*modules):
    """Source files of packages or modules, so that editing them re-runs what uses them."""
    files = set()
    for module in modules:
        path = Path("src", *module.split("."))
        files.update(
            [path.with_suffix(".py")]
            if path.with_suffix(".py").exists()
            else path.rglob("*.py")
        )
    return sorted(map(str, files))


def enabled_experiments():
    """Experiments whose data set takes part in this run."""
    return [
        e for e, dataset in DATASET_OF.items() if config["datasets"][dataset]["enabled"]
    ]


def figure_files(*experiments):
    """Files of the figures that the experiments (default: all) take part in."""
    wanted = [e for e in enabled_experiments() if not experiments or e in experiments]
    names = sorted({figure for experiment in wanted for figure in FIGURES[experiment]})
    return expand(results("figures/{name}.{format}"), name=names, format=FORMATS)


def manifest(experiment):
    """List of the files that an experiment uses."""
    return results(f"data/{DATASET_OF[experiment]}.csv")


def summary(experiment):
    """Origin and completeness of the data that an experiment uses."""
    return results(f"data/{DATASET_OF[experiment]}.json")


def run_record():
    """The record of the run, which is written when everything else stands."""
    return results("run.json")
