"""OrdinalEmbeddingDisplay: the items of an embedding as a scatter of points."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from skrank._typing import Array, ArrayLike, Floats, Integers, Names
from skrank.inspection._base import axes, class_colors, plain
from skrank.inspection._point_names import LEAST_SIDE, draw_names, side_with_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_NAMES = 300
LEAST_ERROR = 0.004  # of the width of the map
MARKERS = "os^DvPX*<>"


class OrdinalEmbeddingDisplay:
    """Scatter plot of embedded items with names, colors of classes and rings around landmarks.

    Create it with :meth:`from_estimator` or :meth:`from_embedding`.

    Parameters
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        Coordinates of the items.
    item_names : ndarray of shape (n_samples,), default=None
        Names of the items.
    labels : ndarray of shape (n_samples,), default=None
        Class of each item.
    landmarks : ndarray of shape (n_landmarks,), default=None
        Rows that are landmarks.
    expected_distance : float, default=None
        Root mean square distance between the position of an item and its true position in the plane of two components.
        Circles of this radius surround the items.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    scatter_ : list of matplotlib PathCollection
        The points, one collection for each class.
    landmarks_ : matplotlib PathCollection or None
        The rings around landmarks.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.datasets import make_triplets
    >>> from skrank.inspection import OrdinalEmbeddingDisplay
    >>> from skrank.manifold import StochasticTripletEmbedding
    >>> triplets, _ = make_triplets(n_items=20, n_triplets=3000, noise="logistic", random_state=0)
    >>> model = StochasticTripletEmbedding(random_state=0).fit(triplets)
    >>> display = OrdinalEmbeddingDisplay.from_estimator(model)
    >>> display.embedding.shape
    (20, 2)
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        embedding: Floats,
        *,
        item_names: Array | None = None,
        labels: Array | None = None,
        landmarks: Integers | None = None,
        expected_distance: float | None = None,
    ) -> None:
        self.embedding = embedding
        self.item_names = item_names
        self.labels = labels
        self.landmarks = landmarks
        self.expected_distance = expected_distance

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        components: tuple[int, int] = (0, 1),
        names: bool | None = None,
        **scatter_options: Any,
    ) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        components : pair of int, default=(0, 1)
            The two components to show. An embedding with one component is drawn along a line.
        names : bool, default=None
            Whether to show names of items. None shows them for up to 300 items if there is enough space for the name;
            the plot says how many are shown.
        **scatter_options : dict
            Further arguments of :meth:`matplotlib.axes.Axes.scatter`.

        Returns
        -------
        display : OrdinalEmbeddingDisplay
        """
        n_samples, n_components = self.embedding.shape
        if n_components > 1:
            horizontal, vertical = components
            if not all(0 <= component < n_components for component in components):
                raise ValueError(
                    f"components is {components}, but the embedding has components 0 to {n_components - 1}."
                )
            points = self.embedding[:, [horizontal, vertical]]
        else:
            points = np.column_stack([self.embedding[:, 0], np.zeros(n_samples)])
        with_names = self.item_names is not None and (n_samples <= MOST_NAMES if names is None else names)
        side = side_with_names(self.item_names) if with_names else LEAST_SIDE
        ax = axes(ax, "OrdinalEmbeddingDisplay.plot", (side + 1, side) if n_components > 1 else (8, 2.5))
        self._draw_points(ax, points, scatter_options)
        if n_components > 1:
            ax.set_aspect("equal", adjustable="datalim")  # only distances mean something
            ax.set_ylabel(f"component {vertical}")
        else:
            ax.set_yticks([])
            ax.set_ylim(-0.3, 1)
        ax.set_xlabel(f"component {components[0] if n_components > 1 else 0}")
        if self.expected_distance is not None and n_components > 1 and n_samples <= MOST_NAMES:
            self._draw_errors(ax, points, self.expected_distance)
        if with_names:
            draw_names(ax, points, self.item_names, along_a_line=n_components == 1, keep_all=bool(names))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_points(self, ax, points, scatter_options):
        labels = np.zeros(len(points)) if self.labels is None else self.labels
        classes = np.unique(labels)
        self.scatter_ = []
        for number, (one, color) in enumerate(zip(classes, class_colors(len(classes)), strict=True)):
            # Shapes tell classes apart in print; points are few enough for that where classes are few.
            style = {"s": 22, "color": [color], "marker": MARKERS[number % len(MARKERS)], "label": plain(one)}
            self.scatter_.append(ax.scatter(*points[labels == one].T, **{**style, **scatter_options}))
        self.landmarks_ = None
        if self.landmarks is not None:
            ring = {"s": 110, "facecolors": "none", "edgecolors": "black", "linewidths": 1.2, "label": "landmark"}
            self.landmarks_ = ax.scatter(*points[self.landmarks].T, **ring)
        if self.labels is not None or self.landmarks is not None:
            handles = self.scatter_ if self.labels is not None else []
            handles = handles + ([self.landmarks_] if self.landmarks is not None else [])
            outside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
            ax.legend(handles=handles, fontsize="small", ncols=1 + (len(handles) - 1) // 20, **outside)

    @staticmethod
    def _draw_errors(ax, points, radius):
        """A circle around each item, as wide as its place is uncertain."""
        from matplotlib.collections import EllipseCollection

        if radius < LEAST_ERROR * np.ptp(points, axis=0).max():
            return  # less than the points themselves
        diameter = np.full(len(points), 2 * radius)
        style = {"units": "xy", "offset_transform": ax.transData, "facecolors": "0.5", "alpha": 0.15, "zorder": 0}
        ax.add_collection(EllipseCollection(diameter, diameter, np.zeros(len(points)), offsets=points, **style))
        ax.set_xlabel(f"{ax.get_xlabel()}\ncircles: root mean square error of a place")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        item_names: Names = None,
        labels: ArrayLike | None = None,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the embedding of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with an `embedding_`
            Such as :class:`~skrank.manifold.StochasticTripletEmbedding` or
            :class:`~skrank.manifold.LandmarkOrdinalEmbedding`, which also shows rings around landmarks and circles
            around items according to `expected_error_`.
        item_names : array-like of shape (n_samples,), default=None
            Names of the items.
        labels : array-like of shape (n_samples,), default=None
            Class of each item, shown by color.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : OrdinalEmbeddingDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "embedding_"):
            raise TypeError(f"{type(estimator).__name__} has no embedding_; use from_embedding with its coordinates.")
        return cls.from_embedding(
            estimator.embedding_,
            item_names=item_names,
            labels=labels,
            landmarks=getattr(estimator, "landmarks_", None),
            expected_distance=_expected_distance(estimator),
            ax=ax,
            **plot_options,
        )

    @classmethod
    def from_embedding(
        cls,
        embedding: ArrayLike,
        *,
        item_names: Names = None,
        labels: ArrayLike | None = None,
        landmarks: ArrayLike | None = None,
        expected_distance: float | None = None,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw coordinates.

        Parameters
        ----------
        embedding : array-like of shape (n_samples, n_components)
            Coordinates of the items.
        landmarks : array-like of int, default=None
            Rows that are landmarks, shown by rings.
        expected_distance : float, default=None
            Root mean square error of a position in the plane, shown by circles.
        item_names, labels, ax, **plot_options
            As in :meth:`from_estimator`.

        Returns
        -------
        display : OrdinalEmbeddingDisplay
        """
        embedding = check_array(embedding, dtype=float, input_name="embedding")
        details: dict[str, Any] = {"item_names": item_names, "labels": labels}
        for name, values in details.items():
            if values is not None:
                details[name] = np.asarray(values)
                if details[name].shape != (len(embedding),):
                    raise ValueError(f"{name} must have one entry for each of the {len(embedding)} items.")
        if landmarks is not None:
            landmarks = np.asarray(landmarks, dtype=np.intp)
        return cls(embedding, **details, landmarks=landmarks, expected_distance=expected_distance).plot(
            ax, **plot_options
        )


def _expected_distance(estimator):
    """Root mean square error of a place in a plane, of the expected Procrustes error; None where there is none."""
    error = getattr(estimator, "expected_error_", None)
    n_components = estimator.embedding_.shape[1]
    if error is None or not np.isfinite(error) or n_components < 2:
        return None
    centered = estimator.embedding_ - estimator.embedding_.mean(axis=0)
    return float(np.sqrt(error * (centered**2).sum(axis=1).mean() * 2 / n_components))
