# What the rules of rules/images.smk ask for.
def sliced_wasserstein_settings(wildcards):
    """Parameters of the embedding of an experiment's variant."""
    return variant_settings(
        wildcards.experiment, wildcards.variant, "sliced_wasserstein"
    )


def not_shown(wildcards):
    """Classes of an experiment of which no picture is drawn."""
    return settings(wildcards.experiment, "samples").get("not_shown", [])


def owner_of(variant, *parts):
    """The variant whose results serve a variant that does not change these parts."""
    if variant == "main":
        return variant
    changes = settings("faces", "sensitivity")["variants"][variant]
    return variant if set(parts) & set(changes) else "main"


def dictionary_file(variant):
    """Dictionary of HOGgles of a variant of the faces experiment."""
    # Only a dictionary that is learned from faces depends on their size.
    return results(f"models/faces/{owner_of(variant, 'dictionary')}/dictionary.npz")


def dictionaries():
    """Dictionaries of all variants of the faces experiment that have one of their own."""
    variants = (
        ["main", *settings("faces", "sensitivity")["variants"]]
        if enabled_experiments("faces")
        else []
    )
    return {
        variant: dictionary_file(variant)
        for variant in variants
        if owner_of(variant, "dictionary") == variant
    }


def dictionary_training(wildcards):
    """Data set that a dictionary is learned from, besides the sample photographs."""
    training = variant_settings("faces", wildcards.variant, "dictionary")["training"]
    return "textures" if training == "with_textures" else "faces"


def resized_faces(variant):
    """All faces at the size of a variant of the faces experiment."""
    return results(f"features/faces/{owner_of(variant, 'images')}/faces.npy")


def hoggles_blocks(variant):
    """Blocks of inverted faces of a variant of the faces experiment."""
    owner = owner_of(variant, "dictionary", "images")
    return [
        results(f"features/faces/{owner}/hoggles_{block}.npy")
        for block in range(settings("faces", "hoggles")["blocks"])
    ]


def hoggles_of_variants():
    """Blocks of all variants that invert faces in a way of their own at the main size."""
    variants = ["main", *settings("faces", "sensitivity")["variants"]]
    return {
        variant: hoggles_blocks(variant)
        for variant in variants
        if owner_of(variant, "dictionary", "images") == variant
        if owner_of(variant, "images") == "main"
    }


def hog_vectors(wildcards):
    """Raw HOG vectors, which only photographs have, where kernels beyond the paper are compared."""
    is_main = wildcards.variant == "main"
    found = wildcards.experiment == "faces" and is_main
    return results("features/faces/main/hog.npy") if found else []


def svm_protocol(experiment):
    """Settings that decide the score of a repetition, so that more of them can be asked for later."""
    svm = settings(experiment, "svm")
    return {key: svm[key] for key in ("folds", "inner_folds", "C", "gamma", "degree")}


def svm_methods(wildcards):
    """Kernels of a block: the paper's, those beyond it, the slow, or the sensitivity study's."""
    if wildcards.variant == "main":
        return settings(wildcards.experiment, "svm")[f"{wildcards.part}_methods"]
    return settings(wildcards.experiment, "sensitivity")["methods"]


def svm_scores(experiment):
    """Blocks of repetitions of all kernels and variants of an experiment."""
    svm, sensitivity = settings(experiment, "svm"), settings(experiment, "sensitivity")
    blocks = [f"main/{name}" for name in svm_blocks(svm)]
    blocks += [
        f"{variant}/svm_paper_{first}-{last}.csv"
        for variant in sensitivity["variants"]
        for first, last in repeat_blocks(sensitivity["repeats"], svm["block"])
    ]
    return [results(f"runs/{experiment}/{block}") for block in blocks]
