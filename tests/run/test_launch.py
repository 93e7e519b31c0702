"""What make was given becomes one checked configuration, or is refused by name in one line."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from toy_workflow import CONFIG, finish, launch, toy_workflow

from replication.digests import keep_digests
from replication.launch import (
    _TARGETS_WITH_CLAIMS,
    LaunchError,
    Request,
    _claims_are_current,
    _environment,
    main,
)
from replication.settings import ConfigError

pytestmark = pytest.mark.workflow


@pytest.fixture
def folder(tmp_path):
    return toy_workflow(tmp_path)


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def request(**given):
    return Request.from_environment(given)


ODD = [
    *(
        "with blank",
        "it's",
        'dou"ble',
        "$(touch PWNED)",
        "$HOME",
        "`id`",
        "a;b",
        "a#b",
        "a%b",
        "a*",
    ),
    *(
        "brack[et]",
        "bra{ce}",
        "back\\slash",
        "-dash",
        "--help",
        "a=b",
        "a~",
        "12",
        "null",
        "new\nline",
    ),
    *("ünï→日本", "emoji😀", "trailing ", "[1, 2]", "{a: 1}", "1e-3", "?x", "&a"),
]


@pytest.mark.parametrize("name", ODD)
def test_a_name_arrives_as_it_was_given(here, name):
    (here / name).write_text("seed: 7\n")
    archives = name.replace("\n", " ")  # the schema refuses line breaks
    found = request(CONFIG=name, ARCHIVES=archives)
    assert found.config["seed"] == 7
    assert found.config["archives"] == archives
    command = found.snakemake()
    (path,) = (part for part in command if part.endswith(".json"))
    # What Snakemake is given is JSON, which its loader does not evaluate, and holds the same.
    assert json.loads((here / path).read_text()) == found.config
    assert not (here / "PWNED").exists()


@pytest.mark.parametrize("value", [*ODD, "$(shell touch PWNED)", "$$(x)", "$@ ${HOME}", "x\\"])
def test_make_and_its_shell_read_no_value(repository, tmp_path, value):
    show = f"show:;@{sys.executable} -c 'import os; print(ascii(os.environ[chr(67)]), end=chr(0))'"
    show = show.replace("chr(67)", '"CONFIG"')
    makefile = repository / "Makefile"
    command = ["make", "-s", "-f", str(makefile), f"--eval={show}", "show", f"CONFIG={value}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip("\0") == ascii(value)
    assert not list(tmp_path.iterdir())


def test_several_configurations_are_separated_by_blanks_and_the_later_wins(here):
    changes = "experiments: {music: {split: {"
    (here / "large.yaml").write_text(f"run: large\n{changes}folds: 4, block: 2}}}}}}\n")
    (here / "short.yaml").write_text(f"{changes}block: 3}}}}}}\n")
    found = request(CONFIG="large.yaml short.yaml")
    split = found.config["experiments"]["music"]["split"]
    assert (split["folds"], split["block"]) == (4, 3)
    assert str(found.results) == "results/large"
    (here / "large.yaml short.yaml").write_text("run: whole\n")
    assert str(request(CONFIG="large.yaml short.yaml").results) == "results/whole"


def test_a_tilde_is_the_home_folder(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here / "home"))
    (here / "home").mkdir()
    (here / "home/my.yaml").write_text("run: mine\n")
    found = request(CONFIG="~/my.yaml", ARCHIVES="~/archives")
    assert found.config["run"] == "mine"
    assert found.config["archives"] == str(here / "home/archives")


def test_only_some_data_sets_take_part(here):
    found = request(ONLY="uiuc_texture, cmu_mocap").config["datasets"]
    enabled = {name for name, settings in found.items() if settings["enabled"]}
    assert enabled == {"uiuc_texture", "cmu_mocap"}
    assert found["uiuc_texture"]["embedded"]["width"] == 320, "other settings stay"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *(({name: " "}, f"{name} is empty") for name in ("CONFIG", "ONLY", "ARCHIVES", "TARGET")),
        *(
            ({"CORES": cores}, re.escape(f"CORES is {cores!r}; allowed are all and whole"))
            for cores in ("0", "-1", "1.5", "two", "٣", "1e3", "+1", "1\n")
        ),
        *(({"ALLOW_SUBSET": v}, "allowed are true and false") for v in ("yes", "TRUE", "1")),
        *(
            ({name: "a\udcff"}, f"{name} is .*udcff', which is not encoded in UTF-8")
            for name in ("CONFIG", "ARCHIVES", "TARGET")
        ),
        ({"ONLY": "uiuc"}, "ONLY: no data set 'uiuc'; there are uiuc_texture, "),
        ({"ONLY": "uiuc_texture,"}, "ONLY: no data set ''; there are"),
        ({"ONLY": "it's"}, 'ONLY: no data set "it\'s"'),
        ({"ONLY": "cal500"}, r"ONLY: data set 'cal500' is off .*datasets.cal500.enabled: false"),
        ({"TARGET": "music"}, "TARGET: 'music' needs data set 'cal500', which is off"),
        ({"TARGET": "--unlock"}, "TARGET: '--unlock' is neither a named target nor a file below"),
        ({"TARGET": "all results/other/x.csv"}, "'results/other/x.csv' is neither"),
        ({"TARGET": "results/demo/../other/x.csv"}, "'results/other/x.csv' is neither"),
        ({"TARGET": "'results/demo/a b'"}, "is neither"),
        ({"ARCHIVES": "~nobody-of-this-name/x"}, "ARCHIVES: there is no home folder for"),
        ({"CONFIG": "--forceall"}, "--forceall: No such file"),
        ({"CONFIG": "config.yaml no\nsuch"}, "no: No such file"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name_in_one_line(here, given, message):
    with pytest.raises((LaunchError, ConfigError), match=message) as caught:
        request(**given)
    assert "\n" not in str(caught.value)


def test_an_altered_figure_is_in_no_report(here, capsys):
    figure = Path("results/demo/figures/cvpr2016_fig1.png")
    figure.parent.mkdir(parents=True)
    figure.write_text("a picture")
    keep_digests(Path("results/demo"))
    figure.write_text("a pict")
    assert main(["report"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{figure}: has 6 bytes where its job left 9; it is made again by: make rep" in line


def test_a_plan_makes_nothing_and_names_what_was_altered(here, capfd):
    table = Path("results/demo/metrics/a.csv")
    table.parent.mkdir(parents=True)
    table.write_text("value\n1\n")
    keep_digests(Path("results/demo"))
    table.write_text("value\n2\n")
    assert main(["plan"]) == 0
    said = capfd.readouterr().out
    assert f"{table} was altered after its job had written it: would be" in said
    assert table.read_text() == "value\n2\n"
    assert "rule make:" in said
    assert not Path("out").exists()


def test_a_project_below_a_name_with_a_brace_is_refused(here, monkeypatch):
    (here / "a{b}").mkdir()
    monkeypatch.chdir(here / "a{b}")
    with pytest.raises(LaunchError, match=r"cannot work below .*a{b}"):
        request()


def test_a_run_without_figures_has_neither_them_nor_a_report(here, monkeypatch, capsys):
    (here / "config.yaml").write_text(CONFIG.replace("enabled: false", "enabled: true"))
    with pytest.raises(LaunchError, match=r"no figure .its experiments: music"):
        request(ONLY="cal500", TARGET="figures")
    monkeypatch.setenv("ONLY", "cal500")
    assert main(["report"]) == 1
    assert capsys.readouterr().err.startswith("error: this run has no figure")


@pytest.mark.parametrize(
    "text",
    [
        "__use_yte__: true\nseed: ?__import__('pathlib').Path('PWNED').touch()\n",
        "__use_yte__: true\n__definitions__:\n  - open('PWNED', 'w')\nseed: 1\n",
        "seed: !!python/object/apply:os.mkdir [PWNED]\n",
    ],
)
@pytest.mark.parametrize("action", ["reproduce", "plan", "report"])
def test_a_configuration_cannot_run_code(repository, tmp_path, monkeypatch, capsys, text, action):
    monkeypatch.chdir(repository)
    (tmp_path / "theirs.yaml").write_text(text)
    monkeypatch.setenv("CONFIG", f"configs/smoke.yaml {tmp_path / 'theirs.yaml'}")
    assert main([action]) == 1
    assert capsys.readouterr().err.startswith("error: ")
    assert not (repository / "PWNED").exists()


def test_caches_go_where_something_can_be_written(here, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    assert _environment() == dict(os.environ)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/1/cache")
    assert _environment()["XDG_CACHE_HOME"] == str(here / ".snakemake/cache")
    assert capsys.readouterr().out.startswith("/proc/1/cache: ")
    monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-of-this-name/cache")
    assert _environment()["XDG_CACHE_HOME"] == str(here / ".snakemake/cache")
    assert "home" in capsys.readouterr().out


def test_runs_and_says_how_far_it_is(folder):
    status, output = finish(launch(folder))
    assert status == 0, output
    assert "4 of 4 steps (100%) done" in output
    assert "Results: results/demo/" in output
    status, output = finish(launch(folder))
    assert status == 0
    assert "Nothing to be done" in output


CLAIMING = """
rule all:
    input: "results/demo/claims.csv", "curve.txt"

