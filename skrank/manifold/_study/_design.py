"""Which triplets to ask next."""

import numpy as np

from skrank.manifold._study._information import indifferent_directions, information, jacobian, margins


def balanced_triplets(n_items, n_triplets, rng):
    """Random triplets in which every item is equally often anchor, left and right.

    Each n_items triplets are a random circle of the items, cut at two random distances: position t is the anchor of
    t + s and t + s'.
    """
    blocks = []
    for _ in range(-(-n_triplets // n_items)):
        circle = rng.permutation(n_items)
        left, right = 1 + rng.choice(n_items - 1, size=2, replace=False)
        block = np.column_stack([circle, np.roll(circle, -left), np.roll(circle, -right)])
        blocks.append(rng.permutation(block))
    return np.vstack(blocks)[:n_triplets] if blocks else np.empty((0, 3), np.intp)


def informative_triplets(X, covariance, candidates, n_triplets, lapse=0.0):
    """Of the candidates, the triplets whose responses lower the expected Procrustes error most, chosen one by one.

    The response to a triplet whose margin has the gradient g, and the information w about that margin, lowers the
    trace of the covariance S, without the directions that a Procrustes error ignores, by w |M S g|^2 / (1 + w g'Sg), M
    the projector (A-optimality). After each choice S becomes what it will be after the response. The information is
    taken at the margin divided by (1 + pi/8 g'Sg)^(1/2): averaged, approximately, over the values that it may have.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_components)
        Current coordinates.
    covariance : ndarray of shape (X.size, X.size)
        Their posterior covariance.
    candidates : ndarray of shape (n_candidates, 3)
        Triplets to choose from.
    n_triplets : int
        How many to choose.
    lapse : float, default=0.0
        Lapse rate of the rater who will answer.

    Returns
    -------
    ndarray of shape (n_triplets, 3)
    """
    derivatives, margin = jacobian(X, candidates), margins(X, candidates)
    reach = derivatives @ covariance  # of a response, in all coordinates
    variance = np.asarray((derivatives * reach).sum(axis=1)).ravel()
    directions = indifferent_directions(X)
    free = np.ones(len(candidates), bool)
    chosen = []
    for _ in range(min(n_triplets, len(candidates))):
        weight = information(margin / np.sqrt(1 + np.pi / 8 * np.maximum(variance, 0)), lapse)
        gain = (reach**2).sum(axis=1) - ((reach @ directions) ** 2).sum(axis=1)
        best = int(np.where(free, weight * gain / (1 + weight * variance), -1.0).argmax())
        chosen.append(best)
        free[best] = False
        step = reach[best] * np.sqrt(weight[best] / (1 + weight[best] * variance[best]))
        moved = derivatives @ step
        reach -= np.outer(moved, step)
        variance -= moved**2
    return candidates[chosen]


def triplet_codes(triplets, n_items):
    """One number for each triplet, the same with left and right exchanged."""
    anchor, left, right = np.asarray(triplets, np.int64).reshape(-1, 3).T
    return (anchor * n_items + np.minimum(left, right)) * n_items + np.maximum(left, right)


def new_triplets(n_items, n_triplets, avoid, rng, n_rounds=20):
    """Balanced random triplets without those of the codes `avoid`, and none twice, as long as there are others."""
    found = np.empty((0, 3), np.intp)
    for _ in range(n_rounds):
        missing = n_triplets - len(found)
        if missing == 0:
            return found
        found = np.vstack([found, balanced_triplets(n_items, missing, rng)])
        codes = triplet_codes(found, n_items)
        first = np.zeros(len(found), bool)
        first[np.unique(codes, return_index=True)[1]] = True
        found = found[first & ~np.isin(codes, avoid)]
    return np.vstack([found, balanced_triplets(n_items, n_triplets - len(found), rng)])


def repeated_triplets(queries, rater, n_triplets, rng, least_gap=10):
    """Triplets asked before, left and right exchanged at random: half of them of this rater, half of others.

    Of the rater's own queries the last ones are not asked again at once, where there are others.
    """
    own = [query[:3] for query in queries if query.rater == rater]
    others = [query[:3] for query in queries if query.rater != rater]
    own = own[: max(len(own) - least_gap, len(own) // 2)]
    n_own = n_triplets // 2 + (n_triplets % 2) * int(rng.integers(2))
    chosen = []
    for pool, other_pool, size in ((own, others, n_own), (others, own, n_triplets - n_own)):
        pool = pool or other_pool
        if pool:
            chosen += [pool[row] for row in rng.choice(len(pool), size=size, replace=size > len(pool))]
    triplets = np.array(chosen, np.intp).reshape(-1, 3)
    exchanged = rng.random(len(triplets)) < 0.5
    triplets[exchanged, 1:] = triplets[exchanged, :0:-1]
    return triplets
