"""Ordinal embedding where the items, the answers or the parameters are of no use: an error or a warning says so."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skrank._triplets import check_triplets, count_items
from skrank.datasets import make_triplets
from skrank.exceptions import InsufficientDataWarning
from skrank.linear_model import BradleyTerry
from skrank.manifold import (
    CachingOracle,
    EuclideanOracle,
    LandmarkOrdinalEmbedding,
    StochasticTripletEmbedding,
    TripletOracle,
)
from skrank.metrics import procrustes_error, triplet_accuracy
from skrank.stats import mmd_test_from_kernel

POINTS = np.random.default_rng(0).standard_normal((120, 2))
EXACT = EuclideanOracle()


def embedded(X, n_components=2, **parameters):
    """The fitted estimator and the messages of its warnings, in one text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LandmarkOrdinalEmbedding(n_components, random_state=0, **parameters).fit(X)
    assert all(issubclass(one.category, (InsufficientDataWarning, ConvergenceWarning)) for one in caught)
    assert all(one.filename == __file__ for one in caught)
    assert np.isfinite(model.embedding_).all()
    return model, "\n".join(str(one.message) for one in caught)


def always(answer):
    return lambda anchors, left, right: np.full(len(left), answer)


# ---------------------------------------------------------------- items
@pytest.mark.parametrize("n_samples", [5, 10])
@pytest.mark.parametrize("noise", [None, "logistic"])
def test_few_items_are_embedded_or_warned_of(n_samples, noise):
    model, said = embedded(POINTS[:n_samples], oracle=EuclideanOracle(noise=noise))
    assert "expected Procrustes error" in said or procrustes_error(POINTS[:n_samples], model.embedding_) < 0.1


@pytest.mark.parametrize(
    ("X", "n_components", "message"),
    [
        (POINTS[:4], 2, "4 sample.* minimum of 5"),
        (POINTS[:40], 38, "40 sample.* minimum of 41"),
        (POINTS[:40], 40, "40 sample.* minimum of 43"),
        (np.zeros((30, 2)), 2, "1 distinct rows; .* at least n_components \\+ 3 = 5"),
        (np.tile(POINTS[:4], (10, 1)), 2, "4 distinct rows"),
        (np.eye(40), 2, "do not distinguish any items"),
        (POINTS * 1e200, 2, "largest number is .*e\\+200"),
        (POINTS * 1e-200, 2, "largest number is .*e-200"),
        (np.r_[POINTS, [[np.nan, 0]]], 2, "contains NaN"),
        (np.r_[POINTS, [[np.inf, 0]]], 2, "infinity"),
        (POINTS[:, 0], 2, "Expected 2D array"),
        ([["a"], ["b"]] * 20, 2, "strings"),
    ],
)
def test_items_that_cannot_be_embedded_are_refused(X, n_components, message):
    with pytest.raises(ValueError, match=message):
        LandmarkOrdinalEmbedding(n_components).fit(X)


def test_copies_of_items_have_one_place_and_change_nothing():
    once, _ = embedded(POINTS[:60], oracle=EXACT)
    twice, said = embedded(np.vstack([POINTS[:60], POINTS[:60]]), oracle=EXACT)
    np.testing.assert_allclose(twice.embedding_[:60] - twice.embedding_[0], once.embedding_ - once.embedding_[0])
    np.testing.assert_array_equal(twice.embedding_[:60], twice.embedding_[60:])
    assert not said


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_the_unit_of_the_items_does_not_matter(factor):
    oracle = EuclideanOracle(noise="flip", flip_rate=0.2)
    model, _ = embedded(POINTS * factor, oracle=oracle)
    assert procrustes_error(POINTS, model.embedding_) < 0.1


def test_constant_columns_and_offsets_say_nothing():
    model, said = embedded(np.c_[POINTS + 1e6, np.full(120, 7.0)], oracle=EXACT)
    assert procrustes_error(POINTS, model.embedding_) < 0.01
    assert not said


@pytest.mark.parametrize("distance", [30.0, 1e3, 1e8])
@pytest.mark.parametrize("seed", range(2))
def test_an_outlier_is_warned_of_and_leaves_the_others_alone(distance, seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.standard_normal((300, 2)), [[distance, 0]]])
    model, said = embedded(X, oracle=EuclideanOracle(noise="logistic"))
    assert "1 items are farther than all that they were compared with from every landmark" in said
    assert procrustes_error(X[:-1], model.embedding_[:-1]) < 0.02


