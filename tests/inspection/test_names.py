"""Names in pictures: broken into lines, never cut."""

import numpy as np
import pytest

from skrank.inspection._base import line_width, most_lines, wrap_names
from skrank.inspection._columns import layout

LONG = "Protect moors, forests and rivers from further development (including the coast)"
WORD = "Donaudampfschifffahrtsgesellschaftskapitän"


@pytest.mark.parametrize("width", [None, 12, 30])
def test_nothing_is_cut(width):
    names = ["Ann", LONG, WORD, f"{LONG} {WORD}", "", "two  spaces"]
    wrapped = wrap_names(names, width)
    for name, lines in zip(names, wrapped, strict=True):
        assert "".join(lines.split()) == "".join(name.split())
    assert line_width(wrapped) <= (width or 40)
    assert wrapped[0] == "Ann"


def test_lines_are_of_like_length():
    lines = wrap_names(["one two three four five six"], 20)[0].split("\n")
    assert lines == ["one two three", "four five six"]


def test_dollars_are_no_mathematics():
    assert wrap_names(["$5"]) == [r"\$5"]


def test_columns_of_many_groups_are_narrower():
    two, twelve = (layout([LONG] * 10, n_columns, 10) for n_columns in (2, 12))
    assert line_width(two[0]) > line_width(twelve[0])
    assert twelve[1][1] > two[1][1]  # rows are higher instead
    assert np.prod(layout(["Ann"] * 10, 2, 10)[1]) < np.prod(two[1])
    assert most_lines(layout(["Ann"], 1, 1)[0]) == 1
