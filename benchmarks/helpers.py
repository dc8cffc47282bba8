"""What several benchmarks share."""

import time

import numpy as np


def seconds_of(function, *arguments):
    """Wall time of one call."""
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def best_times(functions, repeats, clock=time.perf_counter):
    """Shortest time of each function of a dict, in seconds of a clock; the calls are interleaved."""
    best = dict.fromkeys(functions, np.inf)
    for _ in range(repeats):
        for name, function in functions.items():
            start = clock()
            function()
            best[name] = min(best[name], clock() - start)
    return best
