rule embed_densities:
    input:
        densities=results("features/{experiment}/{variant}/densities.npy"),
        code=package_sources("sliced_wasserstein"),
    output:
        embedding=results("models/{experiment}/{variant}/embedding.npy"),
    log:
        results("logs/embed_densities/{experiment}_{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        settings=sliced_wasserstein_settings,
    script:
        "../scripts/embed_densities.py"


rule compute_matrices:
    input:
        densities=results("features/{experiment}/{variant}/densities.npy"),
        embedding=results("models/{experiment}/{variant}/embedding.npy"),
        hog=hog_vectors,
        code=package_sources(
            "replication.images.matrices", "sliced_wasserstein.kernels"
        ),
    output:
        matrices=results("models/{experiment}/{variant}/matrices.npz"),
    log:
        results("logs/compute_matrices/{experiment}_{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        # The kernels beyond the paper are compared at the main settings only.
        beyond_paper=lambda wildcards: wildcards.variant == "main",
        n_angles=lambda wildcards: sliced_wasserstein_settings(wildcards)["n_angles"],
    script:
        "../scripts/compute_matrices.py"


rule compute_inverses:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        densities=results("features/{experiment}/main/densities.npy"),
        code=package_sources("sliced_wasserstein", "replication.images.inverses"),
    output:
        inverses=results("figdata/{experiment}_inverses.npz"),
    log:
        results("logs/compute_inverses/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        transport=lambda wildcards: {
            **settings(wildcards.experiment, "sliced_wasserstein"),
            "n_angles": settings(wildcards.experiment, "inverses")["n_angles"],
        },
        not_shown=not_shown,
        inverses=lambda wildcards: {
            key: value
            for key, value in settings(wildcards.experiment, "inverses").items()
            if key != "n_angles"
        },
    script:
        "../scripts/compute_inverses.py"


# The pictures of photographs are withheld; their numbers are not.
rule score_inverses:
    input:
        inverses=results("figdata/{experiment}_inverses.npz"),
        summary=lambda wildcards: summary(wildcards.experiment),
        code=package_sources(
            "replication.images.inverse_scores",
            "sliced_wasserstein.inversion",
            "sliced_wasserstein.projection",
        ),
    output:
        metrics=results("metrics/{experiment}_inverses.csv"),
    log:
        results("logs/score_inverses/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        n_angles=lambda wildcards: settings(wildcards.experiment, "inverses")[
            "n_angles"
        ],
    script:
        "../scripts/score_inverses.py"


rule select_samples:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        densities=results("features/{experiment}/main/densities.npy"),
        code=package_sources("sliced_wasserstein", "replication.images.samples"),
    output:
        samples=results("figdata/{experiment}_samples.npz"),
    log:
        results("logs/select_samples/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=lambda wildcards: raw_folder(wildcards.experiment),
        colour=lambda wildcards: wildcards.experiment == "faces",
        not_shown=not_shown,
        # phi is drawn of slices that have a density, which those of point masses have not.
        settings=lambda wildcards: {
            **settings(wildcards.experiment, "sliced_wasserstein"),
            "footprint": "box",
            "n_angles": settings(wildcards.experiment, "samples")["n_angles"],
        },
    script:
        "../scripts/select_samples.py"
