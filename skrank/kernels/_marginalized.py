"""Any kernel on full rankings, averaged over sampled full rankings that are consistent with partial ones."""

from numbers import Integral
from typing import Any

from sklearn.gaussian_process.kernels import Hyperparameter

from skrank.kernels._base import RankingKernel
from skrank.kernels._composition import as_ranking_kernel
from skrank.kernels._herding import herd
from skrank.kernels._sample_pairs import own_pair_means, pair_means, pair_means_and_gradient, strangers_means
from skrank.kernels._sampling import METHODS, check_prior, sample_consistent

# Any other seed gives independent samples, as seed and ranking are hashed together.
INDEPENDENT_SEED = 0x2545F491


class MarginalizedKernel(RankingKernel):
    """A kernel between partial rankings: the mean of a kernel over sampled full rankings consistent with each.

    The estimate of K(R, R'), the mean of ``kernel(s, t)`` over full rankings s, t consistent with R and R', is the mean
    over all pairs of `n_draws` samples of either (Lomeli et al., Equation 7). The samples of a ranking are a function
    of the ranking and `random_state` alone, so the estimate is itself a kernel: its Gram matrices are positive
    semi-definite, whatever batch, fold or worker they come from.

    Parameters
    ----------
    kernel : kernel
        A kernel on full rankings: one of `skrank.kernels`, or a sum, product or power of them.
    method : {"antithetic", "monte_carlo", "herding"}, default="antithetic"
        - "antithetic": pairs of a random consistent ranking and its mirror image, far from it and just as uniform. At
          small `nu` the variance is 5 to 200 times lower than that of independent samples; at large `nu` and few
          samples it can be higher.
        - "monte_carlo": independent samples.
        - "herding": samples chosen one after another from a pool of ``40 n_draws`` so that their mean embedding is
          near that of the ranking. The lowest error for rankings that share no sample, at many times the time to draw.
          With missing items it has a small bias, and the samples change by jumps with the kernel's hyperparameters.
    n_draws : int, default=20
        Samples of each ranking, at least 1. The time grows with its square.
    prior : distribution, default=None
        Distribution of full rankings that is conditioned on each partial ranking; None means uniform. A Mallows
        distribution (``skrank.stats.mallows``) is sampled directly where nothing is missing. Anything else with a
        ``logpmf(X)``, and rankings with missing items, take self-normalised importance weights.
    random_state : int, default=0
        Seed. An int, because a kernel is a function: the same samples at each call.

    Attributes
    ----------
    theta : ndarray of shape (n_dims,)
        Those of `kernel`: logarithms of its hyperparameters, named ``kernel__nu`` and so on.

    Raises
    ------
    ValueError
        If `method`, `n_draws`, or `random_state` is none of the above, or the prior has another number of items.
    TypeError
        If `kernel` is no kernel or `prior` no distribution.

    Notes
    -----
    Unbiased for two distinct rankings, with "monte_carlo" and "antithetic". For equal rankings, on the diagonal or off
    it, both arguments share their samples, which adds about (1 - K(R, R)) / n_draws for a kernel with k(s, s) = 1
    (Appendix B of the paper); the unbiased value would not be positive semi-definite.

    Only where no closed form exists is sampling of use: :class:`MallowsKernel` is exact on ties, and
    :class:`KendallKernel`, :class:`HammingKernel` and :class:`SpearmanKernel` on ties and missing items.

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
        if self.method == "herding":
            return herd(self._inner, ranks, self.n_draws, seed, prior=self.prior)
        return sample_consistent(ranks, self.n_draws, seed, method=self.method, prior=self.prior)

    def _pairwise(self, ranks, other_ranks=None):
        return pair_means(self._inner, ranks, other_ranks)

    def _pairwise_and_gradient(self, ranks):
        return pair_means_and_gradient(self._inner, ranks)

    def _diag(self, ranks):
        return own_pair_means(self._inner, ranks)

    def _between_equals(self, ranks):
        seed = int(self.random_state)
        return strangers_means(self._inner, self._draw(ranks, seed), self._draw(ranks, seed ^ INDEPENDENT_SEED))
