"""Sums, products and powers of kernels: what a tree of scikit-learn's kernels means for rankings.

Everything else in this package sees one `RankingKernel`; only this module knows scikit-learn's combinations.
"""

from typing import Any

import numpy as np
from sklearn import clone
from sklearn.gaussian_process.kernels import ConstantKernel, Exponentiation, Kernel, Product, Sum
from sklearn.utils import gen_batches

from skrank._rankings import MISSING
from skrank.kernels._base import RankingKernel

BLOCK_ROWS = 64
EVERYTHING = frozenset({"ties", "missing"})


def as_ranking_kernel(kernel: Any) -> RankingKernel:
    """A kernel object of scikit-learn's interface, as a kernel on rankings.

    Raises
    ------
    TypeError
        If it is not a kernel.
    """
    if isinstance(kernel, RankingKernel):
        return kernel
    if isinstance(kernel, Kernel):
        return Combination(kernel)
    raise TypeError(
        "kernel must be a kernel object, such as skrank.kernels.MallowsKernel() or a sum or product of such, got "
        f"{kernel!r}."
    )


class Combination(RankingKernel):
    """A kernel of scikit-learn's, most often a combination of kernels on rankings, as a `RankingKernel` itself.

    It prepares rank matrices with NaN, which is what the combination's own call validates.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    @property
    def _parts(self):
        parts = self.kernel.get_params(deep=False).values()
        return [as_ranking_kernel(part) for part in parts if isinstance(part, Kernel)]

    # ------------------------------------------------------------ what the parts say
    @property
    def missing_values(self) -> float:  # type: ignore[override]
        """What stands for missing in the data: NaN unless one of the parts says otherwise."""
        numbers = [marker for marker in (part.missing_values for part in self._parts) if not np.isnan(marker)]
        return numbers[0] if numbers else np.nan

    @property
    def exact_on(self) -> frozenset[str]:
        """On what the combination equals its own marginalization."""
        kernel = self.kernel
        if isinstance(kernel, ConstantKernel):
            return EVERYTHING
        if isinstance(kernel, Sum):
            return as_ranking_kernel(kernel.k1).exact_on & as_ranking_kernel(kernel.k2).exact_on
        # The mean of a product is not the product of the means, unless one of them is constant.
        if isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel):
            return as_ranking_kernel(kernel.k2).exact_on
        if isinstance(kernel, Product) and isinstance(kernel.k2, ConstantKernel):
            return as_ranking_kernel(kernel.k1).exact_on
        return frozenset()

    @property
    def _is_function(self) -> bool:  # type: ignore[override]
        if isinstance(self.kernel, ConstantKernel):
            return True
        return bool(self._parts) and all(part._is_function for part in self._parts)

    def _check_parameters(self):
        for part in self._parts:
            part._check_parameters()

    def _check_items(self, n_items):
        for part in self._parts:
            part._check_items(n_items)

    def _check_exact(self, ranks, input_name):
        for part in self._parts:
            part._check_exact(ranks, input_name)

    # ------------------------------------------------------------ values
    @property
    def n_dims(self) -> int:
        """Number of hyperparameters that are not fixed."""
        return self.kernel.n_dims

    @property
    def _plain(self):
        # The combination validates what it gets: a number that stands for missing must not be read into ranks.
        markers = [name for name in self.kernel.get_params() if name.split("__")[-1] == "missing_values"]
        return clone(self.kernel).set_params(**dict.fromkeys(markers, np.nan))

    def _prepare(self, ranks):
        return np.where(ranks == MISSING, np.nan, ranks)

    def _pairwise(self, ranks, other_ranks=None):
        return self._plain(ranks, other_ranks)

    def _pairwise_and_gradient(self, ranks):
        return self._plain(ranks, eval_gradient=True)

    def _diag(self, ranks):
        return self._plain.diag(ranks)

    def _between_equals(self, ranks):
        kernel = self.kernel
        if isinstance(kernel, (Sum, Product)):
            first, second = (as_ranking_kernel(part)._between_equals(ranks) for part in (kernel.k1, kernel.k2))
            return first + second if isinstance(kernel, Sum) else first * second
        if isinstance(kernel, Exponentiation):
            return as_ranking_kernel(kernel.kernel)._between_equals(ranks) ** kernel.exponent
        values = self._prepare(ranks)
        blocks = (values[rows] for rows in gen_batches(len(values), BLOCK_ROWS))
        # Two arguments: what a kernel adds where Y is None stays away.
        return np.concatenate([np.diagonal(self._plain(block, block.copy())) for block in blocks])
