"""The marginal model of missing items: sums against enumeration, its climb, and the choice between the two models."""

import pickle

import numpy as np
import pytest

from skrank._mallows import sample_mallows
from skrank._rankings import densify
from skrank.exceptions import InsufficientDataWarning
from skrank.mixture import MallowsMixture
from skrank.mixture._marginal import MarginalRankings, climb, evaluate, exchange_losses, is_within_reach, polish
from skrank.mixture._model import Mixture
from skrank.mixture._voters import make_table

pytestmark = pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")


def masked(seed, n_voters=1200, n_items=7, phis=(0.4, 0.6), missing=0.4):
    """Full rankings of a mixture, items missing at random."""
    rng = np.random.default_rng(seed)
    centers = np.array([rng.permutation(n_items) for _ in phis])
    component = rng.integers(len(phis), size=n_voters)
    X = sample_mallows(centers[component], -np.log(phis)[component], rng).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, centers, component


def enumerated_log_probabilities(X, mixture, consistent_rankings):
    """Log probability of each row under the mixture, over all full rankings consistent with it."""
    n_items = X.shape[1]
    found = []
    for row in X:
        full = consistent_rankings(row)
        pairs = np.triu_indices(n_items, 1)
        total = 0.0
        for center, phi, weight in zip(mixture.centers, mixture.dispersions, mixture.weights, strict=True):
            every = consistent_rankings(np.full(n_items, np.nan))
            weights = [
                phi ** ((r[:, pairs[0]] < r[:, pairs[1]]) != (center[pairs[0]] < center[pairs[1]])).sum(axis=1)
                for r in (full, every)
            ]
            total += weight * weights[0].sum() / weights[1].sum()
        found.append(np.log(total))
    return np.array(found)


@pytest.mark.parametrize("n_items", [3, 4, 5])
def test_likelihoods_are_sums_over_all_full_rankings(n_items, consistent_rankings):
    rng = np.random.default_rng(n_items)
    values = rng.integers(n_items, size=(30, n_items)).astype(float)
    values[rng.random(values.shape) < 0.4] = np.nan
    mixture = Mixture(
        np.array([rng.permutation(n_items) for _ in range(2)]), np.array([0.3, 0.7]), np.array([0.4, 0.6])
    )
    data, inverse = make_table(densify(values))
    found = evaluate(MarginalRankings(data), mixture).log_density[inverse]
    np.testing.assert_allclose(found, enumerated_log_probabilities(values, mixture, consistent_rankings), atol=1e-9)


def test_rankings_of_one_shape_add_up_to_one():
    values = np.full((6, 5), np.nan)
    values[:, [0, 2, 3]] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    mixture = Mixture(np.array([[3, 1, 0, 4, 2]]), np.array([0.4]), np.ones(1))
    data, _ = make_table(densify(values))
    assert np.exp(evaluate(MarginalRankings(data), mixture).log_density).sum() == pytest.approx(1, abs=1e-9)


def test_draws_approach_the_sums(monkeypatch):
    X, centers, _ = masked(0, n_voters=100)
    data, _ = make_table(densify(X))
    mixture = Mixture(centers, np.array([0.4, 0.6]), np.full(2, 0.5))
    exact = evaluate(MarginalRankings(data), mixture)
    monkeypatch.setattr("skrank.mixture._marginal._is_cheap", lambda shape: False)
    drawn = MarginalRankings(data, n_draws=2000)
    assert len(drawn.drawn)
    found = evaluate(drawn, mixture)
    np.testing.assert_allclose(found.log_density, exact.log_density, atol=0.15)
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=0.01)
    np.testing.assert_allclose(found.distances.mean(axis=1), exact.distances.mean(axis=1), atol=0.1)
    again = evaluate(MarginalRankings(data, n_draws=2000), mixture)
    np.testing.assert_array_equal(again.log_density, found.log_density)
    assert drawn.effective_share(centers[0], 0.4, np.ones(len(drawn.ranks))) < 1


def test_the_climb_never_lowers_the_penalized_likelihood_and_solves_the_moment_equation():
    X, centers, _ = masked(1, n_voters=300)
    data, _ = make_table(densify(X))
    rankings = MarginalRankings(data)
    moved = centers.copy()
    moved[:, np.argsort(centers[0])[:3]] = centers[:, np.argsort(centers[0])[[1, 2, 0]]]
    start = Mixture(moved, np.array([0.7, 0.5]), np.array([0.3, 0.7]))
    steps = [climb(rankings, start, max_iter=n, tol=-np.inf, max_rounds=0).lower_bound for n in range(0, 7, 2)]
    assert np.all(np.diff(steps) > -1e-10)
    stuck, found = climb(rankings, start), polish(rankings, start, tol=1e-7)
    assert found.lower_bound >= stuck.lower_bound
    assert {tuple(c) for c in found.centers} == {tuple(c) for c in centers}
    for factor in (0.97, 1.03):
        for component in range(2):
            dispersions = found.dispersions.copy()
            dispersions[component] *= factor
            moved = evaluate(rankings, Mixture(found.centers, dispersions, found.weights))
            assert moved.log_likelihood < found.log_likelihood


