# A variant of an experiment changes settings that the paper leaves open; "main" changes none.
rule compute_cooccurrence:
    input:
        manifest=manifest("textures"),
        code=package_sources(
            "replication.features.cooccurrence", "replication.datasets.images"
        ),
    output:
        densities=results("features/textures/{variant}/densities.npy"),
    log:
        results("logs/compute_cooccurrence/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    threads: 2
    params:
        raw=raw_folder("textures"),
        settings=lambda wildcards: variant_settings(
            "textures", wildcards.variant, "cooccurrence"
        ),
    script:
        "../scripts/compute_cooccurrence.py"
