"""Theorem 1.1 end to end on exact moments of few items."""

import numpy as np
import pytest

from skrank._total_variation import all_rankings
from skrank.mixture._liu_moitra._test_functions import pair_annihilator
from skrank.mixture._liu_moitra._theorem_1_1 import (
    Component,
    Grid,
    candidate_centers,
    heavy_rankings,
    is_degenerate,
    isolated,
    leading_difference,
    order_of_the_rest,
    theorem_1_1,
    without_small_components,
)
from skrank.stats import mallows

GRID = Grid(small_dispersions=(0.1,), large_dispersions=(0.3, 0.6), weights=(0.4, 0.6))
MIXTURES = {
    "far centers": [((0, 1, 2, 3), 0.3, 0.6), ((3, 1, 0, 2), 0.6, 0.4)],
    "one dispersion, neighbors exchanged": [((0, 1, 2, 3), 0.6, 0.6), ((0, 1, 3, 2), 0.6, 0.4)],
    "one center": [((2, 0, 3, 1), 0.6, 0.6), ((2, 0, 3, 1), 0.3, 0.4)],
    "one small dispersion": [((0, 2, 1, 3), 0.6, 0.6), ((0, 1, 2, 3), 0.1, 0.4)],
    "two small dispersions": [((0, 2, 1, 3), 0.1, 0.6), ((0, 1, 2, 3), 0.1, 0.4)],
}


def given(name):
    components = [Component(*one) for one in MIXTURES[name]]
    return components, sum(component.moments for component in components)


def test_the_moments_of_the_highest_order_are_the_distribution():
    components, moments = given("far centers")
    expected = sum(w * mallows(np.array(c), phi).pmf(all_rankings(4)) for c, phi, w in components)
    assert moments == pytest.approx(expected)


def test_step_1_lists_and_removes_the_small_component():
    (large, small), moments = given("one small dispersion")
    assert small.center in heavy_rankings(moments, 0.4 / 4)
    rests = dict(without_small_components(moments, 2, GRID, 0.4))
    assert rests[(small,)] == pytest.approx(large.moments)
    assert rests[()] == pytest.approx(moments)


@pytest.mark.parametrize("name", ["far centers", "one dispersion, neighbors exchanged"])
@pytest.mark.parametrize("own", [0, 1])
def test_step_2_leaves_one_component_if_the_guesses_are_right(name, own):
    components, moments = given(name)
    wanted, other = components[own], components[1 - own]
    order = np.argsort(wanted.center).tolist()
    differs = wanted.dispersion != other.dispersion
    # At the top, or where the other center has them reversed.
    pair = order[:2] if differs else order[2:]
    is_flipped = other.center[pair[0]] > other.center[pair[1]]
    test_vector = pair_annihilator(other.dispersion, is_flipped)
    left = isolated(moments, pair, test_vector, at_the_top=differs)
    # For every order of the other items, the two orders of the pair in the other component cancel.
    ranks = all_rankings(4)
    a, b = (item for item in range(4) if item not in pair)
    a_first = ranks[:, a] < ranks[:, b]
    others = isolated(other.moments, pair, test_vector, at_the_top=differs)
    own = isolated(wanted.moments, pair, test_vector, at_the_top=differs)
    for rows in (a_first, ~a_first):
        assert others[rows].sum() == pytest.approx(0, abs=1e-12)
        assert left[rows].sum() == pytest.approx(own[rows].sum())
    assert order_of_the_rest(left, pair) == [item for item in order if item not in pair]
    assert leading_difference(left, pair) > 1e-3


@pytest.mark.parametrize("name", ["far centers", "one dispersion, neighbors exchanged", "one center"])
def test_step_2_lists_every_center(name):
    components, moments = given(name)
    candidates = candidate_centers(moments, 2, GRID.large_dispersions)
    assert all(component.center in candidates[component.dispersion] for component in components)


@pytest.mark.parametrize("name", MIXTURES)
def test_the_steps_find_the_mixture(name):
    components, moments = given(name)
    found, difference = theorem_1_1(moments, 2, GRID, least_weight=0.4, mu=0.1)
    assert list(found) == components
    assert difference < 1e-12


def test_a_single_component():
    component = Component((3, 1, 0, 2), 0.3, 0.6)
    found, difference = theorem_1_1(component.moments, 1, GRID, least_weight=0.4, mu=0.1)
    assert found == (component,)
    assert difference < 1e-12


def test_degenerate_candidates():
    one = Component((0, 1, 2), 0.3, 0.5)
    assert is_degenerate((one, one._replace(dispersion=0.301)), 0.4, epsilon=0.02)
    assert not is_degenerate((one, one._replace(dispersion=0.31)), 0.4, epsilon=0.02)
    assert is_degenerate((one._replace(weight=0.1),), 0.4, epsilon=0.02)
    assert is_degenerate((one._replace(dispersion=0.995),), 0.4, epsilon=0.02)


def test_moments_of_another_kind_leave_a_difference():
    moments = Component((0, 1, 2, 3), 0.45, 1.0).moments
    assert theorem_1_1(moments, 2, GRID, least_weight=0.4, mu=0.1)[1] > 0.01
    with pytest.raises(ValueError, match="degenerate"):
        theorem_1_1(moments, 2, GRID, least_weight=1.5, mu=0.1)
    with pytest.raises(ValueError, match="more than 2 components"):
        theorem_1_1(moments, 3, GRID, least_weight=0.4, mu=0.1)
