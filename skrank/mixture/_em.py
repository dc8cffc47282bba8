"""Expectation-maximization of mixtures of Mallows models on a weighted table of distinct rankings.

It climbs the penalized likelihood `Mixture.lower_bound`, which contains the pseudo-rankings, and never lowers it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from skrank._mallows import dispersion_from_mean_distance, expected_distance_coefficients
from skrank._rankings import ordering
from skrank._threads import blocks, over_chunks
from skrank.mixture._model import (
    PSEUDO_DISTANCE,
    PSEUDO_RANKINGS,
    Mixture,
    log_density_terms,
    pseudo_log_likelihood,
)
from skrank.mixture._pair_signs import BLOCK
from skrank.stats._kemeny import FEW_ITEMS, local_kemeny

# exp of it is still a normal float32: smaller numbers are slow to multiply.
LEAST_LOG_RATIO = -80.0
LEAST_DISPERSION = 1e-300


def expectation(data, mixture, distances=None, with_log_density=False):
    """E-step, a block of rows at a time.

    Returns
    -------
    responsibilities : ndarray of shape (n_components, n_rows), float32
    log_likelihood : float
        Mean over the rankings.
    log_density : ndarray of shape (n_rows,), float64, or None
        Log density of the mixture, if asked for.
    """
    slope, constant, by_pattern = log_density_terms(data, mixture.dispersions)
    with np.errstate(divide="ignore"):
        constant = constant + np.log(mixture.weights)
    distances = data.distances(mixture.centers) if distances is None else distances
    responsibilities = np.empty((mixture.n_components, data.n_rows), np.float32)
    log_density: Any = np.empty(data.n_rows) if with_log_density else None

    def e_step(chunk):
        workspace = np.empty((mixture.n_components, min(BLOCK, chunk.stop - chunk.start)))
        return sum(block_of(rows, workspace[:, : rows.stop - rows.start]) for rows in blocks(chunk, BLOCK))

    def block_of(rows, values):
        np.multiply(distances[:, rows], slope[:, None], out=values)
        values += constant[:, None]
        if by_pattern is not None:
            values += by_pattern[:, data.pattern[rows]]
        top = values.max(axis=0)
        values -= top
        np.maximum(values, LEAST_LOG_RATIO, out=values)
        np.exp(values, out=values)
        density = values.sum(axis=0)
        np.multiply(values, 1 / density, out=responsibilities[:, rows], casting="same_kind")
        if data.unit_weights and not with_log_density:
            return top.sum() + _sum_of_logs(density)
        np.log(density, out=density)
        density += top
        if with_log_density:
            log_density[rows] = density
        return density @ data.weights[rows]

    total = float(sum(over_chunks(e_step, data.n_rows)))
    return responsibilities, total / data.total_weight, log_density


def _sum_of_logs(values, factors=16):
    """Sum of the logarithms of numbers between 1 and the number of components: of products, since a log costs more."""
    split = len(values) - len(values) % factors
    products = np.multiply.reduce(values[:split].reshape(factors, -1), axis=0)
    return np.log(products).sum() + np.log(values[split:]).sum()


# ---------------------------------------------------------------- maximization
def weighted_distances(row_weights, distances):
    """Sum of weight times distance, (n_weightings,) float64."""

    def sums(chunk):
        return sum(
            np.multiply(row_weights[:, rows], distances[:, rows]).sum(axis=1, dtype=float)
            for rows in blocks(chunk, BLOCK)
        )

    return sum(over_chunks(sums, row_weights.shape[1]), np.zeros(len(row_weights)))


def maximization(data, row_weights, centers=None, distances=None, *, thorough=True):
    """M-step of components given by weights of the rows: weighted Kemeny centers, then dispersions.

    Parameters
    ----------
    data : PairSigns
    row_weights : ndarray of shape (n_components, n_rows), float32
        Responsibilities times the rows' weights.
    centers, distances : ndarrays of shape (n_components, n_items), (n_components, n_rows), default=None
        The previous centers, kept unless others are better, and the rows' distances to them.
    thorough : bool, default=True
        Whether centers are searched for, or the previous ones only improved (see `local_kemeny`).

    Returns
    -------
    centers, dispersions, distances : ndarrays
    """
    centers, distances, disagreements, _ = kemeny_centers(data, row_weights, centers, distances, thorough)
    return centers, estimate_dispersions(data, row_weights, disagreements), distances


def kemeny_centers(data, row_weights, centers, distances, thorough):
    """Weighted Kemeny centers, the rows' distances to them, their weighted sums, and whether to stop searching.

    That is so where it was thorough, and where all centers agree with all majorities. The arguments are those of
    `maximization`.
    """
    starts = None if centers is None else ordering(centers)
    pair_sums = data.pair_sums(row_weights)
    orderings, values = local_kemeny(pair_sums, starts, thorough=thorough)
    searched = thorough or data.n_items <= FEW_ITEMS or bool((values == np.abs(pair_sums).sum(axis=1)).all())
    found = np.argsort(orderings, axis=1)
    if centers is None:
        distances = data.distances(found)
        return found, distances, weighted_distances(row_weights, distances), searched
    centers, distances = centers.copy(), distances.copy()
    disagreements = weighted_distances(row_weights, distances)
    moved = np.flatnonzero((found != centers).any(axis=1))
    if len(moved):
        nearer = data.distances(found[moved])
        sums = weighted_distances(row_weights[moved], nearer)
        # Pair sums are float32: a center among equals moves only if it is better by the exact distances too.
        better = sums < disagreements[moved]
        moved = moved[better]
        centers[moved], distances[moved], disagreements[moved] = found[moved], nearer[better], sums[better]
    return centers, distances, disagreements, searched


def estimate_dispersions(data, row_weights, disagreements):
    """Dispersions that maximize the penalized likelihood, from summed distances to the centers, (n_components,).

    The moment equation over the rows and the pseudo-ranking, which is a full one.
    """
    mass = row_weights.sum(axis=1, dtype=float) + PSEUDO_RANKINGS
    distances = (disagreements + PSEUDO_RANKINGS * PSEUDO_DISTANCE) / mass
    coefficients = None
    if data.has_ties:
        by_pattern = np.array([np.bincount(data.pattern, row, len(data.patterns)) for row in row_weights])
        coefficients = expected_distance_coefficients(data.patterns, by_pattern / mass[:, None])
    return np.maximum(dispersion_from_mean_distance(data.n_items, distances, coefficients), LEAST_DISPERSION)


# ---------------------------------------------------------------- EM
def em(data, mixture, max_iter=150, tol=1e-7, fixed_centers=False, *, thorough=True):
    """EM from a mixture until the mean penalized log-likelihood rises by less than tol, or max_iter M-steps.

    With fixed_centers only weights and dispersions move: no pass over the pair signs, so it is cheap. Otherwise M-steps
    improve the previous centers (generalized EM), and search for better ones where that ends. With `thorough=False`
    they do not search: for candidates that are only compared (see `local_kemeny`).
    """
    distances = data.distances(mixture.centers)
    best, searched = None, not thorough
    for n_iter in range(max_iter + 1):
        row_weights, log_likelihood, _ = expectation(data, mixture, distances)
        lower_bound = log_likelihood + pseudo_log_likelihood(data.n_items, mixture.dispersions) / data.total_weight
        ended = best is not None and bool(lower_bound - best.lower_bound < tol)
        converged = ended and (searched or fixed_centers)
        if best is None or lower_bound >= best.lower_bound:
            best = replace(mixture, log_likelihood=log_likelihood, lower_bound=lower_bound)
        best = replace(best, n_iter=n_iter, converged=converged)
        if converged or n_iter == max_iter:
            return best
        if not data.unit_weights:
            row_weights *= data.weights.astype(np.float32)
        weights = row_weights.sum(axis=1, dtype=float)
        if fixed_centers:
            centers = mixture.centers
            dispersions = estimate_dispersions(data, row_weights, weighted_distances(row_weights, distances))
        else:
            last = thorough and (ended or n_iter == max_iter - 1)
            centers, distances, disagreements, searched = kemeny_centers(
                data, row_weights, mixture.centers, distances, last
            )
            searched |= not thorough
            dispersions = estimate_dispersions(data, row_weights, disagreements)
        mixture = Mixture(centers, dispersions, weights / weights.sum())


def evaluated(data, mixture):
    """The mixture with its log-likelihood and lower bound on the data."""
    return em(data, mixture, max_iter=0)


def one_component(data):
    """The best single Mallows model: weighted Kemeny, then the dispersion."""
    row_weights = data.weights.astype(np.float32)[None]
    centers, dispersions, _ = maximization(data, row_weights)
    return em(data, Mixture(centers, dispersions, np.ones(1)))
