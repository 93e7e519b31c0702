rule compute_variance:
    input:
        summary=lambda wildcards: summary(wildcards.experiment),
        densities=results("features/{experiment}/densities.npy"),
        embedding=results("models/{experiment}/embedding.npy"),
        code=package_sources(
            "sliced_wasserstein.kernels", "replication.protocols.variance"
        ),
    output:
        metrics=results("metrics/{experiment}_variance.csv"),
    log:
        results("logs/compute_variance/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        dataset=lambda wildcards: DATASET_OF[wildcards.experiment],
    script:
        "../scripts/compute_variance.py"
