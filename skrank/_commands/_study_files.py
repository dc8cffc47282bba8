"""The files of a study: items with pictures, sheets of queries for each rater, and the responses that come back."""

import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
from importlib.resources import files
from string import Template
from typing import NamedTuple

from skrank._commands._csv import read_cells
from skrank.datasets._text_files import parse_error, read_bytes

LOG, ITEMS, PICTURES, SHEETS, RESPONSES = "study.jsonl", "items.csv", "pictures", "sheets", "responses"
ITEM_COLUMNS = {"name": ("name", "item"), "text": ("text", "label"), "picture": ("picture", "image", "file")}
SHEET_COLUMNS = ("id", "rater", "anchor", "left", "right", "response")
OTHER_STUDY = "this sheet is of another study, or its rows were mixed up."
KEPT = "the first response is kept."
ENDINGS = (".csv", ".txt", ".tsv")
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
WORDS = {
    "left": "left",
    "right": "right",
    "don't know": None,
    "dont know": None,
    "do not know": None,
    "?": None,
}


class Item(NamedTuple):
    """An item: its name, the text that raters read, and the path of its picture; empty where there is none."""

    name: str
    text: str
    picture: str


class Unread(NamedTuple):
    """A row that could not be read: file, line, and why."""

    file: str
    line: int
    reason: str


# ---------------------------------------------------------------- items
def read_items(path):
    """The items of a CSV with the columns name, text, picture (any of the last two may be missing)."""
    rows, lines = read_cells(_utf8(read_bytes(path)), path)
    columns = _item_columns(rows[0], path)
    items: list = []
    seen: dict = {}
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if len(row) != len(rows[0]):
            raise parse_error(path, line, f"{len(row)} cells, but the header has {len(rows[0])}.")
        name, text, picture = (row[columns[kind]] if kind in columns else "" for kind in ITEM_COLUMNS)
        if not name:
            raise parse_error(path, line, "the name is empty.")
        if name in seen:
            raise parse_error(path, line, f"{name!r} is the name of line {seen[name]} already.")
        seen[name] = line
        if picture:
            picture = os.path.join(os.path.dirname(path), picture)
            try:
                picture_type(picture)
            except (OSError, ValueError) as error:
                raise parse_error(path, line, _reason(error)) from None
        items.append(Item(name, text, picture))
    if len(items) < 3:
        raise parse_error(path, lines[-1], f"{len(items)} items: a triplet has three.")
    return items


def _item_columns(header, path):
    header = [cell.lower() for cell in header]
    columns = {
        kind: next(header.index(name) for name in names if name in header)
        for kind, names in ITEM_COLUMNS.items()
        if any(name in header for name in names)
    }
    if "name" not in columns:
        raise parse_error(
            path, 1, f"no column 'name' in the header {', '.join(map(repr, header))}: head the names of the items so."
        )
    return columns


def picture_type(path):
    """The media type of a picture, by its content."""
    with open(path, "rb") as file:
        start = file.read(512)
    for signature, kind in SIGNATURES.items():
        if start.startswith(signature) and (kind != "image/webp" or start[8:12] == b"WEBP"):
            return kind
    if b"<svg" in start:
        return "image/svg+xml"
    raise ValueError(f"{path!r} is not a PNG, JPEG, GIF, WebP or SVG picture.")


def copy_items(items, directory):
    """Copy items and pictures into the directory of a study, so that it can be moved."""
    os.makedirs(os.path.join(directory, PICTURES), exist_ok=True)
    copied = []
    for number, item in enumerate(items, 1):
        picture = ""
        if item.picture:
            ending = os.path.splitext(item.picture)[1].lower()
            picture = f"{PICTURES}/{number:03}{ending}"
            shutil.copyfile(item.picture, os.path.join(directory, picture))
        copied.append(Item(item.name, item.text, picture))
    write_table(os.path.join(directory, ITEMS), [Item._fields, *copied])


# ---------------------------------------------------------------- sheets
def write_sheet(directory, sheet, rater, queries, items, texts):
    """A sheet as a CSV and as a page; the paths of both.

    Parameters
    ----------
    directory : str
        The study's directory.
    sheet : str
        Name of the files.
    rater : str
        Who will answer.
    queries : list of (id, anchor, left, right)
        Ids, and numbers of items.
    items : list of Item
        All items.
    texts : dict
        `title` of the study and the `question` above each query.
    """
    names = [item.name for item in items]
    rows = [(number, rater, *(names[item] for item in triplet), "") for number, *triplet in queries]
    paths = [os.path.join(directory, SHEETS, sheet + ending) for ending in (".csv", ".html")]
    write_table(paths[0], [SHEET_COLUMNS, *rows])
    write_text(paths[1], page(directory, sheet, rater, queries, items, texts))
    return paths


def page(directory, sheet, rater, queries, items, texts):
    """A sheet as one HTML file that needs no other."""
    used = sorted({item for _, *triplet in queries for item in triplet})
    place = {item: number for number, item in enumerate(used)}
    content = {
        "sheet": sheet,
        "rater": rater,
        **texts,
        "items": [_shown(items[item], directory) for item in used],
        "queries": [[number, *(place[item] for item in triplet)] for number, *triplet in queries],
    }
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
    data = json.dumps({"key": f"skrank-study-{digest}", **content})
    # within a script element only these end it, or start a comment
    data = data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    title = f"{texts['title']}: {rater}".replace("&", "&amp;").replace("<", "&lt;")
    template = Template(files("skrank._commands").joinpath("templates/sheet.html").read_text(encoding="utf-8"))
    return template.substitute(title=title, sheet=data)


