"""The loss of comparisons from landmarks, as a function of all coordinates, in passes over contiguous slices."""

from functools import partial

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skrank.manifold._oracle import BLOCK_SIZE
from skrank.manifold._triplet_loss import NO_LAPSE, Evaluation

_LEAST_CURVATURE = np.float32(1e-3)
_MOST_FACTORS = 100  # each at least 1/2, so that their product is no subnormal number


class _LogProduct:
    """Sum of logarithms of positive factors, slice by slice: one logarithm for the product of many of them."""

    def __init__(self, size, dtype):
        self.product, self.n_factors, self.total = np.ones(size, dtype), 0, 0.0

    def multiply(self, factors):
        self.product[: len(factors)] *= factors
        self.n_factors += 1
        if self.n_factors == _MOST_FACTORS:
            self.sum()

    def sum(self):
        np.log(self.product, out=self.product)
        self.total += float(self.product.sum(dtype=float))
        self.product.fill(1)
        self.n_factors = 0
        return self.total


def plain_pass(responses, squared_distances):
    """Loss without lapses and its gradient in the squared distances, both by position.

    A comparison adds log(2 cosh(z / 2)) to the loss, z the difference of the squared distances, and each position's
    number of wins a linear term. 2 cosh x is 2 exp |x| / (1 + |tanh x|).
    """
    dtype = squared_distances.dtype
    one, half = dtype.type(1), dtype.type(0.5)
    halves = responses.extended(half * squared_distances)
    total = np.zeros_like(halves)
    size = min(BLOCK_SIZE, len(responses.order))
    buffer, logarithms, value = np.empty(size, dtype), _LogProduct(size, dtype), 0.0
    for left, right in responses.blocks():
        x = buffer[: left.stop - left.start]
        np.subtract(halves[left], halves[right], out=x)
        absolute = np.abs(x)
        value += float(absolute.sum())
        np.tanh(x, out=x)
        total[left] += x
        total[right] -= x
        np.abs(x, out=absolute)
        absolute += one
        absolute *= half
        logarithms.multiply(absolute)
    value -= logarithms.sum()
    gradient = half * responses.folded(total) - responses.net
    return value - float(squared_distances @ responses.net.astype(float)), gradient


def lapse_pass(responses, squared_distances, rate):
    """Loss with a lapse rate, its gradient in the squared distances by position, and in the rate."""
    scores = responses.extended(squared_distances)
    total = np.zeros_like(scores)
    value, rate_gradient = 0.0, 0.0
    one, half, rate = (scores.dtype.type(number) for number in (1, 0.5, rate))
    for (left, right), packed in zip(responses.blocks(), responses.bits, strict=True):
        sign, farther = _signs(packed, left), scores[right] - scores[left]
        chance = half + half * np.tanh(half * sign * farther)
        probability = (one - 2 * rate) * chance + rate
        value -= float(np.log(probability).sum(dtype=float))
        rate_gradient += float(((2 * chance - one) / probability).sum(dtype=float))
        pull = sign * (one - chance) * (one - rate / probability)
        total[left] += pull
        total[right] -= pull
    return value, responses.folded(total), rate_gradient


def information_pass(responses, squared_distances, rate, points=None):
    """Fisher information of each squared distance when the others stand still, and of the rate; with points, of a move
    of the landmark, too.

    Parameters
    ----------
    responses : LandmarkResponses
        Which comparisons were made.
    squared_distances : ndarray of shape (n_positions,)
        Squared distances from the landmark, by position.
    rate : float
        Lapse rate.
    points : ndarray of shape (n_components, n_positions), default=None
        Coordinates, by position.

    Returns
    -------
    information : ndarray of shape (n_positions,)
    of_rate : float
    of_landmark : ndarray of shape (n_components, n_components)
        Only differences of distances are observed, which a move of the landmark changes by little where the two items
        are near each other.
    """
    scores = responses.extended(squared_distances)
    total, of_rate = np.zeros_like(scores), 0.0
    places = [] if points is None else [responses.extended(row) for row in points]
    of_landmark = np.zeros((len(places), len(places)))
    one, half, rate = (scores.dtype.type(number) for number in (1, 0.5, rate))
    for left, right in responses.blocks():
        chance = half + half * np.tanh(half * (scores[right] - scores[left]))
        variance = chance * (one - chance)
        if rate:
            probability = (one - 2 * rate) * chance + rate
            spread = probability * (one - probability)
            of_rate += float(((2 * chance - one) ** 2 / spread).sum(dtype=float))
            variance *= (one - 2 * rate) ** 2 * variance / spread
        total[left] += variance
        total[right] += variance
        if places:
            differences = np.array([row[left] - row[right] for row in places])
            of_landmark += 4 * (differences * variance) @ differences.T
    return responses.folded(total), of_rate, of_landmark


