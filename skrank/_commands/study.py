"""`skrank study`: a study with people, from a list of items to a map, by files."""

import json
import os
import zlib

from skrank._commands import _output, _study_files, _study_report
from skrank._commands._arguments import positive, whole
from skrank._commands._output import Result, check_writable
from skrank._commands._text import count, heading, paragraph, shorten, table
from skrank.manifold import TripletStudy

HELP = "Run a study with people: sheets and pages with 'is A more like B or like C?', their responses, and a map."
EPILOG = """\
examples:
  {prog} new items.csv --queries 600 --raters 20 --sheets mystudy
  {prog} new items.csv --queries 300 --raters ann ben --sheets mystudy --components 3
  {prog} read mystudy
  {prog} report mystudy --plot map.png
  {prog} next mystudy --queries 200

items.csv has a header, a column `name`, and optionally `text` (what raters read) and `picture` (a file in the same
folder). For each rater, `new` writes a page that works without a network (sheets/NAME-1.html) and a CSV with the same
queries. Send either of them. Put the returned files (the file that the page saves, or the CSV with its last column
filled in: left, right or don't know) into the folder responses, then run `read`. For details, see
`{prog} new --help` and the help of the other steps.

--json prints an object with: notes, and, by the step,
  new, next: directory, n_queries, raters: each with rater, n_queries, files,
  read: directory, n_new, n_known, n_unanswered, n_unread, files: each with file, n_new, n_known, n_unanswered,
    n_unread, unread: each with file, line, reason,
  report: title, n_items, n_queries, n_responses, n_unknown, n_unanswered, components, expected_error,
    error_is_certain, gains: each with n (further responses), expected_error, agreement (alpha, low, high, n_triplets),
    raters: each with rater, n_responses, n_unknown, lapse, lapse_low, lapse_high, guesses, n_repeated, repeated_alike,
    left, items: each with item, n_responses, coordinates, standard_error, nearest."""
HAS_STEPS = True  # its own subcommands have the arguments that say what to do with the result

TEXTS = "texts.json"
QUESTION = "Which of the two below is more like the one above?"
LARGEST_PAGE = 20e6  # bytes
SHOWN_ROWS = 20
UNKNOWN = "don't know"


def add_arguments(parser):
    """Add the steps of a study, each with its arguments."""
    steps = parser.add_subparsers(dest="step", metavar="STEP", title="steps", required=True)
    new = _add_step(steps, "new", "Start a study: write its folder with sheets for each rater.")
    new.add_argument("items", help="a CSV of the items with the column name, and optionally text and picture")
    _add_queries(new, "20")
    new.add_argument("--sheets", metavar="DIR", required=True, help="the folder to create for the study")
    new.add_argument("--components", type=positive, default=2, metavar="N", help="dimensions of the map (default: 2)")
    new.add_argument("--title", default="Study", help="title that raters see above their sheet (default: Study)")
    new.add_argument("--question", default=QUESTION, help=f"question to the raters (default: {QUESTION!r})")
    new.add_argument("--design", choices=["auto", "uniform"], default="auto", help="auto (the default): later "
                     "queries are the most informative ones; uniform: all queries are random")  # fmt: skip
    new.add_argument("--seed", type=whole, metavar="N", help="seed of the queries "
                     "(default: derived from the folder's name, the title and the question)")  # fmt: skip
    read = _add_step(steps, "read", "Read the returned responses; those read before are not counted twice.")
    _add_directory(read)
    read.add_argument(
        "files", nargs="*", help="files of responses (default: those in the folders responses and sheets)"
    )
    next_ = _add_step(steps, "next", "Write further sheets with the most informative queries.")
    _add_directory(next_)
    _add_queries(next_, "those of the sheets before")
    report = _add_step(
        steps, "report", "Report the map, its uncertainty, the raters, and the gain from more responses."
    )
    _add_directory(report)
    report.add_argument("--output", metavar="FILE", help="write the coordinates to this CSV file")


def _add_step(steps, name, text):
    step = steps.add_parser(name, help=text, description=text)
    _output.add_arguments(step, title=False)
    return step


