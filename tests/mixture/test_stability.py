"""What random halves of the voters find again: the criterion, the attribute, the method."""

import warnings

import numpy as np
import pytest

from skrank.datasets import load_apa, make_mallows_mixture, make_rankings
from skrank.exceptions import ComponentLimitWarning
from skrank.mixture import MallowsMixture, SeparatedMallowsMixture
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._search import Centers, Halves, KMeans, Peel, Random, SearchOptions
from skrank.mixture._search._halves import is_close, soft_jaccard


def table(X):
    ranks, counts = np.unique(X, axis=0, return_counts=True)
    return PairSigns(ranks.astype(np.int8), counts.astype(float))


@pytest.fixture(scope="module")
def two_groups():
    return make_mallows_mixture(500, 6, n_components=2, phi=0.4, weights=[0.7, 0.3], random_state=0)[0]


@pytest.fixture(scope="module")
def apa():
    """The complete ballots of the APA: no mixture of Mallows models is true of them."""
    bunch = load_apa(unranked="missing")
    complete = ~np.isnan(bunch.data).any(axis=1)
    return bunch.data[complete], bunch.sample_weight[complete]


# ---------------------------------------------------------------- the index
def test_soft_jaccard_of_certain_memberships_is_that_of_sets():
    rng = np.random.default_rng(0)
    labels, others = rng.integers(3, size=200), rng.integers(4, size=200)
    weights = rng.integers(1, 5, 200).astype(float)
    indices = soft_jaccard(np.eye(3)[:, labels], np.eye(4)[:, others], weights)
    for component, index in enumerate(indices):
        members = labels == component
        sets = [others == other for other in range(4)]
        by_hand = [weights[members & found].sum() / weights[members | found].sum() for found in sets]
        assert index == pytest.approx(max(by_hand))


def test_soft_jaccard_is_one_of_equal_memberships_and_small_of_others():
    membership = np.array([[0.9, 0.2, 0.5], [0.1, 0.8, 0.5]])
    np.testing.assert_allclose(soft_jaccard(membership, membership[::-1], np.ones(3)), 1)
    # min and max of (.9, .2, .5) with (.1, .8, .5) sum to .8 and 2.2.
    np.testing.assert_allclose(soft_jaccard(membership[:1], membership[1:], np.ones(3)), 0.8 / 2.2)


def test_a_decision_is_close_within_two_standard_errors():
    assert is_close(np.full((8, 2), 0.65))  # a deviation of at least .1: an error of .035
    assert not is_close(np.full((8, 2), 0.7))
    assert not is_close(np.full((8, 2), 0.5))
    assert is_close(np.c_[np.ones(8), np.tile([0.4, 1.0], 4)])


# ---------------------------------------------------------------- halves
def test_halves_are_complementary_and_count_the_weights(two_groups):
    data = table(two_groups)
    halves = Halves(data, [Peel()], SearchOptions(), np.random.default_rng(0))
    halves.add(3)
    assert len(halves) == 4  # pairs
    count = {row.tobytes(): weight for row, weight in zip(data.ranks.T, data.weights, strict=True)}
    for first, second in (halves.halves[:2], halves.halves[2:]):
        assert first.rows.total_weight == second.rows.total_weight == 250
        both = dict.fromkeys(count, 0.0)
        for half in (first, second):
            for row, weight in zip(half.rows.ranks.T, half.rows.weights, strict=True):
                both[row.tobytes()] += weight
        assert both == count


def test_halves_do_not_start_from_given_centers(two_groups):
    data = table(two_groups)
    centers = Centers(data.rankings([0, 1]))
    for starts in ([centers], [Random(), KMeans()], [Peel(), Peel()]):
        halves = Halves(data, starts, SearchOptions(), np.random.default_rng(0))
        assert [type(start) for start in halves.starts] == [Peel, KMeans]


def test_a_half_with_too_few_rows_keeps_the_mixtures_it_has():
    data = table(np.repeat([[0, 1, 2], [2, 1, 0]], 20, axis=0))
    halves = Halves(data, [Peel()], SearchOptions(), np.random.default_rng(0))
    halves.add(2)
    mixture = MallowsMixture(2, random_state=0).fit([[0, 1, 2], [2, 1, 0]], sample_weight=[20, 20])._mixture()
    assert halves.indices(data, mixture, 2).shape == (2, 2)
    assert [one.n_components for one in halves.halves[0].path] == [1, 2]


