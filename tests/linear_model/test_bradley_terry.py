import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank.exceptions import InsufficientDataWarning
from skrank.linear_model import BradleyTerry

NOT_PAIRS = "the check's X is a matrix of features; here X holds the labels of two items a row"
CHECKS_THAT_NEED_FEATURES = (
    "check_all_zero_sample_weights_error",
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_regression_target",
    "check_classifiers_train",
    "check_complex_data",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in_after_fitting",
    "check_non_transformer_estimators_n_iter",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
    "check_supervised_y_2d",
)


@parametrize_with_checks(
    [BradleyTerry()], expected_failed_checks=lambda estimator: dict.fromkeys(CHECKS_THAT_NEED_FEATURES, NOT_PAIRS)
)
@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")  # of pairs of random numbers
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Games of the American League East, 1987 (A. Agresti, Categorical Data Analysis, 2nd ed. 2002, table 10.10): wins of
# the row's team against the column's. Coefficients and standard errors relative to Baltimore as published with the R
# package BradleyTerry2 (H. Turner and D. Firth, Journal of Statistical Software 48(9), 2012, section 3).
TEAMS = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"]
WINS = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ]
)
COEFFICIENTS = [1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839, 0]
STANDARD_ERRORS = [0.3433, 0.3396, 0.3367, 0.3359, 0.3339, 0.3319]


@pytest.fixture(scope="module")
def baseball():
    winner, loser = np.nonzero(WINS)
    pairs = np.array(TEAMS, object)[np.column_stack([winner, loser])]
    return pairs, WINS[winner, loser]


def test_published_values(baseball):
    pairs, wins = baseball
    model = BradleyTerry(alpha=0, items=TEAMS).fit(pairs, sample_weight=wins)
    assert model.items_.tolist() == TEAMS
    np.testing.assert_allclose(model.scores_ - model.scores_[-1], COEFFICIENTS, atol=2e-4)
    covariance = np.linalg.pinv(model.information_.toarray())
    variance = covariance.diagonal()[:-1] + covariance[-1, -1] - 2 * covariance[:-1, -1]
    np.testing.assert_allclose(np.sqrt(variance), STANDARD_ERRORS, atol=2e-4)
    np.testing.assert_allclose(model.standard_errors(), np.sqrt(covariance.diagonal()), rtol=1e-6)


def test_weights_are_repeats_and_order_does_not_matter(baseball):
    pairs, wins = baseball
    model = BradleyTerry().fit(pairs, sample_weight=wins)
    repeated = BradleyTerry().fit(np.repeat(pairs, wins, axis=0)[::-1])
    turned = BradleyTerry().fit(pairs[:, ::-1], np.zeros(len(pairs)), sample_weight=wins)
    for other in (repeated, turned):
        np.testing.assert_allclose(other.scores_, model.scores_, atol=1e-6)
    with_zero = BradleyTerry().fit(np.vstack([pairs, [["Boston", "Detroit"]]]), sample_weight=np.append(wins, 0))
    np.testing.assert_allclose(with_zero.scores_, model.scores_, atol=1e-12)


def test_a_tie_is_half_a_win_each(baseball):
    pairs, wins = baseball
    tie = [["Boston", "Detroit"]]
    one = BradleyTerry().fit(np.vstack([pairs, tie]), np.append(np.ones(len(pairs)), 0.5), np.append(wins, 2))
    both = np.vstack([pairs, tie, [["Detroit", "Boston"]]])
    other = BradleyTerry().fit(both, sample_weight=np.append(wins, [1, 1]))
    np.testing.assert_allclose(one.scores_, other.scores_, atol=1e-6)


def test_predictions(baseball):
    pairs, wins = baseball
    model = BradleyTerry().fit(pairs, sample_weight=wins)
    score = dict(zip(model.items_, model.scores_, strict=True))
    margin = np.array([score[first] - score[second] for first, second in pairs])
    np.testing.assert_allclose(model.decision_function(pairs), margin)
    np.testing.assert_allclose(model.predict_proba(pairs), np.column_stack([expit(-margin), expit(margin)]))
    np.testing.assert_array_equal(model.predict(pairs), margin > 0)
    assert model.score(pairs, sample_weight=wins) == pytest.approx(wins[margin > 0].sum() / wins.sum())
    assert model.score(pairs, np.full(len(pairs), 0.5)) == 0.5
    assert BradleyTerry().fit([[0, 1], [1, 0]]).score([[0, 1]]) == 0.5