def _add_directory(parser):
    parser.add_argument("directory", help="the folder of the study")


def _add_queries(parser, default):
    parser.add_argument(
        "--queries", type=positive, required=True, metavar="N", help="total number of queries for all raters"
    )
    parser.add_argument(
        "--raters", nargs="+", metavar="NAME", help=f"names of the raters, or their number (default: {default})"
    )


def run(arguments):
    """Run one step."""
    step = {"new": run_new, "read": run_read, "next": run_next, "report": run_report}[arguments.step]
    if arguments.step != "report" and arguments.plot:
        raise ValueError("--plot draws the map of `study report`.")
    return step(arguments)


# ---------------------------------------------------------------- new, next
def run_new(arguments):
    """Make a study's folder, with its first sheets."""
    directory = arguments.sheets
    items = _study_files.read_items(arguments.items)
    raters = _raters(arguments.raters or ["20"])
    if os.path.isdir(directory) and os.listdir(directory):
        raise ValueError(f"--sheets {directory}: the folder is not empty. Name another, or go on with `study next`.")
    os.makedirs(os.path.join(directory, _study_files.RESPONSES), exist_ok=True)
    _study_files.copy_items(items, directory)
    texts = {"title": arguments.title, "question": arguments.question}
    _study_files.write_text(os.path.join(directory, TEXTS), json.dumps(texts, indent=2, ensure_ascii=False))
    seed = _seed(directory, texts) if arguments.seed is None else arguments.seed
    study = TripletStudy(
        [item.name for item in items], arguments.components, design=arguments.design, random_state=seed
    )
    study.save(os.path.join(directory, _study_files.LOG))
    return _ask(study, directory, raters, arguments.queries)


def _seed(directory, texts):
    """A seed by what tells studies apart: with equal queries, sheets of another study of the items would be read."""
    name = os.path.basename(os.path.abspath(directory))
    return zlib.crc32("\0".join([name, texts["title"], texts["question"]]).encode())


def run_next(arguments):
    """Write further sheets of a study."""
    study = load(arguments.directory)
    if arguments.raters:
        raters = _raters(arguments.raters)
    else:
        raters = list(dict.fromkeys(rater for _, rater, _ in _sheets(study)))
    return _ask(study, arguments.directory, raters, arguments.queries)


def load(directory):
    """The study in a folder."""
    path = os.path.join(directory, _study_files.LOG)
    if not os.path.isfile(path):
        raise ValueError(f"{directory}: no study here (no file {_study_files.LOG}). Start one with `study new`.")
    return TripletStudy.load(path)


def _raters(given):
    """Names of raters, or so many numbered ones."""
    if len(given) == 1 and given[0].isdecimal():
        n_raters = int(given[0])
        if not 1 <= n_raters <= 10_000:
            raise ValueError(f"--raters {given[0]}: from 1 to 10000 raters are possible.")
        return [f"rater{number:0{len(given[0])}}" for number in range(1, n_raters + 1)]
    names = [name.strip() for name in given]
    repeated = [name for name in names if names.count(name) > 1 or not name]
    if repeated:
        raise ValueError(f"--raters: {repeated[0]!r} is given twice or empty; names must differ.")
    return names


def _ask(study, directory, raters, n_queries):
    if n_queries < len(raters):
        raise ValueError(f"--queries {n_queries}: fewer than one for each of {len(raters)} raters.")
    share, more = divmod(n_queries, len(raters))
    for number, rater in enumerate(raters):
        study.ask(share + (number < more), rater)
    written = _write_sheets(study, directory)
    figures = {
        "directory": directory,
        "n_queries": n_queries,
        "raters": [
            {"rater": rater, "n_queries": len(ids), "files": files} for (_, rater, ids), files in written.items()
        ],
        "notes": _notes_on_sheets(study, written),
    }
    return Result(figures, write_asked, None)


