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
        # Not the folder of the archives: a run is the same run wherever they lie.
        config={key: value for key, value in config.items() if key != "archives"},
        dictionaries=list(dictionaries()),
    script:
        "../scripts/record_run.py"
