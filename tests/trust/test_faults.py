"""Faults on the way: fits that break off, oracles that fail, workers that die. What was not fitted says so."""

import os
import signal
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skrank.datasets import make_mallows_mixture, make_triplets
from skrank.kernel_approximation import MallowsFeatures
from skrank.kernels import KendallKernel, MallowsKernel, PartialRankingKernel
from skrank.linear_model import BradleyTerry
from skrank.manifold import (
    CachingOracle,
    CountingOracle,
    EuclideanOracle,
    LandmarkOrdinalEmbedding,
    StochasticTripletEmbedding,
)
from skrank.mixture import MallowsMixture, SeparatedMallowsMixture
from skrank.preprocessing import OrderingEncoder

pytestmark = [
    pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning"),
    pytest.mark.filterwarnings("ignore:the embedding does not explain:sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(autouse=True)
def _interrupts_are_heard():
    """Started in the background by a shell without job control, a process ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


POINTS = np.random.default_rng(0).standard_normal((60, 2))
EXACT = EuclideanOracle()
TRIPLETS = make_triplets(40, 4000, random_state=0)[0]
RANKINGS = make_mallows_mixture(200, 6, n_components=2, phi=0.4, random_state=0)[0]
PAIRS = [[0, 1], [1, 2], [2, 0], [0, 2]]

landmarks = partial(LandmarkOrdinalEmbedding, n_landmarks=8, landmarks="random", refine=None, random_state=0)

# An estimator, what it can be fitted on, and what breaks its fit off.
FITS = {
    "MallowsMixture": (MallowsMixture(2, random_state=0), RANKINGS, np.where(RANKINGS > 0, np.nan, 0)),
    "SeparatedMallowsMixture": (SeparatedMallowsMixture(1, random_state=0), RANKINGS, [[0], [0]]),
    "PartialRankingKernel": (PartialRankingKernel(method="exact"), RANKINGS, np.where(RANKINGS == 0, np.nan, RANKINGS)),
    "MallowsFeatures": (MallowsFeatures(8), RANKINGS, np.full((2, 3), np.inf)),
    "LandmarkOrdinalEmbedding": (landmarks(), POINTS, np.zeros((9, 3))),
    "StochasticTripletEmbedding": (StochasticTripletEmbedding(random_state=0), TRIPLETS, [[0, 0, 1]]),
    "BradleyTerry": (BradleyTerry(), PAIRS, [[0, 0]]),
    "OrderingEncoder": (OrderingEncoder(), [[0, 1], [1, 0]], [[0, 0], [1, 0]]),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_breaks_off_leaves_nothing(name):
    estimator, good, bad = FITS[name]
    estimator = clone(estimator)
    for fit in ("fit", "fit_transform", "fit_predict"):
        if not hasattr(estimator, fit):
            continue
        with pytest.raises(ValueError, match="."):
            getattr(estimator, fit)(bad)
        with pytest.raises(NotFittedError):
            check_is_fitted(estimator)
        check_is_fitted(estimator.fit(good))
        expected = {key: value for key, value in vars(estimator).items() if key.endswith("_")}
        with pytest.raises(ValueError, match="."):
            getattr(estimator, fit)(bad)
        # also where a former fit had been done: it is not mixed with the new one
        with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted yet"):
            check_is_fitted(estimator)
        check_is_fitted(estimator.fit(good))
        assert expected.keys() == {key for key in vars(estimator) if key.endswith("_")}


class Interrupting:
    """A callback of a fit's iterations that interrupts the process as Ctrl-C does."""

    def __init__(self, after):
        self.after, self.count = after, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.count += 1
        if self.count == self.after:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1e-3)
        return False


@pytest.mark.callbacks
@pytest.mark.parametrize("name", ["MallowsMixture", "LandmarkOrdinalEmbedding", "StochasticTripletEmbedding"])
@pytest.mark.parametrize("after", [1, 3])
def test_an_interrupted_fit_is_none(name, after):
    estimator, good, _ = FITS[name]
    estimator = clone(estimator).set_callbacks(Interrupting(after))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(good)
    with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted yet"):
        check_is_fitted(estimator)
    again = clone(FITS[name][0]).fit(good)
    expected = clone(FITS[name][0]).fit(good)
    for key in ("centers_", "embedding_"):
        if hasattr(expected, key):
            np.testing.assert_array_equal(getattr(again, key), getattr(expected, key))


# ---------------------------------------------------------------- oracles
class Failing:
    """An oracle that answers so many times and then fails, or does something else."""

    def __init__(self, after, fail):
        self.after, self.fail, self.count, self.lock = after, fail, 0, threading.Lock()

    def __call__(self, anchors, left, right):
        with self.lock:
            self.count += 1
            count = self.count
        if count > self.after:
            return self.fail(EXACT(anchors, left, right))
        return EXACT(anchors, left, right)

    def __sklearn_clone__(self):
        return self


def raise_(error):
    def fail(answers):
        raise error

    return fail


@pytest.mark.parametrize("error", [RuntimeError("down"), TimeoutError("no answer in 30 s"), KeyboardInterrupt()])
@pytest.mark.parametrize(("after", "n_jobs"), [(0, None), (40, 2)])
def test_an_oracle_that_fails_ends_the_fit_with_its_own_error(error, after, n_jobs):
    model = landmarks(oracle=Failing(after, raise_(error)), n_jobs=n_jobs)
    with pytest.raises(type(error), match=str(error) or None) as caught:
        model.fit(POINTS)
    if isinstance(error, Exception):
        assert any("asked about landmark" in note for note in caught.value.__notes__)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    # nothing is left running or waiting: the next fit is as if nothing had been
    model.set_params(oracle=None).fit(POINTS)
    np.testing.assert_array_equal(model.embedding_, landmarks(n_jobs=n_jobs).fit(POINTS).embedding_)


def test_an_oracle_that_starts_to_answer_nan_is_refused():
    oracle = Failing(40, lambda answers: np.where(answers, 1.0, np.nan))
    with pytest.raises(TypeError, match="must return booleans"):
        landmarks(oracle=oracle).fit(POINTS)


def test_a_failed_question_is_not_remembered_and_what_was_answered_is():
    failing = Failing(40, raise_(TimeoutError("slow")))
    caching = CachingOracle(failing)
    model = landmarks(oracle=caching)
    with pytest.raises(TimeoutError):
        model.fit(POINTS)
    asked = caching.n_asked
    assert 0 < asked
    failing.after = np.inf
    failing.count = 0
    model.fit(POINTS)
    expected = landmarks(oracle=lambda *rows: EXACT(*rows)).fit(POINTS)
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    total = caching.n_asked
    counting = CountingOracle(failing)
    fresh = CachingOracle(counting)
    landmarks(oracle=fresh).fit(POINTS)
    assert counting.n_queries == fresh.n_asked == total  # what was answered before the fault was not asked again


def test_an_answer_after_an_interrupt_goes_nowhere():
    """A slow oracle in a worker thread is interrupted; what it answers later changes no estimator."""
    release, entered = threading.Event(), threading.Event()

    def slow(answers):
        entered.set()
        release.wait(10)
        return answers

    oracle = Failing(10, slow)
    model = landmarks(oracle=oracle, n_jobs=2)

    def interrupt():
        entered.wait(10)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        release.set()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(POINTS)
    thread.join()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    time.sleep(0.05)
    assert not [key for key in vars(model) if key.endswith("_")]


# ---------------------------------------------------------------- workers
class Deadly(KendallKernel):
    """A kernel whose evaluation kills a worker process."""

    def __init__(self, parent=0, missing_values=np.nan):
        super().__init__(missing_values)
        self.parent = parent

    def _pairwise(self, ranks, other_ranks=None):
        if os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._pairwise(ranks, other_ranks)


@pytest.mark.filterwarnings("ignore:A worker stopped:UserWarning")
def test_a_worker_that_dies_is_an_error_not_a_hang():
    kernel = PartialRankingKernel(Deadly(os.getpid()), n_jobs=2)
    with parallel_config(backend="loky"), pytest.raises(TerminatedWorkerError):
        kernel.fit_transform(RANKINGS)
    with pytest.raises(NotFittedError):
        check_is_fitted(kernel)
    with parallel_config(backend="threading"):
        np.testing.assert_allclose(kernel.fit_transform(RANKINGS), KendallKernel()(RANKINGS))


# ---------------------------------------------------------------- warnings
def test_warnings_name_the_line_that_called():
    calls = [
        lambda: MallowsMixture(2, random_state=0).fit([[0, 1, 2], [0, 2, 1]]),
        lambda: BradleyTerry().fit([[0, 1], [2, 3]]),
        lambda: BradleyTerry(max_iter=1, tol=1e-12).fit(PAIRS),
        lambda: StochasticTripletEmbedding(random_state=0).fit([[0, 1, 2]]),
        lambda: LandmarkOrdinalEmbedding(n_comparisons=12, random_state=0).fit(POINTS[:6]),
        lambda: LandmarkOrdinalEmbedding(n_comparisons=12, random_state=0).fit_transform(POINTS[:6]),
        lambda: PartialRankingKernel(MallowsKernel()).set_params(kernel="mallows").fit([[0, 1]]),
        lambda: MallowsFeatures(4).fit_transform([[0, 1]]),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert caught
        assert {warning.filename for warning in caught} == {__file__}