def _notes_on_sheets(study, written):
    notes = []
    largest = max((path for paths in written.values() for path in paths), key=os.path.getsize)
    if os.path.getsize(largest) > LARGEST_PAGE:
        notes.append(
            f"The page {os.path.basename(largest)} has {os.path.getsize(largest) / 1e6:.0f} MB, much for a phone: make "
            "the pictures smaller (1000 pixels are enough) and start anew."
        )
    n_open = len(study.open_queries().ids) - sum(len(ids) for _, _, ids in written)
    if n_open:
        notes.append(f"{n_open} queries of earlier sheets have no response yet.")
    return notes


def _sheets(study):
    """(name of the files, rater, ids) of each sheet: one for each time that queries were asked of a rater."""
    sheets: list = []
    rounds: dict = {}
    names: dict = {}
    for first, rater, size in study.rounds():
        rounds[rater] = rounds.get(rater, 0) + 1
        if rater not in names:
            name = _study_files.file_name(rater)
            same = sum(_study_files.file_name(other) == name for other in names)
            names[rater] = f"{name}_{same + 1}" if same else name
        sheets.append((f"{names[rater]}-{rounds[rater]}", rater, range(first, first + size)))
    return sheets


def _write_sheets(study, directory):
    """Write the sheets that are not there yet: (name, rater, ids) -> paths."""
    items = _study_files.read_items(os.path.join(directory, _study_files.ITEMS))
    items = [item._replace(picture=os.path.relpath(item.picture, directory) if item.picture else "") for item in items]
    with open(os.path.join(directory, TEXTS), encoding="utf-8") as file:
        texts = json.load(file)
    written = {}
    for sheet, rater, ids in _sheets(study):
        if not os.path.exists(os.path.join(directory, _study_files.SHEETS, sheet + ".html")):
            queries = [(number, *study.query(number)[:3]) for number in ids]
            written[sheet, rater, ids] = _study_files.write_sheet(directory, sheet, rater, queries, items, texts)
    return written


def write_asked(figures):
    """What was written, and what to do with it."""
    raters = figures["raters"]
    rows = [[shorten(one["rater"], 30), str(one["n_queries"]), one["files"][1]] for one in raters[:SHOWN_ROWS]]
    lines = [
        heading(f"{count(figures['n_queries'], 'query')} for {count(len(raters), 'rater')}", "="),
        table(["rater", "queries", "page (beside it the same as .csv)"], rows, left=(0, 2)),
    ]
    if len(raters) > SHOWN_ROWS:
        lines.append(f"(and {len(raters) - SHOWN_ROWS} more)")
    directory = figures["directory"]
    lines += [
        "",
        paragraph(
            "Send each rater the page, which opens in any browser and needs no network, or the CSV file. Put the files "
            f"that come back into {os.path.join(directory, _study_files.RESPONSES)}, then: python -m skrank study read "
            f"{directory}"
        ),
    ]
    return "\n".join(lines)


# ---------------------------------------------------------------- read
def run_read(arguments):
    """Record the responses in files."""
    directory = arguments.directory
    study = load(directory)
    paths = arguments.files or _study_files.response_files(directory)
    for path in arguments.files:
        with open(path, "rb"):
            pass  # a name that was mistyped is an error
    files, unread = [], []
    for path in paths:
        label = path if arguments.files else os.path.relpath(path, directory)
        counts, rows = _record(study, path, check_name=not arguments.files)
        files.append({"file": label, **counts})
        unread += [row._replace(file=label) for row in rows]
    names = ("n_new", "n_known", "n_unanswered", "n_unread")
    figures = {
        "directory": directory,
        **{name: sum(one[name] for one in files) for name in names},
        "files": files,
        "unread": [row._asdict() for row in unread],
        "notes": [],
    }
    return Result(figures, write_read, None, code=1 if unread else 0)


