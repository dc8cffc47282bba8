"""Generated rankings and mixtures: their distributions and their shapes."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank.datasets import make_hard_mallows_pair, make_mallows_mixture, make_rankings
from skrank.stats import mallows


def kendall(first, second):
    return sum(
        (first[i] - first[j]) * (second[i] - second[j]) < 0 for i, j in itertools.combinations(range(len(first)), 2)
    )


def mixture_pmf(data, X):
    models = [mallows(*parameters) for parameters in zip(data.centers, data.dispersions, strict=True)]
    return data.weights @ [model.pmf(X) for model in models]


def all_rankings(n_items):
    return np.array(list(itertools.permutations(range(n_items))))


# ---------------------------------------------------------------- make_rankings
def test_full_rankings_are_those_of_the_model():
    X = make_rankings(20_000, 4, phi=0.5, center=[1, 0, 3, 2], random_state=0)
    assert X.dtype == np.float64
    found, counts = np.unique(X, axis=0, return_counts=True)
    # One level-1e-4 test.
    assert chisquare(counts, 20_000 * mallows([1, 0, 3, 2], 0.5).pmf(found)).pvalue > 1e-4


def test_uniform_by_default():
    found, counts = np.unique(make_rankings(12_000, 4, random_state=1), axis=0, return_counts=True)
    assert len(found) == 24
    assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("unranked", ["last", "missing"])
@pytest.mark.parametrize("top_k", [1, 3, 6, (2, 4)])
def test_top_k(top_k, unranked):
    full = make_rankings(300, 6, random_state=2)
    X = make_rankings(300, 6, top_k=top_k, unranked=unranked, random_state=2)
    low, high = top_k if isinstance(top_k, tuple) else (top_k, top_k)
    for row, ranking in zip(X, full, strict=True):
        others = np.isnan(row) if unranked == "missing" else row == np.nanmax(row)
        if unranked == "last" and high < 6:
            assert (row[others] == row[others][0]).all()
        n_listed = 6 - others.sum() if high < 6 else 6
        assert low <= n_listed <= high
        listed = ranking < n_listed
        assert (row[listed] == ranking[listed]).all()
        if n_listed < 6:
            assert (listed == ~others).all()
    if isinstance(top_k, tuple):
        lengths = (~np.isnan(X)).sum(axis=1) if unranked == "missing" else X.max(axis=1)
        assert chisquare(np.bincount(lengths.astype(int))[low : high + 1]).pvalue > 1e-4


def test_ties_join_neighbors_at_their_rate():
    full = make_rankings(2000, 8, random_state=3)
    X = make_rankings(2000, 8, tie_rate=0.3, random_state=3)
    order = np.argsort(full, axis=1)
    steps = np.diff(np.take_along_axis(X, order, axis=1), axis=1)
    assert set(np.unique(steps)) == {0, 1}
    # Binomial, four standard errors.
    assert abs((steps == 0).mean() - 0.3) < 4 * np.sqrt(0.21 / steps.size)
    assert (make_rankings(5, 4, tie_rate=1.0) == 0).all()
    top = make_rankings(200, 8, tie_rate=0.5, top_k=3, random_state=4)
    assert ((top == top.max(axis=1, keepdims=True)).sum(axis=1) == 5).all()
    assert set(np.unique(top.max(axis=1))) == {1, 2, 3}


def test_items_are_missing_at_their_rate():
    full = make_rankings(2000, 9, random_state=5)
    X = make_rankings(2000, 9, missing_rate=0.2, random_state=5)
    missing = np.isnan(X)
    assert (X[~missing] == full[~missing]).all()
    # P(fewer than two of nine stay) is below 2e-5, so the forced ones do not show; four standard errors.
    assert abs(missing.mean() - 0.2) < 4 * np.sqrt(0.16 / missing.size)
    assert ((~np.isnan(make_rankings(300, 5, missing_rate=0.99))).sum(axis=1) >= 2).all()


# ---------------------------------------------------------------- make_mallows_mixture
def test_mixture_has_the_distribution_of_its_parameters():
    data = make_mallows_mixture(30_000, 4, 3, phi=[0.2, 0.5, 0.8], weights=[5, 3, 2], random_state=6, return_X_y=False)
    assert data.weights == pytest.approx([0.5, 0.3, 0.2])
    X = all_rankings(4)
    counts = np.array([(data.X == row).all(axis=1).sum() for row in X])
    # Two level-1e-4 tests.
    assert chisquare(counts, 30_000 * mixture_pmf(data, X)).pvalue > 1e-4
    assert chisquare(np.bincount(data.y), 30_000 * data.weights).pvalue > 1e-4
    for component in range(3):
        model = mallows(data.centers[component], data.dispersions[component])
        distances = [kendall(row, model.center) for row in data.X[data.y == component][:500]]
        assert abs(np.mean(distances) - model.mean_distance()) < 4 * np.std(distances) / np.sqrt(500)


def test_X_y_and_the_bunch_are_the_same_draw():
    arguments = {"n_samples": 50, "n_items": 6, "top_k": 3, "random_state": 7}
    X, y = make_mallows_mixture(**arguments)
    data = make_mallows_mixture(**arguments, return_X_y=False)
    assert (X == data.X).all()
    assert (y == data.y).all()
    assert (X.max(axis=1) == 3).all()
    other = make_mallows_mixture(**{**arguments, "random_state": 8})[0]
    assert (X != other).any()


def test_kinds_of_centers():
    def centers(kind, n_components=4, n_items=13, **options):
        return make_mallows_mixture(
            5, n_items, n_components, centers=kind, random_state=9, return_X_y=False, **options
        ).centers

    assert (np.sort(centers("random"), axis=1) == np.arange(13)).all()
    assert (centers("same") == centers("same")[0]).all()
    first, last = centers("reversed", 2)
    assert (first + last == 12).all()
    for kind, n_close, options in (("close", 3, {}), ("close", 3, {"n_swaps": 1}), ("mixed", 2, {})):
        found = centers(kind, **options)
        assert len(np.unique(found, axis=0)) == 4
        distances = [kendall(found[0], center) for center in found[1:]]
        assert distances[:n_close] == [options.get("n_swaps", 3)] * n_close
        assert all((np.abs(center - found[0]) <= 1).all() for center in found[1 : 1 + n_close])
    assert kendall(*centers("mixed")[[0, 3]]) > 3
    given = [[2, 0, 1], [0, 1, 2]]
    assert (centers(np.add(given, 5), 2, 3) == given).all()


# n_items, n_components, options, n_samples: the recovery settings of Mallows mixtures.
CLOSE, SAME = {"centers": "close"}, {"centers": "same"}
SETTINGS = [
    (20, 5, {"phi": 0.8}, 1000),
    (20, 3, {"phi": 0.5}, 1000),
    (20, 3, {"phi": 0.9}, 2000),
    (20, 5, {"phi": 0.6, "weights": [0.5, 0.3, 0.1, 0.06, 0.04]}, 1000),
    (10, 8, {"phi": 0.5}, 2000),
    (8, 3, {"phi": 0.7}, 2000),
    (30, 8, {"phi": 0.8}, 2000),
    (20, 3, {"phi": [0.02, 0.7, 0.85]}, 1000),
    (20, 4, {"phi": [0.2, 0.4, 0.6, 0.8]}, 1000),
    (20, 3, {**CLOSE, "phi": 0.4}, 1000),
    (20, 5, {**CLOSE, "phi": 0.3}, 1000),
    (20, 3, {**CLOSE, "phi": 0.5, "weights": [0.7, 0.2, 0.1]}, 1000),
    (20, 3, {**CLOSE, "phi": 0.7}, 3000),
    (20, 3, {**CLOSE, "phi": [0.01, 0.6, 0.6]}, 1000),
    (20, 3, {**CLOSE, "phi": [0.2, 0.45, 0.7]}, 2000),
    (50, 5, {**CLOSE, "phi": 0.5}, 1000),
    (10, 5, {**CLOSE, "phi": 0.5}, 3000),
    (20, 3, {**SAME, "phi": [0.2, 0.5, 0.8]}, 2000),
    (20, 2, {**SAME, "phi": [0.3, 0.7]}, 1000),
    (20, 2, {"centers": "reversed", "phi": 0.8}, 1000),
    (20, 3, {**CLOSE, "n_swaps": 1, "phi": 0.25}, 2000),
]


@pytest.mark.parametrize(("n_items", "n_components", "options", "n_samples"), SETTINGS)
def test_recovery_settings(n_items, n_components, options, n_samples):
    data = make_mallows_mixture(n_samples, n_items, n_components, **options, random_state=10, return_X_y=False)
    assert data.X.shape == (n_samples, n_items)
    assert data.centers.shape == (n_components, n_items)
    assert (data.dispersions == options["phi"]).all()
    assert data.weights == pytest.approx(options.get("weights", [1 / n_components] * n_components))


# ---------------------------------------------------------------- make_hard_mallows_pair
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_concentric_pairs_agree_near_the_center(n_components):
    n_items, phi = 6, 0.05
    first, second = make_hard_mallows_pair(
        "concentric", n_samples=5, n_items=n_items, n_components=n_components, phi=phi, random_state=11
    )
    assert first.dispersions == pytest.approx(phi * np.arange(1, 2 * n_components, 2))
    assert second.dispersions == pytest.approx(phi * np.arange(2, 2 * n_components + 1, 2))
    assert (first.centers == second.centers[0]).all()
    X = all_rankings(n_items)
    p, q = mixture_pmf(first, X), mixture_pmf(second, X)
    assert p.sum() == pytest.approx(1)
    distances = np.array([kendall(row, first.centers[0]) for row in X])
    bound = 2 * (2 * n_items * 2 * n_components * phi) ** (2 * n_components - 1)
    assert np.abs(p - q).sum() / 2 < bound
    # Lemma 9 before its totals are balanced: signed binomial multiples of phi^d vanish up to d = 2k - 2, so there the
    # difference is what balancing adds, a multiple of the least dispersion's phi^d on one side.
    near = distances <= 2 * n_components - 2
    at_center = (p - q)[distances == 0][0]
    base = first.dispersions[0] if at_center > 0 else second.dispersions[0]
    assert (p - q)[near] == pytest.approx(at_center * base ** distances[near], rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n_components", [2, 3])
def test_concentric_pairs_are_closer_than_their_components(n_components):
    first, second = make_hard_mallows_pair(
        "concentric", n_samples=2, n_items=6, n_components=n_components, phi=0.01, random_state=12
    )
    X = all_rankings(6)
    between = np.abs(mixture_pmf(first, X) - mixture_pmf(second, X)).sum() / 2
    components = [
        mallows(first.centers[0], a).total_variation(mallows(first.centers[0], b)).value
        for a in first.dispersions
        for b in second.dispersions
    ]
    assert between < 0.1 * min(components)


def test_more_components_make_concentric_pairs_closer():
    X = all_rankings(6)

    def distance(n_components):
        pair = make_hard_mallows_pair("concentric", n_samples=1, n_items=6, n_components=n_components, random_state=13)
        return np.abs(np.subtract(*(mixture_pmf(side, X) for side in pair))).sum() / 2

    assert distance(3) < 0.3 * distance(2) < 0.09 * distance(1)


@pytest.mark.parametrize(("n_items", "n_components"), [(4, 1), (4, 2), (6, 4)])
def test_block_flips(n_items, n_components):
    n_blocks = int(np.log2(n_components)) + 1
    first, second = make_hard_mallows_pair(
        "block_flips", n_samples=3, n_items=n_items, n_components=n_components, center=range(n_items), random_state=14
    )
    assert first.dispersions == pytest.approx(1 - np.sqrt(n_components / n_items))
    every = np.vstack([first.centers, second.centers])
    assert len(np.unique(every, axis=0)) == 2 * n_components
    for side, parity in ((first, 0), (second, 1)):
        assert side.centers.shape == (n_components, n_items)
        for center in side.centers:
            flipped = (center != np.arange(n_items)).reshape(n_blocks, -1)
            assert (flipped.all(axis=1) == flipped.any(axis=1)).all()
            assert flipped.all(axis=1).sum() % 2 == parity
    # Any l - 1 items have the same joint distribution of positions in both mixtures; l items do not.
    X = all_rankings(n_items)
    p, q = mixture_pmf(first, X), mixture_pmf(second, X)
    for items in itertools.combinations(range(n_items), n_blocks - 1):
        cells = X[:, items] @ (n_items ** np.arange(n_blocks - 1)) if items else np.zeros(len(X), int)
        assert np.bincount(cells, p) == pytest.approx(np.bincount(cells, q), abs=1e-12)
    assert np.abs(p - q).sum() > 0.02


def test_theorem_settings_and_free_dispersion():
    for n_items, n_components in ((24, 4), (16, 2)):
        pair = make_hard_mallows_pair("block_flips", n_samples=4, n_items=n_items, n_components=n_components)
        assert all(side.X.shape == (4, n_items) for side in pair)
    first, _ = make_hard_mallows_pair("block_flips", n_items=8, phi=0.3, random_state=0)
    assert (first.dispersions == 0.3).all()


# ---------------------------------------------------------------- arguments
def test_bad_arguments():
    with pytest.raises(ValueError, match="top_k must be an integer between 1 and n_items = 5"):
        make_rankings(3, 5, top_k=6)
    with pytest.raises(ValueError, match="top_k must be"):
        make_rankings(3, 5, top_k=(3, 2))
    with pytest.raises(ValueError, match="phi must be a number in"):
        make_mallows_mixture(phi=[0.1, 0.2])
    with pytest.raises(ValueError, match="weights must be n_components = 3 positive"):
        make_mallows_mixture(weights=[1, 0, 1])
    with pytest.raises(ValueError, match="only 1 other centers"):
        make_mallows_mixture(n_items=6, centers="close")
    with pytest.raises(ValueError, match="one or two centers"):
        make_mallows_mixture(centers="reversed")
    with pytest.raises(ValueError, match="has shape"):
        make_mallows_mixture(n_items=3, centers=[[0, 1, 2]])
    with pytest.raises(ValueError, match="ties items"):
        make_rankings(n_items=2, center=[0, 0])
    with pytest.raises(ValueError, match="'unranked' parameter"):
        make_rankings(unranked="worst")
    with pytest.raises(ValueError, match="phi must be in"):
        make_hard_mallows_pair(n_components=10, phi=0.1)
    with pytest.raises(ValueError, match="power of 2"):
        make_hard_mallows_pair("block_flips", n_components=3)
    with pytest.raises(ValueError, match="multiple of 2 l = 6"):
        make_hard_mallows_pair("block_flips", n_items=20, n_components=4)


@pytest.mark.parametrize(
    "wrong",
    [{"mu": 0.01}, {"mu": 0.001, "n_items": 100}, {"mu": 0.001, "phi": 0.01}, {"mu": 0.001, "kind": "block_flips"}],
)
def test_the_conditions_of_lemma_9_are_checked(wrong):
    with pytest.raises(ValueError, match="mu"):
        make_hard_mallows_pair(**{"n_items": 160, "n_samples": 1, **wrong})


def test_mu_sets_the_dispersions_of_lemma_9():
    first, second = make_hard_mallows_pair(n_items=200, mu=0.005, n_samples=1, random_state=0)
    assert first.dispersions == pytest.approx([0.00005, 0.00015])
    assert second.dispersions == pytest.approx([0.0001, 0.0002])
