"""What users of other packages reported, tried here: the right value each time.

The number in each name is that of the report in the tracker of the package named.
"""

import threading

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau
from sklearn.manifold import Isomap

from skrank.datasets import dump_preflib, load_preflib, make_rankings, make_triplets
from skrank.exceptions import InsufficientDataWarning
from skrank.kernels import KendallKernel, PartialRankingKernel
from skrank.linear_model import BradleyTerry
from skrank.manifold import EuclideanOracle, LandmarkOrdinalEmbedding, StochasticTripletEmbedding
from skrank.metrics import pairwise_ranking_distances, procrustes_error
from skrank.mixture import MallowsMixture
from skrank.preprocessing import ranks_from_orderings
from skrank.stats import kemeny_consensus, mallows, mmd_test, mmd_test_from_kernel

NAN = np.nan


# ---------------------------------------------------------------- scipy
def test_scipy_7089_orderings_are_not_ranks():
    """Lists of items were given where ranks are meant, and a correlation of something else came out."""
    orderings = [["b", "c", "a", "d"], ["c", "a", "d", "b"]]
    with pytest.raises(ValueError, match="labels, but a rank matrix is expected.*ranks_from_orderings"):
        pairwise_ranking_distances(orderings)
    ranks = ranks_from_orderings(orderings, items=list("abcd"))
    # by hand: b comes before all others, then after them
    assert pairwise_ranking_distances(ranks)[0, 1] == 3
    assert KendallKernel()(ranks)[0, 1] == pytest.approx(kendalltau(*ranks).statistic) == pytest.approx(0)
    # the numbers of items taken for ranks would have told another story
    wrong = [[1, 2, 0, 3], [2, 0, 3, 1]]
    assert pairwise_ranking_distances(wrong)[0, 1] == 5


def test_scipy_456_a_ranking_that_ties_all_items():
    assert np.isnan(kendalltau([1, 1, 1, 1], [1, 2, 3, 4]).statistic)
    gram = KendallKernel()([[1, 1, 1, 1], [1, 2, 3, 4]])
    np.testing.assert_array_equal(gram, [[0, 0], [0, 1]])
    normalized = PartialRankingKernel("kendall", normalize=True).fit_transform([[1, 1, 1, 1], [1, 2, 3, 4]])
    np.testing.assert_array_equal(normalized, [[0, 0], [0, 1]])
    assert pairwise_ranking_distances([[1, 1, 1, 1]], [[1, 2, 3, 4]])[0, 0] == 3


