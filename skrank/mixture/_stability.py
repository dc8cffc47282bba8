"""Which components of a fitted mixture random halves of the voters find again."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score

from skrank._typing import Floats, Integers
from skrank.mixture._em import expectation
from skrank.mixture._search import FOUND, STABLE, Halves, subsample

VERY_STABLE = 0.75  # from here on, by Hennig, a group is a stable one
MOST_COUNTED = 10_000  # voters of which the labels are compared


@dataclass(frozen=True, repr=False)
class StabilityResult:
    """Result of :meth:`skrank.MallowsMixture.stability`: what random halves of the voters find again.

    Attributes
    ----------
    indices : ndarray of shape (n_halves, n_components)
        For each half, the largest soft Jaccard index in [0, 1] of the component with a component of the half: the
        membership that both share, divided by the membership that either has.
    agreement : ndarray of shape (n_halves,)
        Adjusted Rand index between the most probable components under the mixture and under that of the half: 1 for
        equal groups, 0 for chance.
    stability : ndarray of shape (n_components,)
        Mean of `indices` over the halves. From .75 on a component is stable; below .6 it is unreliable (Hennig 2007).
    n_found : ndarray of shape (n_components,), int
        Number of halves in which the component is found again, that is, with an index above .5. At most one component
        of a half can have such an index if memberships are certain.
    n_halves : int
        Number of halves.

    Examples
    --------
    >>> from skrank import MallowsMixture
    >>> from skrank.datasets import make_mallows_mixture
    >>> X, _ = make_mallows_mixture(400, 6, n_components=2, phi=0.4, random_state=0)
    >>> print(MallowsMixture(n_components=2, random_state=0).fit(X).stability(X, n_halves=8))
    component 0: 0.97, came back in 8 of 8 halves: stable
    component 1: 0.97, came back in 8 of 8 halves: stable
    """

    indices: Floats
    agreement: Floats

    @property
    def stability(self) -> Floats:
        """Mean of the indices over the halves."""
        return self.indices.mean(axis=0)

    @property
    def n_found(self) -> Integers:
        """Number of halves in which a component came back."""
        return (self.indices > FOUND).sum(axis=0)

    @property
    def n_halves(self) -> int:
        """Number of halves."""
        return len(self.indices)

    def __str__(self) -> str:
        return "\n".join(
            f"component {number}: {value:.2f}, came back in {found} of {self.n_halves} halves: {verdict(value)}"
            for number, (value, found) in enumerate(zip(self.stability, self.n_found, strict=True))
        )

    def __repr__(self) -> str:
        return f"StabilityResult(stability={self.stability.round(2).tolist()}, n_halves={self.n_halves})"


def verdict(stability):
    """What a stability says in words."""
    return "stable" if stability >= VERY_STABLE else "doubtful" if stability >= STABLE else "do not rely on it"


def half_sample_stability(data, mixture, n_halves, starts, options, rng, n_jobs=None):
    """The `StabilityResult` of a mixture, from halves of the data that are searched for as many components."""
    halves = Halves(data, starts, options, rng, n_jobs)
    rows = subsample(data, MOST_COUNTED, rng)
    indices = halves.indices(rows, mixture, n_halves)
    labels = expectation(rows, mixture)[0].argmax(axis=0)
    counts = np.maximum(np.rint(rows.weights), 1).astype(int)
    if counts.sum() > MOST_COUNTED:  # a Rand index needs no more
        counts = rng.multinomial(MOST_COUNTED, rows.weights / rows.total_weight)
    agreement = [
        adjusted_rand_score(
            np.repeat(labels, counts),
            np.repeat(expectation(rows, half.path[mixture.n_components - 1])[0].argmax(axis=0), counts),
        )
        for half in halves.halves[:n_halves]
    ]
    return StabilityResult(indices, np.array(agreement))