def _shown(item, directory):
    shown = {"name": item.name, "text": item.text}
    if item.picture:
        path = os.path.join(directory, item.picture)
        with open(path, "rb") as file:
            content = base64.b64encode(file.read()).decode()
        shown["picture"] = f"data:{picture_type(path)};base64,{content}"
    return shown


def file_name(rater):
    """A rater's name in the name of a file."""
    return re.sub(r"[^\w-]+", "-", rater).strip("-")[:60] or "rater"


# ---------------------------------------------------------------- responses
def response_files(directory):
    """The files of responses in a study's directory: whatever was sent back, and sheets that were filled in."""
    return [
        os.path.join(directory, folder, name)
        for folder in (RESPONSES, SHEETS)
        if os.path.isdir(os.path.join(directory, folder))
        for name in sorted(os.listdir(os.path.join(directory, folder)))
        if name.lower().endswith(ENDINGS) or (folder == RESPONSES and not name.startswith((".", "~$")))
    ]


def unreadable(path):
    """Why a file in the folder of responses cannot be one, or None."""
    if os.path.isdir(path):
        return "this is a folder: move its files to the folder above it."
    if path.lower().endswith((".crdownload", ".part", ".download")):
        return "the download was interrupted: download the file again."
    if not path.lower().endswith(ENDINGS):
        return "this is not a CSV file: save it from the spreadsheet as CSV."
    return None


def read_responses(path, study):
    """The responses of a file that can be read: rows (line, id, response, rater), and the `Unread` rows.

    A row without a response is neither: it is not answered yet. Where most rows are not those of this study, none is
    read: others would agree with its queries by chance.
    """
    name = os.path.basename(path)
    try:
        rows, lines = read_cells(_utf8(read_bytes(path)), name)
        columns = _response_columns(rows[0], name)
    except (OSError, ValueError) as error:
        line = re.match(rf"(?:{re.escape(path)}|{re.escape(name)}), line (\d+): (.*)", _reason(error), re.DOTALL)
        return [], [Unread(name, int(line[1]) if line else 1, line[2] if line else _reason(error))], 0
    found, unread, n_open = [], [], 0
    for row, line in zip(rows[1:], lines[1:], strict=True):
        try:
            if len(row) != len(rows[0]):
                cut = " The file may be cut off here: get it again." if line == lines[-1] else ""
                raise ValueError(f"{len(row)} cells, but the header has {len(rows[0])}.{cut}")
            cells = {column: row[place] for column, place in columns.items()}
            if cells["response"]:
                found.append((line, *_response(cells, study)))
            else:
                n_open += 1
        except ValueError as error:
            unread.append(Unread(name, line, str(error)))
    n_others = sum(row.reason.endswith(OTHER_STUDY) for row in unread)
    if n_others > len(found):
        reason = f"most rows of this file are not those of this study: {OTHER_STUDY}"
        unread += [Unread(name, line, reason) for line, *_ in found]
        found = []
    return found, unread, n_open


def _response_columns(header, name):
    header = [cell.lower() for cell in header]
    columns = {column: header.index(column) for column in SHEET_COLUMNS if column in header}
    missing = [repr(column) for column in ("id", "response") if column not in columns]
    if missing:
        raise parse_error(
            name, 1, f"no column {' and '.join(missing)} in the header: the first line of a sheet must stay as it was."
        )
    return columns


def _response(cells, study):
    """Id, response and rater of a row; a ValueError says what is wrong with it."""
    number = cells["id"]
    if not re.fullmatch("[0-9]{1,9}", number) or int(number) >= study.n_queries:
        raise ValueError(f"the id {number!r} is not that of a query of this study, 0 to {study.n_queries - 1}.")
    query = study.query(int(number))
    shown = {role: str(study.items[getattr(query, role)]) for role in ("anchor", "left", "right")}
    for role, item in shown.items():
        if cells.get(role, item) != item:
            raise ValueError(f"query {number} has {item!r} as {role}, not {cells[role]!r}: {OTHER_STUDY}")
    word = cells["response"].lower().replace("\u2019", "'")
    if word in WORDS:
        response = WORDS[word]
    elif cells["response"] in (shown["left"], shown["right"]):
        response = "left" if cells["response"] == shown["left"] else "right"
    else:
        raise ValueError(
            f"{cells['response']!r} is not a response: write left or right, the name of one of the two items, or "
            "don't know."
        )
    return int(number), response, cells.get("rater") or query.rater


# ---------------------------------------------------------------- text files
def write_table(path, rows):
    """A CSV that spreadsheets read as UTF-8."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    write_text(path, "\ufeff" + text.getvalue())


def write_text(path, text):
    """A whole file or none."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.tmp"
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(temporary, path)


def _utf8(content):
    """Text as a spreadsheet saved it: in UTF-8, or else in the code page of western Windows."""
    try:
        content.decode("utf-8")
        return content
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace").encode()


def _reason(error):
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)
