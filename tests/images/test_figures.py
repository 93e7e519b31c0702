"""Figures show what the tables hold, say which data they show, and are equal byte for byte."""

import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from replication.images.definiteness import definiteness_rows, definiteness_spectra
from replication.images.figures.accuracy import plot_accuracy
from replication.images.figures.clustering import plot_clustering, plot_clustering_details
from replication.images.figures.definiteness import plot_definiteness
from replication.images.figures.inverses import plot_inverses
from replication.images.figures.samples import plot_means, plot_samples
from replication.images.figures.variance import plot_variance, plot_variance_of_kernels
from replication.images.kernels import SPACES
from replication.images.svm import FAMILIES
from replication.report.metrics import metric_table
from replication.report.style import METHODS, save_figure, use_style

NOTE = {"title": "UIUC textures", "origin": "real", "coverage": "500 of 1,000 images"}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def table(rows):
    return metric_table(rows, experiment="textures", dataset="uiuc_texture", origin="real")


def cpv(scale, k):
    return 100 * (1 - scale**k)


@pytest.fixture
def metrics():
    curve = "cumulative_percent_variance"
    rows = [
        {"method": method, "variant": variant, "item": k, "metric": curve, "value": cpv(scale, k)}
        for method, variant, scale in (
            ("pca", "", 0.8),
            ("sw_kpca", "", 0.5),
            ("rbf", "gamma=1", 0.9),
            ("sw_gaussian", "gamma=1", 0.7),
            ("polynomial", "degree=2", 0.9),
            ("sw_polynomial", "degree=2", 0.6),
        )
        for k in range(1, 21)
    ]
    rows += [
        {"method": method, "item": 5, "repeat": r, "metric": "subsampled_cpv", "value": 60.0 + r}
        for method in ("pca", "sw_kpca")
        for r in range(5)
    ]
    rows += [
        {"method": method, "item": 5, "metric": "subsampled_cpv_share", "value": 0.8}
        for method in ("pca", "sw_kpca")
    ]
    return table(rows)


@pytest.fixture
def accuracies():
    return table(
        {"method": method, "repeat": r, "fold": f, "metric": "accuracy", "value": mean + 0.01 * f}
        for method, mean in (("linear", 0.6), ("sw_gaussian", 0.8), ("hellinger_rbf", 0.9))
        for r in range(3)
        for f in range(5)
    )


@pytest.fixture
def clusterings():
    scores = ("inertia", "relative_inertia", "v_measure", "adjusted_mutual_information")
    rows = []
    for method in ("kmeans", "sw_gaussian_kmeans", "rbf_kmeans"):
        for r in range(3):
            names = {"method": method, "repeat": r}
            rows += [{**names, "metric": metric, "value": 0.5 + 0.1 * r} for metric in scores]
            for item in range(2 + r):
                for metric, value in (("inertia", 4.0 - item), ("v_measure", 0.1 * item)):
                    step = {**names, "item": item, "metric": f"iteration_{metric}"}
                    rows.append({**step, "value": value})
            if method != "kmeans":
                rows += [
                    {**names, "variant": f"gamma_{g}", "metric": metric, "value": g}
                    for g in (0.5, 1.0)
                    for metric in ("inertia", "v_measure")
                ]
    rows += [
        {"method": "random_labels", "repeat": 0, "metric": metric, "value": 0.1}
        for metric in ("v_measure", "adjusted_mutual_information")
    ]
    return table(rows)


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return {
        "labels": np.array(["a", "b", "c"]),
        "images": rng.integers(0, 256, (3, 12, 16), dtype=np.uint8),
        "densities": rng.random((3, 8, 8)),
        "phi": rng.normal(size=(3, 10, 11)),
        "mean_labels": np.array(["a", "c"]),
        "mean_densities": rng.random((2, 8, 8)),
        "mean_phi": rng.normal(size=(2, 10, 11)),
    }


