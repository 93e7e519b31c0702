# What the rules of rules/motion.smk ask for.
def motion_blocks(variant, only=None, pattern="runs/motion/{variant}/{block}.npz"):
    """Blocks of trials of all (or only some) methods of a variant of the motion experiment."""
    trials = settings("motion", "trials" if variant == "main" else "sensitivity")
    methods = MOTION_METHODS if variant == "main" else trials["methods"]
    sizes = settings("motion", "trials")
    sizes = {
        method: sizes["slow_block" if method in sizes["slow_methods"] else "block"]
        for method in MOTION_METHODS
    }
    return [
        results(pattern.format(variant=variant, block=f"{method}_{first}-{last}"))
        for method in only or methods
        for first, last in repeat_blocks(trials["repeats"], sizes[method])
    ]


def convergence_blocks(folder):
    """Blocks of trials that are followed in time."""
    trials = settings("motion", "trials")
    return [
        results(f"{folder}/motion_convergence/{first}-{last}.csv")
        for first, last in repeat_blocks(trials["repeats"], trials["block"])
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
