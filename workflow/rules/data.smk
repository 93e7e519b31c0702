# The only rules that know where data come from. Raw files stand in data/raw/<run>/<dataset>/ and
# are not outputs: Snakemake deletes the outputs of an interrupted job, while the data stage
# verifies and keeps every raw file that is already there.
include: "../inputs/data.smk"


rule prepare_dataset:
    input:
        catalog="resources/datasets.csv",
        checksums="resources/checksums/{dataset}.sha256",
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
        code=preparing_code,
        run=RUN,
        seed=config["seed"],
        allow_subset=config["allow_subset"],
        settings=lambda wildcards: config["datasets"][wildcards.dataset],
        recordings=recordings,
    script:
        "../scripts/data/prepare_dataset.py"


# Songs that differ in order only: always synthetic, and never published.
rule make_order_songs:
    output:
        manifest=results("data/order_songs.csv"),
        summary=results("data/order_songs.json"),
    log:
        results("logs/make_order_songs.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("data/make_order_songs"),
        seed=config["seed"],
        raw=music_raw("order"),
        settings=settings("music", "order"),
    script:
        "../scripts/data/make_order_songs.py"
