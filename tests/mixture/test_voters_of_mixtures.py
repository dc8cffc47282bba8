"""Mixtures of partial rankings, comparisons and voters with several rankings, through the estimators."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_validate

from skrank._mallows import sample_mallows
from skrank._rankings import densify
from skrank.exceptions import InsufficientDataWarning
from skrank.mixture import MallowsMixture
from skrank.mixture._model import Mixture
from skrank.mixture._pairing import pairing_pvalue

# These data are small, and the warnings say so.
pytestmark = pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")


def seen_in_part(seed, n_voters=1500, n_items=9, phis=(0.4, 0.5), least=3):
    """Each voter orders `least` or more items that were in front of them: the subset model."""
    rng = np.random.default_rng(seed)
    centers = np.array([rng.permutation(n_items) for _ in phis])
    component = rng.integers(len(phis), size=n_voters)
    X = np.full((n_voters, n_items), np.nan)
    sizes = rng.integers(least, n_items, n_voters)
    for voter, (size, c) in enumerate(zip(sizes, component, strict=True)):
        items = rng.choice(n_items, size, replace=False)
        center = np.argsort(np.argsort(centers[c][items]))
        X[voter, items] = sample_mallows(center[None], -np.log(phis[c]), rng)[0]
    return X, centers, component


def comparisons(seed, n_judges=300, n_each=25, n_items=8, phis=(0.3, 0.5)):
    """Each judge compares pairs; a comparison goes against the center with probability phi / (1 + phi)."""
    rng = np.random.default_rng(seed)
    centers = np.array([rng.permutation(n_items) for _ in phis])
    component = rng.integers(len(phis), size=n_judges)
    groups = np.repeat(np.arange(n_judges), n_each)
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in groups])
    phi = np.array(phis)[component[groups]]
    first = np.take_along_axis(centers[component[groups]], pairs, axis=1)
    wrong = rng.random(len(groups)) < phi / (1 + phi)
    winner = np.where((first[:, 0] < first[:, 1]) ^ wrong, pairs[:, 0], pairs[:, 1])
    X = np.full((len(groups), n_items), np.nan)
    X[np.arange(len(groups)), pairs.sum(axis=1) - winner] = 1
    X[np.arange(len(groups)), winner] = 0
    return X, groups, centers, component


def same_rows(first, second):
    return sorted(map(tuple, first)) == sorted(map(tuple, second))


def test_partial_rankings_give_the_groups_of_who_ranked_what_they_saw():
    X, centers, component = seen_in_part(0)
    mixture = MallowsMixture("auto", random_state=0).fit(X)
    assert mixture.n_components_ == 2
    assert same_rows(mixture.centers_, centers)
    np.testing.assert_allclose(np.sort(mixture.dispersions_), [0.4, 0.5], atol=0.05)
    truth = [int((center == mixture.centers_[0]).all()) for center in centers]
    agreement = np.mean(mixture.predict(X) == 1 - np.array(truth)[component])
    # Three of nine items say little of a voter; what is said of that must be right: 1500 voters, three errors.
    assert agreement == pytest.approx(mixture.predict_proba(X).max(axis=1).mean(), abs=0.03)
    assert agreement > 0.75


def test_judges_are_grouped_by_their_comparisons():
    X, groups, centers, component = comparisons(1)
    mixture = MallowsMixture("auto", random_state=0).fit(X, groups=groups)
    assert mixture.n_components_ == 2
    assert same_rows(mixture.centers_, centers)
    labels = mixture.predict(X, groups=groups)
    assert all(len(set(labels[groups == judge])) == 1 for judge in range(20))
    first = labels[np.unique(groups, return_index=True)[1]]
    assert max(np.mean(first == component), np.mean(first != component)) > 0.95
    np.testing.assert_array_equal(
        labels, MallowsMixture("auto", random_state=0).fit_predict(X, groups=[f"judge {g}" for g in groups])
    )


def test_one_voter_is_the_product_of_its_rows_under_one_component():
    X, groups, _, _ = comparisons(2, n_judges=60)
    mixture = MallowsMixture(2, random_state=0).fit(X, groups=groups)
    parts = []
    for component in range(2):
        one = MallowsMixture(1)
        one.__dict__.update(mixture.__dict__)
        one.centers_, one.dispersions_ = mixture.centers_[[component]], mixture.dispersions_[[component]]
        one.weights_, one.n_components_ = np.ones(1), 1
        parts.append(np.bincount(groups, one.score_samples(X)) + np.log(mixture.weights_[component]))
    expected = np.logaddexp(*parts)[groups]
    np.testing.assert_allclose(mixture.score_samples(X, groups=groups), expected)
    np.testing.assert_allclose(mixture.score(X, groups=groups), expected.reshape(60, -1)[:, 0].mean())
    posterior = np.exp(parts - np.logaddexp(*parts)).T[groups]
    np.testing.assert_allclose(mixture.predict_proba(X, groups=groups), posterior, rtol=1e-4, atol=1e-6)
    n_parameters = 1 + 2 + 2 * 7
    bic = n_parameters * np.log(60) - 120 * mixture.score(X, groups=groups)
    assert mixture.bic(X, groups=groups) == pytest.approx(bic)


def test_repeated_voters_equal_weights():
    X, groups, _, _ = comparisons(3, n_judges=80)
    once = MallowsMixture(2, random_state=0).fit(X, groups=groups, sample_weight=np.full(len(X), 2.0))
    order = np.random.default_rng(0).permutation(2 * len(X))
    twice = np.vstack([X, X])[order], np.concatenate([groups, groups + 1000])[order]
    both = MallowsMixture(2, random_state=0).fit(twice[0], groups=twice[1])
    for name in ("centers_", "dispersions_", "weights_", "description_length_", "n_samples_required_"):
        np.testing.assert_array_equal(getattr(both, name), getattr(once, name))


def test_voters_who_order_nothing_do_not_count_but_are_predicted():
    X, _, _ = seen_in_part(4, n_voters=400)
    silent = np.full((30, 9), np.nan)
    silent[:10, 2] = 1
    with pytest.warns(InsufficientDataWarning, match="30 of 430 voters order no two items"):
        mixture = MallowsMixture(2, random_state=0).fit(np.vstack([X, silent]))
    counts = np.repeat([1, 3], [len(X), 30])
    with pytest.warns(InsufficientDataWarning, match="90 of 490 voters order no two items"):
        MallowsMixture(2, random_state=0).fit(np.vstack([X, silent]), sample_weight=counts)
    without = MallowsMixture(2, random_state=0).fit(X)
    assert mixture.description_length_ == without.description_length_
    np.testing.assert_allclose(mixture.predict_proba(silent[:1]), [mixture.weights_])
    assert mixture.score_samples(silent[:1])[0] == pytest.approx(0, abs=1e-9)
    assert mixture.score(np.vstack([X, silent])) == pytest.approx(mixture.score(X))


def test_nothing_ordered_is_an_error():
    with pytest.raises(ValueError, match="X does not order any two items"):
        MallowsMixture().fit([[np.nan, 1, np.nan], [0, np.nan, np.nan]])


def test_items_and_rows_may_be_permuted():
    X, centers, _ = seen_in_part(5)
    rng = np.random.default_rng(0)
    rows, items = rng.permutation(len(X)), rng.permutation(9)
    first = MallowsMixture(2, random_state=0).fit(X)
    second = MallowsMixture(2, random_state=0).fit(X[rows])
    np.testing.assert_array_equal(first.lower_bound_, second.lower_bound_)
    third = MallowsMixture(2, random_state=0).fit(X[:, items])
    assert third.lower_bound_ == pytest.approx(first.lower_bound_, abs=1e-5)
    assert same_rows(third.centers_, centers[:, items])


def test_goodness_of_fit_draws_the_same_items():
    X, _, _ = seen_in_part(6, n_voters=600)
    right = MallowsMixture(2, random_state=0).fit(X).goodness_of_fit(X, n_draws=19)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientDataWarning)
        wrong = MallowsMixture(1, random_state=0).fit(X).goodness_of_fit(X, n_draws=19)
    assert wrong.pvalue == 1 / 20
    assert right.pvalue > 1 / 20
    assert right.statistic < 15 < wrong.statistic


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_other_starts(init):
    X, centers, _ = seen_in_part(7)
    mixture = MallowsMixture(2, init=init, n_init=3, random_state=0).fit(X)
    assert same_rows(mixture.centers_, centers)


def test_groups_are_routed_as_metadata():
    X, groups, _, _ = comparisons(8, n_judges=40)
    mixture = MallowsMixture(2, missing="subset", random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(mixture).set_fit_request(groups=True).set_score_request(groups=True)
        scores = cross_validate(routed, X, cv=GroupKFold(3), params={"groups": groups})["test_score"]
    expected = [
        clone(mixture).fit(X[train], groups=groups[train]).score(X[test], groups=groups[test])
        for train, test in GroupKFold(3).split(X, groups=groups)
    ]
    np.testing.assert_allclose(scores, expected)


def test_groups_of_one_row_each_are_no_groups():
    X, _, _ = seen_in_part(9, n_voters=300)
    first = MallowsMixture(2, random_state=0).fit(X)
    second = MallowsMixture(2, random_state=0).fit(X, groups=np.arange(len(X))[::-1])
    assert first.lower_bound_ == second.lower_bound_


def test_comparisons_dealt_to_judges_at_random_make_no_groups():
    X, groups, _, _ = comparisons(10, n_judges=120)
    shuffled = np.random.default_rng(0).permutation(groups)
    with pytest.warns(InsufficientDataWarning, match="not groups of voters"):
        MallowsMixture(2, random_state=0).fit(X, groups=shuffled)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*not groups of voters")
        MallowsMixture(2, random_state=0).fit(X, groups=groups)


def test_the_pairing_of_halves_is_a_test_of_its_level():
    X, groups, _, _ = comparisons(11, n_judges=60, n_each=10)
    ranks = densify(X)
    mixture = Mixture(np.array([np.arange(8), np.arange(8)[::-1]]), np.array([0.4, 0.4]), np.full(2, 0.5))
    rng = np.random.default_rng(1)
    pvalues = [pairing_pvalue(ranks, None, rng.permutation(groups), lambda _: mixture, rng) for _ in range(60)]
    # 60 p-values at a level of 20 %: more than 21 rejections have a probability of .002.
    assert np.mean(np.array(pvalues) <= 0.2) <= 21 / 60
    assert np.mean(np.array(pvalues) <= 0.5) > 0.25
    assert pairing_pvalue(ranks[:20], None, np.arange(20), lambda _: mixture, rng) is None