# ---------------------------------------------------------------- the criterion
def test_groups_that_are_there_are_stable(two_groups):
    mixture = MallowsMixture("auto", random_state=0).fit(two_groups)
    assert mixture.n_components_ == 2
    assert mixture.stability_.shape == (2,)
    assert mixture.stability_.min() > 0.9
    np.testing.assert_array_equal(mixture.path_[1].stability, mixture.stability_)
    np.testing.assert_array_equal(mixture.path_[0].stability, [1])
    assert mixture.path_[2].stability is None  # the description is longer, so halves were not searched


@pytest.mark.parametrize("estimator", [MallowsMixture, SeparatedMallowsMixture])
def test_one_cloud_is_one_group(estimator):
    X = make_rankings(400, 6, phi=0.6, random_state=0)
    assert estimator("auto", random_state=0).fit(X).n_components_ == 1


def test_where_no_mixture_is_true_stability_stops_before_the_description(apa):
    X, weights = apa
    mixture = MallowsMixture("auto", max_iter=1000, max_components=5, random_state=0).fit(X, sample_weight=weights)
    assert mixture.n_components_ == 4
    assert mixture.stability_.min() > 0.6
    assert mixture.path_[4].stability.min() < 0.6
    assert mixture.path_[4].description_length < mixture.path_[3].description_length


def test_halves_are_seeded_and_workers_change_nothing(two_groups):
    fits = [MallowsMixture("auto", random_state=0, n_jobs=n_jobs).fit(two_groups) for n_jobs in (None, 2, None)]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.stability_, fits[0].stability_)
        np.testing.assert_array_equal(other.weights_, fits[0].weights_)
        assert len(other.path_) == len(fits[0].path_)
    assert (MallowsMixture("auto", random_state=1).fit(two_groups).stability_ != fits[0].stability_).any()


def test_a_refit_without_halves_has_no_stability(two_groups):
    mixture = MallowsMixture("auto", random_state=0).fit(two_groups)
    mixture.set_params(criterion="mdl").fit(two_groups)
    assert not hasattr(mixture, "stability_")


@pytest.mark.parametrize("criterion", ["stability", "mdl", "split"])
def test_reaching_the_most_components_is_a_warning(criterion):
    X = make_mallows_mixture(600, 6, n_components=3, phi=0.3, random_state=0)[0]
    with pytest.warns(ComponentLimitWarning, match="Raise max_components"):
        mixture = MallowsMixture("auto", max_components=2, criterion=criterion, random_state=0).fit(X)
    assert mixture.n_components_ == 2


def test_three_voters_have_no_halves():
    mixture = MallowsMixture("auto", random_state=0)
    with pytest.warns(UserWarning, match="not determined"):
        mixture.fit([[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    assert mixture.n_components_ == 1
    with pytest.raises(ValueError, match="X has 3 voters, too few for halves: stability needs 4 or more"):
        mixture.stability([[0, 1, 2], [2, 1, 0], [1, 0, 2]])


# ---------------------------------------------------------------- the method
def test_the_method_tells_components_that_are_there_from_those_that_are_not(two_groups):
    right = MallowsMixture(2, random_state=0).fit(two_groups).stability(two_groups, n_halves=8)
    assert right.indices.shape == (8, 2)
    assert right.agreement.shape == (8,)
    np.testing.assert_allclose(right.stability, right.indices.mean(axis=0))
    assert (right.n_found == 8).all()
    assert right.agreement.min() > 0.8
    assert "component 1: " in str(right)
    assert "came back in 8 of 8 halves: stable" in str(right)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = MallowsMixture(4, random_state=0).fit(two_groups).stability(two_groups, n_halves=8)
    assert wrong.stability.min() < 0.6
    assert "do not rely on it" in str(wrong)


def test_the_method_takes_weights_voters_and_an_odd_number_of_halves(two_groups):
    ranks, counts = np.unique(two_groups, axis=0, return_counts=True)
    mixture = MallowsMixture(2, random_state=0).fit(two_groups)
    by_rows, by_weight = mixture.stability(two_groups, 5), mixture.stability(ranks, 5, sample_weight=counts)
    np.testing.assert_array_equal(by_rows.indices, by_weight.indices)
    assert by_rows.n_halves == 5
    voters = np.arange(len(two_groups))
    np.testing.assert_allclose(mixture.stability(two_groups, 4, groups=voters).stability, by_rows.stability, atol=0.1)
    with pytest.raises(ValueError, match="n_halves must be a positive integer, got 0"):
        mixture.stability(two_groups, 0)
