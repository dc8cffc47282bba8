"""Better places for items whose responses an embedding explains worst."""

import numpy as np
import pytest

from skrank.datasets import make_triplets
from skrank.manifold._diagnosis import _spread_of_far
from skrank.manifold._misplaced import best_places, losses_of_items
from skrank.manifold._triplet_loss import TripletLoss

RATE = 0.1


@pytest.fixture(scope="module")
def problem():
    """Responses of which a tenth are flipped, the true coordinates, and those with one item on the wrong side."""
    triplets, X = make_triplets(80, 20_000, noise="flip", flip_rate=RATE, random_state=0)
    X = 4 * X  # so that responses without a lapse are nearly certain
    wrong = X.copy()
    wrong[7] *= -1
    return triplets, X, wrong


def test_losses_of_items_are_those_of_their_responses(problem):
    triplets, X, wrong = problem
    excess = losses_of_items(triplets, wrong, RATE)
    assert excess.argmax() == 7
    assert excess[7] > 10
    anchors, near, far = (wrong[column] for column in triplets.T)
    margins = ((anchors - far) ** 2).sum(axis=1) - ((anchors - near) ** 2).sum(axis=1)
    losses = -np.log(RATE + (1 - 2 * RATE) / (1 + np.exp(-margins)))
    own = losses[(triplets == 7).any(axis=1)]
    assert excess[7] == pytest.approx((own - losses.mean()).sum() / np.sqrt(len(own) * losses.var()))


def test_the_place_is_that_of_the_least_loss(problem):
    triplets, X, wrong = problem
    places = best_places(triplets, wrong, RATE, np.random.RandomState(0))
    loss = TripletLoss(triplets, 80, dtype=np.float64)

    def loss_with_item_at(place):
        moved = wrong.copy()
        moved[7] = place
        return loss.evaluate(moved, np.array([RATE])).value

    there = [loss_with_item_at(place) for item, place in enumerate(wrong) if item != 7]
    assert loss_with_item_at(places[7]) == pytest.approx(min(there))
    assert np.linalg.norm(places[7] - X[7]) < 0.5 * np.linalg.norm(wrong[7] - X[7])


def test_the_spread_of_the_farthest_hundredth():
    X = np.random.default_rng(0).standard_normal((1000, 2))
    assert _spread_of_far(X) < 0.06
    X[:10] *= 40
    assert _spread_of_far(X) > 0.8
    assert _spread_of_far(X[:40]) == 0  # a hundredth of few items is none
