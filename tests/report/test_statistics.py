"""Intervals against hand calculation and against their promise, the coverage."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from replication.report.statistics import (
    corrected_resampled_t,
    percentile_interval,
    subsampling_interval,
)


def test_corrected_interval_by_hand():
    # mean 2, s^2 = 8/3, J = 4, test/train = 1/4: half width t_3 sqrt((1/4 + 1/4) 8/3)
    interval = corrected_resampled_t([0.0, 4.0, 2.0, 2.0], test_share=0.2)
    reach = stats.t.ppf(0.975, 3) * np.sqrt(4 / 3)
    assert interval == pytest.approx((2.0, 2.0 - reach, 2.0 + reach))


def test_correction_keeps_its_level_where_the_usual_interval_does_not():
    # Score differences of overlapping training sets: a shared part that no repetition averages out.
    rng = np.random.default_rng(0)
    corrected = usual = 0
    for _ in range(300):
        shared = rng.normal(scale=np.sqrt(0.2))
        d = shared + rng.normal(scale=np.sqrt(0.8), size=100)
        interval = corrected_resampled_t(d, test_share=0.2)
        corrected += interval.low <= 0 <= interval.high
        usual += abs(d.mean()) <= stats.t.ppf(0.975, 99) * d.std(ddof=1) / 10
    assert corrected / 300 > 0.9
    assert usual / 300 < 0.5


@pytest.mark.parametrize(("differences", "share"), [([1.0], 0.2), ([1.0, 2.0], 1.0)])
def test_what_cannot_be_computed_is_an_error(differences, share):
    with pytest.raises(ValueError, match=r"differences|test_share"):
        corrected_resampled_t(differences, share)


def test_percentiles():
    interval = percentile_interval(50.0, np.arange(101), level=0.9)
    assert interval == pytest.approx((50.0, 5.0, 95.0))


def test_interval_of_parts_by_hand():
    # Half: factor 1. Four fifths: sqrt(.8 / .2) = 2. The level of parts, here 7, does not matter.
    assert subsampling_interval(1.0, [6, 7, 8], share=0.5, level=1) == pytest.approx((1, 0, 2))
    assert subsampling_interval(1.0, [6, 7, 8], share=0.8, level=1) == pytest.approx((1, -1, 3))
    for share in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="share must lie between 0 and 1"):
            subsampling_interval(1.0, [6, 7, 8], share=share)


@pytest.mark.parametrize("size", [2, 4, 7])
def test_spread_of_parts_is_scaled_to_the_variance_of_a_mean(size):
    """Over all parts of eight numbers, it is s^2 / n exactly, whatever their size."""
    x = np.array([0.0, 1.0, 5.0, 2.0, 2.5, -3.0, 8.0, 1.0])
    means = np.array([np.mean(part) for part in combinations(x, size)])
    _, low, high = subsampling_interval(x.mean(), [means.min(), means.max()], size / 8, level=1)
    scale = (high - low) / (means.max() - means.min())
    assert scale**2 * means.var() == pytest.approx(x.var(ddof=1) / 8)


def test_intervals_of_parts_keep_their_level_and_raw_percentiles_do_not():
    rng = np.random.default_rng(0)
    scaled = raw = 0
    for _ in range(300):
        x = rng.normal(size=50)
        parts = rng.permuted(np.tile(x, (200, 1)), axis=1)[:, :40].mean(axis=1)
        _, low, high = subsampling_interval(x.mean(), parts, share=0.8)
        scaled += low <= 0 <= high
        _, low, high = percentile_interval(x.mean(), parts)
        raw += low <= 0 <= high
    assert scaled / 300 > 0.9
    assert raw / 300 < 0.75
