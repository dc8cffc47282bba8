import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank.exceptions import InsufficientDataWarning
from skrank.linear_model import BradleyTerry, PlackettLuce
from skrank.preprocessing import OrderingEncoder, ranks_from_orderings

NAN = np.nan
EXPECTED = dict.fromkeys(
    (
        "check_n_features_in_after_fitting",
        "check_estimators_dtypes",
        "check_sample_weight_equivalence_on_dense_data",
        "check_estimators_pickle",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_dict_unchanged",
        "check_fit_idempotent",
    ),
    "predict_proba takes pairs of items",
)


def draws(scores, n, rng):
    """Rankings: the order of exponential clocks."""
    return np.argsort(np.argsort(-(scores + rng.gumbel(size=(n, len(scores)))), axis=1), axis=1).astype(float)


# From choix 0.4.1 (L. Maystre): opt_rankings and opt_top1 with alpha=0.05, less their means.
FULL = [(0, 1, 2, 3), (1, 0, 3, 2), (2, 1, 0, 3), (0, 2, 1, 3), (3, 0, 1, 2), (0, 3, 2, 1)]
PARTIAL = [(0, 1, 2), (1, 0), (2, 1, 3), (0, 2), (3, 1), (3, 0, 2)]
CHOICES = [(2, [0, 1]), (0, [3]), (3, [1, 2]), (1, [0, 2, 3]), (0, [1, 2])]


@pytest.mark.parametrize(
    ("rankings", "expected"),
    [
        (FULL, [0.9443693386090871, 0.03474370345582467, -0.3681890243577058, -0.610924017707206]),
        (PARTIAL, [0.3318369092443878, 0.22039380045802875, -0.900001146394525, 0.34777043669210833]),
        (CHOICES, [0.4333846805731726, -0.20733675044008612, -0.207336750440086, -0.018711179693000495]),
    ],
)
def test_stored_values(rankings, expected):
    if rankings is CHOICES:
        X = np.full((len(rankings), 4), NAN)
        for row, (winner, losers) in zip(X, rankings, strict=True):
            row[winner], row[losers] = 0, 1
    else:
        X = ranks_from_orderings(rankings, items=range(4), unranked="missing")
    np.testing.assert_allclose(PlackettLuce(tol=1e-9).fit(X).scores_, expected, atol=1e-7)


def pairs_as_rankings(pairs, y, n_items):
    X = np.full((len(pairs), n_items), NAN)
    rows = np.arange(len(pairs))
    X[rows, pairs[:, 0]], X[rows, pairs[:, 1]] = 1 - y, y
    return X


@pytest.mark.parametrize("ties", [False, True])
def test_pairs_give_bradley_terry(ties):
    rng = np.random.default_rng(0)
    pairs = rng.permuted(np.tile(np.arange(6), (300, 1)), axis=1)[:, :2]
    y = rng.choice([0, 0.5, 1] if ties else [0, 1], 300)
    groups, weight = rng.integers(0, 20, 300), rng.integers(1, 4, 300)
    ours = PlackettLuce(ties="davidson-luce" if ties else "break", tol=1e-8, anchor=2)
    theirs = BradleyTerry(ties="davidson" if ties else "half", tol=1e-8, anchor=2)
    for way in (None, groups, np.column_stack([groups, rng.integers(0, 30, 300)])):
        ours.fit(pairs_as_rankings(pairs, y, 6), sample_weight=weight, groups=way)
        theirs.fit(pairs, y, sample_weight=weight, groups=way)
        np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=1e-9)
        np.testing.assert_allclose(ours.covariance(), theirs.covariance(), atol=1e-9)
        assert ours.degrees_of_freedom_ == theirs.degrees_of_freedom_
    np.testing.assert_allclose(ours.predict_proba(pairs), theirs.predict_proba(pairs), atol=1e-9)
    if ties:
        assert ours.tie_parameters_[2] == pytest.approx(theirs.tie_parameter_)


def test_a_tied_last_bucket_says_nothing_and_a_missing_item_is_no_choice():
    rng = np.random.default_rng(1)
    X = draws(np.linspace(-1, 1, 5), 200, rng)
    top = np.minimum(X, 2)
    model = PlackettLuce().fit(top)
    stages = []
    for row in top:
        first, second = np.flatnonzero(row == 0)[0], np.flatnonzero(row == 1)[0]
        stages.append(np.where(np.arange(5) == first, 0, 1.0))
        rest = np.where(np.arange(5) == second, 0, 1.0)
        rest[first] = NAN
        stages.append(rest)
    np.testing.assert_allclose(PlackettLuce().fit(stages).scores_, model.scores_, atol=1e-7)


def test_coarse_ratings_recover_the_scores_and_cover_them():
    rng = np.random.default_rng(2)
    scores = np.linspace(-1, 1, 8)
    covered = []
    for _ in range(30):
        X = draws(scores, 400, rng)
        coarse = np.floor(X / 2 + rng.integers(0, 2, (400, 1)) / 2)
        model = PlackettLuce().fit(coarse)
        low, high = model.intervals().T
        covered.append((low <= scores) & (scores <= high))
    # 240 intervals, correlated within a fit: .95 less four standard errors of 120
    assert np.mean(covered) > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 120)
    assert np.mean(covered) < 1


