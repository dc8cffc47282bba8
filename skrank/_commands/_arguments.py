"""Types of the command line's arguments, whose errors say what is expected."""

from argparse import ArgumentTypeError

import numpy as np


def positive(text):
    """A whole number from 1."""
    return _checked(text, int, lambda value: value >= 1, "a whole number from 1")


def at_least_two(text):
    """A whole number from 2."""
    return _checked(text, int, lambda value: value >= 2, "a whole number from 2")


def whole(text):
    """A whole number from 0."""
    return _checked(text, int, lambda value: 0 <= value < 2**32, "a whole number from 0")


def not_negative(text):
    """A number from 0."""
    return _checked(text, float, lambda value: 0 <= value < np.inf, "a number from 0")


def share(text):
    """A share between 0 and 1."""
    return _checked(text, float, lambda value: 0 < value < 1, "a share between 0 and 1")


def size(text):
    """Width and height in inches, 6x4 say."""
    numbers = text.lower().split("x")
    if len(numbers) != 2:
        raise ArgumentTypeError(f"must be a width and a height in inches such as 6x4, got {text!r}")
    return tuple(
        _checked(number, float, lambda value: 0.5 <= value <= 100, "inches from 0.5 to 100") for number in numbers
    )


def _checked(text, kind, valid, expected):
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not valid(value):
        raise ArgumentTypeError(f"must be {expected}, got {text!r}")
    return value
