"""MallowsMixtureDisplay: the centers of a mixture side by side."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank.inspection._base import axes


class MallowsMixtureDisplay:
    """Centers of a mixture of Mallows models as columns of items, a line for each item from column to column.

    Create it with :meth:`from_estimator`. The name of a column says the component's weight and its dispersion; lines
    are coloured by the item's place in the first center, so what crosses is what the groups disagree about.

    Parameters
    ----------
    centers : ndarray of shape (n_components, n_items)
        Rank vectors.
    weights : ndarray of shape (n_components,)
        Weights of the components.
    dispersions : ndarray of shape (n_components,)
        phi of each component.
    item_names : ndarray of shape (n_items,)
        Names of the items.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that holds it.
    lines_ : list of matplotlib Line2D
        One for each item.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.datasets import make_mallows_mixture
    >>> from skrank.inspection import MallowsMixtureDisplay
    >>> from skrank.mixture import MallowsMixture
    >>> X, _ = make_mallows_mixture(500, 6, 2, phi=0.3, random_state=0)
    >>> mixture = MallowsMixture(2, random_state=0).fit(X)
    >>> display = MallowsMixtureDisplay.from_estimator(mixture)
    >>> len(display.lines_)
    6
    >>> plt.close(display.figure_)
    """

    def __init__(self, centers, *, weights, dispersions, item_names):
        self.centers = centers
        self.weights = weights
        self.dispersions = dispersions
        self.item_names = item_names

    def plot(self, ax=None, *, cmap="viridis"):
        """Draw the columns.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours of the items, by their place in the first center.

        Returns
        -------
        display : MallowsMixtureDisplay
        """
        n_components, n_items = self.centers.shape
        width, height = min(2.5 + 1.6 * n_components, 14), min(1.5 + 0.35 * n_items, 14)
        ax = axes(ax, "MallowsMixtureDisplay.plot", (width, height))
        from matplotlib import colormaps

        colours = colormaps.get_cmap(cmap)(self.centers[0] / max(n_items - 1, 1) * 0.9)
        columns = np.arange(n_components)
        self.lines_ = []
        for item, colour in enumerate(colours):
            places = self.centers[:, item]
            self.lines_ += ax.plot(columns, places, "o-", color=colour, linewidth=2, markersize=7)
            ax.annotate(
                self.item_names[item],
                (columns[-1], places[-1]),
                (10, 0),
                textcoords="offset points",
                va="center",
                color=colour,
            )
        ax.set_yticks(self.centers[0], self.item_names)
        ax.set_xticks(
            columns,
            [f"{100 * w:.1f} %\n$\\phi$ = {phi:.2f}" for w, phi in zip(self.weights, self.dispersions, strict=True)],
        )
        ax.set_xlim(-0.3, n_components - 0.3)
        ax.set_ylim(n_items - 0.5, -0.5)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(cls, estimator, *, item_names=None, ax=None, **plot_options):
        """Draw the centers of a fitted mixture.

        Parameters
        ----------
        estimator : fitted MallowsMixture or SeparatedMallowsMixture
            Any estimator with `centers_`, `weights_` and `dispersions_`.
        item_names : array-like of shape (n_items,), default=None
            Names of the items; None means those the estimator was fitted with, otherwise x0, x1, ...
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : MallowsMixtureDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "centers_"):
            raise TypeError(f"{type(estimator).__name__} has no centers_: it is no mixture of Mallows models.")
        n_items = estimator.centers_.shape[1]
        names = getattr(estimator, "feature_names_in_", None) if item_names is None else item_names
        names = [f"x{item}" for item in range(n_items)] if names is None else [str(name) for name in names]
        if len(names) != n_items:
            raise ValueError(f"item_names has {len(names)} names, but the mixture has {n_items} items.")
        display = cls(
            estimator.centers_,
            weights=estimator.weights_,
            dispersions=estimator.dispersions_,
            item_names=np.array(names, dtype=object),
        )
        return display.plot(ax, **plot_options)
