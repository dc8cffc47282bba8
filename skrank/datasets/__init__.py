"""Embedded data, readers and writers of ranking files, and generators."""

from skrank.datasets._apa import load_apa
from skrank.datasets._generators import make_mallows_mixture, make_rankings
from skrank.datasets._hard_mallows_pair import make_hard_mallows_pair
from skrank.datasets._load_table import load_table
from skrank.datasets._preflib import load_preflib
from skrank.datasets._preflib_writer import dump_preflib
from skrank.datasets._sushi import load_sushi_order
from skrank.datasets._triplets import make_triplets

__all__ = [
    "dump_preflib",
    "load_apa",
    "load_preflib",
    "load_sushi_order",
    "load_table",
    "make_hard_mallows_pair",
    "make_mallows_mixture",
    "make_rankings",
    "make_triplets",
]
