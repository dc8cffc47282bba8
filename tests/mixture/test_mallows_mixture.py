"""MallowsMixture as an estimator: scikit-learn's contract, recovery, ties, weights, warnings, and what broke peers."""

import pickle
import tracemalloc
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank._mallows import sample_mallows
from skrank.exceptions import InsufficientDataWarning
from skrank.mixture import MallowsMixture
from skrank.mixture._search import _search


@parametrize_with_checks([MallowsMixture(max_iter=20)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def draw(centers, dispersions, counts, seed):
    """Rankings of a mixture, component by component."""
    rng = np.random.default_rng(seed)
    rows = [
        sample_mallows(np.tile(center, (count, 1)), -np.log(phi), rng)
        for center, phi, count in zip(centers, dispersions, counts, strict=True)
    ]
    return np.concatenate(rows)


def random_centers(n_items, k, seed):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n_items) for _ in range(k)])


def close_centers(n_items, k, seed):
    """The first, and others with three disjoint pairs of neighbors exchanged."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_items)
    orders = [order]
    for _ in range(k - 1):
        swapped = order.copy()
        for t in 2 * rng.choice(n_items // 2, 3, replace=False):
            swapped[[t, t + 1]] = order[[t + 1, t]]
        orders.append(swapped)
    return np.argsort(orders, axis=1)


def same_rows(first, second):
    return sorted(map(tuple, first)) == sorted(map(tuple, second))


@pytest.fixture
def two_groups():
    centers = random_centers(8, 2, 0)
    return draw(centers, [0.4, 0.6], [300, 200], 1), centers


def fit_silently(estimator, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*args, **kwargs)


def fit_without_warning(estimator, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return estimator.fit(*args, **kwargs)


# ---------------------------------------------------------------- recovery
@pytest.mark.parametrize("init", ["peel", "kmeans", "random", ("peel", "kmeans")])
def test_recovers_components(two_groups, init):
    X, centers = two_groups
    mixture = fit_without_warning(MallowsMixture(2, init=init, random_state=0), X)
    np.testing.assert_array_equal(mixture.centers_, centers)
    # Three standard errors of weights, and of dispersions at 300 and 200 rankings of 8 items.
    np.testing.assert_allclose(mixture.weights_, [0.6, 0.4], atol=3 * np.sqrt(0.24 / 500))
    np.testing.assert_allclose(mixture.dispersions_, [0.4, 0.6], atol=0.06)
    labels = mixture.predict(X)
    assert np.mean(labels == np.repeat([0, 1], [300, 200])) > 0.95


def test_recovers_given_and_close_and_concentric_components():
    centers = close_centers(12, 2, 2)
    X = draw(centers, [0.4, 0.4], [1500, 700], 3)
    found = fit_without_warning(MallowsMixture(2, random_state=0), X)
    np.testing.assert_array_equal(found.centers_, centers)
    given = fit_without_warning(MallowsMixture(2, init=2.5 * centers), X)
    assert given.lower_bound_ == pytest.approx(found.lower_bound_, abs=1e-6)

    center = random_centers(20, 1, 4)
    X = draw(np.tile(center, (2, 1)), [0.2, 0.7], [600, 400], 5)
    found = fit_without_warning(MallowsMixture(2, random_state=0), X)
    np.testing.assert_array_equal(found.centers_, np.tile(center, (2, 1)))
    np.testing.assert_allclose(found.dispersions_, [0.2, 0.7], atol=0.03)


def test_flips_reach_what_em_does_not():
    # Theorem 6.1's kind of centers: close to a common one by flips of disjoint pairs.
    centers = close_centers(16, 3, 6)
    X = draw(centers, [0.5] * 3, [1400, 400, 200], 7)
    plain = fit_silently(MallowsMixture(3, init="random", n_init=10, polish=False, random_state=0), X)
    full = fit_silently(MallowsMixture(3, random_state=0), X)
    assert full.lower_bound_ > plain.lower_bound_
    assert full.description_length_ < plain.description_length_


@pytest.mark.parametrize(
    ("k", "criterion"), [(1, "mdl"), (3, "mdl"), (1, "split"), (2, "split"), (1, "stability"), (3, "stability")]
)
def test_finds_the_number_of_components(k, criterion):
    X = draw(random_centers(7, k, 10 + k), [0.5] * k, [250] * k, 20 + k)
    mixture = fit_without_warning(MallowsMixture("auto", criterion=criterion, max_components=5, random_state=0), X)
    assert mixture.n_components_ == k
    assert [fit.n_components for fit in mixture.path_] == list(range(1, k + 2))
    np.testing.assert_allclose(mixture.description_length_, mixture.path_[k - 1].description_length)


def test_growth_that_ends_at_max_components_ends_with_an_exchange(monkeypatch):
    calls = []
    monkeypatch.setattr(_search, "exchange", lambda data, mixture, *_: calls.append(mixture.n_components) or mixture)
    X = draw(random_centers(8, 4, 14), [0.4] * 4, [250] * 4, 24)
    mixture = fit_silently(MallowsMixture("auto", criterion="mdl", max_components=3, random_state=0), X)
    # One component more is so much better each time that only the last mixture needs one.
    assert calls == [3]
    assert mixture.n_components_ == 3
    assert mixture.path_[-1].description_length == pytest.approx(mixture.description_length_)
    calls.clear()
    fit_silently(MallowsMixture("auto", criterion="mdl", max_components=6, random_state=0), X)
    assert calls == [4, 5]


def test_the_subsample_is_polished_on_all_rankings():
    centers = random_centers(8, 3, 30)
    X = draw(centers, [0.5, 0.6, 0.7], [2500, 1500, 1000], 31)
    mixture = fit_without_warning(MallowsMixture(3, subsample=500, random_state=0), X)
    all_rows = fit_without_warning(MallowsMixture(3, subsample=10_000, random_state=0), X)
    np.testing.assert_array_equal(mixture.centers_, centers)
    assert mixture.lower_bound_ == pytest.approx(all_rows.lower_bound_, abs=1e-5)


# ---------------------------------------------------------------- ties
def test_top_3_of_10_recovers_the_centers():
    centers = random_centers(10, 2, 40)
    X = draw(centers, [0.4, 0.5], [3000, 2000], 41)
    mixture = fit_without_warning(MallowsMixture(2, random_state=0), np.minimum(X, 3))
    np.testing.assert_array_equal(mixture.centers_, centers)
    np.testing.assert_allclose(mixture.dispersions_, [0.4, 0.5], atol=0.03)


# ---------------------------------------------------------------- one table
def test_repeats_weights_and_order_of_rows_do_not_matter():
    centers = random_centers(6, 3, 50)
    X = draw(centers, [0.4, 0.5, 0.6], [250, 150, 100], 51)
    rows, counts = np.unique(X, axis=0, return_counts=True)
    shuffled = np.random.default_rng(52).permutation(X)
    for parameters in ({"n_components": "auto", "max_components": 2}, {"init": "random", "n_init": 2}, {}):
        estimator = MallowsMixture(**{"n_components": 3, "subsample": 100, "random_state": 0, **parameters})
        fits = [
            fit_silently(clone(estimator), X),
            fit_silently(clone(estimator), rows, sample_weight=counts),
            fit_silently(clone(estimator), 10 * shuffled + 3.5),
        ]
        for other in fits[1:]:
            for attribute in ("weights_", "centers_", "dispersions_", "lower_bound_", "description_length_"):
                np.testing.assert_array_equal(getattr(other, attribute), getattr(fits[0], attribute))
    weighted = fits[1]
    assert weighted.bic(X) == pytest.approx(weighted.bic(rows, sample_weight=counts))
    assert weighted.score(X) == pytest.approx(weighted.score(rows, sample_weight=counts))
    assert weighted.goodness_of_fit(X, n_draws=3) == weighted.goodness_of_fit(rows, n_draws=3, sample_weight=counts)


def test_fractional_and_zero_weights(two_groups):
    X, _ = two_groups
    weights = np.where(np.arange(len(X)) % 5 == 0, 0, 1.5)
    mixture = fit_silently(MallowsMixture(2, subsample=100, random_state=0), X, sample_weight=weights)
    kept = fit_silently(MallowsMixture(2, subsample=100, random_state=0), X[weights > 0], sample_weight=[1.5] * 400)
    np.testing.assert_array_equal(mixture.centers_, kept.centers_)
    np.testing.assert_array_equal(mixture.dispersions_, kept.dispersions_)
    assert mixture.goodness_of_fit(X, n_draws=3, sample_weight=0.4 * weights).statistic < 15


# ---------------------------------------------------------------- scores
def test_one_parametrisation_in_fit_and_likelihood(two_groups):
    X, _ = two_groups
    mixture = fit_silently(MallowsMixture(2, random_state=0), X)
    # The fitted dispersions maximize the likelihood that score_samples gives.
    best = mixture.score(X)
    for factor in (0.9, 1.1):
        for component in range(2):
            other = pickle.loads(pickle.dumps(mixture))
            other.dispersions_[component] *= factor
            assert other.score(X) < best
    every = np.array([p for p in np.ndindex(*[4] * 4) if sorted(p) == [0, 1, 2, 3]])
    small = fit_silently(MallowsMixture(2, random_state=0), draw(random_centers(4, 2, 60), [0.4, 0.6], [200, 100], 61))
    assert np.exp(small.score_samples(every)).sum() == pytest.approx(1)
    np.testing.assert_allclose(small.predict_proba(every).sum(axis=1), 1)
    np.testing.assert_array_equal(small.predict(every), small.predict_proba(every).argmax(axis=1))


def test_bic_and_aic_count_parameters(two_groups):
    X, _ = two_groups
    mixture = fit_silently(MallowsMixture(2, random_state=0), X)
    log_likelihood = mixture.score_samples(X).sum()
    n_parameters = 1 + 2 + 2 * 7
    assert mixture.bic(X) == pytest.approx(n_parameters * np.log(500) - 2 * log_likelihood)
    assert mixture.aic(X) == pytest.approx(2 * n_parameters - 2 * log_likelihood)


def test_sample_has_the_mixture_it_is_drawn_from(two_groups):
    mixture = fit_silently(MallowsMixture(2, random_state=0), two_groups[0])
    X, component = mixture.sample(4000)
    assert X.shape == (4000, 8)
    again = mixture.sample(4000)[0]
    np.testing.assert_array_equal(X, again)
    assert abs(np.mean(component == 0) - mixture.weights_[0]) < 4 * np.sqrt(0.25 / 4000)
    refitted = fit_silently(MallowsMixture(2, random_state=1), X)
    np.testing.assert_array_equal(refitted.centers_, mixture.centers_)
    np.testing.assert_allclose(refitted.dispersions_, mixture.dispersions_, atol=0.03)


def test_goodness_of_fit_tells_too_few_components(two_groups):
    X, _ = two_groups
    right = fit_silently(MallowsMixture(2, random_state=0), X).goodness_of_fit(X, n_draws=19)
    wrong = fit_silently(MallowsMixture(1, random_state=0), X).goodness_of_fit(X, n_draws=19)
    assert wrong.pvalue == 1 / 20
    assert wrong.statistic > 100
    assert right.statistic < 15
    assert right.pvalue > 1 / 20


def test_goodness_of_fit_keeps_its_level_with_ties():
    # 24 tables tied in two ways, at a level of 20 %: more than 10 rejections have a probability of .004.
    rejections = 0
    for seed in range(24):
        X = draw(random_centers(5, 1, seed), [0.6], [150], 100 + seed)
        X[:90] = np.minimum(X[:90], 2)
        mixture = fit_silently(MallowsMixture(1, random_state=seed), X)
        rejections += mixture.goodness_of_fit(X, n_draws=4).pvalue <= 0.2
    assert rejections <= 10


# ---------------------------------------------------------------- what broke peers
def test_weights_with_several_clusters(two_groups):
    X, centers = two_groups
    rows, counts = np.unique(X, axis=0, return_counts=True)
    mixture = fit_silently(MallowsMixture(2, random_state=0), rows, sample_weight=counts)
    np.testing.assert_array_equal(mixture.centers_, centers)


def test_identical_rankings():
    X = np.tile([3, 0, 2, 1], (50, 1))
    mixture = MallowsMixture(1).fit(X)
    np.testing.assert_array_equal(mixture.centers_, X[:1])
    more = MallowsMixture(1).fit(X, sample_weight=np.full(50, 100))
    assert 0 < more.dispersions_[0] < mixture.dispersions_[0] / 50 < 0.01
    with pytest.raises(ValueError, match="n_components=2 is more than the 1 distinct rankings"):
        MallowsMixture(2).fit(X)


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")  # besides the one that is expected
def test_identity_and_its_reverse():
    X = np.repeat([np.arange(6), np.arange(6)[::-1]], 50, axis=0)
    with pytest.warns(InsufficientDataWarning, match="close to 1"):
        one = MallowsMixture(1).fit(X)
    assert one.dispersions_[0] <= 1
    assert np.isfinite(one.score(X))
    two = fit_without_warning(MallowsMixture(2, random_state=0), X)
    assert same_rows(two.centers_, X[[0, -1]])


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")  # besides the one that is expected
def test_more_components_than_there_are():
    centers = random_centers(8, 3, 70)
    X = draw(centers, [0.5] * 3, [400, 400, 400], 71)
    with pytest.warns(InsufficientDataWarning, match="5 components were asked for, but the data support 3"):
        mixture = MallowsMixture(5, random_state=0).fit(X)
    assert mixture.n_components_ == 5
    assert {tuple(c) for c in centers} <= {tuple(c) for c in mixture.centers_}


def test_memory_stays_flat():
    # Signs of all rows and pairs would be 23 MB in float32; the table itself is about 1 MB.
    X = draw(random_centers(20, 1, 75), [0.8], [30_000], 76)
    fit_silently(MallowsMixture(1), X[:1000])
    tracemalloc.start()
    try:
        fit_silently(MallowsMixture(1), X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12e6


def test_one_ranking_needs_a_matrix():
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        MallowsMixture().fit([0, 1, 2])
    mixture = fit_silently(MallowsMixture(), [[0, 1, 2], [0, 2, 1]])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        mixture.predict([0, 1, 2])


def test_two_items():
    X = np.repeat([[0, 1], [1, 0]], [70, 30], axis=0)
    mixture = fit_silently(MallowsMixture(1), X)
    assert mixture.dispersions_[0] == pytest.approx(30 / 70, rel=0.02)
    fit_silently(MallowsMixture(2, random_state=0), X)
    assert fit_silently(MallowsMixture("auto", random_state=0), X).n_components_ == 1


def test_all_tied_rows_say_nothing(two_groups):
    X, centers = two_groups
    with_silent = np.vstack([X, np.zeros((100, 8))])
    mixture = fit_silently(MallowsMixture(2, random_state=0), with_silent)
    np.testing.assert_array_equal(mixture.centers_, centers)
    np.testing.assert_allclose(mixture.score_samples(with_silent[-1:]), 0, atol=1e-12)


# ---------------------------------------------------------------- errors and warnings
def test_bad_input(two_groups):
    X, centers = two_groups
    with pytest.raises(ValueError, match="one item"):
        MallowsMixture().fit(np.zeros((5, 1)))
    with pytest.raises(ValueError, match="init must hold n_components=2 rank vectors of 8 items"):
        MallowsMixture(2, init=centers[:, :4]).fit(X)
    with pytest.raises(ValueError, match="Row 0 of init ties items"):
        MallowsMixture(2, init=np.zeros((2, 8))).fit(X)
    with pytest.raises(ValueError, match="init must be one of"):
        MallowsMixture(2, init=("peel", "k-means")).fit(X)
    with pytest.raises(ValueError, match="empty tuple"):
        MallowsMixture(2, init=()).fit(X)
    with pytest.raises(ValueError, match="need their number as n_components"):
        MallowsMixture("auto", init=centers).fit(X)
    mixture = fit_silently(MallowsMixture(2), X)
    with pytest.raises(ValueError, match="n_draws must be a positive integer"):
        mixture.goodness_of_fit(X, n_draws=0)
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        mixture.sample(0)


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")  # besides the one that is expected
def test_warns_of_undetermined_centers_and_max_iter():
    X = draw(random_centers(20, 1, 80), [0.95], [60], 81)
    with pytest.warns(InsufficientDataWarning, match="center of component 0 is not determined"):
        mixture = MallowsMixture(1).fit(X)
    assert mixture.n_samples_required_ > 60
    X = draw(close_centers(12, 2, 82), [0.6, 0.6], [300, 200], 83)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        MallowsMixture(2, max_iter=2, random_state=0).fit(X)


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")  # besides the one that is expected
def test_warns_of_the_smallest_weight():
    centers = random_centers(10, 2, 84)
    X = draw(centers, [0.3, 0.3], [1000, 15], 85)
    with pytest.warns(InsufficientDataWarning, match="not above the minimum"):
        MallowsMixture(2, min_weight=0.05, random_state=0).fit(X)


def test_lemma_9_is_a_warning_not_a_claim():
    # One center, phi = .01 and .03 in 20 items: 3e4 rankings would be needed.
    center = random_centers(20, 1, 90)
    X = draw(np.tile(center, (2, 1)), [0.01, 0.03], [1500, 500], 91)
    with pytest.warns(InsufficientDataWarning, match="the data support 1|do not tell them from one"):
        MallowsMixture(2, random_state=0).fit(X)
    assert fit_silently(MallowsMixture("auto", random_state=0), X).n_components_ == 1


# ---------------------------------------------------------------- as part of scikit-learn
@pytest.mark.parametrize("frame", [pd.DataFrame, pytest.param(pl.DataFrame, marks=pytest.mark.polars_names)])
def test_data_frames(two_groups, frame):
    X, centers = two_groups
    names = [f"item {i}" for i in range(8)]
    mixture = fit_silently(MallowsMixture(2, random_state=0), frame(dict(zip(names, X.T, strict=True))))
    assert list(mixture.feature_names_in_) == names
    np.testing.assert_array_equal(mixture.centers_, centers)


def test_searches_and_pickles(two_groups):
    X, _ = two_groups
    mixture = fit_silently(MallowsMixture(2, random_state=0), X)
    search = GridSearchCV(MallowsMixture(random_state=0), {"n_components": [1, 2]}, cv=3)
    assert fit_silently(search, X).best_params_ == {"n_components": 2}
    copy = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(copy.predict(X), mixture.predict(X))


@pytest.mark.parametrize("backend", ["threading", "dask"])
def test_parallel_starts_change_nothing(two_groups, backend):
    X, _ = two_groups
    client = nullcontext()
    if backend == "dask":
        distributed = pytest.importorskip("distributed")
        client = distributed.Client(processes=False, dashboard_address=None)
    estimator = MallowsMixture(2, init=("peel", "random"), n_init=2, random_state=0)
    alone = fit_silently(clone(estimator), X)
    with client, parallel_config(backend=backend):
        parallel = fit_silently(clone(estimator).set_params(n_jobs=2), X)
    np.testing.assert_array_equal(alone.centers_, parallel.centers_)
    assert alone.lower_bound_ == parallel.lower_bound_


@pytest.mark.callbacks
@pytest.mark.parametrize(
    "parameters", [{"n_components": 3}, {"n_components": 2, "n_init": 2}, {"n_components": "auto"}]
)
def test_progress(two_groups, parameters, progress_bar, capsys):
    X, _ = two_groups
    plain = fit_silently(MallowsMixture(**parameters, random_state=0), X)
    watched = fit_silently(MallowsMixture(**parameters, random_state=0).set_callbacks(progress_bar), X)
    assert watched.lower_bound_ == plain.lower_bound_
    assert "MallowsMixture" in capsys.readouterr().out


class Counter:
    """A callback that counts the tasks of a fit beside those that were announced."""

    def setup(self, estimator, context):
        self.ended = 0

    def on_fit_task_begin(self, estimator, context):
        if context.parent is None:
            self.announced = context.max_subtasks

    def on_fit_task_end(self, estimator, context):
        self.ended += context.parent is not None

    def teardown(self, estimator, context):
        pass


@pytest.mark.callbacks
@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 3},
        {"n_components": 1},
        {"n_components": 2, "init": "kmeans"},
        {"n_components": 2, "init": ("peel", "random"), "n_init": 2},
        {"n_components": 2, "polish": False, "n_init": 3},
        {"n_components": "auto", "max_components": 2},
        {"n_components": "auto", "max_components": 1},
    ],
)
def test_a_bar_has_a_length_that_the_fit_fills(two_groups, parameters):
    X, _ = two_groups
    counter = Counter()
    fit_silently(MallowsMixture(**parameters, random_state=0).set_callbacks(counter), X)
    assert counter.ended == counter.announced
