"""The search: starts, polish and exchange on a subsample, a last polish on all rankings.

It is inspired by Theorem 1.1 of Liu and Moitra (FOCS 2018).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.special import gammaln
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank._callbacks import UNWATCHED
from skrank.mixture._em import evaluated, one_component
from skrank.mixture._model import Mixture, description_length, preference_key, ranked
from skrank.mixture._search._criteria import prefers_larger
from skrank.mixture._search._growth import exchange
from skrank.mixture._search._halves import FOUND, STABLE, Halves, is_close
from skrank.mixture._search._options import subsample
from skrank.mixture._search._starts import KMeans, improved
from skrank.mixture._transpositions import polish_large

FEW_HALVES, SOME_HALVES, MANY_HALVES = 4, 8, 16  # for a first look, while growing, and to decide
JUDGED = 4  # times as many rows as are searched on tell which mixture is the likelier one
LEAST_VOTERS = 4  # of fewer there are no halves
# No larger mixture is tried after so many with a component that halves do not find, or so many in a row with one that
# is not stable.
ENOUGH_LOST, ENOUGH_UNSTABLE = 2, 3


class MixtureFit(NamedTuple):
    """One entry of `path_`: the mixture of that many components, and how well it describes the rankings."""

    n_components: int
    weights: np.ndarray
    centers: np.ndarray
    dispersions: np.ndarray
    log_likelihood: float
    description_length: float
    stability: np.ndarray | None = None


class Fit(NamedTuple):
    """A fitted mixture, and the path of mixtures of other numbers of components that were tried."""

    mixture: Mixture
    path: list
    stability: np.ndarray | None = None  # of each component, where halves of the voters were searched
    indices: np.ndarray | None = None  # by half; the stability is their mean
    is_undecided: bool = False  # whether there may be more components than the search was allowed to try


def path_entry(data, mixture, stability=None):
    """The mixture as an entry of the path."""
    mixture = mixture.sorted()
    return MixtureFit(
        mixture.n_components,
        mixture.weights,
        mixture.centers,
        mixture.dispersions,
        mixture.log_likelihood,
        description_length(data, mixture),
        stability,
    )


class Search:
    """A search for the components of a mixture.

    Parameters
    ----------
    data : PairSigns
        All rankings.
    starts : list of Start
        Each is run; the shortest description is kept, without polish the likeliest mixture.
    options : SearchOptions
    rng : numpy.random.Generator
        Draws the subsample at once, then the seed of each run.
    n_jobs : int, default=None
        Runs in parallel.
    task : Task, default=UNWATCHED
        Hears of the progress and may stop the search (``skrank._callbacks``).

    Attributes
    ----------
    rows : PairSigns
        The data, or a draw of at most ``options.max_rows`` distinct rankings, on which components are searched.
    """

    def __init__(self, data, starts, options, rng, n_jobs=None, task=UNWATCHED):
        self.data, self.starts, self.options, self.rng = data, starts, options, rng
        self.n_jobs, self.task = n_jobs, task
        self.rows = subsample(data, options.max_rows, rng)

    # ------------------------------------------------------------ a given number of components
    def fixed(self, n_components):
        """The best mixture of `n_components`; plain EM (without polish) uses all rankings from the start."""
        rows = self.rows if self.options.with_polish else self.data
        best = self._best_run(rows, n_components)
        mixture = self._on_all(best.mixture, rows)
        self.task.step("polish")
        return Fit(mixture, [*best.path, path_entry(self.data, mixture)])

    def _best_run(self, rows, n_components):
        seeds = self._seeds()
        if len(self.starts) == 1:
            return run(rows, self.starts[0], n_components, seeds[0], self.options, self.task)
        runs = self._parallel(
            (
                delayed(run)(rows, start, n_components, seed, self.options)
                for start, seed in zip(self.starts, seeds, strict=True)
            ),
            self.task,
        )
        mixtures = [one.mixture for one in runs]
        if self.options.with_polish:
            best = ranked(rows, mixtures, self.options.least_weight(rows))[0]
        else:
            best = max(mixtures, key=lambda mixture: mixture.lower_bound)
        chosen = next(one for one in runs if one.mixture is best)
        return Fit(best, chosen.path or next((one.path for one in runs if one.path), []))

    # ------------------------------------------------------------ as many components as the criterion asks for
    def auto(self, criterion, max_components):
        """Grow the mixture for as long as the criterion asks for one component more.

        Where one more shortens the description by far, the exchange of components can wait: it comes before any
        decision that it could change, and last.
        """
        if criterion == "stability":
            return self._found_again(max_components)
        mixture, is_settled, is_undecided = one_component(self.rows), True, True
        fitted = self._on_all(mixture)
        path = [path_entry(self.data, fitted)]
        while mixture.n_components < min(max_components, self.rows.n_rows) and not self.task.step("component"):
            larger = self._larger(mixture)
            is_clear = self._clearly_shorter(mixture, larger)
            if not is_clear:
                if not is_settled:
                    before, is_settled = mixture, True
                    mixture, fitted = self._settled(mixture, fitted, path)
                    if mixture is not before:
                        larger = self._larger(mixture)
                larger = self._exchanged(larger)
            larger_fitted = self._on_all(larger)
            path.append(path_entry(self.data, larger_fitted))
            if not self._accepts(criterion, mixture, fitted, larger, larger_fitted):
                is_undecided = False
                break
            mixture, fitted, is_settled = larger, larger_fitted, not is_clear
        if not is_settled:
            mixture, fitted = self._settled(mixture, fitted, path)
        is_undecided = is_undecided and mixture.n_components == max_components < self.rows.n_rows
        return Fit(fitted, path, is_undecided=is_undecided)

    def _found_again(self, max_components):
        """The largest mixture of which random halves of the voters find every component again.

        It grows for as long as the description gets shorter: more components than that are not looked for.
        """
        halves = Halves(self.data, self.starts, self.options, self._generator(), self.n_jobs)
        mixture = one_component(self.rows)
        tried, rejected = [self._on_all(mixture)], []
        indices = [np.ones((SOME_HALVES, 1))]
        judged = subsample(self.data, JUDGED * self.options.max_rows, self._generator())
        most = min(max_components, self.rows.n_rows) if self.data.total_weight >= LEAST_VOTERS else 1
        while len(tried) < most and not _is_lost(indices) and not self.task.step("component"):
            mixture = self._grown_beside(halves, mixture)
            mixture, larger, known = self._judged(halves, mixture, judged)
            is_longer = not prefers_larger(self.data, tried[-1], larger, self.rng, self.options, "mdl")
            if is_longer:
                anew = self._searched_anew(halves, mixture)
                if anew is not mixture:
                    mixture, larger, known = self._judged(halves, anew, judged)
                    is_longer = not prefers_larger(self.data, tried[-1], larger, self.rng, self.options, "mdl")
            if is_longer:
                rejected.append(path_entry(self.data, larger))
                break
            tried.append(larger)
            indices.append(halves.enough_indices(self.rows, larger, FEW_HALVES, SOME_HALVES, known))
        chosen = self._largest_stable(tried, indices, halves, judged)
        stability = [values.mean(axis=0) for values in indices]
        path = [path_entry(self.data, *one) for one in zip(tried, stability, strict=True)]
        is_undecided = chosen + 1 == len(tried) == max_components < self.rows.n_rows
        return Fit(tried[chosen], path + rejected, stability[chosen], indices[chosen], is_undecided)

    def _judged(self, halves, mixture, judged):
        """The mixture or a likelier one of a half, the same on all rankings, and its indices in a few halves."""
        larger = self._on_all(mixture)
        halves.grow(larger.n_components, FEW_HALVES)
        likelier = halves.likelier(judged, evaluated(judged, larger), FEW_HALVES)
        if not np.array_equal(likelier.centers, larger.centers):
            larger = self._on_all(likelier, judged)
            mixture = evaluated(self.rows, larger)
        larger = larger.sorted()
        return mixture, larger, halves.indices(self.rows, larger, FEW_HALVES)

    def _grown_beside(self, halves, mixture):
        """A mixture of one component more, not exchanged: the best of all starts, and of k-means."""
        starts = list(self.starts)
        if not any(isinstance(start, KMeans) for start in starts):  # another optimum would not be found again
            starts.append(KMeans(n_init=3))
        seeds = self.rng.integers(2**63, size=len(starts))
        task = delayed(run_all_larger)(self.rows, mixture, starts, seeds, self.options)
        return self._beside(halves, [task], mixture.n_components + 1, FEW_HALVES)[0]

    def _searched_anew(self, halves, mixture):
        """The mixture, or a better one from k-means, exchanged: what growing never finds would not be found again."""
        if not self.options.with_polish:
            return mixture
        k, seed = mixture.n_components, self.rng.integers(2**63)
        options = replace(self.options, n_kept=2, n_finalists=1, n_splits=2)
        anew = delayed(run)(self.rows, KMeans(), k, seed, options)
        anew = self._beside(halves, [anew], k, SOME_HALVES)[0].mixture
        return ranked(self.rows, [mixture, anew], self.options.least_weight(self.rows))[0]

    def _beside(self, halves, tasks, n_components, n_halves):
        """The results of tasks; with several workers the halves grow at the same time."""
        n_tasks = len(tasks)
        if effective_n_jobs(self.n_jobs) == 1:
            return Parallel(n_jobs=1)(tasks)
        halves.add(n_halves - len(halves))
        results = Parallel(n_jobs=self.n_jobs)([*tasks, *halves.tasks(n_components, n_halves)])
        halves.receive(n_components, n_halves, results[n_tasks:])
        return results[:n_tasks]

    def _largest_stable(self, tried, indices, halves, judged):
        """Position of the largest mixture whose components are all stable.

        A mixture that may be it is searched for anew first, and looked at in more halves while the decision is close.
        """
        for position in range(len(tried) - 1, 0, -1):
            least = indices[position].mean(axis=0).min()
            if least < FOUND or (least < STABLE and not is_close(indices[position])):
                continue
            mixture = evaluated(self.rows, tried[position])
            anew = self._searched_anew(halves, mixture)
            if anew is not mixture:
                _, tried[position], indices[position] = self._judged(halves, anew, judged)
            for n_halves in (FEW_HALVES, SOME_HALVES):
                known = halves.enough_indices(self.rows, tried[position], n_halves, MANY_HALVES, indices[position])
                indices[position] = known
                if known.mean(axis=0).min() < STABLE:
                    break
            else:
                return position
        return 0

    def _accepts(self, criterion, mixture, fitted, larger, larger_fitted):
        if criterion == "mdl":
            return prefers_larger(self.data, fitted, larger_fitted, self.rng, self.options, criterion)
        return prefers_larger(self.rows, mixture, larger, self.rng, self.options, criterion)

    def _settled(self, mixture, fitted, path):
        """The mixture after an exchange, on the searched rows and on all; its entry of the path is replaced."""
        exchanged = self._exchanged(mixture)
        on_all = fitted if exchanged is mixture else self._on_all(exchanged)
        path[mixture.n_components - 1] = path_entry(self.data, on_all)
        return exchanged, on_all

    def _larger(self, mixture):
        """A mixture of one component more, not exchanged: the best of all starts."""
        tasks = (
            delayed(run_larger)(self.rows, mixture, start, seed, self.options)
            for start, seed in zip(self.starts, self._seeds(), strict=True)
        )
        return ranked(self.rows, self._parallel(tasks), self.options.least_weight(self.rows))[0]

    def _clearly_shorter(self, mixture, larger):
        """Whether the larger mixture shortens the description by more than the longest code of a center."""
        least_weight = self.options.least_weight(self.rows)
        heavy, negative_length = preference_key(self.rows, mixture, least_weight)
        margin = gammaln(self.rows.n_items + 1)
        return preference_key(self.rows, larger, least_weight) > (heavy, negative_length + margin)

    # ------------------------------------------------------------ steps of both
    def _seeds(self):
        return self.rng.integers(2**63, size=len(self.starts))

    def _generator(self):
        return np.random.default_rng(self.rng.integers(2**63))

    def _parallel(self, tasks, progress=UNWATCHED):
        results = []
        for result in Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks):
            results.append(result)
            progress.step("start")
        return results

    def _exchanged(self, mixture):
        options = replace(self.options, with_exchange=self.options.with_exchange and self.options.with_polish)
        with threadpool_limits(1):
            return exchange(self.rows, mixture, self.rng, options)

    def _on_all(self, mixture, rows=None):
        """The mixture polished on all rankings, if it was searched on some of them."""
        if (self.rows if rows is None else rows) is self.data:
            return mixture
        with threadpool_limits(1):
            return polish_large(self.data, mixture, self.options.max_iter, self.options.tol)


def _is_lost(indices):
    """Whether the mixtures on a path are so far from stable that no larger one will be."""
    least = np.array([values.mean(axis=0).min() for values in indices])
    in_a_row = least[-ENOUGH_UNSTABLE:]
    return (least < FOUND).sum() >= ENOUGH_LOST or (len(in_a_row) == ENOUGH_UNSTABLE and (in_a_row < STABLE).all())


def n_steps_at_most(starts, n_components, max_components):
    """How often a search reports its progress, at most: an automatic one may stop growing before."""
    if n_components == "auto":
        return max_components - 1
    if len(starts) > 1:
        return len(starts) + 1
    return starts[0].n_steps(n_components) + 2  # the exchange and the polish


# ---------------------------------------------------------------- one run, in a worker
def run(data, start, n_components, seed, options, task=UNWATCHED):
    """One start, polished and exchanged, or plain EM: a `Fit` whose path has the start's mixtures on the way."""
    rng = np.random.default_rng(seed)
    with threadpool_limits(1):
        *on_the_way, mixture = start.mixtures(data, n_components, rng, options, task)
        path = [path_entry(data, smaller) for smaller in on_the_way]
        mixture = improved(data, mixture, options)
        if options.with_polish and not task.step("exchange"):
            mixture = exchange(data, mixture, rng, options)
    return Fit(mixture, path)


def run_larger(data, mixture, start, seed, options):
    """One start's mixture of one component more, not exchanged."""
    with threadpool_limits(1):
        return start.larger(data, mixture, np.random.default_rng(seed), options)


def run_all_larger(data, mixture, starts, seeds, options):
    """The best of all starts with one component more, not exchanged."""
    grown = [run_larger(data, mixture, start, seed, options) for start, seed in zip(starts, seeds, strict=True)]
    return ranked(data, grown, options.least_weight(data))[0]
