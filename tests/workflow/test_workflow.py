"""The promises: nothing twice, partial re-runs, the same bytes on one core and on two."""

import csv
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from replication.digests import known_digests

# One run serves them all, hence one worker.
pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

PARTS = ("Snakefile", "config.yaml", "workflow", "src", "resources", "envs", "profiles")
TINY = {
    "run": "tiny",
    "datasets": {
        "uiuc_texture": {"embedded": {"images_per_class": 4, "width": 64, "height": 64}},
        "animal_faces": {"enabled": False},
    },
    "experiments": {
        "textures": {
            "samples": {"n_angles": 20},
            "variance": {"subsamples": 5},
            "svm": {
                **{"folds": 4, "inner_folds": 2, "C": [1], "gamma": [1], "degree": [1]},
                **{"paper_repeats": 1, "block": 1},
            },
        }
    },
}
MOTION_RULES = {
    "prepare_dataset",
    "make_motion_features",
    "fit_motion_hmms",
    "cluster_motions",
    "score_motions",
    "select_motions",
    "tabulate_nips2012_table2",
    "plot_nips2012_fig1",
    "plot_extra_motion_clusters",
    "measure_motion_convergence",
    "plot_extra_motion_convergence",
}
MUSIC_RULES = {
    "prepare_dataset",
    "make_order_songs",
    "split_songs",
    "make_song_features",
    "fit_song_models",
    "tag_songs",
    "evaluate_tagging",
    "compare_estimation",
    "measure_memory",
    "collect_music_timings",
    "tabulate_nips2012_table3",
}
FACES_RULES = {
    "prepare_dataset",
    "find_copies",
    "compute_hog",
    "learn_dictionary",
    "invert_faces",
    "make_face_densities",
    "score_inversion",
    "compute_matrices",
    "compute_variance",
    "compute_inverses",
    "select_samples",
    "run_svm",
    "collect_scores",
    "score_variant",
    "run_kmeans",
    "check_identities",
    "tabulate_cvpr2016_fig4",
    "tabulate_cvpr2016_fig5",
    "tabulate_faces_classes",
    "plot_cvpr2016_fig2",
    "plot_cvpr2016_fig2_means",
    "plot_cvpr2016_fig3",
    "plot_cvpr2016_fig4",
    "plot_cvpr2016_fig5",
    "plot_extra_faces_inverse",
    "plot_extra_kmeans",
    "plot_extra_variance",
}
TARGETS = [f"results/tiny/figures/cvpr2016_fig{n}.svg" for n in (1, 3)]
ALL_RULES = {
    "prepare_dataset",
    "compute_cooccurrence",
    "compute_matrices",
    "select_samples",
    "compute_variance",
    "plot_cvpr2016_fig1",
    "plot_cvpr2016_fig3",
}


def checkout(repository: Path, folder: Path) -> Path:
    ignore = shutil.ignore_patterns("__pycache__")
    for part in (*PARTS, "requirements.lock"):
        source = repository / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=ignore)
        else:
            shutil.copy(source, folder / part)
    (folder / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    return folder


def snakemake(folder, *arguments, cores=2):
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            *(arguments if arguments and not arguments[0].startswith("-") else TARGETS),
            "--cores",
            str(cores),
            "--configfile",
            "tiny.yaml",
            *[a for a in arguments if a.startswith("-") or "=" in a],
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        # The copy's own packages, as for a user who runs from a checkout.
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
    )


def planned(folder, *arguments):
    done = snakemake(folder, "--dry-run", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return set(re.findall(r"^(?:local)?rule (\w+):", done.stdout + done.stderr, re.MULTILINE))


@pytest.fixture(scope="module")
def project(repository, tmp_path_factory):
    folder = checkout(repository, tmp_path_factory.mktemp("project"))
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_everything_is_planned_for_an_empty_folder(repository, tmp_path):
    assert planned(checkout(repository, tmp_path)) == ALL_RULES


def test_a_second_run_does_nothing(project):
    assert "Nothing to be done" in snakemake(project).stderr


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        ("archives=elsewhere", set()),
        (
            "experiments={textures: {variance: {share: 0.7}}}",
            {"compute_variance", "plot_cvpr2016_fig3"},
        ),
        (
            "experiments={textures: {samples: {n_angles: 30}}}",
            {"select_samples", "plot_cvpr2016_fig1"},
        ),
        (
            "experiments={textures: {cooccurrence: {levels: 32}}}",
            ALL_RULES - {"prepare_dataset"},
        ),
        ("seed=1", ALL_RULES),
    ],
)
def test_a_changed_value_reruns_its_dependants_only(project, change, rules):
    assert planned(project, "--config", change) == rules


