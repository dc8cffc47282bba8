"""`skrank triplets`: coordinates from recorded responses to "is A more like B or like C?"."""

import csv
import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
from sklearn.model_selection import GroupShuffleSplit
from sklearn.neighbors import NearestNeighbors

from skrank._callbacks import UNWATCHED
from skrank._commands._arguments import not_negative, positive, share, whole
from skrank._commands._output import Result, check_writable
from skrank._commands._text import WIDTH, heading, paragraph, percent, shorten, table
from skrank._commands._triplets_input import generated_record, read_record
from skrank._triplets import query_codes
from skrank.inspection import OrdinalEmbeddingDisplay
from skrank.inspection._base import wrap_title
from skrank.inspection._ordinal_embedding import MOST_NAMES
from skrank.inspection._point_names import draw_names, side_with_names
from skrank.manifold import StochasticTripletEmbedding
from skrank.manifold._triplet_fit import TripletData, TripletSettings
from skrank.manifold._triplet_selection import choose_settings
from skrank.metrics import procrustes_error, triplet_accuracy

HELP = "Map items from responses to 'is A more like B or like C?', and report how well such responses are predicted."
EPILOG = """\
examples:
  {prog}                                 responses generated from points in the plane
  {prog} answers.csv                     how many dimensions do the responses need?
  {prog} answers.csv --components 3 --plot map.png --output coordinates.csv

The file is a CSV with a header. Its columns are anchor, near, far (the anchor is more like `near` than like `far`);
or anchor, left, right, response, where the response is left or right, the name of the item, 1 or 0, true or false.
The optional column rater is the person who responded, and count is how often a row occurred. Other columns are
ignored. The header can be omitted if all items are integers: three columns are then read as anchor, near, far, and
a fourth as responses (or counts, negative for `far`).

--json prints an object with: title, n_responses, n_queries, n_items, responses_per_item (median, min, max),
  n_repeated (queries asked more than once), agreement (share of their responses that agree with the majority, null if
  none), n_skipped (rows left out by --skip-invalid), n_fitted, n_held_out, n_left_out (held-out responses about items
  unseen in the fit),
  accuracy: of each number of components, with components, fitted, held_out, standard_error, z (held_out less one half,
    in standard errors of guesses),
  components, alpha, lapse (null, a rate, or one of each rater, with rater, rate), n_iter,
  scales (standard deviations along the axes), procrustes_error (null if the true points are unknown),
  items: each with item, n_responses, coordinates, nearest (items),
  notes."""

LEAST_COMPARED, MOST_COMPARED = 3, 10  # components in the table, which goes on while held-out accuracy gains
ALPHAS = (10.0, 3.0, 1.0, 0.3)
SHOWN_ITEMS = 10
N_NEIGHBORS = 3
MAX_ITER = 1000
LEAST_QUERIES = 10  # to choose by cross-validation


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "file",
        nargs="?",
        help="a CSV of responses, gzipped or not; - is standard input. Without it: responses generated from 100 "
        "points in the plane, with noise.",
    )
    parser.add_argument("--components", type=positive, default=2, metavar="N", help="number of dimensions (default: 2)")
    parser.add_argument(
        "--alpha",
        type=_alpha,
        default="auto",
        metavar="A",
        help="strength of the regularization; auto: the best of 0.3, 1, 3 and 10 in cross-validation (default: auto)",
    )
    parser.add_argument(
        "--skip-invalid", action="store_true", help="skip rows that cannot be read, and report their number"
    )
    parser.add_argument(
        "--held-out", type=share, default=0.2, metavar="SHARE", help="proportion of queries held out (default: 0.2)"
    )
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="N", help="seed of the split and the fits (default: 0)"
    )
    parser.add_argument("--output", metavar="FILE", help="write the coordinates to this CSV file")


def _alpha(text):
    return text if text == "auto" else not_negative(text)


def run(arguments):
    """Fit, and test on held-out queries."""
    if arguments.output:
        check_writable(arguments.output, "--output")
    record = generated_record() if arguments.file is None else read_record(arguments.file, arguments.skip_invalid)
    responses = _responses(record)
    alpha, lapse = _choose(record, arguments)
    prediction = _predict(record, arguments, alpha, lapse)
    model = _model(record, arguments.components, arguments, alpha, lapse).fit(record.triplets, rater=record.raters)
    if arguments.output:
        _write_coordinates(arguments.output, record.items, model.embedding_)
    figures = {
        "title": record.title,
        **responses,
        **prediction,
        **_describe(record, model),
        "notes": [],
    }
    return Result(
        figures,
        lambda figures: write(figures, arguments.output),
        lambda: _draw(model, record),
    )


# ---------------------------------------------------------------- figures
def _responses(record):
    per_item = np.bincount(record.triplets.ravel(), minlength=len(record.items))
    queries = query_codes(record.triplets)
    lower_is_nearer = np.bincount(queries, record.triplets[:, 1] < record.triplets[:, 2])
    asked = np.bincount(queries)
    again = asked > 1
    majority = np.maximum(lower_is_nearer, asked - lower_is_nearer)
    return {
        "n_responses": len(record.triplets),
        "n_queries": len(asked),
        "n_items": len(record.items),
        "responses_per_item": {"median": np.median(per_item), "min": per_item.min(), "max": per_item.max()},
        "n_skipped": record.n_skipped,
        "n_repeated": int(again.sum()),
        "agreement": majority[again].sum() / asked[again].sum() if again.any() else None,
    }


