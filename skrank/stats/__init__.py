"""The Mallows distribution, completions of partial rankings, consensus rankings and two-sample tests."""

from skrank.stats._completions import (
    antithetic_completion,
    complete_rankings,
    is_completion,
    log_n_completions,
    nearest_completion,
    sample_completions,
)
from skrank.stats._consensus import borda_consensus, kemeny_consensus, pairwise_majority
from skrank.stats._mallows_distribution import mallows
from skrank.stats._mmd import mmd_test, mmd_test_from_kernel

__all__ = [
    "antithetic_completion",
    "borda_consensus",
    "complete_rankings",
    "is_completion",
    "kemeny_consensus",
    "log_n_completions",
    "mallows",
    "mmd_test",
    "mmd_test_from_kernel",
    "nearest_completion",
    "pairwise_majority",
    "sample_completions",
]
