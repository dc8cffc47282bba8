"""What all displays share: validated rankings with weights and names, and axes."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from skrank._rankings import check_rankings, check_weights
from skrank._rankings import item_names as column_names


def weighted_rankings(X, sample_weight, item_names):
    """Densified rankings, their weights, and the items' names (columns of a DataFrame, or x0, x1, ...)."""
    names = column_names(X) if item_names is None else item_names
    ranks = check_rankings(X)
    names = [f"x{item}" for item in range(ranks.shape[1])] if names is None else [str(name) for name in names]
    if len(names) != ranks.shape[1]:
        raise ValueError(f"item_names has {len(names)} names, but X has {ranks.shape[1]} columns.")
    return ranks, check_weights(sample_weight, ranks), np.array(names, dtype=object)


def component_weights(estimator, X, component, sample_weight):
    """Weights of the rankings in one component of a fitted mixture: how probable it is that they belong to it."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{type(estimator).__name__} has no predict_proba; use from_rankings with a sample_weight.")
    probability = estimator.predict_proba(X)
    if not 0 <= component < probability.shape[1]:
        raise ValueError(f"component is {component}, but the estimator has components 0 to {probability.shape[1] - 1}.")
    return probability[:, component] * check_weights(sample_weight, probability)


def axes(ax, caller, size):
    """The given axes, or those of a new figure of a size in inches."""
    check_matplotlib_support(caller)
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