# ---------------------------------------------------------------- answers
@pytest.mark.parametrize(
    "oracle", [lambda a, l, r: ~EXACT(a, l, r), EuclideanOracle(noise="flip", flip_rate=0.5)], ids=["inverted", "noise"]
)
def test_answers_that_no_points_give_are_warned_of(oracle):
    model, said = embedded(POINTS, oracle=oracle)
    assert procrustes_error(POINTS, model.embedding_) > 0.9
    assert "expected Procrustes error" in said


@pytest.mark.parametrize("answer", [True, False])
def test_an_oracle_that_always_says_the_same_is_no_oracle(answer):
    with pytest.raises(ValueError, match="do not distinguish any items"):
        LandmarkOrdinalEmbedding(oracle=always(answer), random_state=0).fit(POINTS)
    _, said = embedded(POINTS, oracle=always(answer), design="iid")
    assert "expected Procrustes error" in said


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda nearer: nearer.astype(float), TypeError, "must return booleans.*float64"),
        (lambda nearer: np.where(nearer, 1.0, np.nan), TypeError, "must return booleans"),
        (lambda nearer: nearer.astype(str), TypeError, "must return booleans"),
        (lambda nearer: nearer.astype(object), TypeError, "must return booleans"),
        (lambda nearer: None, ValueError, r"shape \(\)"),
        (lambda nearer: True, ValueError, r"shape \(\)"),
        (lambda nearer: nearer[:-1], ValueError, "must return an array of shape"),
        (lambda nearer: nearer[:, None], ValueError, "must return an array of shape"),
        (lambda nearer: np.ma.array(nearer, mask=np.arange(len(nearer)) == 0), ValueError, "masked array"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda oracle: oracle, CachingOracle])
def test_answers_that_are_no_answers_are_refused(answer, error, message, wrap):
    oracle = wrap(lambda a, l, r: answer(EXACT(a, l, r)))
    with pytest.raises(error, match=message):
        LandmarkOrdinalEmbedding(oracle=oracle, random_state=0).fit(POINTS)


def test_a_list_of_booleans_is_an_answer():
    listed, _ = embedded(POINTS, oracle=lambda a, l, r: EXACT(a, l, r).tolist())
    # the oracle gets copies: what it does to them does not reach the items
    copied, _ = embedded(POINTS, oracle=lambda a, l, r: (EXACT(a, l, r), l.fill(0), r.fill(0), a.fill(0))[0])
    np.testing.assert_array_equal(listed.embedding_, copied.embedding_)


# ---------------------------------------------------------------- recorded triplets
RECORDED, PLACES = make_triplets(30, 3000, noise="logistic", random_state=0)


@pytest.mark.parametrize(
    ("triplets", "message"),
    [
        ([[0, 0, 1]], r"must differ.* row 0 is \[0, 0, 1\]"),
        ([[0, 1, 2], [0, 1, 1]], r"must differ.* row 1 is \[0, 1, 1\]"),
        ([[-1, 0, 1]], "indices from 0"),
        ([[0, 1, 2.5]], "whole numbers"),
        ([[0, 1, np.nan]], "NaN"),
        ([[0, 1]], "3 columns"),
        ([[0, 1, 2, 3]], "3 columns"),
        ([0, 1, 2], "Expected 2D array"),
        (np.empty((0, 3)), "0 sample"),
        ([[0, 1, 10**9]], "index 1000000000, but only 3 different ones"),
        ([[0, 1, 2**62]], "index 4611686018427387904"),
        ([[0, 1, 2.0**70]], "below 2\\*\\*53"),
        (np.array([[0, 1, 2**63]], np.uint64), "below 2\\*\\*53"),
    ],
)
def test_triplets_that_are_none_are_refused(triplets, message):
    for use in (StochasticTripletEmbedding().fit, lambda rows: count_items(check_triplets(rows)), TripletOracle):
        with pytest.raises(ValueError, match=None if use is TripletOracle else message):
            use(triplets)


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ([0.5] + [1] * 2999, "row 0 is 0.5"),
        ([1, np.nan] + [1] * 2998, "row 1 is nan"),
        ([2, 0] + [1] * 2998, "row 1 is 0"),
        (["yes"] * 3000, "booleans or whole numbers"),
        ([1] * 2999, "inconsistent"),
        ([10**9] + [1] * 2999, r"responses\[0\], 1000000000"),
        ([2, 1e300] + [1] * 2998, r"responses\[1\], 1e\+300"),
        ([np.inf] + [1] * 2999, "inf"),
    ],
)
def test_responses_that_say_nothing_are_refused(responses, message):
    with pytest.raises(ValueError, match=message):
        StochasticTripletEmbedding().fit(RECORDED, responses)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.full((30, 2), np.nan), "NaN"),
        (np.ones((30, 2)), "all rows of init are equal"),
        (PLACES * 1e10, "spread over .*e\\+10"),
        (PLACES * 1e200, "spread over .*e\\+200"),
        (PLACES * 1e-200, "spread over .*e-200"),
        (PLACES[:, :1], r"shape \(30, 2\)"),
    ],
)
def test_starts_that_lead_nowhere_are_refused(init, message):
    with pytest.raises(ValueError, match=message):
        StochasticTripletEmbedding(init=init).fit(RECORDED)


