"""What is published: tables and curves, never images; the README's claims come from the table."""

import gzip
import json

import pandas as pd
import pytest

from replication.claims import CLAIM_COLUMNS
from replication.publish import claims_as_markdown, main, replace_section

CLAIM = dict.fromkeys(CLAIM_COLUMNS, "x") | {
    "statement": "A beats B.",
    "place": "Figure 4",
    "value": 0.0512,
    "low": 0.03,
    "high": 0.07,
    "verdict": "reproduced",
}


@pytest.fixture
def run(tmp_path):
    run = tmp_path / "results/paper"
    for folder in ("tables", "metrics", "figures"):
        (run / folder).mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"config": {}}))
    pd.DataFrame([CLAIM]).to_csv(run / "claims.csv", index=False)
    (run / "deviations.csv").write_text("setting\nlevels\n")
    (run / "tables/cvpr2016_fig4.csv").write_text("kernel\nlinear\n")
    (run / "metrics/textures_svm.csv").write_text("value\n0.5\n")
    for name in ("cvpr2016_fig1", "cvpr2016_fig2", "cvpr2016_fig3"):
        for suffix in ("svg", "png", "pdf"):
            (run / f"figures/{name}.{suffix}").write_text(name)
    return run


def test_publishes_tables_and_curves_but_no_images(run, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("a\n<!-- begin: claims -->\nold\n<!-- end: claims -->\nb\n")
    destination = tmp_path / "docs/results/uiuc_texture"
    for _ in range(2):
        main([str(run), str(destination), "--readme", str(readme)])
        files = sorted(
            path.relative_to(destination).as_posix()
            for path in destination.rglob("*")
            if path.is_file()
        )
        assert files == [
            "claims.csv",
            "deviations.csv",
            "figures/cvpr2016_fig3.png",
            "figures/cvpr2016_fig3.svg",
            "metrics/textures_svm.csv.gz",
            "run.json",
            "tables/cvpr2016_fig4.csv",
        ]
        content = (destination / "metrics/textures_svm.csv.gz").read_bytes()
        assert gzip.decompress(content) == b"value\n0.5\n"
    text = readme.read_text()
    assert "| A beats B. | Figure 4 | 0.0512 [0.03, 0.07] | **reproduced** |" in text
    assert text.startswith("a\n")
    assert text.endswith("b\n")
    assert "old" not in text


def test_an_unfinished_run_is_not_published(run, tmp_path):
    (run / "run.json").unlink()
    with pytest.raises(FileNotFoundError):
        main([str(run), str(tmp_path / "docs")])
    assert not (tmp_path / "docs").exists()


def test_an_exact_value_has_no_interval():
    table = claims_as_markdown(pd.DataFrame([CLAIM | {"low": 0.0512, "high": 0.0512}]))
    assert "| 0.0512 |" in table


@pytest.mark.parametrize("text", ["", "<!-- end: claims -->\n<!-- begin: claims -->\n"])
def test_a_missing_section_is_an_error(text):
    with pytest.raises(ValueError, match="exactly one section"):
        replace_section(text, "claims", "")
