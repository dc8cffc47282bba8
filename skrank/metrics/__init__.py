"""Distances between rankings and scores of what was learned from them."""

from skrank.metrics._distances import pairwise_ranking_distances
from skrank.metrics._embedding import procrustes_error, triplet_accuracy

__all__ = ["pairwise_ranking_distances", "procrustes_error", "triplet_accuracy"]