def test_contradictions_cancel():
    """Every answer and its opposite: the likelihood is largest, log 2 an answer, where all distances are equal."""
    both = np.vstack([RECORDED, RECORDED[:, [0, 2, 1]]])
    model = StochasticTripletEmbedding(random_state=0).fit(both)
    assert model.loss_ == pytest.approx(len(both) * np.log(2), rel=1e-3)
    assert model.score(both) == pytest.approx(0.5)
    cycle = StochasticTripletEmbedding(random_state=0).fit([[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 10)
    assert cycle.loss_ == pytest.approx(30 * np.log(2), rel=1e-3)


def test_the_loss_is_that_of_the_model():
    model = StochasticTripletEmbedding(alpha=0.0, random_state=0).fit(RECORDED)
    squared = ((model.embedding_[:, None] - model.embedding_) ** 2).sum(axis=2)
    i, j, k = RECORDED.T
    assert model.loss_ == pytest.approx(np.log1p(np.exp(squared[i, j] - squared[i, k])).sum(), rel=1e-9)
    # no small move is better by more than tol allows
    rng = np.random.default_rng(1)
    for _ in range(20):
        moved = model.embedding_ + 1e-2 * rng.standard_normal(model.embedding_.shape)
        squared = ((moved[:, None] - moved) ** 2).sum(axis=2)
        assert np.log1p(np.exp(squared[i, j] - squared[i, k])).sum() > model.loss_ - 0.01


def test_names_of_items_do_not_matter():
    model = StochasticTripletEmbedding(alpha=1.0, random_state=0).fit(RECORDED)
    renamed = StochasticTripletEmbedding(alpha=1.0, random_state=0).fit(29 - RECORDED)
    assert procrustes_error(model.embedding_, renamed.embedding_[::-1]) < 1e-3
    assert renamed.loss_ == pytest.approx(model.loss_, rel=1e-4)
    with pytest.warns(InsufficientDataWarning, match="3 items occur in no triplet, such as item 0"):
        shifted = StochasticTripletEmbedding(alpha=1.0, random_state=0).fit(RECORDED + 3)
    assert procrustes_error(model.embedding_, shifted.embedding_[3:]) < 1e-3


def test_more_components_than_items():
    with pytest.warns(InsufficientDataWarning, match="fewer than the 15 coordinates"):
        model = StochasticTripletEmbedding(5, random_state=0).fit([[0, 1, 2], [1, 2, 0]])
    assert model.embedding_.shape == (3, 5)
    assert triplet_accuracy(model.embedding_, [[0, 1, 2], [1, 2, 0]]) == 1


def test_an_oracle_of_records_is_not_asked_about_parts_of_items():
    oracle = TripletOracle([[0, 1, 2]])
    assert oracle([0.0], [1.0], [2.0]).tolist() == [True]
    with pytest.raises(ValueError, match="row 0 is 0.5"):
        oracle([0.5], [1], [2])
    with pytest.raises(ValueError, match="never recorded"):
        oracle([0], [0], [0])


def test_masks_are_not_dropped():
    masked = np.ma.array(POINTS, mask=np.arange(POINTS.size).reshape(POINTS.shape) == 3)
    model = LandmarkOrdinalEmbedding(oracle=EuclideanOracle(noise="logistic"), random_state=0)
    with pytest.raises(ValueError, match="X is a masked array, with 1 entries masked"):
        model.fit(masked)
    with pytest.raises(ValueError, match="X is a masked array"):
        model.fit(POINTS).transform(masked)
    triplets = np.ma.array(RECORDED, mask=np.arange(RECORDED.size).reshape(RECORDED.shape) == 3)
    with pytest.raises(ValueError, match="X is a masked array"):
        StochasticTripletEmbedding().fit(triplets)
    with pytest.raises(ValueError, match="X is a masked array"):
        StochasticTripletEmbedding(random_state=0).fit(RECORDED).score(triplets)
    for use in (
        lambda: BradleyTerry().fit([[0, 1], [1, 0]], np.ma.array([1, 1], mask=[1, 0])),
        lambda: mmd_test_from_kernel(np.ma.array(np.eye(4), mask=np.eye(4) == 1), [0, 0, 1, 1]),
    ):
        with pytest.raises(ValueError, match="is a masked array"):
            use()
