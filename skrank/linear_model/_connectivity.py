"""Which scores comparisons leave open."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skrank._fitting import warn_caller
from skrank._rankings import MISSING, aggregate, ordering, rows_with_ties
from skrank.exceptions import InsufficientDataWarning


def check_connected(components, n_classes, won_and_lost, items, alpha):
    """Warn, or raise without regularization, where comparisons leave scores open.

    Parameters
    ----------
    components : pair of int and ndarray of shape (n_items,)
        Number of connected sets of items, and the set of each one.
    n_classes : int
        Number of sets in which each item has beaten each other, directly or through others.
    won_and_lost : pair of ndarrays of shape (n_items,)
        How often each item won and lost.
    items : ndarray of shape (n_items,)
        Labels.
    alpha : float
        Strength of the regularization.
    """
    n_components, component = components
    if alpha == 0 and n_classes > 1:
        raise ValueError(
            f"with alpha=0 the scores have no finite, unique maximum: the items fall into {n_classes} groups of which "
            "none has both won and lost against the others. Use alpha > 0, or more comparisons."
        )
    items = items.tolist()
    if n_components > 1:
        other = items[np.argmax(component != component[0])]
        warn_caller(
            f"the comparisons leave the items in {n_components} unconnected sets: {items[0]!r} and {other!r}, for "
            "instance, are in different ones, and their scores cannot be compared. Add comparisons between the sets, "
            "or fit each alone.",
            InsufficientDataWarning,
        )
    if n_classes > n_components:
        won, lost = won_and_lost
        extreme = np.flatnonzero((won == 0) != (lost == 0))
        example = f" ({items[extreme[0]]!r}, for instance)" if len(extreme) else ""
        who = "1 item won or lost all its" if len(extreme) == 1 else f"{len(extreme)} items won or lost all their"
        warn_caller(
            f"{who} comparisons{example}, and the items fall into {n_classes} groups of which none has both won and "
            "lost against the others. Between these groups, only the regularization bounds the differences of scores. "
            "Add comparisons, or beware of their standard errors.",
            InsufficientDataWarning,
        )


def connections_of_rankings(ranks, ties_connect):
    """What `check_connected` needs, from densified rankings.

    Between two buckets that follow each other stands a node that the first one's items lead to and that leads to the
    second one's; with `ties_connect` a node in each bucket leads both ways.

    Returns
    -------
    components : pair of int and ndarray
    n_classes : int
    won_and_lost : pair of boolean ndarrays
    """
    n_items = ranks.shape[1]
    last = ranks.max(axis=1, keepdims=True)
    won = ((ranks != MISSING) & (ranks < last)).any(axis=0)
    lost = (ranks > 0).any(axis=0)
    tied = rows_with_ties(ranks)
    start, stop = _neighbors(ranks[~tied])
    ranks = aggregate(ranks[tied]).ranks
    row, item = np.nonzero(ranks != MISSING)
    bucket = ranks[row, item].astype(np.intp)
    node = n_items + 2 * (row * (n_items + 1) + bucket)  # after this bucket; one more: within it
    before_last, later = bucket < ranks.max(axis=1)[row] if len(ranks) else np.zeros(0, bool), bucket > 0
    starts = [start, item[before_last], node[later] - 2]
    stops = [stop, node[before_last], item[later]]
    if ties_connect:
        starts += [item, node + 1]
        stops += [node + 1, item]
    edges = np.concatenate(starts), np.concatenate(stops)
    nodes, numbers = np.unique(np.concatenate([np.arange(n_items), *edges]), return_inverse=True)
    start, stop = np.split(numbers[n_items:], 2)
    graph = csr_array((np.ones(len(start), np.int8), (start, stop)), shape=2 * (len(nodes),))
    component = connected_components(graph, directed=True, connection="weak")[1][:n_items]
    strong = connected_components(graph, directed=True, connection="strong")[1][:n_items]
    labels, component = np.unique(component, return_inverse=True)
    return (len(labels), component), len(np.unique(strong)), (won, lost)


def _neighbors(ranks):
    """Pairs of items that follow each other in some ranking without ties."""
    n_items = ranks.shape[1]
    order = ordering(ranks)
    ranked = np.take_along_axis(ranks, order, axis=1) != MISSING
    both = ranked[:, :-1] & ranked[:, 1:]
    pairs = np.unique(order[:, :-1][both] * n_items + order[:, 1:][both])
    return pairs // n_items, pairs % n_items
