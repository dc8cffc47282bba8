"""The constructions of Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), by their names.

The estimators run these:

- `_heavy_cells`: heavy hitters (Fact 2) and heavy prefixes (Claim 5, the set S of Lemma 10);
- `_pair_tensors`: the tensors of Lemma 10 and the centers that they reveal, with `pair_tensor_of` of
  `_test_functions`;
- `_candidate_centers`: both as a list of candidates for `SeparatedMallowsMixture`;
- `_selection`: the choice of components from the list (the last step of Theorems 1.1, 1.4 and 7.1);
- `_weights`: the mixing weights of Claim 6, `SeparatedMallowsMixture.moment_weights_`.

These are here to be checked against the paper and to be studied. No estimator runs them: their constants are out of
reach at realistic sample sizes, and likelihood does what they prove to be possible.

- `_blocks_and_orders`: block and order structures and their probabilities (Definitions 3 to 7, Fact 1, Corollary 2), of
  which the pair tensors use `block_orderings` and `pair_order_probability`;
- `_moments`: low-order moments (Definition 12, Claim 2, Corollary 4);
- `_test_functions`: the test functions of Lemmas 4, 6, 7, 8 and 10;
- `_theorem_1_1`: the steps of Theorem 1.1 end to end on the exact moments of few items and two components;
- `_theorem_7_1`: the steps of Theorem 7.1 end to end on the exact distribution of few items;
- `_zagier`: Zagier's determinant (Theorem 3.1, Lemma 3).

What the general search takes from the paper is in ``skrank.mixture._search``: peeling one component at a time (Theorem
1.1, Lemma 8, Corollary 4), independence of disjoint neighbors (first part of the proof of Theorem 6.1) in its split
directions, the test of Corollary 5 and Lemma 11 as `excess`.
"""

from skrank.mixture._liu_moitra._candidate_centers import candidate_centers
from skrank.mixture._liu_moitra._selection import make_atoms, select_atoms
from skrank.mixture._liu_moitra._weights import moment_weights

__all__ = ["candidate_centers", "make_atoms", "moment_weights", "select_atoms"]
