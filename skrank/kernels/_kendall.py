"""The Kendall kernel."""

import numpy as np

from skrank._rankings import expected_pair_signs, row_blocks
from skrank._sparse_rankings import Lists, as_lists, to_ranks
from skrank.kernels._base import RankingKernel
from skrank.kernels._lists import are_lists, sign_norms
from skrank.kernels._lists import sign_products as list_products
from skrank.metrics._pair_products import sign_products


class KendallKernel(RankingKernel):
    """Kendall kernel ``(n_c - n_d) / (n (n - 1) / 2)`` of the numbers of concordant and discordant pairs of n items.

    On full rankings, this is Kendall's tau. On partial rankings, it is the mean over all full rankings consistent with
    each of the two, in closed form: the inner product of expected signs of the pairs.

    Parameters
    ----------
    missing_values : float, default=NaN
        A number that represents missing items in addition to NaN, for callers that reject NaN.

    See Also
    --------
    MallowsKernel : Depends on more than pairwise preferences.

    Notes
    -----
    The value of a ranking with itself is below 1 if it has ties or missing items, and 0 if it is uninformative. With a
    single item, it is 0. SciPy's ``kendalltau`` divides by the number of untied pairs, which is not positive definite.
    scikit-learn's GaussianProcessClassifier predicts NaN if a value of 0 leaves no variance: add
    ``ConstantKernel(...)`` in this case.

    The expected sign between an item at position r (from 1, the mean over its bucket) among the m ranked items and a
    missing item is (m + 1 - 2 r) / (m + 1), since the missing item is equally likely to be at each of the m + 1
    positions among the ranked ones. The kernel is from [1]_, its marginalization from [2]_.

    References
    ----------
    .. [1] Y. Jiao, J.-P. Vert, "The Kendall and Mallows kernels for permutations", ICML 2015.
    .. [2] M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
       rankings", Statistics and Computing 29, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.kernels import KendallKernel
    >>> KendallKernel()([[1, 2, 3], [3, 2, 1], [1, 2, 2], [np.nan, 1, 2]]).round(3)
    array([[ 1.   , -1.   ,  0.667,  0.333],
           [-1.   ,  1.   , -0.667, -0.333],
           [ 0.667, -0.667,  0.667,  0.   ],
           [ 0.333, -0.333,  0.   ,  0.407]])
    """

    exact_on = frozenset({"ties", "missing"})
    _metric = "kendall"

    def __init__(self, missing_values: float = np.nan) -> None:
        self.missing_values = missing_values

    def _prepare(self, ranks):
        lists = as_lists(ranks)
        return ranks if lists is None else lists

    def _prepare_lists(self, lists):
        return lists

    def _pairwise(self, ranks, other_ranks=None):
        if are_lists(ranks, other_ranks):
            return list_products(ranks, other_ranks)[0] / n_pairs_of(ranks.n_items)
        ranks, other_ranks = to_ranks(ranks), to_ranks(other_ranks)
        return sign_products(ranks, other_ranks, slope=1 / max(n_pairs_of(ranks.shape[1]), 1))

    def _diag(self, ranks):
        if isinstance(ranks, Lists):
            return sign_norms(ranks) / n_pairs_of(ranks.n_items)
        return kendall_diagonal(ranks)

    def _of_distance(self, distances, n_items):
        n_pairs = n_pairs_of(n_items)
        return (n_pairs - 2 * np.asarray(distances, float)) / max(n_pairs, 1)


def n_pairs_of(n_items):
    """Number of pairs of items."""
    return n_items * (n_items - 1) // 2


def kendall_diagonal(ranks):
    """Kendall kernel of each densified ranking with itself, shape (n_samples,)."""
    n_pairs = n_pairs_of(ranks.shape[1])
    diagonal = np.zeros(len(ranks))
    if n_pairs:
        for rows in row_blocks(len(ranks), 40 * n_pairs, max_rows=256):
            signs = expected_pair_signs(ranks[rows])
            diagonal[rows] = np.einsum("ij,ij->i", signs, signs) / n_pairs
    return diagonal
