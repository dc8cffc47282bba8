"""Distances between rankings and scores of what was learned from them."""

from skrank.metrics._embedding import procrustes_error, triplet_accuracy

__all__ = ["procrustes_error", "triplet_accuracy"]