def test_exchange_losses_are_differences_of_likelihoods():
    X, centers, _ = masked(2, n_voters=200)
    data, _ = make_table(densify(X))
    rankings, mixture = MarginalRankings(data), Mixture(centers, np.array([0.4, 0.6]), np.full(2, 0.5))
    losses = exchange_losses(rankings, mixture)
    exchanged = centers.copy()
    items = np.argsort(centers[1])[[2, 3]]
    exchanged[1, items] = centers[1, items[::-1]]
    after = evaluate(rankings, Mixture(exchanged, mixture.dispersions, mixture.weights)).log_likelihood
    before = evaluate(rankings, mixture).log_likelihood
    assert losses[1, 2] == pytest.approx(200 * (before - after))


# ---------------------------------------------------------------- estimators
def test_auto_takes_the_marginal_model_where_items_are_missing_from_full_rankings():
    X, centers, _ = masked(3)
    mixture = MallowsMixture("auto", random_state=0).fit(X)
    assert mixture.missing_ == "marginal"
    assert mixture.n_components_ == 2
    assert {tuple(c) for c in mixture.centers_} == {tuple(c) for c in centers}
    np.testing.assert_allclose(np.sort(mixture.dispersions_), [0.4, 0.6], atol=0.04)
    subset = MallowsMixture("auto", missing="subset", random_state=0).fit(X)
    assert subset.missing_ == "subset"
    assert subset.dispersions_.max() < 0.57
    likelihoods = mixture.missing_log_likelihoods_
    assert likelihoods["marginal"] > likelihoods["subset"] + 20
    n_counted = np.sum((~np.isnan(X)).sum(axis=1) > 1)  # the others order nothing
    assert mixture.score(X) * n_counted == pytest.approx(likelihoods["marginal"])
    assert mixture.description_length_ < subset.description_length_
    # What everything else makes of it.
    copy = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(copy.score_samples(X[:50]), mixture.score_samples(X)[:50])


def test_auto_takes_the_subset_model_where_voters_ranked_what_they_saw():
    rng = np.random.default_rng(4)
    center = rng.permutation(8)
    X = np.full((800, 8), np.nan)
    for row in X:
        items = rng.choice(8, rng.integers(3, 7), replace=False)
        row[items] = sample_mallows(np.argsort(np.argsort(center[items]))[None], 0.7, rng)[0]
    mixture = MallowsMixture(1).fit(X)
    assert mixture.missing_ == "subset"
    np.testing.assert_array_equal(mixture.centers_[0], center)
    assert mixture.dispersions_[0] == pytest.approx(np.exp(-0.7), abs=0.03)
    marginal = MallowsMixture(1, missing="marginal").fit(X)
    assert marginal.missing_ == "marginal"
    assert marginal.score(X) < mixture.score(X)


def test_without_missing_items_the_models_are_one():
    X, _, _ = masked(5, missing=0.0, n_voters=400)
    fits = [MallowsMixture(2, missing=missing, random_state=0).fit(X) for missing in ("auto", "subset", "marginal")]
    assert [fit.missing_ for fit in fits] == ["marginal", "subset", "marginal"]
    for fit in fits[1:]:
        assert fit.lower_bound_ == fits[0].lower_bound_
        assert np.isnan(fit.missing_log_likelihoods_["marginal"])


def test_draws_that_do_not_reach_are_told():
    rng = np.random.default_rng(6)
    X = np.full((100, 100), np.nan)
    for row in X:
        items = rng.choice(100, 12, replace=False)
        row[items] = sample_mallows(np.argsort(np.argsort(items))[None], 0.4, rng)[0]
    data, _ = make_table(densify(X))
    assert not is_within_reach(MarginalRankings(data), Mixture(np.arange(100)[None], np.array([0.67]), np.ones(1)))
    with pytest.warns(InsufficientDataWarning, match="out of reach"):
        mixture = MallowsMixture(1, missing="marginal", init=np.arange(100)[None]).fit(X)
    assert mixture.missing_ == "subset"
    assert np.isnan(mixture.missing_log_likelihoods_["marginal"])


def test_a_voter_of_several_rankings_is_the_product_of_their_sums():
    X, centers, component = masked(7, n_voters=300)
    groups = np.zeros(300, int)
    for c in (0, 1):
        rows = np.flatnonzero(component == c)
        groups[rows] = 2 * (np.arange(len(rows)) // 3) + c
    mixture = MallowsMixture(2, missing="marginal", random_state=0).fit(X, groups=groups)
    assert {tuple(c) for c in mixture.centers_} == {tuple(c) for c in centers}
    labels = mixture.predict(X, groups=groups)
    assert max(np.mean(labels == component), np.mean(labels != component)) > 0.97


def test_goodness_of_fit_of_the_marginal_model():
    X, _, _ = masked(8, n_voters=500)
    right = MallowsMixture(2, missing="marginal", random_state=0).fit(X).goodness_of_fit(X, n_draws=19)
    wrong = MallowsMixture(1, missing="marginal", random_state=0).fit(X).goodness_of_fit(X, n_draws=19)
    assert wrong.pvalue == 1 / 20
    assert right.pvalue > 1 / 20


def test_the_climb_is_on_a_subsample_and_ends_on_all():
    X, centers, _ = masked(9, n_voters=1500)
    mixture = MallowsMixture(2, subsample=300, random_state=0).fit(X)
    assert mixture.missing_ == "marginal"
    whole = MallowsMixture(2, random_state=0).fit(X)
    assert {tuple(c) for c in mixture.centers_} == {tuple(c) for c in centers}
    assert mixture.lower_bound_ == pytest.approx(whole.lower_bound_, abs=1e-3)
