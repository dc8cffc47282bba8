"""The engine of voters against brute force over their rankings."""

import itertools
import pickle

import numpy as np
import pytest

from skrank._mallows import log_q_factorial, sample_mallows
from skrank._rankings import densify, pair_signs
from skrank.mixture._em import em, evaluated, expectation
from skrank.mixture._model import Mixture, log_densities
from skrank.mixture._pair_counts import PairCounts
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._transpositions import best_transposition, transposition_gains
from skrank.mixture._voters import make_table

N_ITEMS = 6


def partial_rankings(rng, n_rows, n_items=N_ITEMS, missing=0.4, n_buckets=4):
    values = rng.integers(n_buckets, size=(n_rows, n_items)).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return densify(values)


@pytest.fixture(params=[False, True], ids=["rows", "voters"])
def case(request):
    """The engine, the rankings of each voter, and a generator."""
    rng = np.random.default_rng(0)
    ranks = partial_rankings(rng, 200)
    groups = rng.integers(60, size=200) if request.param else np.arange(200)
    data, inverse = make_table(ranks, groups=groups)
    assert isinstance(data, PairCounts)
    voters = [ranks[groups == groups[np.flatnonzero(inverse == row)[0]]] for row in range(data.n_rows)]
    return data, voters, rng


def random_mixture(rng, n_items=N_ITEMS, k=3):
    centers = np.array([rng.permutation(n_items) for _ in range(k)])
    return Mixture(centers, rng.uniform(0.3, 0.8, k), rng.dirichlet(np.ones(k)))


def subset_log_probability(ranking, center, phi):
    """Log probability of a bucket order of some items under a Mallows model of just these items, by enumeration."""
    items = np.flatnonzero(ranking >= 0)
    rank, center = ranking[items], center[items]
    total = consistent = 0.0
    for order in itertools.permutations(range(len(items))):
        pairs = list(itertools.combinations(order, 2))
        probability = phi ** sum(center[a] > center[b] for a, b in pairs)
        total += probability
        consistent += probability * all(rank[a] <= rank[b] for a, b in pairs)
    return np.log(consistent / total)


def test_density_of_a_voter_is_the_product_of_its_rankings_in_the_subset_model(case):
    data, voters, rng = case
    mixture = random_mixture(rng)
    found = log_densities(data, mixture.centers, mixture.dispersions)
    expected = [
        [sum(subset_log_probability(ranking, center, phi) for ranking in voter) for voter in voters[:25]]
        for center, phi in zip(mixture.centers, mixture.dispersions, strict=True)
    ]
    # Distances are exact, the rest is float64.
    np.testing.assert_allclose(found[:, :25], expected, atol=1e-9)


@pytest.mark.parametrize("n_items", [3, 4, 5])
def test_bucket_orders_of_the_ranked_items_add_up_to_one(n_items):
    orders = {tuple(densify(np.array([v], float))[0]) for v in itertools.product(range(n_items), repeat=n_items - 1)}
    ranks = np.array([np.insert(order, 1, -1) for order in sorted(orders)], np.int8)
    center = np.random.default_rng(n_items).permutation(n_items)
    found = np.exp(log_densities(PairCounts(ranks), center[None], np.array([0.37]))[0])
    for shape in {tuple(np.bincount(row[row >= 0])) for row in ranks}:
        of_shape = [tuple(np.bincount(row[row >= 0])) == shape for row in ranks]
        assert found[of_shape].sum() == pytest.approx(1, abs=1e-9)


def test_operations_against_the_signs(case):
    data, voters, rng = case
    centers = random_mixture(rng).centers
    signs = np.array([pair_signs(voter, dtype=float).sum(axis=0) for voter in voters])
    totals = np.array([np.abs(pair_signs(voter)).sum() for voter in voters])
    center_signs = pair_signs(centers, dtype=float)
    np.testing.assert_array_equal(data.totals, totals)
    np.testing.assert_array_equal(data.distances(centers), (totals - center_signs @ signs.T) / 2)
    weights = rng.random((3, data.n_rows))
    np.testing.assert_allclose(data.pair_sums(weights), weights @ signs, rtol=1e-5, atol=1e-4)
    items = np.argsort(centers[0])
    oriented = [(np.sign(b - a), min(a, b), max(a, b)) for a, b in itertools.pairwise(items)]
    number = {pair: p for p, pair in enumerate(itertools.combinations(range(N_ITEMS), 2))}
    expected = [sign * signs[:, number[a, b]] for sign, a, b in oriented]
    np.testing.assert_array_equal(data.adjacent_signs(centers[0]), expected)
    assert data.coverage == pytest.approx(np.average(totals, weights=data.weights) / 15)


def test_transposition_gains_are_exact(case):
    data, _, rng = case
    # The second center is the first with two pairs exchanged: exchanges of a pair in both are possible.
    centers = np.array([np.arange(6), [1, 0, 2, 3, 5, 4], rng.permutation(6)])
    mixture = evaluated(data, Mixture(centers, np.array([0.3, 0.6, 0.8]), np.array([0.3, 0.3, 0.4])))
    gains, moves = transposition_gains(data, mixture, expectation(data, mixture)[0])
    assert len(moves) >= 3 * 5 + 2
    for gain, (components, first, second) in zip(gains, moves, strict=True):
        after = centers.copy()
        for component in components:
            after[component, [first, second]] = centers[component, [second, first]]
        expected = evaluated(data, Mixture(after, mixture.dispersions, mixture.weights)).log_likelihood
        assert gain == pytest.approx(expected - mixture.log_likelihood, abs=1e-7)
    assert best_transposition(data, mixture)[0] == gains.max()