rule claims:
    input: "claims.txt"
    output: "results/demo/claims.csv"
    shell: "cp {input} {output}"

rule figures:
    output: "curve.txt"
    shell: "touch {output}"
"""
CLAIMS = """id,experiment,verdict,value,low,high
theorem-5,textures,reproduced,-1e-12,-1e-12,-1e-12
accuracy,faces,synthetic data only,0.05123,0.01,0.09
rbf,faces,not in this run,,,
"""


def test_ends_with_the_claims_that_its_targets_need(folder):
    (folder / "Snakefile").write_text(CLAIMING)
    (folder / "claims.txt").write_text(CLAIMS)
    status, output = finish(launch(folder))
    assert status == 0, output
    assert "Claims: 1 reproduced, 1 synthetic data only, 1 not in this run" in output
    assert re.search(r"rbf +faces +not in this run\n", output)
    assert re.search(r"accuracy +faces +synthetic data only +0\.0512 \[0\.01, 0\.09\]\n", output)
    assert re.search(r"theorem-5 +textures +reproduced +-1e-12\n", output)
    # Nothing is made now, but the claims have been found up to date.
    _, output = finish(launch(folder))
    assert "Nothing to be done" in output
    assert "Claims: 1 reproduced" in output
    # Now they are out of date, which a run of other targets does not learn.
    (folder / "claims.txt").write_text(CLAIMS.replace("reproduced", "mixed"))
    (folder / "curve.txt").unlink()
    status, output = finish(launch(folder, TARGET="figures"))
    assert status == 0, output
    assert (folder / "curve.txt").exists()
    assert "Claims:" not in output
    claims = folder / "results/demo/claims.csv"
    # As if a file that is made from them had been asked for.
    assert _claims_are_current(claims, ["results/demo/run.json"], claims.stat().st_mtime)


def test_the_targets_that_need_the_claims_are_those_of_the_workflow(repository):
    rules = re.split(r"^rule (\w+):$", (repository / "Snakefile").read_text(), flags=re.MULTILINE)
    blocks = dict(zip(rules[1::2], rules[2::2], strict=True))
    need = {
        name for name, text in blocks.items() if re.search(r"verdict_files\(|run_record\(", text)
    }
    assert need == _TARGETS_WITH_CLAIMS


REPORTING = """
rule all:
    input: "photograph.txt", "curve.txt"

rule shareable:
    input: "curve.txt"

rule draw_curve:
    output: report("curve.txt", category="Figures")
    shell: "echo a-curve > {output}"

rule draw_photograph:
    output: report("photograph.txt", category="Figures")
    shell: "echo a-photograph > {output}"
"""


def test_the_public_report_holds_what_is_shareable_and_nothing_else(folder):
    (folder / "Snakefile").write_text(REPORTING)
    status, output = finish(launch(folder))
    assert status == 0, output
    for kind in ("report", "report-public"):
        status, output = finish(launch(folder, kind))
        assert status == 0, output
    full = (folder / "results/demo/report.html").read_text()
    public = (folder / "results/demo/report-public.html").read_text()
    assert "photograph.txt" in full
    assert "curve.txt" in public
    assert "photograph" not in public
    (folder / "photograph.txt").unlink()
    status, output = finish(launch(folder, "report", ONLY="uiuc_texture"))
    assert status != 0
    assert "photograph.txt" in output
    assert "is made by: make reproduce ONLY=uiuc_texture CORES=1" in output