@pytest.mark.parametrize(
    "labels", [[3, 1, 2], [0.5, 0.25, 1.5], ["b", "a", "c"], [("x", 1), ("x", 0), ("y", 0)], [1, "a", None.__class__]]
)
def test_labels_of_any_type(labels):
    pairs = np.empty((4, 2), object)
    for row, (first, second) in enumerate([(0, 1), (1, 2), (0, 2), (2, 0)]):
        pairs[row, 0], pairs[row, 1] = labels[first], labels[second]
    model = BradleyTerry().fit(pairs)
    scores = dict(zip(model.items_.tolist(), model.scores_, strict=True))
    expected = BradleyTerry().fit([[0, 1], [1, 2], [0, 2], [2, 0]]).scores_
    np.testing.assert_allclose([scores[label] for label in labels], expected, atol=1e-12)


@pytest.mark.parametrize("frame", [pd.DataFrame, pytest.param(pl.DataFrame, marks=pytest.mark.polars_names)])
def test_data_frames(baseball, frame):
    pairs, wins = baseball
    model = BradleyTerry().fit(frame({"winner": list(pairs[:, 0]), "loser": list(pairs[:, 1])}), sample_weight=wins)
    assert list(model.feature_names_in_) == ["winner", "loser"]
    np.testing.assert_allclose(model.scores_, BradleyTerry().fit(pairs, sample_weight=wins).scores_)


def test_clone_and_pickle(baseball):
    pairs, wins = baseball
    model = BradleyTerry(alpha=0.3).fit(pairs, sample_weight=wins)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.standard_errors(), model.standard_errors())
    np.testing.assert_array_equal(clone(model).fit(pairs, sample_weight=wins).scores_, model.scores_)


def test_grid_search_by_likelihood():
    rng = np.random.default_rng(0)
    scores = 0.3 * rng.standard_normal(30)
    first = rng.integers(0, 30, 600)
    pairs = np.column_stack([first, (first + rng.integers(1, 30, 600)) % 30])
    y = (rng.random(600) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]])).astype(int)
    search = GridSearchCV(BradleyTerry(items=range(30)), {"alpha": [1e-3, 10.0]}, scoring="neg_log_loss", cv=3)
    assert search.fit(pairs, y).best_params_ == {"alpha": 10.0}  # the variance of the scores is 0.09


def test_scores_cover_the_truth_at_the_stated_rate():
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(200)
    first = rng.integers(0, 200, 20_000)
    pairs = np.column_stack([first, (first + rng.integers(1, 200, 20_000)) % 200])
    won = rng.random(20_000) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]])
    model = BradleyTerry(alpha=1.0).fit(pairs, won)
    covered = np.mean(np.abs(model.scores_ - scores + scores.mean()) < 1.96 * model.standard_errors())
    assert abs(covered - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 200)  # false alarm rate: 6e-5


def test_many_items_take_the_sampled_standard_errors():
    rng = np.random.default_rng(2)
    n_items = 1600
    first = np.concatenate([np.arange(n_items), rng.integers(0, n_items, 30_000)])
    step = np.append(np.ones(n_items, int), rng.integers(1, n_items, 30_000))
    pairs = np.column_stack([first, (first + step) % n_items])
    model = BradleyTerry().fit(pairs, rng.random(len(pairs)))
    errors = model.standard_errors()
    np.testing.assert_array_equal(errors, model.standard_errors())
    chosen = [0, 500, 1599]
    inverse = np.linalg.inv(model.information_.toarray())[chosen, chosen]
    np.testing.assert_allclose(errors[chosen], np.sqrt(inverse - 1 / (0.1 * n_items)), rtol=0.05)


def test_unconnected_items_are_named_and_finite():
    with pytest.warns(InsufficientDataWarning, match="2 unconnected sets: 0 and 2"):
        model = BradleyTerry().fit([[0, 1], [1, 0], [2, 3], [3, 2]])
    np.testing.assert_allclose(model.scores_, 0, atol=1e-9)
    assert np.isfinite(model.standard_errors()).all()
    np.testing.assert_array_equal(model.connected_components_, [0, 0, 1, 1])
    with pytest.warns(InsufficientDataWarning, match="unconnected sets: 'a' and 'c'"):
        model = BradleyTerry(items=["a", "b", "c"]).fit([["a", "b"], ["b", "a"]])
    assert model.scores_[2] == 0


