"""The loss of stochastic triplet embedding, its gradient and its curvature, in memory proportional to the triplets."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

# Rows gathered at a time: three gathered blocks of 2-d float32 points stay in the second-level cache.
_CHUNK = 1 << 13
NO_LAPSE = np.zeros(1)


class Evaluation(NamedTuple):
    """A loss, its gradient in the coordinates (n_items, n_components) and in the lapse rates (n_rates,)."""

    value: float
    gradient: np.ndarray
    lapse_gradient: np.ndarray


class TripletLoss:
    r"""Negative log-likelihood of triplet responses, as a function of the items' coordinates.

    With D the squared Euclidean distances and f the logistic function, the response "j is nearer to i than k" has the
    probability :math:`e + (1 - 2e) f(g(D_{ik}) - g(D_{ij}))`, with the lapse rate e of its rater. The kernel is
    :math:`g(D) = D` (van der Maaten and Weinberger, 2012, "Stochastic triplet embedding", equation 2), or with
    :math:`\nu` degrees of freedom :math:`g(D) = \frac{\nu + 1}{2} \log(1 + D/\nu)` (equation 4, t-STE). A ridge of
    alpha/2 times the sum of squared coordinates is added.

    Let s be the slope of the loss in the margin, and M the sparse matrix with s g'(D_ij) added at (i, j) and
    s g'(D_ik) subtracted at (i, k) for each triplet. The gradient is 2 (diag(W 1) - W) X with W = M + M'. The triplets
    are sorted by anchor, so that M is a difference of two matrices in compressed rows (whose data is one array for
    g(D) = D), and their transposes are the same arrays read as compressed columns: nothing is copied in an evaluation.

    Parameters
    ----------
    triplets : ndarray of shape (n_triplets, 3)
        Rows (i, j, k): j is nearer to i than k is. Indices below `n_items`.
    n_items : int
        Number of items.
    alpha : float, default=0.0
        Strength of the regularization.
    dtype : {np.float32, np.float64}, default=np.float32
        Precision of the evaluations. Single precision halves the traffic of the memory, which is what costs.
    weights : ndarray of shape (n_triplets,), default=None
        Weights of the responses. None: 1 each.
    rater : ndarray of int of shape (n_triplets,), default=None
        Number of each response's lapse rate, below `n_rates`. None: one rate for all.
    n_rates : int, default=1
        Number of lapse rates.
    nu : float, default=inf
        Degrees of freedom of the kernel; infinity is g(D) = D.
    """

    def __init__(
        self, triplets, n_items, alpha=0.0, dtype=np.float32, *, weights=None, rater=None, n_rates=1, nu=np.inf
    ):
        triplets = np.asarray(triplets)
        n_triplets = len(triplets)
        self.alpha, self.nu, self.n_items = alpha, nu, n_items
        is_sorted = bool((triplets[1:, 0] >= triplets[:-1, 0]).all())
        order = slice(None) if is_sorted else _order_by(triplets[:, 0], n_items)
        self._anchor, self._near, self._far = (triplets[order, column].astype(np.int32) for column in range(3))
        self._weights = None if weights is None else np.asarray(weights)[order].astype(dtype)
        self._rater = None if rater is None else np.asarray(rater)[order].astype(np.int32)
        self.n_rates = n_rates
        counts = np.bincount(self._anchor, minlength=n_items)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32 if n_triplets < 2**31 else np.int64)
        self._near_data = np.empty(n_triplets, dtype)
        self._far_data = self._near_data if np.isinf(nu) else np.empty(n_triplets, dtype)
        self._rows, self._columns = (
            [
                kind((data, items, starts), shape=(n_items, n_items), copy=False)
                for items, data in ((self._near, self._near_data), (self._far, self._far_data))
            ]
            for kind in (csr_array, csc_array)
        )
        self.n_answers = counts + np.bincount(self._near, minlength=n_items)
        self.n_answers += np.bincount(self._far, minlength=n_items)

    def __len__(self):
        return len(self._anchor)

    @property
    def dtype(self):
        """Precision of the evaluations."""
        return self._near_data.dtype

    def value(self, X, step=1, lapse=NO_LAPSE):
        """Loss at the coordinates X (n_items, n_components); with every `step`-th triplet, the like share of it."""
        ridge = 0.5 * self.alpha * float(np.sum(X**2))
        if self._is_plain(lapse):
            part = slice(None, None, step)
            margin = self._margins(X, self._anchor[part], self._near[part], self._far[part])
            return _softplus_sum(margin) + ridge * len(margin) / len(self)
        n_used, total = 0, 0.0
        for _, terms in self._terms(np.asarray(X, self.dtype), lapse, step):
            total -= float(np.sum(terms.log_probability * terms.weight, dtype=float))
            n_used += len(terms.right)
        return total + ridge * n_used / len(self)

    def value_and_gradient(self, X):
        """Loss without lapses and its gradient (n_items, n_components) at the coordinates X."""
        return self.evaluate(X, NO_LAPSE)[:2]

    def gradient(self, X):
        """Gradient without lapses."""
        return self.evaluate(X).gradient

    def evaluate(self, X, lapse=NO_LAPSE):
        """Loss and its gradients at the coordinates X and the lapse rates (n_rates,), all of them zero or none."""
        X = np.asarray(X, self.dtype)
        value, lapse_gradient = (
            (self._plain_slopes(X), np.zeros(1)) if self._is_plain(lapse) else self._slopes(X, lapse)
        )
        value += 0.5 * self.alpha * float(np.sum(X**2, dtype=float))
        homogeneous = np.column_stack([X, np.ones(len(X), X.dtype)])
        product = self._product(homogeneous, far_sign=-1)
        gradient = 2 * (product[:, -1:] * X - product[:, :-1]) + X.dtype.type(self.alpha) * X
        return Evaluation(value, gradient, lapse_gradient)

    def curvature_blocks(self, X, lapse=NO_LAPSE):
        """Fisher information of each item's coordinates when the others stand still: (n_items, d, d).

        An anchor's two items are counted as if they were asked about independently, which keeps the blocks positive and
        costs one sparse product.
        """
        X = np.asarray(X, self.dtype)
        n_components = X.shape[1]
        self._fill_information(X, lapse)
        upper = np.triu_indices(n_components)
        moments = np.column_stack([np.ones(len(X), X.dtype), X, X[:, upper[0]] * X[:, upper[1]]])
        moments = self._product(moments, far_sign=1).astype(float)
        # 4 sum p (x - y)(x - y)' = 4 (mass x x' - x first' - first x' + second), over the neighbors y of x
        mass, first = moments[:, 0], moments[:, 1 : n_components + 1]
        cross = X[:, :, None] * first[:, None, :]
        blocks = mass[:, None, None] * (X[:, :, None] * X[:, None, :]) - cross - cross.transpose(0, 2, 1)
        blocks[:, upper[0], upper[1]] += moments[:, n_components + 1 :]
        strict = upper[0] != upper[1]
        blocks[:, upper[1][strict], upper[0][strict]] = blocks[:, upper[0][strict], upper[1][strict]]
        return 4 * blocks + self.alpha * np.eye(n_components)

    def lapse_information(self, X, lapse):
        """Fisher information of each lapse rate at fixed coordinates: (n_rates,)."""
        total = np.zeros(self.n_rates)
        for part, terms in self._terms(np.asarray(X, self.dtype), lapse):
            information = terms.weight * (1 - 2 * terms.right) ** 2 / (terms.probability * (1 - terms.probability))
            total += self._sum_by_rater(information, part)
        return total

    def chi_squared(self, X, lapse=NO_LAPSE):
        """Sum of gradient^2 over that of information in the squared distances: about 1 where the model holds.

        Of the distance of each anchor from each item that it was compared with.
        """
        X = np.asarray(X, self.dtype)
        self.evaluate(X, lapse)
        squares = sum(float(slopes @ slopes) for slopes in self._slopes_by_pair())
        self._fill_information(X, lapse)
        return squares / max(2 * float(self._near_data.sum(dtype=float)), np.finfo(float).tiny)

    def _slopes_by_pair(self):
        """The summed slopes of each anchor and item that were compared, a block of them at a time."""
        starts = self._rows[0].indptr
        anchors = np.flatnonzero(np.diff(starts))
        if len(anchors) * self.n_items <= 2 * len(self):  # many responses about few anchors
            for anchor in anchors:
                part = slice(starts[anchor], starts[anchor + 1])
                slopes = self._near_data[part]
                nearer = np.bincount(self._near[part], slopes, self.n_items)
                yield nearer - np.bincount(self._far[part], slopes, self.n_items)
            return
        slopes = self._near_data.astype(float)
        pairs = np.concatenate([self._anchor, self._anchor]).astype(np.int64) * self.n_items
        _, pairs = np.unique(pairs + np.concatenate([self._near, self._far]), return_inverse=True)
        yield np.bincount(pairs, np.concatenate([slopes, -slopes]))

    def changes(self, X, moved, lapse=NO_LAPSE):
        """Change of the loss for each item if it alone moved from its row of X to that of `moved`: (n_items,)."""
        X, moved = np.asarray(X, self.dtype), np.asarray(moved, self.dtype)
        total = np.zeros(self.n_items)
        for part in _chunks(len(self)):
            items = [column[part] for column in (self._anchor, self._near, self._far)]
            rows = [X[one] for one in items]
            kept = self._losses_of(rows, part, lapse)
            for place, one in enumerate(items):
                changed = [moved[one] if number == place else row for number, row in enumerate(rows)]
                total += np.bincount(one, self._losses_of(changed, part, lapse) - kept, self.n_items)
        return total

    def _losses_of(self, rows, part, lapse):
        """Loss of each triplet, whose items have the coordinates `rows`."""
        anchors, near, far = rows
        margin = self._kernel(_squared_norms(anchors - far))[0] - self._kernel(_squared_norms(anchors - near))[0]
        if not np.any(lapse):
            losses = np.logaddexp(self.dtype.type(0), -margin)
        else:
            rate = np.asarray(lapse, self.dtype)
            rate = rate[0] if self._rater is None else rate[self._rater[part]]
            losses = -np.log(rate + (1 - 2 * rate) * 0.5 * (1 + np.tanh(0.5 * margin)))
        return losses if self._weights is None else losses * self._weights[part]

    def triplets(self):
        """Rows (anchor, near, far) of all responses."""
        return np.column_stack([self._anchor, self._near, self._far])

    def n_beyond(self):
        """Number of items that are the far one in each triplet in which another is the anchor."""
        there = np.bincount(self._near, minlength=self.n_items) + np.bincount(self._far, minlength=self.n_items)
        return int(np.count_nonzero((np.bincount(self._near, minlength=self.n_items) == 0) & (there > 0)))

    def signed_counts(self, X):
        """(C + C') X, where C adds 1/2 at (i, j) and subtracts it at (i, k) for each triplet.

        -(C + C') is, up to a factor and a shift of each row, an unbiased linearised estimate of the squared distances.
        """
        for data in (self._near_data, self._far_data):
            data[:] = 0.5 if self._weights is None else 0.5 * self._weights
        return self._product(np.ascontiguousarray(X, self.dtype), far_sign=-1)

    def _is_plain(self, lapse):
        """Whether the loss is the sum of log(1 + exp(D_ij - D_ik))."""
        return np.isinf(self.nu) and self._weights is None and not np.any(lapse)

    def _plain_slopes(self, X):
        margin = self._margins(X, self._anchor, self._near, self._far, out=self._near_data)
        value = _softplus_sum(margin)
        for part in _chunks(len(margin)):
            p = margin[part]
            p *= 0.5
            np.tanh(p, out=p)
            p += 1
            p *= 0.5
        return value

    def _slopes(self, X, lapse):
        """Fill the data of the matrices with the slopes; returns the value and the gradient in the lapse rates."""
        value, lapse_gradient = 0.0, np.zeros(self.n_rates)
        for part, terms in self._terms(X, lapse):
            value -= float(np.sum(terms.log_probability * terms.weight, dtype=float))
            slope = terms.slope * terms.weight
            self._near_data[part], self._far_data[part] = slope * terms.near_slope, slope * terms.far_slope
            if np.any(lapse):
                ratio = terms.weight * (2 * terms.right - 1) / terms.probability
                lapse_gradient += self._sum_by_rater(ratio, part)
        return value, lapse_gradient

    def _fill_information(self, X, lapse):
        if self._is_plain(lapse):
            margin = self._margins(X, self._anchor, self._near, self._far, out=self._near_data)
            for part in _chunks(len(margin)):
                p = margin[part]
                p *= 0.5
                np.tanh(p, out=p)
                p *= p
                np.subtract(1, p, out=p)
                p *= 0.25
            return
        for part, terms in self._terms(X, lapse):
            information = terms.weight * terms.slope**2 * terms.probability / np.maximum(1 - terms.probability, 1e-7)
            self._near_data[part] = information * terms.near_slope**2
            self._far_data[part] = information * terms.far_slope**2

    def _terms(self, X, lapse, step=1):
        """What each chunk of responses adds: pairs of the chunk, a slice, and its `_Terms`."""
        plain = np.isinf(self.nu)
        one, half = self.dtype.type(1), self.dtype.type(0.5)
        rates = None if not np.any(lapse) else np.asarray(lapse, self.dtype)
        if plain and step == 1:
            margins = self._margins(X, self._anchor, self._near, self._far, out=self._near_data)
        for part in _chunks(len(self)):
            part = slice(part.start, part.stop, step)
            if plain and step == 1:
                margin, near_slope, far_slope = -margins[part], one, one
            else:
                anchors = X[self._anchor[part]]
                near, near_slope = self._kernel(_squared_norms(anchors - X[self._near[part]]))
                far, far_slope = self._kernel(_squared_norms(anchors - X[self._far[part]]))
                margin = far - near
            right = np.tanh(half * margin)
            right *= half
            right += half
            if rates is None:
                probability, slope = right, one - right
                log_probability = -np.logaddexp(self.dtype.type(0), -margin)
            else:
                rate = rates[0] if self._rater is None else rates[self._rater[part]]
                probability = (one - 2 * rate) * right
                probability += rate
                slope = (one - right) * (1 - rate / probability)
                log_probability = np.log(probability)
            weight = one if self._weights is None else self._weights[part]
            yield part, _Terms(right, probability, log_probability, slope, weight, near_slope, far_slope)

    def _kernel(self, squared_distances):
        """g and g' of squared distances."""
        if np.isinf(self.nu):
            return squared_distances, self.dtype.type(1)
        half = self.dtype.type(0.5 * (self.nu + 1))
        return half * np.log1p(squared_distances / self.nu), half / (self.nu + squared_distances)

    def _sum_by_rater(self, values, part):
        if self._rater is None:
            return np.sum(values, dtype=float)[None]
        return np.bincount(self._rater[part], values, self.n_rates)

    def _product(self, X, far_sign):
        """(M + M') X, with M the near matrix plus `far_sign` times the far one, at the current data."""
        result = self._rows[1] @ X
        result += self._columns[1] @ X
        result *= far_sign
        result += self._rows[0] @ X
        result += self._columns[0] @ X
        return result

    def _margins(self, X, anchor, near, far, out=None):
        """D_ij - D_ik = (x_j - x_k) . (x_j + x_k - 2 x_i) of the given triplets."""
        n_components = X.shape[1]
        out = np.empty(len(anchor), self.dtype) if out is None else out
        # np.take copies rows of 8, 16 or 32 bytes much faster than rows of odd lengths
        padded = np.zeros((len(X), 1 << max(1, (n_components - 1).bit_length())), out.dtype)
        padded[:, :n_components] = X
        ones = np.ones(padded.shape[1], out.dtype)
        buffers = [np.empty((min(_CHUNK, len(anchor)), padded.shape[1]), out.dtype) for _ in range(3)]
        for part in _chunks(len(anchor)):
            x, y, z = (buffer[: len(out[part])] for buffer in buffers)
            for items, gathered in ((anchor, x), (near, y), (far, z)):
                np.take(padded, items[part], axis=0, out=gathered, mode="clip")
            x *= -2
            x += y
            x += z
            y -= z
            y *= x
            np.matmul(y, ones, out=out[part])
        return out


class _Terms(NamedTuple):
    """What a chunk of responses adds to the loss."""

    right: np.ndarray  # f(margin)
    probability: np.ndarray  # of the response, lapses included
    log_probability: np.ndarray
    slope: np.ndarray  # of log_probability in the margin
    weight: np.ndarray
    near_slope: np.ndarray  # g' at the near and at the far item
    far_slope: np.ndarray


def _squared_norms(difference):
    return np.einsum("na,na->n", difference, difference)


def _chunks(length):
    return (slice(start, min(length, start + _CHUNK)) for start in range(0, length, _CHUNK))


def _softplus_sum(values):
    """Sum of log(1 + exp(values)), without overflow and in double precision over chunks."""
    total = 0.0
    buffer = np.empty(min(_CHUNK, len(values)), values.dtype)
    for part in _chunks(len(values)):
        chunk = values[part]
        z = buffer[: len(chunk)]
        np.abs(chunk, out=z)
        total += 0.5 * (float(chunk.sum()) + float(z.sum()))
        np.negative(z, out=z)
        np.exp(z, out=z)
        np.log1p(z, out=z)
        total += float(z.sum())
    return total


def _order_by(keys, n_keys):
    """Stable order by small integer keys: a counting sort, which the change of sparse format is."""
    n_rows = len(keys)
    rows = csr_array((np.ones(n_rows, np.int8), keys, np.arange(n_rows + 1)), shape=(n_rows, n_keys))
    return rows.tocsc().indices
