"""Distances between rankings."""

from numbers import Real

import numpy as np
from joblib import effective_n_jobs
from scipy.spatial.distance import cdist
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank._pair_words import are_full, kendall_distances
from skrank._rankings import check_rankings, check_same_items, has_missing, row_blocks, rows_with_ties
from skrank._typing import ArrayLike, Floats
from skrank.metrics._pair_products import TILE_ROWS, kemeny_distances, sign_products

METRICS = ("kendall", "kemeny", "spearman_footrule", "spearman", "hamming", "cayley", "lp", "chebyshev")
# Names a reader may look for here that are similarities, not distances.
KERNELS = ("mallows", "diffusion", "semimetric", "distance_induced", "kernel")
# Defined on ties and missing items.
ON_PARTIAL_RANKINGS = ("kendall", "kemeny")
# Exponentials of these distances are positive definite at every scale (lp only up to p = 2).
NEGATIVE_TYPE = ("kendall", "kemeny", "spearman_footrule", "spearman", "hamming", "lp")

_CDIST = {
    "spearman_footrule": {"metric": "cityblock"},
    "hamming": {"metric": "hamming"},
    "chebyshev": {"metric": "chebyshev"},
}


def pairwise_ranking_distances(
    X: ArrayLike, Y: ArrayLike | None = None, metric: str = "kendall", *, p: float = 2, n_jobs: int | None = None
) -> Floats:
    """Distances between the rankings of one or two rank matrices.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_items)
        Rank matrix: ``X[s, i]`` is the rank that ranking s gives item i, lower is preferred.
    Y : array-like of shape (n_samples_Y, n_items), default=None
        Rank matrix of the other rankings, with the same items as columns; None means X.
    metric : str, default="kendall"
        In terms of the positions s, t of the n items under two full rankings:

        - "kendall": number of pairs of items that s and t order differently, 0 to n (n - 1) / 2. With ties or missing
          items, it is the expected value over uniformly random full rankings consistent with each ranking, so that what
          they leave open is treated as unknown;
        - "kemeny": the same on full rankings. On partial rankings, it is the number of pairs that s and t order
          differently, plus half the number of pairs that only one of them orders, both for ties and for missing items.
          It thus treats a tie as a statement, which is appropriate if equal ratings mean equal liking;
        - "spearman_footrule": ``sum_i |s_i - t_i|``;
        - "spearman": ``sum_i (s_i - t_i)**2``;
        - "hamming": number of items in different positions;
        - "cayley": least number of transpositions (of any two items) that turn s into t: n minus the number of cycles;
        - "lp": ``(sum_i |s_i - t_i|**p)**(1/p)``;
        - "chebyshev": ``max_i |s_i - t_i|``.
    p : float, default=2
        Order of metric "lp", at least 1. Other metrics ignore it.
    n_jobs : int, default=None
        Number of parallel joblib workers for blocks of rows of X. None means 1.

    Returns
    -------
    distances : ndarray of shape (n_samples_X, n_samples_Y), float64
        A square matrix can be passed to scikit-learn's estimators with ``metric="precomputed"``. For
        ``scipy.cluster.hierarchy.linkage``, convert it with ``scipy.spatial.distance.squareform`` first; otherwise, it
        is interpreted as observations.

    Raises
    ------
    ValueError
        If there are ties or missing items and `metric` is neither "kendall" nor "kemeny" (the message names the row);
        if `metric` is invalid.

    Notes
    -----
    Apart from the result, memory is bounded by scikit-learn's ``working_memory``. Kendall, Kemeny and Spearman
    distances are computed by matrix products; between full rankings, the Kendall distance is the number of bits in
    which packed pairs differ.

    The expected Kendall distance of a ranking with ties or missing items from itself is positive, because two rankings
    drawn from it differ. It is ``(n (n - 1) / 2 - <e, e'>) / 2`` for the expected signs e, e' of all pairs of items.

    The Kemeny distance of two equal rankings is 0. It is half the distance that is determined by the axioms of [3]_ on
    rankings with ties, and K^(1/2) of [4]_.

    The other distances are those of section 2.1 of [1]_; see [2]_ for their properties.

    References
    ----------
    .. [1] M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
       rankings", Statistics and Computing 29, 2019.
    .. [2] P. Diaconis, "Group representations in probability and statistics", chapter 6, 1988.
    .. [3] J. G. Kemeny, J. L. Snell, "Mathematical models in the social sciences", chapter 2, 1962.
    .. [4] R. Fagin, R. Kumar, M. Mahdian, D. Sivakumar, E. Vee, "Comparing partial rankings", SIAM Journal on Discrete
       Mathematics 20, 2006.

    Examples
    --------
    >>> from skrank.metrics import pairwise_ranking_distances
    >>> X = [[1, 2, 3, 4], [1, 2, 4, 3], [4, 3, 2, 1]]
    >>> pairwise_ranking_distances(X)
    array([[0., 1., 6.],
           [1., 0., 5.],
           [6., 5., 0.]])
    >>> pairwise_ranking_distances(X, [[1, 2, 3, 4]], metric="cayley").ravel()
    array([0., 1., 2.])

    A ballot that names only its first choice among three:

    >>> pairwise_ranking_distances([[1, 2, 2]], [[1, 2, 3], [3, 2, 1]])
    array([[0.5, 2.5]])

    Two people who like the last two items just as well, and nobody else:

    >>> X = [[1, 2, 2], [1, 2, 2], [1, 2, 3]]
    >>> pairwise_ranking_distances(X)[0], pairwise_ranking_distances(X, metric="kemeny")[0]
    (array([0.5, 0.5, 0.5]), array([0. , 0. , 0.5]))
    """
    check_metric(metric, p)
    ranks = check_rankings(X)
    check_defined(ranks, metric, "X")
    other_ranks = None
    if Y is not None:
        other_ranks = check_rankings(Y, input_name="Y")
        check_defined(other_ranks, metric, "Y")
        check_same_items(X, Y, ranks, other_ranks)
    if effective_n_jobs(n_jobs) == 1:
        return ranking_distances(ranks, other_ranks, metric, p)
    return _parallel_distances(ranks, ranks if other_ranks is None else other_ranks, metric, p, n_jobs)


