"""`python -m skrank triplets`: coordinates from recorded answers to "is A more like B or like C?"."""

import csv
import os
import warnings
from argparse import ArgumentTypeError
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import GroupShuffleSplit
from sklearn.neighbors import NearestNeighbors

from skrank._commands._text import WIDTH, heading, paragraph, percent, shorten, table
from skrank._triplets import check_triplets
from skrank.datasets import make_triplets
from skrank.datasets._text_files import decode_line, parse_error, read_bytes
from skrank.manifold import StochasticTripletEmbedding
from skrank.metrics import procrustes_error, triplet_accuracy
from skrank.preprocessing._labels import distinct_labels, encode

HELP = "Embed the items of recorded triplet answers, and say how well held-out answers are predicted."

COMPARED = (1, 2, 3, 5)  # numbers of components in the table, beside the one asked for
SHOWN_ITEMS = 10
N_NEIGHBOURS = 3
RESPONSES = {"true": 1, "false": 0}


class Record(NamedTuple):
    """What was read: answers as rows (anchor, near, far) of item numbers, the items' labels, a title, true points."""

    triplets: np.ndarray
    items: list
    title: str
    points: np.ndarray | None = None


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "file",
        nargs="?",
        help="a CSV with a header and the columns anchor, near, far: the anchor was found more like `near` than like "
        "`far`. A fourth column may hold the answers: 1 or true where `near` is right, 0 or false where it is `far`; "
        "or counts, negative for `far`. The header may be left out where all items are whole numbers. The file may be "
        "gzipped. Without it: answers generated from 100 points in the plane, with noise.",
    )
    parser.add_argument("--components", type=_positive, default=2, metavar="N", help="dimensions (default: 2)")
    parser.add_argument(
        "--alpha", type=_not_negative, default=1.0, metavar="A", help="strength of the regularisation (default: 1)"
    )
    parser.add_argument(
        "--held-out", type=_share, default=0.2, metavar="SHARE", help="share of the questions held out (default: 0.2)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the split and the fits (default: 0)")
    parser.add_argument("--output", metavar="FILE", help="write the coordinates to this CSV file")


