"""Distances between rankings and scores of what was learned from them."""

from skrank.metrics._components import match_components
from skrank.metrics._dendrogram import dendrogram_purity
from skrank.metrics._distances import pairwise_ranking_distances
from skrank.metrics._embedding import procrustes_error, triplet_accuracy

__all__ = [
    "dendrogram_purity",
    "match_components",
    "pairwise_ranking_distances",
    "procrustes_error",
    "triplet_accuracy",
]
