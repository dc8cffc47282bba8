"""What all displays share: validated rankings with weights and names, samples, texts, colors and axes."""

import textwrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from skrank._random import as_random_state
from skrank._rankings import MISSING, check_rankings, check_weights, ordering
from skrank._rankings import item_names as column_names
from skrank._typing import ArrayLike, Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def checked_names(names, n_items, owner):
    """Names of items as an array of strings: those given, or x0, x1, ..."""
    names = [f"x{item}" for item in range(n_items)] if names is None else [str(name) for name in names]
    if len(names) != n_items:
        raise ValueError(f"item_names has {len(names)} names, but {owner}.")
    return np.array(names, dtype=object)


def weighted_rankings(X, sample_weight, item_names):
    """Densified rankings, their weights, and the items' names (columns of a DataFrame, or x0, x1, ...)."""
    names = column_names(X) if item_names is None else item_names
    ranks = check_rankings(X)
    n_items = ranks.shape[1]
    return ranks, check_weights(sample_weight, ranks), checked_names(names, n_items, f"X has {n_items} columns")


def representative_rows(weights, most, random_state=0):
    """Row numbers that stand for weighted rankings, and whether they were drawn.

    Each row as often as its weight says, if that is at most `most` in all; otherwise a random sample by weight. Weights
    that are whole count rankings, of which none is drawn twice: copies would look like clusters, and be predicted. Of
    other weights a systematic sample is drawn, which repeats no row more often than it must.
    """
    total = weights.sum()
    rng = as_random_state(random_state)
    if not whole(weights):
        points = (rng.random_sample() + np.arange(most)) * (total / most)
        return np.minimum(np.searchsorted(np.cumsum(weights), points, side="right"), np.flatnonzero(weights)[-1]), True
    if total <= most:
        return np.repeat(np.arange(len(weights)), weights.astype(np.intp)), False
    rankings = sample_without_replacement(int(total), most, random_state=rng)
    return np.sort(np.searchsorted(np.cumsum(weights), rankings, side="right")), True


def whole(weights):
    """Whether all weights are whole numbers, as counts are."""
    return bool((weights == np.rint(weights)).all())


def component_weights(estimator, X, component, sample_weight):
    """Weights of the rankings in one component of a fitted mixture: how probable it is that they belong to it."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{type(estimator).__name__} has no predict_proba; use from_rankings with a sample_weight.")
    probability = estimator.predict_proba(X)
    if not 0 <= component < probability.shape[1]:
        raise ValueError(f"component is {component}, but the estimator has components 0 to {probability.shape[1] - 1}.")
    return probability[:, component] * check_weights(sample_weight, probability)


class RankingsDisplay:
    """Body of the displays that are computed from weighted rankings, items in the order of Kemeny's consensus."""

    @classmethod
    def _computed(cls, ranks, weights, names):
        """The display of densified rankings before it is drawn."""
        raise NotImplementedError

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the display."""
        raise NotImplementedError

    @classmethod
    def from_rankings(
        cls,
        X: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        item_names: Names = None,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Compute the shares from rankings and draw them, items in the order of Kemeny's consensus.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rankings; None means 1.
        item_names : array-like of shape (n_items,), default=None
            Names of the items; None means the columns of a DataFrame, otherwise x0, x1, ...
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : object of this class
        """
        return cls._computed(*weighted_rankings(X, sample_weight, item_names)).plot(ax, **plot_options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        component: int,
        sample_weight: ArrayLike | None = None,
        item_names: Names = None,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """The same for one component of a fitted mixture: each ranking counts by its probability of belonging to it.

        Parameters
        ----------
        estimator : fitted estimator with `predict_proba`
            Such as :class:`~skrank.mixture.MallowsMixture`.
        X : array-like of shape (n_samples, n_items)
            Rank matrix.
        component : int
            The component, from 0.
        sample_weight, item_names, ax, **plot_options
            As of :meth:`from_rankings`.

        Returns
        -------
        display : object of this class
        """
        weights = component_weights(estimator, X, component, sample_weight)
        return cls.from_rankings(X, sample_weight=weights, item_names=item_names, ax=ax, **plot_options)


# ---------------------------------------------------------------- texts
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def plain(text):
    """A text that matplotlib shows as it is: dollars would start mathematics."""
    return str(text).replace("$", r"\$")


LINE, MOST_LINES, LONGEST_LINE = 24, 3, 40


def wrap_names(names, width=None):
    """Names broken into lines of like length, for matplotlib; nothing is cut.

    A line has about `width` characters; None means 24, or more where a name would take more than three lines of them.
    Lines break between words; words longer than a line break anywhere.
    """
    names = [" ".join(str(name).split()) for name in names]
    if width is None:
        longest = max(map(len, names), default=0)
        width = int(np.clip(-(-longest // MOST_LINES) + 2, LINE, LONGEST_LINE))
    return [plain("\n".join(_lines(name, width))) for name in names]


def _lines(name, width):
    """The lines of a name: as few as the width allows, and of these the narrowest."""
    lines = textwrap.wrap(name, width) or [""]
    narrow = -(-len(name) // len(lines))
    while narrow < width and len(lines) > 1:
        tried = textwrap.wrap(name, narrow, break_long_words=False)
        if len(tried) == len(lines) and max(map(len, tried)) <= width:
            return tried
        narrow += 1
    return lines


def most_lines(wrapped):
    """The most lines that any of some wrapped names has."""
    return max((name.count("\n") + 1 for name in wrapped), default=1)


def line_width(wrapped):
    """The most characters that any line of some wrapped names has."""
    return max((len(line) for name in wrapped for line in name.split("\n")), default=0)


def wrap_title(text, figure):
    """A title broken into lines that are no wider than the figure."""
    return wrap_names([text], max(int(figure.get_figwidth() / 0.1), LINE))[0]


def row_height(wrapped, least, line=0.16):
    """Height of a row in inches in which each wrapped name has room."""
    return max(least, line * most_lines(wrapped) + 0.06)


def ranking_texts(ranks, names, width=44):
    """Densified rankings as text, best first: ``a > b = c``; missing items are left out.

    No name is cut: a text ends in dots after the last item that has room, and the first is broken into lines.
    """
    names = [" ".join(str(name).split()) for name in names]
    texts = [_ranking_text(row, order, names, width) for row, order in zip(ranks, ordering(ranks), strict=True)]
    return wrap_names(texts, width)


def _ranking_text(row, order, names, width):
    ranked = [item for item in order if row[item] != MISSING]
    text = names[ranked[0]] if ranked else "(nothing)"
    for before, item in zip(ranked, ranked[1:], strict=False):
        relation = "=" if row[before] == row[item] else ">"
        longer = f"{text} {relation} {names[item]}"
        if len(longer) + (0 if item == ranked[-1] else 2) > width:
            return f"{text} {relation} {ELLIPSIS}"
        text = longer
    return text


# ---------------------------------------------------------------- matplotlib
def axes(ax, caller, size):
    """The given axes, or those of a new figure of a size in inches."""
    check_matplotlib_support(caller)
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def class_colors(n_classes):
    """One color for each class: those of Okabe and Ito, told apart by color-blind people; more are a scale."""
    from matplotlib import colormaps

    if n_classes <= len(OKABE_ITO):
        return list(OKABE_ITO[:n_classes])
    return list(colormaps["turbo"](np.linspace(0.03, 0.97, n_classes)))


# Okabe and Ito, "Color Universal Design" (2008), black last.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


def text_color(background):
    """Black or white, whichever is told from a color more easily."""
    return "black" if np.dot(background[:3], (0.299, 0.587, 0.114)) > 0.55 else "white"
