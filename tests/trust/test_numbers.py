"""Numbers at large sizes and in small types: exact where they are counts, in logs where they would overflow."""

import numpy as np
import pytest
from scipy.special import gammaln

from skrank import _mallows
from skrank._rankings import check_weights, densify
from skrank.datasets import make_mallows_mixture, make_rankings, make_triplets
from skrank.kernel_approximation import MallowsFeatures
from skrank.kernels import (
    HammingKernel,
    KendallKernel,
    MallowsKernel,
    MarginalizedKernel,
    PartialRankingKernel,
    SemimetricKernel,
    SpearmanKernel,
)
from skrank.manifold._triplet_fit import TripletData, TripletSettings, fit_triplets
from skrank.metrics import pairwise_ranking_distances, procrustes_error
from skrank.mixture._em import em, expectation, maximization
from skrank.mixture._model import Mixture
from skrank.mixture._pair_signs import PairSigns
from skrank.stats import mallows


def inversions(sequence):
    """Number of inversions of a sequence by merging, in Python's integers."""
    if len(sequence) < 2:
        return 0, sequence
    middle = len(sequence) // 2
    (left_count, left), (right_count, right) = inversions(sequence[:middle]), inversions(sequence[middle:])
    count, merged, place = left_count + right_count, [], 0
    for value in right:
        while place < len(left) and left[place] <= value:
            merged.append(left[place])
            place += 1
        count += len(left) - place
        merged.append(value)
    return count, merged + left[place:]


def test_kendall_counts_are_exact_at_ten_thousand_items():
    """49 995 000 pairs: more than float32 can count one by one."""
    n_items = 10_000
    rng = np.random.default_rng(0)
    X = np.array([np.arange(n_items), np.arange(n_items)[::-1], rng.permutation(n_items)])
    near = np.arange(n_items)
    near[[5, 6]] = near[[6, 5]]
    X = np.vstack([X, near])
    distances = pairwise_ranking_distances(X)
    n_pairs = n_items * (n_items - 1) // 2
    third = inversions(X[2].tolist())[0]
    np.testing.assert_array_equal(distances[0], [0, n_pairs, third, 1])
    np.testing.assert_array_equal(distances[1], [n_pairs, 0, n_pairs - third, n_pairs - 1])
    np.testing.assert_array_equal(distances[3, :2], [1, n_pairs - 1])


@pytest.mark.parametrize("phi", [0.0, 1e-12, 0.5, 0.999, 1 - 1e-12, 1.0])
def test_a_thousand_items_in_logs(phi):
    n_items = 1000
    center = np.random.default_rng(1).permutation(n_items)
    model = mallows(center, phi)
    # the uniform end is log 1000!, which is 1e2567 as a number
    if phi > 0.9999:
        assert model.log_partition() == pytest.approx(gammaln(n_items + 1), rel=1e-6)
    assert np.isfinite(model.log_partition())
    reverse = n_items - 1 - center
    logs = model.logpmf([center, reverse, np.where(center < 10, center, 10)])
    assert logs[0] == pytest.approx(-model.log_partition(), abs=1e-9)
    n_pairs = n_items * (n_items - 1) / 2
    if phi > 0:
        assert logs[1] == pytest.approx(n_pairs * np.log(phi) - model.log_partition(), rel=1e-12)
    else:
        assert logs[1] == -np.inf
    # a top-10 list of the center's best: the product of the probabilities to come next among those left
    left = np.arange(n_items, n_items - 10, -1)
    expected = -np.log(np.where(phi == 1, left, (1 - phi**left) / (1 - phi if phi < 1 else 1))).sum() if phi > 0 else 0
    assert logs[2] == pytest.approx(expected, rel=1e-5, abs=1e-9)
    drawn = model.rvs(20, random_state=0)
    distances = pairwise_ranking_distances(drawn, [center])[:, 0]
    tables = _mallows.log_q_factorial(n_items, model.nu)
    assert np.isfinite(tables).all()
    spread = np.sqrt(max(_variance_of_distance(n_items, phi), 1e-9) / 20)
    assert abs(distances.mean() - model.mean_distance()) < 5 * spread + 1e-9


def _variance_of_distance(n_items, phi):
    """The distance is a sum of independent truncated geometric numbers."""
    total = 0.0
    for m in range(1, n_items + 1):
        k = np.arange(m)
        weight = phi**k if phi < 1 else np.ones(m)
        weight = weight / weight.sum()
        mean = weight @ k
        total += weight @ k**2 - mean**2
    return total


