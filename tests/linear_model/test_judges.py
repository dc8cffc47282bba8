import pickle

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skrank.linear_model import BradleyTerry, PersonalBradleyTerry
from skrank.linear_model._judges import JudgeLikelihood, fit_judges, votes_of
from skrank.mixture import BradleyTerryMixture


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
