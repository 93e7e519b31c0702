# A trial learns an HMM of each sequence; every method gets the same ones. A variant of the
# experiment changes settings that the paper leaves open; "main" changes none.
rule fit_motion_hmms:
    input:
        sequences=results("features/motion/{variant}/sequences.npz"),
        code=package_sources("replication.motion.protocol", "vhem"),
    output:
        models=results("models/motion/{variant}/hmms_{trial}.npz"),
    log:
        results("logs/fit_motion_hmms/{variant}_{trial}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        hmms=lambda wildcards: variant_settings("motion", wildcards.variant, "hmms"),
    script:
        "../scripts/fit_motion_hmms.py"


rule cluster_motions:
    input:
        sequences=results("features/motion/{variant}/sequences.npz"),
        models=block_models,
        code=package_sources("replication.motion.protocol", "vhem"),
    output:
        runs=results("runs/motion/{variant}/{method}_{first}-{last}.npz"),
        timing=results("timings/motion/{variant}/{method}_{first}-{last}.csv"),
    log:
        results("logs/cluster_motions/{variant}_{method}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        hmms=lambda wildcards: variant_settings("motion", wildcards.variant, "hmms"),
        hierarchy=lambda wildcards: variant_settings(
            "motion", wildcards.variant, "hierarchy"
        ),
    script:
        "../scripts/cluster_motions.py"


rule score_motions:
    input:
        summary=summary("motion"),
        sequences=results("features/motion/{variant}/sequences.npz"),
        runs=lambda wildcards: motion_blocks(wildcards.variant),
        code=package_sources("replication.motion.scores"),
    output:
        metrics=results("runs/motion/{variant}.csv"),
        failures=results("runs/motion_failures/{variant}.csv"),
    log:
        results("logs/score_motions/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        draws=settings("motion", "bootstrap")["draws"],
    script:
        "../scripts/score_motions.py"


rule collect_motions:
    input:
        metrics=expand(results("runs/motion/{variant}.csv"), variant=motion_variants()),
        failures=expand(
            results("runs/motion_failures/{variant}.csv"), variant=motion_variants()
        ),
        timings=motion_blocks("main", pattern="timings/motion/{variant}/{block}.csv"),
        summary=summary("motion"),
    output:
        metrics=results("metrics/motion_hierarchy.csv"),
        timings=results("timings/motion_hierarchy.csv"),
        failures=results("runs/motion_failures.csv"),
    log:
        results("logs/collect_motions.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/collect_motions.py"


rule measure_motion_convergence:
    input:
        sequences=results("features/motion/main/sequences.npz"),
        code=package_sources(
            "replication.motion.protocol",
            "replication.motion.convergence",
            "vhem",
        ),
    output:
        metrics=results("runs/motion_convergence/{trial}.csv"),
        timings=results("timings/motion_convergence/{trial}.csv"),
    log:
        results("logs/measure_motion_convergence/{trial}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        hmms=settings("motion", "hmms"),
        hierarchy=settings("motion", "hierarchy"),
    script:
        "../scripts/measure_motion_convergence.py"


rule collect_motion_convergence:
    input:
        metrics=expand(
            results("runs/motion_convergence/{trial}.csv"), trial=motion_trials()
        ),
        timings=expand(
            results("timings/motion_convergence/{trial}.csv"), trial=motion_trials()
        ),
        summary=summary("motion"),
    output:
        metrics=results("metrics/motion_convergence.csv"),
        timings=results("timings/motion_convergence.csv"),
    log:
        results("logs/collect_motion_convergence.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/collect_motion_convergence.py"


rule select_hierarchies:
    input:
        sequences=results("features/motion/main/sequences.npz"),
        runs=motion_blocks("main", ["vhem", "ppk_sc"]),
        code=package_sources("replication.motion.scores"),
    output:
        hierarchies=results("figdata/motion_hierarchies.csv"),
    log:
        results("logs/select_hierarchies.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/select_hierarchies.py"


rule select_exemplars:
    input:
        manifest=manifest("motion"),
        sequences=results("features/motion/main/sequences.npz"),
        runs=motion_blocks("main", ["vhem"]),
        code=package_sources("replication.motion.scores", "replication.motion.skeleton"),
    output:
        exemplars=results("figdata/motion_exemplars.npz"),
    log:
        results("logs/select_exemplars.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=raw_folder("motion"),
        allow_subset=config["allow_subset"],
    script:
        "../scripts/select_exemplars.py"
