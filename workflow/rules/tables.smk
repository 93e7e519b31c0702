rule tabulate_cvpr2016_fig4:
    input:
        metrics=metric_files(part="svm"),
        code=package_sources("replication.report.tables"),
    output:
        expand(results("tables/cvpr2016_fig4.{format}"), format=["csv", "md", "tex"]),
    log:
        results("logs/tabulate_cvpr2016_fig4.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/tabulate_cvpr2016_fig4.py"


rule tabulate_cvpr2016_fig5:
    input:
        metrics=metric_files(part="kmeans"),
        code=package_sources("replication.report.tables"),
    output:
        expand(results("tables/cvpr2016_fig5.{format}"), format=["csv", "md", "tex"]),
    log:
        results("logs/tabulate_cvpr2016_fig5.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/tabulate_cvpr2016_fig5.py"


rule tabulate_faces_classes:
    input:
        metrics=results("metrics/faces_inversion.csv"),
        code=package_sources("replication.report.tables"),
    output:
        expand(results("tables/faces_classes.{format}"), format=["csv", "md", "tex"]),
    log:
        results("logs/tabulate_faces_classes.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/tabulate_faces_classes.py"


rule tabulate_nips2012_table2:
    input:
        metrics=results("metrics/motion_hierarchy.csv"),
        timings=results("timings/motion_hierarchy.csv"),
        failures=results("runs/motion_failures.csv"),
        paper="resources/paper/nips2012_table2.csv",
        code=package_sources("replication.report.tables"),
    output:
        expand(results("tables/nips2012_table2.{format}"), format=["csv", "md", "tex"]),
    log:
        results("logs/tabulate_nips2012_table2.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/tabulate_nips2012_table2.py"


rule tabulate_nips2012_table3:
    input:
        metrics=results("metrics/music_cal500.csv"),
        timings=results("timings/music_tagging.csv"),
        paper="resources/paper/nips2012_table3.csv",
        code=package_sources("replication.report.tables"),
    output:
        expand(results("tables/nips2012_table3.{format}"), format=["csv", "md", "tex"]),
    log:
        results("logs/tabulate_nips2012_table3.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        retrieved=settings("music", "scoring")["retrieved"],
    script:
        "../scripts/tabulate_nips2012_table3.py"


rule evaluate_claims:
    input:
        claims="resources/claims.yaml",
        metrics=metric_files(),
        timings=timing_files(),
        code=package_sources(
            "replication.report.claims", "replication.report.statistics"
        ),
    output:
        claims=results("claims.csv"),
    log:
        results("logs/evaluate_claims.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/evaluate_claims.py"


rule list_deviations:
    input:
        settings="resources/deviations.yaml",
        metrics=metric_files(),
        code=package_sources("replication.report.deviations"),
    output:
        deviations=results("deviations.csv"),
    log:
        results("logs/list_deviations.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        config={key: value for key, value in config.items() if key != "archives"},
    script:
        "../scripts/list_deviations.py"
