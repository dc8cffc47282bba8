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
from skrank._rankings import row_blocks
from skrank.mixture._liu_moitra._heavy_cells import rows_with_prefix
from skrank.mixture._liu_moitra._pair_tensors import log_prefix_probability, pair_flips, pair_tensor
from skrank.mixture._liu_moitra._test_functions import pair_tensor_of, pair_test_function


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
            rows = rows_with_prefix(ranks, weights, pairs)
            counts, _ = pair_tensor(ranks[rows], weights[rows], pairs)
            found[own] = counts @ test_function / np.sum(weights) / share
    return found


# ---------------------------------------------------------------- all cells
def annihilators(ranks, centers, dispersions, own, *, offset=0, expected=False):
    """A statistic W of each ranking whose mean is zero under every component but one.

    ``W = prod_{j != own} mean_p a_j(p) (rho_j - s_j(p))`` over the pairs p of group j, where s_j(p) = +1 if the ranking
    orders the pair as center j, else -1, and rho = (1 - phi) / (1 + phi). Given which items share a pair of places, the
    signs are independent and s_j has mean rho_j under component j (Fact 1), so that the factor vanishes. The matched
    filter a_j(p) is the mean of rho_j - s_j(p) under the own component: rho_j - rho or rho_j + rho, as the two centers
    agree on the pair or not; so no two pairs cancel.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
    centers : ndarray of shape (n_components, n_items)
    dispersions : ndarray of shape (n_components,)
    own : int
        The component that is not annihilated.
    offset : {0, 1}, default=0
        The place at which the first pair begins.
    expected : bool, default=False
        If true, the signs are replaced by their means under the own component, given the sets.

    Returns
    -------
    statistics : ndarray of shape (n_rows,)
        NaN where ties leave fewer than n_components - 1 pairs known.
    """
    n_groups = len(centers) - 1
    rho = (1 - dispersions) / (1 + dispersions)
    signs, known = _neighbor_signs(ranks, centers, offset)
    # The known pairs of a row are dealt out to the groups in turn.
    group = np.where(known, (np.cumsum(known, axis=1) - 1) % n_groups, -1)
    statistics = np.where(known.sum(axis=1) >= n_groups, 1.0, np.nan)
    for turn, other in enumerate(np.delete(np.arange(len(centers)), own)):
        member = group == turn
        gap = rho[other] - rho[own] * (signs[own] * signs[other])
        factor = gap * gap if expected else gap * (rho[other] - signs[other])
        statistics *= (factor * member).sum(axis=1) / np.maximum(member.sum(axis=1), 1)
    return statistics


def _neighbor_signs(ranks, centers, offset):
    """Whether centers order the items at the places (offset, offset + 1), (offset + 2, offset + 3), ... as the rows do.

    Returns
    -------
    signs : ndarray of shape (n_components, n_rows, n_pairs), int8
        +1 as the row, -1 against it.
    known : ndarray of shape (n_rows, n_pairs), bool
        Neither item tied with another one.
    """
    n_pairs = (ranks.shape[1] - offset) // 2
    pairs = slice(offset, offset + 2 * n_pairs)
    order = np.argsort(ranks, axis=1, kind="stable")
    ascending = np.take_along_axis(ranks, order, axis=1)
    new = np.ones((len(ranks), ranks.shape[1] + 1), bool)
    np.not_equal(ascending[:, 1:], ascending[:, :-1], out=new[:, 1:-1])
    alone = (new[:, :-1] & new[:, 1:])[:, pairs]
    places = np.take(np.asarray(centers), order[:, pairs], axis=1)
    signs = np.where(places[..., ::2] < places[..., 1::2], np.int8(1), np.int8(-1))
    return signs, alone[:, ::2] & alone[:, 1::2]


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
        for own, (drawn, draw_weights) in enumerate(component_tables):
            settings = {"own": own, "offset": offset}
            numerator[own] += _mean_annihilator(ranks, weights, centers, dispersions, **settings)
            denominator[own] += _mean_annihilator(drawn, draw_weights, centers, dispersions, **settings, expected=True)
    return np.divide(numerator, denominator, out=np.full(len(centers), np.nan), where=denominator > 0)


def _mean_annihilator(ranks, weights, centers, dispersions, **settings):
    """Weighted mean over the rows where the statistic is known, 0 if there are none."""
    total = mass = 0.0
    for rows in row_blocks(len(ranks), 40 * centers.size, max_rows=1 << 13):
        statistics = annihilators(ranks[rows], centers, dispersions, **settings)
        known = ~np.isnan(statistics)
        total += statistics[known] @ weights[rows][known]
        mass += weights[rows][known].sum()
    return total / mass if mass else total


def moment_weights(ranks, weights, centers, dispersions, *, n_draws=4000, seed=0):
    """Claim 6 over all cells at once: `ratio_of_moments` with denominators drawn from the components.

    Each draw has the ties of a row of the table; its order bits are averaged out exactly.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Ties allowed.
    weights : ndarray of shape (n_rows,)
    centers : ndarray of shape (n_components, n_items)
    dispersions : ndarray of shape (n_components,), positive
    n_draws : int, default=4000
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
