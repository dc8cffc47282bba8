"""The automatic design: how its queries are divided, that none is repeated, and that they inform more."""

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank.manifold import CountingOracle, EuclideanOracle, LandmarkOrdinalEmbedding
from skrank.manifold._random_triplets import distinct_triplets
from skrank.manifold._settings import draw_near_shifts, n_queries_there_are, plan_stages
from skrank.manifold._stages import order_by_distance
from skrank.metrics import procrustes_error


@pytest.mark.parametrize("n_items", [30, 60, 300, 10**4, 10**6])
@pytest.mark.parametrize("n_comparisons", ["auto", 10**6])
def test_the_plan_keeps_to_the_budget(n_items, n_comparisons):
    if n_comparisons != "auto" and n_comparisons < 2 * n_items:
        with pytest.raises(ValueError, match="less than the 2000000 coordinates of 1000000 items"):
            plan_stages(n_items, 20, n_comparisons, 2, False)
        return
    plan = plan_stages(n_items, 20, n_comparisons, 2, False)
    total = 50 * n_items * np.log(n_items) if n_comparisons == "auto" else n_comparisons
    total = min(total, n_queries_there_are(n_items))
    ranking = plan.n_shifts * 20 * (n_items - 1)
    assert plan.n_uniform + plan.n_of_sample + ranking + plan.n_sorted == pytest.approx(total, abs=1)
    assert (plan.n_sorted == 0) == (total < 100 * n_items or total > 0.05 * n_queries_there_are(n_items))
    assert (plan.n_shifts > 0) == (plan.n_of_sample > 0) == (n_items == 10**6)


def test_near_shifts_keep_to_the_budget_and_are_near():
    for n_positions, n_queries in ((999, 12_000), (59, 430), (40, 10**6), (10**5, 7 * 10**5)):
        shifts = draw_near_shifts(n_positions, n_queries, np.random.RandomState(0))
        assert len(set(shifts.tolist())) == len(shifts) > 0
        asked = (n_positions - shifts).sum()
        assert asked <= n_queries
        if n_queries < n_positions * (n_positions - 1) / 2:
            assert asked > 0.7 * n_queries
            assert shifts.max() <= max(2 * n_queries / n_positions * 1.1 + 1, n_positions / 10)
        else:
            np.testing.assert_array_equal(shifts, np.arange(1, n_positions))


@pytest.mark.parametrize("n_triplets", [50, 400, 420])
def test_distinct_triplets_are_uniform_and_distinct(n_triplets):
    # chi-squared at level 1e-4 over the queries that 2000 draws hold; all of them where as many are asked
    counts = np.zeros((8, 8, 8))
    for seed in range(40):
        i, j, k = distinct_triplets(8, min(n_triplets, 168), np.random.RandomState(seed))
        assert np.all((i != j) & (i != k) & (j != k))
        codes = {(a, *sorted((b, c))) for a, b, c in zip(i.tolist(), j.tolist(), k.tolist(), strict=True)}
        assert len(codes) == len(i)
        np.add.at(counts, (i, j, k), 1)
    there = counts.sum(axis=(1, 2))
    assert chisquare(there).pvalue > 1e-4
    assert np.count_nonzero(counts) == 336


@pytest.mark.parametrize(
    ("name", "cloud", "bound"),
    [
        # mean errors over 4 seeds were .0033, .0106, .0071, .0014 and .015; a ranking of all items gives .006, .09,
        # .015, .3 and .026
        ("round", lambda rng: rng.standard_normal((1000, 2)), 0.0045),
        ("3 : 1", lambda rng: rng.standard_normal((1000, 2)) * [3, 1], 0.017),
        ("1 : 0.4", lambda rng: rng.standard_normal((1000, 2)) * [1, 0.4], 0.011),
        ("Student's t", lambda rng: rng.standard_t(3, (1000, 2)), 0.01),
        ("five dimensions", lambda rng: rng.standard_normal((1000, 5)), 0.02),
    ],
)
def test_errors_on_clouds_of_every_shape(name, cloud, bound):
    X = cloud(np.random.default_rng(0))
    oracle = CountingOracle(EuclideanOracle(noise="logistic"))
    model = LandmarkOrdinalEmbedding(X.shape[1], oracle=oracle, random_state=0).fit(X)
    assert procrustes_error(X, model.embedding_) < bound
    assert model.n_queries_ == oracle.n_queries <= 50 * 1000 * np.log(1000)
    assert 0.9 < model.residual_ < 1.1


@pytest.mark.parametrize(("flip_rate", "bound"), [(0.1, 0.002), (0.2, 0.005)])
def test_lapses_are_estimated(flip_rate, bound):
    X = np.random.default_rng(0).standard_normal((500, 2))
    oracle = EuclideanOracle(noise="flip", flip_rate=flip_rate)
    model = LandmarkOrdinalEmbedding(oracle=oracle, lapse="auto", random_state=0).fit(X)
    assert procrustes_error(X, model.embedding_) < bound
    assert model.lapse_ == pytest.approx(flip_rate, abs=0.03)


def test_few_responses_are_all_about_uniform_queries():
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = LandmarkOrdinalEmbedding(oracle=EuclideanOracle(noise="logistic"), n_comparisons=4000, random_state=0).fit(
        X
    )
    assert model.n_queries_ == 4000
    assert procrustes_error(X, model.embedding_) < 0.06


@pytest.mark.parametrize("most_for_prior", [10**7, 1000])
def test_the_first_stage_may_be_a_ranking_and_descents_may_be_without_values(monkeypatch, most_for_prior):
    monkeypatch.setattr("skrank.manifold._settings._MOST_UNIFORM", 1000)
    monkeypatch.setattr("skrank.manifold._settings.SAMPLE_SIZE", 300)
    monkeypatch.setattr("skrank.manifold._stages.SAMPLE_SIZE", 300)
    monkeypatch.setattr("skrank.manifold._joint_fit._MOST_FOR_PRIOR", most_for_prior)
    X = np.random.default_rng(0).standard_normal((1000, 2))
    oracle = CountingOracle(EuclideanOracle(noise="logistic"))
    model, threaded = (
        LandmarkOrdinalEmbedding(oracle=oracle, random_state=0, n_jobs=n_jobs).fit(X) for n_jobs in (None, 2)
    )
    assert procrustes_error(X, model.embedding_) < 0.006
    assert 2 * model.n_queries_ == oracle.n_queries <= 2 * 50 * 1000 * np.log(1000)
    np.testing.assert_array_equal(threaded.embedding_, model.embedding_)


def test_items_are_ordered_by_distance_and_ties_by_index():
    points = np.array([[0.0, 0], [3, 0], [-1, 0], [1, 0], [0, 0]])
    assert order_by_distance(points, 0).tolist() == [4, 2, 3, 1]
