"""Minimization of a loss in the items' coordinates, and in lapse rates, by L-BFGS in standard errors."""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from skrank.manifold._triplet_loss import NO_LAPSE

USUAL_LAPSE = 0.05
_LOGIT_DEVIATION = 3.0  # of a lapse rate's prior, so wide that a few dozen responses overrule it
_LARGE = 10**6  # coordinates, beyond which the memory of the former steps counts
_LONGEST_FIRST_STEP = 0.5  # in units in which responses err at squared distances near 1


class LapseRates:
    """Lapse rates as unknowns: logits of twice the rate, under a wide normal prior around `USUAL_LAPSE`."""

    def __init__(self, start):
        self.logits = logit(2 * np.clip(np.asarray(start, float), 1e-4, 0.4999))

    @staticmethod
    def rates(logits):
        """Rates between 0 and 1/2."""
        return 0.5 * expit(logits)

    @staticmethod
    def slopes(rates):
        """Derivatives of the rates in their logits."""
        return rates * (1 - 2 * rates)

    @staticmethod
    def prior(logits):
        """Negative log-density, its gradient and its curvature."""
        off = (logits - logit(2 * USUAL_LAPSE)) / _LOGIT_DEVIATION
        return 0.5 * float(off @ off), off / _LOGIT_DEVIATION, 1 / _LOGIT_DEVIATION**2


def regularized_blocks(blocks):
    """Blocks of curvature with a ridge that makes them safe to invert; changed in place."""
    trace = np.einsum("naa->n", blocks)
    floor = 1e-3 * trace + 1e-3 * trace.mean() + np.finfo(blocks.dtype).tiny
    for a in range(blocks.shape[1]):
        blocks[:, a, a] += floor
    return blocks


class _Problem:
    """The loss in coordinates u in which the curvature of each item at the start is the identity.

    With LL' the blocks of curvature at the start, u = c L'(X - start), so that a gradient in u is c^-1 times a step in
    standard errors. The constant c is chosen for the first step of L-BFGS-B, whose length is one.
    """

    def __init__(self, loss, start, lapse, estimates_lapse):
        self.loss, self.start = loss, start
        self.fixed_lapse, self.unknown = lapse, LapseRates(lapse) if estimates_lapse else None
        blocks = regularized_blocks(loss.curvature_blocks(start, lapse).astype(float))
        self.whitening = np.linalg.inv(np.linalg.cholesky(blocks))
        self.n_rates = 0
        if self.unknown is not None:
            information = loss.lapse_information(start, lapse) * LapseRates.slopes(np.asarray(lapse)) ** 2
            self.rate_unit = 1 / np.sqrt(information + LapseRates.prior(self.unknown.logits)[2])
            self.n_rates = len(self.rate_unit)
        self.length = 1.0
        value, gradient = self.evaluate(np.zeros(start.size + self.n_rates))
        whitened = gradient[: start.size].reshape(start.shape)
        longest = np.sqrt((np.einsum("nba,nb->na", self.whitening, whitened) ** 2).sum(axis=1).max())
        self.length = np.linalg.norm(gradient) * min(1.0, _LONGEST_FIRST_STEP / max(longest, 1e-300))
        self.first = value, gradient

    def unpack(self, u):
        """Coordinates, logits and lapse rates."""
        size = self.start.size
        X = self.start + self.length * np.einsum("nba,nb->na", self.whitening, u[:size].reshape(self.start.shape))
        if self.unknown is None:
            return X, None, self.fixed_lapse
        logits = self.unknown.logits + self.length * self.rate_unit * u[size:]
        return X, logits, LapseRates.rates(logits)

    def evaluate(self, u):
        """Loss and gradient at u."""
        X, logits, rates = self.unpack(u)
        value, gradient, lapse_gradient = self.loss.evaluate(X, rates)
        gradient = np.einsum("nab,nb->na", self.whitening, gradient).ravel()
        if self.unknown is not None:
            penalty, pull, _ = LapseRates.prior(logits)
            value += penalty
            own = (lapse_gradient * LapseRates.slopes(rates) + pull) * self.rate_unit
            gradient = np.concatenate([gradient, own])
        return value, self.length * gradient

    def remaining_step(self, gradient):
        """Root mean square of the remaining step, in standard errors; of lapse rates a tenth of the largest."""
        step = np.sqrt(np.mean(gradient[: self.start.size] ** 2))
        if self.unknown is not None:
            step = max(step, 0.1 * np.abs(gradient[self.start.size :]).max())
        return step / self.length if self.length else 0.0


def minimize_loss(loss, start, max_iter, tol, callback=None, *, lapse=NO_LAPSE, estimates_lapse=False):
    """Coordinates, and lapse rates, that minimize a loss.

    Parameters
    ----------
    loss : TripletLoss or another loss with `evaluate`, `curvature_blocks` and `lapse_information`
        The loss.
    start : ndarray of shape (n_items, n_components)
        Where to start.
    max_iter : int
        Largest number of L-BFGS iterations.
    tol : float
        Stop when the root mean square of the remaining step, in standard errors, is below this.
    callback : callable, default=None
        Called as `callback(n_iter, loss)` after each iteration; a true answer stops the descent.
    lapse : ndarray of shape (n_rates,), default=zero
        Lapse rates, or their start.
    estimates_lapse : bool, default=False
        Whether the lapse rates are unknown, too.

    Returns
    -------
    X : ndarray of shape (n_items, n_components)
    lapse : ndarray of shape (n_rates,)
    info : dict
        `loss`, `n_iter`, `n_evaluations`, `step` (the quantity that `tol` bounds), `converged`, `stopped`.
    """
    problem = _Problem(loss, start, np.asarray(lapse, float), estimates_lapse)
    value, gradient = problem.first
    state: dict[str, Any] = {"loss": value, "n_iter": 0, "n_evaluations": 1, "stopped": False}
    state["step"] = float(problem.remaining_step(gradient) * problem.length)
    state["converged"] = bool(state["step"] <= tol)
    if state["converged"] or problem.length == 0 or max_iter == 0:
        return start, problem.fixed_lapse, state
    latest: dict[str, Any] = {"u": np.zeros(len(gradient)), "result": (value, problem.length * gradient)}

    def value_and_gradient(u):
        if not np.array_equal(u, latest["u"]):
            latest.update(u=u.copy(), result=problem.evaluate(u))
            state["n_evaluations"] += 1
        return latest["result"]

    def after_iteration(intermediate_result):
        value, gradient = value_and_gradient(intermediate_result.x)
        state["n_iter"] += 1
        state["loss"], state["step"] = value, float(problem.remaining_step(gradient))
        state["converged"] = bool(state["step"] <= tol)
        state["stopped"] = bool(callback is not None and callback(state["n_iter"], value))
        if state["stopped"] or state["converged"]:
            raise StopIteration

    result = minimize(
        value_and_gradient,
        np.zeros(len(gradient)),
        jac=True,
        method="L-BFGS-B",
        callback=after_iteration,
        options={
            "maxiter": max_iter,
            "maxfun": 10 * max_iter,
            "maxcor": 8 if start.size < _LARGE else 4,
            "ftol": 1e-8,
            "gtol": 0,
        },
    )
    # single precision can end the descent first: the loss no longer changes at its own rounding
    state["converged"] |= result.status == 0 or bool(state["step"] <= 10 * tol and result.status == 2)
    X, _, rates = problem.unpack(result.x)
    return X, rates, state
