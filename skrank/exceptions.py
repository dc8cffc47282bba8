"""Warnings of skrank, beside those of `sklearn.exceptions`."""


class InsufficientDataWarning(UserWarning):
    """The data say too little about what was asked; the message says what, and what to do about it."""


class SeparationWarning(UserWarning):
    """Parameters that a method needs to differ are close to equal; the message names them and the method to use."""
