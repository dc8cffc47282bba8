"""Completions of partial rankings: the sets, the draws, and Lemmas 4 to 9 of Lomeli et al. (2019)."""

import itertools
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from skrank.stats import (
    antithetic_completion,
    complete_rankings,
    is_completion,
    log_n_completions,
    mallows,
    nearest_completion,
    sample_completions,
)

PARTIAL = {
    "full": [2, 0, 1, 3, 4],
    "top-2": [0, 1, 2, 2, 2],
    "buckets": [1, 0, 0, 1, 2],
    "missing": [0, np.nan, 1, np.nan, 1],
    "nothing": [np.nan] * 5,
}


def all_rankings(n_items):
    return np.array(list(itertools.permutations(range(n_items))))


def distances(first, second):
    first, second = np.broadcast_arrays(first, second)
    pairs = itertools.combinations(range(first.shape[-1]), 2)
    return sum(((first[..., a] - first[..., b]) * (second[..., a] - second[..., b]) < 0).astype(int) for a, b in pairs)


def completions_of(partial):
    every = all_rankings(len(partial))
    partial = np.asarray(partial, float)
    pairs = itertools.permutations(np.flatnonzero(~np.isnan(partial)), 2)
    wrong = [(partial[a] < partial[b]) & (every[:, a] > every[:, b]) for a, b in pairs]
    return every[~np.any(wrong, axis=0)] if wrong else every


def top(n_items, chosen):
    """The top-k list of some items, best first."""
    ranks = np.full(n_items, len(chosen))
    ranks[list(chosen)] = np.arange(len(chosen))
    return ranks


def many(partial, rankings):
    return np.tile(np.asarray(partial, float), (len(rankings), 1)), rankings


@pytest.mark.parametrize("partial", PARTIAL.values(), ids=PARTIAL)
def test_completions_are_counted_and_recognized(partial):
    expected, every = completions_of(partial), all_rankings(5)
    consistent = is_completion(every, many(partial, every)[0])
    np.testing.assert_array_equal(every[consistent], expected)
    np.testing.assert_array_equal(is_completion(every[None], [partial])[0], consistent)
    assert np.exp(log_n_completions([partial])) == pytest.approx([len(expected)])


@pytest.mark.parametrize("method", ["monte_carlo", "antithetic"])
@pytest.mark.parametrize("partial", PARTIAL.values(), ids=PARTIAL)
def test_draws_are_uniform_completions(partial, method):
    drawn = sample_completions([partial], 3000, method=method, random_state=1)
    assert is_completion(drawn.ranks, [partial]).all()
    expected = completions_of(partial)
    # Of antithetic pairs the first draws are independent.
    independent = drawn.ranks[0, :: 2 if method == "antithetic" else 1]
    counts = [(independent == one).all(axis=1).sum() for one in expected]
    assert sum(counts) == len(independent)
    if len(expected) > 1:
        assert chisquare(counts).pvalue > 1e-3
    assert drawn.effective_sample_size == pytest.approx([3000])


@pytest.mark.parametrize("partial", PARTIAL.values(), ids=PARTIAL)
def test_antithetic_is_an_involution_of_the_completions_and_what_pairs_of_draws_are(partial):
    completions = completions_of(partial)
    partners = antithetic_completion(*many(partial, completions))
    np.testing.assert_array_equal(antithetic_completion(*many(partial, partners)), completions)
    assert is_completion(partners, many(partial, partners)[0]).all()
    pairs = sample_completions([partial], 20).ranks[0].reshape(10, 2, 5)
    np.testing.assert_array_equal(antithetic_completion(*many(partial, pairs[:, 0])), pairs[:, 1])
    if not np.isnan(partial).any():
        farthest = [distances(one, completions).max() for one in completions]
        np.testing.assert_array_equal(distances(completions, partners), farthest)


def test_draws_are_a_function_of_the_ranking_and_the_seed():
    X = np.array(list(PARTIAL.values()), float)
    whole = sample_completions(X, 4, random_state=3)
    alone = sample_completions(X[2:3], 4, random_state=3)
    np.testing.assert_array_equal(whole.ranks[2], alone.ranks[0])
    assert (sample_completions(X, 4, random_state=4).ranks != whole.ranks).any()
    np.testing.assert_array_equal(complete_rankings(X[1:])[0], complete_rankings(X)[1])


@pytest.mark.parametrize("partial", [PARTIAL["buckets"], PARTIAL["missing"]], ids=["buckets", "missing"])
def test_draws_under_a_mallows_prior_have_its_conditional_probabilities(partial):
    model = mallows([1, 0, 3, 2, 4], 0.5)
    expected = completions_of(partial)
    probabilities = np.exp(model.logpmf(expected) - model.logpmf([partial]))
    drawn = sample_completions([partial], 4000, method="monte_carlo", prior=model).ranks[0]
    counts = [(drawn == one).all(axis=1).sum() for one in expected]
    assert chisquare(counts, 4000 * probabilities).pvalue > 1e-3
    assert is_completion(complete_rankings([partial], prior=model), [partial]).all()


