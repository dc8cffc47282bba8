"""Consensus of partial rankings: Kemeny, Borda and the pairwise majorities."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn import get_config
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._pair_words import are_full
from skrank._random import as_generator
from skrank._rankings import (
    MISSING,
    aggregate,
    bucket_places,
    check_rankings,
    check_weights,
    item_names,
    pair_signs,
    row_blocks,
)
from skrank._sparse_rankings import check_sparse_rankings, is_sparse, net_after
from skrank._typing import Array, ArrayLike, RandomState, Unranked, validate_params
from skrank.stats._kemeny import local_kemeny, solved_components
from skrank.stats._kemeny_optima import concatenated, is_unique, optimal_orderings, tied_ranks
from skrank.stats._pairwise import pairwise_wins
from skrank.stats._rank_sets import RankSets, n_redrawn, rank_sets, redrawn_weights

REDRAWS = {
    "n_draws": [Interval(Integral, 0, None, closed="left")],
    "confidence_level": [Interval(Real, 0, 1, closed="neither")],
}


# ---------------------------------------------------------------- functional core
def borda_contributions(ranks):
    """What each ranking adds to the items' Borda scores: comparisons won less those lost, (n_samples, n_items)."""
    if are_full(ranks):
        return ranks.shape[1] - 1 - 2 * ranks.astype(np.intp)
    first, size = bucket_places(ranks)
    n_ranked = np.count_nonzero(size, axis=1)[:, None]
    return np.where(size > 0, n_ranked - size - 2 * first, 0)


def list_borda_contributions(lists):
    """The same of `Lists`: ``entries[s, i] - base[s]`` for ranking s, without the base for missing items.

    Returns
    -------
    entries : csr_array of shape (n_rankings, n_items)
    base : ndarray of shape (n_rankings,)
        What an absent item loses to the listed ones; 0 if absent items are missing.
    """
    ranks, rows, lengths = lists.ranks, lists.rows, lists.lengths.astype(float)
    values = net_after(ranks.data, rows, ranks.indptr)
    if lists.tied_last:
        values += lists.n_items
    else:
        lengths[:] = 0
    return csr_array((values, ranks.indices, ranks.indptr), shape=ranks.shape), lengths


def _validated_table(X, sample_weight):
    """Distinct rankings with their weights, how many rankings they count as, and the items' names."""
    names = item_names(X)
    ranks = check_rankings(X)
    weights = None if sample_weight is None else check_weights(sample_weight, ranks)
    return aggregate(ranks, weights), len(ranks) if weights is None else n_redrawn(weights), names


def _has_place(table):
    """Which items any ranking ranks."""
    return (table.ranks != MISSING).any(axis=0)


def _by_rank(ranks, names):
    ordering = np.argsort(ranks, kind="stable")[: np.count_nonzero(~np.isnan(ranks))]
    return ordering if names is None else names[ordering]


# ---------------------------------------------------------------- Kemeny
@dataclass(frozen=True)
class KemenyResult:
    """Result of :func:`kemeny_consensus`.

    Attributes
    ----------
    ranks : ndarray of shape (n_items,)
        Rank of each item in the consensus, 0 for the best, without ties unless ``ties="keep"``; NaN for an item that no
        ranking ranks.
    distance : float
        Summed weight of the disagreements: pairs of items that a ranking orders strictly and against the consensus.
    is_exact : bool
        Whether no ranking has a smaller distance.
    item_names : ndarray of shape (n_items,) or None
        Column names of the DataFrame that the consensus was made of.
    rank_sets : RankSets or None
        How sure the places are, if `n_draws` was given: the places in each redraw, rank sets, and the proportion of
        redraws in which neighbors have the order of the consensus.
    is_unique : bool or None
        Whether every other ranking has a larger distance; None if `is_exact` is False.
    optima : ndarray of shape (n_found, n_items)
        Ranks of at most `max_optima` rankings with this distance, without ties, the first being `ranks`
        (its ties broken); only this one if `is_exact` is False.
    """

    ranks: np.ndarray
    distance: float
    is_exact: bool
    item_names: np.ndarray | None = None
    rank_sets: RankSets | None = None
    is_unique: bool | None = None
    optima: np.ndarray | None = None

    @property
    def ordering(self) -> Array:
        """Items, best first: their names where these are known, otherwise their column numbers."""
        return _by_rank(self.ranks, self.item_names)