def test_one_sided_items_are_named_and_finite():
    with pytest.warns(InsufficientDataWarning, match="1 item won or lost all its comparisons \\('a', for instance\\)"):
        model = BradleyTerry().fit([["a", "b"], ["b", "c"], ["c", "b"]], sample_weight=[1e6, 1, 1])
    assert np.isfinite(model.scores_).all()
    assert np.isfinite(model.standard_errors()).all()
    assert model.predict_proba([["a", "b"]])[0, 1] > 0.99
    with pytest.raises(ValueError, match="alpha=0 .* 2 groups"):
        BradleyTerry(alpha=0).fit([["a", "b"], ["b", "c"], ["c", "b"]])


def test_too_few_iterations_are_named(baseball):
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iterations"):
        BradleyTerry(max_iter=1, tol=1e-9).fit(baseball[0], sample_weight=baseball[1])


@pytest.mark.parametrize(
    ("pairs", "y", "weight", "message"),
    [
        ([["a", "b"], ["c", "c"]], None, None, "row 1 of X compares 'c' with itself"),
        ([["a", "b"], ["c", None]], None, None, r"row 1 of X names no item .*\['c', None\]"),
        ([[0.0, 1.0], [np.nan, 1.0]], None, None, "row 1 of X names no item"),
        ([["a", "b", "c"]], None, None, "2 columns"),
        ([], None, None, "0 sample"),
        ([["a", "b"]], [2], None, r"y\[0\] is 2.0"),
        ([["a", "b"]], [np.nan], None, r"y\[0\] is nan"),
        ([["a", "b"]], [1, 0], None, "inconsistent"),
        ([["a", "b"]], None, [-1], "sample_weight\\[0\\] is"),
        ([["a", "b"]], None, [0], "zero"),
    ],
)
def test_bad_input(pairs, y, weight, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerry().fit(pairs, y, weight)


def test_unknown_items():
    with pytest.raises(ValueError, match=r"row 1 of X names an item that is not known: \['a', 'z'\]"):
        BradleyTerry().fit([["a", "b"], ["b", "a"]]).predict([["a", "b"], ["a", "z"]])
    with pytest.raises(ValueError, match="not known"):
        BradleyTerry(items=["a", "b"]).fit([["a", "c"]])


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6, 1e9, 1e12])
def test_the_unit_of_weights_does_not_matter_without_regularization(baseball, factor):
    pairs, wins = baseball
    expected = BradleyTerry(alpha=0, tol=1e-8).fit(pairs, sample_weight=wins)
    model = BradleyTerry(alpha=0, tol=1e-5).fit(pairs, sample_weight=factor * wins)
    np.testing.assert_allclose(model.scores_, expected.scores_, atol=1e-4)
    np.testing.assert_allclose(model.standard_errors() * np.sqrt(factor), expected.standard_errors(), rtol=1e-4)