@pytest.fixture
def inverses():
    kinds = [
        kind for kind in ("normal", "component_1", "component_2", "component_3") for _ in "abcde"
    ]
    kinds += ["barycentre"] * 3 + ["centre"] * 9 + ["mean"] * 3
    n = len(kinds)
    panels = {
        "kind": np.array(kinds),
        "title": np.array([f"title {i}" for i in range(n)]),
        "images": np.random.default_rng(0).random((n, 6, 6)),
        "residuals": np.where(np.array(kinds) == "mean", np.nan, np.arange(n) / 1e6),
        "decisions": np.where(np.array(kinds) == "normal", 0.5, np.nan),
        "classes": np.array(["CatHead", "DogHead"]),
    }
    rows = [
        {"method": kind, "metric": metric, "value": value}
        for i, kind in enumerate(kinds)
        if kind != "mean"
        for metric, value in (("residual", i / 1e6), ("relative_residual", i / 1357))
    ]
    return panels, table(rows)


def texts(figure):
    return " | ".join(text.get_text() for text in figure.findobj(plt.Text))


def markers(axis):
    """Points that stand alone, by their row."""
    return {
        line.get_ydata()[0]: line for line in axis.get_lines() if line.get_marker() in "os<>^vD"
    }


def both(table):
    """The same scores of another experiment too."""
    return pd.concat([table, table.assign(experiment="faces")], ignore_index=True)


def letters(figure):
    return [axis.get_title()[:3] for axis in figure.axes]


def test_variance_curves_are_the_table(metrics):
    figure = plot_variance(metrics, [NOTE], n_components=10)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    lines = {label: line for label, line in lines.items() if label[0] != "_"}
    assert set(lines) == {METHODS["pca"].label, METHODS["sw_kpca"].label}
    curve = lines[METHODS["sw_kpca"].label]
    np.testing.assert_array_equal(curve.get_xdata(), np.arange(1, 21))
    np.testing.assert_allclose(curve.get_ydata(), 100 * (1 - 0.5 ** np.arange(1, 21)))
    assert figure.axes[0].get_xlim()[1] == 10
    # Their spread is not a confidence interval, which the figure must not suggest.
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert legend[-1] == "95 % of subsets of 80 % of the images"


def test_a_panel_keeps_the_papers_letter_when_it_stands_alone(metrics, accuracies, clusterings):
    for table, plot in ((metrics, plot_variance), (accuracies, plot_accuracy)):
        assert letters(plot(table, [NOTE])) == ["(a)"]
        assert letters(plot(table.assign(experiment="faces"), [NOTE])) == ["(b)"]
        assert letters(plot(both(table), [NOTE])) == ["(a)", "(b)"]
    # Here (a) and (b) are two scores, each of both data sets.
    figure = plot_clustering(both(clusterings), [NOTE])
    titles = {axis.get_xlabel(): axis.get_title() for axis in figure.axes[4:]}
    assert titles["V-measure"] == "(b) Animal faces"
    assert letters(figure)[:2] == letters(figure)[4:6] == ["(a)", "(b)"]
    assert "(" not in "".join(letters(figure)[2:4] + letters(figure)[6:])


def test_a_panels_legend_is_its_own_and_covers_no_curve(metrics):
    rows = both(metrics)
    chosen = (rows["metric"] == "subsampled_cpv_share") & (rows["experiment"] == "faces")
    rows.loc[chosen, "value"] = 0.5
    figure = plot_variance(rows, [NOTE], n_components=10)
    for plotted in (figure, plot_variance_of_kernels(rows, [NOTE], n_components=10)):
        plotted.draw_without_rendering()
        for axis in plotted.axes:
            legend = axis.get_legend().get_window_extent()
            assert not any(legend.overlaps(other.bbox) for other in plotted.axes)
    subsets = [axis.get_legend().get_texts()[-1].get_text() for axis in figure.axes]
    assert ["80 %" in subsets[0], "50 %" in subsets[1]] == [True, True], subsets


