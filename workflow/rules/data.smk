# The only rules that know where data come from. Raw files stand in data/raw/<run>/<dataset>/ and
# are not outputs: Snakemake deletes the outputs of an interrupted job, while the data stage
# verifies and keeps every raw file that is already there.
rule prepare_dataset:
    input:
        catalog="resources/datasets.csv",
        checksums="resources/checksums/{dataset}.sha256",
        code=dataset_sources,
    output:
        manifest=results("data/{dataset}.csv"),
        summary=results("data/{dataset}.json"),
    log:
        results("logs/prepare_dataset/{dataset}.log"),
    conda:
        "../../envs/replication.yaml"
    # All else waits for the data. The jobs that follow have one thread each: there are many of them,
    # and for a job of two threads, which starts on one, a core would wait for the other to be free.
    threads: 2
    params:
        run=RUN,
        seed=config["seed"],
        allow_subset=config["allow_subset"],
        settings=lambda wildcards: config["datasets"][wildcards.dataset],
        recordings=recordings,
    script:
        "../scripts/prepare_dataset.py"