def test_scores_far_apart_are_not_taken_to_be_converged():
    pairs = [[0, 1], [1, 0], [0, 2], [2, 1], [1, 2]]
    model = BradleyTerry(alpha=0, max_iter=1000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(pairs, sample_weight=[1e9, 1, 1, 1, 1])
    # the exact gradient, in standard errors
    p = expit(model.scores_[:, None] - model.scores_)
    wins = np.zeros((3, 3))
    wins[tuple(np.transpose(pairs))] = [1e9, 1, 1, 1, 1]
    gradient = ((wins + wins.T) * p - wins).sum(axis=1)
    error = np.sqrt(((wins + wins.T) * p * (1 - p)).sum(axis=1))
    assert bool(caught) == (np.sqrt(np.mean((gradient / error) ** 2)) > model.tol)


# ---------------------------------------------------------------- outcomes
def test_convergence_is_not_warned_of_where_the_scores_are_right(baseball):
    pairs, wins = baseball
    model = BradleyTerry(alpha=0, tol=1e-13).fit(pairs, sample_weight=wins)
    np.testing.assert_allclose(model.scores_, BradleyTerry(alpha=0).fit(pairs, sample_weight=wins).scores_, atol=1e-4)
    p = expit(model.scores_[:, None] - model.scores_)
    order = [TEAMS.index(team) for team in model.items_]
    ordered = WINS[np.ix_(order, order)]
    np.testing.assert_allclose(((ordered + ordered.T) * p).sum(axis=1), ordered.sum(axis=1), rtol=1e-12)


PAIRS = [["a", "b"], ["b", "c"], ["c", "a"], ["b", "a"], ["c", "b"]] * 3
OUTCOMES = [1, 0.5, 0, 1, 0] * 3
WINNERS = ["a", "tie", "a", "b", "b"] * 3
WORDS = ["win", "tie", "loss", "win", "loss"] * 3


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_outcomes_as_numbers_winners_and_words_are_the_same(ties):
    expected = BradleyTerry(ties=ties).fit(PAIRS, OUTCOMES)
    for y in (WINNERS, WORDS, np.array(WINNERS), pd.Series(WORDS), pl.Series(WINNERS)):
        model = BradleyTerry(ties=ties).fit(PAIRS, y)
        np.testing.assert_array_equal(model.scores_, expected.scores_)
        np.testing.assert_array_equal(model.standard_errors(), expected.standard_errors())
        assert model.classes_.tolist() == (["loss", "win"] if ties == "half" else ["loss", "tie", "win"])
        assert set(model.predict(PAIRS)) <= set(model.classes_)
        assert model.score(PAIRS, y) == expected.score(PAIRS, OUTCOMES)
    assert expected.classes_.tolist() == ([0, 1] if ties == "half" else [0, 0.5, 1])


def test_davidson_probabilities_and_log_loss():
    rng = np.random.default_rng(3)
    pairs = np.array([["a", "b"], ["b", "c"], ["c", "a"]])[rng.integers(0, 3, 600)]
    y = rng.choice(["win", "tie", "loss"], 600, p=[0.5, 0.3, 0.2])
    model = BradleyTerry(ties="davidson", order_effect=True).fit(pairs, y)
    proba = model.predict_proba([["a", "b"]])
    np.testing.assert_allclose(proba.sum(), 1)
    assert abs(proba[0, 1] - 0.3) < 0.06
    assert model.order_effect_ == pytest.approx(np.log(0.5 / 0.2), abs=0.3)
    losses = cross_val_score(BradleyTerry(ties="davidson", order_effect=True), pairs, y, scoring="neg_log_loss", cv=3)
    assert np.abs(losses + 1.03).max() < 0.06  # the entropy of the outcomes is 1.03
    margin = model.decision_function([["a", "b"]])
    np.testing.assert_allclose(np.log(proba[0, 2] / proba[0, 0]), margin)


def test_no_ties_and_only_ties():
    model = BradleyTerry(ties="davidson").fit(PAIRS)
    np.testing.assert_allclose(model.scores_, BradleyTerry().fit(PAIRS).scores_)
    assert model.tie_parameter_ == 0
    np.testing.assert_array_equal(model.predict_proba(PAIRS)[:, 1], 0)
    with pytest.raises(ValueError, match="all comparisons are ties, .* Use ties='half'"):
        BradleyTerry(ties="davidson").fit(PAIRS, np.full(15, 0.5))
    with pytest.warns(InsufficientDataWarning, match="all comparisons are ties, which shows no variance"):
        model = BradleyTerry().fit(PAIRS, np.full(15, 0.5))
    np.testing.assert_allclose(model.scores_, 0)
    assert (model.standard_errors() > 0.3).all()
    with pytest.raises(ValueError, match="y has shares other than"):
        BradleyTerry(ties="davidson").fit(PAIRS, np.full(15, 0.4))


def test_order_effect_and_its_error():
    rng = np.random.default_rng(4)
    effects, errors = [], []
    scores = np.array([-0.5, 0, 0.5])
    for _ in range(60):
        first = rng.integers(0, 3, 300)
        pairs = np.column_stack([first, (first + rng.integers(1, 3, 300)) % 3])
        y = rng.random(300) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]] + 0.4)
        model = BradleyTerry(order_effect=True).fit(pairs, y)
        effects.append(model.order_effect_)
        errors.append(model.order_effect_standard_error_)
    assert np.mean(effects) == pytest.approx(0.4, abs=4 * 0.12 / np.sqrt(60))
    assert np.mean(errors) == pytest.approx(np.std(effects), rel=0.35)  # its relative error is 0.09
    without = BradleyTerry().fit(pairs, y)
    assert without.order_effect_ == without.order_effect_standard_error_ == 0
    grouped = BradleyTerry(order_effect=True).fit(pairs, y, groups=np.arange(300))
    assert grouped.order_effect_standard_error_ == pytest.approx(model.order_effect_standard_error_, rel=0.2)


