"""Random damage to text files, and slow readers by definition to tell what a damaged file says."""

import csv
import gzip
import re

import numpy as np

TOKENS = (
    *("0", "-1", "00", "1.5", "1e9", "1_0", "0x1", "nan", "inf", "-inf", "NaN", "None", "True"),
    *("1000000000", "99999999999999999999", "9" * 5000, "\u0663", "\u00bd", "1e308", "5e-324"),
    *("{", "}", "{}", ",", ":", ";", "\t", '"', "'", "#", "# ", "=", "\\", "$(x)", "=1+1", "__import__('os')"),
    *("\n", "\r", "\r\n", "\n\n", " ", "\u00a0", "\u2028", "\ufeff", "\0", "\x1a", "a", "\u00e9"),
)


def damage(content, rng):
    """The content with one to four random changes."""
    changes = (flip, delete, repeat, insert, replace_number, swap_lines, truncate, move)
    for _ in range(rng.integers(1, 5)):
        if content:
            content = changes[rng.integers(len(changes))](content, rng)
    return content


def _span(content, rng, longest=40):
    start = int(rng.integers(len(content)))
    return start, min(len(content), start + int(rng.integers(1, longest)))


def flip(content, rng):
    place = int(rng.integers(len(content)))
    return content[:place] + bytes([rng.integers(256)]) + content[place + 1 :]


def delete(content, rng):
    start, stop = _span(content, rng)
    return content[:start] + content[stop:]


def repeat(content, rng):
    start, stop = _span(content, rng)
    return content[:stop] + content[start:stop] * int(rng.integers(1, 4)) + content[stop:]


def insert(content, rng):
    place = int(rng.integers(len(content) + 1))
    return content[:place] + TOKENS[rng.integers(len(TOKENS))].encode() + content[place:]


def replace_number(content, rng):
    numbers = list(re.finditer(rb"[0-9]+", content))
    if not numbers:
        return content
    number = numbers[rng.integers(len(numbers))]
    token = TOKENS[rng.integers(len(TOKENS))] if rng.random() < 0.5 else str(rng.integers(12))
    return content[: number.start()] + token.encode() + content[number.end() :]


def swap_lines(content, rng):
    lines = content.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def truncate(content, rng):
    return content[: int(rng.integers(len(content) + 1))]


def move(content, rng):
    start, stop = _span(content, rng)
    piece, rest = content[start:stop], content[:start] + content[stop:]
    place = int(rng.integers(len(rest) + 1))
    return rest[:place] + piece + rest[place:]


def damaged_file(content, rng):
    """A damaged file: text, or now and then a gzip file, whole or damaged itself."""
    content = damage(content, rng)
    kind = rng.random()
    if kind < 0.1:
        content = gzip.compress(content, mtime=0)
        if kind < 0.05 and content:
            content = (truncate if kind < 0.025 else flip)(content, rng)
    return content


# ---------------------------------------------------------------- what a file says, line by line
def text_of(content):
    """The text of an accepted file."""
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252")


def preflib_by_definition(content):
    """Item names, and a list of (count, {item: bucket}) of a PrefLib file that is known to be whole."""
    lines = [line.strip() for line in text_of(content).split("\n") if line.strip()]
    if lines[0].startswith("#"):
        header = [line for line in lines if line.startswith("#")]
        entries = dict(re.match(r"#\s*(.*?)\s*:\s*(.*)", line).groups() for line in header)
        entries = {key.upper(): value.strip() for key, value in entries.items()}
        n_items = int(entries["NUMBER ALTERNATIVES"])
        names = [entries[f"ALTERNATIVE NAME {item}"] for item in range(1, n_items + 1)]
        orders, separator = lines[len(header) :], ":"
    else:
        n_items = int(lines[0])
        names = [line.split(",", 1)[1].strip() for line in lines[1 : n_items + 1]]
        orders, separator = lines[n_items + 2 :], ","
    found = []
    for line in orders:
        count, order = re.sub(r"\s", "", line).split(separator, 1)
        buckets = re.findall(r"\{[^}]*\}|[0-9]+", order)
        if separator == ",":  # old files have empty buckets of no meaning
            buckets = [bucket for bucket in buckets if bucket != "{}"]
        found.append(
            (
                int(count),
                {int(item) - 1: b for b, bucket in enumerate(buckets) for item in re.findall("[0-9]+", bucket)},
            )
        )
    merged = {}
    for count, bucket_of in found:  # an order on two lines is meant twice
        key = tuple(sorted(bucket_of.items()))
        merged[key] = (merged[key][0] + count if key in merged else count, bucket_of)
    return names, list(merged.values())


def matrix_of(found, n_items):
    """Rank matrix of lists of (count, {item: bucket}), and the counts."""
    matrix = np.full((len(found), n_items), np.nan)
    for row, (_, bucket_of) in enumerate(found):
        for item, bucket in bucket_of.items():
            matrix[row, item] = bucket
    return matrix, np.array([count for count, _ in found])


def sushi_by_definition(content):
    """Rank matrix of a SUSHI file that is known to be whole."""
    lines = text_of(content).rstrip().split("\n")
    n_items = int(lines[0].split()[0])
    found = [(1, {int(item): place for place, item in enumerate(line.split()[2:])}) for line in lines[1:]]
    return matrix_of(found, n_items)[0]


def cells_by_definition(content):
    """The cells of a CSV file that is known to be whole, without the space around them, blank lines left out."""
    lines = text_of(content).rstrip("\r\n").split("\n")
    delimiter = max(",;\t|", key=lines[0].count)
    rows = csv.reader([line.strip("\r") + "\n" for line in lines], delimiter=delimiter)
    cells = [[cell.replace("\u00a0", " ").strip() for cell in row] for row in rows]
    return [row for row in cells if len(row) > 1 or any(row)]
