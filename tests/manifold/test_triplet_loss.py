import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.spatial.distance import cdist

from skrank.manifold._stochastic_triplet import fit_triplets, principal_axes
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


def test_regularisation_adds_its_squares():
    X, triplets = random_answers(8, 60, 2, seed=0)
    plain, regularised = (TripletLoss(triplets, 8, alpha, np.float64) for alpha in (0.0, 0.7))
    value, gradient = plain.value_and_gradient(X)
    other_value, other_gradient = regularised.value_and_gradient(X)
    assert other_value == pytest.approx(value + 0.35 * (X**2).sum())
    assert regularised.value(X) == pytest.approx(other_value)
    np.testing.assert_allclose(other_gradient, gradient + 0.7 * X)
    difference = regularised.curvature_blocks(X) - plain.curvature_blocks(X)
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


@pytest.mark.parametrize("init", ["spectral", "random"])
def test_fit_reaches_the_optimum_of_a_general_optimiser(init):
    X, triplets = random_answers(12, 900, 2, seed=5)
    embedding, info = fit_triplets(triplets, 12, 2, init=init, tol=1e-4, random_state=0)
    reference = minimize(lambda x: brute_force_loss(triplets, x.reshape(12, 2)), X.ravel(), method="BFGS")
    assert info["converged"]
    assert info["loss"] == pytest.approx(reference.fun, abs=1e-3)
    assert brute_force_loss(triplets, embedding) == pytest.approx(info["loss"], rel=1e-9)
    np.testing.assert_allclose(cdist(embedding, embedding), cdist(*2 * [reference.x.reshape(12, 2)]), atol=0.02)


def test_fit_is_reproducible_and_reports_each_iteration():
    _, triplets = random_answers(20, 600, 2, seed=6)
    losses = []
    first, info = fit_triplets(triplets, 20, 2, random_state=3, callback=lambda n_iter, loss: losses.append(loss))
    second, _ = fit_triplets(triplets, 20, 2, random_state=3)
    np.testing.assert_array_equal(first, second)
    assert len(losses) == info["n_iter"]
    assert np.all(np.diff(losses) < 0)
    warm, warm_info = fit_triplets(triplets, 20, 2, init=first)
    assert warm_info["n_iter"] == 0
    np.testing.assert_allclose(warm, first, atol=1e-12)


@pytest.mark.parametrize("shape", [(10, 3), (2, 5)])
def test_principal_axes_keep_distances_and_fix_signs(shape):
    X = np.random.default_rng(0).standard_normal(shape) + 3
    turned = principal_axes(X)
    assert turned.shape == shape
    np.testing.assert_allclose(cdist(turned, turned), cdist(X, X), atol=1e-9)
    np.testing.assert_allclose(turned.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(principal_axes(-X), turned, atol=1e-9)
