"""Rank sets: the places that an item may have in a consensus, from the consensus rankings of redrawn data.

An item's rank set leaves out the places that need an order which the redraws all but rule out: with confidence level c,
an item is surely before another if it is in at least 1 - (1 - c) / 2 of the redraws. As many places are out of reach at
the top as items are surely before it, and at the bottom as items are surely after it. Sets of quantiles of an item's
places are narrower and cover less: in one sample the items near each other can only take turns.
"""

from dataclasses import dataclass, field

import numpy as np

from skrank._rankings import row_blocks


@dataclass(frozen=True)
class RankSets:
    """Uncertainty of the positions of items in a ranking, by bootstrap.

    Attributes
    ----------
    ranks : ndarray of shape (n_items,)
        The ranking, 0 for the best item; NaN for an item without a position.
    low, high : ndarrays of shape (n_items,)
        First and last position in the rank set of each item, counted like `ranks`; NaN for an item without a position.
    neighbor_agreement : ndarray of shape (n_ranked - 1,)
        For each item of `ordering` except the last, the proportion of redraws in which it precedes the next one.
    places : ndarray of shape (n_draws, n_items)
        Rank of each item in each redraw; NaN if it has none.
    confidence_level : float
        Probability that a rank set contains the item's position, separately for each item.
    item_names : ndarray of shape (n_items,) or None
        Names of the items if they are known.

    Examples
    --------
    >>> from skrank.datasets import make_rankings
    >>> from skrank.stats import kemeny_consensus
    >>> X = make_rankings(60, 4, center=[0, 1, 2, 3], phi=0.6, random_state=0)
    >>> print(kemeny_consensus(X, n_draws=200).rank_sets)
    rank  item  rank set  before the next in
       1     0     1 - 3               85.5%
       2     1     1 - 4               70.5%
       3     2     1 - 3               99.0%
       4     3     3 - 4
    """

    ranks: np.ndarray
    low: np.ndarray
    high: np.ndarray
    neighbor_agreement: np.ndarray
    places: np.ndarray = field(repr=False)
    confidence_level: float
    item_names: np.ndarray | None = None

    @property
    def n_draws(self) -> int:
        """Number of redraws."""
        return len(self.places)

    @property
    def ordering(self) -> np.ndarray:
        """Column numbers of the items that have a place, best first."""
        return np.argsort(self.ranks, kind="stable")[: np.count_nonzero(~np.isnan(self.ranks))]

    @property
    def place_proportions(self) -> np.ndarray:
        """Proportion of redraws in which each item (row) has each place (column), shape (n_items, n_items)."""
        n_items = len(self.ranks)
        counts = [np.bincount(column[~np.isnan(column)].astype(int), minlength=n_items) for column in self.places.T]
        return np.array(counts)[:, :n_items] / self.n_draws

    def to_dict(self) -> dict[str, list]:
        """Columns of a table with a row for each item that has a place, best first, for ``pandas.DataFrame``.

        Returns
        -------
        table : dict of str to list
            "item", "rank", "low", "high" (counted from 1) and "before_next" (NaN for the last).
        """
        items = self.ordering
        labels = items if self.item_names is None else self.item_names[items]
        return {
            "item": labels.tolist(),
            "rank": (self.ranks[items] + 1).astype(int).tolist(),
            "low": (self.low[items] + 1).astype(int).tolist(),
            "high": (self.high[items] + 1).astype(int).tolist(),
            "before_next": [*self.neighbor_agreement.tolist(), np.nan][: len(items)],
        }

    def __str__(self) -> str:
        table = self.to_dict()
        width = max(len(str(item)) for item in ["item", *table["item"]])
        lines = [f"rank  {'item':>{width}}  rank set  before the next in"]
        for item, rank, low, high, share in zip(*table.values(), strict=True):
            agreement = "" if np.isnan(share) else f"{share:.1%}"
            lines.append(f"{rank:>4}  {item!s:>{width}}  {f'{low} - {high}':>8}  {agreement:>18}".rstrip())
        return "\n".join(lines)


def rank_sets(places, ranks, confidence_level=0.9, item_names=None):
    """Rank sets of a ranking from its places in redraws.

    Parameters
    ----------
    places : ndarray of shape (n_draws, n_items)
        Ranks in each redraw; NaN where an item has none.
    ranks : ndarray of shape (n_items,)
        The ranking; NaN where an item has no place.
    confidence_level : float, default=0.9
    item_names : ndarray of shape (n_items,), default=None

    Returns
    -------
    sets : RankSets
    """
    n_draws, n_items = places.shape
    before = np.zeros((n_items, n_items))
    for rows in row_blocks(n_draws, 8 * n_items**2):
        before += (places[rows, :, None] < places[rows, None, :]).sum(axis=0)
    before /= n_draws
    surely = before >= 1 - (1 - confidence_level) / 2
    n_ranked = np.count_nonzero(~np.isnan(ranks))
    absent = np.isnan(ranks)
    low = np.where(absent, np.nan, surely.sum(axis=0))
    high = np.where(absent, np.nan, n_ranked - 1 - surely.sum(axis=1))
    items = np.argsort(ranks, kind="stable")[:n_ranked]
    return RankSets(
        ranks, low, high, before[items[:-1], items[1:]], places, float(confidence_level), item_names=item_names
    )


# ---------------------------------------------------------------- redraws
def n_redrawn(weights):
    """How many rankings a redraw holds: the sum of the weights if they are counts, else their effective number.

    The effective number is (sum of weights)^2 / (sum of their squares), between 1 and the number of rows.
    """
    if (weights == np.rint(weights)).all():
        return int(weights.sum())
    return max(int(round(weights.sum() ** 2 / (weights**2).sum())), 1)


def redrawn_weights(weights, n_draws, rng, n_rankings=None):
    """Weights of the rows of a table in redraws with replacement of the rankings that it stands for.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
    n_draws : int
    rng : numpy.random.Generator
    n_rankings : int, default=None
        How many rankings each redraw holds; None means `n_redrawn` of the weights.

    Returns
    -------
    redrawn : ndarray of shape (n_draws, n_rows), float64
        Each row sums to that of `weights`.
    """
    n_rankings = n_redrawn(weights) if n_rankings is None else n_rankings
    counts = rng.multinomial(n_rankings, weights / weights.sum(), size=n_draws)
    return counts * (weights.sum() / n_rankings)
