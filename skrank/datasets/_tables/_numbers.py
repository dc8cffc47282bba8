"""The cells of columns as numbers: decimal numbers, places in words, and what is missing."""

from decimal import Decimal
from typing import NamedTuple

import numpy as np

from skrank.datasets._tables._words import DECIMAL_COMMA, is_missing, is_number, place_of

LARGEST_EXACT = 2**53


class Numbers(NamedTuple):
    """Values of the cells, NaN where missing or text; which cells are text; which columns name places in words."""

    values: np.ndarray
    is_text: np.ndarray
    in_words: np.ndarray

    @property
    def is_numeric(self):
        """Which columns hold numbers, a few damaged cells aside."""
        n_numbers, n_texts = (~np.isnan(self.values)).sum(axis=0), self.is_text.sum(axis=0)
        return (n_numbers > 0) & (n_numbers >= n_texts)

    def take(self, columns):
        """Some of the columns."""
        return Numbers(self.values[:, columns], self.is_text[:, columns], self.in_words[columns])


def numbers_of(table, missing_codes=()):
    """The numbers of all columns of a table."""
    shape = table.cells.shape
    values, is_text, in_words = np.full(shape, np.nan), np.zeros(shape, bool), np.zeros(shape[1], bool)
    missing = MissingCodes(missing_codes)
    for column in range(shape[1]):
        texts, inverse = np.unique(table.cells[:, column].astype(str), return_inverse=True)
        parsed = [_parse(text, table.decimal_comma, missing) for text in texts.tolist()]
        values[:, column] = np.array([np.nan if value is None else value for value, _ in parsed])[inverse]
        is_text[:, column] = np.array([value is None for value, _ in parsed])[inverse]
        in_words[column] = any(words for _, words in parsed)
    return Numbers(values, is_text, in_words)


def _parse(text, decimal_comma, missing):
    """The number of a cell (NaN if missing, None if text), and whether it is a place in words."""
    if missing.contains(text):
        return np.nan, False
    if decimal_comma and DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if is_number(text):
        value = float(text)
        return (None if np.isinf(value) else value), False
    place = place_of(text)
    return (None, False) if place is None else (float(place), True)


class MissingCodes:
    """The cells that hold nothing: the usual words, and codes such as -99 that somebody named."""

    def __init__(self, codes=()):
        self.texts = {str(code).lower() for code in codes}
        self.values = {float(code) for code in self.texts if is_number(code)}

    def contains(self, text):
        """Whether a cell contains no response."""
        if is_missing(text) or text.lower() in self.texts:
            return True
        return bool(self.values) and is_number(text) and float(text) in self.values


def exact_values(table, columns, values):
    """Values whose order is exact, too, where integers are too long for floats: then their order among all."""
    if not (np.abs(values) >= LARGEST_EXACT).any():
        return values
    cells = table.cells[:, columns]
    known = ~np.isnan(values)
    exact = [Decimal(cell.replace(",", ".") if table.decimal_comma else cell) for cell in cells[known]]
    place = {value: number for number, value in enumerate(sorted(set(exact)))}
    values = values.copy()
    values[known] = [place[value] for value in exact]
    return values
