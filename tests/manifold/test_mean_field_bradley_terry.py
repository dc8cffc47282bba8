"""The quasi-Newton solver against an exact minimizer of the same loss."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from skrank.manifold._designs import CirculantDesign, IndependentDesign
from skrank.manifold._mean_field_bradley_terry import fit_scores, mean_field_curvature, mean_field_scores


class Panel:
    """Logistic responses about scores, whatever the anchor; keeps the pairs that were asked."""

    def __init__(self, scores, rng):
        self.scores, self.rng, self.asked = scores, rng, []

    def __call__(self, anchors, left, right):
        left, right = left[:, 0], right[:, 0]
        self.asked.append((left, right))
        return self.rng.random(len(left)) < expit(self.scores[right] - self.scores[left])


def exact_scores(wins, left, right, alpha):
    def loss(theta):
        difference = theta[left] - theta[right]
        value = np.logaddexp(0, difference).sum() - wins_at_left(theta) + alpha / 2 * theta @ theta
        probability = expit(difference)
        gradient = np.bincount(left, probability, len(theta)) + np.bincount(right, 1 - probability, len(theta))
        return value, gradient - wins + alpha * theta

    def wins_at_left(theta):
        # sum of softplus(theta_near - theta_far) = sum softplus(left - right) + sum right - wins @ theta
        return wins @ theta - theta[right].sum()

    return minimize(loss, np.zeros(len(wins)), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}).x


@pytest.mark.parametrize("spread", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("n_shifts", [7, 15, 60])
@pytest.mark.parametrize("kind", ["circulant", "iid"])
def test_scores_are_the_penalized_maximum_likelihood_estimate(spread, n_shifts, kind):
    rng = np.random.default_rng(n_shifts)
    n = 400
    scores = spread * rng.standard_normal(n) ** 3 if spread == 2.0 else spread * rng.standard_normal(n)
    state = np.random.RandomState(0)
    design = (
        CirculantDesign.draw(n, n_shifts, state)
        if kind == "circulant"
        else IndependentDesign.draw(n, n * n_shifts, state)
    )
    panel = Panel(scores, rng)
    responses = design.ask(panel, np.arange(n + 1)[:, None], n, 0, False)  # the last item is the landmark
    wins = responses.wins
    degree = responses.degree if kind == "iid" else 2 * n_shifts
    estimate, converged = fit_scores(wins, degree, lambda half: design.sum_tanh(half, 0), tol=1e-3, max_iter=200)
    assert converged
    left, right = (np.concatenate(side) for side in zip(*panel.asked, strict=True))
    exact = exact_scores(wins, left, right, 0.1)
    standard_error = 1 / np.sqrt(mean_field_curvature(exact, 2 * n_shifts) + 0.1)
    # tol bounds the step in standard errors; single precision and the averaged metric leave some
    assert np.sqrt(np.mean(((estimate - exact + exact.mean()) / standard_error) ** 2)) < 0.01


def test_mean_field_scores_solve_their_equation():
    rng = np.random.default_rng(0)
    degree = 20
    wins = rng.binomial(degree, rng.beta(1, 1, 3000))
    theta = mean_field_scores(wins, degree, 0.1).astype(float)
    left = degree * expit(theta[:, None] - theta).mean(axis=1) + 0.1 * theta
    # up to a constant, because the scores have mean zero; neighboring numbers of wins share an unknown
    np.testing.assert_allclose(left - wins, (left - wins).mean(), atol=0.02)


def test_mean_field_curvature_is_the_mean_logistic_density():
    scores = np.random.default_rng(0).standard_normal(1000) * 2
    probability = expit(scores[:, None] - scores)
    exact = 30 * (probability * (1 - probability)).mean(axis=1)
    np.testing.assert_allclose(mean_field_curvature(scores, 30, n_bins=500), exact, rtol=0.02)


@pytest.mark.parametrize("wins", [np.zeros(5, int), np.full(5, 4), np.array([0, 1, 2, 3, 4])])
def test_one_sided_and_equal_wins_stay_finite(wins):
    shifts = np.array([1, 2])
    design = CirculantDesign(5, shifts)
    estimate, _ = fit_scores(wins, 4, lambda half: design.sum_tanh(half, 0))
    assert np.isfinite(estimate).all()
    assert np.all(np.diff(estimate) >= 0)