def _choose(record, arguments):
    """Strength of the regularization, and whether there are lapses, by the likelihood of held-out responses."""
    if arguments.alpha != "auto":
        return arguments.alpha, "auto" if record.raters is not None else 0.0
    data = _data(record)
    if query_codes(record.triplets).max() + 1 < LEAST_QUERIES:
        return 1.0, 0.0
    settings = TripletSettings(arguments.components, max_iter=MAX_ITER)
    candidates = [replace(settings, alpha=alpha) for alpha in ALPHAS]
    random_state = np.random.RandomState(arguments.seed)
    best = candidates[choose_settings(data, candidates, random_state, UNWATCHED).chosen]
    with_lapse = [best, replace(best, lapse="auto")]
    return best.alpha, with_lapse[choose_settings(data, with_lapse, random_state, UNWATCHED).chosen].lapse


def _data(record):
    if record.raters is None:
        return TripletData(record.triplets, len(record.items))
    names, codes = np.unique(record.raters, return_inverse=True)
    return TripletData(record.triplets, len(record.items), None, codes, len(names))


def _predict(record, arguments, alpha, lapse):
    groups = query_codes(record.triplets)
    if groups.max() < 1:
        raise ValueError("all responses are to the same query, so none can be held out.")
    split = GroupShuffleSplit(1, test_size=arguments.held_out, random_state=arguments.seed)
    train, test = next(split.split(record.triplets, groups=groups))
    seen = np.zeros(len(record.items), bool)
    seen[record.triplets[train]] = True
    known = test[seen[record.triplets[test]].all(axis=1)]
    if not len(known):
        raise ValueError(
            "there are too few responses: every held-out one is about an item that no other response contains."
        )
    fitted, held_out = record.triplets[train], record.triplets[known]
    raters = None if record.raters is None else record.raters[train]
    rows: list[dict] = []
    for n_components in range(1, max(MOST_COMPARED, arguments.components) + 1):
        best = max((row["held_out"] for row in rows), default=0)
        gains = len(rows) < LEAST_COMPARED or best in [row["held_out"] for row in rows[-2:]]
        if n_components != arguments.components and (not gains or n_components > MOST_COMPARED):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all responses tells what is wrong
            model = _model(record, n_components, arguments, alpha, lapse).fit(fitted, rater=raters)
        accuracy = triplet_accuracy(model.embedding_, held_out)
        standard_error, of_guesses = _errors(model.predict(held_out), held_out, groups[known], accuracy)
        rows.append(
            {
                "components": n_components,
                "fitted": triplet_accuracy(model.embedding_, fitted),
                "held_out": accuracy,
                "standard_error": standard_error,
                "z": (accuracy - 0.5) / of_guesses,
            }
        )
    return {
        "n_fitted": len(fitted),
        "n_held_out": len(held_out),
        "n_left_out": len(test) - len(held_out),
        "accuracy": rows,
    }


def _errors(right, triplets, queries, accuracy):
    """Standard error of a share of right predictions, and that of guesses: responses to one query go together."""
    by_query = np.bincount(queries, right - accuracy)
    lower_is_near = np.where(triplets[:, 1] < triplets[:, 2], 1, -1)
    of_guesses = np.sqrt((np.bincount(queries, lower_is_near) ** 2).sum()) / 2 / len(right)
    return np.sqrt((by_query**2).sum()) / len(right), max(of_guesses, 0.5 / len(right))


def _describe(record, model):
    embedding = model.embedding_
    n_neighbors = min(N_NEIGHBORS, len(record.items) - 1)
    neighbors = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(embedding).kneighbors(embedding)[1]
    n_responses = np.bincount(record.triplets.ravel(), minlength=len(record.items))
    return {
        "components": embedding.shape[1],
        "alpha": model.alpha_,
        "lapse": _describe_lapse(model),
        "n_iter": model.n_iter_,
        "scales": np.sqrt((embedding**2).mean(axis=0)),
        "procrustes_error": None if record.points is None else procrustes_error(record.points, embedding),
        "items": [
            {
                "item": record.items[item],
                "n_responses": n_responses[item],
                "coordinates": embedding[item],
                "nearest": [record.items[other] for other in near if other != item][:n_neighbors],
            }
            for item, near in enumerate(neighbors)
        ],
    }


def _describe_lapse(model):
    if model.lapse != "auto":
        return None
    if not hasattr(model, "raters_"):
        return model.lapse_
    return [{"rater": str(rater), "rate": rate} for rater, rate in zip(model.raters_, model.lapse_, strict=True)]


def _model(record, n_components, arguments, alpha, lapse):
    return StochasticTripletEmbedding(
        n_components,
        n_items=len(record.items),
        alpha=alpha,
        lapse=lapse,
        max_iter=MAX_ITER,
        random_state=arguments.seed,
    )


