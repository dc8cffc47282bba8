"""Telling scikit-learn's callbacks of the stages of a fit."""


def track(estimator, context, name, iterable, length):
    """Iterate over at most `length` tasks of a stage, telling the estimator's callbacks when each begins and ends."""
    stage = context.subcontext(task_name=name, max_subtasks=length)
    stage.call_on_fit_task_begin(estimator=estimator)
    iterator, done = iter(iterable), object()
    try:
        for _ in range(length):
            task = stage.subcontext(task_name=name)
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
