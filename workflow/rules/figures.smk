rule plot_cvpr2016_fig1:
    input:
        samples=results("figdata/textures_samples.npz"),
        summaries=[summary("textures")],
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
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


rule plot_cvpr2016_fig2:
    input:
        samples=results("figdata/faces_samples.npz"),
        summaries=[summary("faces")],
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/cvpr2016_fig2.png"),
            caption="../report/cvpr2016_fig2.rst",
            category="CVPR 2016",
            labels={"figure": "Figure 2"},
        ),
        results("figures/cvpr2016_fig2.svg"),
        results("figures/cvpr2016_fig2.pdf"),
    log:
        results("logs/plot_cvpr2016_fig2.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_cvpr2016_fig2.py"


rule plot_cvpr2016_fig3:
    input:
        metrics=metric_files(part="variance"),
        summaries=summaries(part="variance"),
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
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
    script:
        "../scripts/plot_cvpr2016_fig3.py"


rule plot_extra_variance:
    input:
        metrics=metric_files(part="variance"),
        summaries=summaries(part="variance"),
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/extra_variance.png"),
            caption="../report/extra_variance.rst",
            category="Beyond the papers",
            labels={"figure": "Kernel PCA with other kernels"},
        ),
        results("figures/extra_variance.svg"),
        results("figures/extra_variance.pdf"),
    log:
        results("logs/plot_extra_variance.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_extra_variance.py"


rule plot_cvpr2016_fig4:
    input:
        metrics=metric_files(part="svm"),
        # It holds the sizes of the faces' classes, which differ.
        sizes=metric_files(part="inversion"),
        summaries=summaries(part="svm"),
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/cvpr2016_fig4.png"),
            caption="../report/cvpr2016_fig4.rst",
            category="CVPR 2016",
            labels={"figure": "Figure 4"},
        ),
        results("figures/cvpr2016_fig4.svg"),
        results("figures/cvpr2016_fig4.pdf"),
    log:
        results("logs/plot_cvpr2016_fig4.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_cvpr2016_fig4.py"


rule plot_cvpr2016_fig5:
    input:
        metrics=metric_files(part="kmeans"),
        summaries=summaries(part="kmeans"),
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/cvpr2016_fig5.png"),
            caption="../report/cvpr2016_fig5.rst",
            category="CVPR 2016",
            labels={"figure": "Figure 5"},
        ),
        results("figures/cvpr2016_fig5.svg"),
        results("figures/cvpr2016_fig5.pdf"),
    log:
        results("logs/plot_cvpr2016_fig5.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_cvpr2016_fig5.py"


rule plot_extra_kmeans:
    input:
        metrics=metric_files(part="kmeans"),
        summaries=summaries(part="kmeans"),
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/extra_kmeans.png"),
            caption="../report/extra_kmeans.rst",
            category="Beyond the papers",
            labels={"figure": "k-means by iteration and by gamma"},
        ),
        results("figures/extra_kmeans.svg"),
        results("figures/extra_kmeans.pdf"),
    log:
        results("logs/plot_extra_kmeans.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_extra_kmeans.py"


rule plot_extra_definiteness:
    input:
        spectra=results("figdata/definiteness.csv"),
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/extra_definiteness.png"),
            caption="../report/extra_definiteness.rst",
            category="Beyond the papers",
            labels={"figure": "Plain transport is not definite"},
        ),
        results("figures/extra_definiteness.svg"),
        results("figures/extra_definiteness.pdf"),
    log:
        results("logs/plot_extra_definiteness.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_extra_definiteness.py"


rule plot_extra_textures_inverse:
    input:
        inverses=results("figdata/textures_inverses.npz"),
        metrics=results("metrics/textures_inverses.csv"),
        summaries=[summary("textures")],
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/extra_textures_inverse.png"),
            caption="../report/extra_textures_inverse.rst",
            category="Beyond the papers",
            labels={"figure": "Inverted points: textures"},
        ),
        results("figures/extra_textures_inverse.svg"),
        results("figures/extra_textures_inverse.pdf"),
    log:
        results("logs/plot_extra_textures_inverse.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_extra_textures_inverse.py"


rule plot_extra_faces_inverse:
    input:
        inverses=results("figdata/faces_inverses.npz"),
        metrics=results("metrics/faces_inverses.csv"),
        summaries=[summary("faces")],
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/extra_faces_inverse.png"),
            caption="../report/extra_faces_inverse.rst",
            category="Beyond the papers",
            labels={"figure": "Inverted points: faces"},
        ),
        results("figures/extra_faces_inverse.svg"),
        results("figures/extra_faces_inverse.pdf"),
    log:
        results("logs/plot_extra_faces_inverse.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_extra_faces_inverse.py"


rule plot_nips2012_fig1:
    input:
        hierarchies=results("figdata/motion_hierarchies.csv"),
        summaries=[summary("motion")],
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/nips2012_fig1.png"),
            caption="../report/nips2012_fig1.rst",
            category="NIPS 2012",
            labels={"figure": "Figure 1"},
        ),
        results("figures/nips2012_fig1.svg"),
        results("figures/nips2012_fig1.pdf"),
    log:
        results("logs/plot_nips2012_fig1.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_nips2012_fig1.py"


# Its horizontal axis is time: the picture differs from run to run.
rule plot_extra_motion_convergence:
    input:
        metrics=results("metrics/motion_convergence.csv"),
        timings=results("timings/motion_convergence.csv"),
        summaries=[summary("motion")],
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/extra_motion_convergence.png"),
            caption="../report/extra_motion_convergence.rst",
            category="Beyond the papers",
            labels={"figure": "Log-likelihood against time"},
        ),
        results("figures/extra_motion_convergence.svg"),
        results("figures/extra_motion_convergence.pdf"),
    log:
        results("logs/plot_extra_motion_convergence.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_extra_motion_convergence.py"


rule plot_extra_motion_clusters:
    input:
        exemplars=results("figdata/motion_exemplars.npz"),
        summaries=[summary("motion")],
        code=package_sources(
            "replication.images.figures",
            "replication.motion.figures",
            "replication.report.style",
        ),
    output:
        report(
            results("figures/extra_motion_clusters.png"),
            caption="../report/extra_motion_clusters.rst",
            category="Beyond the papers",
            labels={"figure": "A motion of each cluster"},
        ),
        results("figures/extra_motion_clusters.svg"),
        results("figures/extra_motion_clusters.pdf"),
    log:
        results("logs/plot_extra_motion_clusters.log"),
    conda:
        "../../envs/replication.yaml"
    script:
        "../scripts/plot_extra_motion_clusters.py"
