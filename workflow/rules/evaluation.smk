rule run_svm:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        densities=results("features/{experiment}/{variant}/densities.npy"),
        embedding=results("models/{experiment}/{variant}/embedding.npy"),
        matrices=results("models/{experiment}/{variant}/matrices.npz"),
        code=package_sources(
            "replication.images.svm",
            "replication.images.multiclass",
            "replication.images.matrices",
        ),
    output:
        scores=results("runs/{experiment}/{variant}/svm_{part}_{first}-{last}.csv"),
        timing=results("timings/{experiment}/{variant}/svm_{part}_{first}-{last}.csv"),
    log:
        results("logs/run_svm/{experiment}_{variant}_{part}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        transport=sliced_wasserstein_settings,
        svm=lambda wildcards: svm_protocol(wildcards.experiment),
        methods=svm_methods,
    script:
        "../scripts/run_svm.py"


rule collect_svm:
    input:
        summary=lambda wildcards: summary(wildcards.experiment),
        blocks=lambda wildcards: svm_scores(wildcards.experiment),
        code=package_sources("replication.report.metrics"),
    output:
        metrics=results("metrics/{experiment}_svm.csv"),
    log:
        results("logs/collect_svm/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/collect_svm.py"


rule compare_multiclass:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        summary=lambda wildcards: summary(wildcards.experiment),
        matrices=results("models/{experiment}/main/matrices.npz"),
        code=package_sources("replication.images.svm", "replication.images.multiclass"),
    output:
        metrics=results("metrics/{experiment}_multiclass.csv"),
    log:
        results("logs/compare_multiclass/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        svm=lambda wildcards: svm_protocol(wildcards.experiment),
        methods=lambda wildcards: settings(wildcards.experiment, "svm")[
            "multiclass_methods"
        ],
        repeats=lambda wildcards: settings(wildcards.experiment, "svm")[
            "multiclass_repeats"
        ],
    script:
        "../scripts/compare_multiclass.py"


rule run_kmeans:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        summary=lambda wildcards: summary(wildcards.experiment),
        matrices=results("models/{experiment}/main/matrices.npz"),
        code=package_sources("replication.images.kmeans", "sliced_wasserstein"),
    output:
        metrics=results("metrics/{experiment}_kmeans.csv"),
    log:
        results("logs/run_kmeans/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        kmeans=lambda wildcards: settings(wildcards.experiment, "kmeans"),
    script:
        "../scripts/run_kmeans.py"


rule compute_variance:
    input:
        summary=lambda wildcards: summary(wildcards.experiment),
        matrices=results("models/{experiment}/main/matrices.npz"),
        code=package_sources(
            "replication.images.variance", "sliced_wasserstein.kernels"
        ),
    output:
        metrics=results("metrics/{experiment}_variance.csv"),
    log:
        results("logs/compute_variance/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        variance=lambda wildcards: settings(wildcards.experiment, "variance"),
    script:
        "../scripts/compute_variance.py"


rule check_identities:
    input:
        summary=lambda wildcards: summary(wildcards.experiment),
        densities=results("features/{experiment}/main/densities.npy"),
        code=package_sources("replication.images.identities", "sliced_wasserstein"),
    output:
        metrics=results("metrics/{experiment}_identities.csv"),
    log:
        results("logs/check_identities/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        transport=lambda wildcards: settings(wildcards.experiment, "sliced_wasserstein"),
        identities=lambda wildcards: settings(wildcards.experiment, "identities"),
    script:
        "../scripts/check_identities.py"


rule compute_definiteness:
    input:
        code=package_sources("sliced_wasserstein"),
    output:
        spectra=results("figdata/definiteness.csv"),
    log:
        results("logs/compute_definiteness.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
    script:
        "../scripts/compute_definiteness.py"
