"""Random numbers as a function of content: a counter-based generator (splitmix64) on uint64 arrays.

What is drawn for a ranking depends on the ranking and a seed alone, never on the batch, worker or fold it comes in.
The mixing function is the finaliser of Steele, Lea & Flood, "Fast splittable pseudorandom number generators" (OOPSLA
2014), with the multipliers of Stafford's variant 13.
"""

import numpy as np
from sklearn.utils import check_random_state

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def mix(words):
    """Scramble uint64 words: a bijection in which every input bit changes each output bit with probability near 1/2."""
    words = np.asarray(words, np.uint64)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def hash_rows(integers, seed=0):
    """One uint64 key for each row of a 2-d integer array: a function of the row's values and the seed."""
    keys = np.full(len(integers), mix(np.array([seed], np.int64).astype(np.uint64))[0])
    for column in integers.T:
        keys = mix((keys + GOLDEN_GAMMA) ^ column.astype(np.int64).astype(np.uint64))
    return keys


def random_words(keys, count, start=0):
    """Random uint64 words number start, ..., start + count - 1 of every key's stream, shape keys.shape + (count,)."""
    counters = np.arange(start + 1, start + count + 1, dtype=np.uint64) * GOLDEN_GAMMA
    return mix(np.asarray(keys, np.uint64)[..., None] + counters)


def uniform(words):
    """Uniform numbers in [0, 1) from random words: their 53 upper bits."""
    return (words >> np.uint64(11)) * 2.0**-53


def as_generator(random_state):
    """A numpy Generator from what scikit-learn and scipy call `random_state`; the global state is never used.

    Parameters
    ----------
    random_state : int, RandomState instance, Generator or None
        None takes fresh entropy; a RandomState advances, so that two uses of it differ.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31, size=4)
    return np.random.default_rng(random_state)


def as_random_state(random_state):
    """As `sklearn.utils.check_random_state`, but None takes fresh entropy instead of numpy's global state."""
    return np.random.RandomState(np.random.MT19937()) if random_state is None else check_random_state(random_state)
