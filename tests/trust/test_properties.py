"""Properties that hold for whatever rankings: what is equal stays equal, and numbers are numbers."""

import warnings

import numpy as np
import pytest
from cases import CASES
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import HANDED_OVER, LEVELS, PHIS, SEEDS, rank_matrices, rewritten

from skrank.exceptions import InsufficientDataWarning
from skrank.kernels import KendallKernel, MallowsKernel, SpearmanKernel
from skrank.metrics import pairwise_ranking_distances
from skrank.mixture import MallowsMixture, SeparatedMallowsMixture
from skrank.stats import borda_consensus, kemeny_consensus, mallows, pairwise_majority

pytestmark = [
    # What the data do not tell is said in warnings: most of these matrices tell little.
    pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning"),
    pytest.mark.filterwarnings("ignore::skrank.exceptions.SeparationWarning"),
    pytest.mark.filterwarnings("ignore:The median distance between the rankings is 0:UserWarning"),
]


# There are many cases, and each example is several fits.
FEWER = settings(max_examples=settings().max_examples // 5)


def drawn(case, data):
    X = data.draw(
        rank_matrices(kind=case.kind, max_items=case.max_items, min_items=case.min_items, min_rows=case.min_rows)
    )
    return X, np.random.default_rng(data.draw(SEEDS))


def value(case, X):
    before = np.array(X, copy=True)
    result = np.asarray(case.function(X))
    np.testing.assert_array_equal(X, before)
    return result


@pytest.mark.parametrize("name", CASES)
@FEWER
@given(data=st.data())
def test_only_the_order_within_a_row_matters(name, data):
    case = CASES[name]
    X, rng = drawn(case, data)
    expected = value(case, X)
    Y = rewritten(X, data.draw(st.sampled_from(sorted(LEVELS))), rng)
    np.testing.assert_array_equal(value(case, Y), expected)
    rows = rng.permutation(len(X))
    if name.startswith("mmd"):  # its two samples are the first rows and all rows
        rows[:] = np.append(rng.permutation(len(X) // 2), np.arange(len(X) // 2, len(X)))
    by_rows = {"gram": np.ix_(rows, rows), "rows": rows, "columns": rows}.get(case.result, ...)
    np.testing.assert_allclose(value(case, X[rows]), expected[by_rows], 1e-9, 1e-12)
    if not case.items_matter:
        items = rng.permutation(X.shape[1])
        by_items = {"items": items, "pairs": np.ix_(items, items), "columns": (slice(None), items)}
        np.testing.assert_allclose(value(case, X[:, items]), expected[by_items.get(case.result, ...)], 1e-9, 1e-9)


@pytest.mark.parametrize("how", HANDED_OVER)
@pytest.mark.parametrize("name", CASES)
def test_the_way_a_matrix_is_handed_over_is_no_matter(name, how, tmp_path):
    case = CASES[name]
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(5.0), (8, 1)), axis=1)
    if case.kind != "full":
        X[::3] = np.minimum(X[::3], 2)
    if case.kind == "any":
        X[1::3, 0] = np.nan
    handed = HANDED_OVER[how](X, tmp_path)
    np.testing.assert_array_equal(np.asarray(case.function(handed)), case.function(X))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.result == "gram"])
@FEWER
@given(data=st.data())
def test_matrices_are_symmetric_finite_and_what_they_say(name, data):
    case = CASES[name]
    X, _ = drawn(case, data)
    matrix = value(case, X)
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12)
    if "distance" in name:
        assert (matrix >= 0).all()
    elif "Induced" not in name:
        eigenvalues = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        assert eigenvalues[0] >= -1e-12 * len(X) * max(eigenvalues[-1], 1e-300)
        diagonal = matrix.diagonal()
        assert (np.abs(matrix) <= np.sqrt(np.multiply.outer(diagonal, diagonal)) * (1 + 1e-9) + 1e-12).all()


WEIGHTED = {
    "kemeny_consensus": ("any", lambda X, w: (r := kemeny_consensus(X, sample_weight=w)) and [r.distance, *r.ranks]),
    "borda_consensus": ("any", lambda X, w: borda_consensus(X, sample_weight=w).scores),
    "pairwise_majority": ("any", lambda X, w: pairwise_majority(X, sample_weight=w).wins),
    "mallows.fit": ("ties", lambda X, w: (r := mallows.fit(X, sample_weight=w)) and [r.phi, *r.center]),
    "MallowsMixture": (
        "ties",
        lambda X, w: (
            (r := MallowsMixture(random_state=0).fit(X, sample_weight=w)) and [*r.dispersions_, r.lower_bound_]
        ),
    ),
    "SeparatedMallowsMixture": (
        "ties",
        lambda X, w: (
            (r := SeparatedMallowsMixture(random_state=0).fit(X, sample_weight=w)) and [*r.dispersions_, r.lower_bound_]
        ),
    ),
}


