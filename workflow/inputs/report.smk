# What the rules of rules/report.smk ask for.
def exhibit_files(exhibit):
    """Files of the run, or of resources/, for each argument of a figure's or table's function."""
    files = exhibit.files(enabled_experiments(*exhibit.experiments))
    return [
        file if file.startswith("resources/") else results(file)
        for argument in files
        for file in argument
    ]


def reported(name):
    """A figure in the formats that it is drawn in, the picture for Snakemake's report."""
    files = [results(f"figures/{name}.{suffix}") for suffix in FORMATS]
    files[0] = report(
        files[0],
        caption=f"../report/{name}.rst",
        category=FIGURES[name].paper,
        labels={"figure": FIGURES[name].title},
    )
    return files
