"""TripletStudy: triplets asked of people over days, and what their responses say so far."""

import os
import warnings
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions, validate_parameter_constraints

from skrank._fitting import warn_caller
from skrank._typing import Array, ArrayLike, Floats, Integers
from skrank.exceptions import InsufficientDataWarning
from skrank.manifold._json_lines import JsonLines
from skrank.manifold._stochastic_triplet import StochasticTripletEmbedding
from skrank.manifold._study._agreement import Agreement, agreement
from skrank.manifold._study._design import (
    informative_triplets,
    new_triplets,
    repeated_triplets,
    triplet_codes,
)
from skrank.manifold._study._information import (
    covariance,
    expected_procrustes_error,
    indifferent_directions,
    information_matrix,
    without_directions,
)
from skrank.manifold._study._model import Fit, assess, embed
from skrank.manifold._study._raters import RaterSummary, agreement_counts, summarize_raters
from skrank.manifold._study._record import Query, Record, Response
from skrank.manifold._triplet_oracle import TripletOracle

FORMAT = "skrank triplet study 1"
MOST_COORDINATES = 4000  # whose covariance is a dense matrix
RESPONSES_PER_COORDINATE = 2.5  # before queries are chosen: the embedding must be worth something
RANDOM_SHARE = 0.2  # of the queries that are not repeated, where the others are chosen
CANDIDATES = 2000  # random triplets from which queries are chosen
LARGEST_LAPSE = 0.4  # that queries are chosen for: no response of somebody who guesses informs
# Few responses can agree by chance with a wrong embedding, which then promises a small error.
LEAST_CERTAIN_RESPONSES = 15  # for each coordinate
LARGEST_CERTAIN_ERROR = 0.06  # above it the expected error, which linearizes the model, is too optimistic
MOST_SIMULATED = 200  # queries that stand for all further ones


class Queries(NamedTuple):
    """Queries of a study: their ids, and triplets (anchor, left, right) of item numbers, one row for each id."""

    ids: Integers
    triplets: Integers


