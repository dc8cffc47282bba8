"""Test functions: vectors and tensors that annihilate all components of a mixture but one.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018). On a structure whose blocks are
consecutive the distribution of a Mallows model is a tensor product (Corollary 2). A tensor product of small vectors,
one of them orthogonal to each unwanted component, is therefore orthogonal to all of them. Two ways to find them:

- one dispersion (Lemmas 4 and 7): blocks in which the wanted center differs from the others; the vector of a block is
  what is left of the wanted column of Zagier's matrix after projection. `isolating_blocks`, `block_test_function`.
- distinct dispersions (Lemmas 6, 8 and 10): any pair of neighbors tells two components apart, ``(phi, -1)/(1 + phi)``.
  `pair_probabilities`, `pair_annihilator`, `pair_test_function`.

Tensors are stored flat, the last block varies fastest, as `_blocks_and_orders.block_orderings` numbers their cells.
"""

from functools import reduce

import numpy as np

from skrank.mixture._liu_moitra._blocks_and_orders import ordering_probabilities


# ---------------------------------------------------------------- distinct dispersions: pairs
def pair_probabilities(dispersions, flips):
    """v(M(phi, pi|{x, y})) = (1, phi)/(1 + phi), reversed where the center flips the pair, shape (..., 2)."""
    dispersions, flips = np.broadcast_arrays(np.asarray(dispersions, float), np.asarray(flips, bool))
    kept, swapped = 1 / (1 + dispersions), dispersions / (1 + dispersions)
    return np.stack([np.where(flips, swapped, kept), np.where(flips, kept, swapped)], axis=-1)


def pair_annihilator(dispersions, flips):
    """v of Lemma 10, orthogonal to `pair_probabilities`: (phi, -1)/(1 + phi), or (1, -phi)/(1 + phi) if flipped."""
    first, second = np.moveaxis(pair_probabilities(dispersions, flips), -1, 0)
    return np.stack([second, -first], axis=-1)


def tensor_product(vectors):
    """Flat tensor product of vectors, the last one varies fastest; of arrays (..., 2) along their last axes."""
    return reduce(lambda a, b: (a[..., :, None] * b[..., None, :]).reshape(*a.shape[:-1], -1), vectors)


def pair_tensor_of(dispersions, flips):
    """The order bits of consecutive pairs under each component: t_i, tensor product of `pair_probabilities`.

    Parameters
    ----------
    dispersions : ndarray of shape (n_components,)
    flips : ndarray of shape (n_components, n_pairs), bool
        Whether the center ranks the second item of the pair above the first.

    Returns
    -------
    tensors : ndarray of shape (n_components, 2**n_pairs)
    """
    vectors = pair_probabilities(np.asarray(dispersions)[:, None], flips)
    return tensor_product(list(np.moveaxis(vectors, 1, 0)))


def pair_test_function(dispersions, flips):
    """Z = v_1 x ... x v_{k-1} of Lemma 10: its a-th factor annihilates the a-th of the unwanted components on pair a.

    Parameters
    ----------
    dispersions : ndarray of shape (k - 1,)
        Of the unwanted components.
    flips : ndarray of shape (k - 1,), bool
        Whether the center of component a flips pair a.

    Returns
    -------
    test_function : ndarray of shape (2**(k - 1),)
        Its product with the t of a component of dispersion psi is at least prod_a |phi_a - psi| / 4 in absolute value.
    """
    return tensor_product(list(pair_annihilator(dispersions, flips)))


# ---------------------------------------------------------------- one dispersion: blocks
def isolating_blocks(centers, wanted):
    """Blocks that the wanted center satisfies and no other one does as an order structure (proof of Lemma 4).

    For each other center, two items that are neighbors in the wanted one and inverted in the other; overlapping pairs
    are merged. At most 2 (k - 1) items.

    Parameters
    ----------
    centers : ndarray of shape (n_components, n_items)
        Distinct full rankings, as 0-based places.
    wanted : int

    Returns
    -------
    blocks : list of lists of items, in the order of the wanted center
    """
    order = np.argsort(centers[wanted])
    joined = np.zeros(len(order), bool)  # joined[t]: the items at places t and t + 1 are in one block
    for other in np.delete(centers, wanted, axis=0):
        inverted = np.append(np.diff(other[order].astype(int)) < 0, False)
        if not (inverted & joined).any():
            joined[np.argmax(inverted)] = True
    blocks: list[list[int]] = []
    for place in np.flatnonzero(joined):
        if place and joined[place - 1]:
            blocks[-1].append(int(order[place + 1]))
        else:
            blocks.append([int(order[place]), int(order[place + 1])])
    return blocks


def isolating_vector(wanted, others):
    """Unit vector along the part of a column that is orthogonal to other columns (proof of Lemma 4).

    Zagier's determinant (Lemma 3) bounds that part below where all are Mallows models of one dispersion.
    """
    if not len(others):
        return wanted / np.linalg.norm(wanted)
    basis, _ = np.linalg.qr(np.array(others).T)
    rest = wanted - basis @ (basis.T @ wanted)
    rest -= basis @ (basis.T @ rest)  # once more: the first pass loses digits when the part is short
    return rest / np.linalg.norm(rest)


def block_test_function(centers, dispersion, blocks, wanted):
    """v_1 x ... x v_j of Lemmas 4 and 7: orthogonal to the tensors of all components but the wanted one.

    Parameters
    ----------
    centers : ndarray of shape (n_components, n_items)
    dispersion : float
        Common to all components.
    blocks : list of lists of items
        In which every other center orders at least one block otherwise (`isolating_blocks`).
    wanted : int

    Returns
    -------
    test_function : ndarray of shape (|S_1|! ... |S_j|!,)
    """
    vectors = []
    for block in blocks:
        columns = [ordering_probabilities(center, dispersion, block) for center in centers]
        own = columns[wanted]
        distinct = {tuple(np.argsort(center[block])): column for center, column in zip(centers, columns, strict=True)}
        del distinct[tuple(np.argsort(centers[wanted][block]))]
        vectors.append(isolating_vector(own, list(distinct.values())))
    return tensor_product(vectors)