def _parallel_distances(ranks, other_ranks, metric, p, n_jobs):
    n_workers = effective_n_jobs(n_jobs)
    # Small enough that blocks on their way back stay within working memory, at least one for each worker.
    within_memory = list(row_blocks(len(ranks), 8 * len(other_ranks) * 2 * n_workers))
    blocks = list(gen_even_slices(len(ranks), max(min(n_workers, len(ranks)), len(within_memory))))
    distances = np.empty((len(ranks), len(other_ranks)))
    with threadpool_limits(limits=1, user_api="blas"):
        parts = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(ranking_distances)(ranks[rows], other_ranks, metric, p) for rows in blocks
        )
        for rows, part in zip(blocks, parts, strict=True):
            distances[rows] = part
    return distances


# ---------------------------------------------------------------- validation
def check_metric(metric, p=2):
    """Raise unless `metric` names a distance between rankings and `p` is an order for it."""
    if metric not in METRICS:
        if not isinstance(metric, str) or metric in KERNELS or metric.startswith("semimetric_"):
            raise ValueError(
                f"metric={metric!r} is a kernel or no name at all, but a distance is needed here: one of "
                f"{', '.join(METRICS)}. The distance that a kernel induces is "
                "skrank.kernels.PartialRankingKernel(kernel=..., output='distance').fit_transform(X)."
            )
        raise ValueError(f"metric={metric!r} is unknown. The distances between rankings are {', '.join(METRICS)}.")
    if metric == "lp" and not (isinstance(p, Real) and 1 <= float(p) < np.inf):
        raise ValueError(f"p of metric 'lp' must be a finite number of at least 1, got {p!r}.")


def check_defined(ranks, metric, input_name):
    """Raise, naming the row, unless the distance is defined on densified rankings."""
    if metric in ON_PARTIAL_RANKINGS:
        return
    missing, tied = has_missing(ranks), rows_with_ties(ranks)
    if missing or tied.any():
        row = int(np.argmax(tied | (ranks < 0).any(axis=1)))
        trouble = "ties items" if tied[row] else "has missing items"
        definite = metric in NEGATIVE_TYPE
        kernel = f"'semimetric_{metric}'" if definite else f"SemimetricKernel({metric!r}, allow_indefinite=True)"
        raise ValueError(
            f"Row {row} of {input_name} {trouble}, where metric={metric!r} is not defined. Use metric='kendall' or "
            "'kemeny', or average a kernel of this metric over the full rankings consistent with each row: "
            f"skrank.kernels.PartialRankingKernel(kernel={kernel}, output='distance')."
        )


