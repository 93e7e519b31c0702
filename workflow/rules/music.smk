# Two collections go the same way: CAL500, or its stand-in, and songs that differ in order only.
rule make_order_songs:
    input:
        code=package_sources(
            "replication.standins.order_collection",
            "replication.standins.order_songs",
        ),
    output:
        manifest=results("data/order_songs.csv"),
        summary=results("data/order_songs.json"),
    log:
        results("logs/make_order_songs.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        raw=music_raw("order"),
        settings=settings("music", "order"),
    script:
        "../scripts/make_order_songs.py"


rule split_songs:
    input:
        manifest=lambda wildcards: music_manifest(wildcards.collection),
        features=lambda wildcards: music_features(wildcards.collection, "mfcc"),
        code=package_sources(
            "replication.music.annotations", "replication.music.tagging"
        ),
    output:
        split=results("features/music/{collection}/split.npz"),
    log:
        results("logs/split_songs/{collection}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        experiment=music_experiment,
        raw=lambda wildcards: music_raw(wildcards.collection),
        settings=music_split,
    script:
        "../scripts/split_songs.py"


rule make_song_features:
    input:
        manifest=lambda wildcards: music_manifest(wildcards.collection),
        code=package_sources(
            "replication.music.mfcc",
            "replication.data.audio",
            "replication.data.mp3",
        ),
    output:
        mfcc=results("features/music/{collection}/mfcc_{block}.npz"),
        mel=results("features/music/{collection}/mel_{block}.npz"),
    log:
        results("logs/make_song_features/{collection}_{block}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        raw=lambda wildcards: music_raw(wildcards.collection),
        settings=settings("music", "features"),
    script:
        "../scripts/make_song_features.py"


rule fit_song_models:
    input:
        features=song_model_features,
        code=package_sources("replication.music.tagging", "vhem"),
    output:
        models=results("models/music/{collection}/songs_{kind}_{block}.npz"),
        timing=results("timings/music/{collection}/songs_{kind}_{block}.csv"),
    log:
        results("logs/fit_song_models/{collection}_{kind}_{block}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        experiment=music_experiment,
        sequences=music_sequences(),
        songs=settings("music", "songs"),
    script:
        "../scripts/fit_song_models.py"


rule fit_tag_models:
    input:
        split=results("features/music/{collection}/split.npz"),
        base=tag_model_base,
        code=package_sources("replication.music.tagging", "vhem"),
    output:
        models=results("models/music/{collection}/tags_{method}_{first}-{last}.npz"),
        timing=results("timings/music/{collection}/tags_{method}_{first}-{last}.csv"),
    log:
        results("logs/fit_tag_models/{collection}_{method}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        experiment=music_experiment,
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
    script:
        "../scripts/fit_tag_models.py"


rule score_songs:
    input:
        split=results("features/music/{collection}/split.npz"),
        features=method_features,
        models=results("models/music/{collection}/tags_{method}_{first}-{last}.npz"),
        code=package_sources("replication.music.tagging", "vhem.likelihood"),
    output:
        scores=results("runs/music/{collection}/{method}_{first}-{last}.npz"),
        timing=results("timings/music/{collection}/scores_{method}_{first}-{last}.csv"),
    log:
        results("logs/score_songs/{collection}_{method}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        sequences=music_sequences(),
    script:
        "../scripts/score_songs.py"


rule evaluate_tagging:
    input:
        summary=lambda wildcards: music_summary(wildcards.collection),
        split=results("features/music/{collection}/split.npz"),
        scores=lambda wildcards: music_runs(wildcards.collection),
        code=package_sources(
            "replication.standins.ceiling",
            "replication.music.evaluation",
            "replication.music.scores",
            "replication.standins.song_tags",
        ),
    output:
        metrics=results("metrics/music_{collection}.csv"),
    log:
        results("logs/evaluate_tagging/{collection}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        experiment=music_experiment,
        scoring=music_scoring,
        made_with=music_made_with,
        draws=settings("music", "bootstrap")["draws"],
    script:
        "../scripts/evaluate_tagging.py"


rule compare_estimation:
    input:
        summary=summary("music"),
        split=results("features/music/cal500/split.npz"),
        features=music_features("cal500", "mfcc"),
        models=music_song_models("cal500", "h3m"),
        code=package_sources("replication.music.estimation", "vhem"),
    output:
        metrics=results("metrics/music_estimation.csv"),
    log:
        results("logs/compare_estimation.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
        estimation=settings("music", "estimation"),
    script:
        "../scripts/compare_estimation.py"


# A job is a process of its own, so that nothing else is in the memory that is measured.
rule measure_memory:
    input:
        split=results("features/music/cal500/split.npz"),
        features=music_features("cal500", "mfcc"),
        models=music_song_models("cal500", "h3m"),
        code=package_sources("replication.music.estimation", "vhem"),
    output:
        timing=results("timings/music/memory.csv"),
    log:
        results("logs/measure_memory.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        seed=config["seed"],
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
    script:
        "../scripts/measure_memory.py"


rule collect_music_timings:
    input:
        summary=summary("music"),
        timings=music_timings(),
        code=package_sources("replication.music.evaluation"),
    output:
        timings=results("timings/music_tagging.csv"),
    log:
        results("logs/collect_music_timings.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        methods=music_methods("cal500"),
    script:
        "../scripts/collect_music_timings.py"
