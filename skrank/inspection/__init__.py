"""Displays that plot rankings and fitted estimators."""

from skrank.inspection._mallows_mixture import MallowsMixtureDisplay
from skrank.inspection._mixture_bootstrap import MixtureBootstrapDisplay
from skrank.inspection._ordinal_embedding import OrdinalEmbeddingDisplay
from skrank.inspection._pairwise_preference import PairwisePreferenceDisplay
from skrank.inspection._rank_distribution import RankDistributionDisplay
from skrank.inspection._ranking_kernel import RankingKernelDisplay
from skrank.inspection._ranking_map import RankingMapDisplay
from skrank.inspection._score import ScoreDisplay

__all__ = [
    "MallowsMixtureDisplay",
    "MixtureBootstrapDisplay",
    "OrdinalEmbeddingDisplay",
    "PairwisePreferenceDisplay",
    "RankDistributionDisplay",
    "RankingKernelDisplay",
    "RankingMapDisplay",
    "ScoreDisplay",
]
