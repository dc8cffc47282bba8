"""Between orderings, top-k lists, scores, pairwise wins and rank matrices."""

from skrank.preprocessing._comparisons import ranks_from_comparisons
from skrank.preprocessing._encoder import OrderingEncoder
from skrank.preprocessing._orderings import orderings_from_ranks, ranks_from_orderings
from skrank.preprocessing._pairs import ranks_from_pairs, ranks_from_wins
from skrank.preprocessing._scores import ranks_from_scores
from skrank.preprocessing._triplets import (
    quadruplets_from_triplets,
    triplets_from_choices,
    triplets_from_most_central,
    triplets_from_odd_one_out,
    triplets_from_quadruplets,
    triplets_from_ranking,
)

__all__ = [
    "OrderingEncoder",
    "orderings_from_ranks",
    "ranks_from_comparisons",
    "ranks_from_orderings",
    "ranks_from_pairs",
    "ranks_from_scores",
    "ranks_from_wins",
    "quadruplets_from_triplets",
    "triplets_from_choices",
    "triplets_from_most_central",
    "triplets_from_odd_one_out",
    "triplets_from_quadruplets",
    "triplets_from_ranking",
]
