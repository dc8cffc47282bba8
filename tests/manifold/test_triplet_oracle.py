import numpy as np
import pytest
from sklearn.base import clone

from skrank.datasets import make_triplets
from skrank.manifold import CachingOracle, CountingOracle, EuclideanOracle, TripletOracle


def test_recorded_questions_are_answered_in_both_orders():
    triplets, X = make_triplets(n_items=15, n_triplets=3000, random_state=0)
    oracle = TripletOracle.from_triplets(triplets)
    i, j, k = triplets.T
    assert oracle(i, j, k).all()
    assert not oracle(i[:, None], k[:, None], j[:, None]).any()
    assert len(oracle) == 3000
    assert oracle.n_items == 15
    assert clone(oracle) is oracle


def test_majority_answers_and_an_even_split_goes_to_the_first():
    oracle = TripletOracle.from_triplets([[0, 1, 2], [0, 2, 1], [0, 1, 2], [1, 2, 0], [1, 0, 2]])
    np.testing.assert_array_equal(oracle([0, 0, 1, 1], [1, 2, 0, 2], [2, 1, 2, 0]), [True, False, False, True])
    np.testing.assert_array_equal(TripletOracle.from_triplets([[0, 1, 2], [0, 2, 1]], [2, 3])([0], [1], [2]), [False])


@pytest.mark.parametrize("question", [(0, 1, 3), (3, 1, 2), (0, 1, 7), (9, 1, 2), (0, -1, 2), (-1, 1, 2), (0, 1, 1)])
def test_unseen_questions_are_refused(question):
    oracle = TripletOracle.from_triplets([[0, 1, 2], [1, 2, 3], [2, 3, 1]])
    with pytest.raises(ValueError, match="1 of 1 queries were never recorded.*StochasticTripletEmbedding"):
        oracle(*([item] for item in question))


def test_oracles_say_what_they_are():
    oracle = CachingOracle(CountingOracle(TripletOracle([[0, 1, 2], [1, 2, 3]])))
    assert repr(oracle) == "CachingOracle(CountingOracle(TripletOracle(<2 answers>)))"
    assert "noise='flip'" in repr(CountingOracle(EuclideanOracle(noise="flip")))


def test_bad_records_are_refused():
    with pytest.raises(ValueError, match=r"row 1 is \[1, 1, 2\]"):
        TripletOracle.from_triplets([[0, 1, 2], [1, 1, 2]])
