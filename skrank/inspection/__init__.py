"""Displays that plot rankings and fitted estimators."""

from skrank.inspection._embedding import EmbeddingDisplay
from skrank.inspection._mixture import MixtureDisplay
from skrank.inspection._pairwise_majority import PairwiseMajorityDisplay
from skrank.inspection._rank_distribution import RankDistributionDisplay

__all__ = ["EmbeddingDisplay", "MixtureDisplay", "PairwiseMajorityDisplay", "RankDistributionDisplay"]
