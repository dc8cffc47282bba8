"""PairwisePreferenceDisplay: who beats whom."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank._rankings import to_rank_matrix
from skrank._typing import Array, Floats
from skrank.inspection._base import RankingsDisplay, axes, line_width, most_lines, row_height, text_color, wrap_names
from skrank.stats import kemeny_consensus, pairwise_majority

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PairwisePreferenceDisplay(RankingsDisplay):
    """Heat map of the proportion of rankings that prefer one item to another.

    Create it with :meth:`from_rankings` or :meth:`from_estimator`.

    Parameters
    ----------
    fractions : ndarray of shape (n_items, n_items)
        ``fractions[i, j]`` is the proportion, in [0, 1], of rankings that prefer i among those that order i and j
        strictly; NaN if none does.
    item_names : ndarray of shape (n_items,)
        Names of the items.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    image_ : matplotlib AxesImage
        The heat map.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.datasets import load_apa
    >>> from skrank.inspection import PairwisePreferenceDisplay
    >>> apa = load_apa()
    >>> display = PairwisePreferenceDisplay.from_rankings(
    ...     apa.data, sample_weight=apa.sample_weight, item_names=apa.item_names
    ... )
    >>> display.item_names.tolist()
    ['C', 'A', 'E', 'D', 'B']
    >>> plt.close(display.figure_)
    """

    def __init__(self, fractions: Floats, *, item_names: Array) -> None:
        self.fractions = fractions
        self.item_names = item_names

    def plot(
        self, ax: "Axes | None" = None, *, cmap: Any = "RdBu", values: bool | None = None, max_items: int = 60
    ) -> Self:
        """Draw the heat map. If names take several lines, columns are labeled by the numbers of the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        cmap : str or matplotlib Colormap, default="RdBu"
            Diverging colors, centered at one half.
        values : bool, default=None
            Whether cells show their percentage; None shows it for up to 15 items.
        max_items : int, default=60
            Maximum number of items to show, starting with the first; the plot says if there are more.

        Returns
        -------
        display : PairwisePreferenceDisplay
        """
        n_items = min(len(self.item_names), max_items)
        fractions = self.fractions[:n_items, :n_items]
        names = wrap_names(self.item_names[:n_items])
        numbered = most_lines(names) > 1  # columns are too narrow for such names
        if numbered:
            names = wrap_names([f"{place}. {name}" for place, name in enumerate(self.item_names[:n_items], 1)])
        cell = row_height(names, 0.4 if n_items <= 15 else 0.25)
        side = max(cell * n_items + (0 if numbered else 2.5), 3.0)
        ax = axes(
            ax, "PairwisePreferenceDisplay.plot", (side + 1 + (0.08 * line_width(names) if numbered else 0), side)
        )
        ax.set_facecolor("0.85")  # of pairs that no ranking orders
        image = ax.imshow(100 * fractions, cmap=cmap, vmin=0, vmax=100)
        size = "medium" if n_items <= 15 else "small" if n_items <= 30 else "x-small"
        heads = [str(place + 1) for place in range(n_items)] if numbered else names
        upright = max(map(len, heads)) <= (3 if n_items <= 15 else 2)
        ax.set_xticks(range(n_items), heads, rotation=0 if upright else 90, fontsize=size)
        ax.set_yticks(range(n_items), names, fontsize=size)
        ax.tick_params(length=0)
        some = f"\n(the first {n_items} of {len(self.item_names)} items)" if n_items < len(self.item_names) else ""
        ax.set_xlabel("... to this one" + some)
        ax.set_ylabel("prefer this item ...")
        ax.figure.colorbar(image, ax=ax, label="% of the rankings\nthat order the two", shrink=0.8)
        if values if values is not None else n_items <= 15:
            for row, column in np.argwhere(~np.isnan(fractions)):
                percent = 100 * fractions[row, column]
                color = text_color(image.cmap(image.norm(percent)))
                ax.text(column, row, f"{percent:.0f}", ha="center", va="center", color=color, fontsize="small")
        self.ax_, self.figure_, self.image_ = ax, ax.figure, image
        return self

    @classmethod
    def _computed(cls, ranks, weights, names):
        matrix = to_rank_matrix(ranks)
        places = kemeny_consensus(matrix, sample_weight=weights).ranks
        order = np.argsort(places, kind="stable")  # items that no ranking ranks go last
        fractions = pairwise_majority(matrix, sample_weight=weights).fractions[np.ix_(order, order)]
        return cls(fractions, item_names=names[order])