# ---------------------------------------------------------------- scikit-learn
def test_sklearn_26999_near_duplicates():
    """Points that nearly coincide: numbers stay numbers, distances stay symmetric and not negative."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((80, 2))
    X = np.vstack([base, base + 1e-9 * rng.standard_normal(base.shape), base])
    model = LandmarkOrdinalEmbedding(oracle=EuclideanOracle(noise="logistic"), random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert procrustes_error(X, model.embedding_) < 0.02
    near = np.linalg.norm(model.embedding_[:80] - model.embedding_[80:160], axis=1)
    assert np.median(near) < 0.5 * np.median(np.linalg.norm(model.embedding_[:40] - model.embedding_[40:80], axis=1))
    # rankings all but one of which are alike, and all of which are
    rankings = np.tile(np.arange(30.0), (50, 1))
    rankings[0, [3, 4]] = rankings[0, [4, 3]]
    distances = PartialRankingKernel(nu=1e-9, output="distance").fit_transform(rankings)
    assert (distances >= 0).all()
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(distances[1:, 1:], 0)
    assert distances[0, 1] == pytest.approx(2e-9, rel=1e-4)


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_sklearn_33305_an_embedding_has_the_components_asked_for(n_components):
    triplets, _ = make_triplets(30, 3000, n_components=2, random_state=0)
    for init in ("spectral", "random"):
        model = StochasticTripletEmbedding(n_components, init=init, max_iter=3, tol=1e3, random_state=0).fit(triplets)
        assert model.embedding_.shape == (30, n_components)
    X = np.random.default_rng(0).standard_normal((60, n_components))
    landmark = LandmarkOrdinalEmbedding(n_components, oracle=EuclideanOracle(noise="logistic"), random_state=0)
    for refine in (None, "mle", "ste"):
        assert landmark.set_params(refine=refine, max_iter=5).fit_transform(X).shape == (60, n_components)
    assert landmark.transform(X[:4] + 1).shape == (4, n_components)
    # and what we hand to Isomap gives as many
    distances = pairwise_ranking_distances(make_rankings(12, 6, random_state=0))
    isomap = Isomap(n_neighbors=11, n_components=n_components, metric="precomputed")
    assert isomap.fit_transform(distances).shape == (12, n_components)


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sklearn_10196_the_seed_decides():
    """Fits with a seed are equal, whatever the global state of numpy; other seeds differ."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    rankings = make_rankings(80, 6, top_k=3, unranked="missing", random_state=0)
    full = make_rankings(80, 6, random_state=0)
    fits = {
        "landmarks": lambda seed: LandmarkOrdinalEmbedding(
            n_landmarks=8, refine=None, oracle=EuclideanOracle(noise="logistic"), random_state=seed
        ).fit_transform(X),
        "kernel": lambda seed: PartialRankingKernel(random_state=seed).fit_transform(rankings),
        "mixture": lambda seed: (
            MallowsMixture(2, init="random", polish=False, random_state=seed).fit(full).sample(20)[0]
        ),
        "mmd": lambda seed: mmd_test(full[:40], full[40:], n_permutations=20, random_state=seed).null_distribution,
        "rankings": lambda seed: make_rankings(30, 6, phi=0.5, random_state=seed),
    }
    for name, fit in fits.items():
        np.random.seed(1)  # noqa: NPY002  the state that must not matter
        first = fit(7)
        np.random.seed(2)  # noqa: NPY002
        np.testing.assert_array_equal(fit(7), first, err_msg=name)
        assert not np.array_equal(fit(8), first), name
        generators = fit(np.random.RandomState(3)), fit(np.random.RandomState(3))
        np.testing.assert_array_equal(*generators, err_msg=name)


# ---------------------------------------------------------------- R packages
def test_bradley_terry2_6_no_finite_optimum():
    """An item that won all its games has no finite score: an error without regularization, a warning with it."""
    games = [["a", "b"], ["a", "c"], ["b", "c"], ["c", "b"]]
    with pytest.raises(ValueError, match="no finite, unique maximum"):
        BradleyTerry(alpha=0).fit(games)
    with pytest.warns(InsufficientDataWarning, match=r"1 item won or lost all its comparisons \('a'"):
        model = BradleyTerry(alpha=1e-3).fit(games)
    assert model.scores_[0] > 3 + model.scores_[1]
    assert np.isfinite(model.scores_).all()
    assert (model.standard_errors() > 1).any()


# The rankings of the report: 0 is "not ranked"; the last row ranks a single item.
PLACKETT_LUCE_54 = np.array(
    [
        [1, 2, 3, 4, 5],
        [1, 2, 3, 5, 4],
        [1, 2, 4, 3, 5],
        [1, 2, 5, 3, 4],
        [1, 3, 2, 4, 5],
        [3, 1, 2, 5, 4],
        [0, 2, 1, 4, 5],
        [2, 4, 3, 1, 5],
        [0, 0, 0, 1, 5],
        [0, 0, 0, 0, 1],
    ],
    float,
)
COUNTS_54 = np.array([10, 1, 3, 2, 2, 1, 2, 1, 1, 1])


