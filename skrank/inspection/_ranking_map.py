"""RankingMapDisplay: rankings as points of a map, those that a kernel takes for alike close to each other."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import KernelPCA

from skrank._rankings import to_rank_matrix
from skrank._typing import Array, ArrayLike, Floats, RandomState
from skrank.inspection._base import axes, class_colors, representative_rows, weighted_rankings, wrap_names
from skrank.kernels import PartialRankingKernel
from skrank.stats._rank_sets import n_redrawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_VARIANCE = 1e-10  # of the whole, below which a component is rounding
SMALLEST, LARGEST = 16.0, 400.0  # areas of markers, in square points
MARKERS = "osD^vPX*<>"


class RankingMapDisplay:
    """Map of rankings: the first two principal components of a kernel, with one marker for all equal rankings.

    Create it with :meth:`from_rankings`. The area of a marker is proportional to the number of its rankings. The axes
    show their proportion of the variance. If it is small, different groups may still overlap on the map.

    Parameters
    ----------
    coordinates : ndarray of shape (n_points, 2)
        Principal components of distinct rankings.
    counts : ndarray of shape (n_points,)
        Number of rankings at each point.
    explained_variance_ratio : ndarray of shape (2,)
        Proportion of the variance in the kernel's space along each axis, in [0, 1].
    labels : ndarray of shape (n_points,), default=None
        Classes of the points, shown by color and shape.
    note : str, default=""
        Text below the map that describes what is shown if not all rankings are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    scatter_ : list of matplotlib PathCollection
        The points, one collection for each class.

    See Also
    --------
    skrank.inspection.RankingKernelDisplay : The kernel matrix with a dendrogram.
    sklearn.decomposition.KernelPCA : Compute the coordinates.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.datasets import make_mallows_mixture
    >>> from skrank.inspection import RankingMapDisplay
    >>> X, y = make_mallows_mixture(100, 5, n_components=2, centers="reversed", phi=0.3, random_state=0)
    >>> display = RankingMapDisplay.from_rankings(X, labels=y)
    >>> int(display.counts.sum())
    100
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        coordinates: Floats,
        *,
        counts: Array,
        explained_variance_ratio: Floats,
        labels: Array | None = None,
        note: str = "",
    ) -> None:
        self.coordinates = coordinates
        self.counts = counts
        self.explained_variance_ratio = explained_variance_ratio
        self.labels = labels
        self.note = note

    def plot(self, ax: "Axes | None" = None, **scatter_options: Any) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **scatter_options : dict
            Further arguments of :meth:`matplotlib.axes.Axes.scatter`.

        Returns
        -------
        display : RankingMapDisplay
        """
        ax = axes(ax, "RankingMapDisplay.plot", (6, 5.5))
        labels = np.zeros(len(self.coordinates)) if self.labels is None else self.labels
        classes, number = np.unique(labels, return_inverse=True)
        names = wrap_names(classes)
        area = np.clip(SMALLEST * self.counts, None, LARGEST * self.counts / self.counts.max())
        rows = np.argsort(-area, kind="stable")  # small markers on top of large ones
        self.scatter_ = []
        for one, color in enumerate(class_colors(len(classes))):
            own = rows[number[rows] == one]
            style = {"s": area[own], "color": [color], "marker": MARKERS[one % len(MARKERS)], "alpha": 0.6}
            style |= {"linewidths": 0, "label": names[one]}
            self.scatter_.append(ax.scatter(*self.coordinates[own].T, **{**style, **scatter_options}))
        ax.margins(0.12)
        ax.set_aspect("equal", adjustable="datalim")  # only distances mean something
        ax.set_xticks([])
        ax.set_yticks([])
        first, second = (f"{100 * share:.0f} % of the variance" for share in self.explained_variance_ratio)
        ax.set_xlabel(f"first principal component: {first}" + (f"\n{self.note}" if self.note else ""))
        ax.set_ylabel(f"second: {second}")
        if self.labels is not None:
            style = {"loc": "lower left", "bbox_to_anchor": (0, 1), "fontsize": "small", "frameon": False}
            legend = ax.legend(ncols=min(len(classes), 4), handletextpad=0.2, **style)
            for handle in legend.legend_handles:
                handle.set_sizes([40])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_rankings(
        cls,
        X: ArrayLike,
        *,
        kernel: Any = "kendall",
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        max_rankings: int = 1000,
        random_state: RandomState = 0,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Compute the map of rankings and draw it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.
        kernel : str, kernel object or PartialRankingKernel, default="kendall"
            A name or an object as in :class:`~skrank.kernels.PartialRankingKernel`, or such a transformer.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred; None means once. Of survey weights (not whole), the effective number is
            drawn, (sum w)^2 / sum w^2.
        labels : array-like of shape (n_samples,), default=None
            Classes of the rankings.
        max_rankings : int, default=1000
            If there are more rankings, a random sample by weight is shown, and the plot says so.
        random_state : int, RandomState instance or None, default=0
            Determines the sample.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : RankingMapDisplay

        Raises
        ------
        ValueError
            If there are fewer than two rankings, or if lengths do not match.
        """
        if not isinstance(kernel, PartialRankingKernel):
            kernel = PartialRankingKernel(kernel, random_state=0)
        ranks, weights, _ = weighted_rankings(X, sample_weight, None)
        if labels is not None:
            labels = np.asarray(labels)
            if labels.shape != (len(ranks),):
                raise ValueError(f"labels must have one entry for each of the {len(ranks)} rankings.")
        rows, drawn = representative_rows(weights, min(max_rankings, n_redrawn(weights)), random_state)
        if len(rows) < 2:
            raise ValueError("There is one ranking: a map needs two or more.")
        shown = to_rank_matrix(ranks[rows])
        gram = clone(kernel).set_params(output="kernel").fit_transform(shown)
        note = f"{len(rows)} of {weights.sum():g} rankings, drawn at random" if drawn else ""
        return cls._computed(shown, gram, None if labels is None else labels[rows], note).plot(ax, **plot_options)

    @classmethod
    def _computed(cls, X, gram, labels, note=""):
        """The display of rankings and their kernel matrix before it is drawn."""
        coordinates, ratio = principal_components(gram)
        keys = [X] if labels is None else [X, np.unique(labels, return_inverse=True)[1]]
        _, first, counts = np.unique(np.column_stack(keys), axis=0, return_index=True, return_counts=True)
        return cls(
            coordinates[first],
            counts=counts,
            explained_variance_ratio=ratio,
            labels=None if labels is None else labels[first],
            note=note,
        )


def principal_components(gram):
    """The first two principal components of a kernel matrix, and their proportions of the variance."""
    centered = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    total = np.trace(centered)
    if total <= LEAST_VARIANCE * max(np.abs(gram).max(), 1.0) * len(gram):
        return np.zeros((len(gram), 2)), np.zeros(2)
    pca = KernelPCA(min(2, len(gram)), kernel="precomputed", random_state=0)
    coordinates = pca.fit_transform(gram)
    ratio = pca.eigenvalues_ / total
    coordinates[:, ratio < LEAST_VARIANCE] = 0
    missing = 2 - coordinates.shape[1]
    return np.pad(coordinates, ((0, 0), (0, missing))), np.pad(np.maximum(ratio, 0), (0, missing))
