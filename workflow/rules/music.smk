# Two collections go the same way: CAL500, or its stand-in, and songs that differ in order only.
include: "../inputs/music.smk"


rule split_songs:
    input:
        manifest=lambda wildcards: music_manifest(wildcards.collection),
        features=lambda wildcards: music_features(wildcards.collection, "mfcc"),
    output:
        split=results("features/music/{collection}/split.npz"),
    log:
        results("logs/split_songs/{collection}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/split_songs"),
        seed=config["seed"],
        experiment=music_experiment,
        raw=lambda wildcards: music_raw(wildcards.collection),
        settings=music_split,
    script:
        "../scripts/music/split_songs.py"


rule make_song_features:
    input:
        manifest=lambda wildcards: music_manifest(wildcards.collection),
    output:
        mfcc=results("features/music/{collection}/mfcc_{block}.npz"),
        mel=results("features/music/{collection}/mel_{block}.npz"),
    log:
        results("logs/make_song_features/{collection}_{block}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/make_song_features"),
        raw=lambda wildcards: music_raw(wildcards.collection),
        settings=settings("music", "features"),
    script:
        "../scripts/music/make_song_features.py"


rule fit_song_models:
    input:
        features=song_model_features,
    output:
        models=results("models/music/{collection}/songs_{kind}_{block}.npz"),
        timing=results("timings/music/{collection}/songs_{kind}_{block}.csv"),
    log:
        results("logs/fit_song_models/{collection}_{kind}_{block}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/fit_song_models"),
        seed=config["seed"],
        experiment=music_experiment,
        sequences=music_sequences(),
        songs=settings("music", "songs"),
    script:
        "../scripts/music/fit_song_models.py"


rule tag_songs:
    input:
        split=results("features/music/{collection}/split.npz"),
        base=tag_model_base,
        features=method_features,
    output:
        models=results("models/music/{collection}/tags_{method}_{first}-{last}.npz"),
        scores=results("runs/music/{collection}/{method}_{first}-{last}.npz"),
        timing=results("timings/music/{collection}/{method}_{first}-{last}.csv"),
    log:
        results("logs/tag_songs/{collection}_{method}_{first}-{last}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/tag_songs"),
        seed=config["seed"],
        experiment=music_experiment,
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
    script:
        "../scripts/music/tag_songs.py"


rule evaluate_tagging:
    input:
        summary=lambda wildcards: music_summary(wildcards.collection),
        split=results("features/music/{collection}/split.npz"),
        scores=lambda wildcards: music_runs(wildcards.collection),
    output:
        metrics=results("metrics/music_{collection}.csv"),
    log:
        results("logs/evaluate_tagging/{collection}.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/evaluate_tagging"),
        seed=config["seed"],
        experiment=music_experiment,
        scoring=music_scoring,
        made_with=music_made_with,
        draws=settings("music", "bootstrap")["draws"],
    script:
        "../scripts/music/evaluate_tagging.py"


rule compare_estimation:
    input:
        summary=summary("music"),
        split=results("features/music/cal500/split.npz"),
        features=music_features("cal500", "mfcc"),
        models=music_song_models("cal500", "h3m"),
    output:
        metrics=results("metrics/music_estimation.csv"),
    log:
        results("logs/compare_estimation.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/compare_estimation"),
        seed=config["seed"],
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
        estimation=settings("music", "estimation"),
    script:
        "../scripts/music/compare_estimation.py"


# A job is a process of its own, so that nothing else is in the memory that is measured.
rule measure_memory:
    input:
        split=results("features/music/cal500/split.npz"),
        features=music_features("cal500", "mfcc"),
        models=music_song_models("cal500", "h3m"),
    output:
        timing=results("timings/music/memory.csv"),
    log:
        results("logs/measure_memory.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/measure_memory"),
        seed=config["seed"],
        sequences=music_sequences(),
        songs=settings("music", "songs"),
        tags=settings("music", "tags"),
    script:
        "../scripts/music/measure_memory.py"


rule collect_music_timings:
    input:
        summary=summary("music"),
        timings=music_timings(),
    output:
        timings=results("timings/music_tagging.csv"),
    log:
        results("logs/collect_music_timings.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        code=code_of("music/collect_music_timings"),
        methods=music_methods("cal500"),
    script:
        "../scripts/music/collect_music_timings.py"
