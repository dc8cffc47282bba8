"""Clusters of rankings by a kernel, and whether they would be found again."""

from skrank.cluster._stability import cluster_stability

__all__ = ["cluster_stability"]
