"""Intervals against hand calculation and against their promise, the coverage."""

import numpy as np
import pytest
from scipy import stats

from replication.statistics import corrected_resampled_t, percentile_interval


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
