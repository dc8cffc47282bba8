"""Newton's method for the scores of a likelihood, in coordinates that do not depend on the unit of its weights.

A likelihood is an object with `value_and_gradient(parameters)`, `information(parameters)` (an `Information`), a total
weight `n_comparisons`, and `scaled(factor)`. Its value is the negative log-likelihood plus the penalty.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import block_array, csr_array, diags_array
from scipy.sparse.linalg import LinearOperator, cg

_LOG_ODDS = 0.01  # a step of this share of tol, in log-odds, is small whatever the standard errors
_ROUNDING = 1e-9  # steps below this, relative to the largest score, are rounding errors of the gradient
_TINY = np.finfo(float).tiny


class InformationBase:
    """Second derivatives, positive semidefinite: `diagonal`, `product(vector)` and `tocsr()`."""

    diagonal: np.ndarray

    def product(self, vector):
        """The matrix times a vector."""
        raise NotImplementedError

    def solve(self, vector, rtol=1e-10):
        """Conjugate gradients, the diagonal as preconditioner; the closest that they come."""
        unit = 1 / np.sqrt(self.diagonal + _TINY)
        operator = LinearOperator(
            2 * (len(vector),), matvec=lambda v: unit * self.product(unit * v.ravel()), dtype=float
        )
        return unit * cg(operator, unit * vector, rtol=rtol, maxiter=10 * len(vector) + 1000)[0]


@dataclass(frozen=True)
class Information(InformationBase):
    """Second derivatives: a diagonal, less what is off it between items, bordered by the other parameters.

    Attributes
    ----------
    diagonal : ndarray of shape (n_parameters,)
        The diagonal: of the items first, then of the other parameters.
    adjacency : csr_array or ndarray of shape (n_items, n_items)
        The negated off-diagonal entries between items.
    border : ndarray of shape (n_others, n_parameters)
        Rows of the other parameters, zero on the diagonal.
    """

    diagonal: np.ndarray
    adjacency: csr_array | np.ndarray
    border: np.ndarray

    def product(self, vector):
        """The matrix times a vector."""
        n_others = len(self.border)
        result = self.diagonal * vector
        if n_others == 0:
            return result - self.adjacency @ vector
        items = vector[:-n_others]
        result[:-n_others] += self.border[:, :-n_others].T @ vector[-n_others:] - self.adjacency @ items
        result[-n_others:] += self.border @ vector
        return result

    def tocsr(self):
        """The matrix, sparse."""
        matrix = diags_array(self.diagonal[: self.adjacency.shape[0]]) - csr_array(self.adjacency)
        n_others = len(self.border)
        if n_others:
            corner = self.border[:, -n_others:] + np.diag(self.diagonal[-n_others:])
            side = csr_array(self.border[:, :-n_others])
            matrix = block_array([[matrix, side.T], [side, csr_array(corner)]])
        return matrix.tocsr()


def find_mode(likelihood, start, centered, max_iter, tol):
    """Parameters that minimize a likelihood's value.

    Newton's method, its steps by conjugate gradients in a trust region, in coordinates in which the information of each
    parameter is one (Jacobi preconditioning): at the start, and again at what that leads to. The loss cannot tell
    steps apart that are smaller than about the square root of its rounding error; the last steps are judged by the
    gradient instead.

    Stops when the gradient in the coordinates of the parameters it has reached, a step in standard errors, has a root
    mean square below `tol`. Where weights are so small that standard errors exceed one log-odd, `tol` is of log-odds;
    where they are so large that the loss does not tell such steps apart, a hundredth of it.

    Parameters
    ----------
    likelihood : object
        See the module's docstring.
    start : ndarray of shape (n_parameters,)
        Where to begin.
    centered : callable
        ``centered(parameters)`` moves them to the representative of those that the likelihood does not tell apart.
    max_iter : int
        Largest number of Newton iterations.
    tol : float
        See above.

    Returns
    -------
    parameters : ndarray of shape (n_parameters,)
        Centered.
    info : dict
        `loss`, `n_iter`, `converged`.
    """
    # A factor of the objective leaves the parameters as they are, and makes the largest standard error one.
    scale = 1 / min(1.0, likelihood.information(start).diagonal.max())
    loss = likelihood.scaled(scale)
    parameters, n_iter, progress = start, 0, True
    converged = False
    while progress and not converged and n_iter < max_iter:
        unit = _standard_errors(loss, parameters)
        result = _trust_region(loss, parameters, unit, max_iter - n_iter, tol)
        parameters = centered(unit * result.x)
        n_iter += result.nit
        progress = result.nit > 0
        converged = _is_converged(loss, parameters, tol)
    while not converged and n_iter < max_iter:
        closer = _newton_step(loss, parameters, centered)
        if closer is None:
            converged = _is_rounding(loss, parameters)
            break
        parameters, n_iter = closer, n_iter + 1
        converged = _is_converged(loss, parameters, tol)
    value = loss.value_and_gradient(parameters)[0]
    return parameters, {"loss": float(value / scale), "n_iter": int(n_iter), "converged": converged}


def _standard_errors(loss, parameters):
    """Of each parameter, given all others."""
    return 1 / np.sqrt(loss.information(parameters).diagonal + _TINY)


def _is_converged(loss, parameters, tol):
    error = _standard_errors(loss, parameters)
    step = loss.value_and_gradient(parameters)[1] * error
    return bool(min(_rms(step), _rms(step * error) / _LOG_ODDS) <= tol)


def _newton_step(loss, parameters, centered):
    """Parameters one Newton step on, if their gradient is smaller there, else None."""
    error = _standard_errors(loss, parameters)
    gradient = loss.value_and_gradient(parameters)[1]
    step = loss.information(parameters).solve(gradient)
    closer = centered(parameters - step)
    return closer if _rms(loss.value_and_gradient(closer)[1] * error) < 0.9 * _rms(gradient * error) else None


def _is_rounding(loss, parameters):
    """Whether a further Newton step would be within the rounding errors of the gradient."""
    gradient = loss.value_and_gradient(parameters)[1]
    step = loss.information(parameters).solve(gradient)
    return bool(np.abs(step).max() <= _ROUNDING * max(1.0, np.abs(parameters).max()))


def _rms(values):
    return np.sqrt(np.mean(values**2))


def _trust_region(loss, parameters, unit, max_iter, tol):
    """scipy's result for the parameters divided by `unit`."""
    at: np.ndarray | None = None
    information = loss.information(parameters)

    def value_and_gradient(u):
        value, gradient = loss.value_and_gradient(unit * u)
        return value, unit * gradient

    def product(u, v):
        nonlocal at, information
        if at is None or not np.array_equal(at, u):
            at, information = u.copy(), loss.information(unit * u)
        return unit * information.product(unit * v)

    radius = np.sqrt(loss.n_comparisons + 1)
    return minimize(
        value_and_gradient,
        parameters / unit,
        jac=True,
        hessp=product,
        method="trust-ncg",
        options={
            "gtol": tol * np.sqrt(len(parameters)),
            "maxiter": max_iter,
            "initial_trust_radius": 2 * radius,
            "max_trust_radius": 1e4 * radius,
        },
    )


def center(values, component):
    """Values less the mean of their component."""
    return values - (np.bincount(component, values) / np.bincount(component))[component]
