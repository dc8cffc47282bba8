"""A table as rows of text cells: CSV in any usual encoding and delimiter, or a workbook (xlsx, ods)."""

import csv
import io
import re
from typing import NamedTuple

from skrank.datasets._text_files import parse_error, text_bytes

DELIMITERS = ",;\t|"
QUOTED = re.compile(r'"[^"]*"?')
WORKBOOK, OLD_WORKBOOK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Grid(NamedTuple):
    """Rows of cells without the space around them, the line that each row ends in, and how the file was read."""

    rows: list[list[str]]
    lines: list[int]
    path: str
    delimiter: str
    notes: list[str]

    def error(self, row, message):
        """The ValueError for a row of the grid."""
        return parse_error(self.path, self.lines[row] if row < len(self.lines) else 1, message)


def read_grid(content, path, *, encoding=None, sheet=None):
    """The cells of a file's content, bytes as they came."""
    if content.startswith(OLD_WORKBOOK):
        raise parse_error(path, 1, "this is an Excel file of the old kind (.xls). Save it as .xlsx or as CSV.")
    if content.startswith(WORKBOOK):
        return _read_workbook(content, path, sheet)
    if sheet is not None:
        raise parse_error(path, 1, "a sheet was asked for, but this is not a workbook.")
    text, notes = _decode(content, path, encoding)
    return _read_csv(text, path, notes)


# ---------------------------------------------------------------- text
def _decode(content, path, encoding):
    if content.startswith(UTF_16) and encoding is None:
        encoding = "utf-16"
    if encoding is not None:
        try:
            return content.decode(encoding), [f"encoding: {encoding}"]
        except (UnicodeError, LookupError) as error:
            raise parse_error(path, 1, f"cannot be read as {encoding} ({error}).") from None
    content = text_bytes(content, path)
    try:
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"not UTF-8 text ({error.reason} at byte {error.start})"
    # Windows' own encoding, unless some other letters are valid UTF-8: then it is UTF-8 with a damaged byte.
    if not re.search(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}", content):
        try:
            return content.decode("cp1252"), ["encoding: Windows-1252"]
        except UnicodeDecodeError:
            pass
    raise parse_error(path, line, f"{reason}. Name its encoding, latin2 say, or save the file as UTF-8.")


def _read_csv(text, path, notes):
    lines = [line.strip("\r") for line in text.rstrip("\r\n").split("\n")]
    start = 0
    if named := re.fullmatch(r"sep=(.)", lines[0].strip(), re.IGNORECASE):  # Excel's hint
        delimiter, start = named[1], 1
    else:
        delimiter = max(DELIMITERS, key=QUOTED.sub("", lines[0]).count)
    reader = csv.reader([line + "\n" for line in lines[start:]], delimiter=delimiter, strict=True)
    rows, numbers = [], []
    try:
        for row in reader:
            cells = [" ".join(cell.split()) if "\xa0" in cell else cell.strip() for cell in row]
            if len(cells) > 1 or any(cells):  # else a blank line
                rows.append(cells)
                numbers.append(start + reader.line_num)
    except csv.Error as error:
        raise parse_error(path, start + reader.line_num, f"{error}.") from None
    if not rows:
        raise parse_error(path, 1, "the file is empty.")
    return Grid(rows, numbers, path, delimiter, notes)


# ---------------------------------------------------------------- workbooks
def _read_workbook(content, path, sheet):
    advice = "Install what reads it (pip install 'skrank[io]'), or save the sheet as CSV."
    try:
        import pandas
    except ImportError:
        raise parse_error(path, 1, f"reading a workbook needs pandas. {advice}") from None
    try:
        sheets = pandas.read_excel(io.BytesIO(content), sheet_name=None, header=None, dtype=object, na_filter=False)
    except ImportError as error:
        raise parse_error(path, 1, f"{error} {advice}") from None
    except Exception as error:  # whatever a broken archive raises
        raise parse_error(path, 1, f"this is not a workbook that can be read ({error}).") from None
    filled = {name: frame for name, frame in sheets.items() if frame.size}
    if sheet is not None and sheet not in filled:
        raise parse_error(path, 1, f"there is no sheet {sheet!r} with cells; there are {', '.join(map(repr, filled))}.")
    if not filled:
        raise parse_error(path, 1, "the workbook is empty.")
    name = next(iter(filled)) if sheet is None else sheet
    notes = [f"sheet: {name} (of {', '.join(filled)})"] if len(filled) > 1 else []
    rows, lines = [], []
    for number, values in enumerate(filled[name].itertuples(index=False), 1):
        cells = [_cell(value) for value in values]
        if any(cells):
            rows.append(cells)
            lines.append(number)
    return Grid(rows, lines, path, "\t", notes)


def _cell(value):
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return " ".join(str(value).split())
