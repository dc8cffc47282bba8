import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skrank._callbacks import HAS_CALLBACKS, UNWATCHED, CallbackSupportMixin, fit_task
from skrank._typing import _fit_context


class Staged(CallbackSupportMixin, BaseEstimator):
    """Doubles numbers in one stage, and counts in another until a callback stops it."""

    _parameter_constraints: dict = {}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        with fit_task(self, X, y, n_stages=2) as task:
            self.watched_ = task.is_watched
            self.doubled_ = list(task.track("double", (2 * x for x in X), len(X)))
            with task.stage("count", 10) as stage:
                self.count_ = next((n for n in range(10) if stage.step()), 10)
        return self


class Recorder:
    def __init__(self, stop_after=None):
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.begun, self.ended, self.announced = [], [], {}

    def teardown(self, estimator, context):
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)
        self.announced.setdefault(context.task_name, context.max_subtasks)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        return self.ended.count("count") == self.stop_after


@pytest.mark.callbacks
def test_callbacks_see_the_fit_its_stages_and_their_steps():
    recorder = Recorder()
    model = Staged().set_callbacks(recorder).fit([1, 2, 3])
    assert recorder.announced == {"fit": 2, "double": 3, "count": 10}
    assert recorder.begun == ["fit"] + ["double"] * 4 + ["count"] * 11
    assert recorder.ended == ["double"] * 4 + ["count"] * 11 + ["fit", "teardown"]
    assert model.watched_


@pytest.mark.callbacks
def test_a_callback_stops_a_stage_and_not_the_fit():
    model = Staged().set_callbacks(Recorder(stop_after=4)).fit([1])
    assert model.count_ == 3


@pytest.mark.callbacks
def test_a_step_begins_before_its_item_is_computed():
    order = []

    class Ordered(Recorder):
        def on_fit_task_begin(self, estimator, context):
            order.append(context.task_name)

    class Lazy(Staged):
        @_fit_context(prefer_skip_nested_validation=True)
        def fit(self, X, y=None):
            with fit_task(self, X, y, n_stages=1) as task:
                list(task.track("double", (order.append(x) for x in X), len(X)))
            return self

    Lazy().set_callbacks(Ordered()).fit([1, 2])
    assert order == ["fit", "double", "double", 1, "double", 2]


@pytest.mark.callbacks
def test_an_error_within_a_stage_ends_the_stage_and_tears_callbacks_down():
    recorder = Recorder()
    with pytest.raises(TypeError):
        Staged().set_callbacks(recorder).fit([1, None])
    assert recorder.ended == ["double"] * 3 + ["teardown"]


@pytest.mark.skipif(HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
def test_without_callbacks_the_remedy_is_named():
    with pytest.raises(ImportError, match=r"scikit-learn 1\.9"):
        Staged().set_callbacks(Recorder())


def test_nobody_needs_to_watch():
    model = Staged().fit(np.arange(3))
    assert model.doubled_ == [0, 2, 4]
    assert model.count_ == 10
    assert not model.watched_
    assert list(UNWATCHED.track("any", range(3))) == [0, 1, 2]
