"""Everything that takes a rank matrix, as functions of it, and what each is bound to."""

from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import WhiteKernel
from strategies import PHIS

from skrank.kernel_approximation import MallowsFeatures
from skrank.kernels import (
    DiffusionKernel,
    DistanceInducedKernel,
    HammingKernel,
    KendallKernel,
    MallowsKernel,
    MarginalizedKernel,
    PartialRankingKernel,
    SemimetricKernel,
    SpearmanKernel,
)
from skrank.metrics import pairwise_ranking_distances
from skrank.metrics._distances import METRICS
from skrank.mixture import MallowsMixture, SeparatedMallowsMixture
from skrank.preprocessing import orderings_from_ranks, ranks_from_scores
from skrank.stats import borda_consensus, kemeny_consensus, mallows, mmd_test, pairwise_majority


class Case(NamedTuple):
    """A function of a rank matrix.

    kind : what it takes, "full", "ties" or "any".
    result : its shape: "gram" (rows by rows), "rows" (one entry a row), "columns" (rows by items), "items" (one entry
        an item), "pairs" (items by items) or "number".
    items_matter : whether a permutation of the columns may change more than the order of the result.
    """

    function: object
    kind: str
    result: str
    items_matter: bool = False
    max_items: int = 200
    min_items: int = 1
    min_rows: int = 1


def _settled(kernel):
    return lambda X: kernel(X)


def _matrix(**parameters):
    return lambda X: PartialRankingKernel(random_state=0, **parameters).fit_transform(X)


def _against_itself(**parameters):
    return lambda X: PartialRankingKernel(random_state=0, **parameters).fit(X).transform(X)


def _mmd(**parameters):
    return lambda X: mmd_test(X, X[: len(X) // 2], n_permutations=9, random_state=0, **parameters).statistic


CASES = {
    **{
        f"distance {metric}": Case(
            lambda X, metric=metric: pairwise_ranking_distances(X, metric=metric),
            "any" if metric == "kendall" else "full",
            "gram",
        )
        for metric in METRICS
    },
    "KendallKernel": Case(_settled(KendallKernel()), "any", "gram"),
    "HammingKernel": Case(_settled(HammingKernel()), "any", "gram", max_items=30),
    "SpearmanKernel": Case(_settled(SpearmanKernel()), "any", "gram"),
    **{
        f"MallowsKernel nu={nu:g}": Case(_settled(MallowsKernel(nu)), "ties", "gram", max_items=30)
        for nu in (1e-300, 0.1, 1e6)
    },
    **{
        f"SemimetricKernel {metric}": Case(_settled(SemimetricKernel(metric, nu=0.2)), "full", "gram")
        for metric in ("spearman_footrule", "spearman", "hamming", "lp")
    },
    "DistanceInducedKernel": Case(_settled(DistanceInducedKernel()), "full", "gram", items_matter=True),
    "DiffusionKernel": Case(_settled(DiffusionKernel()), "full", "gram", max_items=5),
    **{
        f"MarginalizedKernel {method}": Case(
            _settled(MarginalizedKernel(MallowsKernel(0.2), method=method, n_draws=4)),
            "any",
            "gram",
            items_matter=True,
            max_items=30,
        )
        for method in ("antithetic", "monte_carlo", "herding")
    },
    **{
        f"PartialRankingKernel {kernel} {output}": Case(
            _matrix(kernel=kernel, output=output, normalize=normalize), "any", "gram", max_items=30
        )
        for kernel in ("kendall", "hamming", "spearman")
        for output, normalize in (("kernel", True), ("distance", False))
    },
    "PartialRankingKernel mallows": Case(_matrix(), "ties", "gram", max_items=30),
    "PartialRankingKernel nu=1e6 distance": Case(
        _against_itself(nu=1e6, output="distance"), "ties", "gram", max_items=30
    ),
    "PartialRankingKernel sampled": Case(
        _matrix(n_draws=4, normalize=True), "any", "gram", items_matter=True, max_items=30
    ),
    "PartialRankingKernel noisy": Case(_matrix(kernel=KendallKernel() + WhiteKernel()), "full", "gram"),
    **{
        f"MallowsFeatures nu={nu}": Case(
            lambda X, nu=nu: MallowsFeatures(8, nu=nu, n_draws=4, random_state=0).fit_transform(X),
            "any",
            "rows",
            items_matter=True,
        )
        for nu in ("median", 1e6)
    },
    **{
        f"mallows.logpmf phi={phi}": Case(
            lambda X, phi=phi: mallows(np.arange(np.shape(X)[1]), phi).logpmf(X), "ties", "rows", items_matter=True
        )
        for phi in PHIS
    },
    "mallows.fit": Case(lambda X: mallows.fit(X, method="local").phi, "ties", "number", items_matter=True),
    "kemeny_consensus": Case(lambda X: kemeny_consensus(X).distance, "any", "number", max_items=8),
    "borda_consensus": Case(lambda X: borda_consensus(X).ranks, "any", "items"),
    "pairwise_majority": Case(lambda X: pairwise_majority(X).fractions, "any", "pairs"),
    "mmd_test kendall": Case(_mmd(kernel="kendall"), "any", "number", min_rows=7, max_items=30),
    "mmd_test mallows": Case(_mmd(kernel=MallowsKernel(0.3)), "ties", "number", min_rows=7, max_items=30),
    "MallowsMixture": Case(
        lambda X: MallowsMixture(random_state=0).fit(X).score_samples(X), "ties", "rows", True, 8, 2
    ),
    "SeparatedMallowsMixture": Case(
        lambda X: SeparatedMallowsMixture(random_state=0).fit(X).score_samples(X), "ties", "rows", True, 8, 2
    ),
    "ranks_from_scores": Case(lambda X: ranks_from_scores(X, higher_is_preferred=False), "any", "columns"),
    "orderings_from_ranks": Case(lambda X: orderings_from_ranks(X), "full", "rows", items_matter=True),
}
