import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from skrank.linear_model._comparison_graph import ComparisonGraph
from skrank.linear_model._covariance import centered_inverse, sampled_standard_errors
from skrank.linear_model._newton import center, find_mode
from skrank.linear_model._pair_likelihood import PairLikelihood


def fit_scores(graph, alpha, max_iter, tol):
    likelihood, component = PairLikelihood(graph, alpha), graph.components()[1]
    scores, info = find_mode(likelihood, likelihood.start(), lambda x: center(x, component), max_iter, tol)
    return scores, likelihood.information(scores).tocsr(), info


def exact_standard_errors(information, alpha, component):
    return np.sqrt(centered_inverse(information, alpha, component).diagonal())


def random_comparisons(n_items, n_pairs, seed):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(n_items)
    first = rng.integers(0, n_items, n_pairs)
    second = (first + rng.integers(1, n_items, n_pairs)) % n_items
    share = (rng.random(n_pairs) < expit(scores[first] - scores[second])).astype(float)
    share[::7] = 0.5
    return first, second, share, rng.random(n_pairs) + 0.5


@pytest.fixture(scope="module")
def comparisons():
    return random_comparisons(9, 200, seed=0)


def brute_force_loss(scores, comparisons, alpha):
    first, second, share, weight = comparisons
    margin = scores[first] - scores[second]
    losses = share * np.logaddexp(0, -margin) + (1 - share) * np.logaddexp(0, margin)
    return weight @ losses + 0.5 * alpha * scores @ scores


def test_aggregation_keeps_wins_and_totals(comparisons):
    first, second, share, weight = comparisons
    graph = ComparisonGraph.from_pairs(*comparisons, 9)
    assert np.all(graph.left < graph.right)
    assert graph.total.sum() == pytest.approx(weight.sum())
    won, lost = graph.won_and_lost()
    expected = np.bincount(first, weight * share, 9) + np.bincount(second, weight * (1 - share), 9)
    np.testing.assert_allclose(won, expected)
    np.testing.assert_allclose(won + lost, graph.degrees(graph.total))


@pytest.mark.parametrize("alpha", [0.0, 0.1, 3.0])
def test_scores_and_information_against_a_general_optimizer(comparisons, alpha):
    scores, information, info = fit_scores(ComparisonGraph.from_pairs(*comparisons, 9), alpha, 100, 1e-7)
    reference = minimize(brute_force_loss, np.zeros(9), args=(comparisons, alpha), method="BFGS", tol=1e-8)
    assert info["converged"]
    assert info["loss"] == pytest.approx(reference.fun, rel=1e-9)
    np.testing.assert_allclose(scores, reference.x - reference.x.mean(), atol=1e-5)
    first, second, _, weight = comparisons
    incidence = np.eye(9)[first] - np.eye(9)[second]
    p = expit(incidence @ scores)
    expected = (incidence * (weight * p * (1 - p))[:, None]).T @ incidence + alpha * np.eye(9)
    np.testing.assert_allclose(information.toarray(), expected, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 3.0])
def test_standard_errors_against_a_projected_inverse(comparisons, alpha):
    graph = ComparisonGraph.from_pairs(*comparisons, 9)
    _, information, _ = fit_scores(graph, alpha, 100, 1e-7)
    centring = np.eye(9) - 1 / 9
    covariance = centring @ np.linalg.pinv(centring @ information.toarray() @ centring) @ centring
    errors = exact_standard_errors(information, alpha, graph.components()[1])
    np.testing.assert_allclose(errors, np.sqrt(covariance.diagonal()), rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 3.0])
def test_sampled_standard_errors_are_near_the_exact_ones(alpha):
    first, second, share, weight = random_comparisons(80, 3000, seed=1)
    # two sets of items that no comparison connects
    first, second = np.concatenate([first, first + 80]), np.concatenate([second, second + 80])
    graph = ComparisonGraph.from_pairs(first, second, np.tile(share, 2), np.tile(weight, 2), 160)
    n_components, component = graph.components()
    assert n_components == 2
    scores, information, _ = fit_scores(graph, alpha, 100, 1e-5)
    exact = exact_standard_errors(information, alpha, component)
    sampled = sampled_standard_errors(graph, scores, information, alpha, component, 50, np.random.RandomState(0))
    # the share that is drawn is 1 in 40 to 80 opponents, its standard error a fifth of that: 2 % is over four of them
    np.testing.assert_allclose(sampled, exact, rtol=0.02)
    assert np.abs(sampled / exact - 1).max() > 0


def test_components_of_wins():
    graph = ComparisonGraph.from_pairs(
        np.array([0, 1, 2, 3]), np.array([1, 2, 0, 4]), np.array([1.0, 1.0, 1.0, 1.0]), np.ones(4), 6
    )
    n_components, component = graph.components()
    assert n_components == 3
    assert component[0] == component[1] == component[2] != component[3] == component[4] != component[5]
    assert graph.components(directed=True)[0] == 4  # the cycle of three, and three single items
