"""Mixtures of lists of few of many items: the engine against dense tables, and fits of sparse matrices."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from skrank import MallowsMixture
from skrank._sparse_rankings import check_sparse_rankings, to_ranks
from skrank.exceptions import InsufficientDataWarning
from skrank.mixture import SeparatedMallowsMixture, _base, _em, _lists
from skrank.mixture._em import expectation, maximization
from skrank.mixture._lists import Catalog, ListEM, ListTable, lists_order_something
from skrank.mixture._model import Mixture, description_length
from skrank.mixture._voters import make_table, orders_something

UNRANKED = pytest.mark.parametrize("unranked", ["last", "missing"])
MANY = 3000


def random_lists(rng, n_lists=80, n_items=9):
    listed = rng.random((n_lists, n_items)) < 0.4
    ranks = rng.integers(0, 3, listed.shape)  # zeros are ranks, equal ones ties
    return csr_array((ranks[listed], np.nonzero(listed)), shape=listed.shape)


def two_kinds_of_lists(unranked, n_lists=300, n_items=MANY, seed=0):
    """Lists of 10 items about two centers: of their own first items, or of shared items in opposite orders."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n_lists)
    items = np.array([rng.permutation(n_items) for _ in range(2)])
    chosen = np.array([np.sort(rng.choice(150, 10, replace=False, p=np.arange(150, 0, -1) / 11325)) for _ in kind])
    order = (chosen + rng.normal(0, 15, chosen.shape)).argsort(axis=1).argsort(axis=1)
    if unranked == "missing":
        items[1] = items[0]
        order[kind == 1] = 9 - order[kind == 1]
    columns = items[kind[:, None], chosen]
    return csr_array((order.ravel(), columns.ravel(), np.arange(n_lists + 1) * 10), shape=(n_lists, n_items)), kind


def as_dense(X, unranked):
    ranks = to_ranks(check_sparse_rankings(X, unranked))
    return np.where(ranks < 0, np.nan, ranks)


def agreement(labels, kind):
    return max((labels == kind).mean(), (labels != kind).mean())


# ---------------------------------------------------------------- the engine
@UNRANKED
def test_expectation_equals_that_of_dense_rankings(unranked):
    rng = np.random.default_rng(0)
    lists = check_sparse_rankings(random_lists(rng), unranked)
    dense, inverse = make_table(to_ranks(lists))
    table = ListTable(lists)
    mixture = Mixture(rng.random((2, 9)).argsort(axis=1), np.array([0.5, 0.8]), np.array([0.4, 0.6]))
    expected, of_lists = (expectation(data, mixture, with_log_density=True) for data in (dense, table))
    np.testing.assert_allclose(of_lists[0], expected[0][:, inverse], rtol=1e-5)
    np.testing.assert_allclose(of_lists[2], expected[2][inverse], rtol=1e-12)
    assert of_lists[1] == pytest.approx(expected[1])
    np.testing.assert_array_equal(table.distances(mixture.centers), dense.distances(mixture.centers)[:, inverse])
    np.testing.assert_array_equal(lists_order_something(lists), orders_something(to_ranks(lists)))