def test_bars_of_subsets_stand_out_from_the_curve(metrics):
    axis = plot_variance(metrics, [NOTE], n_components=10).axes[0]
    curve = max(axis.get_lines(), key=lambda line: len(line.get_xdata()))
    for rim, bars in zip(axis.containers[::2], axis.containers[1::2], strict=True):
        (own,), (around,) = bars.lines[2], rim.lines[2]
        assert own.get_color() is not None
        assert own.get_zorder() > around.get_zorder() > curve.get_zorder()
        assert own.get_linewidth() < around.get_linewidth()
        # Caps, since many a bar is shorter than the curve is thick.
        assert 2 * bars.lines[1][0].get_markersize() > curve.get_linewidth()
    (drawn,) = axis.containers[1].lines[2]
    low, high = np.quantile(np.arange(60, 65), [0.025, 0.975])
    np.testing.assert_allclose(drawn.get_segments()[0], [[5, low], [5, high]])


def test_spreads_are_drawn_where_no_marker_or_value_hides_them(accuracies, clusterings):
    for figure in (plot_accuracy(both(accuracies), [NOTE]), plot_clustering(clusterings, [NOTE])):
        figure.draw_without_rendering()
        point = figure.dpi / 72
        for axis in figure.axes:
            bars = np.array([group.lines[2][0].get_segments()[0] for group in axis.containers])
            heights = axis.transData.transform(bars[:, 0])[:, 1]
            points = list(markers(axis).values())
            assert len(bars) >= len(points) > 0
            for line in points:
                middle = axis.transData.transform(line.get_xydata()[0])[1]
                assert np.abs(heights - middle).min() > line.get_markersize() / 2 * point
            for text in (text for text in axis.texts if text.get_text()[0].isdigit()):
                box = text.get_window_extent()
                hidden = (box.y0 - 2 * point < heights) & (heights < box.y1 + 2 * point)
                assert not hidden.any(), "caps are 2 points high"


def test_a_spread_is_the_standard_deviation_and_one_value_has_none(accuracies):
    figure = plot_accuracy(accuracies, [NOTE])
    half = [
        np.ptp(group.lines[2][0].get_segments()[0][:, 0]) / 2 for group in figure.axes[0].containers
    ]
    folds = 100 * 0.01 * pd.Series([0, 1, 2, 3, 4] * 3).std()
    np.testing.assert_allclose(half[0], folds)
    np.testing.assert_allclose(half[1], 0, atol=1e-9)
    assert "62.0 ± 0.0" in texts(figure)
    once = accuracies[accuracies["repeat"] == 0]
    assert "±" not in "".join(text.get_text() for text in plot_accuracy(once, [NOTE]).axes[0].texts)


def test_both_panels_have_the_same_rows_and_the_same_width(accuracies):
    rows = both(accuracies)
    rows = rows[~((rows["experiment"] == "textures") & (rows["method"] == "sw_gaussian"))]
    figure = plot_accuracy(rows, [NOTE])
    figure.draw_without_rendering()
    left, right = figure.axes
    assert left.bbox.width == pytest.approx(right.bbox.width)
    assert left.get_ylim() == right.get_ylim()
    # Names stand once: the room of the second list goes to the panels.
    assert not right.yaxis.get_tick_params()["labelleft"]
    own = markers(left)
    assert len(markers(right)) == len(own) + 1
    assert set(own) < set(markers(right))
    assert [text.get_text() for text in left.get_yticklabels()][1] == METHODS["sw_gaussian"].label


