"""Triplets from the responses that experiments record."""

import numpy as np
import pytest

from skrank.manifold import StochasticTripletEmbedding
from skrank.metrics import procrustes_error, triplet_accuracy
from skrank.preprocessing import (
    quadruplets_from_triplets,
    triplets_from_choices,
    triplets_from_most_central,
    triplets_from_odd_one_out,
    triplets_from_quadruplets,
    triplets_from_ranking,
)

POINTS = np.random.default_rng(0).standard_normal((25, 2))
DISTANCES = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)
SHOWN = np.array([np.random.default_rng(seed).permutation(25)[:6] for seed in range(600)])
ROWS = np.arange(len(SHOWN))


def of_three(choose):
    """The three first items of each row and the index of the one that `choose` takes from their distances."""
    shown = SHOWN[:, :3]
    distances = DISTANCES[shown[:, :, None], shown[:, None, :]]
    return shown, shown[ROWS, choose(distances)]


def odd(distances):
    # the one that the closest pair leaves out
    pairs = np.stack([distances[:, 1, 2], distances[:, 0, 2], distances[:, 0, 1]], axis=1)
    return pairs.argmin(axis=1)


def central(distances):
    pairs = np.stack([distances[:, 1, 2], distances[:, 0, 2], distances[:, 0, 1]], axis=1)
    return pairs.argmax(axis=1)


ANCHORS, OTHERS = SHOWN[:, 0], SHOWN[:, 1:]
ORDER = np.argsort(DISTANCES[ANCHORS[:, None], OTHERS], axis=1)
SORTED = np.take_along_axis(OTHERS, ORDER, axis=1)


@pytest.mark.parametrize(
    ("triplets", "index", "n_each"),
    [
        (*triplets_from_odd_one_out(*of_three(odd), return_index=True), 2),
        (*triplets_from_most_central(*of_three(central), return_index=True), 2),
        (*triplets_from_choices(ANCHORS, OTHERS, SORTED[:, 1::-1], return_index=True), 6),
        (*triplets_from_choices(ANCHORS, OTHERS, SORTED[:, 0], return_index=True), 4),
        (*triplets_from_ranking(ANCHORS, SORTED, return_index=True), 10),
    ],
    ids=["odd one out", "most central", "two choices", "one choice", "ranking"],
)
def test_triplets_are_true_and_recover_the_points(triplets, index, n_each):
    np.testing.assert_array_equal(np.bincount(index), n_each)
    assert triplet_accuracy(POINTS, triplets) == 1
    assert len(np.unique(triplets[:n_each], axis=0)) == n_each
    model = StochasticTripletEmbedding(n_items=25, random_state=0).fit(triplets)
    assert procrustes_error(POINTS, model.embedding_) < 0.1


def test_labels_stay_as_they_are():
    names = np.array([f"item {number:02d}" for number in range(25)])
    shown, chosen = of_three(odd)
    np.testing.assert_array_equal(
        triplets_from_odd_one_out(names[shown], names[chosen]), names[triplets_from_odd_one_out(shown, chosen)]
    )


def test_quadruplets_there_and_back():
    triplets = triplets_from_ranking(ANCHORS, SORTED)
    quadruplets = quadruplets_from_triplets(triplets)
    for order in ([0, 1, 2, 3], [1, 0, 2, 3], [0, 1, 3, 2], [1, 0, 3, 2]):
        np.testing.assert_array_equal(triplets_from_quadruplets(quadruplets[:, order]), triplets)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: triplets_from_odd_one_out([[0, 1, 2], [0, 1, 1]], [0, 0]), r"must differ; .* row 1 is \[0, 1, 1\]"),
        (lambda: triplets_from_odd_one_out([[0, 1, 2]], [3]), r"odd must be among the items shown.* row 0 is \[3\]"),
        (lambda: triplets_from_odd_one_out([["a", "b", None]], ["a"]), "needs a label: row 0"),
        (lambda: triplets_from_odd_one_out([[0, 1]], [0]), "3 columns"),
        (lambda: triplets_from_choices([0], [[1, 2, 3]], [[1, 1]]), "each item once: row 0"),
        (lambda: triplets_from_choices([0], [[0, 2, 3]], [[2]]), "anchor must not be among .* row 0"),
        (lambda: triplets_from_choices([0], [[1, 2]], [[1, 2]]), "not chosen"),
        (lambda: triplets_from_ranking([0, 1], [[1, 2]]), "inconsistent numbers of samples"),
        (lambda: triplets_from_quadruplets([[0, 1, 2, 3]]), r"share an item; drop such rows: row 0 is \[0, 1, 2, 3\]"),
        (lambda: triplets_from_quadruplets([[0, 1, 1, 0]]), "two different pairs"),
        (lambda: quadruplets_from_triplets([[0, 1]]), "3 columns"),
    ],
)
def test_bad_responses_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