@validate_params(
    {
        "X": "no_validation",
        "sample_weight": ["array-like", None],
        "method": [StrOptions({"auto", "exact", "local"})],
        "n_perturbations": [Interval(Integral, 0, None, closed="left")],
        "ties": [StrOptions({"break", "keep"})],
        "max_optima": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        **REDRAWS,
    },
    prefer_skip_nested_validation=True,
)
def kemeny_consensus(
    X: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    method: Literal["auto", "exact", "local"] = "auto",
    n_perturbations: int = 30,
    ties: Literal["break", "keep"] = "break",
    max_optima: int = 1,
    n_draws: int = 0,
    confidence_level: float = 0.9,
    random_state: RandomState = 0,
) -> KemenyResult:
    """Find the ranking with the smallest sum of Kendall distances to the given rankings (Kemeny-Young).

    It is also the maximum likelihood center of a Mallows model (:class:`~skrank.stats.mallows`). A ranking counts for
    the pairs of items that it orders strictly, so ties and missing items are ignored.

    If every item of one set beats every item of another by majority, then the first set precedes the second in an
    optimal ranking, so only cycles of majorities are hard. Cycles of at most 20 items are solved exactly by dynamic
    programming over subsets. Longer cycles are searched by moving single items until no move improves the result, with
    perturbations. Integer weights are added as integers, so the result is exact for any size of the weights.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix: lower is preferred, equal ranks are ties, NaN is missing.
    sample_weight : array-like of shape (n_samples,), default=None
        Nonnegative weights of the rankings. None means 1.
    method : {"auto", "exact", "local"}, default="auto"
        "auto" is exact for every cycle of at most 20 items. "exact" raises an error if the result may not be optimal.
        "local" uses the search for every cycle.
    n_perturbations : int, default=30
        How often the search, which starts from the Borda ordering, perturbs the present ordering and continues from
        there. In each range of positions that both orderings fill with the same items, it keeps the better one.
    ties : {"break", "keep"}, default="break"
        How to choose if several rankings have the smallest distance. "break" selects one by Borda scores and then by
        column; "keep" ties the items in each range of positions in which these rankings differ.
    max_optima : int, default=1
        Maximum number of rankings with the smallest distance in the `optima` of the result.
    n_draws : int, default=0
        How often the rankings are redrawn with replacement for the `rank_sets` of the result; 0 means not at all. The
        consensus of a redraw is found by the search, which also starts from the consensus of the data. If weights are
        not counts, (sum of weights)^2 / (sum of their squares) rankings are redrawn.
    confidence_level : float, default=0.9
        Probability that a rank set contains the item's position in the consensus of the population, separately for each
        item.
    random_state : int, RandomState instance or None, default=0
        Determines the perturbations and the redraws. With the default, the result is a function of the data.

    Returns
    -------
    result : KemenyResult
        With attributes `ranks`, `distance`, `is_exact`, `is_unique`, `optima`, `rank_sets`, `item_names` and
        `ordering`.

    Raises
    ------
    ValueError
        If X is not a valid rank matrix, or if `method="exact"` and there is a cycle of more than 20 items.

    References
    ----------
    .. [1] H. P. Young, "Condorcet's theory of voting", American Political Science Review 82(4), 1988.
    .. [2] A. Ali, M. Meila, "Experiments with Kemeny ranking: what works when?", Mathematical Social Sciences 64(1),
       2012.

    Examples
    --------
    Two thirds rank item 1 before item 0, everybody ranks item 2 last or not at all.

    >>> import numpy as np
    >>> from skrank.stats import kemeny_consensus
    >>> X = [[1, 0, 2], [1, 0, np.nan], [0, 1, 1]]
    >>> result = kemeny_consensus(X)
    >>> result.ranks
    array([1., 0., 2.])
    >>> result.distance, result.is_exact, result.is_unique
    (1.0, True, True)

    Three rankings in a cycle agree on nothing:

    >>> cycle = kemeny_consensus([[0, 1, 2], [2, 0, 1], [1, 2, 0]], ties="keep", max_optima=5)
    >>> cycle.ranks
    array([0., 0., 0.])
    >>> cycle.optima
    array([[0., 1., 2.],
           [2., 0., 1.],
           [1., 2., 0.]])
    """
    table, n_rankings, names = _validated_table(X, sample_weight)
    counts = pairwise_wins(table.ranks, table.weights)
    items = np.flatnonzero(_has_place(table))
    preferences = counts.preferences()[np.ix_(items, items)]
    seed = as_generator(random_state)
    components = solved_components(preferences, method=method, n_perturbations=n_perturbations, seed=seed)
    ordering = concatenated(components)
    is_exact = all(component.best is not None for component in components)
    orderings = optimal_orderings(components, preferences, max_optima) if is_exact else ordering[None]
    optima = np.full((len(orderings), len(counts.counts)), np.nan)
    optima[:, items] = np.argsort(orderings, axis=1)
    ranks = optima[0].copy()
    if ties == "keep":
        ranks[items] = tied_ranks(components, preferences)
    sets = None
    if n_draws:
        places = _redrawn_kemeny(table, items, ordering, redrawn_weights(table.weights, n_draws, seed, n_rankings))
        sets = rank_sets(places, optima[0], confidence_level, names)
    # Wins of the items that come later.
    against = np.tril(counts.counts[np.ix_(items[ordering], items[ordering])]).sum(dtype=float)
    return KemenyResult(
        ranks,
        float(against * counts.unit),
        is_exact,
        names,
        sets,
        is_unique(components, preferences) if is_exact else None,
        optima,
    )


