"""Telling scikit-learn's callbacks of the stages of a fit."""

from contextlib import contextmanager


def track(estimator, context, name, iterable, length, task_name=None):
    """Iterate over at most `length` tasks of a stage, telling the estimator's callbacks when each begins and ends.

    The task is called like the stage, unless `task_name` says else.
    """
    stage = context.subcontext(task_name=name, max_subtasks=length)
    stage.call_on_fit_task_begin(estimator=estimator)
    iterator, done = iter(iterable), object()
    try:
        for _ in range(length):
            task = stage.subcontext(task_name=task_name or name)
            task.call_on_fit_task_begin(estimator=estimator)
            try:
                result = next(iterator, done)
                if result is done:
                    break
                yield result
            finally:
                task.call_on_fit_task_end(estimator=estimator)
    finally:
        stage.call_on_fit_task_end(estimator=estimator)


@contextmanager
def iterations(tracked):
    """A callback for a loop that belongs to others: each call ends one task of a tracked stage and begins the next.

    `tracked` is `track` of an iterable without an end.
    """
    iterator = iter(tracked)

    def after_iteration(*_):
        next(iterator, None)

    try:
        after_iteration()  # begins the first one
        yield after_iteration
    finally:
        if hasattr(iterator, "close"):
            iterator.close()