def test_plackett_luce_54_rows_in_any_order_with_ties_and_gaps():
    """Removing a row, or another order of rows, changed whether the fit could be summed up."""
    X = np.where(PLACKETT_LUCE_54 == 0, NAN, PLACKETT_LUCE_54)
    tied = X.copy()
    tied[6] = [5, 2, 1, 2, 5]  # and rows that tie items
    for rankings in (X, tied):
        expected = kemeny_consensus(rankings, sample_weight=COUNTS_54)
        gram = PartialRankingKernel("kendall").fit_transform(rankings)
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(rankings))
            again = kemeny_consensus(rankings[order], sample_weight=COUNTS_54[order])
            np.testing.assert_array_equal(again.ranks, expected.ranks)
            assert again.distance == expected.distance
            again = PartialRankingKernel("kendall").fit_transform(rankings[order])
            np.testing.assert_allclose(again, gram[np.ix_(order, order)], atol=1e-15)
    # each of the pairs is decided by a clear majority, which one can count
    np.testing.assert_array_equal(kemeny_consensus(X, sample_weight=COUNTS_54).ranks, [0, 1, 2, 3, 4])
    # the row that ranks one item says nothing, and is not an error
    np.testing.assert_array_equal(
        kemeny_consensus(X[:-1], sample_weight=COUNTS_54[:-1]).ranks, kemeny_consensus(X, sample_weight=COUNTS_54).ranks
    )
    assert KendallKernel()(X)[-1, -1] < KendallKernel()(X)[0, 0]


def test_bayes_mallows_120_weights_within_clusters():
    """With more than one cluster, repeated rankings were not counted in theirs, and the fits diverged."""
    first, second = np.arange(6), np.arange(6)[::-1]
    parts = [mallows(first, 0.3).rvs(300, random_state=0), mallows(second, 0.5).rvs(100, random_state=1)]
    X = np.concatenate(parts)
    distinct, counts = np.unique(X, axis=0, return_counts=True)
    repeated = MallowsMixture(2, random_state=0).fit(X)
    weighted = MallowsMixture(2, random_state=0).fit(distinct, sample_weight=counts)
    np.testing.assert_array_equal(weighted.centers_, repeated.centers_)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-12)
    np.testing.assert_allclose(weighted.dispersions_, repeated.dispersions_, rtol=1e-12)
    np.testing.assert_array_equal(repeated.centers_, [first, second])
    np.testing.assert_allclose(repeated.weights_, [0.75, 0.25], atol=3 * np.sqrt(0.75 * 0.25 / 400))
    np.testing.assert_allclose(repeated.dispersions_, [0.3, 0.5], atol=0.06)


def test_bayes_mallows_385_one_ranking_is_a_matrix_of_one_row():
    for use in (MallowsMixture().fit, PartialRankingKernel().fit, kemeny_consensus, pairwise_ranking_distances):
        with pytest.raises(ValueError, match="2D array|Expected 2D"):
            use([0, 1, 2, 3])
    with pytest.warns(InsufficientDataWarning, match="not determined"):
        model = MallowsMixture().fit([[0, 1, 2, 3]])
    np.testing.assert_array_equal(model.centers_, [[0, 1, 2, 3]])
    assert mallows([0, 1, 2, 3], 0.5).rvs(random_state=0).shape == (4,)


# ---------------------------------------------------------------- choix
def test_choix_7_partial_lists():
    """The report's three sources, of four, three and two players; what is missing is not last."""
    sources = [["a", "b", "c", "d"], ["a", "b", "d"], ["b", "c"]]
    missing = ranks_from_orderings(sources, items=list("abcd"), unranked="missing")
    np.testing.assert_array_equal(missing, [[0, 1, 2, 3], [0, 1, NAN, 2], [NAN, 0, 1, NAN]])
    consensus = kemeny_consensus(pd.DataFrame(missing, columns=list("abcd")))
    assert consensus.ordering.tolist() == ["a", "b", "c", "d"]
    assert consensus.distance == 0
    last = kemeny_consensus(ranks_from_orderings(sources, items=list("abcd"), unranked="last"))
    assert last.distance == 3  # now c comes last in the second, a behind b and c in the third
    with pytest.raises(ValueError, match="unranked='last'.*or unranked='missing'"):
        ranks_from_orderings(sources, items=list("abcd"))