def test_accuracy_points_are_the_means(accuracies):
    figure = plot_accuracy(accuracies, [NOTE])
    axis = figure.axes[0]
    labels = [text.get_text() for text in axis.get_yticklabels()]
    expected = {"linear": 62.0, "sw_gaussian": 82.0, "hellinger_rbf": 92.0}
    assert labels == [METHODS[method].label for method in expected]
    drawn = [markers(axis)[row].get_xdata()[0] for row in axis.get_yticks()]
    np.testing.assert_allclose(drawn, list(expected.values()))
    assert "below: not in the paper's figure" in texts(figure)


def test_the_share_of_the_largest_class_is_drawn_where_it_is_known(accuracies):
    sizes = table(
        {"method": "data", "item": label, "metric": "used", "value": n}
        for label, n in (("a", 6), ("b", 30), ("c", 4))
    )
    figure = plot_accuracy(pd.concat([accuracies, sizes], ignore_index=True), [NOTE])
    dotted = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert [list(line.get_xdata()) for line in dotted] == [[75.0, 75.0]]
    assert "largest class, 75.0" in texts(figure)
    # Sizes of another experiment's classes say nothing of this one's.
    others = sizes.assign(experiment="faces")
    without = plot_accuracy(pd.concat([accuracies, others], ignore_index=True), [NOTE])
    assert "largest class" not in texts(without)


def test_clustering_points_are_the_means(clusterings):
    figure = plot_clustering(clusterings, [NOTE])
    for axis in figure.axes[:4]:
        assert [line.get_xdata()[0] for line in markers(axis).values()] == pytest.approx([0.6] * 3)
    assert "random labels" in texts(figure)


def test_a_run_that_has_converged_keeps_its_value(clusterings):
    figure = plot_clustering_details(clusterings, [NOTE])
    curve = figure.axes[1].get_lines()[0]
    # Runs of 2, 3 and 4 iterations with V-measures 0, 0.1, 0.2, 0.3: means with the last kept.
    np.testing.assert_allclose(curve.get_ydata(), [0, 0.1, (0.1 + 0.2 + 0.2) / 3, 0.2])


@pytest.mark.parametrize(
    ("origin", "words"), [("real", "real data"), ("synthetic", "SYNTHETIC DATA")]
)
def test_origin_and_coverage_stand_inside_every_figure(
    metrics, samples, accuracies, clusterings, origin, words
):
    note = {**NOTE, "origin": origin}
    for figure in (
        plot_variance(metrics, [note], n_components=10),
        plot_variance_of_kernels(metrics, [note], n_components=10),
        plot_samples(samples, [note], density_name="Densities", columns=2),
        plot_means(samples, [note], density_name="Densities", columns=2),
        plot_accuracy(accuracies, [note]),
        plot_clustering(clusterings, [note]),
        plot_clustering_details(clusterings, [note]),
    ):
        assert f"{words}: UIUC textures, 500 of 1,000 images" in texts(figure)


def test_definiteness_draws_both_spectra_and_says_what_they_are():
    rows = definiteness_rows(definiteness_spectra(n_densities=6))
    figure = plot_definiteness(pd.DataFrame(rows))
    for axis, quantity in zip(figure.axes, ("least_eigenvalue", "centred_eigenvalue"), strict=True):
        for line, distance in zip(axis.get_lines(), ("wasserstein", "sliced"), strict=False):
            expected = [
                row["value"]
                for row in rows
                if (row["distance"], row["quantity"]) == (distance, quantity)
            ]
            np.testing.assert_array_equal(line.get_ydata(), expected)
    assert "SYNTHETIC DATA: pairs of squares in the plane, 6 densities" in texts(figure)


def test_every_method_has_a_look_of_its_own():
    assert set(FAMILIES) | set(SPACES) <= set(METHODS)
    for group in (FAMILIES, SPACES):
        looks = [METHODS[m][1:4] for m in group]
        assert len(set(looks)) == len(looks)


