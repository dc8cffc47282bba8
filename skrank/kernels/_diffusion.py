"""Diffusion kernels on the permutations."""

from functools import lru_cache
from itertools import combinations, permutations
from math import cos, factorial, lgamma, pi
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import expm_multiply
from sklearn.gaussian_process.kernels import Hyperparameter

from skrank.kernels._base import RankingKernel, check_positive
from skrank.metrics._pair_products import blocked_products

GRAPHS = ("adjacent", "transposition")
# 8! = 40320 permutations; a table of their kernel values, indexed by 7 digits to the base 8, takes 16 MiB.
MAX_ITEMS = 8


class DiffusionKernel(RankingKernel):
    """Diffusion kernel: the heat kernel ``exp(-beta L)`` of the graph whose nodes are the full rankings.

    L = D - A is the graph's Laplacian. The value for two rankings is the probability that a continuous-time random walk
    with rate 1 on each edge leads from one to the other in time `beta`.

    Parameters
    ----------
    beta : float, default=1.0
        Time of diffusion, positive. Near 0, only equal rankings are similar; for large values, all rankings are
        similar.
    graph : {"adjacent", "transposition"}, default="adjacent"
        Edges join rankings that differ by an adjacent transposition (the length of the shortest path is the Kendall
        distance), or by a transposition of any two items (the Cayley distance).
    beta_bounds : pair of floats or "fixed", default=(1e-3, 1e2)
        Bounds on `beta` when a Gaussian process optimizes it; "fixed" keeps it constant.
    missing_values : float, default=NaN
        A number that represents missing items in addition to NaN, for callers that reject NaN.

    Raises
    ------
    ValueError
        If there are more than 8 items, because the graph has too many nodes; if a row has ties or missing items. Use
        :class:`MarginalizedKernel` to average over consistent full rankings.

    Notes
    -----
    The graph looks the same from every ranking, so one column of ``exp(-beta L)``, the heat that spreads from one
    ranking to all n! rankings, contains all values: the value for s and t is the entry of the permutation ``s t^-1``.
    It is computed exactly, up to rounding, by the action of the matrix exponential on a vector.

    The values sum to 1 over all n! rankings, so they are all about 1 / n! for a large `beta`. Estimators whose
    regularization is not scaled to the kernel, such as ``SVC(C=1)``, then learn nothing. To divide the kernel by its
    diagonal, use ``PartialRankingKernel(kernel=DiffusionKernel(...), normalize=True)``.

    References
    ----------
    R. Kondor, M. Barbosa, "Ranking with kernels in Fourier space", COLT 2010.

    Examples
    --------
    >>> from skrank.kernels import DiffusionKernel
    >>> DiffusionKernel(beta=0.5)([[1, 2, 3], [3, 2, 1], [1, 3, 2]]).round(3)
    array([[0.466, 0.016, 0.208],
           [0.016, 0.466, 0.051],
           [0.208, 0.051, 0.466]])
    """

    def __init__(
        self,
        beta: float = 1.0,
        graph: Literal["adjacent", "transposition"] = "adjacent",
        beta_bounds: tuple[float, float] | str = (1e-3, 1e2),
        missing_values: float = np.nan,
    ) -> None:
        self.beta = beta
        self.graph = graph
        self.beta_bounds = beta_bounds
        self.missing_values = missing_values

    @property
    def hyperparameter_beta(self) -> Any:
        """The specification of `beta` for Gaussian processes."""
        return Hyperparameter("beta", "numeric", self.beta_bounds)

    def _check_parameters(self):
        check_positive(self.beta, "beta", self)
        if self.graph not in GRAPHS:
            raise ValueError(f"graph of DiffusionKernel must be one of {GRAPHS}, got {self.graph!r}.")

    def _check_items(self, n_items):
        if n_items > MAX_ITEMS:
            raise ValueError(
                f"X ranks {n_items} items, but DiffusionKernel is computed for up to {MAX_ITEMS} "
                f"({factorial(MAX_ITEMS)} full rankings). For more, use MallowsKernel, or select items."
            )

    def _pairwise(self, ranks, other_ranks=None):
        return look_up_permutations(heat(ranks.shape[1], self.graph, self.beta)[0], ranks, other_ranks)

    def _pairwise_and_gradient(self, ranks):
        if self.hyperparameter_beta.fixed:
            return super()._pairwise_and_gradient(ranks)
        gram, gradient = (look_up_permutations(column, ranks) for column in heat(ranks.shape[1], self.graph, self.beta))
        return gram, gradient[..., None]

    def _diag(self, ranks):
        return np.full(len(ranks), heat(ranks.shape[1], self.graph, self.beta)[0][0])


