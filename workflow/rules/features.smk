# A variant of an experiment changes settings that the paper leaves open; "main" changes none.
rule compute_cooccurrence:
    input:
        manifest=manifest("textures"),
        code=package_sources("replication.features.cooccurrence", "replication.datasets.images"),
    output:
        densities=results("features/textures/{variant}/densities.npy"),
    params:
        raw=raw_folder("textures"),
        settings=lambda wildcards: variant_settings("textures", wildcards.variant, "cooccurrence"),
    log:
        results("logs/compute_cooccurrence/{variant}.log"),
    threads: 2
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/compute_cooccurrence.py"
