# From images to densities, their matrices, and what is scored of them. A variant of an experiment
# changes settings that the paper leaves open; "main" changes none.
include: "../inputs/images.smk"


rule compute_cooccurrence:
    input:
        manifest=manifest("textures"),
    output:
        densities=results("features/textures/{variant}/densities.npy"),
    log:
        results("logs/compute_cooccurrence/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/compute_cooccurrence"),
        raw=raw_folder("textures"),
        settings=lambda wildcards: variant_settings(
            "textures", wildcards.variant, "cooccurrence"
        ),
    script:
        "../scripts/images/compute_cooccurrence.py"


rule find_copies:
    input:
        manifest=dataset_manifest("animal_faces"),
    output:
        images=all_faces(),
    log:
        results("logs/find_copies.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/find_copies"),
        raw=raw_folder("faces"),
        selections={v: selection_of(v) for v in variants_of("faces")},
    script:
        "../scripts/images/find_copies.py"


rule compute_hog:
    input:
        images=all_faces(),
    output:
        faces=results("features/faces/{variant}/faces.npy"),
        vectors=results("features/faces/{variant}/hog.npy"),
    log:
        results("logs/compute_hog/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/compute_hog"),
        raw=raw_folder("faces"),
        side=lambda wildcards: variant_settings("faces", wildcards.variant, "images")[
            "side"
        ],
    script:
        "../scripts/images/compute_hog.py"


rule learn_dictionary:
    input:
        manifest=dictionary_images,
        file=lambda wildcards: variant_settings(
            "faces", wildcards.variant, "dictionary"
        )["file"]
        or [],
    output:
        dictionary=results("models/faces/{variant}/dictionary.npz"),
    log:
        results("logs/learn_dictionary/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/learn_dictionary"),
        seed=config["seed"],
        raw=lambda wildcards: raw_folder(dictionary_training(wildcards)),
        side=settings("faces", "images")["side"],
        settings=lambda wildcards: variant_settings(
            "faces", wildcards.variant, "dictionary"
        ),
    script:
        "../scripts/images/learn_dictionary.py"


# A block is a fixed part of the images, so that a kill loses one block and not all of them.
rule invert_faces:
    input:
        images=all_faces(),
        faces=lambda wildcards: resized_faces(wildcards.variant),
        dictionary=lambda wildcards: dictionary_file(wildcards.variant),
    output:
        hoggles=results("features/faces/{variant}/hoggles_{block}.npy"),
    log:
        results("logs/invert_faces/{variant}_{block}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/invert_faces"),
        raw=raw_folder("faces"),
        resized=lambda wildcards: variant_settings(
            "faces", wildcards.variant, "images"
        )["resized"],
        blocks=settings("faces", "hoggles")["blocks"],
    script:
        "../scripts/images/invert_faces.py"


# Which images take part is a choice too, that costs no inversion.
rule make_face_densities:
    input:
        images=all_faces(),
        hoggles=lambda wildcards: hoggles_blocks(wildcards.variant),
    output:
        images=results("features/faces/{variant}/images.csv"),
        densities=results("features/faces/{variant}/densities.npy"),
    log:
        results("logs/make_face_densities/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/make_face_densities"),
        selection=lambda wildcards: selection_of(wildcards.variant),
        density=lambda wildcards: variant_settings(
            "faces", wildcards.variant, "density"
        ),
    script:
        "../scripts/images/make_face_densities.py"


rule score_inversion:
    input:
        images=all_faces(),
        chosen=manifest("faces"),
        faces=resized_faces("main"),
        summary=summary("faces"),
        blocks=[b for blocks in hoggles_of_variants().values() for b in blocks],
    output:
        metrics=results("metrics/faces_inversion.csv"),
    log:
        results("logs/score_inversion.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/score_inversion"),
        hoggles=hoggles_of_variants(),
    script:
        "../scripts/images/score_inversion.py"


rule compute_matrices:
    input:
        densities=results("features/{experiment}/main/densities.npy"),
        hog=hog_vectors,
    output:
        embedding=results("models/{experiment}/main/embedding.npy"),
        matrices=results("models/{experiment}/main/matrices.npz"),
    log:
        results("logs/compute_matrices/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/compute_matrices"),
        transport=lambda wildcards: settings(wildcards.experiment, "sliced_wasserstein"),
    script:
        "../scripts/images/compute_matrices.py"


