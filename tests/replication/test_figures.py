"""Figures show what the tables hold, say which data they show, and are equal byte for byte."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from replication.figures.samples import plot_samples
from replication.figures.style import METHODS, save_figure
from replication.figures.variance import plot_variance

NOTE = {"title": "UIUC textures", "origin": "real", "coverage": "500 of 1,000 images"}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def metrics():
    return pd.DataFrame(
        [
            ("textures", method, k, "cumulative_percent_variance", 100 * (1 - scale**k))
            for method, scale in (("pca", 0.8), ("sw_kpca", 0.5))
            for k in range(1, 21)
        ],
        columns=["experiment", "method", "item", "metric", "value"],
    )


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return {
        "labels": np.array(["a", "b", "c"]),
        "images": rng.integers(0, 256, (3, 12, 16), dtype=np.uint8),
        "densities": rng.random((3, 8, 8)),
        "phi": rng.normal(size=(3, 10, 11)),
    }


def texts(figure):
    return " | ".join(text.get_text() for text in figure.findobj(plt.Text))


def test_variance_curves_are_the_table(metrics):
    figure = plot_variance(metrics, [NOTE], n_components=10)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert set(lines) == {METHODS["pca"].label, METHODS["sw_kpca"].label}
    curve = lines[METHODS["sw_kpca"].label]
    np.testing.assert_array_equal(curve.get_xdata(), np.arange(1, 11))
    np.testing.assert_allclose(curve.get_ydata(), 100 * (1 - 0.5 ** np.arange(1, 11)))


@pytest.mark.parametrize(
    ("origin", "words"), [("real", "real data"), ("synthetic", "SYNTHETIC DATA")]
)
def test_origin_and_coverage_stand_inside_the_figure(metrics, samples, origin, words):
    note = {**NOTE, "origin": origin}
    for figure in (
        plot_variance(metrics, [note], n_components=10),
        plot_samples(samples, [note], density_name="Densities", columns=2),
    ):
        assert f"{words}: UIUC textures, 500 of 1,000 images" in texts(figure)


def test_samples_are_the_arrays(samples):
    figure = plot_samples(samples, [NOTE], density_name="Densities", columns=2)
    pictures = [axis.get_images()[0].get_array() for axis in figure.axes if axis.get_images()]
    assert len(pictures) == 9
    np.testing.assert_array_equal(pictures[1], samples["images"][1])
    np.testing.assert_allclose(pictures[8], samples["phi"][2].T)


def test_equal_tables_give_equal_bytes(metrics, tmp_path):
    files = []
    for run in ("first", "second"):
        paths = [tmp_path / f"{run}.{suffix}" for suffix in ("svg", "pdf", "png")]
        save_figure(plot_variance(metrics, [NOTE], n_components=10), paths)
        files.append([path.read_bytes() for path in paths])
    assert files[0] == files[1]


def test_the_users_own_style_has_no_effect(metrics, tmp_path):
    save_figure(plot_variance(metrics, [NOTE], n_components=10), [tmp_path / "plain.svg"])
    plt.rcParams["font.size"] = 30
    save_figure(plot_variance(metrics, [NOTE], n_components=10), [tmp_path / "styled.svg"])
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "styled.svg").read_bytes()