def _record(study, path, check_name):
    """Record what is in a file: counts, and the rows that could not be read."""
    reason = _study_files.unreadable(path) if check_name else None
    if reason is None:
        found, unread, n_unanswered = _study_files.read_responses(path, study)
    else:
        found, unread, n_unanswered = [], [_study_files.Unread(path, 1, reason)], 0
    known = {(one.id, one.rater): (one.response, "the study has") for one in study.responses()}
    new: dict = {}
    n_known = 0
    for line, number, response, rater in found:
        earlier, source = known.get((number, rater), (response, None))
        if source is None:
            new.setdefault(rater, []).append((number, response))
            known[number, rater] = response, f"line {line} has"
        elif earlier == response:
            n_known += 1
        else:
            reason = (
                f"{rater} answered {response or UNKNOWN!r} to query {number}, but {source} {earlier or UNKNOWN!r}: "
                f"{_study_files.KEPT}"
            )
            unread.append(_study_files.Unread(os.path.basename(path), line, reason))
    for rater, rows in new.items():
        study.tell([number for number, _ in rows], [response for _, response in rows], rater)
    counts = {
        "n_new": sum(len(rows) for rows in new.values()),
        "n_known": n_known,
        "n_unanswered": n_unanswered,
        "n_unread": len(unread),
    }
    return counts, sorted(unread, key=lambda row: row.line)


def write_read(figures):
    """What was read."""
    directory = figures["directory"]
    if not figures["files"]:
        folder = os.path.join(directory, _study_files.RESPONSES)
        return paragraph(f"No files of responses in {folder}: put there what raters send back, or name the files.")
    rows = [
        [shorten(one["file"], 50), *(str(one[name]) for name in ("n_new", "n_known", "n_unanswered", "n_unread"))]
        for one in figures["files"]
        # a sheet that was sent out is in the folder of sheets, as a rule empty
        if one["n_new"] or one["n_known"] or one["n_unread"] or not one["file"].startswith(_study_files.SHEETS)
    ]
    lines = [
        heading(f"{figures['n_new']} new responses", "="),
        table(["file", "new", "known", "unanswered", "not read"], rows, left=(0,)),
    ]
    if figures["unread"]:
        n_unread = figures["n_unread"]
        reasons = _reasons(figures["unread"])
        lines += ["", heading("1 row was not read" if n_unread == 1 else f"{n_unread} rows were not read")]
        lines += [paragraph(reason) for reason in reasons[:SHOWN_ROWS]]
        if len(reasons) > SHOWN_ROWS:
            lines.append(f"(and {len(reasons) - SHOWN_ROWS} more; --json has all)")
        kept = [row["reason"].endswith(_study_files.KEPT) for row in figures["unread"]]
        advice = "" if all(kept) else " Correct these and read again: nothing counts twice."
        if any(kept):
            advice += " A recorded response cannot be changed; you need not do anything about rows that differ from it."
        lines.append(paragraph(f"All other rows are recorded.{advice}"))
    lines += ["", paragraph(f"The map, and how sure it is: python -m skrank study report {directory} --plot map.png")]
    return "\n".join(lines)


def _reasons(unread):
    """Why rows were not read, one line for each; a sheet of another study is one reason for all of its rows."""
    others: dict = {}
    for row in unread:
        if row["reason"].endswith(_study_files.OTHER_STUDY):
            others.setdefault(row["file"], []).append(row)
    reasons = []
    for row in unread:
        same = others.get(row["file"], [])
        if len(same) < 2 or row not in same:
            reasons.append(f"{row['file']}, line {row['line']}: {row['reason']}")
        elif row is same[0]:
            reasons.append(
                f"{row['file']}: {len(same)} rows, the first in line {row['line']}, name other items than the queries "
                f"of their ids do: {_study_files.OTHER_STUDY}"
            )
    return reasons


# ---------------------------------------------------------------- report
def run_report(arguments):
    """The map so far."""
    study = load(arguments.directory)
    if arguments.output:
        check_writable(arguments.output, "--output")
    if len(study.triplets_) == 0:
        raise ValueError(f"{arguments.directory}: no responses yet. Read some with `study read`.")
    with open(os.path.join(arguments.directory, TEXTS), encoding="utf-8") as file:
        title = json.load(file)["title"]
    figures = {"title": title, "directory": arguments.directory, **_study_report.describe(study), "notes": []}
    if arguments.output:
        _study_report.write_coordinates(arguments.output, figures["items"])
    return Result(figures, _study_report.write_report, lambda: _study_report.draw(study, title))
