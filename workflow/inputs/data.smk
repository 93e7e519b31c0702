# What the rules of rules/data.smk ask for.
def recordings(wildcards):
    """What recordings must be like to have features."""
    features = settings("music", "features")
    keys = {"sampling_rate": "sampling_rate", "min_frames": "sequence_length"}
    is_music = wildcards.dataset == EXPERIMENTS["music"].dataset
    return {key: features[name] for key, name in keys.items()} if is_music else {}


def preparing_code(wildcards):
    """What decides a data set's raw files: its reader and, if it is synthetic, its generator."""
    name = wildcards.dataset
    source = config["datasets"][name]["source"]
    own = [standin_of(name)] if source == "embedded" else []
    return code_of("data/prepare_dataset", DATASETS[name], *own)(wildcards)
