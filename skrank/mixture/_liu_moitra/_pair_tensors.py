"""Tensors of the order bits of consecutive pairs, and the centers that they reveal.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), Lemma 10. Among the rankings that begin
with the items x_1, ..., x_2m up to flips inside the pairs (x_1, x_2), ..., the order bits of these pairs and the order
of the other items are independent under each component. So the tensor ``T_x - T_y``, one column for each pair x, y of
other items and one row for each pattern of bits, is

    D[bits, xy] = sum_i w_i Pr_i[S] t_i[bits] q_i[xy],   q_i[xy] = Pr_i[x before y] - Pr_i[y before x],

of rank at most k, with the known factors t_i of `_test_functions.pair_tensor_of`; q_i has the signs of center i.

The lemma takes the prefix, the flips and the dispersions as guessed. Here a singular value decomposition finds the span
of the t_i, a scan finds which of them lie in it, and the rows of the pseudo-inverse T^+, each orthogonal to all t_j but
one, are its test functions Z. At realistic sample sizes that proposes centers, many of them wrong; likelihood chooses.
"""

import itertools

import numpy as np

from skrank._mallows import log_q_factorial
from skrank._rankings import pair_indices, pair_signs
from skrank.mixture._liu_moitra._blocks_and_orders import block_orderings, pair_order_probability
from skrank.mixture._liu_moitra._test_functions import pair_tensor_of

SCANNED_DISPERSIONS = np.linspace(0.05, 0.95, 19)


# ---------------------------------------------------------------- the tensor
def pair_tensor(ranks, weights, pairs):
    """Counts and pair sums of the rankings of a cell by their order bits.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        The rankings of one cell.
    weights : ndarray of shape (n_rows,)
    pairs : ndarray of shape (n_pairs, 2)
        Items of the pairs; rankings that tie one of them are left out.

    Returns
    -------
    counts : ndarray of shape (2**n_pairs,)
        The tensor T of Claim 6, unnormalized.
    sums : ndarray of shape (2**n_pairs, n_items (n_items - 1) / 2)
        The tensors T_x - T_y of Lemma 10, unnormalized; pairs of items as in ``pair_indices``.
    """
    bits = block_orderings(ranks, pairs)
    known = np.flatnonzero(bits >= 0)
    membership = np.zeros((2 ** len(pairs), len(known)))
    membership[bits[known], np.arange(len(known))] = weights[known]
    return membership.sum(axis=1), membership @ pair_signs(ranks[known], dtype=float)


def log_prefix_probability(centers, dispersions, pairs):
    """log Pr[S]: that a Mallows ranking begins with given pairs of items, up to flips inside them.

    Parameters
    ----------
    centers : ndarray of shape (n_components, n_items)
    dispersions : ndarray of shape (n_components,), positive
    pairs : ndarray of shape (n_pairs, 2)

    Returns
    -------
    log_probability : ndarray of shape (n_components,)
    """
    # One order of the prefix: phi to the number of items that each one overtakes, over the product of the geometric
    # sums of n, n - 1, ... terms. A flip costs one more: the two orders of a pair together have the factor 1 + phi.
    concentration = -np.log(dispersions)
    centers = np.asarray(centers)
    n_items = centers.shape[1]
    overtaken = np.zeros(len(centers))
    placed = np.zeros(n_items, bool)
    for pair in pairs:
        for item in (pair[0], pair[1]):
            overtaken += ((centers < centers[:, [item]]) & ~placed).sum(axis=1)
            placed[item] = True
        overtaken -= centers[:, pair[0]] > centers[:, pair[1]]
    factorial = log_q_factorial(n_items, concentration)
    log_normalizer = factorial[:, n_items] - factorial[:, n_items - 2 * len(pairs)]
    return -concentration * overtaken + len(pairs) * np.log1p(dispersions) - log_normalizer


def pair_flips(centers, pairs):
    """Whether each center ranks the second item of each pair above the first, (n_components, n_pairs)."""
    centers = np.asarray(centers)
    return centers[:, pairs[:, 0]] > centers[:, pairs[:, 1]]


