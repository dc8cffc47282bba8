"""The Mallows model: q-factorials, distance tables, bucket orders, the moment equation, sampling of full rankings.

Under dispersion phi = exp(-nu) a full ranking at Kendall distance d from the center has probability phi^d / [n]_phi!,
where [n]_q! = prod_j (1 + q + ... + q^(j-1)). Everything here is in terms of nu >= 0: nu = 0 is uniform, nu = inf puts
all mass on the center. Full rankings are 0-based positions, ``positions[..., i]`` the place of item i.
"""

from functools import lru_cache

import numpy as np
from scipy.special import xlogy

from skrank._pair_words import are_full
from skrank._rankings import MISSING, aggregate, bucket_places, bucket_sizes, row_blocks


# ---------------------------------------------------------------- tables
def log_q_factorial(n_items, nu):
    """``log [m]_q!`` with q = exp(-nu), for m = 0, ..., n_items.

    Parameters
    ----------
    n_items : int
    nu : float or ndarray, not negative

    Returns
    -------
    table : ndarray of shape nu.shape + (n_items + 1,)
    """
    nu = np.asarray(nu, float)[..., None]
    j = np.arange(1, n_items + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.log(np.expm1(-j * nu) / np.expm1(-nu))
    if not nu.all():
        terms = np.where(nu == 0, np.log(j), terms)
    return _cumulative(terms)


def mean_distance(n_items, nu):
    """Expected Kendall distance from the center of a Mallows ranking of m = 0, ..., n_items items.

    It is minus the derivative of `log_q_factorial` in nu: sum_j (1/(e^nu - 1) - j/(e^(j nu) - 1)).

    Returns
    -------
    table : ndarray of shape nu.shape + (n_items + 1,)
    """
    return _cumulative(_mean_insertions(n_items, nu))


def _mean_insertions(n_items, nu):
    """What each item, inserted into those before it, adds to the expected distance, nu.shape + (n_items,)."""
    nu = np.asarray(nu, float)[..., None]
    j = np.arange(1, n_items + 1)
    exponents = j * nu
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = 1 / np.expm1(nu) - j / np.expm1(exponents)
        is_small = exponents < 0.02
        if is_small.any():
            # Two terms near 1/nu cancel there; the Taylor series does not.
            series = (j - 1) / 2 - (j**2 - 1) * nu / 12 + (j**4 - 1.0) * nu**3 / 720
            terms = np.where(is_small, series, terms)
    return terms


def _cumulative(terms):
    table = np.zeros((*terms.shape[:-1], terms.shape[-1] + 1))
    np.cumsum(terms, axis=-1, out=table[..., 1:])
    return table


# Dispersions at which mean distances are tabulated, dense at both ends of [0, 1].
DISPERSION_GRID = np.unique(
    np.concatenate([[0.0], np.geomspace(1e-6, 0.5, 600), 1 - np.geomspace(0.5, 1e-7, 1200), [1.0]])
)


@lru_cache(maxsize=64)
def mean_distance_grid(n_items):
    """`mean_distance` at every dispersion of ``DISPERSION_GRID``, shape (n_grid, n_items + 1), read-only."""
    with np.errstate(divide="ignore"):
        table = mean_distance(n_items, -np.log(DISPERSION_GRID))
    table.flags.writeable = False
    return table


@lru_cache(maxsize=64)
def log_mahonian(n_items):
    """Log of the number of permutations of n_items with d inversions, d = 0, ..., n (n - 1) / 2, read-only."""
    counts = np.zeros(1)
    for m in range(2, n_items + 1):
        # One item more is passed by 0, ..., m - 1 others: sums over a window of m, in logs, so that nothing overflows.
        n_counts = len(counts) + m - 1
        padded = np.pad(counts, (0, m - 1), constant_values=-np.inf)
        sums = np.logaddexp.accumulate(padded[: (n_counts + 1) // 2])
        sums[m:] += np.log1p(-np.exp(sums[:-m] - sums[m:]))
        # The upper half by symmetry: there, differences of cumulative sums lose digits.
        counts = np.concatenate([sums, sums[: n_counts // 2][::-1]])
    counts.flags.writeable = False
    return counts


def log_distance_distribution(n_items, dispersion):
    """Log probability of each Kendall distance 0, ..., n (n - 1) / 2 from the center of a Mallows model."""
    log_counts = log_mahonian(n_items)
    with np.errstate(divide="ignore"):
        log_normalizer = log_q_factorial(n_items, -np.log(dispersion))[-1]
    return log_counts + xlogy(np.arange(len(log_counts)), dispersion) - log_normalizer


# ---------------------------------------------------------------- bucket orders
# A full ranking drawn from the model is consistent with a bucket order R (ties, no missing items) with probability
#
#     P(R) = phi^d prod_b [m_b]_phi! / [n]_phi!,    d = pairs that R orders strictly and against the center,
#
# since the order inside the buckets is independent of everything else. So all but d depends on the numbers of buckets
# of each size alone: the pattern of R.
def bucket_patterns(ranks):
    """Distinct patterns of bucket sizes of densified rankings without missing items.

    Returns
    -------
    patterns : ndarray of shape (n_patterns, n_items + 1)
        ``patterns[p, m]`` buckets of m items; the first column is 0.
    pattern : ndarray of shape (n_samples,)
        The pattern of each ranking.
    """
    n_samples, n_items = ranks.shape
    if n_samples and are_full(ranks):
        patterns = np.zeros((1, n_items + 1), np.intp)
        patterns[0, 1] = n_items
        return patterns, np.zeros(n_samples, np.intp)
    sizes = np.empty(ranks.shape, ranks.dtype)
    for rows in row_blocks(n_samples, 24 * n_items, max_rows=1 << 13):
        # Sizes less one fit the type of the ranks, and aggregate takes -1.
        sizes[rows] = np.sort(bucket_sizes(ranks[rows]), axis=1) - 1
    distinct, _, pattern = aggregate(sizes)
    patterns = np.stack([(distinct == size - 1).sum(axis=1) for size in range(n_items + 1)], axis=1)
    patterns[:, 0] = 0
    return patterns, pattern


def log_pattern_probabilities(patterns, nu):
    """Log probability of a bucket order of each pattern at distance 0 from the center, nu.shape + (n_patterns,)."""
    table = log_q_factorial(patterns.shape[1] - 1, nu)
    return table @ patterns.T - table[..., -1:]


def expected_distance_coefficients(patterns, shares):
    """What the mean distances of 0, ..., n items are multiplied by in the expected distance of bucket orders.

    A bucket order is as far from the center as a full ranking, less what is inside its buckets: E_n - sum_b E_(m_b).

    Parameters
    ----------
    patterns : ndarray of shape (n_patterns, n_items + 1)
    shares : ndarray of shape (..., n_patterns)
        The proportion of each pattern.

    Returns
    -------
    coefficients : ndarray of shape (..., n_items + 1)
    """
    coefficients = -np.asarray(shares, float) @ patterns
    coefficients[..., -1] += 1
    return coefficients


def dispersion_from_mean_distance(n_items, distances, coefficients=None, *, n_steps=1):
    """The dispersions phi in [0, 1] whose expected distances are the given ones: the moment equation.

    For one pattern of bucket sizes rankings form an exponential family in their distance from the center, so this is
    the maximum of the likelihood in phi. The root is interpolated in a table, then corrected by secant steps.

    Parameters
    ----------
    n_items : int
    distances : float or ndarray of shape (n_equations,)
        Mean distances. At or above that of the uniform distribution the root is 1.
    coefficients : ndarray of shape (n_equations, n_items + 1) or (1, n_items + 1), default=None
        As `expected_distance_coefficients`; None means full rankings.
    n_steps : int, default=1
        Secant steps: after one the error is below 1e-6, after six that of rounding.

    Returns
    -------
    dispersions : ndarray of the shape of `distances`
    """
    target = np.atleast_1d(np.asarray(distances, float))
    grid = mean_distance_grid(n_items)
    if coefficients is None:
        table = grid[:, -1][None]
        upper = np.searchsorted(table[0], target)
    else:
        table = coefficients @ grid.T
        upper = (table < target[:, None]).sum(axis=1)
    beyond = target >= table[:, -1]
    upper = np.clip(upper, 1, len(DISPERSION_GRID) - 1)
    row = np.arange(len(target)) if len(table) > 1 else 0
    bounds = DISPERSION_GRID[upper - 1], DISPERSION_GRID[upper]
    points, excesses = bounds, (table[row, upper - 1] - target, table[row, upper] - target)
    for _ in range(n_steps):
        phi = _secant_step(points, excesses, bounds)
        with np.errstate(divide="ignore"):
            nu = -np.log(phi)
        if coefficients is None:
            excess = _mean_insertions(n_items, nu).sum(axis=1) - target
        else:
            excess = (mean_distance(n_items, nu) * coefficients).sum(axis=1) - target
        points, excesses = (points[1], phi), (excesses[1], excess)
    phi = np.where(beyond, 1.0, _secant_step(points, excesses, bounds))
    return phi[0] if np.ndim(distances) == 0 else phi


def _secant_step(points, excesses, bounds):
    rise = excesses[1] - excesses[0]
    rise[rise == 0] = np.inf  # no step
    step = excesses[1] * (points[1] - points[0]) / rise
    return np.minimum(np.maximum(points[1] - step, bounds[0]), bounds[1])


# ---------------------------------------------------------------- sampling from the model
def sample_mallows(centers, nu, rng, ranks=None):
    """Draw full rankings from Mallows models by repeated insertion, one for each row.

    Parameters
    ----------
    centers : ndarray of shape (n_samples, n_items)
        Positions under each row's center, a full ranking.
    nu : float or ndarray of shape (n_samples,)
        Concentration -log(phi) of each row.
    rng : numpy.random.Generator
    ranks : ndarray of shape (n_samples, n_items), default=None
        Bucket orders without missing items. If given, each draw is conditioned on being consistent with its row: an
        independent Mallows model inside each bucket.

    Returns
    -------
    positions : ndarray of shape (n_samples, n_items), of the smallest signed integer type
    """
    return mallows_positions(centers, nu, rng.random(centers.shape), ranks)


def mallows_positions(centers, nu, uniform, ranks=None):
    """The draws that `sample_mallows` makes of uniform numbers in [0, 1], shape (n_samples, n_items).

    One number for each insertion, by inversion: ``1 - uniform`` gives draws of the same law that vary oppositely.
    """
    n_samples, n_items = centers.shape
    if ranks is None:
        order = np.argsort(centers, axis=1, kind="stable")
        limits = np.broadcast_to(np.arange(n_items), centers.shape)
    else:
        order = np.argsort(ranks.astype(np.int64) * n_items + centers, axis=1, kind="stable")
        first, _ = bucket_places(ranks)
        limits = np.arange(n_items) - np.take_along_axis(first, order, axis=1)
    displacements = truncated_geometric(limits, np.reshape(nu, (-1, 1)), uniform)
    positions = np.empty((n_samples, n_items), np.min_scalar_type(-n_items))
    np.put_along_axis(positions, order, positions_from_insertions(displacements), axis=1)
    return positions


def truncated_geometric(limits, nu, uniform):
    """V in 0, ..., limit with P(V = v) proportional to exp(-nu v), from uniform numbers in [0, 1) by inversion."""
    n_values = limits + 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        geometric = -np.log1p(uniform * np.expm1(-nu * n_values)) / nu
        values = np.where(nu == 0, uniform * n_values, geometric)
    # Rounding can reach the limit + 1 from below; nu = inf gives 0 / inf = 0.
    return np.minimum(np.floor(values), limits).astype(np.intp)


def positions_from_insertions(displacements):
    """Positions of items inserted one after another, item t above the ``displacements[:, t]`` last ones so far."""
    n_samples, n_items = displacements.shape
    # Item-major: each step is a few passes over contiguous rows.
    positions = np.empty((n_items, n_samples), np.min_scalar_type(-max(n_items, 1)))
    for t in range(n_items):
        place = (t - displacements[:, t]).astype(positions.dtype)
        earlier = positions[:t]
        earlier += earlier >= place
        positions[t] = place
    return positions.T


# ---------------------------------------------------------------- uniform sampling consistent with partial rankings
def uniform_positions(words):
    """Uniformly random full rankings from random uint64 words, ranked along the last axis."""
    return np.argsort(np.argsort(words, axis=-1), axis=-1)


def settle(ranks, positions):
    """Let the ranked items share the positions they have in the order of their buckets.

    Inside a bucket items keep their relative order, missing items keep their positions. Of uniformly random positions
    this makes a uniformly random full ranking consistent with `ranks`; of mirrored ones (`mirror`), its antithetic.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
        Densified rankings.
    positions : ndarray of shape (n_samples, ..., n_items)
        Full rankings, any number of them for each row of `ranks`.

    Returns
    -------
    positions : ndarray of the shape of `positions`
    """
    n_items = ranks.shape[-1]
    ranks = ranks.reshape(len(ranks), *[1] * (positions.ndim - 2), n_items).astype(np.int64)
    missing = ranks == MISSING
    # Missing items sort last in both tables, in the same order: each of them gets back its own position.
    items = np.argsort(np.where(missing, n_items, ranks) * n_items + positions, axis=-1)
    shared = np.sort(np.where(missing, n_items + positions, positions), axis=-1)
    shared[shared >= n_items] -= n_items
    settled = np.empty_like(shared)
    np.put_along_axis(settled, items, shared, axis=-1)
    return settled


def mirror(ranks, positions):
    """The mirror involution: antithetic full rankings that are consistent with the same partial rankings.

    All positions are mirrored, p -> n - 1 - p, then the ranked items share theirs in bucket order again, the order
    inside each bucket reversed. It maps the consistent rankings onto themselves and is its own inverse, so it keeps the
    uniform distribution; without missing items it gives the consistent ranking farthest in Kendall distance.
    """
    return settle(ranks, ranks.shape[-1] - 1 - positions)