@UNRANKED
def test_maximization_is_that_of_dense_rankings(unranked, monkeypatch):
    for module in (_em, _lists):  # a full pseudo-ranking there, a list here
        monkeypatch.setattr(module, "PSEUDO_RANKINGS", 0.0)
    rng = np.random.default_rng(1)
    lists = check_sparse_rankings(random_lists(rng), unranked)
    dense, inverse = make_table(to_ranks(lists))
    shares = rng.random((2, dense.n_rows))
    row_weights = (shares * dense.weights).astype(np.float32)
    centers, dispersions, _ = maximization(dense, row_weights)
    em = ListEM(ListTable(lists))
    mixture = em.maximized(shares[:, inverse], None, thorough=True)
    of_lists = (row_weights * dense.distances(mixture.centers)).sum(axis=1)
    np.testing.assert_allclose(of_lists, (row_weights * dense.distances(centers)).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(mixture.dispersions, dispersions, rtol=1e-5)
    np.testing.assert_allclose(mixture.weights, row_weights.sum(axis=1) / row_weights.sum(), rtol=1e-6)


@UNRANKED
def test_em_never_lowers_its_bound_and_the_dispersion_is_its_maximum(unranked):
    X, kind = two_kinds_of_lists(unranked, 200)
    table = ListTable(check_sparse_rankings(X, unranked))
    em = ListEM(table)
    responsibilities = np.where(kind == np.arange(2)[:, None], 0.8, 0.2)

    def bound(mixture):
        return expectation(table, mixture)[1] + em.pseudo_log_likelihood(mixture.dispersions) / table.total_weight

    mixture, bounds = em.maximized(responsibilities, None, True), []
    for _ in range(6):
        bounds.append(bound(mixture))
        mixture = em.maximized(expectation(table, mixture)[0], mixture, False)
    assert (np.diff(bounds) > -1e-9).all()
    best = em.run(responsibilities, 150, 1e-9)
    assert best.lower_bound == pytest.approx(bound(best))
    for factor in (0.999, 1.001):
        other = Mixture(best.centers, best.dispersions**factor, best.weights)
        assert bound(other) < best.lower_bound + 1e-9


# ---------------------------------------------------------------- fits
@UNRANKED
@pytest.mark.parametrize("n_components", [2, "auto"])
@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
@pytest.mark.filterwarnings("ignore::skrank.exceptions.ComponentLimitWarning")
def test_few_items_are_fitted_as_dense_rankings(unranked, n_components):
    X, _ = two_kinds_of_lists(unranked, 200, n_items=160)
    X = X[:, np.argsort(-np.bincount(X.indices, minlength=160))[:12]]
    X = X[np.diff(X.indptr) > 1]
    options = {"n_components": n_components, "max_components": 2, "criterion": "mdl", "random_state": 0}
    weights = np.arange(X.shape[0]) % 3 + 1
    dense = as_dense(X, unranked)
    sparse = MallowsMixture(unranked=unranked, **options).fit(X, sample_weight=weights)
    expected = MallowsMixture(**options).fit(dense, sample_weight=weights)
    np.testing.assert_array_equal(sparse.centers_, expected.centers_)
    np.testing.assert_array_equal(sparse.dispersions_, expected.dispersions_)
    assert sparse.missing_ == expected.missing_
    for method in ("predict", "predict_proba", "score_samples", "score", "bic", "predict_ranking"):
        np.testing.assert_array_equal(getattr(sparse, method)(X), getattr(expected, method)(dense))
    assert sparse.sample(5)[0].shape == (5, 12)


@UNRANKED
@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_lists_of_many_items_find_their_kinds(unranked):
    X, kind = two_kinds_of_lists(unranked, 200)
    weights = np.r_[np.zeros(20), np.ones(180)]
    mixture = MallowsMixture(2, unranked=unranked, random_state=0).fit(X, sample_weight=weights)
    assert agreement(mixture.predict(X), kind) > 0.95
    assert mixture.centers_.shape == (2, MANY)
    assert (np.sort(mixture.centers_, axis=1) == np.arange(MANY)).all()
    assert mixture.converged_
    assert mixture.missing_ == "subset"
    assert len(mixture.path_) == 1
    # Items that nobody lists are last, by column.
    listed = np.zeros(MANY, bool)
    listed[X[20:].indices] = True
    assert (np.diff(mixture.centers_[:, ~listed], axis=1) == 1).all()
    assert mixture.centers_[:, listed].max() < mixture.centers_[:, ~listed].min()
    # The same as the dense matrix says of the same mixture.
    dense = as_dense(X[:40], unranked)
    np.testing.assert_allclose(mixture.predict_proba(X[:40]), mixture.predict_proba(dense), atol=1e-5)
    np.testing.assert_allclose(mixture.score_samples(X[:40]), mixture.score_samples(dense), rtol=1e-6)
    table = ListTable(check_sparse_rankings(X[20:], unranked))
    fitted = mixture._mixture(log_likelihood=expectation(table, mixture._mixture())[1])
    assert mixture.description_length_ == pytest.approx(description_length(table, fitted))


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
@pytest.mark.filterwarnings("ignore::skrank.exceptions.ComponentLimitWarning")
def test_the_number_of_kinds_can_be_open():
    X, kind = two_kinds_of_lists("last", 200)
    mixture = MallowsMixture("auto", criterion="mdl", max_components=2, unranked="last", random_state=0).fit(X)
    assert mixture.n_components_ == 2
    assert agreement(mixture.predict(X), kind) > 0.95


@UNRANKED
@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_a_fit_by_lists_is_near_that_of_the_dense_matrix(unranked, monkeypatch):
    X, _ = two_kinds_of_lists(unranked, 150, n_items=160)
    X = X[:, np.argsort(-np.bincount(X.indices, minlength=160))[:16]]
    X = X[np.diff(X.indptr) > 1]
    dense = MallowsMixture(2, unranked=unranked, missing="subset", random_state=0).fit(X)
    monkeypatch.setattr(_base, "DENSE_ITEMS", 10)
    by_lists = MallowsMixture(2, unranked=unranked, missing="subset", random_state=0).fit(X)
    assert agreement(by_lists.predict(X), dense.predict(X)) > 0.98
    assert by_lists.score(X) > dense.score(X) - 0.02


def test_a_draw_of_the_lists_is_searched():
    lists = check_sparse_rankings(two_kinds_of_lists("last")[0], "last")
    catalog = Catalog(lists, np.ones(300), 100, np.random.default_rng(0))
    assert catalog.drawn.shape == (100, 100)
    assert (np.bincount(lists.ranks.indices, minlength=MANY)[catalog.searched] >= 1).all()


# ---------------------------------------------------------------- what is refused
@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_what_is_refused_names_the_remedy():
    X, _ = two_kinds_of_lists("missing")
    with pytest.raises(TypeError, match="unranked='last'"):
        MallowsMixture(2).fit(X)
    with pytest.raises(ValueError, match="groups is not supported.*at most 500"):
        MallowsMixture(2, unranked="missing").fit(X, groups=np.arange(300) // 2)
    with pytest.raises(ValueError, match="missing='marginal' needs"):
        MallowsMixture(2, unranked="missing", missing="marginal", random_state=0).fit(X)
    with pytest.raises(ValueError, match="need complete rankings"):
        SeparatedMallowsMixture(2, unranked="missing", random_state=0).fit(X)
    with pytest.raises(ValueError, match="init holds centers.*Name a start instead"):
        MallowsMixture(1, unranked="last", init=np.arange(MANY)[None]).fit(X)
    empty = csr_array((100, MANY))
    with pytest.raises(ValueError, match="orders no two items"):
        MallowsMixture(2, unranked="last").fit(empty)
    wide = csr_array(([0, 1, 0, 1], ([0, 0, 9999, 9999], [1, 2, 2, 1])), shape=(10_000, 100_000))
    mixture = MallowsMixture(1, unranked="last", random_state=0)
    with pytest.warns(InsufficientDataWarning, match="9998 of 10000 voters order no two items"):
        mixture.fit(wide)
    with pytest.raises(ValueError, match="leave out columns"):
        mixture.bootstrap(wide)
