rule embed_densities:
    input:
        densities=results("features/{experiment}/densities.npy"),
        code=package_sources("sliced_wasserstein"),
    output:
        embedding=results("models/{experiment}/embedding.npy"),
    log:
        results("logs/embed_densities/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    threads: 2
    params:
        settings=lambda wildcards: config["experiments"][wildcards.experiment][
            "sliced_wasserstein"
        ],
    script:
        "../scripts/embed_densities.py"


rule select_samples:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        densities=results("features/{experiment}/densities.npy"),
        code=package_sources("sliced_wasserstein", "replication.protocols.samples"),
    output:
        samples=results("figdata/{experiment}_samples.npz"),
    log:
        results("logs/select_samples/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    threads: 2
    params:
        raw=lambda wildcards: f"data/raw/{RUN}/{DATASET_OF[wildcards.experiment]}",
        settings=lambda wildcards: {
            **config["experiments"][wildcards.experiment]["sliced_wasserstein"],
            **config["experiments"][wildcards.experiment]["samples"],
        },
    script:
        "../scripts/select_samples.py"