def test_samples_are_the_arrays(samples):
    figure = plot_samples(samples, [NOTE], density_name="Densities", columns=2)
    pictures = [axis.get_images()[0].get_array() for axis in figure.axes if axis.get_images()]
    assert len(pictures) == 9
    # The central square of an image of 12 x 16 pixels.
    np.testing.assert_array_equal(pictures[1], samples["images"][1][:, 2:14])
    np.testing.assert_allclose(pictures[8], samples["phi"][2].T)


def test_samples_in_colour_keep_it(samples):
    coloured = np.random.default_rng(1).integers(0, 256, (3, 12, 16, 3), dtype=np.uint8)
    samples = {**samples, "images": coloured}
    figure = plot_samples(samples, [NOTE], density_name="HOGgles", dark_ground=True, columns=2)
    pictures = [axis.get_images()[0].get_array() for axis in figure.axes if axis.get_images()]
    np.testing.assert_array_equal(pictures[0], coloured[0][:, 2:14])
    np.testing.assert_allclose(pictures[3], samples["densities"][0])


def test_means_are_the_arrays_and_no_image_is_among_them(samples):
    only = {name: array for name, array in samples.items() if name.startswith("mean_")}
    figure = plot_means(only, [NOTE], density_name="HOGgles", dark_ground=True, columns=2)
    pictures = [axis.get_images()[0].get_array() for axis in figure.axes if axis.get_images()]
    assert len(pictures) == 4
    np.testing.assert_allclose(pictures[1], samples["mean_densities"][1])
    np.testing.assert_allclose(pictures[3], samples["mean_phi"][1].T)
    assert [axis.get_title() for axis in figure.axes if axis.get_images()] == ["a", "c"] * 2
    # Panels have the letters of the paper, whose (a) are photographs.
    assert "(a)" not in texts(figure)
    assert "(b) HOGgles" in texts(figure)


def test_means_of_no_class_are_an_empty_figure(samples):
    none = {name: array[:0] for name, array in samples.items()}
    figure = plot_means(none, [NOTE], density_name="Densities")
    assert not [axis for axis in figure.axes if axis.get_images()]


@pytest.mark.parametrize("dark_ground", [False, True])
def test_inverses_are_all_drawn_with_their_residuals(inverses, dark_ground):
    panels, rows = inverses
    n = len(panels["kind"])
    figure = plot_inverses(panels, rows, [NOTE], dark_ground=dark_ground)
    drawn = [axis for axis in figure.axes if axis.get_images()]
    assert len(drawn) == n
    written = {axis.get_title(): axis.get_xlabel() for axis in drawn}
    assert written["title 24"] == "residual 1.8 %"
    assert written["title 1"] == "residual 0.074 %\ndecision +0.50"
    assert written[f"title {n - 1}"] == ""
    assert "CatHead" in drawn[0].get_ylabel()
    assert "real data" in texts(figure)
    with pytest.raises(ValueError, match="not those of the pictures"):
        plot_inverses(panels, rows[2:], [NOTE])


@pytest.mark.parametrize("dark_ground", [False, True])
def test_a_peak_leaves_the_faint_densities_of_its_row_visible(inverses, dark_ground):
    panels, rows = inverses
    panels["images"] = np.full((len(panels["images"]), 30, 30), 0.5)
    panels["images"][4, 2, 2] = 1e4
    figure = plot_inverses(panels, rows, [NOTE], dark_ground=dark_ground)
    drawn = [axis.get_images()[0] for axis in figure.axes if axis.get_images()]
    shades = np.array([picture.norm(picture.get_array())[0, 0] for picture in drawn[:5]])
    assert (shades > 0.9).all()


def test_what_stands_in_a_row_shares_its_scale(inverses):
    panels, rows = inverses
    panels["images"] *= np.arange(1, len(panels["images"]) + 1)[:, None, None]
    figure = plot_inverses(panels, rows, [NOTE], dark_ground=True)
    drawn = [axis for axis in figure.axes if axis.get_images()]
    scales = {}
    for axis in drawn:
        place = (round(axis.get_position().y0, 6), axis.figure)
        scales.setdefault(place, set()).add(axis.get_images()[0].get_clim())
    assert len(scales) == 4 + 3 + 2
    assert all(len(found) == 1 for found in scales.values())


