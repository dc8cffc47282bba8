"""Local search for weighted Kemeny orderings: moves of single items in bulk, perturbation, recombination.

Problems are as in ``_kemeny``: antisymmetric preferences, orderings best first, several of them at a time.

- *Moves in bulk*. Moving the item at place s to place t changes the value by what it gains from the items between: a
  cumulative sum. The best moves of all items come from one pass, and those over disjoint stretches of places gain
  independently of each other, so they are made together. In long orderings most items are near their best place: the
  passes then look `WINDOW` places around each item, O(n) a move, and a pass over all places comes last.
- *Recombination*. Where two orderings have the same items before a place, neither the order before it nor that after
  it changes the value of the other: the ordering made of the better of the two in each stretch between such cuts is at
  least as good as both. So one perturbation of all places is as many independent attempts as there are stretches.
"""

import numpy as np

from skrank._rankings import row_blocks

WINDOW = 32
BLOCK_BYTES = 1 << 25
PERTURBATION_SCALE = 5.0  # places
FLOAT_TOLERANCE = 1e-10


def _blocks(n_rows, row_bytes):
    # More than what stays in the cache makes nothing faster.
    return row_blocks(n_rows, row_bytes, max_rows=max(BLOCK_BYTES // row_bytes, 1))


# ---------------------------------------------------------------- orderings
def permuted(preferences, orderings, problems):
    """Preferences between places instead of items: entry [m, s, t] is that of the item at place s to the one at t."""
    n_items = orderings.shape[1]
    # One flat index is several times faster than three index arrays.
    cells = (problems[:, None] * n_items + orderings)[:, :, None] * n_items + orderings[:, None, :]
    return np.take(preferences.reshape(-1), cells)


def ordering_values(preferences, orderings, problems=None):
    """Value of each ordering of its problem (None: of one each), shape (M,)."""
    problems = np.arange(len(orderings)) if problems is None else problems
    values = np.empty(len(orderings))
    for rows in _blocks(len(orderings), 32 * orderings.shape[1] ** 2):
        values[rows] = np.triu(permuted(preferences, orderings[rows], problems[rows]), 1).sum(axis=(1, 2))
    return values


# ---------------------------------------------------------------- the search
def insertion_search(
    preferences, orderings, *, problems=None, n_perturbations=0, n_rounds=None, tolerance=FLOAT_TOLERANCE, seed=0
):
    """Move single items to better places until no such move gains: a local optimum of every problem.

    Parameters
    ----------
    preferences : ndarray of shape (n_problems, n_items, n_items)
        Antisymmetric matrices.
    orderings : ndarray of shape (M, n_items)
        Where to start.
    problems : ndarray of shape (M,), default=None
        The problem that each ordering is of; None means one of each.
    n_perturbations : int, default=0
        How often the places of all items are perturbed and the search repeated from there, the better stretches of
        both orderings kept.
    n_rounds : int, default=None
        Rounds of moves at most, without perturbations; None means until all are local optima.
    tolerance : float, default=1e-10
        A move must gain more than this fraction of half the sum of all absolute preferences, so that rounding cannot
        cycle. 0 is right where all sums are exact.
    seed : int or Generator, default=0
        Draws the perturbations.

    Returns
    -------
    orderings : ndarray of shape (M, n_items)
    values : ndarray of shape (M,)
    """
    orderings = np.array(orderings, np.intp)
    problems = np.arange(len(orderings)) if problems is None else np.asarray(problems)
    preferences = np.ascontiguousarray(preferences)
    least_gains = (tolerance / 2 * np.abs(preferences).sum(axis=(1, 2)))[problems]
    _climb(preferences, problems, orderings, least_gains, WINDOW, n_rounds)
    if n_rounds is not None:
        return orderings, ordering_values(preferences, orderings, problems)
    rng = np.random.default_rng(seed)
    places = np.arange(orderings.shape[1])
    for _ in range(n_perturbations):
        perturbed = places + PERTURBATION_SCALE * rng.standard_normal(orderings.shape)
        others = np.take_along_axis(orderings, np.argsort(perturbed, axis=1), axis=1)
        _climb(preferences, problems, others, least_gains, WINDOW)
        orderings = recombined(preferences, problems, orderings, others, least_gains)
    while orderings.shape[1] > 4 * WINDOW:
        moved = _climb(preferences, problems, orderings, least_gains, None, n_rounds=1)
        if not moved.any():
            break
        _climb(preferences, problems, orderings, least_gains, WINDOW)
    return orderings, ordering_values(preferences, orderings, problems)


def _climb(preferences, problems, orderings, least_gains, window, n_rounds=None):
    """Rounds of moves in bulk, in place, until none gains; returns which orderings changed."""
    n_items = orderings.shape[1]
    changed = np.zeros(len(orderings), bool)
    live = np.arange(len(orderings))
    while len(live) and n_rounds != 0:
        current = orderings[live]
        gains = np.empty(current.shape)
        steps = np.empty(current.shape, np.intp)
        is_windowed = window is not None and n_items > 4 * window
        width = 2 * window + 1 if is_windowed else n_items
        for rows in _blocks(len(live), 40 * n_items * width):
            if is_windowed:
                moves = _best_moves_near(preferences, problems[live[rows]], current[rows], window)
            else:
                moves = _best_moves(preferences, problems[live[rows]], current[rows])
            gains[rows], steps[rows] = moves
        moved = _make_disjoint_moves(current, gains, steps, least_gains[live])
        live, current = live[moved], current[moved]
        orderings[live] = current
        changed[live] = True
        n_rounds = None if n_rounds is None else n_rounds - 1
    return changed


# ---------------------------------------------------------------- moves
def _best_moves(preferences, problems, orderings):
    """The best move of the item at each place: its gain and by how many places, each of shape (M, n_items)."""
    between = permuted(preferences, orderings, problems)
    passed = np.cumsum(between, axis=2)
    own = np.diagonal(passed, axis1=1, axis2=2)[:, :, None]
    places = np.arange(orderings.shape[1])
    # The item at place s overtakes, or lets pass, everything up to place t: each such pair changes its sign.
    between *= places < places[:, None]
    between += own
    between -= passed
    target = between.argmax(axis=2)
    return np.take_along_axis(between, target[:, :, None], axis=2)[..., 0], target - places


def _best_moves_near(preferences, problems, orderings, window):
    """As `_best_moves`, for moves by at most `window` places."""
    n_problems, n_items = orderings.shape
    padded = np.full((n_problems, n_items + 2 * window), -1)
    padded[:, window:-window] = orderings
    near = np.lib.stride_tricks.sliding_window_view(padded, 2 * window + 1, axis=1)
    cells = (problems[:, None] * n_items + orderings)[:, :, None] * n_items + np.maximum(near, 0)
    values = np.take(preferences.reshape(-1), cells)
    # Beyond either end a move gains minus infinity.
    outside = near < 0
    values[..., :window][outside[..., :window]] = -np.inf
    values[..., window + 1 :][outside[..., window + 1 :]] = np.inf
    gains = np.concatenate(
        [np.cumsum(values[..., window - 1 :: -1], axis=2), np.cumsum(-values[..., window + 1 :], axis=2)], axis=2
    )
    best = gains.argmax(axis=2)
    steps = np.where(best < window, -best - 1, best - window + 1)
    return np.take_along_axis(gains, best[:, :, None], axis=2)[..., 0], steps


def _make_disjoint_moves(orderings, gains, steps, least_gains):
    """Make moves over disjoint stretches of places in place, the best first; returns which orderings changed."""
    n_problems, n_items = orderings.shape
    gaining = gains > least_gains[:, None]
    problem, source = np.nonzero(gaining)
    moved = np.zeros(n_problems, bool)
    if not len(problem):
        return moved
    gains, steps = gains[gaining], steps[gaining]
    source = problem * n_items + source
    order = np.argsort(-gains, kind="stable")
    first, stop = np.minimum(source, source + steps), np.maximum(source, source + steps) + 1
    taken = bytearray(n_problems * n_items)
    chosen = []
    for move, low, high in zip(order.tolist(), first[order].tolist(), stop[order].tolist(), strict=True):
        if taken.find(1, low, high) < 0:
            taken[low:high] = b"\x01" * (high - low)
            chosen.append(move)
    source, steps = source[chosen], steps[chosen]
    moved[problem[chosen]] = True
    # Those between step aside by one place, toward where the moved item was.
    aside = np.zeros(n_problems * n_items + 1, np.intp)
    later = steps > 0
    aside[source[later]] += 1
    aside[source[later] + steps[later]] -= 1
    back = np.zeros_like(aside)
    back[source[~later] + steps[~later] + 1] += 1
    back[source[~later] + 1] -= 1
    origin = np.arange(n_problems * n_items) + np.cumsum(aside - back)[:-1]
    origin[source + steps] = source
    orderings[...] = orderings.reshape(-1)[origin].reshape(orderings.shape)
    return moved


# ---------------------------------------------------------------- recombination
def recombined(preferences, problems, orderings, others, least_gains):
    """The better of two orderings in each stretch between places before which both have the same items.

    Parameters
    ----------
    preferences, problems
        As in `insertion_search`.
    orderings, others : ndarrays of shape (M, n_items)
    least_gains : ndarray of shape (M,)
        By how much a stretch of `others` must be better.

    Returns
    -------
    orderings : ndarray of shape (M, n_items)
    """
    n_problems, n_items = orderings.shape
    reach = np.maximum.accumulate(np.take_along_axis(np.argsort(others, axis=1), orderings, axis=1), axis=1)
    ends_here = reach == np.arange(n_items)
    # Stretches are numbered over all problems; each problem ends one.
    stretch = np.cumsum(ends_here) - ends_here.ravel()
    lengths = np.bincount(stretch)
    place = np.arange(n_problems * n_items)
    n_after = np.cumsum(lengths)[stretch] - place - 1
    gains = np.zeros(len(lengths))
    flat = preferences.reshape(-1)
    for rows in _blocks(len(place), 80 * max(int(n_after.max()), 1)):
        first = np.repeat(place[rows], n_after[rows])
        runs = np.cumsum(n_after[rows])
        second = first + 1 + np.arange(len(first)) - np.repeat(runs - n_after[rows], n_after[rows])
        row = problems[first // n_items] * n_items
        difference = np.zeros(len(first))
        for sign, items in ((1, others.reshape(-1)), (-1, orderings.reshape(-1))):
            difference += sign * np.take(flat, (row + items[first]) * n_items + items[second])
        gains += np.bincount(stretch[first], difference, minlength=len(gains))
    better = gains > least_gains[(np.cumsum(lengths) - 1) // n_items]
    return np.where(better[stretch].reshape(orderings.shape), others, orderings)
