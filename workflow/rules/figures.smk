rule plot_cvpr2016_fig1:
    input:
        samples=results("figdata/textures_samples.npz"),
        summary=summary("textures"),
        code=package_sources("replication.figures"),
    output:
        report(
            results("figures/cvpr2016_fig1.png"),
            caption="../report/cvpr2016_fig1.rst",
            category="CVPR 2016",
            labels={"figure": "Figure 1"},
        ),
        results("figures/cvpr2016_fig1.svg"),
        results("figures/cvpr2016_fig1.pdf"),
    log:
        results("logs/plot_cvpr2016_fig1.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_cvpr2016_fig1.py"


rule plot_cvpr2016_fig3:
    input:
        metrics=[
            results(f"metrics/{experiment}_variance.csv")
            for experiment in enabled_experiments()
        ],
        summaries=[summary(experiment) for experiment in enabled_experiments()],
        code=package_sources("replication.figures"),
    output:
        report(
            results("figures/cvpr2016_fig3.png"),
            caption="../report/cvpr2016_fig3.rst",
            category="CVPR 2016",
            labels={"figure": "Figure 3"},
        ),
        results("figures/cvpr2016_fig3.svg"),
        results("figures/cvpr2016_fig3.pdf"),
    log:
        results("logs/plot_cvpr2016_fig3.log"),
    conda:
        "../../envs/replication.yaml"
    params:
        n_components=config["experiments"]["textures"]["variance"]["n_components"],
    script:
        "../scripts/plot_cvpr2016_fig3.py"
