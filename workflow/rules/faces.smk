# The steps that the faces have of their own: classes and copies, HOG, its inversion, densities.
rule select_faces:
    input:
        manifest=dataset_manifest("animal_faces"),
        code=package_sources(
            "replication.images.animal_faces", "replication.data.images"
        ),
    output:
        images=manifest("faces"),
    log:
        results("logs/select_faces.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=raw_folder("faces"),
        natural=settings("faces", "images")["natural"],
    script:
        "../scripts/select_faces.py"


rule compute_hog:
    input:
        images=manifest("faces"),
        code=package_sources(
            "replication.images.hoggles.hog", "replication.images.animal_faces"
        ),
    output:
        vectors=results("features/faces/hog.npy"),
    log:
        results("logs/compute_hog.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=raw_folder("faces"),
        side=settings("faces", "images")["side"],
    script:
        "../scripts/compute_hog.py"


rule learn_dictionary:
    input:
        manifest=lambda wildcards: manifest(dictionary_training(wildcards)),
        file=lambda wildcards: variant_settings(
            "faces", wildcards.variant, "dictionary"
        )["file"]
        or [],
        code=package_sources(
            "replication.images.hoggles.dictionary",
            "replication.images.hoggles.training",
            "replication.images.hoggles.hog",
        ),
    output:
        dictionary=results("models/faces/{variant}/dictionary.npz"),
    log:
        results("logs/learn_dictionary/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        raw=lambda wildcards: raw_folder(dictionary_training(wildcards)),
        side=settings("faces", "images")["side"],
        settings=lambda wildcards: variant_settings(
            "faces", wildcards.variant, "dictionary"
        ),
    script:
        "../scripts/learn_dictionary.py"


# A block is a fixed part of the images, so that a kill loses one block and not all of them.
rule invert_faces:
    input:
        images=manifest("faces"),
        dictionary=lambda wildcards: dictionary_file(wildcards.variant),
        code=package_sources(
            "replication.images.hoggles.inversion",
            "replication.images.hoggles.hog",
            "replication.images.animal_faces",
        ),
    output:
        hoggles=results("features/faces/{variant}/hoggles_{block}.npy"),
    log:
        results("logs/invert_faces/{variant}_{block}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=raw_folder("faces"),
        blocks=settings("faces", "hoggles")["blocks"],
        side=lambda wildcards: variant_settings("faces", wildcards.variant, "images")[
            "side"
        ],
    script:
        "../scripts/invert_faces.py"


rule make_face_densities:
    input:
        hoggles=lambda wildcards: hoggles_blocks(wildcards.variant),
        code=package_sources("replication.images.densities"),
    output:
        densities=results("features/faces/{variant}/densities.npy"),
    log:
        results("logs/make_face_densities/{variant}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        density=lambda wildcards: variant_settings(
            "faces", wildcards.variant, "density"
        ),
    script:
        "../scripts/make_face_densities.py"


rule score_inversion:
    input:
        images=manifest("faces"),
        summary=summary("faces"),
        blocks=[b for blocks in hoggles_of_variants().values() for b in blocks],
        code=package_sources("replication.images.hoggles_quality"),
    output:
        metrics=results("metrics/faces_inversion.csv"),
    log:
        results("logs/score_inversion.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=raw_folder("faces"),
        side=settings("faces", "images")["side"],
        hoggles=hoggles_of_variants(),
    script:
        "../scripts/score_inversion.py"
