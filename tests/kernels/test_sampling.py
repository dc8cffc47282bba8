"""Samples of consistent full rankings: their law, and that they are a function of content and seed alone."""

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank._mallows import mirror, settle, uniform_positions
from skrank._random import hash_rows, random_words
from skrank._rankings import densify, pair_signs
from skrank.kernels._sampling import check_prior, sample_consistent
from skrank.stats import mallows

nan = np.nan
# Each goodness-of-fit test below fails with this probability if the law is right (over seeds; the seeds are fixed).
ERROR_RATE = 1e-4

EXHAUSTIVE = [[0, 1, 2, 2, 2, 2], [0, 0, 0, 0, 0, 0], [2, 0, 1, 0, 1, 2], [5, 4, 3, 2, 1, 0]]
GAPS = [[0, nan, 1, nan, 2, nan], [nan] * 6, [0, 0, nan, 1, 1, nan], [nan, nan, nan, 3, nan, nan], [1, 0, 2, 2, nan, 2]]
ROWS = EXHAUSTIVE + GAPS


class Mallows:
    """The interface that a prior has: center, phi, logpmf."""

    def __init__(self, center, phi):
        self.center, self.phi = np.asarray(center), phi

    def logpmf(self, X):
        signs = pair_signs(densify(np.asarray(X)), dtype=float) * pair_signs(densify(self.center[None]), dtype=float)
        return np.log(self.phi) * (signs < 0).sum(axis=1)


class OnlyLogpmf:
    """A distribution that is not a Mallows model."""

    def __init__(self, prior):
        self.logpmf = prior.logpmf


def ranks_of(rows):
    return densify(np.asarray(rows, float))


def counts(positions, support):
    """How often each row of `support` occurs; fails where something else does."""
    index = {tuple(row): number for number, row in enumerate(support)}
    return np.bincount([index[tuple(row)] for row in positions], minlength=len(support))


@pytest.mark.parametrize("method", ["monte_carlo", "antithetic"])
@pytest.mark.parametrize("row", ROWS)
def test_samples_are_uniform_on_the_consistent_rankings(row, method, consistent_rankings):
    support = consistent_rankings(row)
    samples = sample_consistent(ranks_of([row]), 20_000, 5, method=method)
    assert samples.weights is None
    # Antithetic samples depend on each other in pairs: the law of the first, and of the second ones.
    for part in (samples.positions[0, ::2], samples.positions[0, 1::2]):
        observed = counts(part, support)
        assert len(support) == 1 or chisquare(observed).pvalue > ERROR_RATE


@pytest.mark.parametrize("rows", [EXHAUSTIVE, GAPS, ROWS])
def test_samples_are_those_of_settle_and_mirror(rows):
    ranks = ranks_of(rows)
    words = random_words(hash_rows(ranks, 3), 4 * 6).reshape(len(rows), 4, 6)
    draws = settle(ranks, uniform_positions(words))
    samples = sample_consistent(ranks, 8, 3).positions
    np.testing.assert_array_equal(samples[:, ::2], draws)
    np.testing.assert_array_equal(samples[:, 1::2], mirror(ranks, draws))
    np.testing.assert_array_equal(sample_consistent(ranks, 4, 3, method="monte_carlo").positions, draws)


@pytest.mark.parametrize("method", ["monte_carlo", "antithetic"])
@pytest.mark.parametrize("prior", [None, Mallows([1, 0, 3, 2, 5, 4], 0.5)])
def test_samples_are_a_function_of_content_and_seed(method, prior):
    ranks = ranks_of(ROWS)
    whole = sample_consistent(ranks, 7, 11, method=method, prior=prior)
    order = np.random.default_rng(0).permutation(len(ranks))
    shuffled = sample_consistent(ranks[order].astype(np.int64), 7, 11, method=method, prior=prior)
    np.testing.assert_array_equal(shuffled.positions, whole.positions[order])
    for number in range(len(ranks)):
        alone = sample_consistent(ranks[number : number + 1], 7, 11, method=method, prior=prior)
        np.testing.assert_array_equal(alone.positions[0], whole.positions[number])
        if alone.weights is not None:
            np.testing.assert_allclose(alone.weights[0], whole.weights[number])
    longer = sample_consistent(ranks, 12, 11, method=method, prior=prior)
    np.testing.assert_array_equal(longer.positions[:, :7], whole.positions)
    other_seed = sample_consistent(ranks, 7, 12, method=method, prior=prior)
    assert (other_seed.positions != whole.positions).any(axis=(1, 2))[[0, 1, 4, 5]].all()


def test_different_rankings_have_independent_streams():
    # The same bucket of ties at other places: if streams were shared, the orders inside it would agree.
    ranks = ranks_of([[0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 0]])
    positions = sample_consistent(ranks, 2000, 0, method="monte_carlo").positions
    same = (np.argsort(positions[0, :, :5]) == np.argsort(positions[1, :, :5])).all(axis=1).mean()
    assert same < 1 / 120 + 5 * np.sqrt(1 / 120 / 2000)


