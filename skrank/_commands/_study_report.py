"""The report on a study: the map, how sure it is, the raters, and what more responses would gain."""

import csv
import warnings

import numpy as np
from scipy.stats import chi2
from sklearn.neighbors import NearestNeighbors

from skrank._commands._text import WIDTH, heading, paragraph, percent, shorten, table
from skrank.exceptions import InsufficientDataWarning
from skrank.inspection import OrdinalEmbeddingDisplay

SHOWN_ITEMS = 20
N_NEAREST = 3


def describe(study):
    """The figures of a report."""
    embedding, covariances = study.embedding_, study.item_covariances()
    triplets = study.triplets_
    n_nearest = min(N_NEAREST, len(study.items) - 1)
    nearest = NearestNeighbors(n_neighbors=n_nearest + 1).fit(embedding).kneighbors(embedding)[1]
    n_responses = np.bincount(triplets.ravel(), minlength=len(study.items))
    scale = np.sqrt((embedding**2).sum(axis=1).mean())
    further = [max(10, study.n_responses * factor // 4 // 10 * 10) for factor in (1, 4, 16)]
    agreement = study.agreement_
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = study.expected_error_
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return {
        "n_items": len(study.items),
        "n_queries": study.n_queries,
        "n_responses": study.n_responses,
        "n_unknown": study.n_responses - len(triplets),
        "n_unanswered": len(study.open_queries().ids),
        "components": embedding.shape[1],
        "expected_error": error,
        "error_is_certain": not any(issubclass(one.category, InsufficientDataWarning) for one in caught),
        "gains": [{"n": n, "expected_error": error - study.gain(n)} for n in further],
        "agreement": {
            "alpha": agreement.alpha,
            "low": agreement.low,
            "high": agreement.high,
            "n_triplets": agreement.n_queries,
        },
        "raters": [
            {
                "rater": one.rater,
                "n_responses": one.n_responses,
                "n_unknown": one.n_dont_know,
                "lapse": one.lapse.rate,
                "lapse_low": one.lapse.low,
                "lapse_high": one.lapse.high,
                "guesses": one.guesses,
                "n_repeated": one.n_repeated,
                "repeated_alike": one.consistency[0],
                "left": one.left[0],
            }
            for one in study.raters()
        ],
        "items": [
            {
                "item": str(study.items[item]),
                "n_responses": int(n_responses[item]),
                "coordinates": embedding[item] / scale,
                "standard_error": float(np.sqrt(np.trace(covariances[item]))) / scale,
                "nearest": [str(study.items[other]) for other in near if other != item][:n_nearest],
            }
            for item, near in enumerate(nearest)
        ],
    }


def write_coordinates(path, items):
    """A CSV of the items' places."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        axes = [f"x{axis}" for axis in range(len(items[0]["coordinates"]))]
        writer.writerow(["item", *axes, "standard_error"])
        writer.writerows([one["item"], *map(float, one["coordinates"]), one["standard_error"]] for one in items)


def write_report(figures):
    """The report as text."""
    return "\n\n\n".join([_write_certainty(figures), _write_raters(figures), _write_items(figures)])


def _write_certainty(figures):
    error = figures["expected_error"]
    rows = [
        ["now", f"{error:.3f}"],
        *([f"{one['n']} more", f"{one['expected_error']:.3f}"] for one in figures["gains"]),
    ]
    further = f"python -m skrank study next {figures['directory']} --queries {figures['gains'][0]['n']}"
    return "\n".join(
        [
            heading(figures["title"], "="),
            paragraph(
                f"{figures['n_responses']} responses about {figures['n_items']} items, {figures['n_unknown']} of them "
                f'"don\'t know"; {figures["n_unanswered"]} of {figures["n_queries"]} queries are still open.'
            ),
            paragraph(_error_in_words(figures)),
            "",
            table(["responses", "expected error"], rows, left=(0,)),
            "",
            paragraph(f"To ask the queries that help most: {further}"),
        ]
    )


def _error_in_words(figures):
    share = percent(figures["expected_error"], 0)
    scale = "below 5 %, neighborhoods are reliable; above 20 %, only the rough layout is."
    if figures["error_is_certain"]:
        return (
            f"The map in {figures['components']} components misses about {share} of the variation of the true "
            f"positions (expected Procrustes error): {scale}"
        )
    return (
        f"The expected Procrustes error of the map in {figures['components']} components is {share}, but with so few "
        f"responses the true error may be more than twice that ({scale[:-1]}). The errors below are equally uncertain."
    )


def _write_raters(figures):
    rows = [
        [
            shorten(one["rater"], 24) + (" (guesses)" if one["guesses"] else ""),
            str(one["n_responses"]),
            str(one["n_unknown"]),
            f"{percent(one['lapse'], 0)} ({100 * one['lapse_low']:.0f} to {100 * one['lapse_high']:.0f})",
            f"{percent(one['repeated_alike'], 0)} of {one['n_repeated']}" if one["n_repeated"] else "-",
            percent(one["left"], 0) if np.isfinite(one["left"]) else "-",
        ]
        for one in figures["raters"]
    ]
    lines = [
        heading("Raters"),
        table(["rater", "responses", "don't know", "lapses", "repeated alike", "left"], rows, left=(0,)),
        "",
        paragraph(
            "Lapses: the rate of errors that have nothing to do with the items, with a 95 % interval; 50 % is "
            "guessing. The map weighs each rater's responses accordingly."
        ),
    ]
    agreement = figures["agreement"]
    if agreement["n_triplets"]:
        lines.append(
            paragraph(
                f"Krippendorff's alpha between raters is {agreement['alpha']:.2f} (95 % interval "
                f"{agreement['low']:.2f} to {agreement['high']:.2f}), from {agreement['n_triplets']} triplets with "
                "responses by several raters. Many triplets are close calls, on which careful raters differ."
            )
        )
    return "\n".join(lines)


def _write_items(figures):
    shown = sorted(figures["items"], key=lambda one: -one["standard_error"])[:SHOWN_ITEMS]
    width = WIDTH // (N_NEAREST + 2)
    rows = [
        [
            shorten(one["item"], width),
            str(one["n_responses"]),
            f"{one['standard_error']:.2f}",
            ", ".join(shorten(other, width - 2) for other in one["nearest"]),
        ]
        for one in shown
    ]
    lines = [
        heading("Items, the least certain first"),
        table(["item", "responses", "standard error", "nearest to it"], rows, left=(0, 3)),
        "",
        paragraph(
            "Standard error of the position, in units of the root mean square distance of the items from their center."
        ),
    ]
    if len(shown) < figures["n_items"]:
        lines.insert(2, f"({len(shown)} of {figures['n_items']} items)")
    return "\n".join(lines)


def draw(study, title):
    """The map, with an ellipse around each item."""
    from matplotlib.patches import Ellipse

    embedding = study.embedding_
    scale = np.sqrt((embedding**2).sum(axis=1).mean())  # as in the report and its coordinates
    points = embedding / scale
    display = OrdinalEmbeddingDisplay.from_embedding(points, item_names=list(map(str, study.items)))
    axes = display.ax_
    axes.set_title(title)
    if points.shape[1] > 1:
        for point, covariance in zip(points, study.item_covariances() / scale**2, strict=True):
            lengths, directions = np.linalg.eigh(covariance[:2, :2])
            width, height = 2 * np.sqrt(chi2.ppf(0.95, 2) * np.maximum(lengths, 0))
            angle = np.degrees(np.arctan2(directions[1, 0], directions[0, 0]))
            patch = axes.add_patch(Ellipse(point[:2], width, height, angle=angle, alpha=0.12, zorder=0))
            axes.update_datalim(patch.get_path().transformed(patch.get_patch_transform()).get_extents().get_points())
        axes.autoscale_view()
        axes.set_xlabel(f"{axes.get_xlabel()}\nellipses: where an item is with 95 % probability")
    return display.figure_
