"""Matching the components of two Mallows mixtures."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from skrank._mallows import mean_distance
from skrank._rankings import check_rankings, pair_indices, pair_signs
from skrank._typing import ArrayLike, Integers

# Divergences are infinite at dispersion 0 and vanish at 1; this near, they still order everything.
LEAST_DISPERSION = 1e-6


@dataclass(frozen=True)
class ComponentMatch:
    """Result of :func:`match_components`; one entry for each component of the reference.

    Attributes
    ----------
    components : ndarray of shape (n_reference,), int
        The component of the estimate that belongs to each one of the reference; -1 where there are too few.
    center_distances : ndarray of shape (n_reference,)
        Kendall distance between the two centers, the number of pairs of items they order oppositely; NaN without match.
    dispersion_errors : ndarray of shape (n_reference,)
        Dispersion of the estimate less that of the reference; NaN without match.
    weight_errors : ndarray of shape (n_reference,)
        Weight of the estimate less that of the reference; NaN without match.
    unmatched : ndarray of int
        Components of the estimate that belong to none of the reference.
    """

    components: np.ndarray
    center_distances: np.ndarray
    dispersion_errors: np.ndarray
    weight_errors: np.ndarray
    unmatched: np.ndarray

    def relabel(self, y: ArrayLike) -> Integers:
        """Labels of the estimate's components as those of the reference; -1 for an unmatched component."""
        matched = np.flatnonzero(self.components >= 0)
        labels = np.full(len(matched) + len(self.unmatched), -1)
        labels[self.components[matched]] = matched
        return labels[np.asarray(y)]


def match_components(reference: Any, estimate: Any) -> ComponentMatch:
    """Relabel the components of one Mallows mixture to those of another, and tell how far they are off.

    The pairs are those with the smallest sum of symmetrised Kullback-Leibler divergences between the matched components
    (Hungarian method), so components with one center are told apart by their dispersions, and a center counts for more
    where the dispersion is small. Equal components are matched by weight.

    Parameters
    ----------
    reference, estimate : mixture
        The mixture to compare with, and the one to relabel. Each is a fitted :class:`~skrank.mixture.MallowsMixture` or
        another object with `centers_`, `dispersions_` and `weights_` (or the same names without underscore, as of
        :func:`~skrank.datasets.make_mallows_mixture`), or a tuple (centers, dispersions, weights) of arrays of shapes
        (n_components, n_items), (n_components,) and (n_components,). The numbers of components may differ.

    Returns
    -------
    match : ComponentMatch
        With attributes `components`, `center_distances`, `dispersion_errors`, `weight_errors` and `unmatched`, and the
        method ``relabel(y)``.

    Raises
    ------
    TypeError
        If an argument is no such mixture.
    ValueError
        If its arrays do not fit together, or the mixtures rank different numbers of items.

    Examples
    --------
    >>> from skrank.metrics import match_components
    >>> truth = ([[0, 1, 2, 3], [3, 2, 1, 0]], [0.3, 0.5], [0.6, 0.4])
    >>> fitted = ([[3, 2, 0, 1], [0, 1, 2, 3]], [0.55, 0.28], [0.42, 0.58])
    >>> match = match_components(truth, fitted)
    >>> match.components
    array([1, 0])
    >>> match.center_distances
    array([0., 1.])
    >>> match.dispersion_errors.round(2)
    array([-0.02,  0.05])
    >>> match.relabel([0, 0, 1])
    array([1, 1, 0])
    """
    first, second = _parameters(reference, "reference"), _parameters(estimate, "estimate")
    if first[0].shape[1] != second[0].shape[1]:
        raise ValueError(
            f"reference ranks {first[0].shape[1]} items, estimate {second[0].shape[1]}: they must be the same items."
        )
    # The tie-break is far below any divergence that matters.
    costs = jeffreys_divergences(first[:2], second[:2]) + 1e-9 * np.abs(first[2][:, None] - second[2])
    rows, columns = linear_sum_assignment(costs)
    components = np.full(len(first[0]), -1)
    components[rows] = columns
    errors = np.full((3, len(first[0])), np.nan)
    errors[0, rows] = center_distances(first[0], second[0])[rows, columns]
    errors[1, rows] = second[1][columns] - first[1][rows]
    errors[2, rows] = second[2][columns] - first[2][rows]
    return ComponentMatch(components, errors[0], errors[1], errors[2], np.setdiff1d(np.arange(len(second[0])), columns))


