"""Two-sample test: do two sets of rankings come from one distribution?"""

import contextlib
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg.blas import dtrmm
from scipy.sparse import csr_array, vstack
from sklearn import clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_array, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank._random import as_generator
from skrank._rankings import MISSING, aggregate, check_rankings, check_same_items, refuse_masked
from skrank._sparse_rankings import check_sparse_rankings, is_sparse, to_ranks
from skrank._typing import ArrayLike, RandomState, Unranked, validate_params
from skrank.kernels._composition import as_ranking_kernel
from skrank.kernels._names import KERNEL_NAMES, named_kernel
from skrank.kernels._partial import PartialRankingKernel
from skrank.stats._mmd_gram import distinct_gram, settle

# Permutations of one task: enough for a matrix product, few enough that many workers get some.
BLOCK_PERMUTATIONS = 250
# Statistics that are equal but for the order of summation count as equal, as a fraction of the largest kernel value.
TOLERANCE = 1e-11


@dataclass(frozen=True)
class MMDTestResult:
    """Result of :func:`mmd_test` and :func:`mmd_test_from_kernel`.

    Attributes
    ----------
    statistic : float
        Unbiased estimate of the squared maximum mean discrepancy; it can be negative.
    pvalue : float
        Share of permutations, the observed labels among them, with a statistic at least as large.
    null_distribution : ndarray of shape (n_permutations,)
        Statistics under permuted labels.
    kernel : kernel object or None
        The kernel in use, with its parameters; None if the matrix was given.
    """

    statistic: float
    pvalue: float
    null_distribution: np.ndarray = field(repr=False)
    kernel: object = None


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "Y": ["array-like", "sparse matrix"],
        "kernel": [StrOptions(set(KERNEL_NAMES)), Kernel, PartialRankingKernel],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "unranked": [None, StrOptions({"last", "missing"})],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    },
    prefer_skip_nested_validation=True,
)
def mmd_test(
    X: ArrayLike,
    Y: ArrayLike,
    kernel: Any = "mallows",
    *,
    n_permutations: int = 999,
    unranked: Unranked = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> MMDTestResult:
    """Test whether two samples of rankings come from the same distribution by their maximum mean discrepancy.

    The statistic is the unbiased estimate of the squared distance between the two distributions' mean embeddings

    MMD^2 = mean of k(x, x') over pairs of different rows of X + the same of Y - 2 times the mean of k(x, y).

    It is compared with its values for random assignments of the rows to the two samples. The test is exact for any
    sample size: under the null hypothesis, P(pvalue <= alpha) <= alpha. It is consistent against every alternative if
    the kernel is characteristic, such as the Mallows kernel on full rankings. The Kendall kernel depends only on the
    probabilities of pairwise preferences. Partial rankings are compared by the marginalized kernel, that is, only by
    the full rankings that they stand for: it does not distinguish all-tied rankings from uniformly random full
    rankings. Use "semimetric_kemeny" if ties are statements.

    Only one Gram matrix, of the distinct rankings, is computed. All permutations are matrix products with it.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_items)
        Rank matrix of the first sample: lower is preferred, equal ranks are ties, NaN is missing. For a sparse one see
        `unranked`.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_items)
        Rank matrix of the second sample, the same items in the same columns; sparse if X is.
    kernel : str, PartialRankingKernel or kernel object, default="mallows"
        A name as in :class:`~skrank.kernels.PartialRankingKernel` (the scale is then the inverse of the median distance
        over the pooled rankings), such a transformer, or a kernel object from :mod:`skrank.kernels` or a combination of
        these. If the kernel is sampled (:class:`~skrank.kernels.MarginalizedKernel`, or a name without a closed form),
        the values for equal rankings in different rows are computed from independent samples, so that the statistic
        remains unbiased.
    n_permutations : int, default=999
        Number of permutations; the smallest possible p-value is 1 / (n_permutations + 1).
    unranked : {"last", "missing"} or None, default=None
        What an absent entry of sparse samples means, as in :class:`~skrank.kernels.PartialRankingKernel`: tied after
        all listed items, or missing. None rejects sparse samples; for dense samples, this parameter is ignored.
    random_state : int, RandomState instance or None, default=None
        Determines the permutations, and the samples of a kernel without its own seed.
    n_jobs : int, default=None
        Number of joblib workers for blocks of the Gram matrix and of the permutations; threads unless overridden by
        ``joblib.parallel_config``. The result does not depend on it.

    Returns
    -------
    result : MMDTestResult
        With attributes `statistic`, `pvalue`, `null_distribution` and `kernel`.

    Raises
    ------
    ValueError
        If a sample has fewer than two rankings, if the items differ, or if there is no closed form for a row under an
        exact kernel object.

    See Also
    --------
    mmd_test_from_kernel : The same test for a given kernel matrix.

    Notes
    -----
    The rows of a sample must be independent draws; several rankings by the same person are not independent.

    References
    ----------
    .. [1] A. Gretton, K. Borgwardt, M. Rasch, B. Schoelkopf, A. Smola, "A kernel two-sample test", Journal of Machine
       Learning Research 13, 2012.
    .. [2] M. Lomeli, M. Rowland, A. Gretton and Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for
       partial rankings", Statistics and Computing 29, 2019: Equations 21 and 22, here with the sum over all pairs (x,
       y) in the cross term.
    .. [3] B. Phipson, G. Smyth, "Permutation p-values should never be zero", Statistical Applications in Genetics and
       Molecular Biology 9(1), 2010.

    Examples
    --------
    Top-3 lists of 8 items, uniform ones and ones about a center:

    >>> from skrank.datasets import make_rankings
    >>> from skrank.stats import mmd_test
    >>> X = make_rankings(60, 8, top_k=3, random_state=0)
    >>> Y = make_rankings(60, 8, top_k=3, phi=0.6, random_state=1)
    >>> result = mmd_test(X, Y, random_state=0)
    >>> result.pvalue
    0.001
    >>> mmd_test(X, make_rankings(60, 8, top_k=3, random_state=2), random_state=0).pvalue > 0.05
    True
    """
    rng = as_generator(random_state)
    if is_sparse(X) or is_sparse(Y):
        gram, group, n_first, kernel = _pooled_sparse_gram(X, Y, kernel, unranked, rng, n_jobs)
    else:
        gram, group, n_first, kernel = pooled_gram(X, Y, kernel, rng, n_jobs)
    return _test(gram, group, n_first, kernel, n_permutations, rng, n_jobs)


@validate_params(
    {
        "K": ["array-like"],
        "labels": ["array-like"],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    },
    prefer_skip_nested_validation=True,
)
def mmd_test_from_kernel(
    K: ArrayLike,
    labels: ArrayLike,
    *,
    n_permutations: int = 999,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> MMDTestResult:
    """Test whether two samples come from the same distribution, given a kernel matrix of all their rows.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Symmetric matrix of kernel values of all rows of both samples. Its diagonal is not used.
    labels : array-like of shape (n_samples,)
        The sample of each row: two values, each of which occurs at least twice.
    n_permutations : int, default=999
        Number of permutations; the smallest possible p-value is 1 / (n_permutations + 1).
    random_state : int, RandomState instance or None, default=None
        Determines the permutations.
    n_jobs : int, default=None
        Number of joblib workers for blocks of the permutations; threads unless overridden by
        ``joblib.parallel_config``. The result does not depend on it.

    Returns
    -------
    result : MMDTestResult
        With attributes `statistic`, `pvalue`, `null_distribution` and `kernel` (None).

    Raises
    ------
    ValueError
        If K is not a symmetric matrix, or if `labels` does not divide its rows into two samples of at least two rows.

    See Also
    --------
    mmd_test : The same test for rankings, with a kernel of :mod:`skrank.kernels`.

    Notes
    -----
    The matrix of a sampled kernel is biased if rankings are repeated, because equal rankings have the same samples.
    :func:`mmd_test` corrects for this bias; this function cannot.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import make_rankings
    >>> from skrank.kernels import KendallKernel
    >>> from skrank.stats import mmd_test_from_kernel
    >>> X, Y = make_rankings(30, 5, random_state=0), make_rankings(30, 5, phi=0.3, random_state=1)
    >>> K = KendallKernel()(np.vstack([X, Y]))
    >>> mmd_test_from_kernel(K, np.repeat([0, 1], 30), random_state=0).pvalue
    0.001
    """
    rng = as_generator(random_state)
    gram, n_first = _check_kernel_matrix(K, labels)
    return _test(gram, np.arange(len(gram)), n_first, None, n_permutations, rng, n_jobs)


# ---------------------------------------------------------------- input
def pooled_gram(X, Y, kernel, rng, n_jobs):
    """Gram matrix of the distinct rankings, which one each row is, how many rows are X's, and the kernel."""
    marker = as_ranking_kernel(kernel).missing_values if isinstance(kernel, Kernel) else np.nan
    samples = [check_rankings(rows, input_name=name, missing_values=marker) for rows, name in ((X, "X"), (Y, "Y"))]
    check_same_items(X, Y, *samples)
    _refuse_single(samples)
    table = aggregate(np.concatenate(samples))
    pooled = np.where(table.ranks == MISSING, np.nan, table.ranks)[table.inverse]
    kernel, reported, normalize = settle(kernel, pooled, int(rng.integers(2**31)))
    kernel._check_items(table.ranks.shape[1])
    for ranks, name in zip(samples, ("X", "Y"), strict=True):
        kernel._check_exact(ranks, name)
    gram = distinct_gram(kernel, table.ranks, table.weights > 1, normalize=normalize, n_jobs=n_jobs)
    return gram, table.inverse, len(samples[0]), reported


def _refuse_single(samples):
    for ranks, name in zip(samples, ("X", "Y"), strict=True):
        if len(ranks) < 2:
            raise ValueError(f"{name} has one ranking; an unbiased estimate needs at least two in each sample.")


def _pooled_sparse_gram(X, Y, kernel, unranked, rng, n_jobs):
    """The same of sparse samples: from the lists where the kernel has a form for them, else from dense ranks."""
    if not (is_sparse(X) and is_sparse(Y)):
        raise ValueError("One of X and Y is a sparse matrix, the other is not. Pass both as scipy.sparse CSR arrays.")
    if unranked is None and isinstance(kernel, PartialRankingKernel):
        unranked = kernel.unranked
    samples = [check_sparse_rankings(rows, unranked, input_name=name) for rows, name in ((X, "X"), (Y, "Y"))]
    check_same_items(X, Y, *(lists.ranks for lists in samples))
    _refuse_single(samples)
    full = _kernel_of_lists(kernel)
    if full is None or any(full._prepare_lists(lists) is None for lists in samples):
        X, Y = (np.where(ranks == MISSING, np.nan, ranks) for ranks in map(to_ranks, samples))
        return pooled_gram(X, Y, kernel, rng, n_jobs)
    pooled = csr_array(vstack([lists.ranks for lists in samples]))
    transformer = clone(kernel) if isinstance(kernel, PartialRankingKernel) else PartialRankingKernel(kernel)
    gram = transformer.set_params(unranked=unranked, n_jobs=n_jobs).fit_transform(pooled)
    return gram, np.arange(len(gram)), len(samples[0]), transformer.kernel_


def _kernel_of_lists(kernel):
    """The kernel on full rankings if its closed forms are asked for, else None."""
    if isinstance(kernel, PartialRankingKernel):
        if kernel.prior is not None or kernel.method not in ("auto", "exact") or kernel.output != "kernel":
            return None
        kernel = kernel.kernel
    return as_ranking_kernel(named_kernel(kernel) if isinstance(kernel, str) else kernel)


def _check_kernel_matrix(gram, labels):
    refuse_masked(gram, "K")
    gram = check_array(gram, dtype=np.float64, input_name="K", copy=True, ensure_all_finite=False)
    labels = column_or_1d(labels)
    if gram.shape != (len(labels), len(labels)):
        raise ValueError(
            "K must be the kernel matrix of all rows of both samples and labels the sample of each row, of shapes "
            f"(n, n) and (n,); got {gram.shape} and {labels.shape}."
        )
    np.fill_diagonal(gram, 0)
    gram = check_array(gram, input_name="K")
    if not np.allclose(gram, gram.T, rtol=1e-8, atol=1e-10 * np.abs(gram).max()):
        raise ValueError("K must be a symmetric kernel matrix.")
    values, sample = np.unique(labels, return_inverse=True)
    counts = np.bincount(sample)
    if len(values) != 2 or counts.min() < 2:
        raise ValueError(
            "labels must name two samples of at least two rows each, got "
            f"{dict(zip(values.tolist(), counts.tolist(), strict=True))}."
        )
    order = np.argsort(sample, kind="stable")
    return gram[np.ix_(order, order)], int(counts[0])


# ---------------------------------------------------------------- statistic and permutations
def _test(gram, group, n_first, kernel, n_permutations, rng, n_jobs):
    statistic, null = permutation_test(gram, group, n_first, n_permutations, rng, n_jobs)
    at_least = np.count_nonzero(null >= statistic - TOLERANCE * max(gram.max(), -gram.min()))
    return MMDTestResult(statistic, float((1 + at_least) / (1 + n_permutations)), null, kernel)


def permutation_test(gram, group, n_first, n_permutations, rng, n_jobs=None):
    """Unbiased squared MMD and its values under random permutations of the rows.

    Parameters
    ----------
    gram : ndarray of shape (n_distinct, n_distinct)
        Symmetric kernel values between distinct rankings; the diagonal holds the value of two equal ones (anything
        finite where there is no second one).
    group : ndarray of shape (n_samples,), int
        Which distinct ranking each row is; the first `n_first` rows are the first sample.
    n_first, n_permutations : int
    rng : numpy.random.Generator
    n_jobs : int, default=None

    Returns
    -------
    statistic : float
    null : ndarray of shape (n_permutations,)
    """
    totals = np.bincount(group, minlength=len(gram)).astype(float)
    first = np.bincount(group[:n_first], minlength=len(gram)).astype(float)
    moments = _moments(gram, totals)
    statistic = float(_statistics(gram, first[None], totals, moments, n_first)[0])
    sizes = [
        len(block) for block in np.array_split(np.arange(n_permutations), -(-n_permutations // BLOCK_PERMUTATIONS))
    ]
    seeds = rng.integers(2**63, size=len(sizes))
    tasks = (
        delayed(_null_block)(gram, totals, moments, n_first, size, seed)
        for size, seed in zip(sizes, seeds, strict=True)
    )
    one_thread = effective_n_jobs(n_jobs) > 1
    with threadpool_limits(1, "blas") if one_thread else contextlib.nullcontext():
        null = np.concatenate(Parallel(n_jobs, prefer="threads")(tasks))
    return statistic, null


def _moments(gram, totals):
    """What the statistic needs of all rows together: row sums, the total and the diagonal."""
    sums = gram @ totals
    return sums, totals @ sums, np.diagonal(gram).copy()


def _null_block(gram, totals, moments, n_first, n_permutations, seed):
    rng = np.random.default_rng(seed)
    labels = np.zeros((n_permutations, int(totals.sum())), np.uint8)
    labels[:, :n_first] = 1
    rng.permuted(labels, axis=1, out=labels)
    if len(totals) < labels.shape[1]:
        starts = np.cumsum(totals) - totals
        first = np.add.reduceat(labels, starts.astype(np.intp), axis=1, dtype=np.float64)
    else:
        first = labels.astype(np.float64)
    return _statistics(gram, first, totals, moments, n_first)


def _statistics(gram, first, totals, moments, n_first):
    """Unbiased squared MMD of several divisions, given by how often the first sample holds each distinct ranking."""
    sums, total, diagonal = moments
    n_second = int(totals.sum()) - n_first
    # Of a symmetric matrix a triangle is enough: half the products. Transposed, so that nothing is copied.
    lower_half = dtrmm(1.0, gram.T, first.T, lower=1, trans_a=1).T
    within_first = 2 * np.einsum("bd,bd->b", lower_half, first) - first**2 @ diagonal
    towards_all = first @ sums
    across = towards_all - within_first
    within_second = total - towards_all - across
    # Pairs of a row with itself.
    within_first -= first @ diagonal
    within_second -= (totals - first) @ diagonal
    return (
        within_first / (n_first * (n_first - 1))
        + within_second / (n_second * (n_second - 1))
        - 2 * across / (n_first * n_second)
    )
