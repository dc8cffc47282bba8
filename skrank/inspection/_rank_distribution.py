"""RankDistributionDisplay: which places each item takes."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank._rankings import MISSING, aggregate, bucket_places, to_rank_matrix
from skrank._typing import Array, Floats, Integers
from skrank.inspection._base import RankingsDisplay, axes, row_height, wrap_names
from skrank.linear_model._leaderboard import rank_text
from skrank.stats import kemeny_consensus

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_TICKS = 10


class RankDistributionDisplay(RankingsDisplay):
    """Stacked bars of the positions of each item.

    Create it with :meth:`from_rankings` or :meth:`from_estimator`.

    Parameters
    ----------
    shares : ndarray of shape (n_items, n_places)
        ``shares[i, p]`` is the proportion, in [0, 1], of rankings with item i at position p (0 is the first); a tied
        item counts equally for each position of its bucket. Rows sum to the proportion of rankings that rank the item.
    item_names : ndarray of shape (n_items,)
        Names of the items.
    rank_sets : ndarray of shape (n_items, 2), default=None
        First and last position in the rank set of each item in the consensus, from 1, such as ``low + 1`` and ``high +
        1`` of the `rank_sets` of :func:`~skrank.stats.borda_consensus`; written next to the bars.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    bars_ : list of matplotlib BarContainer
        The bars of each position and, if items are missing, of no position.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.datasets import load_apa
    >>> from skrank.inspection import RankDistributionDisplay
    >>> apa = load_apa()
    >>> display = RankDistributionDisplay.from_rankings(
    ...     apa.data, sample_weight=apa.sample_weight, item_names=apa.item_names
    ... )
    >>> display.shares[0].round(2)
    array([0.26, 0.11, 0.07, 0.07, 0.09])
    >>> plt.close(display.figure_)
    """

    def __init__(self, shares: Floats, *, item_names: Array, rank_sets: Integers | None = None) -> None:
        self.shares = shares
        self.item_names = item_names
        self.rank_sets = rank_sets

    def plot(self, ax: "Axes | None" = None, *, cmap: Any = "viridis", max_items: int = 60) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        cmap : str or matplotlib Colormap, default="viridis"
            Sequential colors from the first to the last position.
        max_items : int, default=60
            Maximum number of items to show, starting with the first; the plot says if there are more.

        Returns
        -------
        display : RankDistributionDisplay
        """
        n_items = min(len(self.shares), max_items)
        names = wrap_names(self.item_names[:n_items])
        n_places = int(np.flatnonzero(self.shares.max(axis=0) > 1e-12).max(initial=0)) + 1  # those that are taken
        row = row_height(names, 0.4 if n_items <= 15 else 0.25)
        ax = axes(ax, "RankDistributionDisplay.plot", (8, max(1.5 + row * n_items, 2.5)))
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import BoundaryNorm

        colors = colormaps.get_cmap(cmap).resampled(n_places)
        left = np.zeros(n_items)
        self.bars_ = []
        for place, share in enumerate(100 * self.shares[:n_items].T[:n_places]):
            self.bars_.append(ax.barh(range(n_items), share, left=left, color=colors(place), height=0.8))
            left += share
        missing = np.maximum(100 - left, 0)
        if missing.max() > 1e-6:
            bars = ax.barh(range(n_items), missing, left=left, color="0.9", height=0.8, label="not ranked")
            self.bars_.append(bars)
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)
        ax.set_yticks(range(n_items), names, fontsize="medium" if n_items <= 30 else "small")
        ax.set_ylim(n_items - 0.4, -0.6)
        ax.set_xlim(0, 100)
        some = f" (the first {n_items} of {len(self.shares)} items)" if n_items < len(self.shares) else ""
        ax.set_xlabel("% of rankings" + some)
        mappable = ScalarMappable(BoundaryNorm(np.arange(n_places + 1) + 0.5, n_places), colors)
        if self.rank_sets is not None:
            right = ax.secondary_yaxis("right")
            right.set_yticks(range(n_items), [rank_text(*one) for one in self.rank_sets[:n_items]], fontsize="small")
            right.tick_params(length=0)
            right.set_ylabel("rank set in the consensus")
        ticks = np.arange(1, n_places + 1, -(-n_places // MOST_TICKS))
        ax.figure.colorbar(mappable, ax=ax, label="place", ticks=ticks).ax.invert_yaxis()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def _computed(cls, ranks, weights, names):
        table = aggregate(ranks, weights)
        places = kemeny_consensus(to_rank_matrix(table.ranks), sample_weight=table.weights).ranks
        order = np.argsort(places, kind="stable")  # items that no ranking ranks go last
        return cls(place_shares(table.ranks, table.weights)[order], item_names=names[order])


def place_shares(ranks, weights):
    """Share of the weight that puts each item in each place, (n_items, n_places); a tie shares its places equally."""
    n_items = ranks.shape[1]
    first, size = bucket_places(ranks)
    row, item = np.nonzero(ranks != MISSING)
    start, length = first[row, item], size[row, item]
    part = weights[row] / length
    steps = np.zeros((n_items, n_items + 1))
    np.add.at(steps, (item, start), part)
    np.add.at(steps, (item, start + length), -part)
    return np.clip(np.cumsum(steps, axis=1)[:, :-1] / weights.sum(), 0, 1)
