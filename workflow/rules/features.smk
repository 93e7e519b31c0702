# A variant of an experiment changes settings that the paper leaves open; "main" changes none.
rule compute_cooccurrence:
    input:
        manifest=manifest("textures"),
        code=package_sources(
            "replication.images.cooccurrence", "replication.data.images"
        ),
    output:
        densities=results("features/textures/{variant}/densities.npy"),
    log:
        results("logs/compute_cooccurrence/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=raw_folder("textures"),
        settings=lambda wildcards: variant_settings(
            "textures", wildcards.variant, "cooccurrence"
        ),
    script:
        "../scripts/compute_cooccurrence.py"


rule make_motion_features:
    input:
        manifest=manifest("motion"),
        code=package_sources(
            "replication.motion.skeleton",
            "replication.motion.cmu_mocap",
        ),
    output:
        sequences=results("features/motion/{variant}/sequences.npz"),
    log:
        results("logs/make_motion_features/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=raw_folder("motion"),
        allow_subset=config["allow_subset"],
        settings=lambda wildcards: variant_settings(
            "motion", wildcards.variant, "features"
        ),
    script:
        "../scripts/make_motion_features.py"
