"""OrdinalEmbeddingDisplay: the items of an embedding as a scatter of points."""

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from skrank.inspection._base import axes

_MOST_LABELS = 60


class OrdinalEmbeddingDisplay:
    """Scatter plot of embedded items, with their names or the colours of their classes.

    Create it with :meth:`from_estimator` or :meth:`from_embedding`.

    Parameters
    ----------
    embedding : ndarray of shape (n_samples, n_components)
        Coordinates of the items.
    item_names : ndarray of shape (n_samples,), default=None
        Names of the items.
    labels : ndarray of shape (n_samples,), default=None
        Class of each item.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that holds it.
    scatter_ : list of matplotlib PathCollection
        The points, one collection for each class.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.datasets import make_triplets
    >>> from skrank.inspection import OrdinalEmbeddingDisplay
    >>> from skrank.manifold import StochasticTripletEmbedding
    >>> triplets, _ = make_triplets(n_samples=20, n_triplets=3000, noise="logistic", random_state=0)
    >>> model = StochasticTripletEmbedding(random_state=0).fit(triplets)
    >>> display = OrdinalEmbeddingDisplay.from_estimator(model)
    >>> display.embedding.shape
    (20, 2)
    >>> plt.close(display.figure_)
    """

    def __init__(self, embedding, *, item_names=None, labels=None):
        self.embedding = embedding
        self.item_names = item_names
        self.labels = labels

    def plot(self, ax=None, *, components=(0, 1), names=None, **scatter_options):
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        components : pair of int, default=(0, 1)
            The two components to show. An embedding with one component is drawn along a line.
        names : bool, default=None
            Whether points carry their items' names; None means up to 60 items.
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
        ax = axes(ax, "OrdinalEmbeddingDisplay.plot", (7, 6) if n_components > 1 else (8, 2.5))
        labels = np.zeros(n_samples) if self.labels is None else self.labels
        classes = np.unique(labels)
        palette = _colours(len(classes))
        self.scatter_ = [
            ax.scatter(*points[labels == one].T, **{"s": 18, "color": [colour], "label": str(one), **scatter_options})
            for one, colour in zip(classes, palette, strict=True)
        ]
        if self.labels is not None:
            outside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if len(classes) > 6 else {}
            ax.legend(fontsize="small", **outside)
        if self.item_names is not None and (n_samples <= _MOST_LABELS if names is None else names):
            for name, point in zip(self.item_names, points, strict=True):
                rotation = {} if n_components > 1 else {"rotation": 90, "ha": "center"}
                ax.annotate(name, point, xytext=(3, 3), textcoords="offset points", fontsize="x-small", **rotation)
        if n_components > 1:
            ax.set_aspect("equal", adjustable="datalim")  # only distances mean something
            ax.set_ylabel(f"component {vertical}")
        else:
            ax.set_yticks([])
        ax.set_xlabel(f"component {components[0] if n_components > 1 else 0}")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(cls, estimator, *, item_names=None, labels=None, ax=None, **plot_options):
        """Draw the embedding of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with an `embedding_`
            Such as :class:`~skrank.manifold.StochasticTripletEmbedding` or
            :class:`~skrank.manifold.LandmarkOrdinalEmbedding`.
        item_names : array-like of shape (n_samples,), default=None
            Names of the items.
        labels : array-like of shape (n_samples,), default=None
            Class of each item, shown by colour.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : OrdinalEmbeddingDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "embedding_"):
            raise TypeError(f"{type(estimator).__name__} has no embedding_; use from_embedding with its coordinates.")
        return cls.from_embedding(estimator.embedding_, item_names=item_names, labels=labels, ax=ax, **plot_options)

    @classmethod
    def from_embedding(cls, embedding, *, item_names=None, labels=None, ax=None, **plot_options):
        """Draw coordinates.

        Parameters
        ----------
        embedding : array-like of shape (n_samples, n_components)
            Coordinates of the items.
        item_names, labels, ax, **plot_options
            As of :meth:`from_estimator`.

        Returns
        -------
        display : OrdinalEmbeddingDisplay
        """
        embedding = check_array(embedding, dtype=float, input_name="embedding")
        details = {"item_names": item_names, "labels": labels}
        for name, values in details.items():
            if values is not None:
                details[name] = np.asarray(values)
                if details[name].shape != (len(embedding),):
                    raise ValueError(f"{name} must have one entry for each of the {len(embedding)} items.")
        return cls(embedding, **details).plot(ax, **plot_options)


def _colours(n_colours):
    from matplotlib import colormaps

    return colormaps["tab10" if n_colours <= 10 else "tab20"].colors[:n_colours] + tuple(
        colormaps["viridis"](np.linspace(0, 1, max(n_colours - 20, 0)))
    )
