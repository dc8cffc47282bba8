"""The loss of stochastic triplet embedding, its gradient and its curvature, in memory proportional to the triplets."""

import numpy as np
from scipy.sparse import csc_array, csr_array

# Rows gathered at a time: three gathered blocks of 2-d float32 points stay in the second-level cache.
_CHUNK = 1 << 13


class TripletLoss:
    r"""Negative log-likelihood of triplet answers, as a function of the items' coordinates.

    With D the squared Euclidean distances, an answer "j is nearer to i than k" has the probability
    :math:`1 / (1 + e^{D_{ij} - D_{ik}})` (van der Maaten and Weinberger, 2012, "Stochastic triplet embedding", eq. 2),
    so that the loss is :math:`\sum \log(1 + e^{D_{ij} - D_{ik}})`. A ridge of alpha/2 times the sum of squared
    coordinates is added to it.

    Let p be the probability that the model gives to the opposite answer, and M the sparse matrix with p added at (i, j)
    and subtracted at (i, k) for each triplet. The gradient is 2 (diag(W 1) - W) X with W = M + M'. The triplets are
    sorted by anchor, so that M is a difference of two matrices in compressed rows whose data is the one array p, and
    their transposes are the same arrays read as compressed columns: nothing is copied in an evaluation.

    Parameters
    ----------
    triplets : ndarray of shape (n_triplets, 3)
        Rows (i, j, k): j is nearer to i than k is. Indices below `n_items`.
    n_items : int
        Number of items.
    alpha : float, default=0.0
        Strength of the regularisation.
    dtype : {np.float32, np.float64}, default=np.float32
        Precision of the evaluations. Single precision halves the traffic of the memory, which is what costs.
    """

    def __init__(self, triplets, n_items, alpha=0.0, dtype=np.float32):
        triplets = np.asarray(triplets)
        n_triplets = len(triplets)
        self.alpha = alpha
        order = _order_by(triplets[:, 0], n_items)
        self._anchor, self._near, self._far = (triplets[order, column].astype(np.int32) for column in range(3))
        counts = np.bincount(self._anchor, minlength=n_items)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32 if n_triplets < 2**31 else np.int64)
        self._probability = np.empty(n_triplets, dtype)
        self._rows, self._columns = (
            [
                kind((self._probability, items, starts), shape=(n_items, n_items), copy=False)
                for items in (self._near, self._far)
            ]
            for kind in (csr_array, csc_array)
        )
        self.n_answers = counts + np.bincount(self._near, minlength=n_items)
        self.n_answers += np.bincount(self._far, minlength=n_items)

    def __len__(self):
        return len(self._anchor)

    def value(self, X, step=1):
        """Loss at the coordinates X (n_items, n_components); with every `step`-th triplet, the like share of it."""
        part = slice(None, None, step)
        margin = self._margins(X, self._anchor[part], self._near[part], self._far[part])
        return _softplus_sum(margin) + 0.5 * self.alpha * float(np.sum(X**2)) * len(margin) / len(self)

    def value_and_gradient(self, X):
        """Loss and its gradient (n_items, n_components) at the coordinates X."""
        X = np.asarray(X, self._probability.dtype)
        margin = self._margins(X, self._anchor, self._near, self._far, out=self._probability)
        value = _softplus_sum(margin) + 0.5 * self.alpha * float(np.sum(X**2))
        for part in _chunks(len(margin)):
            p = margin[part]
            p *= 0.5
            np.tanh(p, out=p)
            p += 1
            p *= 0.5
        homogeneous = np.column_stack([X, np.ones(len(X), X.dtype)])
        product = self._product(homogeneous, far_sign=-1)
        return value, 2 * (product[:, -1:] * X - product[:, :-1]) + X.dtype.type(self.alpha) * X

    def curvature_blocks(self, X):
        """Fisher information of each item's coordinates when the others stand still: (n_items, d, d).

        An anchor's two items are counted as if they were asked about independently, which keeps the blocks positive and
        costs one sparse product.
        """
        X = np.asarray(X, self._probability.dtype)
        n_components = X.shape[1]
        margin = self._margins(X, self._anchor, self._near, self._far, out=self._probability)
        for part in _chunks(len(margin)):
            p = margin[part]
            p *= 0.5
            np.tanh(p, out=p)
            p *= p
            np.subtract(1, p, out=p)
            p *= 0.25
        upper = np.triu_indices(n_components)
        moments = np.column_stack([np.ones(len(X), X.dtype), X, X[:, upper[0]] * X[:, upper[1]]])
        moments = self._product(moments, far_sign=1).astype(float)
        # 4 sum p (x - y)(x - y)' = 4 (mass x x' - x first' - first x' + second), over the neighbours y of x
        mass, first = moments[:, 0], moments[:, 1 : n_components + 1]
        cross = X[:, :, None] * first[:, None, :]
        blocks = mass[:, None, None] * (X[:, :, None] * X[:, None, :]) - cross - cross.transpose(0, 2, 1)
        blocks[:, upper[0], upper[1]] += moments[:, n_components + 1 :]
        strict = upper[0] != upper[1]
        blocks[:, upper[1][strict], upper[0][strict]] = blocks[:, upper[0][strict], upper[1][strict]]
        return 4 * blocks + self.alpha * np.eye(n_components)

    def signed_counts(self, X):
        """(C + C') X, where C adds 1/2 at (i, j) and subtracts it at (i, k) for each triplet.

        -(C + C') is, up to a factor and a shift of each row, an unbiased linearised estimate of the squared distances.
        """
        self._probability.fill(0.5)
        return self._product(np.ascontiguousarray(X, self._probability.dtype), far_sign=-1)

    def _product(self, X, far_sign):
        """(M + M') X, with M the near matrix plus `far_sign` times the far one, at the current probabilities."""
        result = self._rows[1] @ X
        result += self._columns[1] @ X
        result *= far_sign
        result += self._rows[0] @ X
        result += self._columns[0] @ X
        return result

    def _margins(self, X, anchor, near, far, out=None):
        """D_ij - D_ik = (x_j - x_k) . (x_j + x_k - 2 x_i) of the given triplets."""
        n_components = X.shape[1]
        out = np.empty(len(anchor), self._probability.dtype) if out is None else out
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