# ---------------------------------------------------------------- what one asks of a table of scores
def test_contrasts_intervals_and_anchors(baseball):
    pairs, wins = baseball
    free = BradleyTerry(alpha=0).fit(pairs, sample_weight=wins)
    anchored = BradleyTerry(alpha=0, anchor="Baltimore").fit(pairs, sample_weight=wins)
    order = [anchored.items_.tolist().index(team) for team in TEAMS]
    np.testing.assert_allclose(anchored.scores_[order], COEFFICIENTS, atol=2e-4)
    np.testing.assert_allclose(anchored.standard_errors()[order[:-1]], STANDARD_ERRORS, atol=2e-4)
    assert anchored.standard_errors()[order[-1]] == 0
    for model in (free, anchored):
        contrast = model.contrast("Detroit", "Baltimore")
        assert contrast.difference == pytest.approx(1.4364, abs=2e-4)
        assert contrast.standard_error == pytest.approx(0.3396, abs=2e-4)
        assert contrast.upper - contrast.lower == pytest.approx(2 * 1.959964 * contrast.standard_error)
        assert contrast.pvalue == pytest.approx(2.3e-5, rel=0.05)  # z = 4.23
        np.testing.assert_allclose(model.intervals(0.9).mean(axis=1), model.scores_)
    np.testing.assert_array_equal(free.rank_ranges(), anchored.rank_ranges())
    with pytest.raises(ValueError, match="'Seattle' is not an item. The items are in items_: 'Baltimore'"):
        free.contrast("Detroit", "Seattle")
    with pytest.raises(ValueError, match="'Seattle' is not an item"):
        BradleyTerry(anchor="Seattle").fit(pairs)


def test_leaderboard(baseball):
    pairs, wins = baseball
    model = BradleyTerry(anchor="Baltimore").fit(pairs, sample_weight=wins)
    board = model.leaderboard(unit="elo")
    assert board.items.tolist() == TEAMS
    assert board.scores[-1] == board.lower[-1] == board.upper[-1] == 1000
    np.testing.assert_allclose((board.scores - 1000) * np.log(10) / 400, np.sort(model.scores_)[::-1])
    np.testing.assert_array_equal(board.rank_ranges, model.rank_ranges()[np.argsort(-model.scores_)])
    games = WINS.sum() * 2 / 7
    np.testing.assert_allclose(board.n_comparisons.mean(), games)
    assert str(board).splitlines()[1].split()[0] == "Milwaukee"
    assert " ".join(str(board).split()).endswith("the errors are too small: pass groups.")
    assert board.rows(2)[1]["item"] == "Detroit"
    assert len(board.rows()) == 7


def test_many_items_with_groups_and_anchor():
    rng = np.random.default_rng(5)
    n_items = 1600
    first = np.concatenate([np.arange(n_items), rng.integers(0, n_items, 30_000)])
    step = np.append(np.ones(n_items, int), rng.integers(1, n_items, 30_000))
    pairs = np.column_stack([first, (first + step) % n_items])
    y, judge = rng.random(len(pairs)) < 0.5, rng.integers(0, 300, len(pairs))
    model = BradleyTerry(anchor=3).fit(pairs, y, groups=judge)
    errors = model.standard_errors()
    contrast = model.contrast(7, 3)
    assert errors[3] == pytest.approx(0, abs=0.05)
    assert errors[7] == pytest.approx(contrast.standard_error, rel=0.1)
    exact = model.covariance()
    assert np.sqrt(exact[7, 7]) == pytest.approx(contrast.standard_error, rel=0.02)