# ---------------------------------------------------------------- heat on the graph
def _all_permutations(n_items):
    """All permutations in lexicographic order, the identity first, shape (n_items!, n_items)."""
    return np.array(list(permutations(range(n_items))), np.int64).reshape(-1, n_items)


def _radix_weights(n_items):
    # The values at places 1, 2, ... determine that at place 0.
    return np.r_[0.0, float(n_items) ** np.arange(n_items - 1)]


@lru_cache(maxsize=4)
def _node_of_key(n_items):
    """Number of the permutation with each key ``sum_p weight_p g(p)``, in `_all_permutations`."""
    keys = (_all_permutations(n_items) @ _radix_weights(n_items)).astype(np.intp)
    nodes = np.zeros(keys.max() + 1, np.int32)
    nodes[keys] = np.arange(len(keys))
    return nodes


@lru_cache(maxsize=4)
def _laplacian(n_items, graph):
    """Laplacian of the graph of all permutations whose edges swap values v and v + 1, or any two values."""
    group = _all_permutations(n_items)
    values = np.arange(n_items)
    swaps = list(zip(values[:-1], values[1:], strict=True)) if graph == "adjacent" else list(combinations(values, 2))
    neighbors = np.empty((len(group), len(swaps)), np.int32)
    nodes, weights = _node_of_key(n_items), _radix_weights(n_items)
    for number, (v, w) in enumerate(swaps):
        swapped = values.copy()
        swapped[[v, w]] = w, v
        neighbors[:, number] = nodes[(swapped[group] @ weights).astype(np.intp)]
    columns = np.column_stack([np.arange(len(group)), neighbors]).ravel()
    entries = np.tile(np.r_[float(len(swaps)), -np.ones(len(swaps))], len(group))
    starts = np.arange(len(group) + 1) * (len(swaps) + 1)
    return csr_array((entries, columns, starts), shape=(len(group), len(group)))


def _uniform_from(n_items, graph):
    """The time from which on the heat is uniform to rounding: its values are within a share of 1e-17 of 1 / n!.

    They differ from 1 / n! by at most exp(-beta gap), with the smallest positive eigenvalue of L, which is that of a
    single random walker on the graph whose edges are the swaps (P. Caputo, T. Liggett, T. Richthammer, "Proof of
    Aldous' spectral gap conjecture", 2010): a path or the complete graph.
    """
    if n_items == 1:
        return 0.0
    gap = 2 - 2 * cos(pi / n_items) if graph == "adjacent" else n_items
    return (lgamma(n_items + 1) - np.log(1e-17)) / gap


@lru_cache(maxsize=8)
def heat(n_items, graph, beta):
    """``exp(-beta L)`` from the identity to every permutation, and its derivative in log beta."""
    n_nodes = factorial(n_items)
    if beta >= _uniform_from(n_items, graph):
        return np.full(n_nodes, 1 / n_nodes), np.zeros(n_nodes)
    laplacian = _laplacian(n_items, graph)
    source = np.zeros(laplacian.shape[0])
    source[0] = 1.0
    column = expm_multiply(-beta * laplacian, source, traceA=-beta * laplacian.trace())
    return column, -beta * (laplacian @ column)


def look_up_permutations(column, ranks, other_ranks=None):
    """``column[number of s t^-1]`` for full rankings s, t; other_ranks None means the same rankings."""
    symmetric = other_ranks is None
    other_ranks = ranks if symmetric else other_ranks
    n_items = ranks.shape[1]
    values = np.empty((len(ranks), len(other_ranks)))
    # s t^-1 maps the place t_i to s_i, so its key is one inner product.
    table, weights = column[_node_of_key(n_items)], _radix_weights(n_items)

    def left(rows, places, out):
        out[:] = ranks[rows, places]

    def right(rows, places, out):
        out[:] = weights[other_ranks[rows, places]]

    def finish(products, tile, rows, columns):
        tile[...] = table[products.astype(np.intp)]

    blocked_products(values, left, right, n_items, np.float64, finish, symmetric=symmetric)
    return values
