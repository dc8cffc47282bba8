import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist

from skrank.manifold._triplet_loss import _CHUNK, TripletLoss


def random_answers(n_items, n_triplets, n_components, seed, noise=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_items, n_components))
    triplets = np.array([rng.choice(n_items, 3, replace=False) for _ in range(n_triplets)])
    D = cdist(X, X, "sqeuclidean")
    margin = D[triplets[:, 0], triplets[:, 1]] - D[triplets[:, 0], triplets[:, 2]]
    near = rng.random(n_triplets) * noise < (1 / (1 + np.exp(margin)) if noise else margin < 0)
    return X, np.where(near[:, None], triplets, triplets[:, [0, 2, 1]])


def brute_force_loss(triplets, X):
    D = cdist(X, X, "sqeuclidean")
    return np.logaddexp(0, D[triplets[:, 0], triplets[:, 1]] - D[triplets[:, 0], triplets[:, 2]]).sum()


@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_loss_and_gradient_against_brute_force(n_components):
    _, triplets = random_answers(8, 60, n_components, seed=0)
    X = np.random.default_rng(1).standard_normal((8, n_components))
    value, gradient = TripletLoss(triplets, 8, dtype=np.float64).value_and_gradient(X)
    assert value == pytest.approx(brute_force_loss(triplets, X), rel=1e-12)
    assert TripletLoss(triplets, 8, dtype=np.float64).value(X) == pytest.approx(value, rel=1e-12)
    numeric = approx_fprime(X.ravel(), lambda x: brute_force_loss(triplets, x.reshape(X.shape)), 1e-7)
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=1e-4)


def test_single_precision_agrees_over_several_chunks():
    rng = np.random.default_rng(0)
    triplets = np.argsort(rng.random((3 * _CHUNK + 5, 12)), axis=1)[:, :3]
    X = rng.standard_normal((12, 3))
    value, gradient = TripletLoss(triplets, 12, dtype=np.float64).value_and_gradient(X)
    assert value == pytest.approx(brute_force_loss(triplets, X), rel=1e-12)
    single, single_gradient = TripletLoss(triplets, 12, dtype=np.float32).value_and_gradient(X)
    assert single == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(single_gradient, gradient, atol=1e-5 * np.abs(gradient).max())


def test_extreme_distances_stay_finite():
    value, gradient = TripletLoss(np.array([[0, 1, 2]]), 3, dtype=np.float32).value_and_gradient([[0.0], [1e4], [0.0]])
    assert value == pytest.approx(1e8)
    assert np.isfinite(gradient).all()


def test_regularization_adds_its_squares():
    X, triplets = random_answers(8, 60, 2, seed=0)
    plain, regularized = (TripletLoss(triplets, 8, alpha, np.float64) for alpha in (0.0, 0.7))
    value, gradient = plain.value_and_gradient(X)
    other_value, other_gradient = regularized.value_and_gradient(X)
    assert other_value == pytest.approx(value + 0.35 * (X**2).sum())
    assert regularized.value(X) == pytest.approx(other_value)
    np.testing.assert_allclose(other_gradient, gradient + 0.7 * X)
    difference = regularized.curvature_blocks(X) - plain.curvature_blocks(X)
    np.testing.assert_allclose(difference, np.broadcast_to(0.7 * np.eye(2), (8, 2, 2)), atol=1e-12)


def test_order_of_the_triplets_does_not_matter():
    X, triplets = random_answers(9, 100, 2, seed=3)
    value, gradient = TripletLoss(triplets, 9, dtype=np.float64).value_and_gradient(X)
    other_value, other_gradient = TripletLoss(triplets[::-1], 9, dtype=np.float64).value_and_gradient(X)
    assert value == pytest.approx(other_value)
    np.testing.assert_allclose(gradient, other_gradient, atol=1e-12)


