"""The Mallows distribution, consensus rankings and two-sample tests."""

from skrank.stats._consensus import borda_consensus, kemeny_consensus, pairwise_majority
from skrank.stats._mallows_distribution import mallows

__all__ = ["borda_consensus", "kemeny_consensus", "mallows", "pairwise_majority"]
