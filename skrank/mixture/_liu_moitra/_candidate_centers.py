"""Candidate centers of a separated mixture: the lists of Fact 2, Claim 5 and Lemma 10.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018). The rankings that begin with the first
items of a center, or end with its last ones, hold far more of that component than all rankings do, the more so the
smaller its dispersion. From each heavy cell come its consensus and the centers that its pair tensor reveals.
"""

import numpy as np

from skrank._rankings import n_buckets
from skrank.mixture._liu_moitra._heavy_cells import heavy_hitters, heavy_prefixes
from skrank.mixture._liu_moitra._pair_tensors import tensor_proposals
from skrank.stats._kemeny import local_kemeny

# A cell with fewer rankings than this tells little; the tensor of a cell needs more.
LEAST_CELL_WEIGHT = 12
LEAST_TENSOR_WEIGHT = 40


def candidate_centers(data, n_components, *, max_prefix=6, n_cells=12, min_weight=0.02):
    """Distinct candidate centers, in lexicographic order.

    The consensus of all rankings; the heavy hitters (Fact 2); and for each of the `n_cells` heaviest prefixes and
    suffixes of 2, 4, ..., `max_prefix` items, up to flips inside pairs, with at least 12 rankings (Claim 5), the
    consensus of the cell and, where it has two pairs and 40 rankings, those its pair tensor proposes (Lemma 10).

    Parameters
    ----------
    data : PairSigns
    n_components : int
    max_prefix : int, default=6
    n_cells : int, default=12
    min_weight : float, default=0.02
        The least mixing weight alpha: Fact 2 lists rankings that make up alpha / 4 of all.

    Returns
    -------
    centers : ndarray of shape (n_candidates, n_items)
        Positions.
    """
    ranks = data.ranks.T
    memberships = [np.ones(data.n_rows, bool)]
    proposals = [np.empty((0, data.n_pairs))]
    for direction, directed in ((1, ranks), (-1, (n_buckets(ranks)[:, None] - 1 - ranks).astype(ranks.dtype))):
        for n_pairs in range(1, min(max_prefix, data.n_items - 2) // 2 + 1):
            for cell in heavy_prefixes(directed, data.weights, n_pairs, top=n_cells, min_weight=LEAST_CELL_WEIGHT):
                memberships.append(np.isin(np.arange(data.n_rows), cell.rows))
                if n_pairs >= 2 and cell.weight >= LEAST_TENSOR_WEIGHT:
                    weights = data.weights[cell.rows]
                    proposals.append(
                        direction * tensor_proposals(directed[cell.rows], weights, cell.pairs, n_components)
                    )
    consensus = data.pair_sums(np.array(memberships) * data.weights)
    orderings, _ = local_kemeny(np.concatenate([consensus, *proposals]))
    hitters = data.rankings(heavy_hitters(ranks, data.weights, min_weight / 4))
    return np.unique(np.concatenate([np.argsort(orderings, axis=1), hitters]), axis=0)
