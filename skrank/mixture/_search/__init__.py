"""The search for components: where it starts, how it grows, exchanges and compares mixtures, and when it stops."""

from skrank.mixture._search._criteria import n_effective_components
from skrank.mixture._search._halves import FOUND, STABLE, Halves
from skrank.mixture._search._options import SearchOptions, subsample
from skrank.mixture._search._peel import excess
from skrank.mixture._search._search import Fit, MixtureFit, Search, n_steps_at_most, path_entry
from skrank.mixture._search._starts import Centers, KMeans, Peel, Random, Separated, Start

__all__ = [
    "FOUND",
    "STABLE",
    "Centers",
    "Fit",
    "Halves",
    "KMeans",
    "MixtureFit",
    "Peel",
    "Random",
    "Search",
    "SearchOptions",
    "Separated",
    "Start",
    "excess",
    "n_effective_components",
    "n_steps_at_most",
    "path_entry",
    "subsample",
]
