from snakemake.utils import min_version

min_version("9.9")


include: "workflow/inputs/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/motion.smk"
include: "workflow/rules/music.smk"
include: "workflow/rules/report.smk"


# Whoever starts Snakemake: what is written from now on leaves its digest.
onstart:
    keep_digests(Path(RESULTS))


# Everything by its name: of a file that only others are made from, Snakemake does not ask whether it
# is still there.
rule all:
    default_target: True
    input:
        run_record(),
        run_files(),


rule textures:
    input:
        experiment_files("textures"),


rule faces:
    input:
        experiment_files("faces"),


rule motion:
    input:
        experiment_files("motion"),


# What may be passed on: the report of this target is the public one.
rule shareable:
    input:
        figure_files(without=withheld()),
        table_files(),
        verdict_files(),


rule music:
    input:
        experiment_files("music"),


rule figures:
    input:
        figure_files(),


rule tables:
    input:
        table_files(),


rule claims:
    input:
        verdict_files(),
