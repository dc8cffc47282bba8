"""Matching the components of two Mallows mixtures."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from skrank._mallows import mean_distance
from skrank._random import as_generator
from skrank._rankings import check_rankings, pair_indices, pair_signs
from skrank._total_variation import total_variation
from skrank._typing import ArrayLike, Floats, Integers, RandomState

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
    _mixtures: tuple = field(repr=False)
    _n_draws: int = field(repr=False)
    _seed: Any = field(repr=False)

    @cached_property
    def _distances(self):
        values = np.full((2, len(self.components)), np.nan)
        rng = as_generator(self._seed)
        first, second = self._mixtures
        for i in np.flatnonzero(self.components >= 0):
            result = _component_distance(first, second, i, self.components[i], self._n_draws, rng)
            values[:, i] = result.value, result.standard_error
        return values

    @property
    def total_variations(self) -> Floats:
        """Total variation distance between the two components, from 0 to 1, shape (n_reference,); NaN without match.

        Exact for equal centers and up to 9 items, otherwise an unbiased estimate. Computed when it is first read.
        """
        return self._distances[0]

    @property
    def total_variation_errors(self) -> Floats:
        """Standard errors of `total_variations`, shape (n_reference,); 0 where the distance is exact."""
        return self._distances[1]

    def is_close(
        self, theta: float, *, by: Literal["total_variation", "parameters", "base_parameters"] = "total_variation"
    ) -> bool:
        """Whether the two mixtures are component-wise close, after some relabeling of the components.

        Parameters
        ----------
        theta : float
            The largest difference allowed, from 0 to 1.
        by : {"total_variation", "parameters", "base_parameters"}, default="total_variation"
            What must be within `theta`. "total_variation": weights, dispersions and the total variation distance of
            each pair of components (Definition 11 of Liu and Moitra, FOCS 2018), the last from draws where it is not
            exact. "parameters": weights and dispersions, with equal centers; "base_parameters": dispersions, with equal
            centers (Definition 15).

        Returns
        -------
        is_close : bool
            False if the numbers of components differ.
        """
        if by not in ("total_variation", "parameters", "base_parameters"):
            raise ValueError(f"by must be 'total_variation', 'parameters' or 'base_parameters', got {by!r}.")
        first, second = self._mixtures
        if len(first[0]) != len(second[0]):
            return False
        differences = [np.abs(np.subtract.outer(one, other)) for one, other in zip(first[1:], second[1:], strict=True)]
        # Differences of numbers such as .3 and .2 are off by rounding.
        close = differences[0] <= theta + 1e-12
        if by != "base_parameters":
            close &= differences[1] <= theta + 1e-12
        if by == "total_variation":
            for i, j in np.argwhere(close):
                close[i, j] = _component_distance(first, second, i, j, self._n_draws, 0).value <= theta + 1e-12
        else:
            close &= center_distances(first[0], second[0]) == 0
        rows, columns = linear_sum_assignment(~close)
        return bool(close[rows, columns].all())

    def relabel(self, y: ArrayLike) -> Integers:
        """Labels of the estimate's components as those of the reference; -1 for an unmatched component."""
        matched = np.flatnonzero(self.components >= 0)
        labels = np.full(len(matched) + len(self.unmatched), -1)
        labels[self.components[matched]] = matched
        return labels[np.asarray(y)]


def match_components(
    reference: Any, estimate: Any, *, n_draws: int = 10_000, random_state: RandomState = 0
) -> ComponentMatch:
    """Relabel the components of one Mallows mixture to those of another, and measure how far apart they are.

    Components are matched such that the sum of symmetrized Kullback-Leibler divergences is minimal (Hungarian method).
    Components with the same center are thus distinguished by their dispersions, and centers have more influence if
    dispersions are small. Equal components are matched by weight.

    Parameters
    ----------
    reference, estimate : mixture
        The mixture to compare with, and the one to relabel. Each is a fitted :class:`~skrank.mixture.MallowsMixture` or
        another object with `centers_`, `dispersions_` and `weights_` (or the same names without underscore, as of
        :func:`~skrank.datasets.make_mallows_mixture`), or a tuple (centers, dispersions, weights) of arrays of shapes
        (n_components, n_items), (n_components,) and (n_components,). The numbers of components may differ.
    n_draws : int, default=10000
        Number of rankings drawn for a total variation distance that cannot be computed exactly.
    random_state : int, RandomState instance or None, default=0
        Determines these draws.

    Returns
    -------
    match : ComponentMatch
        With attributes `components`, `center_distances`, `dispersion_errors`, `weight_errors`, `total_variations`,
        `total_variation_errors` and `unmatched`, and the methods ``relabel(y)`` and ``is_close(theta)``.

    Raises
    ------
    TypeError
        If an argument is not a mixture.
    ValueError
        If the shapes of its arrays do not match, or if the mixtures rank different numbers of items.

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
    >>> match.total_variations.round(2)
    array([0.03, 0.31])
    >>> match.is_close(0.05), match.is_close(0.35)
    (False, True)
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
    unmatched = np.setdiff1d(np.arange(len(second[0])), columns)
    return ComponentMatch(
        components, errors[0], errors[1], errors[2], unmatched, (first, second), n_draws, random_state
    )


def _component_distance(first, second, i, j, n_draws, rng):
    """Total variation distance between component i of one mixture and j of another."""
    with np.errstate(divide="ignore"):
        nus = [max(-np.log(side[1][number]), 0.0) for side, number in ((first, i), (second, j))]
    return total_variation((first[0][i], second[0][j]), nus, n_draws, as_generator(rng))


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
    for name_of, value in zip(names[1:], (dispersions, weights), strict=True):
        if value.shape != (len(centers),) or not ((value >= 0) & (value <= 1)).all():
            raise ValueError(
                f"{name}'s {name_of} must be {len(centers)} numbers in [0, 1], one for each center, got "
                f"{value.tolist()}."
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
