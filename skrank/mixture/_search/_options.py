"""What every part of the search is told, and the part of the rankings that it runs on."""

from dataclasses import dataclass

import numpy as np

FEW_DRAWN = 50  # draws that are fewer than one in so many are made one by one


@dataclass(frozen=True)
class SearchOptions:
    """How the search for components is done; the defaults are those of the estimators."""

    min_weight: float = 0.02
    max_iter: int = 150
    tol: float = 1e-7
    n_points: int = 32  # random rankings that are tried as new centers
    n_heavy: int = 4  # and the most repeated ones
    n_kept: int = 6  # new components that get a full EM
    n_finalists: int = 3  # of which that many are polished
    n_splits: int = 3  # and that many components cut in halves
    max_rows: int = 3000  # distinct rankings that components are searched on
    with_exchange: bool = True
    with_polish: bool = True  # without it the search is plain EM

    def least_weight(self, data):
        """Below this a component is a spike on a few rankings: `min_weight`, and ten rankings."""
        return min(max(self.min_weight, 10 / data.total_weight), 0.5)


def draw_counts(weights, size, rng):
    """Counts of a random draw of about `size` rankings without replacement from those that the weights stand for.

    Exactly `size` where the weights are whole numbers. The fraction of another weight is drawn or not as one.
    """
    whole = np.floor(weights)
    if (whole == weights).all() and weights.sum() < 1e9:
        if size * FEW_DRAWN < weights.sum():
            drawn = rng.choice(int(weights.sum()), size, replace=False, shuffle=False)
            return np.bincount(np.searchsorted(np.cumsum(weights), drawn, side="right"), minlength=len(weights)) * 1.0
        return rng.multivariate_hypergeometric(whole.astype(np.int64), size, method="marginals").astype(float)
    share = size / weights.sum()
    return rng.binomial(whole.astype(np.int64), share) + (weights - whole) * (rng.random(len(weights)) < share)


def subsample(data, size, rng):
    """The table of a random draw of `size` rankings; the data themselves if they have no more distinct ones."""
    if data.n_rows <= size:
        return data
    counts = draw_counts(data.weights, size, rng)
    rows = np.flatnonzero(counts)
    return data.subset(rows, counts[rows])
