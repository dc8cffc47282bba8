"""Gram matrices of distinct rankings whose diagonal is the value between two equal rankings of the sample.

An unbiased MMD leaves out the pairs of a row with itself but keeps those of different rows that happen to be equal. A
sampled kernel is biased exactly there, because equal rankings share their samples; a kernel with noise on its diagonal
differs there as well. So equal rankings are grouped, and their value is computed as that between two strangers.
"""

from typing import cast

import numpy as np
from sklearn import clone
from sklearn.gaussian_process.kernels import Exponentiation, Kernel, Product, Sum
from sklearn.utils import gen_batches

from skrank.kernels._base import RankingKernel
from skrank.kernels._marginalized import MarginalizedKernel, check_kernel
from skrank.kernels._partial import PartialRankingKernel, exact_gram
from skrank.kernels._sample_pairs import evaluator, own_pair_values, pair_means

# Any other seed gives independent samples, as seed and ranking are hashed together.
INDEPENDENT_SEED = 0x2545F491
BLOCK_ROWS = 64


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
    kernel : kernel object
    normalize : bool
    """
    if isinstance(kernel, str):
        kernel = PartialRankingKernel(kernel)
    if not isinstance(kernel, PartialRankingKernel):
        check_kernel(kernel)
        return kernel, False
    if kernel.output != "kernel":
        raise ValueError("kernel must be a PartialRankingKernel with output='kernel', not 'distance'.")
    transformer = clone(kernel)
    if transformer.random_state is None:
        transformer.set_params(random_state=seed)
    transformer.fit(X)
    if transformer.method_ == "exact":
        return transformer.kernel_, transformer.normalize
    sampled = MarginalizedKernel(
        transformer.kernel_,
        method=transformer.method_,
        n_draws=transformer.n_draws,
        prior=transformer.prior,
        random_state=transformer._seed,
    )
    return sampled, transformer.normalize


def ranking_kernels(kernel):
    """The kernels on rankings that a kernel object is, or is combined of."""
    if isinstance(kernel, RankingKernel):
        yield kernel
        return
    for part in kernel.get_params(deep=False).values():
        if isinstance(part, Kernel):
            yield from ranking_kernels(part)


def distinct_gram(kernel, ranks, repeated, *, normalize=False, n_jobs=None):
    """Gram matrix of distinct rankings, its diagonal that of `stranger_values` where rankings are repeated, else 0.

    Parameters
    ----------
    kernel : kernel object
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
    if isinstance(kernel, MarginalizedKernel):
        kernel._check_parameters()
        samples = kernel._samples(ranks)
        gram = pair_means(kernel.kernel, samples, n_jobs=n_jobs)
    else:
        gram = exact_gram(kernel, ranks, n_jobs=n_jobs)
    own = np.zeros(len(ranks))
    if repeated.any():
        own[repeated] = stranger_values(kernel, ranks[repeated])
    if normalize:
        diagonal = np.diagonal(gram)
        scale = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
        own /= scale**2
        gram /= np.multiply.outer(scale, scale)
    np.fill_diagonal(gram, own)
    return gram


def stranger_values(kernel, ranks):
    """Kernel between each ranking and an equal one of another row, without what they share for being the same row.

    For a sampled kernel the two have independent samples, so that the value is unbiased like that of two distinct
    rankings; a kernel that adds to its diagonal adds nothing.
    """
    if isinstance(kernel, MarginalizedKernel):
        stranger = MarginalizedKernel(
            kernel.kernel,
            method=kernel.method,
            n_draws=kernel.n_draws,
            prior=kernel.prior,
            random_state=int(cast(int, kernel.random_state)) ^ INDEPENDENT_SEED,
        )
        return _between_samples(kernel.kernel, kernel._samples(ranks), stranger._samples(ranks))
    if isinstance(kernel, RankingKernel):
        return kernel._diag(ranks)
    if isinstance(kernel, Sum):
        return stranger_values(kernel.k1, ranks) + stranger_values(kernel.k2, ranks)
    if isinstance(kernel, Product):
        return stranger_values(kernel.k1, ranks) * stranger_values(kernel.k2, ranks)
    if isinstance(kernel, Exponentiation):
        return stranger_values(kernel.kernel, ranks) ** kernel.exponent
    evaluate = evaluator(kernel)
    blocks = (ranks[rows] for rows in gen_batches(len(ranks), BLOCK_ROWS))
    # Two arguments: what a kernel adds where Y is None stays away.
    return np.concatenate([np.diagonal(evaluate(block, block.copy())) for block in blocks])


def _between_samples(kernel, samples, other):
    values = np.empty(len(samples.positions))
    for rows in gen_batches(len(values), BLOCK_ROWS):
        block, other_block = samples.take(rows), other.take(rows)
        pairs = own_pair_values(kernel, block.positions, other_block.positions)
        if block.weights is None:
            values[rows] = pairs.mean(axis=(1, 2))
        else:
            values[rows] = np.einsum("rij,ri,rj->r", pairs, block.weights, other_block.weights)
    return values