class Tilted:
    """A distribution with a logpmf alone."""

    def logpmf(self, X):
        return np.log(1.0 + np.asarray(X)[:, 0])


def test_another_prior_weights_uniform_draws():
    drawn = sample_completions([[1, 0, 1, 1]], 2000, method="monte_carlo", prior=Tilted())
    assert drawn.weights.sum(axis=1) == pytest.approx([1])
    assert drawn.effective_sample_size[0] < 2000
    # Item 0 has the ranks 1, 2, 3 with probabilities proportional to 2, 3, 4.
    assert (drawn.weights * (drawn.ranks[..., 0] == 3)).sum() == pytest.approx(4 / 9, abs=0.05)
    with pytest.raises(ValueError, match="Use sample_completions"):
        complete_rankings([[1, 0, 1, 1]], prior=Tilted())


# ---------------------------------------------------------------- the lemmas, on all rankings of few items
R, OTHER = top(6, [4, 1]), top(6, [1, 5, 0])


def test_lemma_4_one_completion_is_nearest():
    completions, every = completions_of(R), all_rankings(6)[::7]
    table = distances(every[:, None], completions[None])
    assert ((table == table.min(axis=1, keepdims=True)).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(nearest_completion(*many(R, every)), completions[table.argmin(axis=1)])


def test_lemma_5_distances_decompose_over_the_nearest_completion():
    completions, every = completions_of(R)[:, None], all_rankings(6)[::7]
    nearest = nearest_completion(*many(R, every))
    np.testing.assert_array_equal(
        distances(completions, every), distances(completions, nearest) + distances(nearest, every)
    )


def test_lemma_6_distance_of_the_antithetic():
    completions, every = completions_of(R), completions_of(OTHER)
    partners = antithetic_completion(*many(R, completions))[:, None]
    nearest = nearest_completion(*many(R, every))
    completions = completions[:, None]
    expected = distances(completions, every) + comb(6 - 2, 2) - 2 * distances(completions, nearest)
    np.testing.assert_array_equal(distances(partners, every), expected)


def test_lemma_7_the_nearest_completion_of_a_uniform_ranking_is_uniform():
    nearest = nearest_completion(*many(R, completions_of(OTHER)))
    found, counts = np.unique(nearest, axis=0, return_counts=True)
    # 4, 1 as in R, then 5 and 0 as in the other list, then the rest in any order.
    expected = completions_of(top(6, [4, 1, 5, 0]))
    np.testing.assert_array_equal(found, expected[np.lexsort(expected.T[::-1])])
    assert len(set(counts)) == 1


def test_lemma_8_antithetic_and_nearest_completion_commute():
    smaller, completions = top(6, [4, 1, 3]), completions_of(R)
    first = antithetic_completion(*many(smaller, nearest_completion(*many(smaller, completions))))
    second = nearest_completion(*many(smaller, antithetic_completion(*many(R, completions))))
    np.testing.assert_array_equal(first, second)


def test_lemma_9_distances_to_a_smaller_set_are_opposite():
    smaller, completions = top(6, [4, 1, 3, 0]), completions_of(R)
    n, k, m = 6, 2, 4
    partners = antithetic_completion(*many(R, completions))
    own = distances(completions, nearest_completion(*many(smaller, completions)))
    other = distances(partners, nearest_completion(*many(smaller, partners)))
    total = ((n - k) - (m - k)) * (m - k) + comb(m - k, 2)
    np.testing.assert_array_equal(own + other, total)


# ---------------------------------------------------------------- errors
def test_errors_name_the_argument_and_the_remedy():
    with pytest.raises(ValueError, match="rankings must have shape"):
        is_completion([[0, 1, 2]], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="Row 0 of rankings ties"):
        is_completion([[0, 0]], [[0, 1]])
    with pytest.raises(ValueError, match="for row 1 of X that puts items in another order"):
        antithetic_completion([[0, 1, 2], [0, 1, 1]], [[0, 1, 2], [2, 1, 0]])
    with pytest.raises(ValueError, match="several completions can be nearest"):
        nearest_completion([[0, np.nan]], [[0, 1]])
    with pytest.raises(TypeError, match="prior must be a distribution"):
        sample_completions([[0, 1]], prior=3)
    with pytest.raises(ValueError, match="distribution over 3 items"):
        complete_rankings([[0, 1]], prior=mallows([0, 1, 2], 0.5))


def test_completions_keep_the_names_of_items():
    frame = pd.DataFrame([[0, np.nan, 1], [1, 0, np.nan]], columns=["egg", "tuna", "squid"], index=["ann", "bob"])
    full = complete_rankings(frame, random_state=0)
    assert list(full.columns) == list(frame.columns)
    assert list(full.index) == list(frame.index)
    np.testing.assert_array_equal(full.to_numpy(), complete_rankings(frame.to_numpy(), random_state=0))
