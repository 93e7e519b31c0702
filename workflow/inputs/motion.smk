# What the rules of rules/motion.smk ask for.
def motion_trials(variant):
    """Settings of the trials of a variant, but for the sizes of blocks."""
    return settings("motion", "trials" if variant == "main" else "sensitivity")


def motion_parts(variant):
    """Methods by the jobs that run them: those that take long have jobs of their own."""
    methods = MOTION_METHODS if variant == "main" else motion_trials(variant)["methods"]
    slow = settings("motion", "trials")["slow_methods"]
    quick = [method for method in methods if method not in slow]
    parts = {method: [method] for method in methods if method in slow}
    return {"quick": quick, **parts} if quick else parts


def motion_blocks(
    variant, only=MOTION_METHODS, pattern="runs/motion/{variant}/{block}.npz"
):
    """Blocks of trials of a variant of the motion experiment that hold some of the methods."""
    sizes = settings("motion", "trials")
    return [
        results(pattern.format(variant=variant, block=f"{part}_{first}-{last}"))
        for part, methods in motion_parts(variant).items()
        if {*only} & {*methods}
        for first, last in repeat_blocks(
            motion_trials(variant)["repeats"],
            sizes["block" if part == "quick" else "slow_block"],
        )
    ]


def motion_variants():
    """Names of the settings of the motion experiment that are tried."""
    return ["main", *settings("motion", "sensitivity")["variants"]]


def block_models(wildcards):
    """Blocks of first levels that hold those of the trials of a block."""
    variant, size = wildcards.variant, settings("motion", "trials")["block"]
    return [
        results(f"models/motion/{variant}/hmms_{first}-{last}.npz")
        for first, last in repeat_blocks(motion_trials(variant)["repeats"], size)
        if first <= int(wildcards.last) and int(wildcards.first) <= last
    ]


def first_model(wildcards):
    """First trial of the blocks of first levels that a block of trials reads."""
    size = settings("motion", "trials")["block"]
    return int(wildcards.first) // size * size