def test_em_never_lowers_the_penalized_likelihood(case):
    data, _, rng = case
    mixture = evaluated(data, random_mixture(rng))
    for _ in range(15):
        after = em(data, mixture, max_iter=1, tol=-np.inf)
        assert after.lower_bound >= mixture.lower_bound - 1e-9
        mixture = after


@pytest.mark.parametrize("n_buckets", [None, 3])
def test_rankings_without_missing_items_are_those_of_the_bit_engine(n_buckets):
    rng = np.random.default_rng(1)
    ranks = np.array([rng.permutation(7) for _ in range(100)], np.int8)
    if n_buckets:
        ranks = densify(rng.integers(n_buckets, size=(100, 7)).astype(float))
    weights = rng.random(100)
    signs, counts = PairSigns(ranks, weights), PairCounts(ranks, weights=weights)
    start = random_mixture(rng, 7)
    np.testing.assert_allclose(*(log_densities(data, start.centers, start.dispersions) for data in (signs, counts)))
    fits = [em(data, start, 20) for data in (signs, counts)]
    np.testing.assert_array_equal(fits[0].centers, fits[1].centers)
    np.testing.assert_allclose(fits[0].dispersions, fits[1].dispersions, rtol=1e-4)


def test_subset_and_pickle_keep_the_voters(case):
    data, _, rng = case
    rows = np.array([3, 5, 8, 20])
    mixture = random_mixture(rng)
    part = pickle.loads(pickle.dumps(data.subset(rows, np.arange(1.0, 5))))
    np.testing.assert_array_equal(
        log_densities(part, mixture.centers, mixture.dispersions),
        log_densities(data, mixture.centers, mixture.dispersions)[:, rows],
    )
    np.testing.assert_array_equal(part.adjacent_signs(np.arange(6)), data.adjacent_signs(np.arange(6))[:, rows])
    assert part.total_weight == 10
    np.testing.assert_array_equal(data.subset(rows).weights, data.weights[rows])


def test_voters_as_full_rankings_keep_what_they_said(case):
    data, voters, _ = case
    positions = data.rankings(np.arange(data.n_rows))
    np.testing.assert_array_equal(np.sort(positions, axis=1), np.tile(np.arange(6), (data.n_rows, 1)))
    np.testing.assert_array_equal(positions, data.rankings(np.arange(data.n_rows)))
    for voter, row in zip(voters, positions, strict=True):
        if len(voter) == 1:
            full = voter[0] >= 0
            first, second = voter[0][full], row[full]
            assert not ((first[:, None] < first) & (second[:, None] > second)).any()


# ---------------------------------------------------------------- the table of voters
def test_voters_with_the_same_rankings_are_one():
    ranks = np.array([[0, 1, -1], [1, 0, -1], [1, 0, -1], [0, 1, -1], [-1, 0, 1], [0, 1, -1]], np.int8)
    groups = np.array(["b", "b", "a", "a", "c", "d"])
    data, inverse = make_table(ranks, groups=groups)
    assert data.n_rows == 3
    assert data.total_weight == 4
    assert inverse[0] == inverse[1] == inverse[2] == inverse[3]
    assert sorted(data.weights) == [1, 1, 2]
    order = np.array([4, 2, 0, 5, 3, 1])
    shuffled, _ = make_table(ranks[order], groups=groups[order])
    relabeled, _ = make_table(ranks, groups=[10, 10, 30, 30, 20, 0])
    for other in (shuffled, relabeled):
        np.testing.assert_array_equal(other.net.toarray(), data.net.toarray())
        np.testing.assert_array_equal(other.weights, data.weights)


def test_repeated_rankings_of_a_voter_count():
    ranks = np.array([[0, 1, -1], [0, 1, -1], [1, 0, -1]], np.int8)
    data, _ = make_table(ranks, groups=[0, 0, 0])
    assert data.n_rows == 1
    assert data.totals[0] == 3
    assert data.net.toarray().tolist() == [[1, 0, 0]]


def test_weights_count_voters():
    ranks = np.array([[0, 1, -1], [-1, 0, 1], [1, 0, -1]], np.int8)
    data, inverse = make_table(ranks, np.array([2.0, 2.0, 0.0]), [1, 1, 2])
    assert data.total_weight == 2
    assert inverse.tolist() == [0, 0, -1]
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is 3, but 2 in row 0 of the same voter"):
        make_table(ranks, np.array([2.0, 3.0, 0.0]), [1, 1, 2])


@pytest.mark.parametrize(
    ("groups", "message"),
    [([0, 1], "has 2 labels, but X has 3 rows"), ([0, 1, np.nan], r"groups\[2\] is missing"), ([0, "a", None], "type")],
)
def test_bad_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        make_table(np.array([[0, 1, -1]] * 3, np.int8), groups=np.array(groups, object) if None in groups else groups)


def test_a_comparison_is_wrong_with_the_probability_of_braverman_and_mossel():
    data = PairCounts(np.array([[-1, 0, 1, -1], [-1, 1, 0, -1]], np.int8))
    phi = 0.4
    found = np.exp(log_densities(data, np.arange(4)[None], np.array([phi]))[0])
    np.testing.assert_allclose(found, [1 / (1 + phi), phi / (1 + phi)])
    assert np.exp(log_q_factorial(2, -np.log(phi))[-1]) == pytest.approx(1 + phi)


def test_the_subset_model_is_sampled_by_restriction():
    rng = np.random.default_rng(2)
    drawn = sample_mallows(np.tile(np.arange(3), (5000, 1)), 0.7, rng).astype(np.int8)
    ranks = np.full((5000, 6), -1, np.int8)
    ranks[:, [1, 3, 4]] = drawn
    fitted = em(PairCounts(ranks), Mixture(np.arange(6)[None], np.array([0.5]), np.ones(1)))
    assert fitted.dispersions[0] == pytest.approx(np.exp(-0.7), abs=0.03)
