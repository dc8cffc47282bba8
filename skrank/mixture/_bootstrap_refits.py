"""Refits of a mixture to many redraws of the same voters at once.

A redraw is a count for each voter. Refits start from the mixture, so all of them are near it: the steps of
expectation-maximization of all redraws are the same few array operations, and one Jacobian, that of the step at the
mixture, makes each a step of Newton's method nearly (Aitken's acceleration: G. McLachlan, T. Krishnan, "The EM
Algorithm and Extensions", 2008, section 4.8). A step that lowers the penalized likelihood is taken back. Then adjacent
transpositions of the centers, which these steps cannot see, are tried.
"""

from dataclasses import dataclass, fields
from itertools import combinations

import numpy as np
from scipy.special import expit, logit

from skrank._mallows import log_q_factorial
from skrank._rankings import ordering, pair_indices
from skrank.mixture._em import (
    LEAST_DISPERSION,
    LEAST_LOG_RATIO,
    estimate_dispersions,
    kemeny_centers,
    weighted_distances,
)
from skrank.mixture._model import PSEUDO_DISTANCE, PSEUDO_RANKINGS, log_density_terms
from skrank.mixture._transpositions import LEAST_GAIN

BLOCK_VALUES = 1_000_000  # responsibilities at a time
MAX_ITER, MAX_MOVES = 50, 10
STEP = 1e-3  # of differences that make the Jacobian
LARGEST_SHARE = 0.98  # of the missing information that the acceleration believes
EDGE = 1e-12


@dataclass
class Refits:
    """Mixtures of k components, one for each redraw: arrays of shapes (n_draws, k, n_items) and (n_draws, k)."""

    centers: np.ndarray
    dispersions: np.ndarray
    weights: np.ndarray

    def take(self, draws):
        """Those of some redraws."""
        return Refits(*(getattr(self, field.name)[draws] for field in fields(self)))

    def put(self, draws, others):
        """Write others in place of those of some redraws."""
        for field in fields(self):
            getattr(self, field.name)[draws] = getattr(others, field.name)


