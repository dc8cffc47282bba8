"""Generators from scikit-learn's `random_state`."""

import numpy as np

from skrank._random import as_generator, as_random_state


def test_generators_repeat_and_leave_the_global_state_alone():
    assert as_generator(3).random() == as_generator(3).random()
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng
    assert as_generator(None).random() != as_generator(None).random()
    legacy = np.random.RandomState(0)
    assert as_random_state(legacy) is legacy
    assert as_random_state(3).random_sample() == as_random_state(3).random_sample()
    assert as_generator(legacy).random() != as_generator(legacy).random()
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    as_generator(None).random(10)
    assert as_random_state(None).random_sample() != as_random_state(None).random_sample()
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
