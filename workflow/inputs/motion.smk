# What the rules of rules/motion.smk ask for.
def motion_parts(variant):
    """Methods by the jobs that run them: those that take long have jobs of their own."""
    trials = settings("motion", "trials" if variant == "main" else "sensitivity")
    methods = MOTION_METHODS if variant == "main" else trials["methods"]
    slow = settings("motion", "trials")["slow_methods"]
    quick = [method for method in methods if method not in slow]
    parts = {method: [method] for method in methods if method in slow}
    return {"quick": quick, **parts} if quick else parts


def motion_blocks(
    variant, only=MOTION_METHODS, pattern="runs/motion/{variant}/{block}.npz"
):
    """Blocks of trials of a variant of the motion experiment that hold some of the methods."""
    sizes = settings("motion", "trials")
    trials = sizes if variant == "main" else settings("motion", "sensitivity")
    return [
        results(pattern.format(variant=variant, block=f"{part}_{first}-{last}"))
        for part, methods in motion_parts(variant).items()
        if {*only} & {*methods}
        for first, last in repeat_blocks(
            trials["repeats"], sizes["block" if part == "quick" else "slow_block"]
        )
    ]


def motion_variants():
    """Names of the settings of the motion experiment that are tried."""
    return ["main", *settings("motion", "sensitivity")["variants"]]


def block_models(wildcards):
    """First levels of the trials of a block."""
    return [
        results(f"models/motion/{wildcards.variant}/hmms_{trial}.npz")
        for trial in range(int(wildcards.first), int(wildcards.last) + 1)
    ]