def _redrawn_kemeny(table, items, ordering, weights):
    """Ranks in the Kemeny consensus of each redraw, (n_draws, n_items)."""
    places = np.full((len(weights), table.ranks.shape[1]), np.nan)
    n_pairs = len(items) * (len(items) - 1) // 2
    for draws in row_blocks(len(weights), 64 * max(n_pairs, 1)):
        sums = np.zeros((draws.stop - draws.start, n_pairs))
        for rows in row_blocks(len(table.ranks), 16 * max(n_pairs, 1), max_rows=1 << 13):
            sums += weights[draws, rows] @ pair_signs(table.ranks[rows][:, items], dtype=np.float64)
        found, _ = local_kemeny(sums, np.tile(ordering, (len(sums), 1)))
        places[draws, items] = np.argsort(found, axis=1)
    return places


# ---------------------------------------------------------------- Borda
@dataclass(frozen=True)
class BordaResult:
    """Result of :func:`borda_consensus`.

    Attributes
    ----------
    ranks : ndarray of shape (n_items,)
        Rank of each item by its score, 0 for the best; equal scores are tied; NaN for an item that no ranking ranks.
    scores : ndarray of shape (n_items,)
        Summed weight of the comparisons won less that of those lost; NaN for an item that no ranking ranks.
    item_names : ndarray of shape (n_items,) or None
        Column names of the DataFrame that the consensus was made of.
    rank_sets : RankSets or None
        How sure the places are, if `n_draws` was given, as of :func:`kemeny_consensus`.
    """

    ranks: np.ndarray
    scores: np.ndarray
    item_names: np.ndarray | None = None
    rank_sets: RankSets | None = None

    @property
    def ordering(self) -> Array:
        """Items, best first, equal ones by column: their names where known, otherwise their column numbers."""
        return _by_rank(self.ranks, self.item_names)


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "sample_weight": ["array-like", None],
        "unranked": [None, StrOptions({"last", "missing"})],
        "random_state": ["random_state"],
        **REDRAWS,
    },
    prefer_skip_nested_validation=True,
)
def borda_consensus(
    X: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    unranked: Unranked = None,
    n_draws: int = 0,
    confidence_level: float = 0.9,
    random_state: RandomState = 0,
) -> BordaResult:
    """Order items by the number of comparisons that they win minus the number that they lose (Borda count).

    On full rankings, this is the order of the mean ranks. A ranking counts for the pairs of items that it orders
    strictly, so a tie counts for neither item. The score of an item that is rarely ranked is near 0, in the middle.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_items)
        Rank matrix: lower is preferred, equal ranks are ties, NaN is missing. For a sparse one see `unranked`.
    sample_weight : array-like of shape (n_samples,), default=None
        Nonnegative weights of the rankings. None means 1.
    unranked : {"last", "missing"} or None, default=None
        What an absent entry of a sparse X means: tied after all listed items, or missing. A stored zero is a rank. The
        time depends on the number of stored entries. None rejects a sparse X; for a dense X, this parameter is ignored.
    n_draws : int, default=0
        How often the rankings are redrawn with replacement for the `rank_sets` of the result; 0 means not at all. Rank
        sets compare all pairs of items, and raise an error if a sparse X has so many items that this exceeds
        ``working_memory``.
    confidence_level : float, default=0.9
        Probability that a rank set contains the item's position according to the scores of the population, separately
        for each item.
    random_state : int, RandomState instance or None, default=0
        Determines the redraws.

    Returns
    -------
    result : BordaResult
        With attributes `ranks`, `scores`, `item_names`, `rank_sets` and `ordering`.

    Examples
    --------
    >>> from skrank.stats import borda_consensus
    >>> result = borda_consensus([[0, 1, 2], [0, 2, 1], [1, 0, 2]])
    >>> result.scores
    array([ 4.,  0., -4.])
    >>> result.ranks
    array([0., 1., 2.])
    """
    if is_sparse(X):
        scores_of, weights, n_compared, ranked, n_rankings, names = _sparse_borda(X, sample_weight, unranked, n_draws)
    else:
        table, n_rankings, names = _validated_table(X, sample_weight)
        contributions, weights, ranked = borda_contributions(table.ranks), table.weights, _has_place(table)
        n_compared = weights @ np.abs(contributions).sum(axis=1)

        def scores_of(weights):
            return weights @ contributions

    scores = np.where(ranked, scores_of(weights), np.nan)
    ranks = _ranks_by_score(scores, n_compared)
    sets = None
    if n_draws:
        redrawn = scores_of(redrawn_weights(weights, n_draws, as_generator(random_state), n_rankings))
        places = np.array([_ranks_by_score(one, n_compared) for one in np.where(ranked, redrawn, np.nan)])
        sets = rank_sets(places, ranks, confidence_level, names)
    return BordaResult(ranks, scores, names, sets)