def change_pass(responses, squared_distances, moved, rate):
    """Change of the loss at each position if its item alone had another squared distance, by position."""
    here, there = responses.extended(squared_distances), responses.extended(moved)
    total = np.zeros_like(here)
    packed = responses.bits if rate else [None] * len(list(responses.blocks()))
    for (left, right), bits in zip(responses.blocks(), packed, strict=True):
        sign = _signs(bits, left) if rate else None
        kept = _comparison_loss(here[right] - here[left], sign, rate)
        total[left] += _comparison_loss(here[right] - there[left], sign, rate) - kept
        total[right] += _comparison_loss(there[right] - here[left], sign, rate) - kept
    change = responses.folded(total).astype(float)
    return change if rate else change - responses.net * (moved - squared_distances)


def _comparison_loss(farther, sign, rate):
    """Loss of each comparison with a lapse rate; without one, up to what is linear in the distances."""
    if not rate:
        absolute = np.abs(farther)
        return np.float32(0.5) * absolute + np.log1p(np.exp(-absolute))
    chance = np.float32(0.5) + np.float32(0.5) * np.tanh(np.float32(0.5) * sign * farther)
    return -np.log(np.float32(1 - 2 * rate) * chance + np.float32(rate))


def _signs(packed, left):
    nearer = np.unpackbits(packed, count=left.stop - left.start).view(np.int8)
    nearer *= 2
    nearer -= 1
    return nearer.astype(np.float32)


