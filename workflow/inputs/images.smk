# What the rules of rules/images.smk ask for.
def not_shown(wildcards):
    """Classes of an experiment of which no picture is drawn."""
    return settings(wildcards.experiment, "samples").get("not_shown", [])


def variants_of(experiment):
    """The main settings and the variants of an experiment that takes part in the run."""
    if not enabled_experiments(experiment):
        return []
    return ["main", *settings(experiment, "sensitivity")["variants"]]


#: Parts of the settings that densities depend on; an experiment has some of them.
DENSITY_PARTS = ("cooccurrence", "images", "dictionary", "density")


def owner_of(experiment, variant, *parts):
    """The variant whose results serve a variant that does not change these parts."""
    if variant == "main":
        return variant
    changes = settings(experiment, "sensitivity")["variants"][variant]
    return variant if set(parts) & set(changes) else "main"


def all_faces():
    """All images of faces, with what is a copy of what."""
    return results("features/faces/all.csv")


def selection_of(variant):
    """Which of them take part under a variant."""
    images = variant_settings("faces", variant, "images")
    return {key: images[key] for key in ("natural", "copies")}


def variant_manifest(wildcards):
    """List of the images that an experiment uses under a variant."""
    if wildcards.experiment != "faces":
        return manifest(wildcards.experiment)
    owner = owner_of("faces", wildcards.variant, *DENSITY_PARTS)
    return results(f"features/faces/{owner}/images.csv")


def densities(wildcards):
    """Densities of an experiment's variant."""
    owner = owner_of(wildcards.experiment, wildcards.variant, *DENSITY_PARTS)
    return results(f"features/{wildcards.experiment}/{owner}/densities.npy")


def dictionary_file(variant):
    """Dictionary of HOGgles of a variant of the faces experiment."""
    # Only a dictionary that is learned from faces depends on their size.
    owner = owner_of("faces", variant, "dictionary")
    return results(f"models/faces/{owner}/dictionary.npz")


def dictionaries():
    """Dictionaries of all variants of the faces experiment that have one of their own."""
    return {
        variant: dictionary_file(variant)
        for variant in variants_of("faces")
        if owner_of("faces", variant, "dictionary") == variant
    }


def dictionary_training(wildcards):
    """Data set that a dictionary is learned from, besides the sample photographs."""
    training = variant_settings("faces", wildcards.variant, "dictionary")["training"]
    return "textures" if training == "with_textures" else "faces"


def dictionary_images(wildcards):
    """List of the images that a dictionary is learned from."""
    experiment = dictionary_training(wildcards)
    return all_faces() if experiment == "faces" else manifest(experiment)


def resized_faces(variant):
    """All faces at the size of a variant of the faces experiment."""
    return results(f"features/faces/{hoggles_owner(variant, [], ['side'])}/faces.npy")


def hoggles_owner(variant, parts, settings_of_images):
    """The same of what is done with all images, of which a variant may select some."""
    changes = settings("faces", "sensitivity")["variants"].get(variant, {})
    own = {*parts} & {*changes} or {*settings_of_images} & {*changes.get("images", {})}
    return variant if own else "main"


def hoggles_blocks(variant):
    """Blocks of inverted faces of a variant of the faces experiment."""
    owner = hoggles_owner(variant, ["dictionary"], ["side", "resized"])
    return [
        results(f"features/faces/{owner}/hoggles_{block}.npy")
        for block in range(settings("faces", "hoggles")["blocks"])
    ]


def hoggles_of_variants():
    """Blocks of all variants that invert faces in a way of their own at the main size."""
    return {
        variant: hoggles_blocks(variant)
        for variant in variants_of("faces")
        if hoggles_owner(variant, ["dictionary"], ["side", "resized"]) == variant
        if hoggles_owner(variant, [], ["side"]) == "main"
    }


def hog_vectors(wildcards):
    """Raw HOG vectors, which only photographs have, where kernels beyond the paper are compared.

    They are of all images; those that take part are listed beside.
    """
    if wildcards.experiment != "faces":
        return []
    return [results("features/faces/main/hog.npy"), all_faces(), manifest("faces")]


def svm_protocol(wildcards):
    """Settings that decide the score of a repetition, so that more of them can be asked for later."""
    variant = getattr(wildcards, "variant", "main")
    svm = variant_settings(wildcards.experiment, variant, "svm")
    return {
        key: svm[key]
        for key in ("folds", "inner_folds", "scale", "C", "gamma", "degree")
    }


def svm_multiclass(wildcards):
    """Kernels of which a block scores other multi-class schemes, and up to which repetition."""
    svm = settings(wildcards.experiment, "svm")
    # No more than the block has: further repetitions do not change it.
    repeats = min(svm["multiclass_repeats"], int(wildcards.last) + 1)
    kernels = svm[f"{wildcards.part}_methods"]
    methods = [method for method in kernels if method in svm["multiclass_methods"]]
    if not methods or repeats <= int(wildcards.first):
        return {}
    return {"multiclass_methods": methods, "multiclass_repeats": repeats}


def varied_spaces(wildcards):
    """Settings of k-means and captured variance under a variant that moves the points."""
    parts = (*DENSITY_PARTS, "sliced_wasserstein")
    if owner_of(wildcards.experiment, wildcards.variant, *parts) == "main":
        return {}
    kmeans, variance = (
        settings(wildcards.experiment, part) for part in ("kmeans", "variance")
    )
    varied = settings(wildcards.experiment, "sensitivity")
    kept = {key: kmeans[key] for key in ("gamma", "degree", "resamples")}
    # Of the kernels that the paper draws.
    drawn = {"gammas": [], "degrees": [], "subsamples": varied["subsamples"]}
    return {
        "kmeans": {**kept, **varied["kmeans"]},
        "variance": {**variance, **drawn},
    }


def collected(wildcards):
    """Scores that make a file of metrics: of blocks of repetitions, or of variants."""
    experiment = wildcards.experiment
    if wildcards.collected == "svm":
        names = [f"main/{name}" for name in svm_blocks(settings(experiment, "svm"))]
    else:
        variants = settings(experiment, "sensitivity")["variants"]
        names = [f"{variant}.csv" for variant in variants]
    return [results(f"runs/{experiment}/{name}") for name in names]
