"""MixtureBootstrapDisplay: the places that items may have in the centers of a mixture."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank._rankings import ordering
from skrank._typing import Array, ArrayLike, Floats, Integers
from skrank.inspection._base import axes, row_height, wrap_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS = 30


class MixtureBootstrapDisplay:
    """Positions of the items in the center of a component over redraws of the voters, as a heat map with rank sets.

    Create it with :meth:`from_bootstrap` or :meth:`from_estimator`. Rows are the items in the order of the center, and
    columns are positions. A dark cell on the diagonal without others in its row is a position that other voters would
    also give. A line spans the rank set of each item.

    Parameters
    ----------
    place_shares : ndarray of shape (n_items, n_items)
        Proportion of the redraws in which the item (row) is at the position (column); items are in the order of the
        center.
    rank_sets : ndarray of shape (n_items, 2)
        First and last position in the rank set of each item, from 0.
    item_names : ndarray of shape (n_items,)
        Names of the items, in the order of the center.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    image_ : matplotlib AxesImage
        The heat map.

    See Also
    --------
    skrank.MallowsMixture.bootstrap : The redraws.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank import MallowsMixture
    >>> from skrank.datasets import make_rankings
    >>> from skrank.inspection import MixtureBootstrapDisplay
    >>> X = make_rankings(200, 5, phi=0.6, random_state=0)
    >>> mixture = MallowsMixture(random_state=0).fit(X)
    >>> display = MixtureBootstrapDisplay.from_estimator(mixture, X, n_draws=20)
    >>> display.rank_sets.shape
    (5, 2)
    >>> plt.close(display.figure_)
    """

    def __init__(self, place_shares: Floats, *, rank_sets: Integers, item_names: Array, title: str = "") -> None:
        self.place_shares = place_shares
        self.rank_sets = rank_sets
        self.item_names = item_names
        self.title = title

    def plot(self, ax: "Axes | None" = None, *, cmap: Any = "Greys") -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        cmap : str or matplotlib Colormap, default="Greys"
            Colors.

        Returns
        -------
        display : MixtureBootstrapDisplay
        """
        n_items = len(self.place_shares)
        names = wrap_names(self.item_names)
        side = max(row_height(names, 0.4 if n_items <= 20 else 0.25) * n_items, 3.5)
        ax = axes(ax, "MixtureBootstrapDisplay.plot", (side + 2.5, side))
        image = ax.imshow(self.place_shares, cmap=cmap, vmin=0, vmax=1, interpolation="nearest")
        for row, (first, last) in enumerate(self.rank_sets):
            ax.plot([first - 0.4, last + 0.4], [row + 0.4, row + 0.4], color="tab:orange", linewidth=2)
        ax.set_yticks(range(n_items), names)
        step = -(-n_items // MOST_TICKS)
        ax.set_xticks(range(0, n_items, step), range(1, n_items + 1, step))
        ax.set_xlabel("place; the line is the rank set")
        ax.set_title(self.title)
        ax.figure.colorbar(image, ax=ax, label="proportion of redraws", shrink=0.8)
        self.ax_, self.figure_, self.image_ = ax, ax.figure, image
        return self

    @classmethod
    def from_bootstrap(
        cls, bootstrap: Any, *, component: int = 0, level: float = 0.9, ax: "Axes | None" = None, **plot_options: Any
    ) -> Self:
        """Draw one component of a bootstrap.

        Parameters
        ----------
        bootstrap : MixtureBootstrap
            Result of :meth:`skrank.MallowsMixture.bootstrap`.
        component : int, default=0
            Number of the component.
        level : float, default=0.9
            Coverage of the rank sets.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : MixtureBootstrapDisplay
        """
        n_components = len(bootstrap.weights)
        if not 0 <= component < n_components:
            raise ValueError(f"component is {component}, but the mixture has components 0 to {n_components - 1}.")
        order = ordering(bootstrap.centers)[component]
        display = cls(
            bootstrap.place_shares[component][order],
            rank_sets=bootstrap.rank_sets(level)[component][order],
            item_names=np.asarray(bootstrap.item_names)[order],
            title=f"component {component}: {100 * bootstrap.weights[component]:.1f} %",
        )
        return display.plot(ax, **plot_options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, *, n_draws: int = 100, sample_weight: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Redraw the voters of a fitted mixture and draw one component.

        Parameters
        ----------
        estimator : fitted MallowsMixture or SeparatedMallowsMixture
            The mixture.
        X : array-like of shape (n_samples, n_items)
            Rank matrix to which it was fitted.
        n_draws : int, default=100
            Number of redraws.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking of X occurred.
        **options : dict
            Further arguments of :meth:`from_bootstrap`.

        Returns
        -------
        display : MixtureBootstrapDisplay
        """
        return cls.from_bootstrap(estimator.bootstrap(X, n_draws, sample_weight=sample_weight), **options)