def test_finished_repetitions_stay_when_more_are_asked_for(project):
    block = "results/tiny/runs/textures/main/svm_paper_0-0.csv"
    done = snakemake(project, block)
    assert done.returncode == 0, done.stdout + done.stderr

    def planned_for_block(svm):
        change = f"experiments={{textures: {{svm: {svm}}}}}"
        done = snakemake(project, block, "--dry-run", "--config", change)
        return set(re.findall(r"^rule (\w+):", done.stdout + done.stderr, re.MULTILINE))

    assert planned_for_block("{paper_repeats: 20, extra_repeats: 7}") == set()
    assert planned_for_block("{C: [2]}") == {"run_svm"}


def test_a_deleted_figure_is_redrawn_alone(project):
    figure = project / TARGETS[1]
    before = figure.read_bytes()
    figure.unlink()
    assert planned(project) == {"plot_cvpr2016_fig3"}
    assert snakemake(project).returncode == 0
    assert figure.read_bytes() == before


def test_every_result_leaves_a_digest(project):
    results = project / "results/tiny"
    written = {path for path in results.rglob("*") if path.is_file()}
    hidden = {path for path in written if path.relative_to(results).parts[0].startswith(".")}
    logs = {path for path in written if path.is_relative_to(results / "logs")}
    assert set(known_digests(results)) == written - hidden - logs
    assert list((results / ".partial").iterdir()) == []