def _parameters(mixture, name):
    """Centers, dispersions and weights of a mixture, validated."""
    names = ("centers", "dispersions", "weights")
    if isinstance(mixture, tuple) and len(mixture) == 3:
        values = mixture
    else:
        values = [getattr(mixture, field + "_", getattr(mixture, field, None)) for field in names]
        if any(value is None for value in values):
            raise TypeError(
                f"{name} must be a fitted Mallows mixture with centers_, dispersions_ and weights_, or a tuple "
                f"(centers, dispersions, weights), got {type(mixture).__name__}."
            )
    centers = check_rankings(values[0], input_name=f"{name}'s centers", allow_missing=False, allow_ties=False)
    dispersions, weights = (np.asarray(value, float) for value in values[1:])
    for field, value in zip(names[1:], (dispersions, weights), strict=True):
        if value.shape != (len(centers),) or not ((value >= 0) & (value <= 1)).all():
            raise ValueError(
                f"{name}'s {field} must be {len(centers)} numbers in [0, 1], one for each center, got {value.tolist()}."
            )
    return centers, dispersions, weights


def center_distances(first, second):
    """Kendall distances between full rankings, (n_first, n_second) intp."""
    n_pairs = first.shape[1] * (first.shape[1] - 1) // 2
    # Sums of +-1 that are exact in floating point.
    agreements = pair_signs(first, dtype=np.float64) @ pair_signs(second, dtype=np.float64).T
    return (n_pairs - agreements.astype(np.intp)) // 2


def jeffreys_divergences(first, second):
    """KL(p || q) + KL(q || p) between Mallows models p and q, each side a tuple of centers and dispersions.

    With E p's and q's mean distances from their own centers, it is (nu_q - nu_p)(E_p - E_q) + nu_q X_pq + nu_p X_qp,
    where X_pq is what the mean distance of p's rankings from q's center has in excess of E_p: the sum of 2 P_p(a before
    b) - 1 over the pairs (a, b) that the two centers order differently, a before b in p's.
    """
    nus, means, leads, signs = zip(*(_pair_leads(*side) for side in (first, second)), strict=True)
    excess = [
        (leads[side].sum(axis=1)[:, None] - (leads[side] * signs[side]) @ signs[1 - side].T) / 2 for side in (0, 1)
    ]
    nu_p, nu_q = nus[0][:, None], nus[1]
    return (nu_q - nu_p) * (means[0][:, None] - means[1]) + nu_q * excess[0] + nu_p * excess[1].T


def _pair_leads(centers, dispersions):
    """nu, mean distance, 2 P(a before b) - 1 for every pair with a before b in the center, and the center's signs.

    The probability depends on how far apart a and b are in the center: (m + 1)/(1 - phi^(m + 1)) - m/(1 - phi^m) at m
    places (Mallows, Biometrika 1957).
    """
    n_items = centers.shape[1]
    nu = -np.log(np.clip(dispersions, LEAST_DISPERSION, 1 - LEAST_DISPERSION))
    m = np.arange(1, n_items + 1)
    shares = m / -np.expm1(-nu[:, None] * m)
    by_gap = 2 * np.diff(shares, axis=1) - 1
    i, j = pair_indices(n_items)
    gaps = np.abs(centers[:, i].astype(np.intp) - centers[:, j])
    leads = np.take_along_axis(by_gap, gaps - 1, axis=1)
    return nu, mean_distance(n_items, nu)[:, -1], leads, pair_signs(centers, dtype=np.float64)