class TripletStudy:
    """A study with people: queries to ask, their responses, and the uncertainty of the embedding.

    A query shows an anchor and two other items: "is left or right more like the anchor?". `ask` returns the next
    queries, and `tell` records responses, in any order and at any time. The first queries are random, with each item
    occurring equally often; later ones are those whose responses reduce the expected error of the embedding most.

    After :meth:`save`, the study is kept in a file: each call of `ask` and `tell` is written to the disk before it
    returns, and :meth:`load` continues the study after an interruption at any time.

    Parameters
    ----------
    items : int or array-like of str
        Names of the items, or their number.
    n_components : int, default=2
        Number of dimensions of the embedding.
    design : {"auto", "uniform"}, default="auto"
        "auto" asks balanced random triplets until there are 2.5 responses for each coordinate, then the most
        informative ones, with a fifth of random triplets. "uniform" asks random triplets throughout.
    repeat : float in [0, 0.5], default=0.1
        Proportion of queries that repeat an earlier one, half of them for the same rater and half for other raters,
        with left and right exchanged at random. They are used to estimate the agreement between raters.
    estimator : estimator or None, default=None
        The estimator that embeds the responses. Its `fit(X)` accepts triplets, that is, rows (anchor, near, far), and
        sets `embedding_`. If `fit` has an argument `rater`, the names of the raters are passed; if the estimator has a
        parameter `n_items`, it is set. None means :class:`StochasticTripletEmbedding` with `n_components`,
        `lapse="auto"` and several starts.
    random_state : int, default=0
        Seed of the queries. The next queries depend on the seed, the previous queries and their responses, but not on
        how often the study was loaded.

    Attributes
    ----------
    items : list
        Names of the items.
    n_queries : int
        Number of queries so far.
    n_responses : int
        Number of responses so far, including "don't know".
    triplets_ : ndarray of shape (n_decided, 3)
        The responses other than "don't know", as rows (anchor, near, far).
    raters_ : ndarray of shape (n_decided,)
        Name of the rater of each row of `triplets_`; "unnamed" if none was given.
    embedding_ : ndarray of shape (n_items, n_components)
        Coordinates from all responses.
    expected_error_ : float
        Expected Procrustes error (:func:`skrank.metrics.procrustes_error`) of `embedding_`, from the Fisher information
        of the responses. Above 0.06, or with fewer than 15 responses for each coordinate, it is too optimistic, and a
        warning is issued.
    lapse_ : dict
        Lapse rate of each rater: half the probability of a response that is independent of the items, so that 0.5 is
        guessing.
    agreement_ : tuple (alpha, low, high, n_queries)
        Krippendorff's alpha between raters, with its 95 % interval and the number of triplets it is based on.

    Warns
    -----
    skrank.exceptions.InsufficientDataWarning
        When `expected_error_` is read and is above 0.06, or there are fewer than 15 responses for each coordinate.

    See Also
    --------
    StochasticTripletEmbedding : The model of the responses.
    LandmarkOrdinalEmbedding : Asks an oracle that responds immediately.

    Notes
    -----
    The expected error and the choice of queries require the covariance matrix of all coordinates, which is limited to
    4000 coordinates. Beyond that, `design="auto"` asks random triplets, and `expected_error_` is not available.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.manifold import TripletStudy
    >>> points = np.random.default_rng(0).standard_normal((12, 2))
    >>> def rate(triplets):
    ...     anchor, left, right = (points[column] for column in triplets.T)
    ...     return ((anchor - left) ** 2).sum(axis=1) < ((anchor - right) ** 2).sum(axis=1)
    >>> study = TripletStudy(12, random_state=0)
    >>> for _ in range(8):
    ...     ids, triplets = study.ask(50, rater="ann")
    ...     n_new = study.tell(ids, rate(triplets), rater="ann")
    >>> study.n_responses, study.embedding_.shape
    (400, (12, 2))
    >>> study.expected_error_ < 0.1
    True

    Responses may be words, and None for "don't know":

    >>> ids, triplets = study.ask(3, rater="bob")
    >>> study.tell(ids, ["left", "right", None], rater="bob")
    3
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "design": [StrOptions({"auto", "uniform"})],
        "repeat": [Interval(Real, 0, 0.5, closed="both")],
        "estimator": [HasMethods("fit"), None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        items: int | ArrayLike,
        n_components: int = 2,
        *,
        design: Literal["auto", "uniform"] = "auto",
        repeat: float = 0.1,
        estimator: Any = None,
        random_state: int = 0,
    ) -> None:
        self.items = _as_names(items)
        self.n_components, self.design, self.repeat = n_components, design, repeat
        self.estimator, self.random_state = estimator, random_state
        validate_parameter_constraints(self._parameter_constraints, vars(self), type(self).__name__)
        self._record = Record()
        self._log: JsonLines | None = None
        self._fit: Fit | None = None

    def __repr__(self) -> str:
        return (
            f"TripletStudy(<{len(self.items)} items, {self.n_queries} queries, {self.n_responses} responses>, "
            f"n_components={self.n_components})"
        )

    # ---------------------------------------------------------------- queries and responses
    def ask(self, n: int, rater: str | None = None) -> Queries:
        """Return the next queries.

        Parameters
        ----------
        n : int
            How many.
        rater : str, default=None
            The rater who will respond. None means any rater.

        Returns
        -------
        ids : ndarray of shape (n,)
            Ids to pass to `tell`.
        triplets : ndarray of shape (n, 3)
            Numbers of the items: anchor, left, right.
        """
        n, rater = _as_count(n), _as_rater(rater)
        rng = np.random.default_rng([self.random_state, self.n_queries])
        triplets = self._choose(n, rater, rng)
        first = self.n_queries
        self._change(self._record.asked(triplets, rater))
        return Queries(np.arange(first, first + n), triplets)

    def tell(self, ids: ArrayLike, responses: Any, rater: str | None = None) -> int:
        """Record responses.

        A response by the same rater to the same query that was already recorded is ignored, so that an interrupted call
        can be repeated. Either all responses of a call are recorded or none.

        Parameters
        ----------
        ids : int or array-like of shape (n,)
            Ids of queries, in any order.
        responses : array-like of shape (n,)
            True or "left" if the left item is nearer to the anchor, False or "right" if the right item is, None for
            "don't know" (or NaN, to which pandas converts None).
        rater : str, default=None
            The rater who responded. None means the rater for whom each query was returned by `ask`.

        Returns
        -------
        int
            Number of responses that were new.

        Raises
        ------
        ValueError
            If an id was not asked, a response is invalid, or it contradicts an earlier response by the rater to the
            same query. The message names the row, and no response of the call is recorded.
        RuntimeError
            If the study's file has been changed by another process.
        """
        line = self._record.told(ids, responses, _as_rater(rater))
        return 0 if line is None else self._change(line)

    def open_queries(self) -> Queries:
        """Return the queries without a response.

        Returns
        -------
        ids : ndarray of shape (n_open,)
            Their ids.
        triplets : ndarray of shape (n_open, 3)
            Numbers of the items: anchor, left, right.
        """
        ids = self._record.open_ids()
        return Queries(ids, self._record.triplets()[ids])

    def query(self, number: int) -> Query:
        """Return a query.

        Parameters
        ----------
        number : int
            The id of a query.

        Returns
        -------
        anchor, left, right : int
            Numbers of the items.
        rater : str or None
            The rater for whom it was asked; None means any rater.
        """
        return self._record.queries[number]

    def rounds(self) -> list[tuple[int, str | None, int]]:
        """Return the calls of `ask`, which are the sheets of a study on paper.

        Returns
        -------
        list of tuple
            First id, rater and number of queries of each call.
        """
        return [(line["first"], line["rater"], len(line["ask"])) for line in self._record.lines if "ask" in line]

    def responses(self) -> list[Response]:
        """Return all responses in the order in which they were recorded: `pandas.DataFrame(study.responses())` is a
        table.

        Returns
        -------
        list of tuple
            Each with `id`, the item names `anchor`, `left`, `right`, the `rater`, and the `response`: "left", "right"
            or None for "don't know".
        """
        return self._record.named_responses(self.items)

    def _change(self, line):
        """Write a line, then do what it says: what is acknowledged is on the disk."""
        if self._log is not None:
            self._log.append(line)
        if "tell" in line:
            self._fit = None
        return self._record.apply(line)

    def _choose(self, n, rater, rng):
        n_items, queries = len(self.items), self._record.queries
        own = sum(query.rater == rater for query in queries)
        # so many of each rater's queries are repeated, whatever the size of the batches
        n_repeated = int((own + n) * self.repeat) - int(own * self.repeat)
        asked = triplet_codes(self._record.triplets(), n_items)
        if self._is_chosen():
            fresh = self._informative(n - n_repeated, asked, self.open_queries().triplets, rater, rng)
        else:
            fresh = new_triplets(n_items, n - n_repeated, asked, rng)
        fresh = rng.permutation(fresh)
        earlier = [*queries, *(Query(anchor, first, second, rater) for anchor, first, second in fresh.tolist())]
        again = repeated_triplets(earlier, rater, n_repeated, rng)
        # a triplet of this very batch comes again in its second half
        head, tail = np.split(fresh, [n // 2])
        return np.vstack([head, rng.permutation(np.vstack([tail, again]))])

    def _is_chosen(self):
        """Whether the next queries are chosen, and not random."""
        n_coordinates = len(self.items) * self.n_components
        n_decided = sum(left is not None for left in self._record.responses.values())
        enough = n_decided >= RESPONSES_PER_COORDINATE * n_coordinates
        return self.design == "auto" and enough and n_coordinates <= MOST_COORDINATES

    def _informative(self, n, asked, awaited, rater, rng):
        """Queries whose responses lower the expected error most, beside those awaited, and some random ones."""
        fit, n_items, n_random = self._quietly_fitted(), len(self.items), round(RANDOM_SHARE * n)
        random = new_triplets(n_items, n_random, asked, rng)
        asked = np.append(asked, triplet_codes(random, n_items))
        candidates = new_triplets(n_items, max(CANDIDATES, 10 * n), asked, rng)
        lapse = fit.lapses[rater].rate if rater in fit.lapses else fit.median_lapse
        awaited = information_matrix(fit.points, np.vstack([awaited, random]), fit.median_lapse)
        spread = covariance(fit.points, fit.information + awaited)
        lapse = min(lapse, LARGEST_LAPSE)
        return np.vstack([random, informative_triplets(fit.points, spread, candidates, n - n_random, lapse)])

    # ---------------------------------------------------------------- what the responses say
    @property
    def n_queries(self) -> int:
        """Number of queries so far."""
        return len(self._record.queries)

    @property
    def n_responses(self) -> int:
        """Number of responses so far, including "don't know"."""
        return len(self._record.responses)

    @property
    def triplets_(self) -> Integers:
        """The responses other than "don't know", as rows (anchor, near, far) of item numbers."""
        ids, left, _ = self._record.decided()
        triplets = self._record.triplets()[ids]
        return np.where(left[:, None], triplets, triplets[:, [0, 2, 1]])

    @property
    def raters_(self) -> Array:
        """Name of the rater of each row of `triplets_`."""
        return self._record.decided()[2]

    @property
    def embedding_(self) -> Floats:
        """Coordinates of the items from all responses."""
        return self._fitted().embedding

    @property
    def expected_error_(self) -> float:
        """Expected Procrustes error of `embedding_`."""
        error = self._error_with(0)
        few = len(self.triplets_) < LEAST_CERTAIN_RESPONSES * len(self.items) * self.n_components
        if few or error > LARGEST_CERTAIN_ERROR:
            warn_caller(
                f"the {len(self.triplets_)} responses determine the embedding only roughly: the expected error, "
                f"{error:.2g}, may be less than half of the true one. Ask more.",
                InsufficientDataWarning,
            )
        return error

    @property
    def lapse_(self) -> dict[str, float]:
        """Lapse rate of each rater."""
        return {rater: lapse.rate for rater, lapse in self._fitted().lapses.items()}

    @property
    def agreement_(self) -> Agreement:
        """Krippendorff's alpha between raters, with its 95 % interval."""
        return agreement(agreement_counts(self._record))

    def item_covariances(self) -> Floats:
        """Return the uncertainty of the position of each item in `embedding_`.

        Returns
        -------
        ndarray of shape (n_items, n_components, n_components)
            Covariance matrix of the coordinates of each item, without the part that a translation, a rotation or a
            change of scale of the whole embedding would explain.
        """
        fit = self._assessed()
        n_components = fit.embedding.shape[1]
        spread = covariance(fit.points, fit.information)
        spread = without_directions(spread, indifferent_directions(fit.points)) / fit.scale
        blocks = spread.reshape(len(self.items), n_components, len(self.items), n_components)
        return np.einsum("iaib->iab", blocks)

    def raters(self) -> list[RaterSummary]:
        """Summarize the responses, lapse rate and consistency of each rater.

        Returns
        -------
        list of RaterSummary
            In the order of their first responses, with the attributes `rater`, `n_responses`, `n_dont_know`, `lapse`,
            `consistency`, `n_repeated`, `left` and `guesses`.
        """
        lapses = self._quietly_fitted().lapses if len(self.triplets_) else {}
        return summarize_raters(self._record, lapses)

    def gain(self, n: int) -> float:
        """Estimate how much more responses would reduce the expected error.

        Parameters
        ----------
        n : int
            Number of further responses.

        Returns
        -------
        float
            The present `expected_error_` minus its expected value after these responses, with queries as `ask` selects
            them.
        """
        return self._error_with(0) - self._error_with(_as_count(n))

    def _error_with(self, n):
        """The expected error after n more responses."""
        fit, information = self._assessed(), 0
        if n:
            rng = np.random.default_rng([self.random_state, self.n_queries])
            size, nothing = min(n, MOST_SIMULATED), np.empty((0, 3), np.intp)
            asked = triplet_codes(self._record.triplets(), len(self.items))
            if self.design == "uniform":
                further = new_triplets(len(self.items), size, asked, rng)
            else:
                further = self._informative(size, asked, nothing, None, rng)
            information = n / size * information_matrix(fit.points, further, fit.median_lapse)
        return expected_procrustes_error(fit.points, covariance(fit.points, fit.information + information))

    # ---------------------------------------------------------------- fits
    def _fitted(self):
        if self._fit is None:
            triplets, raters = self.triplets_, self.raters_
            if len(triplets) == 0:
                raise NotFittedError("no responses yet: the study has nothing to embed. Ask, and tell the responses.")
            embedding = embed(self._estimator(), triplets, raters, len(self.items))
            assessed = embedding.size <= MOST_COORDINATES
            self._fit = assess(embedding, triplets, raters) if assessed else Fit(embedding)
        return self._fit

    def _quietly_fitted(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # embedding_ warns
            return self._fitted()

    def _assessed(self):
        fit = self._quietly_fitted()
        if fit.points is None:
            raise ValueError(
                f"the embedding has {fit.embedding.size} coordinates ({len(self.items)} items in "
                f"{fit.embedding.shape[1]} components), but their covariance matrix is computed for up to "
                f"{MOST_COORDINATES}: take fewer items or components."
            )
        return fit

    def _estimator(self):
        if self.estimator is not None:
            return self.estimator
        # a poor optimum would be confirmed by the queries that are chosen by it, and few items cost little
        n_init = int(np.clip(300 // len(self.items), 2, 5))
        return StochasticTripletEmbedding(self.n_components, lapse="auto", n_init=n_init, max_iter=1000, random_state=0)

    # ---------------------------------------------------------------- files and oracles
    def to_oracle(self) -> TripletOracle:
        """Return an oracle that replays the responses, for estimators that ask an oracle.

        Returns
        -------
        TripletOracle
            It responds to a triplet with the majority of its responses, and raises an error for a triplet without
            responses.
        """
        return TripletOracle(self.triplets_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the study to a new file, and continue it there.

        From then on, each call of `ask` and `tell` is written to the disk before it returns. The file has one JSON
        object on each line: the parameters of the study, then the queries and responses in order. The estimator is not
        saved.

        Parameters
        ----------
        path : str or path-like
            The file, such as "study.jsonl".

        Raises
        ------
        FileExistsError
            If the file exists. It is not overwritten.
        """
        header = {
            "format": FORMAT,
            "items": self.items,
            "n_components": self.n_components,
            "design": self.design,
            "repeat": self.repeat,
            "random_state": self.random_state,
        }
        self._log = JsonLines.create(path, header, self._record.lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, estimator: Any = None) -> Self:
        """Load a study from a file and continue it there.

        Parameters
        ----------
        path : str or path-like
            A file created by :meth:`save`.
        estimator : estimator or None, default=None
            As in the constructor.

        Returns
        -------
        TripletStudy

        Raises
        ------
        ValueError
            If the file does not contain a study; the message names the line.

        Warns
        -----
        UserWarning
            If the last line is incomplete, for example because the process was killed while it was written. The call
            that wrote it did not return, so its contents were never acknowledged.
        """
        log, lines = JsonLines.open(path, FORMAT)
        try:
            header = {name: value for name, value in lines.header.items() if name != "format"}
            study = cls(**header, estimator=estimator)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)}, line 1: {error}") from None
        for number, line in enumerate(lines.records, 2):
            try:
                study._record.apply(line, len(study.items))
            except (KeyError, TypeError, IndexError, ValueError) as error:
                raise ValueError(f"{os.fspath(path)}, line {number}: not a line of a study ({error}).") from None
        study._log = log
        if lines.torn:
            warn_caller(
                f"{os.fspath(path)}: the last line was cut off after {len(lines.torn)} bytes and is left out. The call "
                "that wrote it did not return, so repeat that call.",
                UserWarning,
            )
        return study


def _as_names(items):
    """The items' names as a list of strings or integers."""
    if isinstance(items, Integral) and not isinstance(items, bool):
        names = list(range(int(items)))
    else:
        names = [item.item() if isinstance(item, np.generic) else item for item in items]
    for row, name in enumerate(names):
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(f"items[{row}] is {name!r}: names must be strings or whole numbers.")
    if len(names) < 3:
        raise ValueError(f"a triplet has three items, but there are {len(names)}.")
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"items holds {repeated!r} more than once: names must differ.")
    return names


def _as_count(n):
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ValueError(f"n must be a whole number from 1, got {n!r}.")
    return int(n)


def _as_rater(rater):
    if rater is not None and not isinstance(rater, str):
        raise ValueError(f"rater must be a name (a string) or None, got {rater!r}.")
    return rater
