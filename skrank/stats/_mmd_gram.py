"""Gram matrices of distinct rankings whose diagonal is the value between two equal rankings of the sample.

An unbiased MMD leaves out the pairs of a row with itself but keeps those of different rows that happen to be equal. A
sampled kernel is biased exactly there, because equal rankings share their samples; a kernel with noise on its diagonal
differs there as well. So equal rankings are grouped, and their value is computed as that between two strangers.
"""

from typing import Any

import numpy as np
from sklearn import clone

from skrank.kernels._composition import as_ranking_kernel
from skrank.kernels._gram import Prepared, kernel_matrix
from skrank.kernels._partial import PartialRankingKernel


def settle(kernel, X, seed):
    """The kernel object that a name or a transformer means for the pooled rankings.

    Parameters
    ----------
    kernel : str, PartialRankingKernel or kernel object
    X : ndarray of shape (n_samples, n_items)
        Pooled rankings, NaN for missing.
    seed : int
        Of the samples, unless `kernel` has its own.

    Returns
    -------
    kernel : RankingKernel
    reported : kernel object
        The same as the user gave it, with its parameters.
    normalize : bool
    """
    if isinstance(kernel, str):
        kernel = PartialRankingKernel(kernel)
    if not isinstance(kernel, PartialRankingKernel):
        ranking_kernel = as_ranking_kernel(kernel)
        ranking_kernel._check_parameters()
        return ranking_kernel, kernel, False
    if kernel.output != "kernel":
        raise ValueError("kernel must be a PartialRankingKernel with output='kernel', not 'distance'.")
    transformer: Any = clone(kernel)
    if transformer.random_state is None:
        transformer.set_params(random_state=seed)
    transformer.fit(X)
    estimator = transformer._marginalized
    return estimator, transformer.kernel_ if transformer.method_ == "exact" else estimator, transformer.normalize


def distinct_gram(kernel, ranks, repeated, *, normalize=False, n_jobs=None):
    """Gram matrix of distinct rankings; its diagonal is that between equal rankings of two rows if repeated, else 0.

    Parameters
    ----------
    kernel : RankingKernel
    ranks : ndarray of shape (n_distinct, n_items)
        Densified rankings.
    repeated : ndarray of shape (n_distinct,), bool
    normalize : bool, default=False
        Divide by the square roots of the kernel's own diagonal.
    n_jobs : int, default=None

    Returns
    -------
    gram : ndarray of shape (n_distinct, n_distinct), float64
    """
    rankings = Prepared(kernel._prepare(ranks), None)
    gram = kernel_matrix(kernel, rankings, normalize=normalize, n_jobs=n_jobs)
    own = np.zeros(len(ranks))
    if repeated.any():
        own[repeated] = kernel._between_equals(ranks[repeated])
    if normalize:
        norms = kernel._diag(rankings.content)
        own /= np.where(norms > 0, norms, 1.0)
    np.fill_diagonal(gram, own)
    return gram
