"""Starts: the first mixture of a search. A new one is a subclass of `Start` that an estimator's `_starts` returns."""

import numpy as np
from sklearn.cluster import KMeans as ScikitLearnKMeans

from skrank.mixture._em import em, maximization, one_component
from skrank.mixture._liu_moitra import candidate_centers, make_atoms, select_atoms
from skrank.mixture._model import Mixture
from skrank.mixture._search._growth import grow
from skrank.mixture._search._options import subsample
from skrank.mixture._search._peel import additions
from skrank.mixture._transpositions import polish
from skrank.mixture._voters import complete_table

KMEANS_ROWS = 3000
FIRST_DISPERSION = 0.5
LEAST_COMPLETE = 10  # complete rankings without which heavy cells say nothing


class Start:
    """Where a search starts; a subclass has a method `mixture`, or `mixtures` if it gets there by smaller ones."""

    is_random = False  # whether a second run may find something else

    def n_steps(self, n_components):
        """How often the start reports its progress, at most."""
        return 0

    def mixture(self, data, n_components, rng, options):
        """The first mixture, before any EM.

        Parameters
        ----------
        data : PairSigns
        n_components : int
        rng : numpy.random.Generator
        options : SearchOptions

        Returns
        -------
        mixture : Mixture
        """
        raise NotImplementedError

    def mixtures(self, data, n_components, rng, options, task):
        """The mixtures on the way to the first one, and that one last; `task` hears of each step and may stop them."""
        return [self.mixture(data, n_components, rng, options)]

    def larger(self, data, mixture, rng, options):
        """A mixture of one component more than the given one, polished: here from scratch."""
        return improved(data, self.mixture(data, mixture.n_components + 1, rng, options), options)


class Peel(Start):
    """Grow the mixture by one component at a time (inspired by Theorem 1.1 of Liu and Moitra)."""

    is_random = True

    def n_steps(self, n_components):
        return n_components - 1

    def mixtures(self, data, n_components, rng, options, task):
        mixtures = [one_component(data)]
        while mixtures[-1].n_components < n_components and not task.step("peel"):
            mixtures.append(self._grown(data, mixtures[-1], rng, options))
        return mixtures

    def larger(self, data, mixture, rng, options):
        return improved(data, self._grown(data, mixture, rng, options), options)

    @staticmethod
    def _grown(data, mixture, rng, options):
        return (grow if options.with_polish else additions)(data, mixture, rng, options)[0]


class KMeans(Start):
    """Components of the groups that k-means finds in the pair signs of at most 3000 rankings."""

    is_random = True

    def __init__(self, n_init=10):
        self.n_init = n_init

    def mixture(self, data, n_components, rng, options):
        data = subsample(data, KMEANS_ROWS, rng)
        kmeans = ScikitLearnKMeans(n_components, n_init=self.n_init, random_state=int(rng.integers(2**31)))
        labels = kmeans.fit(data.signs(), sample_weight=data.weights).labels_
        row_weights = 0.9 * np.eye(n_components)[:, labels] + 0.1 / n_components
        row_weights = (row_weights * data.weights).astype(np.float32)
        centers, dispersions, _ = maximization(data, row_weights)
        weights = row_weights.sum(axis=1, dtype=float)
        return Mixture(centers, dispersions, weights / weights.sum())


class Random(Start):
    """Distinct rankings as centers, drawn by weight."""

    is_random = True

    def mixture(self, data, n_components, rng, options):
        rows = rng.choice(data.n_rows, n_components, replace=False, p=data.weights / data.total_weight)
        return _all_even(data.rankings(rows))


class Centers(Start):
    """Given centers (positions), all else even."""

    def __init__(self, centers):
        self.centers = centers

    def mixture(self, data, n_components, rng, options):
        return _all_even(self.centers)


class Separated(Start):
    """Theorem 1.4 up to the polish: candidate centers from heavy cells, then selection by likelihood.

    Candidates come from the complete rankings alone, where voters gave others too.
    """

    def __init__(self, max_prefix):
        self.max_prefix = max_prefix

    def mixture(self, data, n_components, rng, options):
        least_weight = options.least_weight(data)
        complete = complete_table(data)
        if complete is not data and complete.total_weight < LEAST_COMPLETE:
            raise ValueError(
                f"The constructions of SeparatedMallowsMixture need complete rankings, and only "
                f"{complete.total_weight:g} of {data.total_weight:g} voters gave just one that leaves no item out. Use "
                "MallowsMixture, which starts from any kind of preference."
            )
        centers = candidate_centers(complete, n_components, max_prefix=self.max_prefix, min_weight=least_weight)
        return select_atoms(data, make_atoms(data, centers), n_components, least_weight)


def _all_even(centers):
    n_components = len(centers)
    return Mixture(centers, np.full(n_components, FIRST_DISPERSION), np.full(n_components, 1 / n_components))


def improved(data, mixture, options):
    """A first mixture after EM, and adjacent transpositions if the options ask for a polish."""
    return (polish if options.with_polish else em)(data, mixture, options.max_iter, options.tol)
