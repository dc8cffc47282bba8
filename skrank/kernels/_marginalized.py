"""Any kernel on full rankings, averaged over sampled full rankings that are consistent with partial ones."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter

from skrank._typing import ArrayLike, Floats
from skrank.kernels._base import RankingKernel
from skrank.kernels._composition import as_ranking_kernel
from skrank.kernels._herding import herd
from skrank.kernels._sample_pairs import own_pair_means, pair_means, pair_means_and_gradient, strangers_means
from skrank.kernels._sampling import METHODS, check_prior, sample_consistent
from skrank.kernels._variance import entry_variances

# Any other seed gives independent samples, as seed and ranking are hashed together.
INDEPENDENT_SEED = 0x2545F491


class MarginalizedKernel(RankingKernel):
    """A kernel between partial rankings: the mean of a kernel over sampled full rankings consistent with each.

    The estimate of K(R, R'), the mean of ``kernel(s, t)`` over full rankings s, t consistent with R and R', is the mean
    over all pairs of `n_draws` samples of each (Lomeli et al., Equation 7). The samples of a ranking are a function of
    only the ranking and `random_state`, so the estimate is itself a kernel: its Gram matrices are positive
    semi-definite and do not depend on batches, folds or workers.

    Parameters
    ----------
    kernel : kernel
        A kernel on full rankings: one of `skrank.kernels`, or a sum, product or power of them.
    method : {"antithetic", "monte_carlo", "herding", "joint_herding"}, default="antithetic"
        - "antithetic": pairs of a random consistent ranking and its mirror image, which is also uniformly distributed.
          For kernels that are nearly linear in the pairs or positions (Kendall, Spearman, Mallows with a small `nu`),
          the variance is 3 to 3000 times lower than with independent samples; for the Hamming kernel and for a large
          `nu`, it can be up to twice as high. :class:`PartialRankingKernel` with ``method="auto"`` estimates which is
          lower.
        - "monte_carlo": independent samples.
        - "herding": samples selected one after another from a pool of ``40 n_draws``, so that their mean embedding is
          close to that of the ranking. The error is lower for a small `nu`, but drawing takes many times longer, the
          estimate is biased, and the samples are a discontinuous function of the kernel's hyperparameters.
        - "joint_herding": like "herding", and then each sample is replaced by the best one given all others until none
          changes. This optimizes the objective of herding for all samples at once.
    n_draws : int, default=20
        Number of samples of each ranking, at least 1. The time increases with its square.
    prior : distribution, default=None
        Distribution of full rankings that is conditioned on each partial ranking; None means uniform. Samples from a
        Mallows distribution (``skrank.stats.mallows``) are exact: in antithetic pairs if no items are missing, and
        otherwise independent. Uniform samples with self-normalized importance weights are used for any other object
        with a method ``logpmf(X)``, and for rankings with so many missing items that exact draws are infeasible.
    random_state : int, default=0
        Seed. It has to be an int, because a kernel is a function, which uses the same samples in each call.

    Attributes
    ----------
    theta : ndarray of shape (n_dims,)
        Logarithms of the hyperparameters of `kernel`, which are named ``kernel__nu`` and so on.

    Raises
    ------
    ValueError
        If `method`, `n_draws`, or `random_state` is invalid, or if the prior has a different number of items.
    TypeError
        If `kernel` is not a kernel or `prior` is not a distribution.

    Notes
    -----
    With "monte_carlo" and "antithetic", the value for two distinct rankings is unbiased (Appendix B of the paper, off
    the diagonal). With importance weights it is biased, because they are self-normalized: the constant of such a prior
    is unknown. Their bias is inversely proportional to n_draws.

    For equal rankings, on the diagonal or off it, both arguments have the same samples. For a kernel with k(s, s) = 1,
    this causes a bias of (1 - K(R, R)) / n_draws with independent samples, and of (1 + E k(s, A s) - 2 K(R, R)) /
    n_draws with antithetic pairs (s, A s). A matrix of unbiased values would not be positive semi-definite.

    **What is proved, and what is measured.** For top-k lists the Kendall distances of s and A s from a third ranking
    have negative covariance (Proposition 2), and the variance of the Mallows kernel is lower for many samples (Theorem
    6). Neither holds with missing items: for R = (0, 1, missing) and the full ranking (0, 2, 1) the covariance is +2/9
    and the variance doubles at every `nu`. On average over rankings with missing items, antithetic pairs still reduce
    the variance 2 to 20 times; see the table in the user guide.

    Sampling is only useful if there is no closed form: :class:`MallowsKernel` and :class:`PolynomialKendallKernel` are
    exact on ties, and :class:`KendallKernel`, :class:`HammingKernel` and :class:`SpearmanKernel` on ties and missing
    items.

    References
    ----------
    M. Lomeli, M. Rowland, A. Gretton and Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
    rankings", Statistics and Computing 29 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.kernels import MallowsKernel, MarginalizedKernel
    >>> X = [[1, 2, 3, np.nan], [3, 2, 1, np.nan], [1, np.nan, 2, np.nan]]
    >>> kernel = MarginalizedKernel(MallowsKernel(nu=0.1), n_draws=100)
    >>> kernel(X).round(2)
    array([[0.88, 0.63, 0.83],
           [0.63, 0.89, 0.67],
           [0.83, 0.67, 0.81]])
    """

    exact_on = frozenset({"ties", "missing"})
    _block_rows = 64

    def __init__(
        self,
        kernel: Any,
        *,
        method: str = "antithetic",
        n_draws: int = 20,
        prior: Any = None,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.n_draws = n_draws
        self.prior = prior
        self.random_state = random_state

    # ------------------------------------------------------------ hyperparameters: those of the kernel inside
    @property
    def missing_values(self) -> float:  # type: ignore[override]
        """What stands for missing: that of the kernel inside."""
        return self._inner.missing_values

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this kernel and, if `deep`, those of the kernel inside under ``kernel__`` names.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include those of the kernel inside.

        Returns
        -------
        params : dict
        """
        names = ("kernel", "method", "n_draws", "prior", "random_state")
        params = {name: getattr(self, name) for name in names}
        if deep:
            params |= {f"kernel__{name}": value for name, value in self.kernel.get_params().items()}
        return params

    @property
    def hyperparameters(self) -> Any:
        """Hyperparameters of the kernel inside, under ``kernel__`` names."""
        return [
            Hyperparameter(f"kernel__{inner.name}", inner.value_type, inner.bounds, inner.n_elements)
            for inner in self.kernel.hyperparameters
        ]

    @property
    def theta(self) -> Any:
        """Logarithms of the hyperparameters of the kernel inside."""
        return self.kernel.theta

    @theta.setter
    def theta(self, theta: Any) -> None:
        self.kernel.theta = theta

    @property
    def bounds(self) -> Any:
        """Bounds of `theta`."""
        return self.kernel.bounds

    # ------------------------------------------------------------ values
    def _check_parameters(self):
        self._inner._check_parameters()
        if self.method not in METHODS:
            raise ValueError(f"method of MarginalizedKernel must be one of {METHODS}, got {self.method!r}.")
        if not isinstance(self.n_draws, Integral) or self.n_draws < 1:
            raise ValueError(f"n_draws of MarginalizedKernel must be a positive int, got {self.n_draws!r}.")
        if not isinstance(self.random_state, Integral) or self.random_state < 0:
            raise ValueError(
                "random_state of MarginalizedKernel must be an int that is not negative (a kernel is a function, with "
                f"the same samples at each call), got {self.random_state!r}."
            )

    def _check_items(self, n_items):
        self._inner._check_items(n_items)
        if self.prior is not None:
            check_prior(self.prior, n_items)

    @property
    def _inner(self):
        return as_ranking_kernel(self.kernel)

    def _prepare(self, ranks):
        """The samples of densified rankings."""
        return self._draw(ranks, int(self.random_state))

    def _draw(self, ranks, seed):
        if self.method.endswith("herding"):
            joint = self.method == "joint_herding"
            return herd(self._inner, ranks, self.n_draws, seed, prior=self.prior, joint=joint)
        return sample_consistent(ranks, self.n_draws, seed, method=self.method, prior=self.prior)

    def _pairwise(self, ranks, other_ranks=None):
        return pair_means(self._inner, ranks, other_ranks)

    def _pairwise_and_gradient(self, ranks):
        return pair_means_and_gradient(self._inner, ranks)

    def _diag(self, ranks):
        return own_pair_means(self._inner, ranks)

    def standard_errors(self, X: ArrayLike, Y: ArrayLike | None = None) -> Floats:
        """Estimated standard errors of the kernel's values, from the samples themselves.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_items)
            Rank matrix.
        Y : array-like of shape (n_samples_Y, n_items), default=None
            Rank matrix of the other rankings; None means X.

        Returns
        -------
        errors : ndarray of shape (n_samples_X, n_samples_Y), float64
            NaN for equal rankings, whose value is biased; for too few draws (less than two, or two antithetic pairs);
            and for herding, whose samples are not independent.

        Notes
        -----
        The value is a two-sample U-statistic: its variance is a / M + b / N + c / (M N), with a and b the variances of
        the mean of k(s, t) given s and given t, and c that of the interaction; all three are estimated without bias.
        Theorem 4 of the paper, as printed, lacks b / N.
        """
        ranks = self._validate(X, "X")
        other_ranks = ranks if Y is None else self._validate(Y, "Y")
        errors = np.full((len(ranks), len(other_ranks)), np.nan)
        if self.method.endswith("herding"):
            return errors
        samples, other = self._prepare(ranks), self._prepare(other_ranks)
        for row, ranking in enumerate(ranks):
            distinct = np.flatnonzero((other_ranks != ranking).any(axis=1))
            own = samples[np.full(len(distinct), row)]
            variances = entry_variances(self._inner, own, other[distinct], self.method == "antithetic")
            errors[row, distinct] = np.sqrt(np.maximum(variances, 0))
        return errors

    def _between_equals(self, ranks):
        seed = int(self.random_state)
        return strangers_means(self._inner, self._draw(ranks, seed), self._draw(ranks, seed ^ INDEPENDENT_SEED))
