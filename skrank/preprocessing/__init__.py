"""Between orderings, top-k lists, scores, pairwise wins and rank matrices."""
