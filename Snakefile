from snakemake.utils import min_version

min_version("9.9")


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/faces.smk"
include: "workflow/rules/transport.smk"
include: "workflow/rules/hmm.smk"
include: "workflow/rules/music.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        run_record(),


rule textures:
    input:
        figure_files("textures"),
        table_files("textures"),
        metric_files("textures"),


rule faces:
    input:
        figure_files("faces"),
        table_files("faces"),
        metric_files("faces"),


rule motion:
    input:
        figure_files("motion"),
        table_files("motion"),
        metric_files("motion"),
        timing_files("motion"),


# What may be passed on: the report of this target is the public one.
rule shareable:
    input:
        figure_files(without=withheld()),
        table_files(),
        results("claims.csv"),
        results("deviations.csv"),


rule music:
    input:
        table_files("music"),
        metric_files("music"),
        timing_files("music"),


rule figures:
    input:
        figure_files(),


rule tables:
    input:
        table_files(),


rule claims:
    input:
        results("claims.csv"),
        results("deviations.csv"),
