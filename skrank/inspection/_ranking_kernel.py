"""RankingKernelDisplay: which rankings are alike, by a kernel."""

import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.cluster import hierarchy
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skrank._rankings import check_rankings, to_rank_matrix
from skrank._typing import Array, ArrayLike, Floats, Integers, Names, RandomState
from skrank.cluster._tree import kernel_tree
from skrank.inspection._base import (
    axes,
    class_colors,
    plain,
    ranking_texts,
    representative_rows,
    row_height,
    weighted_rankings,
)
from skrank.kernels import PartialRankingKernel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LARGEST_TREE = 800  # leaves: scipy draws trees by recursion, and a screen has few more pixels
MOST_RANKINGS_NAMED = 40
MOST_CLASSES_NAMED = 24


class RankingKernelDisplay:
    """Kernel matrix of rankings as a heat map, in the order of a dendrogram that is drawn next to it.

    Create it with :meth:`from_rankings` or :meth:`from_estimator`. Groups of similar rankings are squares along the
    diagonal and branches of the tree. Small matrices show the items of each ranking.

    Parameters
    ----------
    gram : ndarray of shape (n_shown, n_shown)
        Kernel values of the rankings shown, in the order of the leaves of the tree.
    tree : ndarray of shape (n_shown - 1, 4)
        Hierarchical clustering of their kernel distances, as of :func:`scipy.cluster.hierarchy.linkage`.
    rows : ndarray of shape (n_shown,)
        The row of X for each row of `gram`. A ranking with a weight of 3 is shown three times.
    names : ndarray of shape (n_shown,)
        The rankings as text.
    labels : ndarray of shape (n_shown,), default=None
        Classes of the rankings.
    note : str, default=""
        Text below the heat map that describes what is shown if not all rankings are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the heat map.
    dendrogram_ax_ : matplotlib Axes
        Axes of the tree.
    figure_ : matplotlib Figure
        Figure of the plot.
    image_ : matplotlib AxesImage
        The heat map.

    See Also
    --------
    skrank.kernels.PartialRankingKernel : The kernel matrix, as a transformer.
    skrank.metrics.dendrogram_purity : How well a tree agrees with classes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.datasets import make_mallows_mixture
    >>> from skrank.inspection import RankingKernelDisplay
    >>> X, y = make_mallows_mixture(60, 6, n_components=2, centers="reversed", phi=0.3, random_state=0)
    >>> display = RankingKernelDisplay.from_rankings(X, kernel="kendall", labels=y)
    >>> display.gram.shape
    (60, 60)
    >>> int((display.labels[1:] != display.labels[:-1]).sum())    # the two groups are the two branches
    1
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, gram: Floats, *, tree: Floats, rows: Integers, names: Array, labels: Array | None = None, note: str = ""
    ) -> None:
        self.gram = gram
        self.tree = tree
        self.rows = rows
        self.names = names
        self.labels = labels
        self.note = note

    def plot(self, ax: "Axes | None" = None, *, cmap: Any = None, names: bool | None = None) -> Self:
        """Draw heat map and tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes for the heat map. The tree is drawn to its left, and names and the color bar to its right; use a figure
            with ``layout="constrained"`` to make space for them. None creates a figure.
        cmap : str or matplotlib Colormap, default=None
            Colors. None means "cividis" or, if there are negative values, "RdBu" with white at zero.
        names : bool, default=None
            Whether rankings are written out next to the heat map; None means for up to 40.

        Returns
        -------
        display : RankingKernelDisplay
        """
        n_shown = len(self.gram)
        names = n_shown <= MOST_RANKINGS_NAMED if names is None else names
        height = row_height(self.names, 0.0, line=0.14) if names else 0.0
        side = max(float(np.clip(0.22 * n_shown, 4, 7)), height * n_shown) if names else 6.0
        ax = axes(ax, "RankingKernelDisplay.plot", (1.4 * min(side, 7) + (4.0 if names else 1.0), side))
        negative = self.gram.min() < 0
        largest = np.abs(self.gram).max()
        image = ax.imshow(
            self.gram,
            cmap=("RdBu" if negative else "cividis") if cmap is None else cmap,
            vmin=-largest if negative else min(self.gram.min(), largest),
            vmax=largest,
            interpolation="nearest",
            aspect="auto",  # a box of its own size keeps the tree beside it within the figure
        )
        ax.set_xticks([])
        ax.yaxis.tick_right()
        ax.set_yticks(*((range(n_shown), self.names) if names else ([],)))
        ax.tick_params(length=0, labelsize="small")
        ax.set_xlabel(f"{n_shown} rankings, in the order of the tree" if not self.note else self.note)
        ax.figure.colorbar(image, ax=ax, label="kernel value", shrink=0.8)
        strip = 0.0 if self.labels is None else 0.04
        if self.labels is not None:
            self._draw_labels(ax, self.labels, strip)
        self.dendrogram_ax_ = ax.inset_axes([-0.32 - strip, 0, 0.3, 1])
        with warnings.catch_warnings():
            # Where all rankings are equal.
            warnings.filterwarnings("ignore", "Attempting to set identical", UserWarning)
            hierarchy.dendrogram(
                self.tree,
                ax=self.dendrogram_ax_,
                orientation="left",
                no_labels=True,
                color_threshold=0,
                above_threshold_color="0.2",
            )
        for lines in self.dendrogram_ax_.collections:
            lines.set_linewidth(float(np.clip(60 / n_shown, 0.5, 1)))
        self.dendrogram_ax_.set_ylim(10 * n_shown, 0)  # leaves are 10 apart, the first on top as in the heat map
        self.dendrogram_ax_.spines[["left", "right", "top"]].set_visible(False)
        self.dendrogram_ax_.tick_params(labelsize="small")
        self.dendrogram_ax_.set_xlabel("kernel distance", fontsize="small")
        # The tree is as wide as a share of the heat map, so that the layout takes two rounds to settle.
        ax.figure.draw_without_rendering()
        self.ax_, self.figure_, self.image_ = ax, ax.figure, image
        return self

    def _draw_labels(self, ax, labels, width):
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        classes, number = np.unique(labels, return_inverse=True)
        colors = class_colors(len(classes))
        strip = ax.inset_axes([-width - 0.01, 0, width, 1])
        strip.imshow(number[:, None], cmap=ListedColormap(colors), vmin=0, vmax=len(classes), aspect="auto")
        strip.set_axis_off()
        patches = [Patch(color=color, label=plain(one)) for one, color in zip(classes, colors, strict=True)]
        compact = {"fontsize": "small", "handlelength": 1, "columnspacing": 1, "frameon": False}
        if len(classes) <= MOST_CLASSES_NAMED:
            ax.legend(
                handles=patches, loc="lower left", bbox_to_anchor=(-width, 1), ncols=min(len(classes), 4), **compact
            )

    @classmethod
    def from_rankings(
        cls,
        X: ArrayLike,
        *,
        kernel: Any = "mallows",
        linkage: Literal["ward", "average", "complete", "single"] = "ward",
        sample_weight: ArrayLike | None = None,
        item_names: Names = None,
        labels: ArrayLike | None = None,
        max_rankings: int = 300,
        random_state: RandomState = 0,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Compute the kernel matrix of rankings and draw it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.
        kernel : str, kernel object or PartialRankingKernel, default="mallows"
            A name or an object as in :class:`~skrank.kernels.PartialRankingKernel`, or such a transformer.
        linkage : {"ward", "average", "complete", "single"}, default="ward"
            How branches are merged. Kernel distances are distances of points in a Euclidean space, so Ward's linkage,
            which minimizes the increase of the variance within branches, is well defined. Average linkage splits off
            unusual rankings first.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred; None means once.
        item_names : array-like of shape (n_items,), default=None
            Names of the items; None means the columns of a DataFrame, otherwise x0, x1, ...
        labels : array-like of shape (n_samples,), default=None
            Classes of the rankings, drawn as a strip of colors.
        max_rankings : int, default=300
            If there are more rankings, a random sample by weight is shown, and the plot says so. At most 800.
        random_state : int, RandomState instance or None, default=0
            Determines the sample.
        ax : matplotlib Axes, default=None
            Axes for the heat map; None creates a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : RankingKernelDisplay

        Raises
        ------
        ValueError
            If there are fewer than two rankings, or if lengths do not match.
        """
        if not isinstance(kernel, PartialRankingKernel):
            kernel = PartialRankingKernel(kernel, random_state=0)
        if not (isinstance(max_rankings, Integral) and 2 <= max_rankings <= LARGEST_TREE):
            raise ValueError(f"max_rankings must be a whole number from 2 to {LARGEST_TREE}, got {max_rankings!r}.")
        ranks, weights, items = weighted_rankings(X, sample_weight, item_names)
        if labels is not None:
            labels = np.asarray(labels)
            if labels.shape != (len(ranks),):
                raise ValueError(f"labels must have one entry for each of the {len(ranks)} rankings.")
        rows, drawn = representative_rows(weights, max_rankings, random_state)
        if len(rows) < 2:
            raise ValueError("There is one ranking: a tree needs two or more.")
        gram = clone(kernel).set_params(output="kernel").fit_transform(to_rank_matrix(ranks[rows]))
        tree = kernel_tree(gram, linkage)
        order = hierarchy.leaves_list(tree)
        rows = rows[order]
        display = cls(
            gram[np.ix_(order, order)],
            tree=tree,
            rows=rows,
            names=np.array(ranking_texts(ranks[rows], items), dtype=object),
            labels=None if labels is None else labels[rows],
            note=f"{len(rows)} of {weights.sum():g} rankings, drawn at random" if drawn else "",
        )
        return display.plot(ax, **plot_options)

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, **options: Any) -> Self:
        """Draw the matrix for a fitted :class:`~skrank.kernels.PartialRankingKernel`, with its scale and method.

        Parameters
        ----------
        estimator : PartialRankingKernel
            Fitted.
        X : array-like of shape (n_samples, n_items)
            Rank matrix of the rankings to show, which may differ from those in `fit`.
        **options : dict
            As in :meth:`from_rankings`, except `kernel`.

        Returns
        -------
        display : RankingKernelDisplay
        """
        if not isinstance(estimator, PartialRankingKernel):
            raise TypeError(f"estimator must be a PartialRankingKernel, got {type(estimator).__name__}.")
        check_is_fitted(estimator)
        check_rankings(X, estimator=estimator, reset=False)
        # What was learned at fit, now of other rankings.
        settled = clone(estimator).set_params(kernel=estimator.kernel_, method=estimator.method_)
        if options.get("item_names") is None and not hasattr(X, "columns"):
            options["item_names"] = getattr(estimator, "feature_names_in_", None)
        return cls.from_rankings(X, kernel=settled, **options)