def mixture_pair_tensor(centers, dispersions, mixing_weights, pairs):
    """What `pair_tensor` estimates: its factors under a mixture (proofs of Lemma 10 and Claim 6).

    Parameters
    ----------
    centers : ndarray of shape (n_components, n_items)
    dispersions : ndarray of shape (n_components,), positive
    mixing_weights : ndarray of shape (n_components,)
    pairs : ndarray of shape (n_pairs, 2)

    Returns
    -------
    masses : ndarray of shape (n_components,)
        w_i Pr_i[S].
    tensors : ndarray of shape (n_components, 2**n_pairs)
        t_i; the counts are ``masses @ tensors``.
    differences : ndarray of shape (n_components, n_items (n_items - 1) / 2)
        q_i, 0 for pairs of items that the prefix contains; the sums are ``(masses * tensors.T) @ differences``.
    """
    centers = np.asarray(centers)
    dispersions = np.asarray(dispersions, float)
    masses = mixing_weights * np.exp(log_prefix_probability(centers, dispersions, pairs))
    tensors = pair_tensor_of(dispersions, pair_flips(centers, pairs))
    rest, i, j = rest_pairs(centers.shape[1], pairs)
    outside = np.setdiff1d(np.arange(centers.shape[1]), pairs)
    places = np.zeros(centers.shape, int)
    places[:, outside] = np.argsort(np.argsort(centers[:, outside], axis=1), axis=1)
    span = np.abs(places[:, j] - places[:, i]) + 1
    signs = np.sign(places[:, j] - places[:, i])
    differences = np.zeros((len(centers), len(rest)))
    differences[:, rest] = signs * (2 * pair_order_probability(span, dispersions[:, None]) - 1)
    return masses, tensors, differences


def rest_pairs(n_items, pairs):
    """Which pairs of items avoid the prefix (a mask over ``pair_indices``), and their items."""
    i, j = pair_indices(n_items)
    prefix = np.zeros(n_items, bool)
    prefix[np.ravel(pairs)] = True
    rest = ~prefix[i] & ~prefix[j]
    return rest, i[rest], j[rest]


# ---------------------------------------------------------------- candidates
def scan_pair_tensor(counts, sums, n_components, dispersions=SCANNED_DISPERSIONS):
    """The t(phi, flips) nearest to the leading left singular space of a pair tensor.

    Parameters
    ----------
    counts : ndarray of shape (2**n_pairs,)
    sums : ndarray of shape (2**n_pairs, n_columns)
        Columns of pairs of items outside the prefix.
    n_components : int
        k; at most 2**n_pairs - 1 factors can be told apart.
    dispersions : ndarray of shape (n_dispersions,)

    Returns
    -------
    dispersions : ndarray of shape (n_found,)
    flips : ndarray of shape (n_found, n_pairs), bool
    """
    n_cells = len(counts)
    n_pairs = n_cells.bit_length() - 1
    whiten = 1 / np.sqrt(counts + 1)
    left, _, _ = np.linalg.svd(np.column_stack([counts, sums]) * whiten[:, None], full_matrices=False)
    n_found = min(n_components, n_cells - 1)
    space = left[:, :n_found]
    flips = np.array(list(itertools.product([False, True], repeat=n_pairs)))
    phi, pattern = np.repeat(dispersions, len(flips)), np.tile(flips, (len(dispersions), 1))
    atoms = pair_tensor_of(phi, pattern) * whiten
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    closeness = ((atoms @ space) ** 2).sum(axis=1)
    chosen: list[int] = []
    for atom in np.argsort(-closeness, kind="stable"):
        # Neighbors on the grid point to the same component.
        if all((pattern[atom] != pattern[c]).any() or abs(phi[atom] - phi[c]) > 0.12 for c in chosen):
            chosen.append(atom)
        if len(chosen) == n_found:
            break
    return phi[chosen], pattern[chosen]


def pair_test_functions(counts, dispersions, flips):
    """Rows of the pseudo-inverse of T, whitened: row i is orthogonal to all t_j but t_i, where its product is 1.

    Directions in which the t are nearly dependent are left out, so nearly equal ones are not told apart.

    Returns
    -------
    test_functions : ndarray of shape (n_components, 2**n_pairs)
    """
    whiten = 1 / np.sqrt(counts + 1)
    tensors = pair_tensor_of(dispersions, flips)
    return np.linalg.pinv((tensors * whiten).T, rcond=0.02) * whiten


def tensor_proposals(ranks, weights, pairs, n_components):
    """Pairwise preferences of the centers that a cell's pair tensor reveals (Lemma 10).

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        The rankings of one cell.
    weights : ndarray of shape (n_rows,)
    pairs : ndarray of shape (n_pairs, 2)
    n_components : int

    Returns
    -------
    preferences : ndarray of shape (n_found, n_items (n_items - 1) / 2)
        Its consensus is a candidate center: the prefix in the found order, then the other items.
    """
    counts, sums = pair_tensor(ranks, weights, pairs)
    n_items = ranks.shape[1]
    rest, _, _ = rest_pairs(n_items, pairs)
    dispersions, flips = scan_pair_tensor(counts, sums[:, rest], n_components)
    isolated = pair_test_functions(counts, dispersions, flips) @ sums[:, rest]
    # The prefix stands at the top, its pairs in the order of the flips.
    top = np.full((len(flips), n_items), 2 * len(pairs))
    for a, (first, second) in enumerate(pairs):
        top[:, first] = 2 * a + flips[:, a]
        top[:, second] = 2 * a + 1 - flips[:, a]
    preferences = pair_signs(top, dtype=float) * (1 + np.abs(isolated).sum(axis=1, keepdims=True))
    preferences[:, rest] = isolated
    return preferences
