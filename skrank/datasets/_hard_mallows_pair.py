"""Pairs of mixtures of Mallows models that are hard to tell apart."""

import itertools
from math import comb
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._mallows import log_q_factorial
from skrank._random import as_generator
from skrank._typing import ArrayLike, RandomState, validate_params
from skrank.datasets._generators import make_mixture, one_center


@validate_params(
    {
        "kind": [StrOptions({"concentric", "block_flips"})],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_items": [Interval(Integral, 2, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "phi": [Interval(Real, 0, 1, closed="both"), None],
        "mu": [Interval(Real, 0, 1, closed="neither"), None],
        "center": ["array-like", None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_hard_mallows_pair(
    kind: Literal["concentric", "block_flips"] = "concentric",
    *,
    n_samples: int = 1000,
    n_items: int = 20,
    n_components: int = 2,
    phi: float | None = None,
    mu: float | None = None,
    center: ArrayLike | None = None,
    random_state: RandomState = None,
) -> Any:
    """Two mixtures of Mallows models that are hard to distinguish although their components differ.

    They are the examples in the lower bounds of Liu and Moitra [1]_ for any method, or any local method.

    Parameters
    ----------
    kind : {"concentric", "block_flips"}, default="concentric"
        "concentric" (Lemma 9): all components have the same center. The dispersions are phi, 3 phi, ..., (2k - 1) phi
        in the first mixture and 2 phi, 4 phi, ..., 2k phi in the second. The weights are those of a binomial sum that
        vanishes on all rankings within 2k - 2 disagreements of the center, so the mixtures are much closer than their
        components. The conditions of the lemma are satisfied if `mu` is passed.

        "block_flips" (Theorem 6.1): l blocks of neighboring items, k = 2^(l - 1) components with equal weights. A
        component exchanges every pair of neighbors inside some of the blocks: an even number of blocks in the first
        mixture, an odd number in the second. All distributions of fewer than l items are the same in both, so that
        local queries of fewer than l items and their positions (Definition 13) cannot distinguish them.
    n_samples : int, default=1000
        Number of rankings drawn from each mixture.
    n_items : int, default=20
        Number of items; for "block_flips" a multiple of 2 l.
    n_components : int, default=2
        Number k of components of each mixture; for "block_flips" a power of 2.
    phi : float, default=None
        For "concentric" the smallest dispersion, lambda in the paper, at most 1 / (2k); None means 2 mu / n_items, or
        0.01 without `mu`, which with the default `n_items` is an example outside the lemma's conditions. For
        "block_flips" the dispersion of all components; None means the paper's 1 - sqrt(k / n_items).
    mu : float, default=None
        For "concentric", instead of `phi`: lower bound on the total variation distance between any two components, and
        between each component and the uniform distribution. It must be at most 1 / (40 k^2), with n_items >= 40 k^2.
        Then (Lemma 9) every weight is at least 1 / (10 * 4^k), the total variation distance of the mixtures is at most
        4 (8 mu k)^(2k - 1), and they are not component-wise mu-close.
    center : array-like of shape (n_items,), default=None
        The ranking from which the centers are derived. None draws one.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    first, second : :class:`~sklearn.utils.Bunch`
        Each with keys `X`, `y`, `weights`, `centers` and `dispersions` as in :func:`make_mallows_mixture`.

    Raises
    ------
    ValueError
        If `phi`, `mu`, `n_items` or `n_components` are outside the ranges above, or `phi` and `mu` are both given.

    References
    ----------
    .. [1] A. Liu and A. Moitra, "Efficiently Learning Mixtures of Mallows Models", FOCS 2018.

    Examples
    --------
    >>> from skrank.datasets import make_hard_mallows_pair
    >>> first, second = make_hard_mallows_pair("concentric", n_components=2, random_state=0)
    >>> first.dispersions, second.dispersions
    (array([0.01, 0.03]), array([0.02, 0.04]))
    >>> first, second = make_hard_mallows_pair("block_flips", n_items=8, center=range(8), random_state=0)
    >>> first.centers
    array([[0, 1, 2, 3, 4, 5, 6, 7],
           [1, 0, 3, 2, 5, 4, 7, 6]])
    >>> second.centers
    array([[0, 1, 2, 3, 5, 4, 7, 6],
           [1, 0, 3, 2, 4, 5, 6, 7]])
    """
    rng = as_generator(random_state)
    center = one_center(center, n_items, rng)
    make = _concentric_pair if kind == "concentric" else _block_flips_pair
    pair = make(
        center, n_components, phi if mu is None else _dispersion_of_lemma_9(kind, n_items, n_components, phi, mu)
    )
    first, second = (
        make_mixture(n_samples, centers, dispersions, weights, rng) for centers, dispersions, weights in pair
    )
    return first, second


def _dispersion_of_lemma_9(kind, n_items, n_components, phi, mu):
    if kind != "concentric" or phi is not None:
        raise ValueError(
            "mu takes the place of phi for kind='concentric': give one of the two, and mu for no other kind."
        )
    least_items = 40 * n_components**2
    if mu > 1 / least_items or n_items < least_items:
        raise ValueError(
            f"Lemma 9 needs mu <= 1 / (40 k^2) = {1 / least_items:g} and n_items >= 40 k^2 = {least_items} with "
            f"n_components = k = {n_components}, got mu={mu!r} and n_items={n_items}. Give phi for a pair outside its "
            "conditions."
        )
    return 2 * mu / n_items


def _concentric_pair(center, n_components, phi):
    """Lemma 9: signed binomial multiples of phi^d that vanish within 2k - 2 disagreements, split by sign."""
    phi = 0.01 if phi is None else phi
    n_models = 2 * n_components
    if not 0 < phi * n_models <= 1:
        raise ValueError(
            f"phi must be in (0, {1 / n_models:g}], as the largest of the dispersions is {n_models} phi, got {phi!r}."
        )
    dispersions = phi * np.arange(1, n_models + 1)
    log_binomials = np.log([comb(n_models - 1, i) for i in range(n_models)])
    coefficients = np.exp(log_binomials + log_q_factorial(len(center), -np.log(dispersions))[:, -1])
    # Equal total masses: the smaller side's coefficient of its least dispersion is increased.
    difference = coefficients[::2].sum() - coefficients[1::2].sum()
    coefficients[1 if difference > 0 else 0] += abs(difference)
    centers = np.tile(center, (n_components, 1))
    for side in (slice(0, None, 2), slice(1, None, 2)):
        yield centers, dispersions[side], coefficients[side] / coefficients[side].sum()


def _block_flips_pair(center, n_components, phi):
    """Theorem 6.1: centers with all pairs flipped in an even, or an odd, number of blocks."""
    n_items, n_blocks = len(center), n_components.bit_length()
    if n_components != 1 << (n_blocks - 1):
        raise ValueError(f"n_components must be a power of 2 for kind='block_flips', got {n_components}.")
    if n_items % (2 * n_blocks):
        raise ValueError(
            f"n_items must be a multiple of 2 l = {2 * n_blocks}, as n_components = {n_components} = 2^(l - 1) takes "
            f"l = {n_blocks} blocks of pairs, got {n_items}."
        )
    if phi is None:
        phi = 1 - np.sqrt(n_components / n_items)
    block = center // (n_items // n_blocks)
    flips = np.array(list(itertools.product([False, True], repeat=n_blocks)))
    centers = np.where(flips[:, block], center ^ 1, center)
    is_odd = flips.sum(axis=1) % 2 == 1
    for side in (~is_odd, is_odd):
        yield centers[side], np.full(n_components, float(phi)), np.full(n_components, 1 / n_components)