class LandmarkLoss:
    """Negative log-likelihood of the responses about some landmarks, as a function of all coordinates.

    Its interface is that of `TripletLoss`.

    Parameters
    ----------
    responses : list of LandmarkResponses
        One for each landmark; a landmark may occur several times.
    n_items : int
        Number of items.
    n_jobs : int or None, default=None
        Number of landmarks at a time, in threads.
    """

    dtype = np.dtype(np.float32)
    n_rates = 1

    def __init__(self, responses, n_items, n_jobs=None):
        self.responses, self.n_items, self.n_jobs = responses, n_items, n_jobs

    def __len__(self):
        return sum(one.n_comparisons for one in self.responses)

    def evaluate(self, X, lapse=NO_LAPSE):
        """Loss and its gradients at the coordinates X (n_items, n_components) and a lapse rate (1,)."""
        points = np.ascontiguousarray(X.T, np.float32)
        gradient, value, lapse_gradient = np.zeros_like(points), 0.0, 0.0
        for responses, (loss, slope, of_rate) in self._each(partial(_evaluate_one, points, float(lapse[0]))):
            value += loss
            lapse_gradient += of_rate
            for a, row in enumerate(points):
                pull = 2 * slope * (row - row[responses.landmark])
                gradient[a] += pull
                gradient[a, responses.landmark] -= pull.sum(dtype=float)
        return Evaluation(value, gradient.T, np.array([lapse_gradient]))

    def curvature_blocks(self, X, lapse=NO_LAPSE):
        """Fisher information of each item's coordinates when the others stand still: (n_items, d, d)."""
        points = np.ascontiguousarray(X.T, np.float32)
        d, n_items = points.shape
        blocks = np.zeros((d, d, n_items), np.float32)
        own_blocks = []
        for responses, (curvature, _, own) in self._each(partial(_information_of_one, points, float(lapse[0]), True)):
            own_blocks.append((responses.landmark, own))
            differences = points - points[:, [responses.landmark]]
            weighted = differences * curvature
            for a in range(d):
                for b in range(a + 1):
                    blocks[a, b] += 4 * weighted[a] * differences[b]
        for a in range(d):
            for b in range(a):
                blocks[b, a] = blocks[a, b]
        blocks = blocks.transpose(2, 0, 1).astype(float)
        for landmark, own in own_blocks:
            blocks[landmark] += own
        return blocks

    def lapse_information(self, X, lapse):
        """Fisher information of the lapse rate at fixed coordinates: (1,)."""
        points = np.ascontiguousarray(X.T, np.float32)
        each = self._each(partial(_information_of_one, points, float(lapse[0]), False))
        return np.array([sum(of_rate for _, (_, of_rate, _) in each)])

    def chi_squared(self, X, lapse=NO_LAPSE):
        """Sum of gradient^2 over that of information in the squared distances: about 1 where the model holds."""
        points = np.ascontiguousarray(X.T, np.float32)
        squares, information = 0.0, 0.0
        for _, (_, slope, _) in self._each(partial(_evaluate_one, points, float(lapse[0]))):
            squares += float(np.sum(slope * slope, dtype=float))
        for _, (curvature, _, _) in self._each(partial(_information_of_one, points, float(lapse[0]), False)):
            information += float(np.sum(curvature, dtype=float))
        return squares / information

    def changes(self, X, moved, lapse=NO_LAPSE):
        """Change of the loss for each item if it alone moved from its row of X to that of `moved`: (n_items,)."""
        before, after = (np.ascontiguousarray(points.T, np.float32) for points in (X, moved))
        total = np.zeros(self.n_items)
        for responses, (change, own) in self._each(partial(_changes_of_one, before, after, float(lapse[0]))):
            total[responses.order] += change
            total[responses.landmark] += own
        return total

    def n_beyond(self):
        """Number of items that, from every other landmark, won or lost all their comparisons."""
        one_sided = np.ones(self.n_items, bool)
        for responses in self.responses:
            one_sided[responses.order[~responses.is_one_sided]] = False
        return int(np.count_nonzero(one_sided))

    def _each(self, function):
        """Pairs of each landmark's responses and a function of them: one task a landmark, in threads."""
        results = Parallel(n_jobs=self.n_jobs, backend="threading", return_as="generator")(
            delayed(function)(responses) for responses in self.responses
        )
        return zip(self.responses, results, strict=True)


def _distances(points, responses):
    difference = points - points[:, [responses.landmark]]
    return np.einsum("an,an->n", difference, difference)[responses.order]


def _evaluate_one(points, rate, responses):
    distances = _distances(points, responses)
    slope, of_rate = np.zeros(points.shape[1], np.float32), 0.0
    if rate:
        value, by_position, of_rate = lapse_pass(responses, distances, rate)
    else:
        value, by_position = plain_pass(responses, distances)
    slope[responses.order] = by_position
    return value, slope, of_rate


def _changes_of_one(before, after, rate, responses):
    landmark = responses.landmark
    here, there = (((points - before[:, [landmark]]) ** 2).sum(axis=0)[responses.order] for points in (before, after))
    own = 0.0
    if not np.array_equal(before[:, landmark], after[:, landmark]):
        moved = ((before - after[:, [landmark]]) ** 2).sum(axis=0)[responses.order]
        values = [
            lapse_pass(responses, distances, rate)[0] if rate else plain_pass(responses, distances)[0]
            for distances in (moved, here)
        ]
        own = values[0] - values[1]
    return change_pass(responses, here, there, rate), own


def _information_of_one(points, rate, of_landmark, responses):
    places = points[:, responses.order] if of_landmark else None
    by_position, of_rate, own = information_pass(responses, _distances(points, responses), rate, places)
    curvature = np.zeros(points.shape[1], np.float32)
    curvature[responses.order] = by_position + _LEAST_CURVATURE
    return curvature, of_rate, own