@pytest.mark.parametrize("name", WEIGHTED)
@FEWER
@given(data=st.data())
def test_weights_are_repeated_rows(name, data):
    kind, function = WEIGHTED[name]
    X = data.draw(rank_matrices(kind=kind, max_items=8, min_items=2))
    rng = np.random.default_rng(data.draw(SEEDS))
    counts = rng.integers(0, 4, len(X))
    counts[rng.integers(len(X))] = 2
    expected = function(np.repeat(X, counts, axis=0), None)
    np.testing.assert_allclose(function(X, counts), expected, rtol=1e-9, atol=1e-12)
    order = rng.permutation(len(X))
    np.testing.assert_allclose(function(X[order], counts[order].astype(float)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", WEIGHTED)
@FEWER
@given(data=st.data())
def test_one_huge_weight_decides_and_huge_units_change_nothing(name, data):
    kind, function = WEIGHTED[name]
    X = data.draw(rank_matrices(kind=kind, max_items=8, min_items=2))
    weights = np.ones(len(X))
    weights[0] = 1e14
    assert np.isfinite(np.nan_to_num(function(X, weights), nan=0.0)).all()
    if "consensus" in name or "majority" in name:
        np.testing.assert_allclose(
            np.asarray(function(X, np.full(len(X), 2.0**40)))[:1],
            np.asarray(function(X, None))[:1] * 2.0**40,
            rtol=1e-12,
        )


@FEWER
@given(data=st.data())
def test_kernels_and_distances_tell_the_same(data):
    X = data.draw(rank_matrices(kind="full", min_items=2))
    n_items = X.shape[1]
    distances = pairwise_ranking_distances(X)
    n_pairs = n_items * (n_items - 1) / 2
    np.testing.assert_array_equal(distances, np.rint(distances))
    np.testing.assert_allclose(KendallKernel()(X), 1 - 2 * distances / n_pairs, atol=1e-12)
    np.testing.assert_allclose(MallowsKernel(0.05)(X), np.exp(-0.05 * distances), rtol=1e-9)
    spearman = pairwise_ranking_distances(X, metric="spearman")
    np.testing.assert_allclose(SpearmanKernel()(X), 1 - 6 * spearman / (n_items**3 - n_items), atol=1e-9)


@FEWER
@given(data=st.data())
def test_the_mallows_distribution_is_one_at_every_dispersion(data):
    phi = data.draw(st.sampled_from(PHIS))
    n_items = data.draw(st.sampled_from([1, 2, 30, 200]))
    rng = np.random.default_rng(data.draw(SEEDS))
    center = rng.permutation(n_items)
    model = mallows(center, phi)
    drawn = model.rvs(3, random_state=data.draw(st.integers(0, 99)))
    np.testing.assert_array_equal(np.sort(drawn, axis=1), np.tile(np.arange(n_items), (3, 1)))
    assert (model.logpmf(drawn) <= 1e-9).all()
    assert model.logpmf([center])[0] == pytest.approx(-model.log_partition(), abs=1e-9)
    assert np.isfinite(model.logpmf(drawn)).all()
    assert 0 <= model.mean_distance() <= n_items * (n_items - 1) / 4 + 1e-6
    assert -1e-9 <= model.entropy() <= np.log(np.arange(1, n_items + 1)).sum() * (1 + 1e-12) + 1e-9
    # a ranking that says nothing is certain; the buckets of a top-1 list share the probability
    assert model.logpmf(np.zeros((1, n_items)))[0] == pytest.approx(0, abs=1e-9)
    first = np.ones((n_items, n_items)) - np.eye(n_items)
    assert np.exp(model.logpmf(first)).sum() == pytest.approx(1, rel=1e-9)


def test_a_mixture_says_where_it_knows_nothing():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MallowsMixture(random_state=0).fit(np.zeros((5, 3)))
    assert any(issubclass(warning.category, InsufficientDataWarning) for warning in caught)
    np.testing.assert_allclose(model.score_samples(np.zeros((1, 3))), 0, atol=1e-12)