@pytest.mark.parametrize("method", ["monte_carlo", "antithetic"])
@pytest.mark.parametrize("phi", [1.0, 0.6])
@pytest.mark.parametrize("row", EXHAUSTIVE[:3])
def test_a_mallows_prior_is_conditioned_exactly_without_gaps(row, phi, method, consistent_rankings):
    prior = Mallows([3, 1, 5, 0, 2, 4], phi)
    support = consistent_rankings(row)
    law = np.exp(prior.logpmf(support))
    samples = sample_consistent(ranks_of([row]), 20_000, 2, method=method, prior=prior)
    assert samples.weights is None
    for part in (samples.positions[0, ::2], samples.positions[0, 1::2]):
        assert chisquare(counts(part, support), law / law.sum() * len(part)).pvalue > ERROR_RATE


@pytest.mark.parametrize("method", ["monte_carlo", "antithetic"])
def test_importance_weights_are_the_ratio_of_prior_and_uniform(method, consistent_rankings):
    prior = Mallows([3, 1, 5, 0, 2, 4], 0.6)
    ranks = ranks_of(ROWS)
    samples = sample_consistent(ranks, 400, 2, method=method, prior=prior)  # which has no draws of its own
    np.testing.assert_allclose(samples.weights[: len(EXHAUSTIVE)], 1 / 400)
    for number in range(len(EXHAUSTIVE), len(ROWS)):
        ratio = np.exp(prior.logpmf(samples.positions[number]))
        np.testing.assert_allclose(samples.weights[number], ratio / ratio.sum())
    general = sample_consistent(ranks[:3], 20_000, 2, method=method, prior=OnlyLogpmf(prior))
    for number in range(3):
        support = consistent_rankings(EXHAUSTIVE[number])
        law = np.exp(prior.logpmf(support))
        weights = general.weights[number]
        estimate = weights @ (general.positions[number] == support[0]).all(axis=1)
        truth = law[0] / law.sum()
        assert abs(estimate - truth) < 5 * np.sqrt(truth * law.max() / law.mean() / 20_000)


@pytest.mark.parametrize("method", ["monte_carlo", "antithetic"])
@pytest.mark.parametrize("row", GAPS[:3])
def test_a_mallows_distribution_is_conditioned_exactly_with_gaps(row, method, consistent_rankings):
    prior = mallows([3, 1, 5, 0, 2, 4], 0.5)
    samples = sample_consistent(ranks_of([row]), 5000, 2, method=method, prior=prior)
    assert samples.weights is None
    support = consistent_rankings(row)
    law = prior.pmf(support)
    observed, expected = counts(samples.positions[0], support), law / law.sum() * 5000
    common = expected >= 5
    observed, expected = (np.r_[values[common], values[~common].sum()] for values in (observed, expected))
    kept = expected > 0
    assert chisquare(observed[kept], expected[kept]).pvalue > ERROR_RATE


def test_what_is_out_of_reach_of_exact_draws_is_weighted():
    prior = mallows(np.arange(40), 0.8)
    row = np.full(40, np.nan)
    row[[3, 20]] = 0, 1
    samples = sample_consistent(ranks_of([row, np.arange(40)]), 6, 0, prior=prior)
    assert np.ptp(samples.weights[0]) > 0
    np.testing.assert_allclose(samples.weights.sum(axis=1), 1)


def test_a_prior_of_another_kind_or_size_is_refused():
    with pytest.raises(TypeError, match="logpmf"):
        check_prior("mallows", 6)
    with pytest.raises(ValueError, match="over 3 items, but X ranks 6"):
        check_prior(Mallows([0, 1, 2], 0.5), 6)


def test_a_prior_without_mass_on_the_samples_is_refused():
    class Nowhere:
        def logpmf(self, X):
            return np.full(len(X), -np.inf)

    with pytest.raises(ValueError, match="probability zero"):
        sample_consistent(ranks_of(GAPS), 5, 0, prior=Nowhere())


@pytest.mark.parametrize("n_items", [1, 2, 40, 130, 300])
def test_any_number_of_items(n_items):
    rng = np.random.default_rng(n_items)
    values = rng.integers(0, max(n_items // 2, 1), (3, n_items)).astype(float)
    values[1, ::2] = nan
    ranks = densify(values)
    positions = sample_consistent(ranks, 5, 0).positions.astype(int)
    assert (np.sort(positions, axis=-1) == np.arange(n_items)).all()
    for row, samples in zip(ranks, positions, strict=True):
        ranked = np.flatnonzero(row >= 0)
        order = np.argsort(samples[:, ranked], axis=1)
        assert (np.diff(row[ranked].astype(int)[order], axis=1) >= 0).all()
