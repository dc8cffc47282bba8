"""How questions are divided and drawn."""

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank.manifold._designs import largest_n_shifts
from skrank.manifold._random_triplets import random_triplets
from skrank.manifold._ranking import draw_design
from skrank.manifold._settings import plan_budget


@pytest.mark.parametrize("n_items", [5, 25, 60, 1000, 10**6])
@pytest.mark.parametrize("landmark_share", [0.3, 1.0])
@pytest.mark.parametrize("pilot", [False, True])
def test_the_budget_is_kept(n_items, landmark_share, pilot):
    n_landmarks = min(20, n_items)
    a_shift = n_landmarks * (n_items - 1)
    for n_comparisons in (4 * a_shift, 33 * a_shift, 1000 * a_shift, "auto"):
        budget = plan_budget(n_items, n_landmarks, n_comparisons, pilot, landmark_share)
        shifts = budget.pilot + budget.ranking
        assert budget.ranking >= 1
        assert budget.pilot == 0 or 2 <= budget.pilot <= budget.ranking
        assert shifts <= largest_n_shifts(n_items - 1)
        if n_comparisons == "auto":
            total = 50 * n_items * np.log(n_items)
            if landmark_share == 1:
                assert budget.ranking >= min(15, largest_n_shifts(n_items - 1) - budget.pilot)
        else:
            total = n_comparisons
            assert shifts * a_shift <= landmark_share * total
        if landmark_share < 1:
            assert budget.n_triplets > 0
            assert shifts * a_shift + budget.n_triplets == pytest.approx(total, abs=1)
        else:
            assert budget.n_triplets == 0


def test_too_small_a_budget_says_what_is_needed():
    with pytest.raises(ValueError, match=r"n_comparisons=500 .* 980 are the least, and about 14700 are reliable"):
        plan_budget(50, 20, 500, True)
    assert plan_budget(50, 20, 980, True).ranking == 1


def test_random_triplets_are_uniform_over_different_items():
    # a chi-squared test at level 1e-4: uniform triplets fail it with that probability, and the seed is fixed
    i, j, k = random_triplets(4, 24_000, np.random.RandomState(0))
    assert np.all((i != j) & (j != k) & (i != k))
    counts = np.bincount(16 * i + 4 * j + k, minlength=64)
    assert np.sum(counts > 0) == 24
    assert chisquare(counts[counts > 0]).pvalue > 1e-4


def test_a_design_shares_no_shift_with_the_pilot():
    pilot = draw_design("circulant", 60, 4, np.random.RandomState(0))
    shifts = draw_design("circulant", 60, 20, np.random.RandomState(0), pilot.shifts).shifts
    assert len(shifts) == 20
    assert not set(shifts) & set(pilot.shifts)