def _sparse_borda(X, sample_weight, unranked, n_draws):
    """Scores of weights as a function, the weights, comparisons, ranked items, number of rankings, and names (None)."""
    lists = check_sparse_rankings(X, unranked)
    weights = np.ones(len(lists)) if sample_weight is None else check_weights(sample_weight, lists.ranks)
    size = 8 * lists.n_items**2 / 2**20
    if n_draws and size > get_config()["working_memory"]:
        raise ValueError(
            f"Rank sets of {lists.n_items} items compare all pairs of them: {size:.0f} MiB, more than working_memory. "
            "Use n_draws=0, leave columns out, or raise sklearn.set_config(working_memory=...)."
        )
    entries, base = list_borda_contributions(lists)

    def scores_of(weights):
        return (entries.T @ weights.T).T - np.expand_dims(weights @ base, -1)

    counted = weights > 0
    ranked = np.full(lists.n_items, True)
    if not lists.tied_last:
        ranked = np.bincount(lists.ranks.indices, counted[lists.rows], lists.n_items) > 0
    n_compared = weights @ (abs(entries).sum(axis=1) + base * lists.n_items)
    n_rankings = len(lists) if sample_weight is None else n_redrawn(weights)
    return scores_of, weights, n_compared, ranked, n_rankings, None


def _ranks_by_score(scores, scale):
    """Ranks by decreasing score, 0 for the best, equal scores tied; NaN where the score is."""
    ranked = ~np.isnan(scores)
    ranks = np.full(len(scores), np.nan)
    # Sums of weights that should be equal can differ in their last digits: those are ties.
    ranks[ranked] = np.unique(-np.round(scores[ranked] / max(scale, 1e-300), 12), return_inverse=True)[1]
    return ranks


# ---------------------------------------------------------------- majorities
@dataclass(frozen=True)
class PairwiseMajorityResult:
    """Result of :func:`pairwise_majority`.

    Attributes
    ----------
    wins : ndarray of shape (n_items, n_items)
        Summed weight of the rankings that strictly prefer the row's item to the column's.
    fractions : ndarray of shape (n_items, n_items)
        `wins` as a fraction of the rankings that order the two items strictly; NaN where none does.
    majority : ndarray of shape (n_items, n_items), bool
        Whether more weight prefers the row's item to the column's than the other way round.
    condorcet_winner : int, str or None
        The item that beats every other one by majority: its name where known, otherwise its column; None if there is
        none.
    item_names : ndarray of shape (n_items,) or None
        Column names of the DataFrame that the comparisons were made of.
    """

    wins: np.ndarray
    fractions: np.ndarray
    majority: np.ndarray
    condorcet_winner: int | str | None
    item_names: np.ndarray | None = None


@validate_params(
    {"X": "no_validation", "sample_weight": ["array-like", None]},
    prefer_skip_nested_validation=True,
)
def pairwise_majority(X: ArrayLike, *, sample_weight: ArrayLike | None = None) -> PairwiseMajorityResult:
    """Compute the total weight of the rankings that prefer each item to each other item.

    A ranking counts for the pairs of items that it orders strictly; it is uninformative about tied pairs and missing
    items.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix: lower is preferred, equal ranks are ties, NaN is missing.
    sample_weight : array-like of shape (n_samples,), default=None
        Nonnegative weights of the rankings. None means 1.

    Returns
    -------
    result : PairwiseMajorityResult
        With attributes `wins`, `fractions`, `majority`, `condorcet_winner` and `item_names`.

    Examples
    --------
    >>> from skrank.stats import pairwise_majority
    >>> result = pairwise_majority([[0, 1, 2], [0, 2, 1], [1, 0, 2]])
    >>> result.wins
    array([[0., 2., 3.],
           [1., 0., 2.],
           [0., 1., 0.]])
    >>> result.condorcet_winner
    0
    """
    table, _, names = _validated_table(X, sample_weight)
    counts = pairwise_wins(table.ranks, table.weights)
    wins = counts.wins
    compared = wins + wins.T
    fractions = np.divide(wins, compared, out=np.full(wins.shape, np.nan), where=compared > 0)
    majority = counts.preferences() > 0
    winners = np.flatnonzero(majority.sum(axis=1) == len(wins) - 1)
    winner = None if len(winners) == 0 else int(winners[0]) if names is None else names[winners[0]]
    return PairwiseMajorityResult(wins, fractions, majority, winner, names)
