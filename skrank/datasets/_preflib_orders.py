"""The lines `count: order` of PrefLib files, parsed as arrays: no loop over lines.

An order is a comma-separated list of alternatives and of braces with comma-separated alternatives, its buckets.
"""

from typing import NamedTuple

import numpy as np

from skrank.datasets._text_files import parse_error

BAD, NUMBER, COMMA, COLON, OPEN, CLOSE, NEWLINE, SPACE = range(8)
KIND = np.full(256, BAD, np.uint8)
for characters, kind in (("0123456789", NUMBER), (",", COMMA), (":", COLON), ("{", OPEN), ("}", CLOSE)):
    KIND[list(characters.encode())] = kind
KIND[list(b" \t\r")] = SPACE
KIND[ord("\n")] = NEWLINE

# Which token may follow which; that braces match is checked by counting them.
FOLLOWS = np.zeros((8, 8), bool)
FOLLOWS[NEWLINE, NUMBER] = True
FOLLOWS[NUMBER, [COMMA, COLON, CLOSE, NEWLINE]] = True
FOLLOWS[COLON, [NUMBER, OPEN]] = True
FOLLOWS[COMMA, [NUMBER, OPEN]] = True
FOLLOWS[OPEN, [NUMBER, CLOSE]] = True
FOLLOWS[CLOSE, [COMMA, NEWLINE]] = True

NAMES = ("", "a number", "','", "':'", "'{'", "'}'", "the end of the line", "")
BLOCK_BYTES = 1 << 19
MAX_DIGITS = 15


class Orders(NamedTuple):
    """Of each order its line, count and number of buckets; of each entry its order, item and bucket (from 0)."""

    line: np.ndarray
    count: np.ndarray  # type: ignore[assignment]
    n_buckets: np.ndarray
    order: np.ndarray
    item: np.ndarray
    bucket: np.ndarray


def parse_orders(content, path, first_line, *, separator, allow_empty):
    """Parse lines of orders.

    Parameters
    ----------
    content : bytes
        The lines.
    path : str or path-like
        For error messages.
    first_line : int
        Number of the first line in the file, from 1.
    separator : {":", ","}
        What stands between a count and its order: a colon, in the old format a comma.
    allow_empty : bool
        Whether a bucket may be empty: in files of categories.

    Returns
    -------
    Orders
    """
    blocks, start, line, n_orders = [], 0, first_line, 0
    while start < len(content):
        end = content.find(b"\n", start + BLOCK_BYTES) + 1
        block = content[start : end or len(content)]
        orders = _parse_block(block, path, line, KIND[ord(separator)], allow_empty)
        blocks.append(orders._replace(order=orders.order + n_orders))
        line += block.count(b"\n")
        n_orders += len(orders.line)
        start += len(block)
    if not n_orders:
        raise parse_error(path, line, "no orders after the header.")
    return Orders(*map(np.concatenate, zip(*blocks, strict=True)))


def _parse_block(block, path, first_line, separator, allow_empty):
    if not block.endswith(b"\n"):
        block += b"\n"

    def fail(place, message):
        line = first_line + block.count(b"\n", 0, int(place))
        text = block.split(b"\n")[line - first_line].decode("utf-8", "replace").strip()
        return parse_error(path, line, f"{message} in {text if len(text) <= 60 else text[:57] + '...'!r}.")

    characters = np.frombuffer(block, np.uint8)
    kind = KIND[characters]
    if (kind == BAD).any():
        place = int((kind == BAD).argmax())
        raise fail(place, f"unexpected character {chr(characters[place])!r}")
    digit = kind == NUMBER
    inner_digit = digit & np.append(False, digit[:-1])
    place = np.flatnonzero((kind != SPACE) & ~inner_digit)
    blank = (kind[place] == NEWLINE) & (_previous(kind[place]) == NEWLINE)
    place = place[~blank]
    token = kind[place]
    starts = np.flatnonzero(_previous(token) == NEWLINE)
    _separate_counts(token, starts, separator, place, fail)
    depth = _brace_depth(token, place, fail)
    _check_neighbors(token, allow_empty, place, fail)

    number = np.flatnonzero(token == NUMBER)
    value = _values(characters, digit, place[number], fail)
    is_count = _previous(token)[number] == NEWLINE
    count, entry = value[is_count], number[~is_count]
    order = (np.cumsum(_previous(token) == NEWLINE) - 1)[entry]
    outer_comma = np.cumsum((token == COMMA) & (depth == 0))
    newlines = np.cumsum(kind == NEWLINE)
    return Orders(
        line=first_line + newlines[place[starts]],
        count=count,
        n_buckets=outer_comma[token == NEWLINE] - outer_comma[starts] + 1,
        order=order,
        item=value[~is_count],
        bucket=outer_comma[entry] - outer_comma[starts[order]],
    )


def _previous(token):
    """The token before each one; before the first, the end of the line before it."""
    previous = np.full_like(token, NEWLINE)
    previous[1:] = token[:-1]
    return previous


def _separate_counts(token, starts, separator, place, fail):
    """Check that each line starts with a count and its separator, and make the separator a COLON in place."""
    wrong = (token[starts] != NUMBER) | (token[starts + 1] != separator) if len(starts) else np.zeros(0, bool)
    if wrong.any():
        raise fail(
            place[starts[wrong.argmax()]], f"no 'count{':' if separator == COLON else ','}' at the start of the line"
        )
    stray = token == COLON
    stray[starts + 1] = False
    if stray.any():
        raise fail(place[stray.argmax()], "a ':' within an order")
    token[starts + 1] = COLON


def _brace_depth(token, place, fail):
    """How many braces are open after each token: none or one, and none at the end of a line."""
    depth = np.cumsum((token == OPEN).astype(np.int32) - (token == CLOSE))
    wrong = (depth < 0) | (depth > 1) | ((token == NEWLINE) & (depth != 0))
    if wrong.any():
        raise fail(place[wrong.argmax()], "braces that do not match")
    return depth


def _check_neighbors(token, allow_empty, place, fail):
    previous = _previous(token)
    allowed = FOLLOWS[previous, token]
    if not allow_empty:
        allowed &= ~((previous == OPEN) & (token == CLOSE))
    if not allowed.all():
        wrong = int((~allowed).argmax())
        raise fail(place[wrong], f"{NAMES[token[wrong]]} right after {NAMES[previous[wrong]]}")


def _values(characters, digit, start, fail):
    """The values of the numbers that start at the given places."""
    end = np.flatnonzero(digit & ~np.append(digit[1:], False))
    length = end - start + 1
    if length.max(initial=0) > MAX_DIGITS:
        raise fail(start[(length > MAX_DIGITS).argmax()], f"a number of more than {MAX_DIGITS} digits")
    value = np.zeros(len(start), np.int64)
    for place in range(int(length.max(initial=0))):
        inside = length > place
        value[inside] = value[inside] * 10 + (characters[start[inside] + place] - ord("0"))
    return value
