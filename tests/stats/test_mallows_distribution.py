"""The Mallows distribution against enumeration of all rankings."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank._mallows import log_distance_distribution
from skrank._pair_words import disagreements
from skrank._rankings import densify, pair_signs
from skrank._total_variation import TotalVariationResult, all_rankings
from skrank.exceptions import InsufficientDataWarning
from skrank.stats import kemeny_consensus, mallows
from skrank.stats._mallows_missing import MAX_STATES

PHIS = [0.0, 1e-3, 0.3, 0.9, 0.9999, 1.0]


def probabilities_by_definition(model):
    """All full rankings and their probabilities."""
    rankings = np.array(list(itertools.permutations(range(model.n_items))))
    distances = [
        sum((np.subtract.outer(s, s) * np.subtract.outer(model.center, model.center) < 0).ravel()) / 2 for s in rankings
    ]
    weights = np.array([model.phi**d for d in distances])
    return rankings, np.array(distances), weights / weights.sum()


def bucket_orders(shape):
    """All bucket orders of the given bucket sizes."""
    return np.array(sorted(set(itertools.permutations(np.repeat(np.arange(len(shape)), shape)))))


def compositions(n):
    for bars in itertools.product([False, True], repeat=n - 1):
        ends = [place + 1 for place, bar in enumerate(bars) if bar] + [n]
        yield np.diff([0, *ends])


@pytest.mark.parametrize("phi", PHIS)
@pytest.mark.parametrize("n_items", [1, 2, 3, 5])
def test_full_rankings_and_moments_equal_enumeration(n_items, phi):
    model = mallows(np.random.default_rng(n_items).permutation(n_items), phi)
    rankings, distances, probabilities = probabilities_by_definition(model)
    assert model.pmf(rankings) == pytest.approx(probabilities, rel=1e-10)
    assert model.mean_distance() == pytest.approx(probabilities @ distances, rel=1e-9, abs=1e-12)
    positive = probabilities[probabilities > 0]
    assert model.entropy() == pytest.approx(-positive @ np.log(positive), rel=1e-9, abs=1e-10)
    assert model.log_partition() == pytest.approx(np.log(np.sum(float(phi) ** distances)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("phi", PHIS)
@pytest.mark.parametrize("n_items", [3, 4, 5])
def test_bucket_orders_of_one_shape_have_total_probability_one(n_items, phi):
    model = mallows(np.random.default_rng(n_items).permutation(n_items), phi)
    for shape in compositions(n_items):
        assert model.pmf(bucket_orders(shape)).sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("phi", PHIS)
def test_partial_rankings_equal_sums_over_consistent_rankings(phi, consistent_rankings):
    rng = np.random.default_rng(3)
    for n_items in (2, 4, 6):
        model = mallows(rng.permutation(n_items), phi)
        X = rng.integers(0, 4, (12, n_items)).astype(float)
        X[3:][rng.random((9, n_items)) < 0.4] = np.nan
        X[3] = np.nan
        for row, log_probability in zip(X, model.logpmf(X), strict=True):
            assert np.exp(log_probability) == pytest.approx(
                model.pmf(consistent_rankings(row)).sum(), rel=1e-10, abs=1e-14
            )


def test_a_missing_item_adds_up_over_its_places():
    """Summing over where the missing items stand gives the probability without them, where enumeration cannot go."""
    rng = np.random.default_rng(4)
    n_items = 14
    model = mallows(rng.permutation(n_items), 0.6)
    row = rng.permutation(n_items).astype(float)
    row[[2, 5, 9]] = np.nan
    # Item 5 before, between and after the ranked items.
    places = np.sort(row[~np.isnan(row)])
    gaps = np.concatenate([[-1], (places[1:] + places[:-1]) / 2, [n_items + 1]])
    refined = np.tile(row, (len(gaps), 1))
    refined[:, 5] = gaps
    assert model.pmf(refined).sum() == pytest.approx(model.pmf(row[None])[0], rel=1e-10)


def test_too_many_missing_items():
    row = np.full((1, 40), np.nan)
    row[0, :3] = [0, 1, 2]
    model = mallows(np.arange(40), 0.5)
    with pytest.raises(ValueError, match=rf"Row 1 of X leaves 37 of 40 items missing.*at most {MAX_STATES}.*unranked"):
        model.logpmf(np.vstack([np.arange(40), row]))
    with pytest.raises(ValueError, match="Row 0 of given leaves 37 of 40"):
        model.rvs(given=row)


def test_small_probabilities_do_not_underflow():
    n_items = 60
    model = mallows(np.arange(n_items), 1e-3)
    reverse = np.arange(n_items)[::-1].astype(float)
    distance = n_items * (n_items - 1) / 2
    expected = distance * np.log(1e-3) - model.log_partition()
    gap = reverse.copy()
    gap[-1] = np.nan
    log_probability, with_gap = model.logpmf(np.vstack([reverse, gap]))
    assert log_probability == pytest.approx(expected, rel=1e-12)
    # Item 59, the center's last, is free: it goes last, or t places before the last at the price phi^t.
    assert with_gap == pytest.approx(
        (distance - 59) * np.log(1e-3) - np.log(1 - 1e-3) - model.log_partition(), rel=1e-9
    )


@pytest.mark.parametrize("row", [None, [1, 0, 1, 1], [1, np.nan, 0, np.nan], [0, 0, np.nan, 1], [np.nan] * 4])
@pytest.mark.parametrize("phi", [0.4, 1.0])
def test_draws_have_the_conditional_distribution(row, phi, consistent_rankings):
    model = mallows([2, 0, 3, 1], phi)
    draws = model.rvs(20_000, random_state=5, given=None if row is None else [row]).reshape(-1, 4)
    support = consistent_rankings([0] * 4 if row is None else row)
    expected = model.pmf(support)
    found, counts = np.unique(np.vstack([draws, support]), axis=0, return_counts=True)
    assert len(found) == len(support)
    by_row = {tuple(ranking): count - 1 for ranking, count in zip(found, counts, strict=True)}
    observed = [by_row[tuple(ranking)] for ranking in support]
    # One level-1e-4 test each.
    if len(support) > 1:
        assert chisquare(observed, 20_000 * expected / expected.sum()).pvalue > 1e-4


def test_shapes_of_draws():
    model = mallows([1, 0, 2], 0.5)
    given = [[0, 0, 1], [np.nan, 0, 1], [0, 1, 1], [np.nan, 0, 1]]
    assert model.rvs().shape == (3,)
    assert model.rvs(0).shape == (0, 3)
    assert model.rvs((2, 5)).shape == (2, 5, 3)
    assert model.rvs(given=given).shape == (4, 3)
    draws = model.rvs((2, 50), random_state=0, given=given)
    assert draws.shape == (2, 50, 4, 3)
    assert (np.sort(draws, axis=-1) == np.arange(3)).all()
    assert (draws[..., 0, :2] < 2).all()
    assert (draws[..., 1, 1] < draws[..., 1, 2]).all()
    assert (draws[..., 2, 0] == 0).all()
    # Equal rankings get draws of their own.
    assert (draws[..., 1, :] != draws[..., 3, :]).any()


def test_draws_repeat_with_the_seed():
    model = mallows(np.arange(8), 0.7)
    assert (model.rvs(5, random_state=1) == model.rvs(5, random_state=1)).all()
    assert (model.rvs(5, random_state=1) != model.rvs(5, random_state=2)).any()
    rng = np.random.default_rng(0)
    assert (model.rvs(5, random_state=rng) != model.rvs(5, random_state=rng)).any()


def test_no_dispersion_and_one_item():
    model = mallows([2, 0, 1], 0)
    assert (model.rvs(4) == [2, 0, 1]).all()
    assert model.logpmf([[2, 0, 1], [0, 1, 2], [1, 0, 1], [np.nan, 0, 1]]).tolist() == [0, -np.inf, 0, 0]
    assert model.rvs(given=[[0, 1, 2], [0, 1, 1], [0, np.nan, 1]]).tolist() == [[0, 1, 2], [0, 1, 2], [1, 0, 2]]
    single = mallows([7.0], 0.5)
    assert single.rvs(2).tolist() == [[0], [0]]
    assert single.logpmf([[3]]).tolist() == [0]
    assert single.entropy() == 0


def test_disagreements_are_strictly_opposite_pairs():
    rng = np.random.default_rng(6)
    ranks = densify(rng.integers(0, 9, (50, 12)).astype(float))
    center = rng.permutation(12)
    opposite = pair_signs(ranks, dtype=int) * pair_signs(densify(center[None].astype(float)), dtype=int) < 0
    assert (disagreements(ranks, center) == opposite.sum(axis=1)).all()


def test_all_rankings():
    assert sorted(map(tuple, all_rankings(4))) == sorted(itertools.permutations(range(4)))


# ---------------------------------------------------------------- total variation
@pytest.mark.parametrize("phis", [(0.3, 0.3), (0.2, 0.8), (0.0, 1.0), (0.0, 0.0)])
def test_total_variation_equals_enumeration(phis):
    rng = np.random.default_rng(7)
    for n_items in (1, 3, 5):
        for centers in ([np.arange(n_items)] * 2, [rng.permutation(n_items) for _ in range(2)]):
            first, second = mallows(centers[0], phis[0]), mallows(centers[1], phis[1])
            expected = np.abs(probabilities_by_definition(first)[2] - probabilities_by_definition(second)[2]).sum() / 2
            result = first.total_variation(second)
            assert result.is_exact
            assert result.value == pytest.approx(expected, abs=1e-12)
            assert result.confidence_interval() == (result.value, result.value)


def test_sampled_total_variation_covers_the_exact_one():
    """Two distributions that differ only in how two items are ordered: the distance is that of this one bit."""
    n_items, phi = 12, 0.5
    swapped = np.arange(n_items)
    swapped[[3, 4]] = [4, 3]
    first, second = mallows(np.arange(n_items), phi), mallows(swapped, phi)
    exact = (1 - phi) / (1 + phi)
    results = [first.total_variation(second, n_draws=400, random_state=seed) for seed in range(200)]
    assert not any(result.is_exact for result in results)
    assert all(low <= exact <= high for low, high in (result.confidence_interval(0.999) for result in results))
    values = np.array([result.value for result in results])
    # Every term is the same here: neighboring items whose exchange multiplies the probability by phi.
    assert values == pytest.approx(exact, abs=1e-12)


def test_sampled_total_variation_is_unbiased_and_knows_its_error():
    n_items = 10
    first, second = mallows(np.arange(n_items), 0.9), mallows(np.arange(n_items)[::-1], 0.9)
    results = [first.total_variation(second, n_draws=200, random_state=seed) for seed in range(300)]
    values = np.array([result.value for result in results])
    # Reversal maps the one distribution onto the other, so only the sign of d - P/2 matters.
    distribution = np.exp(log_distance_distribution(n_items, 0.9))
    exact = np.abs(distribution - distribution[::-1]).sum() / 2
    standard_errors = np.array([result.standard_error for result in results])
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(300)
    # The variance estimate of 300 values: relative error 1 / sqrt(600) or so; four of these.
    assert np.sqrt((standard_errors**2).mean()) == pytest.approx(values.std(), rel=0.17)


def test_empirical_bernstein_interval():
    low, high = TotalVariationResult(0.5, 0.01, False, 1000).confidence_interval(0.95)
    half_width = 0.01 * np.sqrt(2 * np.log(80)) + 7 * np.log(80) / (3 * 999)
    assert (low, high) == pytest.approx((0.5 - half_width, 0.5 + half_width))


# ---------------------------------------------------------------- fit
@pytest.mark.parametrize("shape", [None, (1, 1, 1, 2), (3, 2), (2, 2, 1)])
def test_fit_is_the_maximum_of_the_likelihood(shape):
    rng = np.random.default_rng(8)
    truth = mallows(rng.permutation(5), 0.6)
    X = truth.rvs(60, random_state=9)
    if shape is not None:
        X = np.repeat(np.arange(len(shape)), shape)[X]
    weights = rng.random(60)
    model = mallows.fit(X, weights)
    best = max(
        (weights @ mallows(center, phi).logpmf(X), phi)
        for center in itertools.permutations(range(5))
        for phi in np.linspace(0.1, 1, 10)
    )
    fitted = weights @ model.logpmf(X)
    assert fitted >= best[0] - 1e-9
    for phi in (model.phi * 0.999, model.phi * 1.001):
        assert weights @ mallows(model.center, phi).logpmf(X) < fitted
    assert (model.center == kemeny_consensus(X, sample_weight=weights).ranks).all()


def test_fit_of_mixed_patterns_of_ties():
    truth = mallows(np.arange(6), 0.5)
    X = truth.rvs(90, random_state=10)
    X[:30] = np.minimum(X[:30], 2)
    X[30:60] = X[30:60] // 2
    model = mallows.fit(X)
    phis = np.linspace(0.3, 0.7, 401)
    likelihoods = [mallows(model.center, phi).logpmf(X).sum() for phi in phis]
    assert model.phi == pytest.approx(phis[np.argmax(likelihoods)], abs=1e-3)


def test_fit_recovers_the_truth():
    rng = np.random.default_rng(11)
    truth = mallows(rng.permutation(20), 0.7)
    n_samples = 4000
    model = mallows.fit(truth.rvs(n_samples, random_state=rng))
    assert (model.center == truth.center).all()
    step = 1e-4
    slope = (mallows(truth.center, 0.7 + step).mean_distance() - mallows(truth.center, 0.7 - step).mean_distance()) / 2
    # Fisher information of phi in one ranking: (d E d / d phi) / phi.
    assert abs(model.phi - 0.7) < 4 / np.sqrt(n_samples * slope / step / 0.7)


def test_fit_at_the_ends():
    assert repr(mallows.fit([[2, 0, 1]] * 50)) == "mallows(center=[2, 0, 1], phi=0)"
    half = np.vstack([np.tile(np.arange(5), (10, 1)), np.tile(np.arange(5)[::-1], (10, 1))])
    assert mallows.fit(half).phi == 1
    with pytest.warns(InsufficientDataWarning, match="No ranking of X orders any pair"):
        assert mallows.fit(np.zeros((3, 4))).phi == 1


def test_weights_are_repeats():
    rng = np.random.default_rng(12)
    X, weights = rng.permuted(np.tile(np.arange(7), (20, 1)), axis=1), rng.integers(0, 3, 20)
    weighted, repeated = mallows.fit(X, weights), mallows.fit(np.repeat(X, weights, axis=0))
    assert (weighted.center == repeated.center).all()
    assert weighted.phi == pytest.approx(repeated.phi, rel=1e-12)


# ---------------------------------------------------------------- arguments
def test_pickle_and_repr():
    model = pickle.loads(pickle.dumps(mallows([3, 1, 2], 0.25)))
    assert repr(model) == "mallows(center=[2, 0, 1], phi=0.25)"
    assert model.nu == pytest.approx(-np.log(0.25))
    with pytest.raises(ValueError, match="read-only"):
        mallows([3, 1, 2], 0.25).center[0] = 1


@pytest.mark.parametrize("phi", [-0.1, 1.1, np.nan, "a", None, True])
def test_bad_phi(phi):
    with pytest.raises(ValueError, match="phi must be a number in"):
        mallows([0, 1], phi)


def test_bad_input():
    model = mallows([0, 1, 2], 0.5)
    with pytest.raises(ValueError, match="center ties items"):
        mallows([0, 0, 1], 0.5)
    with pytest.raises(ValueError, match="center.* is NaN"):
        mallows([0, np.nan, 1], 0.5)
    with pytest.raises(ValueError, match=r"center must be one ranking.*\(1, 3\)"):
        mallows([[0, 1, 2]], 0.5)
    with pytest.raises(ValueError, match="X ranks 2 items, this distribution 3"):
        model.logpmf([[0, 1]])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.logpmf([0, 1, 2])
    with pytest.raises(ValueError, match="size must be"):
        model.rvs(-1)
    with pytest.raises(ValueError, match=r"X\[1, 0\] is NaN.*unranked"):
        mallows.fit([[0, 1, 2], [np.nan, 0, 1]])
    with pytest.raises(TypeError, match="mallows distribution"):
        model.total_variation(0.5)
    with pytest.raises(ValueError, match="other ranks 2 items"):
        model.total_variation(mallows([0, 1], 0.5))


@pytest.mark.parametrize("n_draws", [1, 0, 2.5, "many"])
def test_total_variation_needs_draws(n_draws):
    with pytest.raises(ValueError, match="n_draws must be an integer of at least 2"):
        mallows([0, 1], 0.5).total_variation(mallows([1, 0], 0.5), n_draws=n_draws)
