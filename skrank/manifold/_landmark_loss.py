"""The loss of comparisons from landmarks, as a function of all coordinates, in passes over contiguous slices.

Positions are slices, or arrays where the comparisons are independent pairs.
"""

from functools import partial
from itertools import repeat

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from skrank.manifold._triplet_loss import NO_LAPSE, Evaluation

_LEAST_CURVATURE = np.float32(1e-3)
_MOST_FOR_LANDMARK = 10**5  # comparisons, beyond which a sample of them tells what a landmark's own coordinates inform
_GROUP_SIZE = 4  # landmarks that one task treats, one after another: the same whatever the number of threads
_MOST_FACTORS = 100  # each at least 1/2, so that their product is no subnormal number


class _Workspace:
    """Arrays that are used for one landmark after another: fresh memory costs more than the arithmetic on it."""

    def __init__(self):
        self._arrays = {}

    def array(self, name, size):
        """An array of that size, with whatever it was left with."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.empty(size, np.float32)
        return self._arrays[name][:size]

    def extended(self, name, responses, values, factor=1.0):
        """`responses.extended(factor * values)` in such an array."""
        n = len(values)
        result = self.array(name, 2 * n if responses.is_cyclic else n)
        np.multiply(values, np.float32(factor), out=result[:n])
        if responses.is_cyclic:
            result[n:] = result[:n]
        return result

    def distances(self, points, landmark):
        """Squared distances of all items from a landmark."""
        total, difference = self.array("distances", points.shape[1]), self.array("difference", points.shape[1])
        for a, row in enumerate(points):
            target = difference if a else total
            np.subtract(row, row[landmark], out=target)
            target *= target
            if a:
                total += difference
        return total


class _LogProduct:
    """Sum of logarithms of positive factors, slice by slice: one logarithm for the product of many of them."""

    def __init__(self, product):
        self.product, self.n_factors, self.total = product, 0, 0.0
        self.product.fill(1)

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


def _length(positions):
    return positions.stop - positions.start if isinstance(positions, slice) else len(positions)


def _add(total, positions, values):
    """total[positions] += values, where an array of positions may hold one several times."""
    if isinstance(positions, slice):
        total[positions] += values
    else:
        np.add.at(total, positions, values)


def _subtract(total, positions, values):
    if isinstance(positions, slice):
        total[positions] -= values
    else:
        np.subtract.at(total, positions, values)


def plain_pass(responses, squared_distances, workspace=None, *, needs_value=True):
    """Loss without lapses and its gradient in the squared distances, both by position.

    A comparison adds log(2 cosh(z / 2)) to the loss, z the difference of the squared distances, and each position's
    number of wins a linear term. 2 cosh x is 2 exp |x| / (1 + |tanh x|). The gradient alone takes half the time, and
    the value returned is then 0.
    """
    workspace = _Workspace() if workspace is None else workspace
    one, half = np.float32(1), np.float32(0.5)
    halves = workspace.extended("halves", responses, squared_distances, 0.5)
    total = workspace.array("total", len(halves))
    total.fill(0)
    size = responses.block_size
    buffer, other = workspace.array("buffer", size), workspace.array("other", size)
    logarithms, value = _LogProduct(workspace.array("product", size)), 0.0
    for left, right in responses.blocks():
        x = buffer[: _length(left)]
        np.subtract(halves[left], halves[right], out=x)
        if needs_value:
            absolute = np.abs(x, out=other[: len(x)])
            value += float(absolute.sum())
        np.tanh(x, out=x)
        _add(total, left, x)
        _subtract(total, right, x)
        if needs_value:
            np.abs(x, out=absolute)
            absolute += one
            absolute *= half
            logarithms.multiply(absolute)
    gradient = responses.folded(total)
    gradient -= responses.balance
    gradient *= half
    if not needs_value:
        return 0.0, gradient
    linear = 0.5 * np.einsum("n,n->", squared_distances, responses.balance, dtype=float)
    return value - logarithms.sum() - float(linear), gradient


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


def information_pass(responses, squared_distances, rate, workspace=None):
    """Fisher information of each squared distance when the others stand still, by position, and of the lapse rate."""
    workspace = _Workspace() if workspace is None else workspace
    halves = workspace.extended("halves", responses, squared_distances, 0.5)
    total, of_rate = workspace.array("total", len(halves)), 0.0
    total.fill(0)
    buffer, rate = workspace.array("buffer", responses.block_size), np.float32(rate)
    for left, right in responses.blocks():
        x = buffer[: _length(left)]
        np.subtract(halves[right], halves[left], out=x)
        information, one_of_rate = _informations(x, rate)
        of_rate += one_of_rate
        _add(total, left, information)
        _add(total, right, information)
    return responses.folded(total), of_rate


def _informations(x, rate):
    """Fisher information of each margin 2 x, in place without a lapse rate, and of the rate."""
    np.tanh(x, out=x)
    if not rate:
        x *= x
        np.subtract(np.float32(1), x, out=x)
        x *= np.float32(0.25)
        return x, 0.0
    probability = (np.float32(1) - 2 * rate) * (np.float32(0.5) + np.float32(0.5) * x) + rate
    spread = probability * (1 - probability)
    slope = (np.float32(1) - 2 * rate) * np.float32(0.25) * (1 - x * x)
    return slope * slope / spread, float((x * x / spread).sum(dtype=float))


def information_of_landmark(points, responses, distances, rate):
    """Fisher information of a landmark's own coordinates: (n_components, n_components).

    Only differences of distances are observed, which a move of the landmark changes by little where the two items are
    near each other. Of millions of comparisons, an evenly spaced sample.

    Parameters
    ----------
    points : ndarray of shape (n_components, n_items)
        Coordinates.
    responses : LandmarkResponses or PairResponses
        Which comparisons were made.
    distances : ndarray of shape (n_items,)
        Squared distances from the landmark.
    rate : float
        Lapse rate.
    """
    total = np.zeros((len(points), len(points)))
    blocks, every = responses.sample(_MOST_FOR_LANDMARK)
    for left, right in blocks:
        left, right = responses.order[left], responses.order[right]
        information, _ = _informations(np.float32(0.5) * (distances[right] - distances[left]), np.float32(rate))
        differences = np.array([row[left] - row[right] for row in points])
        total += 4 * every * (differences * information) @ differences.T
    return total


def change_pass(responses, squared_distances, moved, rate):
    """Change of the loss at each position if its item alone had another squared distance, by position."""
    here, there = responses.extended(squared_distances), responses.extended(moved)
    total = np.zeros_like(here)
    for (left, right), bits in zip(responses.blocks(), responses.bits if rate else repeat(None), strict=False):
        sign = _signs(bits, left) if rate else None
        kept = _comparison_loss(here[right] - here[left], sign, rate)
        _add(total, left, _comparison_loss(here[right] - there[left], sign, rate) - kept)
        _add(total, right, _comparison_loss(there[right] - here[left], sign, rate) - kept)
    change = responses.folded(total).astype(float)
    return change if rate else change - 0.5 * responses.balance * (moved - squared_distances)


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
    responses : list of LandmarkResponses or PairResponses
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
        return self._evaluate(X, float(lapse[0]), True)

    def gradient(self, X):
        """Gradient without lapses, and without the loss, which takes as much time again."""
        return self._evaluate(X, 0.0, False).gradient

    def _evaluate(self, X, rate, needs_value):
        points = np.ascontiguousarray(X.T, np.float32)
        gradient, value, lapse_gradient = np.zeros_like(points), 0.0, 0.0
        of_groups = self._map(partial(_evaluate_group, points, rate, needs_value), self._groups())
        for loss, slope, of_rate in of_groups:
            value += loss
            gradient += slope
            lapse_gradient += of_rate
        return Evaluation(value, gradient.T, np.array([lapse_gradient]))

    def curvature_blocks(self, X, lapse=NO_LAPSE):
        """Fisher information of each item's coordinates when the others stand still: (n_items, d, d), float32."""
        points = np.ascontiguousarray(X.T, np.float32)
        d, n_items = points.shape
        packed = np.zeros((d * (d + 1) // 2, n_items), np.float32)
        for part in self._map(partial(_curvature_of_group, points, float(lapse[0])), self._groups()):
            packed += part
        blocks = np.empty((n_items, d, d), np.float32)
        for row, (a, b) in zip(packed, _lower_triangle(d), strict=True):
            blocks[:, a, b] = blocks[:, b, a] = row
        return blocks

    def lapse_information(self, X, lapse):
        """Fisher information of the lapse rate at fixed coordinates: (1,)."""
        points = np.ascontiguousarray(X.T, np.float32)
        each = self._map(partial(_information_of_one, points, float(lapse[0])), self.responses)
        return np.array([sum(of_rate for _, of_rate in each)])

    def chi_squared(self, X, lapse=NO_LAPSE):
        """Sum of gradient^2 over that of information in the squared distances: about 1 where the model holds."""
        points = np.ascontiguousarray(X.T, np.float32)
        sums = list(self._map(partial(_chi_squared_of_group, points, float(lapse[0])), self._groups()))
        squares, information = np.sum(sums, axis=0)
        return float(squares / information)

    def changes(self, X, moved, lapse=NO_LAPSE):
        """Change of the loss for each item if it alone moved from its row of X to that of `moved`: (n_items,)."""
        before, after = (np.ascontiguousarray(points.T, np.float32) for points in (X, moved))
        total = np.zeros(self.n_items)
        changes = self._map(partial(_changes_of_one, before, after, float(lapse[0])), self.responses)
        for responses, (change, own) in zip(self.responses, changes, strict=True):
            total[responses.order] += change
            total[responses.landmark] += own
        return total

    def triplets(self):
        """Rows (landmark, near, far) of all responses; only where they are kept."""
        return np.concatenate([one.triplets() for one in self.responses])

    def n_beyond(self):
        """Number of items that, from every other landmark, won or lost all their comparisons."""
        one_sided = np.ones(self.n_items, bool)
        for responses in self.responses:
            one_sided[responses.order[~responses.is_one_sided]] = False
        return int(np.count_nonzero(one_sided))

    def _groups(self):
        """Lists of a few landmarks."""
        return [self.responses[start : start + _GROUP_SIZE] for start in range(0, len(self.responses), _GROUP_SIZE)]

    def _map(self, function, arguments):
        """The function of each argument, in order, in threads."""
        if effective_n_jobs(self.n_jobs) == 1:  # of few items, joblib takes as long as the arithmetic
            return map(function, arguments)
        return Parallel(n_jobs=self.n_jobs, backend="threading", return_as="generator")(
            delayed(function)(argument) for argument in arguments
        )


def _evaluate_group(points, rate, needs_value, group):
    """Loss of some landmarks, and its gradients in the coordinates and in the rate."""
    gradient, value, rate_gradient, workspace = np.zeros_like(points), 0.0, 0.0, _Workspace()
    for responses in group:
        pull = workspace.array("pull", points.shape[1])
        loss, slope, of_rate = _evaluate_one(points, rate, responses, workspace, needs_value=needs_value)
        value += loss
        rate_gradient += of_rate
        for a, row in enumerate(points):
            np.subtract(row, row[responses.landmark], out=pull)
            pull *= slope
            pull *= 2
            gradient[a] += pull
            gradient[a, responses.landmark] -= pull.sum(dtype=float)
    return value, gradient, rate_gradient


def _evaluate_one(points, rate, responses, workspace=None, *, needs_value=True):
    """Loss of one landmark, and its gradients in the squared distances of all items and in the rate."""
    workspace = _Workspace() if workspace is None else workspace
    distances = workspace.array("ordered", len(responses.order))
    np.take(workspace.distances(points, responses.landmark), responses.order, out=distances, mode="clip")
    of_rate = 0.0
    if rate:
        value, by_position, of_rate = lapse_pass(responses, distances, rate)
    else:
        value, by_position = plain_pass(responses, distances, workspace, needs_value=needs_value)
    slope = workspace.array("slope", points.shape[1])
    slope[responses.order] = by_position
    slope[responses.landmark] = 0
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


def _lower_triangle(n):
    return [(a, b) for a in range(n) for b in range(a + 1)]


def _curvature_of_group(points, rate, group):
    """Information that some landmarks give of the coordinates of each item: rows of the lower triangle."""
    triangle, workspace = _lower_triangle(len(points)), _Workspace()
    total = np.zeros((len(triangle), points.shape[1]), np.float32)
    product = workspace.array("product of coordinates", points.shape[1])
    for responses in group:
        information, _ = _information_of_one(points, rate, responses, workspace)
        information *= 4
        landmark = responses.landmark
        own = information_of_landmark(points, responses, workspace.distances(points, landmark), rate)
        differences = points - points[:, [landmark]]
        for row, (a, b) in zip(total, triangle, strict=True):
            np.multiply(differences[a], differences[b], out=product)
            product *= information
            row += product
            row[landmark] += own[a, b]
    return total


def _chi_squared_of_group(points, rate, group):
    """Sums over items and landmarks of squared slopes and of information."""
    sums, workspace = np.zeros(2), _Workspace()
    for responses in group:
        slope = _evaluate_one(points, rate, responses, workspace, needs_value=False)[1]
        sums[0] += np.sum(slope * slope, dtype=float)
        sums[1] += np.sum(_information_of_one(points, rate, responses, workspace)[0], dtype=float)
    return sums


def _information_of_one(points, rate, responses, workspace=None):
    """Information of the squared distances of all items from one landmark, and of the rate."""
    workspace = _Workspace() if workspace is None else workspace
    distances = workspace.array("ordered", len(responses.order))
    np.take(workspace.distances(points, responses.landmark), responses.order, out=distances, mode="clip")
    by_position, of_rate = information_pass(responses, distances, rate, workspace)
    by_position += _LEAST_CURVATURE
    information = workspace.array("information", points.shape[1])
    information[responses.order] = by_position
    information[responses.landmark] = 0
    return information, of_rate