rule compute_inverses:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        summary=lambda wildcards: summary(wildcards.experiment),
        densities=results("features/{experiment}/main/densities.npy"),
    output:
        # The pictures of photographs are withheld; their numbers are not.
        inverses=results("figdata/{experiment}_inverses.npz"),
        metrics=results("metrics/{experiment}_inverses.csv"),
    log:
        results("logs/compute_inverses/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/compute_inverses"),
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
        "../scripts/images/compute_inverses.py"


rule select_samples:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        densities=results("features/{experiment}/main/densities.npy"),
    output:
        samples=results("figdata/{experiment}_samples.npz"),
    log:
        results("logs/select_samples/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/select_samples"),
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
        "../scripts/images/select_samples.py"


rule run_svm:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        densities=results("features/{experiment}/main/densities.npy"),
        embedding=results("models/{experiment}/main/embedding.npy"),
        matrices=results("models/{experiment}/main/matrices.npz"),
    output:
        scores=results("runs/{experiment}/main/svm_{part}_{first}-{last}.csv"),
        timing=results("timings/{experiment}/main/svm_{part}_{first}-{last}.csv"),
    log:
        results("logs/run_svm/{experiment}_{part}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/run_svm"),
        seed=config["seed"],
        transport=lambda wildcards: settings(wildcards.experiment, "sliced_wasserstein"),
        svm=svm_protocol,
        methods=lambda wildcards: settings(wildcards.experiment, "svm")[
            f"{wildcards.part}_methods"
        ],
        multiclass=svm_multiclass,
    script:
        "../scripts/images/run_svm.py"


rule collect_scores:
    input:
        summary=lambda wildcards: summary(wildcards.experiment),
        blocks=collected,
    output:
        metrics=results("metrics/{experiment}_{collected}.csv"),
    log:
        results("logs/collect_scores/{experiment}_{collected}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/collect_scores"),
    script:
        "../scripts/images/collect_scores.py"


# All protocols of the paper under a variant, whose matrices nothing else needs.
rule score_variant:
    input:
        manifest=variant_manifest,
        densities=densities,
    output:
        scores=results("runs/{experiment}/{variant}.csv"),
    log:
        results("logs/score_variant/{experiment}_{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/score_variant"),
        seed=config["seed"],
        transport=lambda wildcards: variant_settings(
            wildcards.experiment, wildcards.variant, "sliced_wasserstein"
        ),
        svm=svm_protocol,
        methods=lambda wildcards: settings(wildcards.experiment, "sensitivity")[
            "methods"
        ],
        repeats=lambda wildcards: settings(wildcards.experiment, "sensitivity")[
            "repeats"
        ],
        spaces=varied_spaces,
    script:
        "../scripts/images/score_variant.py"


rule run_kmeans:
    input:
        manifest=lambda wildcards: manifest(wildcards.experiment),
        summary=lambda wildcards: summary(wildcards.experiment),
        matrices=results("models/{experiment}/main/matrices.npz"),
    output:
        metrics=results("metrics/{experiment}_kmeans.csv"),
    log:
        results("logs/run_kmeans/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/run_kmeans"),
        seed=config["seed"],
        kmeans=lambda wildcards: settings(wildcards.experiment, "kmeans"),
    script:
        "../scripts/images/run_kmeans.py"


rule compute_variance:
    input:
        summary=lambda wildcards: summary(wildcards.experiment),
        matrices=results("models/{experiment}/main/matrices.npz"),
    output:
        metrics=results("metrics/{experiment}_variance.csv"),
    log:
        results("logs/compute_variance/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/compute_variance"),
        seed=config["seed"],
        variance=lambda wildcards: settings(wildcards.experiment, "variance"),
    script:
        "../scripts/images/compute_variance.py"


rule check_identities:
    input:
        summary=lambda wildcards: summary(wildcards.experiment),
        densities=results("features/{experiment}/main/densities.npy"),
    output:
        metrics=results("metrics/{experiment}_identities.csv"),
    log:
        results("logs/check_identities/{experiment}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/check_identities"),
        seed=config["seed"],
        transport=lambda wildcards: settings(wildcards.experiment, "sliced_wasserstein"),
        identities=lambda wildcards: settings(wildcards.experiment, "identities"),
    script:
        "../scripts/images/check_identities.py"


# Of constructed densities; what is scored counts to the textures.
rule compute_definiteness:
    input:
        summary=summary("textures"),
    output:
        spectra=results("figdata/definiteness.csv"),
        metrics=results("metrics/textures_plane.csv"),
        timings=results("timings/textures_plane.csv"),
    log:
        results("logs/compute_definiteness.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("images/compute_definiteness"),
        seed=config["seed"],
    script:
        "../scripts/images/compute_definiteness.py"
