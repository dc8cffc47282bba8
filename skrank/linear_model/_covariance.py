r"""Covariances of fitted scores: of the model, robust against ties, and clustered by who compared.

With the information H at the mode, the model's covariance is :math:`H^{-1}`. Where the votes vary otherwise than the
model says, it is the sandwich :math:`H^{-1} M H^{-1}`, with M the covariance of the gradient:

- *robust*: M from the squared residual of each comparison. Ties counted as half a win vary less than wins and losses.
- *clustered*: comparisons of one cluster (those of one judge, or about one prompt) are not independent.
  :math:`D_g = (H - H_g)^{-1} s_g` is about what leaving out cluster g changes, where s_g is its gradient and H_g its
  information; :math:`\frac{G - 1}{G} \sum_g D_g D_g^\top` is the jackknife's covariance (CR3 [1]_). Intervals use
  Student's t with G* - 1 degrees of freedom, :math:`G^* = (\sum N_g)^2 / \sum N_g^2` for clusters of N_g comparisons.
  Two ways of clustering a and b give :math:`V_a + V_b - V_{ab}` [2]_.

As :math:`D_g = H^{-1} v_g` with :math:`v_g = (I - H_g H^{-1})^{-1} s_g`, and s_g and H_g are zero outside the few
parameters T that the cluster is about, v_g needs one system of size T, and M is a sparse product of the v_g. The
penalty contributes alpha to M: what is not compared is as uncertain as the prior.

.. [1] R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
   samples", Survey Methodology 28, 2002.
.. [2] A. C. Cameron, J. B. Gelbach and D. L. Miller, "Robust inference with multiway clustering", Journal of Business &
   Economic Statistics 29, 2011.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

from skrank.linear_model._newton import center

_BATCH_BYTES = 1 << 26
_MOST_TERMS, _PRECISION = 25, 1e-11
_RIDGE = 1e-10  # what no other cluster tells of has an infinite error: about 1 / _RIDGE


class Contributions(NamedTuple):
    """Terms of the likelihood, each of one cluster and of k parameters; all terms of a cluster are together.

    Attributes
    ----------
    cluster : ndarray of shape (n_terms,)
        Cluster of each term, ascending.
    parameters : ndarray of shape (n_terms, k)
        Their numbers.
    gradient : ndarray of shape (n_terms, k)
        Of the log-likelihood.
    information : ndarray of shape (n_terms, k, k)
        Of the term.
    """

    cluster: np.ndarray
    parameters: np.ndarray
    gradient: np.ndarray
    information: np.ndarray


# ---------------------------------------------------------------- the bread
def centered_inverse(information, alpha, component):
    """Covariance of scores relative to the mean of their component: the inverse, without its constant vectors.

    Parameters beyond the items have covariances too; they are not centered.
    """
    n_items = len(component)
    sizes = np.bincount(component)[component]
    same = component[:, None] == component
    matrix = information.toarray()
    # Constants on a component are eigenvectors with the eigenvalue alpha: move it among the others and take its share
    # out again.
    moved = matrix.diagonal()[:n_items].mean()
    matrix[:n_items, :n_items] += same * ((moved - alpha) / sizes)
    inverse = np.linalg.inv(matrix)
    inverse[:n_items, :n_items] -= same / (moved * sizes)
    return inverse


def sampled_standard_errors(graph, scores, information, alpha, component, n_draws, random_state):
    r"""Standard errors of the model as the diagonal of `centered_inverse` gives them, without a dense matrix.

    With H the information, D its diagonal and A = D - H, a draw x from N(0, H^-1) has variance
    :math:`1 / D_i + \mathrm{Var}((D^{-1} A x)_i)`: the variance of x_i given the other items, which is exact, and the
    variance of its mean given them, which the draws estimate. The latter is about one part in the number of an item's
    opponents, so that few draws serve. The mean of each component is split off and added in closed form.
    """
    sizes = np.bincount(component)[component]
    diagonal = information.diagonal()
    p = expit(graph.differences(scores))
    deviation = np.sqrt(graph.total * p * (1 - p))
    preconditioner = LinearOperator(information.shape, matvec=lambda v: v / diagonal, dtype=float)
    variance = np.zeros(graph.n_items)

    for _ in range(n_draws):
        noise = graph.divergence(deviation * random_state.standard_normal(len(deviation)))
        noise += np.sqrt(alpha) * center(random_state.standard_normal(graph.n_items), component)
        x, _ = cg(information, noise, rtol=1e-2, maxiter=1000, M=preconditioner)
        x = center(x, component)
        variance += (x - (information @ x) / diagonal) ** 2
    variance /= n_draws
    variance += 1 / diagonal - (2 / diagonal - alpha / diagonal**2) / sizes
    return np.sqrt(np.maximum(variance, 0))


# ---------------------------------------------------------------- the meat
def penalty(alpha, n_items, n_parameters):
    """What the prior contributes to the covariance of the gradient."""
    return diags_array(np.where(np.arange(n_parameters) < n_items, alpha, 0.0)).tocsr()


def jackknife_factor(contributions, n_clusters, inverse):
    r"""The :math:`v_g`, times the root of :math:`(G - 1) / G`, as a sparse matrix with a row for each cluster.

    Parameters
    ----------
    contributions : iterable of Contributions
        Each cluster is in one of them.
    n_clusters : int
        G.
    inverse : ndarray of shape (n_parameters, n_parameters) or (n_parameters,)
        Inverse of the information; its diagonal, where there are too many items for the matrix, leaves out what
        connects the items of a cluster through others, which is one part in the number of opponents.
    """
    vectors = vstack([_jackknife_vectors(terms, inverse) for terms in contributions]).tocsr()
    return vectors * np.sqrt((n_clusters - 1) / n_clusters)


def gram(factor):
    """factor' factor; by dense blocks where rows hold many items."""
    n_rows, n_columns = factor.shape
    if factor.nnz < 0.05 * n_rows * n_columns:
        return factor.T @ factor
    total = np.zeros(2 * (n_columns,))
    size = max(1, _BATCH_BYTES // (8 * n_columns))
    for start in range(0, n_rows, size):
        block = factor[start : start + size].toarray()
        total += block.T @ block
    return csr_array(total)


class FactoredMeat:
    """A sparse matrix and the signed squares of sparse factors, of which only products with vectors are formed."""

    def __init__(self, base, factors):
        self.base, self.factors = base, factors

    def __matmul__(self, vector):
        return self.base @ vector + sum(sign * (factor.T @ (factor @ vector)) for sign, factor in self.factors)

    def diagonal(self):
        """The diagonal of the matrix."""
        squares = (sign * (factor.multiply(factor)).sum(axis=0) for sign, factor in self.factors)
        return self.base.diagonal() + sum(squares)


def _jackknife_vectors(terms, inverse):
    """The v_g of the terms' clusters, a sparse matrix with one row for each."""
    n_parameters = len(inverse)
    _, first, cluster = np.unique(terms.cluster, return_index=True, return_inverse=True)
    n_clusters = len(first)
    key, place = np.unique(cluster[:, None] * n_parameters + terms.parameters, return_inverse=True)
    place = place.reshape(terms.parameters.shape)
    indptr = np.searchsorted(key, np.arange(n_clusters + 1) * n_parameters)
    indices = key % n_parameters
    gradient = np.bincount(place.ravel(), terms.gradient.ravel(), len(key))
    local = place - indptr[cluster][:, None]
    sizes, ends = np.diff(indptr), np.append(first[1:], len(cluster))
    values = np.empty(len(key))
    for batch in _batches(sizes):
        t = int(sizes[batch].max())
        mine = np.arange(t) < sizes[batch][:, None]
        places = np.where(mine, indptr[batch][:, None] + np.arange(t), 0)
        rows, owner = _ranges(first[batch], ends[batch])
        cell = (owner[:, None, None] * t + local[rows][:, :, None]) * t + local[rows][:, None, :]
        information = np.bincount(cell.ravel(), terms.information[rows].ravel(), len(batch) * t * t)
        information = information.reshape(len(batch), t, t)
        right = np.where(mine, gradient[places], 0)
        index = indices[places]
        if inverse.ndim == 1:
            own = np.eye(t) * inverse[index][:, None, :]
        else:
            own = inverse[index[:, :, None], index[:, None, :]]
        solved = _solve_leverages(information, own, right)
        values[places[mine]] = solved[mine]
    return csr_array((values, indices, indptr), shape=(n_clusters, n_parameters))


def _solve_leverages(information, inverse, right):
    """(I - H_g K)^-1 s for a batch: its series, which is short where clusters are small, or else elimination."""
    result = right
    for _ in range(_MOST_TERMS):
        updated = right + _apply(information, _apply(inverse, result))
        change, size = np.abs(updated - result).max(axis=1), np.abs(updated).max(axis=1)
        result = updated
        if (change <= _PRECISION * size).all():
            return result
    slow = ~(change <= _PRECISION * size)
    system = (1 + _RIDGE) * np.eye(right.shape[1]) - information[slow] @ inverse[slow]
    result[slow] = np.linalg.solve(system, right[slow][:, :, None])[:, :, 0]
    return result


def _apply(matrices, vectors):
    return (matrices @ vectors[:, :, None])[:, :, 0]


def _batches(sizes):
    """Clusters of similar sizes, in batches of bounded memory."""
    order = np.argsort(sizes, kind="stable")
    start = 0
    while start < len(order):
        least = sizes[order[start]]
        stop = np.searchsorted(sizes[order], 1.5 * least + 1, side="right")
        most = max(1, _BATCH_BYTES // (32 * int(1.5 * least + 1) ** 2))
        stop = min(stop, start + most)
        yield order[start:stop]
        start = stop


def _ranges(starts, ends):
    """The numbers from each start to its end, and which range each is of."""
    lengths = ends - starts
    owner = np.repeat(np.arange(len(starts)), lengths)
    return np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths), owner


def degrees_of_freedom(cluster, weight):
    """G* - 1, with G* the number of clusters of equal sizes that are worth as much."""
    sizes = np.bincount(cluster, weight)
    return sizes.sum() ** 2 / (sizes**2).sum() - 1


# ---------------------------------------------------------------- the sandwich
def sandwich(inverse, meat):
    """H^-1 M H^-1, with no negative eigenvalues: two ways of clustering less both can have some."""
    covariance = inverse @ (meat @ inverse)
    covariance = (covariance + covariance.T) / 2
    values, vectors = np.linalg.eigh(covariance)
    if values[0] < -1e-12 * values[-1]:
        covariance = (vectors * np.maximum(values, 0)) @ vectors.T
    return covariance


def sampled_variances(information, meat, component, n_draws, random_state):
    """Diagonal of the sandwich of centered scores V = H^-1 M H^-1, without a dense matrix.

    With D the diagonal of H, that of W = D^-1 M D^-1 is known, and W is near V. What is between is the mean of e times
    (V - W) e over random signs e.
    """
    n_items = len(component)
    solve = _centered_solver(information, component, rtol=1e-4)
    unit = 1 / information.diagonal()
    total = np.zeros(n_items)
    for _ in range(n_draws):
        signs = np.where(random_state.random_sample(len(unit)) < 0.5, -1.0, 1.0)
        difference = solve(meat @ solve(signs)) - unit * (meat @ (unit * signs))
        total += signs[:n_items] * difference[:n_items]
    return np.maximum(total / n_draws + (unit**2 * meat.diagonal())[:n_items], 0)


def covariance_column(information, meat, component, item):
    """One column of the sandwich of centered scores."""
    solve = _centered_solver(information, component, rtol=1e-8)
    unit = np.zeros(information.shape[0])
    unit[item] = 1
    return solve(meat @ solve(unit))[: len(component)]


def parameter_variance(information, meat, number):
    """Variance of a parameter that is no score."""
    diagonal = information.diagonal()
    unit = np.zeros(len(diagonal))
    unit[number] = 1
    preconditioner = LinearOperator(information.shape, matvec=lambda v: v / diagonal, dtype=float)
    solution = cg(information, unit, rtol=1e-8, maxiter=1000, M=preconditioner)[0]
    return float(solution @ (meat @ solution))


def _centered_solver(information, component, rtol):
    """Function that applies the centered inverse of the information to a vector."""
    n_items = len(component)
    diagonal = information.diagonal()
    preconditioner = LinearOperator(information.shape, matvec=lambda v: v / diagonal, dtype=float)

    def centered(vector):
        vector = vector.copy()
        vector[:n_items] = center(vector[:n_items], component)
        return vector

    def solve(vector):
        return centered(cg(information, centered(vector), rtol=rtol, maxiter=1000, M=preconditioner)[0])

    return solve
