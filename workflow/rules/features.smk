rule compute_cooccurrence:
    input:
        manifest=manifest("textures"),
        code=package_sources(
            "replication.features.cooccurrence", "replication.datasets.images"
        ),
    output:
        densities=results("features/textures/densities.npy"),
    log:
        results("logs/compute_cooccurrence.log"),
    conda:
        "../../envs/replication.yaml"
    threads: 2
    params:
        raw=f"data/raw/{RUN}/uiuc_texture",
        settings=config["experiments"]["textures"]["cooccurrence"],
    script:
        "../scripts/compute_cooccurrence.py"
