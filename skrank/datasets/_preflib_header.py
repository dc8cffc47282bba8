"""Headers of PrefLib files: today's lines `# KEY: value`, and the one before 2022."""

import os
import re
from typing import NamedTuple

from skrank.datasets._text_files import decode_line, parse_error

KINDS = {
    "soc": "strict orders of all alternatives",
    "soi": "strict orders of some alternatives",
    "toc": "orders with ties of all alternatives",
    "toi": "orders with ties of some alternatives",
    "cat": "categories of alternatives",
}
NUMBERED = re.compile(r"(ALTERNATIVE|CATEGORY) NAME\b(.*)")
WHOLE = re.compile(r"[0-9]{1,15}")


class Header(NamedTuple):
    """What a header says, and where the orders begin.

    `totals` maps each of "voters" and "orders" to (number, line, the header's words for it). `first_item` is the number
    of the first alternative: 1, in some old files 0.
    """

    kind: str
    item_names: list
    category_names: list
    totals: dict
    metadata: dict
    separator: str
    n_lines: int
    n_bytes: int
    first_item: int = 1


def kind_of_path(path):
    """The kind of file that the ending of its name says, or None."""
    ending = os.fspath(path).removesuffix(".gz").rpartition(".")[2].lower()
    return ending if ending in KINDS else None


def read_header(content, path):
    """The header at the start of a file's content."""
    lines = _Lines(content, path)
    return _read_keys(lines, path) if lines.peek().startswith("#") else _read_old(lines, path)


class _Lines:
    """Reads a file's first lines one after the other, knowing number and place; blank ones are passed over."""

    def __init__(self, content, path):
        self.content, self.path, self.number, self.place = content, path, 0, 0

    def _following(self):
        number, place = self.number, self.place
        while place < len(self.content):
            end = self.content.find(b"\n", place) + 1 or len(self.content)
            number += 1
            text = decode_line(self.content[place:end], self.path, number)
            place = end
            if text:
                return text, number, place
        return "", number + 1, place

    def peek(self):
        return self._following()[0]

    def next(self):
        text, self.number, self.place = self._following()
        return text


# ---------------------------------------------------------------- today's header
def _read_keys(lines, path):
    found: dict[str, tuple] = {}
    while lines.peek().startswith("#"):
        key, colon, value = (part.strip() for part in lines.next().removeprefix("#").partition(":"))
        if not (key and colon):
            raise parse_error(path, lines.number, "a header line must read '# KEY: value'.")
        key = key.upper()
        if key in found:
            raise parse_error(path, lines.number, f"{key} for the second time (first in line {found[key][1]}).")
        found[key] = (value, lines.number)
    kind = _kind(found, path, lines.number)
    n_items = _whole(found, "NUMBER ALTERNATIVES", path, lines.number)
    n_categories = _whole(found, "NUMBER CATEGORIES", path, lines.number) if kind == "cat" else 0
    orders = "NUMBER UNIQUE PREFERENCES" if "NUMBER UNIQUE PREFERENCES" in found else "NUMBER UNIQUE ORDERS"
    totals = {
        name: (_whole(found, key, path, lines.number), found[key][1], key)
        for name, key in (("voters", "NUMBER VOTERS"), ("orders", orders))
    }
    item_names = _names(found, "ALTERNATIVE", n_items, path, lines.number)
    category_names = _names(found, "CATEGORY", n_categories, path, lines.number)
    metadata = {
        key.lower().replace(" ", "_"): int(value) if key.startswith("NUMBER ") and WHOLE.fullmatch(value) else value
        for key, (value, _) in found.items()
        if not NUMBERED.fullmatch(key)
    }
    if kind == "cat":
        metadata["category_names"] = category_names
    return Header(kind, item_names, category_names, totals, metadata, ":", lines.number, lines.place)


def _kind(found, path, last_line):
    value, line = _require(found, "DATA TYPE", path, last_line)
    kind = value.lower()
    if kind not in KINDS:
        expected = "; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items())
        raise parse_error(path, line, f"DATA TYPE is {value!r}, which is not a kind of rankings ({expected}).")
    if kind_of_path(path) not in (None, kind):
        raise parse_error(path, line, f"DATA TYPE is {value!r}, but the file's name ends in '.{kind_of_path(path)}'.")
    return kind


def _require(found, key, path, last_line):
    if key not in found:
        raise parse_error(path, last_line, f"the header ends here without a line '# {key}: ...'.")
    return found[key]


def _whole(found, key, path, last_line):
    value, line = _require(found, key, path, last_line)
    if not (WHOLE.fullmatch(value) and int(value)):
        raise parse_error(path, line, f"{key} is {value!r}, but must be a positive whole number, of at most 15 digits.")
    return int(value)


def _names(found, what, number, path, last_line):
    # Some published files number their categories from 0.
    first = 0 if what == "CATEGORY" and "CATEGORY NAME 0" in found else 1
    last = first + number - 1
    for key, (_, line) in found.items():
        match = NUMBERED.fullmatch(key)
        if match and match[1] == what:
            index = match[2].removeprefix(" ")
            if not WHOLE.fullmatch(index) or index != str(int(index)) or not first <= int(index) <= last:
                expected = (
                    f"'{what} NAME' must be followed by a number from {first} to {last}" if number else "there are none"
                )
                raise parse_error(path, line, f"{key}, but the header announces {number} of them: {expected}.")
    return [_require(found, f"{what} NAME {index}", path, last_line)[0] for index in range(first, last + 1)]


# ---------------------------------------------------------------- the header before 2022
def _read_old(lines, path):
    kind = kind_of_path(path)
    if kind is None:
        raise parse_error(
            path,
            1,
            "no header '# KEY: value'; in the old format the file's name tells the kind by its ending, one of "
            + ", ".join(f".{ending}" for ending in KINDS if ending != "cat")
            + ".",
        )
    if kind == "cat":
        raise parse_error(path, 1, "no header '# KEY: value', and the old format has no categories.")
    (n_items,) = _old_numbers(lines, path, "the number of alternatives", 1)
    names = []
    first_item = 0 if lines.peek().partition(",")[0].strip() == "0" else 1
    for item in range(first_item, first_item + n_items):
        number, _, name = lines.next().partition(",")
        if number.strip() != str(item):
            raise parse_error(
                path, lines.number, f"expected '{item},name', the name of alternative {item} of {n_items}."
            )
        names.append(name.strip())
    voters, counts, orders = _old_numbers(lines, path, "'voters,sum of counts,unique orders'", 3)
    if voters != counts:
        raise parse_error(path, lines.number, f"{voters} voters, but a sum of counts of {counts}.")
    line = lines.number
    totals = {"voters": (voters, line, "the sum of counts"), "orders": (orders, line, "the number of unique orders")}
    metadata = {
        "file_name": os.path.basename(path),
        "data_type": kind,
        "number_alternatives": n_items,
        "number_voters": voters,
        "number_unique_orders": orders,
    }
    return Header(kind, names, [], totals, metadata, ",", line, lines.place, first_item)


def _old_numbers(lines, path, what, how_many):
    text = lines.next()
    numbers = [number.strip() for number in text.split(",")]
    if len(numbers) != how_many or not all(WHOLE.fullmatch(number) and int(number) for number in numbers):
        raise parse_error(path, lines.number, f"expected {what} (old format) or '# KEY: value', found {text[:60]!r}.")
    return [int(number) for number in numbers]