def n_draws_a_block(data, mixture):
    """How many redraws are refitted together."""
    return max(BLOCK_VALUES // (mixture.n_components * data.n_rows), 1)


def refit(data, mixture, counts, tol):
    """The mixture refitted to redraws of the voters.

    Parameters
    ----------
    data : PairSigns
        All voters; weights are not used.
    mixture : Mixture
    counts : ndarray of shape (n_draws, n_rows)
        How often each voter is in each redraw.
    tol : float
        Steps end when the mean penalized log-likelihood rises by less.

    Returns
    -------
    refits : Refits
    responsibilities : ndarray of shape (n_draws, n_components, n_rows), float32
        Of the components in the refits.
    """
    n_draws = len(counts)
    counts = counts.astype(np.float32)
    start = Refits(*(np.repeat(values[None], n_draws, axis=0) for values in _parameters(mixture)))
    newton = accelerator(data, mixture)
    refits, bounds = climb(data, start, counts, newton, tol)
    rest = np.arange(n_draws)
    for _ in range(MAX_MOVES if mixture.n_components > 1 else 0):
        moved, some = transposed(data, refits.take(rest), counts[rest])
        rest = rest[some]
        if not len(rest):
            break
        after, moved_bounds = climb(data, moved, counts[rest], newton, tol)
        better = moved_bounds > bounds[rest] + LEAST_GAIN
        rest = rest[better]
        refits.put(rest, after.take(better))
        bounds[rest] = moved_bounds[better]
    return refits, expectation_of_all(data, refits, counts)[0]


# ---------------------------------------------------------------- steps of all redraws
def expectation_of_all(data, refits, counts, distances=None):
    """E-steps: responsibilities (n_draws, k, n_rows) float32 and mean penalized log-likelihoods (n_draws,)."""
    n_draws, k = refits.weights.shape
    if distances is None:
        distances = data.distances(refits.centers.reshape(n_draws * k, -1))
    slope, constant, by_pattern = log_density_terms(data, refits.dispersions.ravel())
    with np.errstate(divide="ignore"):
        constant = constant + np.log(refits.weights.ravel())
    values = np.multiply(distances, slope.astype(np.float32)[:, None], dtype=np.float32)
    values += constant.astype(np.float32)[:, None]
    if by_pattern is not None:
        values += by_pattern.astype(np.float32)[:, data.pattern]
    values = values.reshape(n_draws, k, data.n_rows)
    top = values.max(axis=1)
    values -= top[:, None]
    np.maximum(values, np.float32(LEAST_LOG_RATIO), out=values)
    np.exp(values, out=values)
    density = values.sum(axis=1)
    values /= density[:, None]
    top += np.log(density)
    n_voters = counts.sum(axis=1, dtype=float)
    total = np.einsum("dv,dv->d", top, counts, dtype=float)
    nu = -np.log(refits.dispersions)
    total -= PSEUDO_RANKINGS * (PSEUDO_DISTANCE * nu + log_q_factorial(data.n_items, nu)[..., -1]).sum(axis=1)
    return values, total / n_voters


def maximization_of_all(data, refits, distances, responsibilities, counts, *, fixed_centers=False):
    """M-steps from the refits, and the distances to the new centers."""
    n_draws, k = refits.weights.shape
    row_weights = (responsibilities * counts[:, None]).reshape(n_draws * k, -1)
    centers = refits.centers.reshape(n_draws * k, -1)
    if fixed_centers:
        disagreements = weighted_distances(row_weights, distances)
    else:
        centers, distances, disagreements, _ = kemeny_centers(data, row_weights, centers, distances, True)
    dispersions = estimate_dispersions(data, row_weights, disagreements).reshape(n_draws, k)
    weights = row_weights.sum(axis=1, dtype=float).reshape(n_draws, k)
    weights /= weights.sum(axis=1, keepdims=True)
    return Refits(centers.reshape(refits.centers.shape), dispersions, weights), distances


def climb(data, refits, counts, newton, tol):
    """Accelerated expectation-maximization of each redraw: refits and their mean penalized log-likelihoods."""
    n_draws, k = refits.weights.shape
    best, bounds = refits.take(slice(None)), np.full(n_draws, -np.inf)
    rest, trial, plain = np.arange(n_draws), refits, refits
    distances = data.distances(refits.centers.reshape(n_draws * k, -1))
    for _ in range(MAX_ITER):
        responsibilities, values = expectation_of_all(data, trial, counts[rest], distances)
        rise = values - bounds[rest]
        better = rise > 0
        best.put(rest[better], trial.take(better))
        bounds[rest[better]] = values[better]
        # Of a trial that is worse, the plain step is taken next; a plain step that gains nothing is the end.
        is_plain = trial.weights is plain.weights
        going = ~better if not is_plain else np.zeros(len(rest), bool)
        going |= rise >= tol
        if not going.any():
            break
        stepped, moved = maximization_of_all(data, trial, distances, responsibilities, counts[rest])
        back = ~better[going]
        distances = moved.reshape(len(rest), k, -1)[going]
        rest = rest[going]
        next_plain = stepped.take(going)
        next_trial = accelerated(trial.take(going), next_plain, newton)
        if back.any():
            fallback = plain.take(going).take(back)
            next_plain.put(back, fallback)
            next_trial.put(back, fallback)
            distances[back] = data.distances(fallback.centers.reshape(-1, data.n_items)).reshape(-1, k, data.n_rows)
        distances = distances.reshape(len(rest) * k, -1)
        trial, plain = next_trial, next_plain
    return best, bounds


# ---------------------------------------------------------------- acceleration
def accelerator(data, mixture):
    """The inverse of (1 - J), J the Jacobian of the M-step with fixed centers at the mixture, (2 k - 1, 2 k - 1)."""
    k = mixture.n_components
    centers, dispersions, weights = _parameters(mixture)
    point = _coordinates(dispersions[None], weights[None])
    points = np.vstack([point, point + STEP * np.eye(2 * k - 1)])
    shifted = Refits(np.repeat(centers[None], 2 * k, axis=0), *_from_coordinates(points))
    stepped = []
    for one in range(2 * k):  # one at a time: blocks are made for redraws
        trial, counts = shifted.take([one]), data.weights.astype(np.float32)[None]
        distances = data.distances(centers)
        responsibilities = expectation_of_all(data, trial, counts, distances)[0]
        after, _ = maximization_of_all(data, trial, distances, responsibilities, counts, fixed_centers=True)
        stepped.append(_coordinates(after.dispersions, after.weights)[0])
    jacobian = (np.array(stepped[1:]) - stepped[0]).T / STEP
    return np.linalg.inv(np.eye(2 * k - 1) - LARGEST_SHARE * jacobian)


def accelerated(before, after, newton):
    """The steps from `before` to `after`, prolonged to where they lead."""
    start = _coordinates(before.dispersions, before.weights)
    step = _coordinates(after.dispersions, after.weights) - start
    return Refits(after.centers, *_from_coordinates(start + step @ newton.T))


def _parameters(mixture):
    return mixture.centers, np.maximum(mixture.dispersions, LEAST_DISPERSION), mixture.weights


def _coordinates(dispersions, weights):
    """Unbounded coordinates, (n, 2 k - 1): log-odds of dispersions, logs of the weights' ratios to the last."""
    logs = np.log(np.maximum(weights, EDGE))
    return np.hstack([logit(np.clip(dispersions, EDGE, 1 - EDGE)), logs[:, :-1] - logs[:, -1:]])


def _from_coordinates(points):
    k = (points.shape[1] + 1) // 2
    logs = np.hstack([points[:, k:], np.zeros((len(points), 1))])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return expit(np.clip(points[:, :k], -27, 27)), weights / weights.sum(axis=1, keepdims=True)


# ---------------------------------------------------------------- transpositions
def transposed(data, refits, counts):
    """The refits after the adjacent transposition that gains most, in one center or two, where one gains.

    Returns
    -------
    refits : Refits
    draws : ndarray of shape (n_moved,)
        The redraws that they are of.
    """
    n_draws, k, n_items = refits.centers.shape
    responsibilities = expectation_of_all(data, refits, counts)[0]
    items = ordering(refits.centers.reshape(n_draws * k, -1)).reshape(n_draws, k, n_items)
    moves: list[tuple[int, ...]] = [(component,) for component in range(k)]
    gains = [_gains_of_neighbors(data, refits, responsibilities, counts, items, move) for move in moves]
    for first, second in combinations(range(k), 2):
        places = np.take_along_axis(refits.centers[:, second], items[:, first], axis=1)
        shared = places[:, :-1] - places[:, 1:] == 1  # neighbors in the second center too, the other way round
        some = np.flatnonzero(shared.any(axis=1))
        if len(some):
            gain = np.full(shared.shape, -np.inf)
            gain[some] = _gains_of_neighbors(
                data, refits.take(some), responsibilities[some], counts[some], items[some], (first, second)
            )
            moves.append((first, second))
            gains.append(np.where(shared, gain, -np.inf))
    by_move = np.hstack(gains) / counts.sum(axis=1, dtype=float)[:, None]
    draws = np.flatnonzero(by_move.max(axis=1) > LEAST_GAIN)
    moved = refits.take(draws)
    for row, draw in enumerate(draws):
        move, place = divmod(int(by_move[draw].argmax()), n_items - 1)
        pair = items[draw, moves[move][0], place : place + 2]
        for component in moves[move]:
            moved.centers[row, component, pair] = moved.centers[row, component, pair[::-1]]
    return moved, draws


def _gains_of_neighbors(data, refits, responsibilities, counts, items, components):
    """Gains in log-likelihood of exchanging neighbors of the first component's center, (n_draws, n_items - 1).

    In a second component, if there is one, the same two items change places the other way. Gains of all pairs of
    items, neighbors or not, are two products with the pair signs.
    """
    agree = np.zeros((len(counts), data.n_rows), np.float32)
    reverse = np.zeros_like(agree)
    for component, power in zip(components, (1, -1), strict=False):
        factor = np.maximum(refits.dispersions[:, component, None].astype(np.float32), np.float32(1e-30)) ** power
        agree += responsibilities[:, component] * (factor - 1)
        reverse += responsibilities[:, component] * (1 / factor - 1)
    for values in (agree, reverse):
        np.log1p(np.maximum(values, np.float32(-1 + 1e-7), out=values), out=values)
        values *= counts
    difference = data.pair_sums(agree - reverse) / 2
    level = data.pair_sums(agree + reverse, absolute=True) / 2
    n_items = data.n_items
    i, j = pair_indices(n_items)
    gains = np.zeros((len(counts), n_items, n_items))
    gains[:, i, j], gains[:, j, i] = level + difference, level - difference
    ordered = items[:, components[0]]
    neighbors = ordered[:, :-1] * n_items + ordered[:, 1:]
    return np.take_along_axis(gains.reshape(len(counts), -1), neighbors, axis=1)