def test_equal_tables_give_equal_bytes(metrics, tmp_path):
    files = []
    for run in ("first", "second"):
        paths = [tmp_path / f"{run}.{suffix}" for suffix in ("svg", "pdf", "png")]
        save_figure(plot_variance(metrics, [NOTE], n_components=10), paths)
        files.append([path.read_bytes() for path in paths])
    assert files[0] == files[1]


def test_the_last_digit_of_a_place_has_no_effect(tmp_path):
    """Which a search for the layout does not repeat from run to run."""
    files = []
    for width in (0.8, np.nextafter(0.8, 1)):
        use_style()
        figure = plt.figure(figsize=(3, 3))
        for bottom in (0.1, 0.6):
            figure.add_axes((0.1, bottom, width, 0.3)).plot([0, 1], [0, 2])
        path = tmp_path / f"{len(files)}.svg"
        save_figure(figure, [path])
        files.append(path.read_text())
    assert files[0] == files[1]
    defined = re.findall(r'<clipPath id="(\w+)"', files[0])
    assert defined == ["clip0", "clip1"]
    assert set(re.findall(r'clip-path="url\(#(\w+)\)"', files[0])) == set(defined)


def test_the_users_own_style_has_no_effect(metrics, tmp_path):
    save_figure(plot_variance(metrics, [NOTE], n_components=10), [tmp_path / "plain.svg"])
    plt.rcParams["font.size"] = 30
    save_figure(plot_variance(metrics, [NOTE], n_components=10), [tmp_path / "styled.svg"])
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "styled.svg").read_bytes()


def mark(axes):
    """Give an axes a ground by which its place can be found in a picture."""
    axes.set_facecolor("#ff00ff")
    axes.grid(False)


def place_in_svg(path, size):
    """Find left, top, right, bottom of the marked axes, in points."""
    root = ElementTree.parse(path).getroot()
    np.testing.assert_allclose([float(x) for x in root.get("viewBox").split()[2:]], 72 * size)
    (ground,) = (node for node in root.iter() if "fill: #ff00ff" in node.get("style", ""))
    corners = np.array(re.findall(r"[-\d.]+", ground.get("d")), dtype=float).reshape(-1, 2)
    return np.concatenate([corners.min(axis=0), corners.max(axis=0)])


def place_in_png(path, size):
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
        points_of_a_pixel = 72 * size / image.size
    rows, columns = np.nonzero((pixels == (255, 0, 255)).all(axis=2))
    ends = np.array([[columns.min(), rows.min()], [columns.max() + 1, rows.max() + 1]])
    return (ends * points_of_a_pixel).ravel()


def test_formats_share_one_layout_in_which_nothing_sticks_out(metrics, accuracies, tmp_path):
    figures = {
        "variance": plot_variance(metrics, [NOTE], n_components=10),
        "accuracy": plot_accuracy(accuracies, [NOTE]),
    }
    for name, figure in figures.items():
        mark(figure.axes[0])
        svg, png = tmp_path / f"{name}.svg", tmp_path / f"{name}.png"
        save_figure(figure, [svg, png])
        size = figure.get_size_inches()
        # A pixel of 300 dpi is a quarter of a point; the spines hide half a line of the ground.
        np.testing.assert_allclose(place_in_png(png, size), place_in_svg(svg, size), atol=0.6)
        box = figure.get_tightbbox()
        assert min(box.x0, box.y0) >= 0, name
        assert box.x1 <= size[0], name
        assert box.y1 <= size[1], name
        with Image.open(png) as image:
            pixels = np.asarray(image.convert("L"))
        edges = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
        assert (edges == 255).all(), f"something of {name} is cut off"
