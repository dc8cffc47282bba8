"""Samples of the full rankings that are consistent with partial rankings.

The samples of a ranking are a function of its densified content and a seed, never of the batch, fold or worker it comes
in: their random words come from a counter-based generator keyed by a hash of both. So an estimate made of them is a
true function of two rankings, and its Gram matrices are positive semi-definite.
"""

from dataclasses import dataclass

import numpy as np

from skrank._mallows import mallows_positions, mirror, settle, uniform_positions
from skrank._random import hash_rows, random_words, uniform
from skrank._rankings import MISSING, bucket_places, check_rankings, rank_dtype, row_blocks, to_rank_matrix

METHODS = ("monte_carlo", "antithetic", "herding", "joint_herding")


@dataclass(frozen=True)
class Samples:
    """Full rankings that stand for partial ones.

    positions : ndarray of shape (n_rankings, n_draws, n_items)
        0-based positions.
    weights : ndarray of shape (n_rankings, n_draws), float64, or None
        Importance weights that sum to one; None means equal ones.
    """

    positions: np.ndarray
    weights: np.ndarray | None = None

    def __len__(self):
        return len(self.positions)

    def __getitem__(self, rows):
        """The samples of some of the rankings."""
        return Samples(self.positions[rows], None if self.weights is None else self.weights[rows])

    def __sizeof__(self):
        # A cluster sends what is large to each worker once.
        return self.positions.nbytes + (0 if self.weights is None else self.weights.nbytes)


def sample_consistent(ranks, n_draws, seed, *, method="antithetic", prior=None):
    """Draw full rankings that are consistent with partial ones.

    Parameters
    ----------
    ranks : ndarray of shape (n_rankings, n_items)
        Densified rankings.
    n_draws : int
        Number of samples for each. The first ones of a longer run are those of a shorter one, except for what a prior
        draws itself (see `check_prior`).
    seed : int
    method : {"monte_carlo", "antithetic"}, default="antithetic"
        Independent samples, or samples number 2 i and 2 i + 1 each other's antithetic.
    prior : distribution, default=None
        See `check_prior`. None means uniform.

    Returns
    -------
    Samples
    """
    if prior is not None:
        return _sample_prior(ranks, n_draws, seed, method, prior)
    n_rankings, n_items = ranks.shape
    positions = np.empty((n_rankings, n_draws, n_items), rank_dtype(n_items))
    for rows, exhaustive in _blocks(ranks, n_draws):
        positions[rows] = _uniform_samples(ranks[rows], n_draws, seed, method, exhaustive)
    return Samples(positions)


def _blocks(ranks, n_draws):
    """Rows in blocks, and whether all their items are ranked, which makes sampling easier."""
    gaps = (ranks == MISSING).any(axis=1)
    for exhaustive, which in ((True, np.flatnonzero(~gaps)), (False, np.flatnonzero(gaps))):
        for block in row_blocks(len(which), 64 * n_draws * ranks.shape[1], max_rows=1 << 14):
            yield which[block], exhaustive