def test_choix_23_those_who_did_not_finish_are_tied():
    """item0 > item1 > item2 > {item3, item4, item5}."""
    race = [[1, 2, 3, 4, 4, 4]]
    np.testing.assert_array_equal(
        ranks_from_orderings([[0, 1, 2]], items=range(6), unranked="last"), [[0, 1, 2, 3, 3, 3]]
    )
    model = mallows(range(6), 0.5)
    finishers = [
        [0, 1, 2, *(3 + np.argsort(order))]
        for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
    ]
    assert model.pmf(race)[0] == pytest.approx(model.pmf(finishers).sum(), rel=1e-12)
    tied = KendallKernel()(race, finishers)
    np.testing.assert_allclose(tied, (15 - 3) / 15)


# ---------------------------------------------------------------- files
@pytest.mark.parametrize(
    ("kind", "opened_as"),
    [
        (kind, other)
        for kind in ("soc", "soi", "toc", "toi", "cat")
        for other in ("soc", "soi", "toc", "toi", "cat")
        if kind != other
    ],
)
def test_preflibtools_4_a_file_of_one_kind_opened_as_another(tmp_path, kind, opened_as):
    X = {"soc": [[0, 1, 2]], "soi": [[0, 1, NAN]], "toc": [[0, 0, 1]], "toi": [[0, 0, NAN]], "cat": [[0, 1, 1]]}[kind]
    dump_preflib(tmp_path / f"votes.{kind}", X)
    (tmp_path / f"votes.{kind}").rename(tmp_path / f"votes.{opened_as}")
    message = f"line 2: DATA TYPE is '{kind}', but the file's name ends in '.{opened_as}'"
    with pytest.raises(ValueError, match=message):
        load_preflib(tmp_path / f"votes.{opened_as}", unranked="missing")
    # a name that says nothing is no contradiction
    (tmp_path / f"votes.{opened_as}").rename(tmp_path / "votes.txt")
    np.testing.assert_array_equal(load_preflib(tmp_path / "votes.txt", unranked="missing").data, X)


# ---------------------------------------------------------------- tests of two samples
def test_shogun_5133_the_unbiased_mmd_does_not_look_at_the_diagonal():
    X, Y = make_rankings(20, 5, phi=0.5, random_state=0), make_rankings(15, 5, random_state=1)
    gram = PartialRankingKernel("mallows", nu=0.3).fit_transform(np.vstack([X, Y]))
    labels = np.repeat([0, 1], [20, 15])
    m, n = 20, 15
    inner = gram.copy()
    np.fill_diagonal(inner, 0)
    expected = (
        inner[:m, :m].sum() / (m * (m - 1)) + inner[m:, m:].sum() / (n * (n - 1)) - 2 * inner[:m, m:].sum() / (m * n)
    )
    for diagonal in (1.0, 0.0, 1e6, -3.0, NAN):
        np.fill_diagonal(gram, diagonal)
        result = mmd_test_from_kernel(gram, labels, n_permutations=99, random_state=0)
        assert result.statistic == pytest.approx(expected, rel=1e-9)
        assert result.pvalue == mmd_test_from_kernel(inner, labels, n_permutations=99, random_state=0).pvalue


def test_alibi_detect_183_permutations_reuse_the_kernel_matrix():
    class Counting(KendallKernel):
        calls, lock = 0, threading.Lock()

        def _pairwise(self, ranks, other_ranks=None):
            with Counting.lock:
                Counting.calls += 1
            return super()._pairwise(ranks, other_ranks)

    X, Y = make_rankings(30, 5, random_state=0), make_rankings(30, 5, random_state=1)
    calls = []
    for n_permutations in (1, 1000):
        Counting.calls = 0
        mmd_test(X, Y, Counting(), n_permutations=n_permutations, random_state=0)
        calls.append(Counting.calls)
    assert calls[0] == calls[1] > 0
