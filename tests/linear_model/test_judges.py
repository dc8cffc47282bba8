import pickle

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skrank.linear_model import BradleyTerry, BradleyTerryMixture, PersonalBradleyTerry, compare_judge_models
from skrank.linear_model._comparison_components import VoteMatrices, em, expectation, grown, one_component
from skrank.linear_model._judge_models import JudgeData, gain_and_error, soft_jaccard
from skrank.linear_model._judges import JudgeLikelihood, fit_judges, votes_of


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


@pytest.mark.parametrize("slopes", [False, True])
def test_likelihood_of_judges_against_the_formula(slopes):
    votes, (pairs, share, judge) = small_votes()
    likelihood = JudgeLikelihood(votes, 0.3, 2.0, slopes)

    def formula(x):
        scores, rest = x[:5], x[5:]
        if slopes:
            own = (1 + rest)[:, None] * scores
        else:
            tastes = np.zeros(20)
            tastes[likelihood.nodes] = rest
            own = scores + tastes.reshape(4, 5)
        margin = own[judge, pairs[:, 0]] - own[judge, pairs[:, 1]]
        loss = share @ np.logaddexp(0, -margin) + (1 - share) @ np.logaddexp(0, margin)
        return loss + 0.15 * scores @ scores + rest @ rest

    at = np.random.default_rng(1).normal(size=5 + len(likelihood.nodes))
    value, gradient = likelihood.value_and_gradient(at)
    assert value == pytest.approx(formula(at))
    np.testing.assert_allclose(gradient, approx_fprime(at, formula, 1e-7), atol=1e-4)
    jacobian = likelihood.jacobian(at).toarray()
    numeric = approx_fprime(at, likelihood.margins, 1e-7)
    np.testing.assert_allclose(jacobian, numeric, atol=1e-5)
    information = likelihood.information(at)
    hessian = approx_fprime(at, lambda x: likelihood.value_and_gradient(x)[1], 1e-7)
    np.testing.assert_allclose(information.product(at), hessian @ at, atol=1e-4)
    np.testing.assert_allclose(information.diagonal, hessian.diagonal(), atol=1e-4)
    _, fitted, converged = fit_judges(votes, 0.3, 2.0, slopes, tol=1e-7)
    reference = minimize(formula, np.zeros(len(at)), method="BFGS", options={"gtol": 1e-7})
    assert converged
    np.testing.assert_allclose(fitted, reference.x, atol=1e-5)


def test_the_scale_is_found_and_vanishes_where_judges_are_alike():
    pairs, y, judge = simulated("tastes", 1, votes=120)
    assert 0.7 < PersonalBradleyTerry().fit(pairs, y, groups=judge).scale_ < 1.3  # 1 is true
    rng = np.random.default_rng(0)
    scales = [
        PersonalBradleyTerry(differences).fit(pairs, y, groups=rng.permutation(judge)).scale_
        for differences in ("tastes", "slopes")
    ]
    assert max(scales) < 0.4


def test_personal_scores_are_shrunk_between_common_ones_and_the_judges_own():
    pairs, y, judge = simulated("tastes", 2)
    model = PersonalBradleyTerry().fit(pairs, y, groups=judge)
    narrow = PersonalBradleyTerry(scale=1e-3).fit(pairs, y, groups=judge)
    np.testing.assert_allclose(narrow.scores_, BradleyTerry().fit(pairs, y).scores_, atol=1e-3)
    np.testing.assert_allclose(narrow.judge_scores_, np.tile(narrow.scores_, (50, 1)), atol=1e-3)
    assert model.score(pairs, y, groups=judge) > narrow.score(pairs, y, groups=judge) + 0.05
    proba = model.predict_proba(pairs[:3], groups=[0, 1, 99])
    own = model.judge_scores_
    assert proba[1, 1] == pytest.approx(expit(own[1, pairs[1, 0]] - own[1, pairs[1, 1]]))
    assert proba[2, 1] == pytest.approx(expit(model.scores_[pairs[2, 0]] - model.scores_[pairs[2, 1]]))
    np.testing.assert_array_equal(model.predict_proba(pairs)[2], proba[2])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(pairs, groups=judge), model.predict(pairs, groups=judge))
    np.testing.assert_array_equal(clone(model).fit(pairs, y, groups=judge).scores_, model.scores_)


def test_slopes_tell_who_answers_at_random():
    pairs, y, judge = simulated("neither", 3, votes=100)
    rng = np.random.default_rng(0)
    y = np.where(judge < 5, rng.random(len(y)) < 0.5, y)
    model = PersonalBradleyTerry("slopes").fit(pairs, y, groups=judge)
    assert model.slopes_[:5].max() < model.slopes_[5:].min()
    np.testing.assert_allclose(model.judge_scores_[3], model.slopes_[3] * model.scores_)


# ---------------------------------------------------------------- mixtures
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


def test_soft_jaccard():
    hard = np.array([[1.0, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(soft_jaccard(hard, hard[:, ::-1]), 1)
    np.testing.assert_allclose(soft_jaccard(hard, np.array([[1.0, 0], [0, 1], [0, 1]])), [0.5, 0.5])


# ---------------------------------------------------------------- input
PAIRS = [["a", "b"], ["b", "c"], ["a", "c"], ["c", "a"]]


@pytest.mark.parametrize("estimator", [PersonalBradleyTerry(), BradleyTerryMixture(1)])
def test_bad_input(estimator):
    with pytest.raises(ValueError, match="the judge of each comparison is needed"):
        estimator.fit(PAIRS)
    with pytest.raises(ValueError, match=r"groups\[1\] is None: every comparison needs a judge"):
        estimator.fit(PAIRS, groups=["x", None, "y", "y"])
    with pytest.raises(ValueError, match=r"groups\[2\] is nan"):
        estimator.fit(PAIRS, groups=[1, 2, np.nan, 2])
    with pytest.raises(ValueError, match="one column"):
        estimator.fit(PAIRS, groups=np.zeros((4, 2)))
    with pytest.raises(ValueError, match="inconsistent"):
        estimator.fit(PAIRS, groups=[1, 2])
    with pytest.raises(ValueError, match="neither an item of its row"):
        estimator.fit(PAIRS, ["a", "b", "a", "z"], groups=[1, 1, 2, 2])
    with pytest.raises(NotFittedError):
        clone(estimator).predict_proba(PAIRS)
    model = estimator.fit(PAIRS, ["a", "tie", "win", "loss"], groups=["x", "y", "y", "y"])  # one judge has one vote
    assert np.isfinite(model.predict_proba(PAIRS, groups=["x", "y", "z", "x"])).all()
    assert set(model.predict(PAIRS)) <= {"win", "loss"}


def test_too_few_judges():
    with pytest.raises(ValueError, match="n_components is 3, but groups has 2 judges"):
        BradleyTerryMixture(3).fit(PAIRS, groups=[1, 1, 2, 2])
    with pytest.raises(ValueError, match="one judge only"):
        compare_judge_models(PAIRS, groups=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="alpha must be above 0"):
        compare_judge_models(PAIRS, groups=[1, 1, 2, 2], alpha=0)
    few = compare_judge_models(PAIRS * 3, groups=[1, 1, 2, 2] * 3)
    assert few.best == "common"
