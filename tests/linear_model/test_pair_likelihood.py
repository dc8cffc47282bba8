import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from skrank.linear_model import BradleyTerry
from skrank.linear_model._comparison_graph import ComparisonGraph
from skrank.linear_model._pair_likelihood import PairLikelihood, davidson_proba

N_ITEMS = 6


def comparisons(seed, n=300):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, N_ITEMS, n)
    second = (first + rng.integers(1, N_ITEMS, n)) % N_ITEMS
    scores = rng.standard_normal(N_ITEMS)
    proba = davidson_proba(scores[first] - scores[second] + 0.5, np.log(0.7))
    share = (rng.random(n)[:, None] > np.cumsum(proba, axis=1)[:, :2]).sum(axis=1) / 2
    return first, second, share, rng.integers(1, 4, n)


def formula(parameters, first, second, share, weight, alpha, order_effect):
    """Davidson's likelihood, row by row."""
    scores, log_nu = parameters[:N_ITEMS], parameters[-1]
    margin = scores[first] - scores[second] + (parameters[N_ITEMS] if order_effect else 0)
    win, loss, tie = np.exp(margin / 2), np.exp(-margin / 2), np.exp(log_nu)
    chosen = np.where(share == 1, win, np.where(share == 0, loss, tie))
    return -weight @ np.log(chosen / (win + loss + tie)) + 0.5 * alpha * scores @ scores


@pytest.mark.parametrize("order_effect", [False, True])
def test_davidson_estimates_equal_a_general_optimizer_on_the_formula(order_effect):
    first, second, share, weight = comparisons(0)
    model = BradleyTerry(ties="davidson", order_effect=order_effect, tol=1e-9)
    model.fit(np.column_stack([first, second]), share, sample_weight=weight)
    arguments = (first, second, share, weight, model.alpha, order_effect)
    reference = minimize(
        formula, np.zeros(N_ITEMS + 1 + order_effect), arguments, method="BFGS", options={"gtol": 1e-7}
    )
    reference.x[:N_ITEMS] -= reference.x[:N_ITEMS].mean()
    fitted = np.concatenate([model.scores_, [model.order_effect_] * order_effect, [np.log(model.tie_parameter_)]])
    np.testing.assert_allclose(fitted, reference.x, atol=1e-6)
    assert formula(fitted, *arguments) == pytest.approx(reference.fun, rel=1e-10)


@pytest.mark.parametrize("davidson", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_derivatives_against_differences(davidson, ordered):
    first, second, share, weight = comparisons(1)
    graph = ComparisonGraph.from_pairs(first, second, share, weight, N_ITEMS, tie=share == 0.5, ordered=ordered)
    likelihood = PairLikelihood(graph, 0.3, davidson)
    at = np.random.default_rng(0).normal(size=N_ITEMS + likelihood.n_others)
    gradient = likelihood.value_and_gradient(at)[1]
    numeric = approx_fprime(at, lambda x: likelihood.value_and_gradient(x)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)
    information = likelihood.information(at)
    numeric = approx_fprime(at, lambda x: likelihood.value_and_gradient(x)[1], 1e-7)
    np.testing.assert_allclose(information.tocsr().toarray(), numeric, rtol=1e-4, atol=1e-4)
    vector = np.random.default_rng(1).normal(size=len(at))
    np.testing.assert_allclose(information.product(vector), information.tocsr() @ vector)
    np.testing.assert_allclose(information.solve(information.product(vector)), vector, rtol=1e-6)


def test_extreme_margins_do_not_overflow():
    margin = np.array([-2000.0, 0.0, 2000.0])
    for log_nu in (-700.0, 0.0, 700.0):
        np.testing.assert_allclose(davidson_proba(margin, log_nu).sum(axis=1), 1)
    left, right = np.array([0]), np.array([1])
    graph = ComparisonGraph(2, left, right, np.array([3.0]), np.array([1.5]), np.array([1.0]))
    value, gradient = PairLikelihood(graph, 0.0, True).value_and_gradient(np.array([1000.0, -1000.0, 0.0]))
    # one win, one tie (2000/2 less likely than a win) and one loss (2000 less likely)
    assert value == pytest.approx(3000)
    np.testing.assert_allclose(gradient, [1.5, -1.5, -1])