# ---------------------------------------------------------------- uniform samples
def _uniform_samples(ranks, n_draws, seed, method, exhaustive):
    n_primary = -(-n_draws // 2) if method == "antithetic" else n_draws
    n_rankings, n_items = ranks.shape
    words = random_words(hash_rows(ranks, seed), n_primary * n_items).reshape(n_rankings, n_primary, n_items)
    draws = _shuffle_buckets(ranks, words) if exhaustive else settle(ranks, uniform_positions(words))
    if method == "monte_carlo":
        return draws
    partners = _reverse_buckets(ranks, draws) if exhaustive else mirror(ranks, draws)
    return _interleave(draws, partners, n_draws)


def _shuffle_buckets(ranks, words):
    # What `settle` makes of uniform positions where nothing is missing, with one sort instead of five.
    n_items = ranks.shape[1]
    bits = np.uint64(64 - max(n_items, 2).bit_length())
    keys = (ranks.astype(np.uint64) << bits)[:, None] | (words >> (np.uint64(64) - bits))
    order = np.argsort(keys, axis=-1)
    positions = np.empty(order.shape, rank_dtype(n_items))
    np.put_along_axis(positions, order, np.arange(n_items, dtype=positions.dtype)[None, None], axis=-1)
    return positions


def _reverse_buckets(ranks, positions):
    # `mirror` where nothing is missing: the position p of a bucket at places f, ..., f + s - 1 becomes 2 f + s - 1 - p.
    first, size = bucket_places(ranks)
    return (2 * first + size - 1)[:, None] - positions


def _interleave(draws, partners, n_draws):
    n_rankings, n_primary, n_items = draws.shape
    return np.stack([draws, partners], axis=2).reshape(n_rankings, 2 * n_primary, n_items)[:, :n_draws]


# ---------------------------------------------------------------- samples under a prior
def check_prior(prior, n_items):
    """Raise unless `prior` is a distribution over full rankings of n_items items.

    A Mallows distribution has `center` (a full ranking) and `phi`: its conditional on a ranking without missing items
    is an independent Mallows model in each bucket, and is sampled directly. Where items are missing its
    ``rvs(size, random_state, given=...)`` draws from the conditional. Anything else has ``logpmf(X)`` alone, and takes
    uniform samples with self-normalized importance weights.
    """
    if not callable(getattr(prior, "logpmf", None)):
        raise TypeError(
            f"prior must be a distribution with a logpmf method, such as skrank.stats.mallows, got {prior!r}."
        )
    model = _mallows_parameters(prior)
    if model is not None and len(model[0]) != n_items:
        raise ValueError(f"prior is a distribution over {len(model[0])} items, but X ranks {n_items}.")


def _sample_prior(ranks, n_draws, seed, method, prior):
    n_rankings, n_items = ranks.shape
    positions = np.empty((n_rankings, n_draws, n_items), rank_dtype(n_items))
    weights = np.full((n_rankings, n_draws), 1 / n_draws)
    model = _mallows_parameters(prior)
    weighted = False
    for rows, exhaustive in _blocks(ranks, n_draws):
        if model is not None:
            if exhaustive:
                positions[rows] = _prior_samples(ranks[rows], n_draws, seed, method, *model)
                continue
            drawn = _conditional_draws(ranks[rows], n_draws, seed, prior)
            for row, draws in drawn.items():
                positions[rows[row]] = draws
            rows = np.delete(rows, list(drawn))
            if len(rows) == 0:
                continue
        weighted = True
        positions[rows] = _uniform_samples(ranks[rows], n_draws, seed, method, exhaustive)
        weights[rows] = _importance_weights(positions[rows], prior, rows)
    return Samples(positions, weights if weighted else None)


def _conditional_draws(ranks, n_draws, seed, prior):
    """Independent draws from the conditional of a prior where items are missing: {number of a row: positions}.

    The prior draws exactly, for all rows for which it can: its sums grow exponentially in the number of missing items.
    """
    drawn: dict[int, np.ndarray] = {}
    if not callable(getattr(prior, "rvs", None)):
        return drawn
    for row, (key, ranking) in enumerate(zip(hash_rows(ranks, seed), to_rank_matrix(ranks), strict=True)):
        try:
            drawn[row] = prior.rvs(n_draws, np.random.default_rng(int(key)), given=ranking[None])[:, 0]
        except ValueError:  # out of reach
            continue
    return drawn


def _mallows_parameters(prior):
    """Center and nu of a Mallows distribution; None for another one."""
    center, phi = getattr(prior, "center", None), getattr(prior, "phi", None)
    if center is None or phi is None:
        return None
    center = check_rankings(np.atleast_2d(center), input_name="prior.center", allow_missing=False, allow_ties=False)
    with np.errstate(divide="ignore"):
        return center[0], -np.log(float(phi))


def _prior_samples(ranks, n_draws, seed, method, center, nu):
    n_primary = -(-n_draws // 2) if method == "antithetic" else n_draws
    n_rankings, n_items = ranks.shape
    numbers = uniform(random_words(hash_rows(ranks, seed), n_primary * n_items)).reshape(-1, n_items)
    repeated = np.repeat(ranks, n_primary, axis=0)
    centers = np.broadcast_to(center, repeated.shape)

    def positions(numbers):
        return mallows_positions(centers, nu, numbers, repeated).reshape(n_rankings, n_primary, n_items)

    if method == "monte_carlo":
        return positions(numbers)
    # Antithetic variates of a distribution that is not uniform: the insertions by inversion, of u and of 1 - u.
    return _interleave(positions(numbers), positions(1 - numbers), n_draws)


def _importance_weights(positions, prior, rows):
    n_rankings, n_draws, n_items = positions.shape
    log_weights = np.asarray(prior.logpmf(positions.reshape(-1, n_items).astype(float)), float)
    log_weights = log_weights.reshape(n_rankings, n_draws)
    largest = log_weights.max(axis=1, keepdims=True)
    if not np.isfinite(largest).all():
        row = rows[int(np.argmin(np.isfinite(largest)))]
        raise ValueError(
            f"The prior gives every sample of ranking {row} probability zero. Use a less concentrated prior, or more "
            "samples."
        )
    weights = np.exp(log_weights - largest)
    return weights / weights.sum(axis=1, keepdims=True)
