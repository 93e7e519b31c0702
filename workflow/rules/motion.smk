# A trial learns an HMM of each sequence; every method gets the same ones. A variant of the
# experiment changes settings that the paper leaves open; "main" changes none.
include: "../inputs/motion.smk"


rule make_motion_features:
    input:
        manifest=manifest("motion"),
    output:
        sequences=results("features/motion/{variant}/sequences.npz"),
    log:
        results("logs/make_motion_features/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("motion/make_motion_features"),
        raw=raw_folder("motion"),
        allow_subset=config["allow_subset"],
        settings=lambda wildcards: variant_settings(
            "motion", wildcards.variant, "features"
        ),
    script:
        "../scripts/motion/make_motion_features.py"


rule fit_motion_hmms:
    input:
        sequences=results("features/motion/{variant}/sequences.npz"),
    output:
        models=results("models/motion/{variant}/hmms_{first}-{last}.npz"),
    log:
        results("logs/fit_motion_hmms/{variant}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("motion/fit_motion_hmms"),
        seed=config["seed"],
        hmms=lambda wildcards: variant_settings("motion", wildcards.variant, "hmms"),
    script:
        "../scripts/motion/fit_motion_hmms.py"


rule cluster_motions:
    input:
        sequences=results("features/motion/{variant}/sequences.npz"),
        models=block_models,
    output:
        runs=results("runs/motion/{variant}/{part}_{first}-{last}.npz"),
        timing=results("timings/motion/{variant}/{part}_{first}-{last}.csv"),
    log:
        results("logs/cluster_motions/{variant}_{part}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("motion/cluster_motions"),
        seed=config["seed"],
        methods=lambda wildcards: motion_parts(wildcards.variant)[wildcards.part],
        start=first_model,
        hmms=lambda wildcards: variant_settings("motion", wildcards.variant, "hmms"),
        hierarchy=lambda wildcards: variant_settings(
            "motion", wildcards.variant, "hierarchy"
        ),
    script:
        "../scripts/motion/cluster_motions.py"


rule score_motions:
    input:
        summary=summary("motion"),
        sequences=expand(
            results("features/motion/{variant}/sequences.npz"),
            variant=motion_variants(),
        ),
        runs=[block for v in motion_variants() for block in motion_blocks(v)],
        timings=motion_blocks("main", pattern="timings/motion/{variant}/{block}.csv"),
    output:
        metrics=results("metrics/motion_hierarchy.csv"),
        timings=results("timings/motion_hierarchy.csv"),
        failures=results("runs/motion_failures.csv"),
    log:
        results("logs/score_motions.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("motion/score_motions"),
        bootstrap={
            "draws": settings("motion", "bootstrap")["draws"],
            "seed": config["seed"],
            "experiment": "motion",
        },
        runs={variant: motion_blocks(variant) for variant in motion_variants()},
    script:
        "../scripts/motion/score_motions.py"


rule measure_motion_convergence:
    input:
        summary=summary("motion"),
        sequences=results("features/motion/main/sequences.npz"),
    output:
        metrics=results("metrics/motion_convergence.csv"),
        timings=results("timings/motion_convergence.csv"),
    log:
        results("logs/measure_motion_convergence.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("motion/measure_motion_convergence"),
        seed=config["seed"],
        repeats=settings("motion", "trials")["repeats"],
        hmms=settings("motion", "hmms"),
        hierarchy=settings("motion", "hierarchy"),
    script:
        "../scripts/motion/measure_motion_convergence.py"


rule select_motions:
    input:
        manifest=manifest("motion"),
        sequences=results("features/motion/main/sequences.npz"),
        runs=motion_blocks("main", ["vhem", "ppk_sc"]),
    output:
        hierarchies=results("figdata/motion_hierarchies.csv"),
        exemplars=results("figdata/motion_exemplars.npz"),
    log:
        results("logs/select_motions.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("motion/select_motions"),
        raw=raw_folder("motion"),
        allow_subset=config["allow_subset"],
    script:
        "../scripts/motion/select_motions.py"
