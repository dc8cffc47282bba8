"""Find out which components random halves of the voters find again.

Each half is searched by itself, by a path of mixtures with one component more each, and starts from nothing that is
known of the whole: so a component that its mixture shares with that of the whole was found twice. The stability of a
component is the mean over halves of its largest soft Jaccard index with a component of the half's mixture,

    max_j  sum_v min(p_v, q_vj) / sum_v max(p_v, q_vj),

p and q the probabilities with which voter v belongs to either (C. Hennig, "Cluster-wise assessment of cluster
stability", Computational Statistics & Data Analysis 52, 2007, there for clusters without overlap). Halves come in
complementary pairs, which share no voter (R. Shah, R. Samworth, "Variable selection with error control", Journal of the
Royal Statistical Society B 75, 2013).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank.mixture._em import em, expectation, one_component
from skrank.mixture._model import Mixture, ranked
from skrank.mixture._search._options import draw_counts, subsample
from skrank.mixture._search._starts import Centers, KMeans, Peel, Random
from skrank.mixture._transpositions import LEAST_GAIN, polish

MORE_HALVES = 4  # at a time, where the decision is close
FOUND = 0.5  # soft Jaccard index above which a component came back: it shares more than it does not
STABLE = 0.6  # Hennig's limit, below which a group is not to be relied on
LEAST_DEVIATION = 0.1  # of a component's indices over halves, as long as there are few of them
N_SETTLING, N_TRIED = 3, 2  # steps of EM by which mixtures of halves are compared, and how many of them are polished
CLOSE = 1.5  # standard errors
SETTLED_HALF = 1e-6  # a half need not settle further than halves differ


@dataclass
class Half:
    """Half of the voters, and its mixtures of 1, 2, ... components."""

    rows: Any
    seed: int
    path: list[Mixture]


class Halves:
    """Random halves of the voters, searched independently.

    Parameters
    ----------
    data : PairSigns or PairCounts
        All voters.
    starts : list of Start
        Those of the estimator. Given centers are left out, since they know the whole; clusters of k-means are added.
    options : SearchOptions
        Each half is searched with fewer candidates, without exchange, and not to the last digit: several halves, and
        two kinds of starts, make up for it.
    rng : numpy.random.Generator
    n_jobs : int, default=None
        Halves in parallel.
    """

    def __init__(self, data, starts, options, rng, n_jobs=None):
        self.data, self.rng, self.n_jobs = data, rng, n_jobs
        tol = max(options.tol, SETTLED_HALF)
        self.options = replace(options, n_kept=2, n_finalists=1, n_splits=2, with_exchange=False, tol=tol)
        self.starts = [start for start in starts if not isinstance(start, Centers | KMeans | Random)]
        self.starts = [*(self.starts[:1] or [Peel()]), KMeans(n_init=3)]
        self.halves: list[Half] = []

    def __len__(self):
        return len(self.halves)

    def add(self, n_halves):
        """Draw halves more, in pairs that share no voter: at least so many."""
        for _ in range(-(-n_halves // 2)):
            counts = draw_counts(self.data.weights, int(self.data.total_weight // 2), self.rng)
            for weights in (counts, self.data.weights - counts):
                rows = np.flatnonzero(weights)
                half = subsample(self.data.subset(rows, weights[rows]), self.options.max_rows, self.rng)
                self.halves.append(Half(half, int(self.rng.integers(2**63)), []))

    def tasks(self, n_components, n_halves):
        """Delayed calls that extend the paths of the first halves up to `n_components`; `receive` takes the results."""
        return [
            delayed(extended_path)(half.rows, half.path, n_components, self.starts, half.seed, self.options)
            for half in self.halves[:n_halves]
            if len(half.path) < n_components
        ]

    def receive(self, n_components, n_halves, paths):
        """Take the results of `tasks`."""
        waiting = [half for half in self.halves[:n_halves] if len(half.path) < n_components]
        for half, path in zip(waiting, paths, strict=True):
            half.path = path

    def grow(self, n_components, n_halves):
        """Extend the paths of the first halves up to `n_components`, drawing more if there are too few."""
        self.add(n_halves - len(self))
        self.receive(n_components, n_halves, Parallel(n_jobs=self.n_jobs)(self.tasks(n_components, n_halves)))

    def likelier(self, rows, mixture, n_halves):
        """The mixture, or one that one of the first halves has found, if that describes the rows more shortly.

        So the mixture of the whole does not depend on the draw of voters that it was searched on.
        """
        k, least_weight = mixture.n_components, self.options.least_weight(rows)
        tol, max_iter = self.options.tol, self.options.max_iter
        found = [half.path[k - 1] for half in self.halves[:n_halves]]
        found = [one for one in found if one.n_components == k]  # a half of few rows has fewer
        tried = ranked(rows, [em(rows, one, N_SETTLING, tol, thorough=False) for one in found], least_weight)[:N_TRIED]
        with threadpool_limits(1):
            tried = [polish(rows, one, max_iter, tol) for one in tried]
        best = ranked(rows, [mixture, *tried], least_weight)[0]
        return best if best.lower_bound > mixture.lower_bound + LEAST_GAIN else mixture

    def indices(self, rows, mixture, n_halves):
        """Soft Jaccard index of each component with the most similar one of each half, (n_halves, n_components).

        Parameters
        ----------
        rows : PairSigns or PairCounts
            The voters that are counted.
        mixture : Mixture
        n_halves : int
            The first so many halves are looked at.
        """
        k = mixture.n_components
        self.grow(k, n_halves)
        membership = expectation(rows, mixture)[0]
        return np.array(
            [
                soft_jaccard(membership, expectation(rows, half.path[k - 1])[0], rows.weights)
                for half in self.halves[:n_halves]
            ]
        )

    def enough_indices(self, rows, mixture, least, most, indices=()):
        """The `indices` of `least` halves, or of up to `most` where these leave open which side of the limit they are.

        Those that are known need not be given again.
        """
        n_halves = max(least, len(indices))
        if len(indices) < n_halves:
            indices = self.indices(rows, mixture, n_halves)
        while is_close(indices) and n_halves < most:
            n_halves = min(n_halves + MORE_HALVES, most)
            indices = self.indices(rows, mixture, n_halves)
        return indices


def extended_path(rows, path, n_components, starts, seed, options):
    """The mixtures of a half up to `n_components`, from those that are known; fewer components if it has fewer rows."""
    path = list(path) or [one_component(rows)]
    with threadpool_limits(1):
        while len(path) < n_components:
            mixture = path[-1]
            if mixture.n_components < rows.n_rows:
                seeds = np.random.default_rng([seed, len(path)]).integers(2**63, size=len(starts))
                grown = [
                    start.larger(rows, mixture, np.random.default_rng(one), options)
                    for start, one in zip(starts, seeds, strict=True)
                ]
                mixture = ranked(rows, grown, options.least_weight(rows))[0]
            path.append(mixture)
    return path


def soft_jaccard(membership, other, weights):
    """For each row of `membership` the largest soft Jaccard index with a row of `other`.

    Parameters
    ----------
    membership, other : ndarrays of shape (n_components, n_voters), (n_other, n_voters)
        Probabilities of the components.
    weights : ndarray of shape (n_voters,)

    Returns
    -------
    indices : ndarray of shape (n_components,)
    """
    both = np.array([np.minimum(own, other) @ weights for own in membership])
    either = (membership @ weights)[:, None] + other @ weights - both
    return (both / np.maximum(either, np.finfo(float).tiny)).max(axis=1)


def is_close(indices):
    """Whether the least stable component is too near the limit to tell, at this number of halves."""
    least = indices[:, indices.mean(axis=0).argmin()]
    error = max(least.std(ddof=1), LEAST_DEVIATION) / np.sqrt(len(least))
    above = least.mean() - STABLE
    return bool(-error < above < CLOSE * error)