# ---------------------------------------------------------------- groups
def test_judges_with_tastes_make_clustered_errors_larger():
    rng = np.random.default_rng(6)
    tastes = rng.standard_normal((25, 5))
    judge = rng.integers(0, 25, 2000)
    first = rng.integers(0, 5, 2000)
    pairs = np.column_stack([first, (first + rng.integers(1, 5, 2000)) % 5])
    y = rng.random(2000) < expit(tastes[judge, pairs[:, 0]] - tastes[judge, pairs[:, 1]])
    plain, clustered = BradleyTerry().fit(pairs, y), BradleyTerry().fit(pairs, y, groups=judge)
    np.testing.assert_array_equal(plain.scores_, clustered.scores_)
    assert (clustered.standard_errors() > 2 * plain.standard_errors()).all()
    assert plain.errors_ == "model"
    assert clustered.errors_ == "clustered"
    names = np.array([f"judge {number}" for number in judge])
    np.testing.assert_allclose(
        BradleyTerry().fit(pairs, y, groups=names).standard_errors(), clustered.standard_errors()
    )


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["x"] * 15, "groups has one value only"),
        ([["x", i] for i in range(15)], "column 0 of groups has one value only"),
        (["x", None] + ["y"] * 13, r"groups\[1\] in column 0 is None: every row needs a group"),
        ([np.nan] * 15, r"groups\[0\] in column 0 is nan"),
        (["x", "y"], "inconsistent"),
        ([["x", "y", "z"]] * 15, "one column or two"),
    ],
)
def test_bad_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerry().fit(PAIRS, OUTCOMES, groups=groups)


def test_few_groups_are_named_and_a_judge_with_one_vote_is_none_of_them():
    with pytest.warns(InsufficientDataWarning, match="groups are worth 2.3 groups of equal sizes"):
        model = BradleyTerry().fit(PAIRS, OUTCOMES, groups=[0] + [1] * 7 + [2] * 7)
    assert np.isfinite(model.standard_errors()).all()
    model = BradleyTerry().fit(PAIRS, OUTCOMES, groups=range(15))
    assert np.isfinite(model.intervals()).all()


@pytest.mark.parametrize(
    ("pairs", "y", "message"),
    [
        ([["a", "b"], ["b", "c"]], ["a", "a"], r"y\[1\] is 'a', which is neither an item of its row \('b', 'c'\)"),
        ([["a", "b"], ["b", "c"]], ["a", "z"], r"y\[1\] is 'z', which is neither"),
        ([["a", "b"], ["b", "c"]], ["a", None], r"y\[1\] is None, which is neither"),
        ([["a", "b"], ["b", "c"]], ["a", ""], r"y\[1\] is '', which is neither"),
        ([["a", "tie"], ["tie", "c"]], ["a", "tie"], r"y\[1\] is 'tie', which is also the label of an item"),
        ([[7, 8], [8, 9]], [7, 8], r"y\[0\] is 7.0. Labels of winners that are numbers"),
    ],
)
def test_winners_that_are_neither(pairs, y, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerry().fit(pairs, y)


def test_one_item_alone_is_an_error():
    with pytest.raises(ValueError, match="compares 'a' with itself"):
        BradleyTerry().fit([["a", "a"]])


def test_items_never_compared_are_as_uncertain_as_the_prior():
    with pytest.warns(InsufficientDataWarning, match="unconnected"):
        model = BradleyTerry(items=["a", "b", "c", "d"]).fit(PAIRS, OUTCOMES, groups=range(15))
    np.testing.assert_array_equal(model.rank_ranges()[3], [1, 4])
    assert np.isnan(model.contrast("a", "d").difference)


def test_metadata_routing():
    with config_context(enable_metadata_routing=True):
        model = BradleyTerry(items=["a", "b", "c"]).set_fit_request(groups="judge", sample_weight=True)
        model.set_score_request(sample_weight=True)
        judges = np.arange(15)
        search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=GroupKFold(3).set_split_request(groups="judge"))
        search.fit(PAIRS, OUTCOMES, judge=judges, sample_weight=np.ones(15))
    assert search.best_estimator_.errors_ == "clustered"


def test_a_draw_is_a_tie():
    pairs = [["a", "b"], ["b", "c"], ["a", "c"], ["c", "a"]]
    ties, draws = (BradleyTerry().fit(pairs, ["a", word, "c", word]) for word in ("tie", "draw"))
    np.testing.assert_array_equal(draws.scores_, ties.scores_)
    with pytest.raises(ValueError, match=r"y\[1\] is 'draw', which is also the label of an item"):
        BradleyTerry().fit([["draw", "b"], ["b", "c"]], ["b", "draw"])