def test_clustered_errors_of_judges_with_tastes():
    rng = np.random.default_rng(3)
    judge = np.repeat(np.arange(40), 10)
    X = np.vstack([draws(rng.standard_normal(5), 10, rng) for _ in range(40)])
    plain, clustered = PlackettLuce().fit(X), PlackettLuce().fit(X, groups=judge)
    assert (clustered.standard_errors() > 1.5 * plain.standard_errors()).all()
    assert clustered.degrees_of_freedom_ == pytest.approx(39)


def test_weights_are_repeats_and_names_are_items():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(draws(np.zeros(4), 30, rng), columns=list("abcd"))
    weight = rng.integers(0, 3, 30)
    model = PlackettLuce(anchor="b").fit(X, sample_weight=weight)
    repeated = PlackettLuce(anchor="b").fit(X.loc[np.repeat(np.arange(30), weight)])
    np.testing.assert_allclose(model.scores_, repeated.scores_, atol=1e-6)
    np.testing.assert_allclose(model.covariance(), repeated.covariance(), atol=1e-6)
    assert model.items_.tolist() == list("abcd")
    assert model.scores_[1] == 0
    assert model.contrast("a", "b").difference == pytest.approx(model.scores_[0])
    assert model.score(X, sample_weight=weight) == pytest.approx(model.score_samples(X) @ weight / weight.sum())
    proba = model.predict_proba([["a", "b"]])
    assert proba[0, 1] == pytest.approx(1 / (1 + np.exp(-model.scores_[0])))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.standard_errors(), model.standard_errors())
    np.testing.assert_array_equal(clone(model).fit(X, sample_weight=weight).scores_, model.scores_)
    assert len(model.leaderboard().rows()) == 4


def test_pipelines_and_searches():
    rng = np.random.default_rng(5)
    orders = np.array(list("wxyz"), object)[np.argsort(draws(np.array([-2.0, 0, 0, 2]), 60, rng), axis=1)]
    pipeline = make_pipeline(OrderingEncoder(), PlackettLuce())
    search = GridSearchCV(pipeline, {"plackettluce__alpha": [0.1, 1e4]}, cv=3).fit(orders)
    assert search.best_params_ == {"plackettluce__alpha": 0.1}  # the scores are far apart
    assert search.best_score_ > -np.log(24) + 0.5  # better than equal items


def test_probabilities_of_ties_that_did_not_occur():
    X = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0], [2, 1, 0], [0, 0, 1]]
    model = PlackettLuce(ties="davidson-luce").fit(X)
    assert set(model.tie_parameters_) == {2}
    assert model.score_samples([[0, 0, 0]])[0] == -np.inf
    assert np.isfinite(model.score_samples(X)).all()
    plain = PlackettLuce(ties="davidson-luce").fit(X[:-1])
    assert plain.tie_parameters_ == {}
    np.testing.assert_array_equal(plain.predict_proba([[0, 1]])[:, 1], 0)


def test_connections():
    with pytest.warns(InsufficientDataWarning, match="2 unconnected sets: 0 and 2"):
        PlackettLuce().fit([[0, 1, NAN, NAN], [1, 0, NAN, NAN], [NAN, NAN, 0, 1], [NAN, NAN, 1, 0]])
    with pytest.warns(InsufficientDataWarning, match="1 item won or lost all its comparisons"):
        PlackettLuce().fit([[0, 1, 2], [0, 2, 1]])
    tied = [[0, 0, 1, 2], [1, 0, 1, 2], [2, 1, 0, 0], [2, 2, 1, 0]]
    PlackettLuce(alpha=0).fit(tied)  # each item is before each other, directly or through others
    with pytest.raises(ValueError, match=r"alpha=0 .* 2 groups"):
        PlackettLuce(alpha=0).fit([[0, 0, 1, 1], [1, 0, 2, 2], [0, 1, 2, 2], [1, 1, 2, 3], [1, 0, 3, 2]])
    with pytest.warns(InsufficientDataWarning, match="unconnected"):
        apart = PlackettLuce().fit([[0, 0, 1, NAN], [1, 0, 0, NAN], [0, 1, 0, NAN]])
    np.testing.assert_array_equal(apart.connected_components_, [0, 0, 0, 1])


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[0, 0, 0]], {}, "no ranking orders two items"),
        ([[0, NAN]], {"ties": "davidson-luce"}, "no ranking orders two items"),
        ([[0], [0]], {}, "X has 1 feature"),
        ([[0, 0, 0, 0, 0, 1]], {"ties": "davidson-luce"}, "row 0 of X ties 5 items"),
        ([[0, 0, 0]], {"ties": "davidson-luce"}, "all stages are ties"),
        ([["a", "b"]], {}, "contains labels"),
        ([[0, np.inf]], {}, "inf"),
        ([[0, 1]], {"anchor": 7}, "7 is not an item"),
    ],
)
@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_bad_input(X, options, message):
    with pytest.raises(ValueError, match=message):
        PlackettLuce(**options).fit(X)


def test_other_errors():
    with pytest.raises(NotFittedError):
        PlackettLuce().predict_proba([[0, 1]])
    model = PlackettLuce().fit([[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]])
    with pytest.raises(ValueError, match=r"row 0 of pairs names an item that is not known: \[0, 9\]"):
        model.predict_proba([[0, 9]])
    with pytest.raises(ValueError, match="groups has one value only"):
        PlackettLuce().fit([[0, 1], [1, 0]], groups=[1, 1])
    with pytest.warns(ConvergenceWarning, match="PlackettLuce did not converge in 1 iterations"):
        PlackettLuce(max_iter=1, tol=1e-9).fit([[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]])


@parametrize_with_checks([PlackettLuce()], expected_failed_checks=lambda estimator: EXPECTED)
@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
