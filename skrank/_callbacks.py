"""The progress of a fit, reported to scikit-learn's callbacks where scikit-learn has them (from version 1.9 on).

An estimator opens a task, its functional core reports what it does::

    with fit_task(self, X, y, n_stages=2) as task:
        for block in task.track("kernel matrix", blocks):
            ...
        with task.stage("maximize likelihood", max_iter) as stage:
            minimize(..., callback=lambda point: stage.step())

A core that may also run without an estimator has `task=UNWATCHED` as its default. No other module knows of callbacks.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn 1.6 to 1.8
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """In place of scikit-learn's: fits report to nobody."""

        def set_callbacks(self, *callbacks: Any) -> Any:
            """Raise: there are no callbacks before scikit-learn 1.9.

            Parameters
            ----------
            *callbacks : object
                Ignored.

            Returns
            -------
            self : object
                Never.
            """
            raise ImportError("Callbacks need scikit-learn 1.9 or newer: pip install --upgrade scikit-learn.")

        def _init_callback_context(self, *args: Any, **kwargs: Any) -> "_NoContext":
            return _NoContext()


__all__ = ["HAS_CALLBACKS", "UNWATCHED", "CallbackSupportMixin", "Task", "fit_task"]

Item = TypeVar("Item")


class _NoContext:
    """A callback context to which nobody listens."""

    def subcontext(self, **kwargs: Any) -> "_NoContext":
        return self

    def call_on_fit_task_begin(self, **kwargs: Any) -> "_NoContext":
        return self

    def call_on_fit_task_end(self, **kwargs: Any) -> bool:
        return False


class Task:
    """A fit or a stage of it, as callbacks see it.

    Parameters
    ----------
    estimator : object
        What is fitted.
    context : CallbackContext
        Its place in scikit-learn's tree of tasks.
    name : str, default="fit"
        What callbacks show; also the name of its steps, unless they have their own.
    """

    def __init__(self, estimator: Any, context: Any, name: str = "fit") -> None:
        self.estimator, self.context, self.name = estimator, context, name

    @property
    def is_watched(self) -> bool:
        """Whether any callback listens, so that work is worth cutting into smaller steps."""
        return bool(getattr(self.estimator, "_skl_callbacks", None))

    @contextmanager
    def stage(self, name: str, n_steps: int | None = None, step_name: str | None = None) -> Iterator["Task"]:
        """Open a stage of at most `n_steps` steps (None: unknown), which ends with the block."""
        context = self.context.subcontext(task_name=name, max_subtasks=n_steps)
        context.call_on_fit_task_begin(estimator=self.estimator)
        try:
            yield Task(self.estimator, context, step_name or name)
        finally:
            context.call_on_fit_task_end(estimator=self.estimator)

    def step(self, name: str | None = None) -> bool:
        """Report one step done; True if a callback asks to stop."""
        context = self.context.subcontext(task_name=name or self.name)
        context.call_on_fit_task_begin(estimator=self.estimator)
        return context.call_on_fit_task_end(estimator=self.estimator)

    def track(
        self, name: str, iterable: Iterable[Item], n_steps: int | None = None, step_name: str | None = None
    ) -> Iterator[Item]:
        """Iterate over `iterable` as a stage, one step an item, which begins before the item is computed.

        `n_steps` defaults to the length of `iterable`; it is what callbacks are told, and not to be exceeded.
        """
        if n_steps is None:
            n_steps = len(iterable)  # type: ignore[arg-type]
        iterator = iter(iterable)
        with self.stage(name, n_steps, step_name) as stage:
            for _ in range(n_steps):
                with stage.stage(stage.name, 0):
                    try:
                        item = next(iterator)
                    except StopIteration:
                        break
                    yield item


UNWATCHED = Task(None, _NoContext())


@contextmanager
def fit_task(estimator: Any, X: Any = None, y: Any = None, n_stages: int = 0, name: str = "fit") -> Iterator[Task]:
    """Open the task of a fit with at most `n_stages` stages, or steps of its own.

    The fit's method must be decorated by `_fit_context`, by which scikit-learn sets callbacks up and tears them down.
    """
    context = estimator._init_callback_context(name, max_subtasks=n_stages)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    yield Task(estimator, context)
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes={})