def _write_coordinates(path, items, embedding):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", *(f"x{axis}" for axis in range(embedding.shape[1]))])
        writer.writerows([item, *map(repr, map(float, point))] for item, point in zip(items, embedding, strict=True))


# ---------------------------------------------------------------- plot
def _draw(model, record):
    """The map; of three components and more each pair of the first three."""
    import matplotlib.pyplot as plt

    title, embedding = f"{record.title}: {len(record.triplets)} responses", model.embedding_
    if embedding.shape[1] < 3:
        figure = OrdinalEmbeddingDisplay.from_estimator(model, item_names=record.items).figure_
        figure.suptitle(wrap_title(title, figure))
        return figure
    side = side_with_names(record.items)
    figure, axes = plt.subplots(1, 3, figsize=(3 * side, side + 0.5), layout="constrained")
    figure.suptitle(wrap_title(title, figure))
    pairs = list(combinations(range(3), 2))
    for pair, one in zip(pairs, axes, strict=True):
        OrdinalEmbeddingDisplay.from_estimator(model, components=pair, ax=one)
    if len(record.items) <= MOST_NAMES:
        for pair, one in zip(pairs, axes, strict=True):  # now that all axes are where they stay
            draw_names(one, embedding[:, pair], record.items)
    return figure


# ---------------------------------------------------------------- text
def write(figures, output=None):
    """The figures as text."""
    sections = [_write_responses(figures), _write_prediction(figures), _write_embedding(figures)]
    if output:
        sections.append(paragraph(f"The coordinates of all {figures['n_items']} items are in {output}."))
    return "\n\n\n".join(sections)


def _write_responses(figures):
    per_item = figures["responses_per_item"]
    lines = [
        heading(figures["title"], "="),
        paragraph(
            f"{figures['n_responses']} responses to {figures['n_queries']} different queries about "
            f"{figures['n_items']} items. An item occurs in {per_item['median']:.0f} responses "
            f"(median; {per_item['min']} to {per_item['max']})."
        ),
    ]
    if figures["n_skipped"]:
        lines.append(paragraph(f"{figures['n_skipped']} rows could not be read and were left out."))
    if figures["n_repeated"]:
        lines.append(
            paragraph(
                f"{figures['n_repeated']} queries were asked more than once. {percent(figures['agreement'])} of their "
                "responses agree with the majority."
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
            heading("Prediction of held-out responses"),
            paragraph(
                f"Fitted to {figures['n_fitted']} responses, evaluated on {figures['n_held_out']} others (no query is "
                "in both"
                + (f"; {left_out} held-out responses about items unseen in the fit are left out" if left_out else "")
                + "). Guessing predicts 50 %."
            ),
            "",
            table(["components", "fitted", "held out", "error", "errors above chance"], rows),
            "",
            paragraph(
                "Error: standard error of the held-out percentage, over queries. Errors above chance: how many "
                "standard errors of pure guessing it is above 50 %."
            ),
        ]
    )


def _write_embedding(figures):
    shown = sorted(figures["items"], key=lambda one: -one["n_responses"])[:SHOWN_ITEMS]
    width = WIDTH // (N_NEIGHBORS + 2)
    rows = [
        [
            shorten(one["item"], width),
            str(one["n_responses"]),
            ", ".join(shorten(other, width - 2) for other in one["nearest"]),
        ]
        for one in shown
    ]
    lines = [
        heading(f"Embedding of all responses in {figures['components']} components"),
        paragraph(
            f"Stochastic triplet embedding with alpha = {figures['alpha']:.3g}, {figures['n_iter']} iterations. "
            f"Standard deviations along its axes: {', '.join(f'{length:.2f}' for length in figures['scales'])}, in the "
            "unit in which squared distances that differ by 1 are told apart by 73 % of the responses."
        ),
    ]
    if figures["lapse"] is not None:
        lines.append(paragraph(_write_lapse(figures["lapse"])))
    if figures["procrustes_error"] is not None:
        lines.append(
            paragraph(
                "Its Procrustes error relative to the points that the responses were generated from is "
                f"{figures['procrustes_error']:.4f} (0: equal up to scale and rotation, 1: unrelated)."
            )
        )
    lines += ["", table(["item", "responses", "nearest to it"], rows, left=(0, 2))]
    if len(shown) < figures["n_items"]:
        lines.append(f"(the {len(shown)} of {figures['n_items']} items with the most responses)")
    return "\n".join(lines)


def _write_lapse(lapse):
    if not isinstance(lapse, list):
        return f"About {percent(lapse)} of the responses are wrong regardless of the distances."
    shown = sorted(lapse, key=lambda one: -one["rate"])[:SHOWN_ITEMS]
    rates = ", ".join(f"{shorten(one['rater'], 20)} {percent(one['rate'], 0)}" for one in shown)
    return (
        "Responses that are wrong regardless of the distances, by rater (50 % is guessing; the highest of "
        f"{len(lapse)}): {rates}."
    )
