# Figures are drawn, tables are written and claims are judged from tables alone. What a figure or a
# table is made from stands in replication.registry.
include: "../inputs/report.smk"


for figure in exhibits_of(FIGURES, enabled_experiments()):

    rule:
        name:
            f"plot_{figure}"
        input:
            data=exhibit_files(FIGURES[figure]),
            summaries=[
                summary(e) for e in enabled_experiments(*FIGURES[figure].experiments)
            ],
        output:
            reported(figure),
        log:
            results(f"logs/plot_{figure}.log"),
        conda:
            "../../envs/replication.yaml"
        params:
            code=code_of("report/plot_figure", FIGURES[figure].module),
            figure=figure,
            experiments=enabled_experiments(),
        script:
            "../scripts/report/plot_figure.py"


for table in exhibits_of(TABLES, enabled_experiments()):

    rule:
        name:
            f"tabulate_{table}"
        input:
            exhibit_files(TABLES[table]),
        output:
            expand(results("tables/{name}.{format}"), name=table, format=TABLE_FORMATS),
        log:
            results(f"logs/tabulate_{table}.log"),
        conda:
            "../../envs/replication.yaml"
        params:
            code=code_of("report/tabulate", TABLES[table].module),
            table=table,
            options=(
                {"retrieved": settings("music", "scoring")["retrieved"]}
                if table == "nips2012_table3"
                else {}
            ),
            experiments=enabled_experiments(),
        script:
            "../scripts/report/tabulate.py"


rule evaluate_claims:
    input:
        claims="resources/claims.yaml",
        deviations="resources/deviations.yaml",
        metrics=metric_files(),
        timings=timing_files(),
    output:
        claims=results("claims.csv"),
        multiverse=results("multiverse.csv"),
    log:
        results("logs/evaluate_claims.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("report/evaluate_claims"),
        experiments=config["experiments"],
    script:
        "../scripts/report/evaluate_claims.py"


rule list_deviations:
    input:
        settings="resources/deviations.yaml",
        metrics=metric_files(),
    output:
        deviations=results("deviations.csv"),
    log:
        results("logs/list_deviations.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("report/list_deviations"),
        config={key: value for key, value in config.items() if key != "archives"},
    script:
        "../scripts/report/list_deviations.py"


# Written last, from everything else: it dates from the newest result of the run.
rule record_run:
    input:
        summaries=summaries(),
        files=run_files(),
        dictionaries=list(dictionaries().values()),
        lock="requirements.lock",
    output:
        record=run_record(),
    log:
        results("logs/record_run.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("report/record_run"),
        # Not the folder of the archives: a run is the same run wherever they lie.
        config={key: value for key, value in config.items() if key != "archives"},
        dictionaries=list(dictionaries()),
    script:
        "../scripts/report/record_run.py"
