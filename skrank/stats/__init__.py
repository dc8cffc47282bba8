"""The Mallows distribution, consensus rankings and two-sample tests."""

from skrank.stats._consensus import borda_consensus, kemeny_consensus, pairwise_majority

__all__ = ["borda_consensus", "kemeny_consensus", "pairwise_majority"]
