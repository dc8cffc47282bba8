import numpy as np
import pytest
from scipy.special import expit

from skrank.linear_model import BradleyTerry
from skrank.linear_model._judges import JudgeData, votes_of
from skrank.mixture import BradleyTerryMixture, compare_judge_models
from skrank.mixture._comparison_components import VoteMatrices, em, expectation, grown, one_component
from skrank.mixture._judge_models import gain_and_error


def simulated(kind, seed, n_judges=50, n_items=10, votes=40):
    """Comparisons by judges with tastes, with slopes, in two groups, or all alike."""
    rng = np.random.default_rng(seed)
    judge = np.repeat(np.arange(n_judges), votes)
    rows = np.arange(len(judge))
    scores = rng.standard_normal((n_judges if kind == "tastes" else 2 if kind == "groups" else 1, n_items))
    own = scores[judge % len(scores)]
    first = rng.integers(0, n_items, len(judge))
    pairs = np.column_stack([first, (first + rng.integers(1, n_items, len(judge))) % n_items])
    margin = own[rows, pairs[:, 0]] - own[rows, pairs[:, 1]]
    if kind == "slopes":
        margin *= 1.5 * np.maximum(rng.normal(1, 0.7, n_judges), 0)[judge]
    return pairs, rng.random(len(judge)) < expit(margin), judge


def small_votes(seed=0):
    pairs, y, judge = simulated("tastes", seed, n_judges=4, n_items=5, votes=30)
    share = np.where(np.arange(len(y)) % 7 == 0, 0.5, y)
    return votes_of(judge, pairs.T, share, np.ones(len(y)), 4, 5), (pairs, share, judge)


def test_em_does_not_lower_the_objective_and_one_component_is_bradley_terry():
    votes, (pairs, share, _) = small_votes(3)
    data = VoteMatrices(votes)
    single = one_component(data, 0.1)
    np.testing.assert_allclose(
        single.scores[0] - single.scores[0].mean(), BradleyTerry().fit(pairs, share).scores_, atol=1e-3
    )
    larger = grown(data, single, 0.1)
    assert larger.objective > single.objective
    before = -np.inf
    for steps in range(1, 6):
        after = em(data, larger, 0.1, steps).objective
        assert after >= before
        before = after


def test_responsibilities_against_the_formula():
    votes, (pairs, share, judge) = small_votes(4)
    data = VoteMatrices(votes)
    mixture = grown(data, one_component(data, 0.1), 0.1)
    margin = mixture.scores[:, pairs[:, 0]] - mixture.scores[:, pairs[:, 1]]
    logs = share * margin - np.logaddexp(0, margin)
    by_judge = np.array([np.bincount(judge, row) for row in logs]).T + np.log(mixture.weights)
    expected = np.exp(by_judge) / np.exp(by_judge).sum(axis=1, keepdims=True)
    responsibilities, log_likelihood = expectation(data, mixture)
    np.testing.assert_allclose(responsibilities, expected)
    assert log_likelihood == pytest.approx(np.log(np.exp(by_judge).sum(axis=1)).sum())


@pytest.mark.parametrize("kind", ["groups", "neither", "permuted"])
def test_groups_are_reported_where_there_are_some(kind):
    pairs, y, judge = simulated("neither" if kind == "neither" else "groups", 5)
    if kind == "permuted":
        judge = np.random.default_rng(0).permutation(judge)
    model = BradleyTerryMixture(random_state=0).fit(pairs, y, groups=judge)
    if kind == "groups":
        assert model.n_components_ == 2
        assert model.stability_.min() > 0.7
        assert model.held_out_gains_[1] > 0.02
        found = model.judge_proba_.argmax(axis=1)
        assert len(set(found[::2])) == len(set(found[1::2])) == 1
        assert found[0] != found[1]
        known = model.predict_proba(pairs[:40], groups=judge[:40])[:, 1]
        margin = model.scores_[:, pairs[:40, 0]] - model.scores_[:, pairs[:40, 1]]
        np.testing.assert_allclose(known, model.judge_proba_[0] @ expit(margin))
    else:
        assert model.n_components_ == 1
        np.testing.assert_array_equal(model.stability_, [1])
    np.testing.assert_allclose(model.weights_.sum(), 1)
    np.testing.assert_allclose(model.scores_.sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("kind", ["tastes", "slopes", "groups", "neither"])
def test_the_right_description_predicts_best(kind):
    expected = {"groups": "mixture", "neither": "common"}.get(kind, kind)
    pairs, y, judge = simulated(kind, 6)
    comparison = compare_judge_models(pairs, y, groups=judge, max_components=3)
    assert comparison.best == expected
    assert f"{comparison.log_likelihoods[expected]:.3f}" in str(comparison)
    assert (comparison.n_components > 1) == ("mixture" in comparison.gains)


def test_gains_and_their_errors():
    judge = np.array([0, 0, 1, 1, 2, 2])
    data = JudgeData(judge, np.zeros((2, 6), int), np.ones(6), np.ones(6), 3, 2)
    gain, error = gain_and_error(data, np.array([1.0, 1, 2, 2, 3, 3]))
    assert gain == 2
    assert error == pytest.approx(np.sqrt(3 / 2 * (4 + 0 + 4)) / 6)  # the standard error of the judges' means


PAIRS = [["a", "b"], ["b", "c"], ["a", "c"], ["c", "a"]]


def test_too_few_judges():
    with pytest.raises(ValueError, match="n_components is 3, but groups has 2 judges"):
        BradleyTerryMixture(3).fit(PAIRS, groups=[1, 1, 2, 2])
    with pytest.raises(ValueError, match="one judge only"):
        compare_judge_models(PAIRS, groups=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="alpha must be above 0"):
        compare_judge_models(PAIRS, groups=[1, 1, 2, 2], alpha=0)
    few = compare_judge_models(PAIRS * 3, groups=[1, 1, 2, 2] * 3)
    assert few.best == "common"
