"""`skrank triplets`: coordinates from recorded answers to "is A more like B or like C?"."""

import csv
import warnings

import numpy as np
from sklearn.model_selection import GroupShuffleSplit
from sklearn.neighbors import NearestNeighbors

from skrank._commands._arguments import not_negative, positive, share, whole
from skrank._commands._output import Result, check_writable
from skrank._commands._text import WIDTH, heading, paragraph, percent, shorten, table
from skrank._commands._triplets_input import generated_record, read_record
from skrank.inspection import OrdinalEmbeddingDisplay
from skrank.manifold import StochasticTripletEmbedding
from skrank.metrics import procrustes_error, triplet_accuracy

HELP = "Place items in space by answers to 'is A more like B or like C?', and say how well such answers are predicted."
EPILOG = """\
examples:
  {prog}                                 answers generated from points in the plane
  {prog} answers.csv                     how many dimensions do the answers need?
  {prog} answers.csv --components 3 --plot map.png --output coordinates.csv

The file is a CSV with the columns anchor, near, far: the anchor was found more like `near` than like `far`. A
fourth column may hold the answers: 1 or true where `near` is right, 0 or false where it is `far`; or
counts, negative for `far`. The header may be left out where all items are whole numbers.

--json prints an object with: title, n_answers, n_questions, n_items, answers_per_item (median, min, max), n_repeated
  (questions asked more than once), agreement (share of their answers that agree with their majority, null if none),
  n_fitted, n_held_out, n_left_out (held-out answers about items unseen in the fit),
  accuracy: of each number of components, with components, fitted, held_out, standard_error, z (held_out less one half,
    in standard errors of guesses),
  components, alpha, n_iter, scales (standard deviations along the axes), procrustes_error (null if the true points are
    unknown), items: each with item, n_answers, coordinates, nearest (items),
  notes."""

COMPARED = (1, 2, 3, 5)  # numbers of components in the table, beside the one asked for
SHOWN_ITEMS = 10
N_NEIGHBOURS = 3


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "file",
        nargs="?",
        help="a CSV of answers, gzipped or not; - is standard input. Without it: answers generated from 100 points in "
        "the plane, with noise.",
    )
    parser.add_argument("--components", type=positive, default=2, metavar="N", help="dimensions (default: 2)")
    parser.add_argument(
        "--alpha", type=not_negative, default=1.0, metavar="A", help="strength of the regularisation (default: 1)"
    )
    parser.add_argument(
        "--held-out", type=share, default=0.2, metavar="SHARE", help="share of the questions held out (default: 0.2)"
    )
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="N", help="seed of the split and the fits (default: 0)"
    )
    parser.add_argument("--output", metavar="FILE", help="write the coordinates to this CSV file")


def run(arguments):
    """Fit, and test on held-out questions."""
    if arguments.output:
        check_writable(arguments.output, "--output")
    record = generated_record() if arguments.file is None else read_record(arguments.file)
    answers, prediction = _answers(record), _predict(record, arguments)
    model = _model(record, arguments.components, arguments).fit(record.triplets)
    if arguments.output:
        _write_coordinates(arguments.output, record.items, model.embedding_)
    figures = {
        "title": record.title,
        **answers,
        **prediction,
        **_describe(record, model),
        "notes": [],
    }
    return Result(
        figures,
        lambda figures: write(figures, arguments.output),
        lambda: OrdinalEmbeddingDisplay.from_estimator(model, item_names=record.items).figure_,
    )


