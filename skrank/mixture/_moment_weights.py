"""Mixing weights from moments: Claim 6 of Liu and Moitra.

"Efficiently Learning Mixtures of Mallows Models" (FOCS 2018). Given the centers and the dispersions, a test function Z
that annihilates all components but the k-th leaves its weight linear in the moments: ``w_k = <T, Z> / <T_k, Z>``. Two
versions, both exact on the population:

- `prefix_moment_weights`, the claim as it stands: T holds the order bits of the first k - 1 pairs of items of center k,
  so only the rankings that begin with these items count;
- `moment_weights`: every ranking counts. The items at its places 0 and 1, 2 and 3, ... form a block structure that it
  satisfies, and given these sets its order bits are independent under each component: the sum of the claim's identity
  over all cells.

Both are unbiased up to the ratio and have far more variance than maximum likelihood, which the estimators keep.
"""

import numpy as np

from skrank._mallows import sample_mallows
from skrank._rankings import bucket_places, row_blocks
from skrank.mixture._heavy_cells import heavy_prefixes
from skrank.mixture._pair_tensor import log_prefix_probability, pair_flips, pair_tensor
from skrank.mixture._test_functions import pair_tensor_of, pair_test_function


# ---------------------------------------------------------------- one cell
def prefix_moment_weights(ranks, weights, centers, dispersions):
    """w_k = <T, Z> / <T_k, Z> on the first k - 1 pairs of items of center k, for each k (Claim 6).

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Full rankings.
    weights : ndarray of shape (n_rows,)
    centers : ndarray of shape (n_components, n_items)
        With ``n_items >= 2 (n_components - 1)``.
    dispersions : ndarray of shape (n_components,), distinct and positive

    Returns
    -------
    mixing_weights : ndarray of shape (n_components,)
        Neither clipped to [0, 1] nor scaled to a sum of 1. NaN where the test function vanishes: the dispersion is that
        of another component whose center orders its pair alike.
    """
    n_components = len(centers)
    found = np.full(n_components, np.nan)
    for own in range(n_components):
        others = np.delete(np.arange(n_components), own)
        pairs = np.argsort(centers[own])[: 2 * len(others)].reshape(-1, 2)
        flips = pair_flips(centers, pairs)
        test_function = pair_test_function(dispersions[others], flips[others, np.arange(len(others))])
        tensor = np.exp(log_prefix_probability(centers[[own]], dispersions[[own]], pairs)) * pair_tensor_of(
            dispersions[[own]], flips[[own]]
        )
        share = tensor[0] @ test_function
        if abs(share) > 1e-12 * np.abs(tensor[0]) @ np.abs(test_function):
            rows = _rows_with_prefix(ranks, weights, pairs)
            counts, _ = pair_tensor(ranks[rows], weights[rows], pairs)
            found[own] = counts @ test_function / np.sum(weights) / share
    return found


def _rows_with_prefix(ranks, weights, pairs):
    wanted = np.sort(pairs, axis=1)
    for cell in heavy_prefixes(ranks, weights, len(pairs)):
        if np.array_equal(cell.pairs, wanted):
            return cell.rows
    return np.empty(0, np.intp)


# ---------------------------------------------------------------- all cells
def annihilators(ranks, centers, dispersions, *, offset=0, expected_under=None):
    """Statistics W_i of each ranking whose mean is zero under every component but the i-th.

    ``W_i = prod_{j != i} mean_p a_ij(p) (rho_j - s_j(p))`` over the pairs p of group j, where s_j(p) = +1 if the
    ranking orders the pair as center j, else -1, and rho = (1 - phi) / (1 + phi). Given which items share a pair of
    places, the signs are independent and s_j has mean rho_j under component j (Fact 1), so that the factor vanishes.
    The matched filter a_ij(p) is the mean of rho_j - s_j(p) under component i: rho_j - rho_i or rho_j + rho_i, as the
    two centers agree on the pair or not; so no two pairs cancel.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
    centers : ndarray of shape (n_components, n_items)
    dispersions : ndarray of shape (n_components,)
    offset : {0, 1}, default=0
        The place at which the first pair begins.
    expected_under : int, default=None
        If given, the signs are replaced by their means under this component, given the sets.

    Returns
    -------
    statistics : ndarray of shape (n_components, n_rows)
        NaN where ties leave fewer than n_components - 1 pairs known.
    """
    n_groups = len(centers) - 1
    rho = (1 - dispersions) / (1 + dispersions)
    center_signs, row_signs, known = _neighbour_signs(ranks, centers, offset)
    # The known pairs of a row are dealt out to the groups in turn.
    group = np.where(known, (np.cumsum(known, axis=1) - 1) % n_groups, -1)
    statistics = np.where(known.sum(axis=1) >= n_groups, np.ones((len(centers), 1)), np.nan)
    for own in range(len(centers)):
        for turn, other in enumerate(np.delete(np.arange(len(centers)), own)):
            member = group == turn
            agree = center_signs[own] * center_signs[other]
            filtered = (rho[other] - rho[own] * agree) * member
            if expected_under is None:
                signs = center_signs[other] * row_signs
            else:
                signs = center_signs[other] * center_signs[expected_under] * rho[expected_under]
            factor = (filtered * (rho[other] - signs)).sum(axis=1)
            statistics[own] *= factor / np.maximum(member.sum(axis=1), 1)
    return statistics