@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_curvature_blocks_against_sums_over_triplets(n_components):
    X, triplets = random_answers(7, 40, n_components, seed=2)
    D = cdist(X, X, "sqeuclidean")
    expected = np.zeros((7, n_components, n_components))
    for i, j, k in triplets:
        p = 1 / (1 + np.exp(D[i, j] - D[i, k]))
        for a, b in ((i, j), (i, k), (j, i), (k, i)):
            expected[a] += 4 * p * (1 - p) * np.outer(X[a] - X[b], X[a] - X[b])
    np.testing.assert_allclose(TripletLoss(triplets, 7, dtype=np.float64).curvature_blocks(X), expected, atol=1e-10)


def test_signed_counts_against_the_dense_matrix():
    _, triplets = random_answers(7, 40, 2, seed=4)
    counts = np.zeros((7, 7))
    for i, j, k in triplets:
        counts[i, j] += 0.5
        counts[i, k] -= 0.5
    np.testing.assert_allclose(TripletLoss(triplets, 7, dtype=np.float64).signed_counts(np.eye(7)), counts + counts.T)


@pytest.mark.parametrize("nu", [np.inf, 1.5])
@pytest.mark.parametrize("lapse", [(0.0, 0.0), (0.1, 0.3)])
def test_lapses_weights_and_kernels_against_brute_force(nu, lapse):
    _, triplets = random_answers(8, 60, 2, seed=0)
    rng = np.random.default_rng(1)
    X, weights, rater = rng.standard_normal((8, 2)), rng.random(60), rng.integers(2, size=60)
    lapse = np.array(lapse)
    loss = TripletLoss(triplets, 8, dtype=np.float64, weights=weights, rater=rater, n_rates=2, nu=nu)

    def brute_force(X, lapse):
        D = cdist(X, X, "sqeuclidean")
        if np.isfinite(nu):
            D = (nu + 1) / 2 * np.log(1 + D / nu)
        right = 1 / (1 + np.exp(D[triplets[:, 0], triplets[:, 1]] - D[triplets[:, 0], triplets[:, 2]]))
        return -(weights * np.log(lapse[rater] + (1 - 2 * lapse[rater]) * right)).sum()

    value, gradient, lapse_gradient = loss.evaluate(X, lapse)
    assert value == pytest.approx(brute_force(X, lapse), rel=1e-12)
    assert loss.value(X, lapse=lapse) == pytest.approx(value, rel=1e-12)
    numeric = approx_fprime(X.ravel(), lambda x: brute_force(x.reshape(X.shape), lapse), 1e-7)
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=1e-4)
    if lapse.any():
        numeric = approx_fprime(lapse, lambda e: brute_force(X, e), 1e-7)
        np.testing.assert_allclose(lapse_gradient, numeric, atol=1e-3)


def test_information_is_the_variance_of_the_slope():
    # the sum over the two responses of probability times squared slope of the log-probability
    X = np.random.default_rng(0).standard_normal((3, 2))
    for nu, rate in ((np.inf, 0.2), (2.0, 0.0), (2.0, 0.1)):
        expected, expected_lapse = np.zeros((2, 2)), 0.0
        for triplet in ([0, 1, 2], [0, 2, 1]):
            loss = TripletLoss(np.array([triplet]), 3, dtype=np.float64, nu=nu)
            value, gradient, lapse_gradient = loss.evaluate(X, np.array([rate]))
            expected += np.exp(-value) * np.outer(gradient[1], gradient[1])
            expected_lapse += np.exp(-value) * lapse_gradient[0] ** 2
        np.testing.assert_allclose(loss.curvature_blocks(X, np.array([rate]))[1], expected, rtol=1e-6)
        if rate:
            assert loss.lapse_information(X, np.array([rate]))[0] == pytest.approx(expected_lapse)


def test_a_weight_is_a_number_of_repetitions():
    X, triplets = random_answers(8, 60, 2, seed=0)
    weights = np.random.default_rng(1).integers(1, 4, 60)
    for lapse in (np.zeros(1), np.array([0.1])):
        one = TripletLoss(triplets, 8, dtype=np.float64, weights=weights).evaluate(X, lapse)
        other = TripletLoss(np.repeat(triplets, weights, axis=0), 8, dtype=np.float64).evaluate(X, lapse)
        assert one.value == pytest.approx(other.value)
        np.testing.assert_allclose(one.gradient, other.gradient, atol=1e-10)