# ---------------------------------------------------------------- figures
def _answers(record):
    per_item = np.bincount(record.triplets.ravel(), minlength=len(record.items))
    questions = _questions(record.triplets)
    lower_is_nearer = np.bincount(questions, record.triplets[:, 1] < record.triplets[:, 2])
    asked = np.bincount(questions)
    again = asked > 1
    majority = np.maximum(lower_is_nearer, asked - lower_is_nearer)
    return {
        "n_answers": len(record.triplets),
        "n_questions": len(asked),
        "n_items": len(record.items),
        "answers_per_item": {"median": np.median(per_item), "min": per_item.min(), "max": per_item.max()},
        "n_repeated": int(again.sum()),
        "agreement": majority[again].sum() / asked[again].sum() if again.any() else None,
    }


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
    fitted, held_out = record.triplets[train], record.triplets[test][known]
    rows = []
    for n_components in sorted({*COMPARED, arguments.components}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all answers tells what is wrong
            embedding = _model(record, n_components, arguments).fit(fitted).embedding_
        accuracy = triplet_accuracy(embedding, held_out)
        rows.append(
            {
                "components": n_components,
                "fitted": triplet_accuracy(embedding, fitted),
                "held_out": accuracy,
                "standard_error": np.sqrt(accuracy * (1 - accuracy) / len(held_out)),
                "z": (accuracy - 0.5) / (0.5 / np.sqrt(len(held_out))),
            }
        )
    return {
        "n_fitted": len(fitted),
        "n_held_out": len(held_out),
        "n_left_out": len(test) - len(held_out),
        "accuracy": rows,
    }


def _describe(record, model):
    embedding = model.embedding_
    n_neighbours = min(N_NEIGHBOURS, len(record.items) - 1)
    neighbours = NearestNeighbors(n_neighbors=n_neighbours + 1).fit(embedding).kneighbors(embedding)[1]
    n_answers = np.bincount(record.triplets.ravel(), minlength=len(record.items))
    return {
        "components": embedding.shape[1],
        "alpha": model.alpha,
        "n_iter": model.n_iter_,
        "scales": np.sqrt((embedding**2).mean(axis=0)),
        "procrustes_error": None if record.points is None else procrustes_error(record.points, embedding),
        "items": [
            {
                "item": record.items[item],
                "n_answers": n_answers[item],
                "coordinates": embedding[item],
                "nearest": [record.items[other] for other in near if other != item][:n_neighbours],
            }
            for item, near in enumerate(neighbours)
        ],
    }


def _model(record, n_components, arguments):
    return StochasticTripletEmbedding(
        n_components,
        n_items=len(record.items),
        alpha=arguments.alpha,
        max_iter=1000,
        random_state=arguments.seed,
    )


def _questions(triplets):
    """Number of each answer's question: the same anchor and the same two items, in either order."""
    pairs = np.sort(triplets[:, 1:], axis=1)
    return np.unique(np.column_stack([triplets[:, 0], pairs]), axis=0, return_inverse=True)[1].ravel()


def _write_coordinates(path, items, embedding):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", *(f"x{axis}" for axis in range(embedding.shape[1]))])
        writer.writerows([item, *map(repr, map(float, point))] for item, point in zip(items, embedding, strict=True))


# ---------------------------------------------------------------- text
def write(figures, output=None):
    """The figures as text."""
    sections = [_write_answers(figures), _write_prediction(figures), _write_embedding(figures)]
    if output:
        sections.append(paragraph(f"The coordinates of all {figures['n_items']} items are in {output}."))
    return "\n\n\n".join(sections)


def _write_answers(figures):
    per_item = figures["answers_per_item"]
    lines = [
        heading(figures["title"], "="),
        paragraph(
            f"{figures['n_answers']} answers to {figures['n_questions']} different questions about "
            f"{figures['n_items']} items. An item occurs in {per_item['median']:.0f} answers (median; "
            f"{per_item['min']} to {per_item['max']})."
        ),
    ]
    if figures["n_repeated"]:
        lines.append(
            paragraph(
                f"{figures['n_repeated']} questions were answered more than once. {percent(figures['agreement'])} of "
                "their answers agree with their majority, which no prediction can beat there."
            )
        )
    return "\n".join(lines)


def _write_prediction(figures):
    left_out = figures["n_left_out"]
    rows = [
        [
            str(row["components"]),
            percent(row["fitted"]),
            percent(row["held_out"]),
            f"+- {100 * row['standard_error']:.1f}",
            f"{row['z']:.1f}",
        ]
        for row in figures["accuracy"]
    ]
    return "\n".join(
        [
            heading("Prediction of held-out answers"),
            paragraph(
                f"Fitted to {figures['n_fitted']} answers, asked about {figures['n_held_out']} others (no question is "
                "in both"
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


def _write_embedding(figures):
    shown = sorted(figures["items"], key=lambda one: -one["n_answers"])[:SHOWN_ITEMS]
    width = WIDTH // (N_NEIGHBOURS + 2)
    rows = [
        [
            shorten(one["item"], width),
            str(one["n_answers"]),
            ", ".join(shorten(other, width - 2) for other in one["nearest"]),
        ]
        for one in shown
    ]
    lines = [
        heading(f"Embedding of all answers in {figures['components']} components"),
        paragraph(
            f"Stochastic triplet embedding with alpha = {figures['alpha']:g}, {figures['n_iter']} iterations. Standard "
            f"deviations along its axes: {', '.join(f'{length:.2f}' for length in figures['scales'])}, in the unit in "
            "which squared distances that differ by 1 are told apart by 73 % of the answers."
        ),
    ]
    if figures["procrustes_error"] is not None:
        lines.append(
            paragraph(
                "Its Procrustes error against the points that the answers were generated from is "
                f"{figures['procrustes_error']:.4f} (0: equal up to scale and rotation, 1: nothing in common)."
            )
        )
    lines += ["", table(["item", "answers", "nearest to it"], rows, left=(0, 2))]
    if len(shown) < figures["n_items"]:
        lines.append(f"(the {len(shown)} of {figures['n_items']} items with the most answers)")
    return "\n".join(lines)
