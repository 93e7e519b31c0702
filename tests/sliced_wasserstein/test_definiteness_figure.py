import numpy as np
import pytest

from sliced_wasserstein.definiteness import definiteness_rows, definiteness_spectra

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")


def test_figure_shows_the_table():
    from replication.figures.definiteness import draw_definiteness

    results = definiteness_spectra(n_densities=8, relative_gammas=[0.1, 1.0, 10.0])
    figure = draw_definiteness(pd.DataFrame(definiteness_rows(results)))
    left, right = figure.axes
    for axes, quantity in ((left, "least"), (right, "centred")):
        shown = {line.get_label(): line.get_ydata() for line in axes.get_lines()[:-1]}
        for distance, label in (
            ("wasserstein", "2-D Wasserstein (exact)"),
            ("sliced", "sliced Wasserstein"),
        ):
            np.testing.assert_array_equal(shown[label], getattr(results[distance], quantity))
        assert axes.get_xlabel()
        assert axes.get_ylabel()