def is_negative_type(metric, p=2):
    """Whether ``exp(-nu d)`` is a positive definite kernel for every nu > 0 (Schoenberg's theorem)."""
    return metric in NEGATIVE_TYPE and not (metric == "lp" and p > 2)


# ---------------------------------------------------------------- densified rankings in, arrays out
def ranking_distances(ranks, other_ranks=None, metric="kendall", p=2):
    """Distances between densified rankings on which `metric` is defined, float64; other_ranks None means the same."""
    if metric == "kendall" and are_full(ranks) and (other_ranks is None or are_full(other_ranks)):
        return kendall_distances(ranks, other_ranks)
    if metric == "kendall":
        n_pairs = ranks.shape[1] * (ranks.shape[1] - 1) / 2
        return sign_products(ranks, other_ranks, slope=-0.5, intercept=n_pairs / 2)
    if metric == "kemeny":
        return kemeny_distances(ranks, other_ranks)
    other_ranks = ranks if other_ranks is None else other_ranks
    distances = np.empty((len(ranks), len(other_ranks)))
    if metric == "cayley":
        _fill_cayley(distances, ranks, other_ranks)
    elif metric == "spearman":
        _fill_spearman(distances, ranks, other_ranks)
    else:
        _fill_by_positions(distances, ranks, other_ranks, metric, p)
    return distances


def _fill_spearman(distances, ranks, other_ranks):
    # Full rankings are permutations of the same numbers, so |s - t|^2 = 2 (|s|^2 - <s, t>); exact integers in float64.
    n_items = ranks.shape[1]
    others = other_ranks.astype(np.float64)
    norm = (n_items - 1) * n_items * (2 * n_items - 1) / 6
    for rows in row_blocks(len(ranks), 8 * n_items, max_rows=TILE_ROWS):
        block = distances[rows]
        np.matmul(ranks[rows].astype(np.float64), others.T, out=block)
        block -= norm
        block *= -2


def _fill_by_positions(distances, ranks, other_ranks, metric, p):
    options = {"metric": "minkowski", "p": p} if metric == "lp" else _CDIST[metric]
    others = other_ranks.astype(np.float64)
    for rows in row_blocks(len(ranks), 8 * ranks.shape[1], max_rows=TILE_ROWS):
        block = distances[rows]
        cdist(ranks[rows].astype(np.float64), others, out=block, **options)
        if metric == "hamming":  # scipy's is a proportion
            block *= ranks.shape[1]
            np.rint(block, out=block)


def _fill_cayley(distances, ranks, other_ranks):
    n_items = ranks.shape[1]
    orders, other_orders = np.argsort(ranks, axis=1), np.argsort(other_ranks, axis=1)
    for rows in row_blocks(len(ranks), 40 * n_items * len(other_ranks), max_rows=TILE_ROWS):
        width = max(2**22 // ((rows.stop - rows.start) * 40 * n_items), 1)
        for start in range(0, len(other_ranks), width):
            columns = slice(start, start + width)
            distances[rows, columns] = _cayley_block(
                ranks[rows], orders[rows], other_ranks[columns], other_orders[columns]
            )


def _cayley_block(ranks, orders, other_ranks, other_orders):
    """n minus the number of cycles of s t^-1: fixing one place after another takes that many transpositions."""
    n_items = ranks.shape[1]
    shape = len(ranks), len(other_ranks)
    # Item-major: place x of t holds the item that s puts at permutation[x]; inverse is the way back.
    permutation = ranks.T[other_orders.T].transpose(0, 2, 1).reshape(n_items, -1).astype(np.intp)
    inverse = other_ranks.T[orders.T].reshape(n_items, -1).astype(np.intp)
    distances = np.zeros(permutation.shape[1])
    pair = np.arange(permutation.shape[1])
    for place in range(n_items):
        here, there = permutation[place], inverse[place]
        distances += here != place
        permutation[there, pair] = here
        inverse[here, pair] = there
    return distances.reshape(shape)