def test_a_mixture_of_a_thousand_items():
    centers = np.array([np.arange(1000), np.arange(1000)[::-1]])
    X, y = make_mallows_mixture(60, 1000, n_components=2, centers=centers, phi=0.9, random_state=0)
    mixture = Mixture(centers, np.array([0.9, 0.9]), np.array([0.5, 0.5]))
    responsibilities, _, log_density = expectation(PairSigns(X.astype(np.int16)), mixture, with_log_density=True)
    np.testing.assert_allclose(responsibilities[1], y, atol=1e-12)
    expected = np.where(y == 0, mallows(centers[0], 0.9).logpmf(X), mallows(centers[1], 0.9).logpmf(X)) - np.log(2)
    np.testing.assert_allclose(log_density, expected, rtol=1e-6)


KERNELS = {
    "kendall": KendallKernel(),
    "mallows": MallowsKernel(0.2),
    "hamming": HammingKernel(),
    "spearman": SpearmanKernel(),
    "semimetric": SemimetricKernel("spearman_footrule", nu=0.1),
    "antithetic": MarginalizedKernel(MallowsKernel(0.2), n_draws=4),
    "sums": KendallKernel() * KendallKernel() + 0.5 * MallowsKernel(0.1),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_positive_semi_definite_to_rounding_on_2000_rows(name):
    kernel = KERNELS[name]
    full = name == "semimetric"
    options = {} if full else {"tie_rate": 0.3}
    if name in ("kendall", "hamming", "spearman", "antithetic"):
        options["missing_rate"] = 0.3
    X = make_rankings(2000, 6, phi=0.7, random_state=0, **options)
    # repeated rankings give equal rows: the spectrum is that of the distinct ones, weighted
    distinct, counts = np.unique(np.nan_to_num(X, nan=-1), axis=0, return_counts=True)
    distinct[distinct == -1] = np.nan
    gram = kernel(X)
    assert gram.shape == (2000, 2000)
    scale = np.sqrt(counts)
    small = kernel(distinct) * np.multiply.outer(scale, scale)
    eigenvalues = np.linalg.eigvalsh(small)
    assert eigenvalues[0] >= -1e-13 * len(distinct) * eigenvalues[-1]
    assert np.trace(gram) == pytest.approx(eigenvalues.sum(), rel=1e-9)
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=0)


@pytest.mark.parametrize("seed", range(4))
def test_the_penalized_likelihood_never_falls(seed):
    """The bound after each iteration of EM, with improved and with searched centers, from random centers."""
    rng = np.random.default_rng(seed)
    n_items, k = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    X = make_rankings(60, n_items, phi=0.8, tie_rate=0.3 * (seed % 2), random_state=seed)
    data = PairSigns(densify(X), rng.integers(1, 50, len(X)))
    centers = rng.permuted(np.tile(np.arange(n_items), (k, 1)), axis=1)
    start = Mixture(centers, np.full(k, 0.5), np.full(k, 1 / k))
    bounds = [em(data, start, max_iter=0).lower_bound]
    for n_iter in range(12):
        row_weights = expectation(data, start)[0] * data.weights.astype(np.float32)
        centers, dispersions, _ = maximization(
            data, row_weights, start.centers, data.distances(start.centers), thorough=n_iter % 2 == 1
        )
        weights = row_weights.sum(axis=1, dtype=float)
        start = Mixture(centers, dispersions, weights / weights.sum())
        bounds.append(em(data, start, max_iter=0).lower_bound)
    assert (np.diff(bounds) >= -1e-7).all(), bounds  # responsibilities are float32
    assert bounds[-1] > bounds[0]
    assert em(data, start, max_iter=20).lower_bound >= bounds[-1]


def test_float32_and_float64_agree():
    X = make_rankings(50, 8, top_k=4, unranked="missing", random_state=0)
    for kernel in ("kendall", "mallows", "hamming", "spearman"):
        results = [PartialRankingKernel(kernel, random_state=0).fit_transform(X.astype(t)) for t in (np.float32, float)]
        np.testing.assert_array_equal(*results)
    features = [MallowsFeatures(64, dtype=dtype, random_state=0).fit_transform(X) for dtype in (np.float32, np.float64)]
    assert features[0].dtype == np.float32
    np.testing.assert_allclose(*features, atol=1e-6)
    assert check_weights(np.ones(50, np.float32), X).dtype == np.float64


def test_triplets_in_both_precisions(monkeypatch):
    triplets, points = make_triplets(60, 20_000, noise="logistic", random_state=0)
    embeddings = []
    for limit in (1, 1 << 30):
        monkeypatch.setattr("skrank.manifold._triplet_fit.PRECISE_BELOW", limit)
        fit = fit_triplets(TripletData(triplets, 60), TripletSettings(2), random_state=0)
        embeddings.append(fit.points)
    assert procrustes_error(*embeddings) < 1e-4
    assert procrustes_error(points, embeddings[0]) < 0.05