def run(arguments):
    """Fit, test on held-out questions, and report as text."""
    record = _generated() if arguments.file is None else _read(arguments.file)
    sections = [_describe(record), _predict(record, arguments)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _model(record, arguments.components, arguments).fit(record.triplets)
    sections.append(_embedding(record, model, caught))
    if arguments.output:
        _write(arguments.output, record.items, model.embedding_)
        sections.append(paragraph(f"The coordinates of all {len(record.items)} items are in {arguments.output}."))
    return "\n\n\n".join(sections)


# ---------------------------------------------------------------- sections
def _describe(record):
    n_answers = np.bincount(record.triplets.ravel(), minlength=len(record.items))
    questions = _questions(record.triplets)
    n_questions = questions.max() + 1
    lines = [
        heading(record.title, "="),
        paragraph(
            f"{len(record.triplets)} answers to {n_questions} different questions about {len(record.items)} items. "
            f"An item occurs in {np.median(n_answers):.0f} answers (median; {n_answers.min()} to {n_answers.max()})."
        ),
    ]
    lower_is_nearer = np.bincount(questions, record.triplets[:, 1] < record.triplets[:, 2])
    asked = np.bincount(questions)
    again = asked > 1
    if again.any():
        majority = np.maximum(lower_is_nearer, asked - lower_is_nearer)[again].sum() / asked[again].sum()
        lines.append(
            paragraph(
                f"{again.sum()} questions were answered more than once. {percent(majority)} of their answers agree "
                "with their majority, which no prediction can beat there."
            )
        )
    return "\n".join(lines)


def _predict(record, arguments):
    groups = _questions(record.triplets)
    if groups.max() < 1:
        raise ValueError("all answers are to one question: there is nothing to hold out.")
    split = GroupShuffleSplit(1, test_size=arguments.held_out, random_state=arguments.seed)
    train, test = next(split.split(record.triplets, groups=groups))
    seen = np.zeros(len(record.items), bool)
    seen[record.triplets[train]] = True
    known = seen[record.triplets[test]].all(axis=1)
    if not known.any():
        raise ValueError("every held-out answer is about an item that no other answer contains: there are too few.")
    held_out = record.triplets[test][known]
    rows = []
    for n_components in sorted({*COMPARED, arguments.components}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all answers, below, tells what is wrong
            embedding = _model(record, n_components, arguments).fit(record.triplets[train]).embedding_
        accuracy = triplet_accuracy(embedding, held_out)
        error = np.sqrt(accuracy * (1 - accuracy) / len(held_out))
        rows.append(
            [
                str(n_components),
                percent(triplet_accuracy(embedding, record.triplets[train])),
                percent(accuracy),
                f"+- {100 * error:.1f}",
                f"{(accuracy - 0.5) / (0.5 / np.sqrt(len(held_out))):.1f}",
            ]
        )
    left_out = len(test) - len(held_out)
    return "\n".join(
        [
            heading("Prediction of held-out answers"),
            paragraph(
                f"Fitted to {len(train)} answers, asked about {len(held_out)} others (no question is in both"
                + (f"; {left_out} held-out answers about items unseen in the fit are left out" if left_out else "")
                + "). Guessing predicts 50 %."
            ),
            "",
            table(["components", "fitted", "held out", "error", "errors above chance"], rows),
            "",
            paragraph(
                "Error: binomial standard error of the held-out share, which takes answers to be independent; errors "
                "above chance: (share - 50 %) / (its standard error if all were guesses)."
            ),
        ]
    )


def _embedding(record, model, caught):
    embedding = model.embedding_
    n_answers = np.bincount(record.triplets.ravel(), minlength=len(record.items))
    shown = np.argsort(-n_answers, kind="stable")[:SHOWN_ITEMS]
    n_neighbours = min(N_NEIGHBOURS, len(record.items) - 1)
    neighbours = NearestNeighbors(n_neighbors=n_neighbours + 1).fit(embedding).kneighbors(embedding[shown])[1]
    width = WIDTH // (n_neighbours + 2)
    rows = [
        [
            shorten(record.items[item], width),
            str(n_answers[item]),
            ", ".join(shorten(record.items[other], width - 2) for other in near if other != item),
        ]
        for item, near in zip(shown, neighbours, strict=True)
    ]
    lengths = np.sqrt((embedding**2).mean(axis=0))
    lines = [
        heading(f"Embedding of all answers in {embedding.shape[1]} components"),
        paragraph(
            f"Stochastic triplet embedding with alpha = {model.alpha:g}, {model.n_iter_} iterations. Standard "
            f"deviations along its axes: {', '.join(f'{length:.2f}' for length in lengths)}, in the unit in which "
            "squared distances that differ by 1 are told apart by 73 % of the answers."
        ),
    ]
    if record.points is not None:
        lines.append(
            paragraph(
                "Its Procrustes error against the points that the answers were generated from is "
                f"{procrustes_error(record.points, embedding):.4f} (0: equal up to scale and rotation, 1: nothing in "
                "common)."
            )
        )
    lines += ["", table(["item", "answers", "nearest to it"], rows, left=(0, 2))]
    lines += [f"\n{paragraph(f'Warning: {warning.message}')}" for warning in caught]
    return "\n".join(lines)


def _model(record, n_components, arguments):
    return StochasticTripletEmbedding(
        n_components,
        n_samples=len(record.items),
        alpha=arguments.alpha,
        max_iter=1000,
        random_state=arguments.seed,
    )


def _questions(triplets):
    """Number of each answer's question: the same anchor and the same two items, in either order."""
    pairs = np.sort(triplets[:, 1:], axis=1)
    return np.unique(np.column_stack([triplets[:, 0], pairs]), axis=0, return_inverse=True)[1].ravel()


# ---------------------------------------------------------------- input and output
def _generated():
    triplets, points = make_triplets(n_samples=100, n_triplets=10_000, noise="logistic", random_state=0)
    title = "Generated answers: 100 points of a normal distribution in the plane, logistic noise"
    return Record(triplets, [str(item) for item in range(100)], title, points)


def _read(path):
    rows, lines = _rows(path)
    for row, line in zip(rows, lines, strict=True):
        for cell, column in zip(row, ("anchor", "near", "far"), strict=False):
            if not cell:
                raise parse_error(path, line, f"the {column} is empty.")
        if len(set(row[:3])) < 3:
            raise parse_error(path, line, f"the three items of a triplet must differ, but are {', '.join(row[:3])}.")
    responses = None
    if len(rows[0]) == 4:
        responses = np.array([_response(path, row[3], line) for row, line in zip(rows, lines, strict=True)])
        if (responses == 0).any() and not np.isin(responses, (0, 1)).all():
            line = lines[int(np.argmax(responses == 0))]
            raise parse_error(path, line, "a response of 0 among counts is undecided; drop such rows.")
    labels = np.array([row[:3] for row in rows], dtype=object)
    if all(map(_is_whole, labels.ravel())):
        labels = labels.astype(np.int64)
    items = distinct_labels(labels)
    triplets = check_triplets(encode(labels, items), responses)
    return Record(triplets, [str(item) for item in items], os.path.basename(path))


def _rows(path):
    """Cells of each row below the header, and the line that each row ends in."""
    content = read_bytes(path)
    text = [decode_line(line, path, number) for number, line in enumerate(content.rstrip().split(b"\n"), 1)]
    delimiter = max(",;\t", key=text[0].count)
    reader = csv.reader([line + "\n" for line in text], delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            if row:
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise parse_error(path, reader.line_num, f"{error}.") from None
    if rows and len(rows[0]) not in (3, 4):
        raise parse_error(
            path, 1, f"{len(rows[0])} columns, but 3 (anchor, near, far) or 4 (and responses) are expected."
        )
    if rows and not all(map(_is_whole, rows[0])):
        n_columns = len(rows[0])
        rows, lines = rows[1:], lines[1:]
    elif rows:
        n_columns = len(rows[0])
    if not rows:
        raise parse_error(path, 1, "no answers: a header and at least two rows are expected.")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != n_columns:
            raise parse_error(path, line, f"{len(row)} cells, but the first line has {n_columns}.")
    return rows, lines


def _response(path, cell, line):
    if cell.lower() in RESPONSES:
        return RESPONSES[cell.lower()]
    if not _is_whole(cell):
        raise parse_error(path, line, f"the response {cell!r} is neither a whole number nor true or false.")
    return int(cell)


def _is_whole(cell):
    return cell.removeprefix("-").isdecimal()


def _write(path, items, embedding):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", *(f"x{axis}" for axis in range(embedding.shape[1]))])
        writer.writerows([item, *map(repr, map(float, point))] for item, point in zip(items, embedding, strict=True))


# ---------------------------------------------------------------- argument types
def _positive(text):
    return _checked(text, int, lambda value: value >= 1, "a whole number from 1")


def _not_negative(text):
    return _checked(text, float, lambda value: 0 <= value < np.inf, "a number from 0")


def _share(text):
    return _checked(text, float, lambda value: 0 < value < 1, "a share between 0 and 1")


def _checked(text, kind, valid, expected):
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not valid(value):
        raise ArgumentTypeError(f"must be {expected}, got {text!r}")
    return value