def test_what_was_altered_is_made_again_and_nothing_else(project):
    results = project / "results/tiny"
    before = {name: path.read_bytes() for name, path in finished(project).items()}
    times = {name: path.stat().st_mtime_ns for name, path in finished(project).items()}
    # A table that is cut at a row end, and a photograph in the place of another.
    metrics = results / "metrics/textures_variance.csv"
    metrics.write_bytes(b"".join(metrics.read_bytes().splitlines(keepends=True)[:-1]))
    first, second = sorted((project / "data/raw/tiny/uiuc_texture").rglob("*.jpg"))[:2]
    picture = first.read_bytes()
    shutil.copy(second, first)
    done = subprocess.run(
        [sys.executable, "-m", "replication.launch"],
        cwd=project,
        env={
            **{**os.environ, "PYTHONPATH": str(project / "src")},
            **{"CONFIG": "tiny.yaml", "TARGET": " ".join(TARGETS)},
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for what in (metrics.relative_to(project), first.relative_to(project)):
        assert str(what) in done.stdout
    assert first.read_bytes() == picture
    assert {name: path.read_bytes() for name, path in finished(project).items()} == before
    now = {name: path.stat().st_mtime_ns for name, path in finished(project).items()}
    # Snakemake sets times anew when a job has ended; this one is that of the writing again.
    assert {name for name in now if now[name] != times[name]} <= {"metrics/textures_variance.csv"}
    assert now["metrics/textures_variance.csv"] < now["figures/cvpr2016_fig3.svg"]


@pytest.mark.parametrize(
    ("module", "rules"),
    [
        ("replication.report.style", {"plot_cvpr2016_fig1", "plot_cvpr2016_fig3"}),
        ("replication.images.variance", {"compute_variance", "plot_cvpr2016_fig3"}),
        ("replication.images.samples", {"select_samples", "plot_cvpr2016_fig1"}),
        ("replication.data.archives", set()),
    ],
)
def test_edited_code_reruns_what_uses_it(project, module, rules):
    path = project / "src" / f"{module.replace('.', '/')}.py"
    text = path.read_text()
    path.write_text(text + "\n_EDITED = True\n")
    try:
        assert planned(project) == rules
    finally:
        path.write_text(text)


def test_what_code_says_counts_not_how_nor_when_it_was_written(project):
    path = project / "src/replication/images/variance.py"
    text = path.read_text()
    path.write_text(f"# Another comment.\n{text}")
    (project / "workflow/scripts/images/compute_variance.py").touch()
    (project / "results/tiny/metrics/textures_variance.csv").touch()
    try:
        assert planned(project) == set()
    finally:
        path.write_text(text)


def finished(folder):
    """Return the results of a run but those that hold seconds."""
    results = folder / "results/tiny"
    parts = ("data", "features", "models", "runs", "metrics", "figdata", "figures", "tables")
    files = [path for part in parts for path in sorted((results / part).rglob("*"))]
    return {
        path.relative_to(results).as_posix(): path
        for path in (*files, results / "claims.csv")
        if path.is_file()
    }


def hashes(folder):
    contents = {name: path.read_bytes() for name, path in finished(folder).items()}
    with (folder / "results/tiny/claims.csv").open(encoding="utf-8", newline="") as file:
        # Claims of the kind cost are about seconds.
        rows = [row for row in csv.DictReader(file) if row["kind"] != "cost"]
    contents["claims.csv"] = repr(rows).encode()
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


# The textures alone up to the claims, as little as there can be.
TO_THE_CLAIMS = {
    "datasets": {"cmu_mocap": {"enabled": False}, "cal500": {"enabled": False}},
    "experiments": {
        "textures": {
            "svm": {
                **{"folds": 4, "paper_repeats": 4, "extra_repeats": 1, "block": 2},
                **{"extra_methods": ["polynomial", "polynomial_1", "sw_polynomial_train"]},
                **{"multiclass_methods": ["rbf"]},
            },
            "kmeans": {
                **{"repeats": 2, "sweep": [1], "sweep_repeats": 1},
                **{"resamples": 5},
            },
            "identities": {"n_samples": 3, "n_inverse_angles": 20},
            "sensitivity": {
                "variants": {"levels_32": None, "levels_256": None, "one_offset": None}
            },
        }
    },
}
PAPER = ("0-1", "2-3")  # blocks of the four repetitions of the paper's kernels
CLAIM_TARGETS = [*TARGETS, "results/tiny/tables/cvpr2016_fig4.csv", "results/tiny/claims.csv"]


@pytest.mark.timeout(1500)  # three runs, one behind the other
def test_a_run_killed_twice_on_one_core_ends_with_the_bytes_of_a_run_on_two(
    repository, project, tmp_path
):
    def launcher(folder, cores):
        (folder / "claims.yaml").write_text(yaml.safe_dump(TO_THE_CLAIMS))
        return subprocess.Popen(
            [sys.executable, "-m", "replication.launch"],
            cwd=folder,
            env={
                **{**os.environ, "PYTHONPATH": str(folder / "src"), "CORES": str(cores)},
                **{"CONFIG": "tiny.yaml claims.yaml", "TARGET": " ".join(CLAIM_TARGETS)},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def kill_when_there_are(*paths):
        process = launcher(killed, 1)
        deadline = time.monotonic() + 300
        try:
            while not all(path.exists() for path in paths):
                assert process.poll() is None, process.stdout.read()
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return output

    (tmp_path / "killed").mkdir()
    killed = checkout(repository, tmp_path / "killed")
    # With what numba has compiled, which takes longer than all else.
    shutil.copytree(project / "src", killed / "src", dirs_exist_ok=True)
    results = killed / "results/tiny"
    # Just when a job has put its file in place, of which Snakemake does not know yet.
    kill_when_there_are(results / "features/textures/main/densities.npy")
    # In the midst of a block of repetitions, with the other one finished.
    logs = results / "logs/run_svm"
    output = kill_when_there_are(*(logs / f"textures_paper_{part}.log" for part in PAPER))
    assert "its lock is removed" in output
    blocks = {f"runs/textures/main/svm_paper_{part}.csv" for part in PAPER}
    # On one core no other job was at work.
    kept = {name: path.stat().st_mtime_ns for name, path in finished(killed).items()}
    assert len(blocks & set(kept)) == 1
    assert {"features/textures/main/densities.npy", "models/textures/main/matrices.npz"} <= set(
        kept
    )
    again = launcher(killed, 1)
    output, _ = again.communicate()
    assert again.returncode == 0, output
    assert "its lock is removed" in output
    assert {name: finished(killed)[name].stat().st_mtime_ns for name in kept} == kept

    # With the times of files, so that nothing is done again that is there.
    undisturbed = shutil.copytree(project, tmp_path / "undisturbed")
    run = launcher(undisturbed, 2)
    output, _ = run.communicate()
    assert run.returncode == 0, output
    assert set(finished(killed)) >= {
        *blocks,
        "metrics/textures_svm.csv",
        "tables/cvpr2016_fig4.csv",
        "claims.csv",
    }
    expected = hashes(undisturbed)
    # Another test may have asked the project for this block.
    expected.pop("runs/textures/main/svm_paper_0-0.csv", None)
    assert hashes(killed) == expected


def test_a_wrong_key_ends_in_words(project):
    done = snakemake(project, "--dry-run", "--config", "sead=1")
    assert done.returncode != 0
    assert "did you mean 'seed'?" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_snakemake_by_hand_reads_files_as_the_launcher_does(project):
    (project / "twice.yaml").write_text("seed: 1\nseed: 2\n")
    done = snakemake(project, "--dry-run", "--configfile=twice.yaml")
    assert done.returncode != 0
    assert "twice.yaml, line 2: the key 'seed' stands twice" in done.stdout + done.stderr


def test_a_disabled_data_set_takes_no_part(project):
    disabled = "datasets={uiuc_texture: {enabled: false}, cmu_mocap: {enabled: false}}"
    done = snakemake(project, "all", "--dry-run", "--config", disabled)
    assert done.returncode == 0, done.stdout + done.stderr
    prepared = re.findall(r"results/tiny/data/(\w+)\.json", done.stdout + done.stderr)
    assert set(prepared) == {"cal500", "order_songs"}


def test_a_run_without_data_is_refused(project):
    names = ("uiuc_texture", "cmu_mocap", "cal500")
    disabled = f"datasets={{{', '.join(f'{name}: {{enabled: false}}' for name in names)}}}"
    done = snakemake(project, "all", "--dry-run", "--config", disabled)
    assert done.returncode != 0
    assert "'datasets': none takes part" in done.stdout + done.stderr


def test_motion_alone_plans_nothing_of_the_textures(project):
    disabled = "datasets={uiuc_texture: {enabled: false}}"
    done = snakemake(project, "motion", "--dry-run", "--config", disabled)
    assert done.returncode == 0, done.stdout + done.stderr
    text = done.stdout + done.stderr
    assert (
        set(re.findall(r"^(?:local)?rule (\w+):", text, re.MULTILINE)) - {"motion"} == MOTION_RULES
    )


def test_music_alone_plans_nothing_of_the_others(project):
    done = snakemake(project, "music", "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    text = done.stdout + done.stderr
    assert set(re.findall(r"^(?:local)?rule (\w+):", text, re.MULTILINE)) - {"music"} == MUSIC_RULES


def planned_jobs(folder, target, config):
    done = snakemake(folder, target, "--dry-run", "--config", config)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    return re.findall(r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", text, re.MULTILINE)


FACES_ALONE = "datasets={uiuc_texture: {enabled: false}, animal_faces: {enabled: true}}"


def test_faces_alone_plan_nothing_of_the_textures(project):
    rules = {name for name, _ in planned_jobs(project, "faces", FACES_ALONE)}
    assert rules - {"faces"} == FACES_RULES


def test_variants_share_the_dictionary_and_the_inverted_faces_that_they_do_not_change(project):
    jobs = planned_jobs(project, "faces", FACES_ALONE)
    made = {
        name: {re.search(r"variant=(\w+)", body)[1] for rule, body in jobs if rule == name}
        for name in ("learn_dictionary", "invert_faces", "make_face_densities")
    }
    assert made == {
        "learn_dictionary": {"main", "small_dictionary"},
        "invert_faces": {"main", "small_dictionary"},
        "make_face_densities": {"main", "small_dictionary", "deviation"},
    }


@pytest.mark.parametrize(("source", "drawn"), [("embedded", True), ("archives", False)])
def test_what_is_shareable_has_no_pictures_of_real_data(project, source, drawn):
    config = (
        f"datasets={{uiuc_texture: {{source: {source}}}, cmu_mocap: {{enabled: false}}, "
        f"animal_faces: {{enabled: true, source: {source}}}}}"
    )
    rules = {name for name, _ in planned_jobs(project, "shareable", config)}
    for figure in ("cvpr2016_fig2", "extra_faces_inverse"):
        assert (f"plot_{figure}" in rules) is drawn, figure
    # Another test may have drawn this one already where its data are synthetic.
    assert drawn or "plot_cvpr2016_fig1" not in rules
    assert {
        "plot_cvpr2016_fig2_means",
        "plot_cvpr2016_fig4",
        "plot_extra_textures_inverse",
        "evaluate_claims",
    } <= rules
