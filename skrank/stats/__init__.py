"""The Mallows distribution, consensus rankings and two-sample tests."""

from skrank.stats._consensus import borda_consensus, kemeny_consensus, pairwise_majority
from skrank.stats._mallows_distribution import mallows
from skrank.stats._mmd import mmd_test, mmd_test_from_kernel

__all__ = ["borda_consensus", "kemeny_consensus", "mallows", "mmd_test", "mmd_test_from_kernel", "pairwise_majority"]