def _neighbour_signs(ranks, centers, offset):
    """How centers and rows order the items at the places (offset, offset + 1), (offset + 2, offset + 3), ...

    Returns
    -------
    center_signs : ndarray of shape (n_components, n_rows, n_pairs)
        +1 if the center prefers the item of the smaller number, else -1.
    row_signs : ndarray of shape (n_rows, n_pairs)
    known : ndarray of shape (n_rows, n_pairs), bool
        Neither tied with one another nor with other items.
    """
    n_pairs = (ranks.shape[1] - offset) // 2
    order = np.argsort(ranks, axis=1, kind="stable")[:, offset : offset + 2 * n_pairs]
    alone = bucket_places(ranks)[1] == 1
    alone = np.take_along_axis(alone, order, axis=1)
    first, second = order[:, ::2], order[:, 1::2]
    low, high = np.minimum(first, second), np.maximum(first, second)
    centers = np.asarray(centers)
    center_signs = np.where(centers[:, low] < centers[:, high], 1.0, -1.0)
    return center_signs, np.where(first < second, 1.0, -1.0), alone[:, ::2] & alone[:, 1::2]


def ratio_of_moments(ranks, weights, centers, dispersions, component_tables):
    """w_i = E[W_i] / E_i[W_i], the two offsets of the pairs summed in numerator and denominator.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
    weights : ndarray of shape (n_rows,)
    centers : ndarray of shape (n_components, n_items)
    dispersions : ndarray of shape (n_components,)
    component_tables : list of (ranks, weights), one for each component
        Its distribution, exact or drawn, with ties as in the data.

    Returns
    -------
    mixing_weights : ndarray of shape (n_components,)
    """
    numerator, denominator = np.zeros((2, len(centers)))
    for offset in (0, 1):
        numerator += _mean_annihilators(ranks, weights, centers, dispersions, offset)
        for own, (drawn, draw_weights) in enumerate(component_tables):
            denominator[own] += _mean_annihilators(drawn, draw_weights, centers, dispersions, offset, own)[own]
    return np.divide(numerator, denominator, out=np.full(len(centers), np.nan), where=denominator > 0)


def _mean_annihilators(ranks, weights, centers, dispersions, offset, expected_under=None):
    """Weighted means over the rows where the statistics are known, 0 if there are none, (n_components,)."""
    total, mass = np.zeros(len(centers)), 0.0
    for rows in row_blocks(len(ranks), 40 * centers.size, max_rows=1 << 14):
        statistics = annihilators(ranks[rows], centers, dispersions, offset=offset, expected_under=expected_under)
        known = ~np.isnan(statistics[0])
        total += statistics[:, known] @ weights[rows][known]
        mass += weights[rows][known].sum()
    return total / mass if mass else total


def moment_weights(ranks, weights, centers, dispersions, *, n_draws=10000, seed=0):
    """Claim 6 over all cells at once: `ratio_of_moments` with denominators drawn from the components.

    Each draw has the ties of a row of the table; its order bits are averaged out exactly.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Ties allowed.
    weights : ndarray of shape (n_rows,)
    centers : ndarray of shape (n_components, n_items)
    dispersions : ndarray of shape (n_components,), positive
    n_draws : int, default=10000
        From each component.
    seed : int, default=0

    Returns
    -------
    mixing_weights : ndarray of shape (n_components,)
        Neither clipped to [0, 1] nor scaled to a sum of 1. NaN where nothing can be said: too few places without ties
        for k - 1 pairs, or two equal components.
    """
    n_components = len(centers)
    if n_components == 1:
        return np.ones(1)
    rng = np.random.default_rng(seed)
    buckets_by_place = np.sort(ranks[rng.choice(len(ranks), n_draws, p=weights / np.sum(weights))], axis=1)
    tables = []
    for center, dispersion in zip(np.asarray(centers), dispersions, strict=True):
        places = sample_mallows(np.repeat(center[None], n_draws, axis=0), -np.log(dispersion), rng)
        tables.append((np.take_along_axis(buckets_by_place, places.astype(np.intp), axis=1), np.ones(n_draws)))
    return ratio_of_moments(ranks, weights, centers, dispersions, tables)
