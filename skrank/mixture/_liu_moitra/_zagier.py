"""Zagier's determinant: why Mallows models of one dispersion are linearly independent.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), section 3.3 and Lemma 3; the determinant
is from Zagier, "Realizability of a model in infinite statistics" (1992). Permutations are rows of 0-based places, in
lexicographic order.
"""

import itertools
import math

import numpy as np

from skrank._mallows import log_q_factorial
from skrank._rankings import pair_signs


def all_permutations(n_items):
    """All n! permutations in lexicographic order, shape (n!, n_items)."""
    return np.array(list(itertools.permutations(range(n_items))), np.int8).reshape(-1, n_items)


def mallows_matrix(n_items, dispersion, *, normalized=False):
    """A_n(phi), entries phi^(Kendall distance), of Definition 8; B_n(phi), columns that sum to one, of Definition 9.

    Returns
    -------
    matrix : ndarray of shape (n_items!, n_items!)
        The columns of the normalized matrix are all Mallows models with this dispersion.
    """
    signs = pair_signs(all_permutations(n_items), dtype=float)
    distances = (signs.shape[1] - signs @ signs.T) / 2
    matrix = np.power(float(dispersion), distances)
    if normalized:
        with np.errstate(divide="ignore"):
            matrix *= np.exp(-log_q_factorial(n_items, -np.log(dispersion))[-1])
    return matrix


def log_zagier_determinant(n_items, dispersion):
    """log det A_n(phi) = sum_{i=1}^{n-1} n! (n - i) / (i^2 + i) log(1 - phi^(i^2 + i)) (Theorem 3.1), phi < 1."""
    i = np.arange(1, n_items)
    exponent = math.factorial(n_items) * (n_items - i) / (i**2 + i)
    return float(exponent @ np.log1p(-np.power(float(dispersion), i**2 + i)))


def log_kruskal_bound(n_items, dispersion, n_columns):
    """log of the lower bound of Lemma 3, ((1 - phi)^n / sqrt(n!))^k.

    The part of a column of A_n(phi) that is orthogonal to any k - 1 others is at least that long.
    """
    return n_columns * (n_items * np.log1p(-dispersion) - math.lgamma(n_items + 1) / 2)
