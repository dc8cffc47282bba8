"""MallowsMixtureDisplay: the centers of a mixture side by side."""

from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from skrank._typing import Array, ArrayLike, Floats, Integers, Names
from skrank.inspection._base import axes, checked_names
from skrank.inspection._columns import draw_columns, draw_shares, draw_unsure, layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SURE = 0.975  # of the redraws, from which the order of two neighbors in a center counts as sure
N_REDRAWS = 25


class MallowsMixtureDisplay:
    """Centers of a mixture of Mallows models as columns of items, with a line for each item between columns.

    Create it with :meth:`from_estimator`. Above each column are the weight of the component, as a number and as a bar,
    and its dispersion. Items are colored by their position in the first center, so that crossing lines and colors out
    of order show where the groups disagree. If the rankings are passed, a bar to the left of two neighbors means that
    their order is uncertain: more than 2.5 % of refits to redrawn voters reverse it.

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
    order_agreement : ndarray of shape (n_components, n_items - 1), default=None
        For the items at positions t and t + 1 of each center, the proportion of redraws of the voters that order them
        in the same way, as in `neighbor_agreement` of :meth:`skrank.MallowsMixture.bootstrap`.
    weight_intervals : ndarray of shape (n_components, 2), default=None
        95 % confidence intervals of the weights, as in `weight_intervals` of the bootstrap; drawn as whiskers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    lines_ : list of matplotlib Line2D
        The line of each item.
    unsure_ : list of matplotlib Line2D
        The bars at neighbors whose order is uncertain.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.datasets import make_mallows_mixture
    >>> from skrank.inspection import MallowsMixtureDisplay
    >>> from skrank.mixture import MallowsMixture
    >>> X, _ = make_mallows_mixture(500, 6, 2, phi=0.3, random_state=0)
    >>> mixture = MallowsMixture(2, random_state=0).fit(X)
    >>> display = MallowsMixtureDisplay.from_estimator(mixture, X)
    >>> len(display.lines_), len(display.unsure_)
    (6, 0)
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        centers: Integers,
        *,
        weights: Floats,
        dispersions: Floats,
        item_names: Array,
        order_agreement: Floats | None = None,
        weight_intervals: Floats | None = None,
    ) -> None:
        self.centers = centers
        self.weights = weights
        self.dispersions = dispersions
        self.item_names = item_names
        self.order_agreement = order_agreement
        self.weight_intervals = weight_intervals

    def plot(self, ax: "Axes | None" = None, *, cmap: Any = "viridis", max_items: int = 60) -> Self:
        """Draw the columns.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        cmap : str or matplotlib Colormap, default="viridis"
            Colors of the items by their position in the first center.
        max_items : int, default=60
            Maximum number of positions to show, starting with the first.

        Returns
        -------
        display : MallowsMixtureDisplay
        """
        n_components, n_items = self.centers.shape
        n_shown = min(n_items, max_items)
        names, size = layout(self.item_names, n_components, n_shown)
        ax = axes(ax, "MallowsMixtureDisplay.plot", size)
        from matplotlib import colormaps

        colors = colormaps.get_cmap(cmap)(self.centers[0] / max(n_items - 1, 1) * 0.95)
        self.lines_ = draw_columns(ax, self.centers, names, colors, n_shown)
        heads = [
            f"{100 * weight:.1f} %\ndispersion {phi:.2f}"
            for weight, phi in zip(self.weights, self.dispersions, strict=True)
        ]
        draw_shares(ax, self.weights, heads, self.weight_intervals)
        agreement = self.order_agreement
        self.unsure_ = [] if agreement is None else draw_unsure(ax, agreement[:, : n_shown - 1] < SURE)
        remarks = ["bar at the left: order not sure"] if self.unsure_ else []
        if self.weight_intervals is not None:
            remarks.append("whiskers: 95 % intervals of the shares")
        if n_shown < n_items:
            remarks.append(f"the first {n_shown} of {n_items} places")
        ax.set_xlabel("\n".join(remarks), fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        item_names: Names = None,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the centers of a fitted mixture.

        Parameters
        ----------
        estimator : fitted MallowsMixture or SeparatedMallowsMixture
            Any estimator with `centers_`, `weights_` and `dispersions_`.
        X : array-like of shape (n_samples, n_items), default=None
            Rank matrix to which it was fitted, to mark uncertain orders; None marks nothing.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking of X occurred.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row of X, as passed to `fit`.
        item_names : array-like of shape (n_items,), default=None
            Names of the items; None means the names seen in `fit`, otherwise x0, x1, ...
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : MallowsMixtureDisplay
        """
        return cls._computed(estimator, X, sample_weight, item_names, groups).plot(ax, **plot_options)

    @classmethod
    def _computed(cls, estimator, X, sample_weight=None, item_names=None, groups=None):
        """The display before it is drawn."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "centers_"):
            raise TypeError(f"{type(estimator).__name__} has no centers_: it is not a mixture of Mallows models.")
        n_items = estimator.centers_.shape[1]
        names = getattr(estimator, "feature_names_in_", None) if item_names is None else item_names
        redrawn = None if X is None else estimator.bootstrap(X, N_REDRAWS, sample_weight=sample_weight, groups=groups)
        return cls(
            estimator.centers_,
            weights=estimator.weights_,
            dispersions=estimator.dispersions_,
            item_names=checked_names(names, n_items, f"the mixture has {n_items} items"),
            order_agreement=None if redrawn is None else redrawn.neighbor_agreement,
            weight_intervals=None if redrawn is None else redrawn.weight_intervals(),
        )
