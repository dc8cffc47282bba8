"""`skrank compare`: a leaderboard from comparisons of two items, and whether those who compare differ."""

import csv

import numpy as np

from skrank._commands._arguments import not_negative, positive, share, whole
from skrank._commands._comparisons_input import add_arguments as add_columns
from skrank._commands._comparisons_input import generated_comparisons, read_comparisons
from skrank._commands._output import Result, check_writable
from skrank._commands._text import heading, number, paragraph, percent, shorten, table
from skrank.inspection import ScoreDisplay
from skrank.linear_model import BradleyTerry
from skrank.linear_model._leaderboard import ERRORS, rank_text
from skrank.mixture import BradleyTerryMixture, compare_judge_models

HELP = "Rank items by pairwise comparisons: scores, intervals, possible ranks, and whether judges differ."
EPILOG = """\
examples:
  {prog}                                  a season of baseball
  {prog} battles.csv                      columns model_a, model_b, winner, judge
  {prog} games.csv --unit elo --order-effect --plot leaderboard.png
  {prog} votes.csv --items left right --outcome chosen --judge person --output scores.csv

Each row of the table is a comparison: the two items and the winner, or the winner and the loser. The outcome of
a tie is tie or draw. Scores are those of the Bradley-Terry model. If there are judges, errors account for the
correlation of comparisons by the same judge, and held-out votes show whether judges differ.

--json prints an object with: title, columns (what was taken for what), n_comparisons, n_items, tie_share,
  n_judges (null without judges), ties, alpha, unit, level, errors (model, robust or clustered),
  degrees_of_freedom (null if infinite), order_effect and tie_parameter (null if not asked for),
  items: by decreasing score, each with item, score, standard_error, lower, upper, first_rank, last_rank (ranks
    that this item by itself leaves open), first_rank_of_all, last_rank_of_all (ranges that hold for all items
    at once), n_comparisons,
  judges: null without judges, else best (common, tastes, slopes or mixture: what predicts held-out votes best), gains
    and standard_errors (nats for a vote, over common scores), groups (null if there are none): each with share,
    stability (0 to 1), judges (who most probably belong to it), items (best first),
  notes."""

SHOWN_ITEMS = 60
PREFERRED = 6  # items of a group that the text shows
MOST_VOTES = 100_000  # beyond this judges are compared on request only
DESCRIPTIONS = {
    "common": "one list of scores for all",
    "tastes": "scores of their own, near the common ones",
    "slopes": "common scores, of which some judges are surer than others",
    "mixture": "groups with scores of their own",
}


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "file",
        nargs="?",
        help="a table of comparisons: CSV with any delimiter, gzipped or not, xlsx or ods; - is standard input. "
        "Without it: baseball games of 1987.",
    )
    add_columns(parser)
    parser.add_argument(
        "--ties",
        choices=["half", "davidson"],
        default="half",
        help="count a tie as half a win (half, the default) or as a separate outcome (davidson)",
    )
    parser.add_argument(
        "--order-effect",
        action="store_true",
        help="estimate the advantage of the first item (the home team, or the item shown first)",
    )
    parser.add_argument("--anchor", metavar="ITEM", help="the item whose score is 0 (with --unit elo: 1000)")
    parser.add_argument("--unit", choices=["log-odds", "elo"], default="log-odds", help="unit of the scores")
    parser.add_argument(
        "--level", type=share, default=0.95, metavar="P", help="confidence level of intervals and ranks (default: .95)"
    )
    parser.add_argument(
        "--alpha", type=not_negative, default=0.1, metavar="A", help="strength of the regularization (default: 0.1)"
    )
    parser.add_argument(
        "--max-groups", type=positive, default=6, metavar="K", help="maximum number of groups of judges (default: 6)"
    )
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="N", help="seed of held-out votes and ranks (default: 0)"
    )
    parser.add_argument("--output", metavar="FILE", help="write the leaderboard to this CSV file")


def run(arguments):
    """Fit, and describe the judges."""
    if arguments.output:
        check_writable(arguments.output, "--output")
    if arguments.file is None:
        if arguments.items or arguments.outcome or arguments.judge or arguments.group or arguments.weight:
            raise ValueError("options that name columns need a file.")
        found = generated_comparisons()
    else:
        found = read_comparisons(arguments.file, arguments)
    model = BradleyTerry(
        arguments.alpha, ties=arguments.ties, order_effect=arguments.order_effect, anchor=arguments.anchor
    ).fit(found.pairs, found.share, sample_weight=found.weight, groups=_groups(found))
    boards = [
        model.leaderboard(arguments.level, unit=arguments.unit, simultaneous=all_, random_state=arguments.seed)
        for all_ in (False, True)
    ]
    judges, note = _judges(found, arguments)
    figures = {
        "title": found.title,
        "columns": found.columns,
        "n_comparisons": found.weight.sum(),
        "n_items": len(model.items_),
        "tie_share": float(np.average(found.share == 0.5, weights=found.weight)),
        "n_judges": None if found.judge is None else len(set(found.judge)),
        "ties": arguments.ties,
        "alpha": arguments.alpha,
        "unit": arguments.unit,
        "level": arguments.level,
        "errors": model.errors_,
        "degrees_of_freedom": model.degrees_of_freedom_,
        "order_effect": _order_effect(model) if arguments.order_effect else None,
        "tie_parameter": model.tie_parameter_,
        "items": [
            {**row, "first_rank_of_all": of_all["first_rank"], "last_rank_of_all": of_all["last_rank"]}
            for row, of_all in zip(*(board.rows() for board in boards), strict=True)
        ],
        "judges": judges,
        "notes": [] if note is None else [note],
    }
    if arguments.output:
        _write_leaderboard(arguments.output, figures["items"])
    return Result(
        figures, lambda figures: write(figures, arguments.output), lambda: ScoreDisplay(boards[0]).plot().figure_
    )


# ---------------------------------------------------------------- figures
def _groups(found):
    ways = [way for way in (found.judge, found.others) if way is not None]
    return None if not ways else ways[0] if len(ways) == 1 else np.column_stack(ways)


def _order_effect(model):
    return {"effect": model.order_effect_, "standard_error": model.order_effect_standard_error_}


def _judges(found, arguments):
    """What describes the judges best, and a note where that was not asked."""
    if found.judge is None or len(set(found.judge)) < 2:
        return None, None
    if len(found.judge) > MOST_VOTES and arguments.judge is None:
        return None, f"whether judges differ is compared for more than {MOST_VOTES} rows only with --judge COLUMN."
    if arguments.alpha == 0:
        return None, "whether judges differ is compared only with --alpha above 0."
    votes = {"sample_weight": found.weight, "groups": found.judge}
    compared = compare_judge_models(
        found.pairs,
        found.share,
        **votes,
        alpha=arguments.alpha,
        max_components=arguments.max_groups,
        random_state=arguments.seed,
    )
    figures = {
        "best": compared.best,
        "gains": compared.gains,
        "standard_errors": compared.standard_errors,
        "groups": None,
    }
    if compared.n_components > 1:
        mixture = BradleyTerryMixture(compared.n_components, alpha=arguments.alpha, random_state=arguments.seed)
        figures["groups"] = _describe_groups(mixture.fit(found.pairs, found.share, **votes))
    return figures, None


def _describe_groups(mixture):
    belongs = mixture.judge_proba_.argmax(axis=1)
    return [
        {
            "share": mixture.weights_[group],
            "stability": mixture.stability_[group],
            "judges": mixture.judges_[belongs == group].tolist(),
            "items": mixture.items_[np.argsort(-scores, kind="stable")].tolist(),
        }
        for group, scores in enumerate(mixture.scores_)
    ]


def _write_leaderboard(path, items):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(items[0]))
        writer.writeheader()
        writer.writerows(items)


# ---------------------------------------------------------------- text
def write(figures, output=None):
    """The figures as text."""
    sections = [_write_data(figures), _write_scores(figures)]
    if figures["judges"] is not None:
        sections.append(_write_judges(figures))
    if output:
        sections.append(paragraph(f"The leaderboard of all {figures['n_items']} items is in {output}."))
    return "\n\n\n".join(sections)


def _write_data(figures):
    judges = "" if figures["n_judges"] is None else f" by {figures['n_judges']} judges"
    return "\n".join(
        [
            heading(figures["title"], "="),
            paragraph(
                f"{number(figures['n_comparisons'])} comparisons of {figures['n_items']} items{judges}; "
                f"{percent(figures['tie_share'])} are ties."
            ),
        ]
    )


def _write_scores(figures):
    digits = 0 if figures["unit"] == "elo" else 2
    rows = [
        [
            shorten(str(row["item"]), 36),
            f"{row['score']:.{digits}f}",
            f"{row['lower']:.{digits}f} to {row['upper']:.{digits}f}",
            rank_text(row["first_rank"], row["last_rank"]),
            rank_text(row["first_rank_of_all"], row["last_rank_of_all"]),
            number(row["n_comparisons"]),
        ]
        for row in figures["items"][:SHOWN_ITEMS]
    ]
    interval = f"{100 * figures['level']:g} % interval"
    lines = [
        heading("Leaderboard"),
        table(["", "score", interval, "ranks", "all ranks", "comparisons"], rows, left=[0]),
    ]
    if len(rows) < figures["n_items"]:
        lines.append(f"(the first {len(rows)} of {figures['n_items']} items)")
    freedom = figures["degrees_of_freedom"]
    sure = f" They use {freedom:.1f} degrees of freedom." if np.isfinite(freedom) else ""
    unit = "Elo points (400 are odds of 10 to 1)" if figures["unit"] == "elo" else "log-odds"
    lines += [
        "",
        paragraph(
            f"Scores are in {unit}. Ranks: possible ranks of the item by itself. All ranks: ranges that hold for all "
            f"items simultaneously. {_errors(figures['errors'])}{sure}"
        ),
    ]
    effect = figures["order_effect"]
    if effect is not None:
        lines.append(
            paragraph(
                f"The first item of a pair has an advantage of {effect['effect']:.3f} log-odds (standard error "
                f"{effect['standard_error']:.3f})."
            )
        )
    if figures["tie_parameter"] is not None:
        nu = figures["tie_parameter"]
        lines.append(paragraph(f"Equal items tie in {percent(nu / (2 + nu))} of their comparisons."))
    return "\n".join(lines)


def _errors(kind):
    return ERRORS[kind].replace("pass groups", "name the column by --judge or --group")


def _write_judges(figures):
    found = figures["judges"]
    rows = [["common", "", "", DESCRIPTIONS["common"]]]
    for name, gain in found["gains"].items():
        rows.append([name, f"{gain:+.3f}", f"{found['standard_errors'][name]:.3f}", DESCRIPTIONS[name]])
    if found["best"] == "common":
        verdict = "No model of differences between judges predicts held-out votes better than common scores."
    else:
        verdict = f"Held-out votes are predicted best by {DESCRIPTIONS[found['best']]} ({found['best']})."
    lines = [
        heading("Do the judges differ?"),
        paragraph(verdict),
        "",
        table(["", "gain", "error", ""], rows, left=[0, 3]),
        "",
        paragraph(
            "Gain: increase of the mean log-likelihood of a held-out vote over common scores, in nats. Error: its "
            "standard error over judges. Groups are reported only if random halves of the judges find them again and "
            "they improve the prediction of held-out votes."
        ),
    ]
    for place, group in enumerate(found["groups"] or [], 1):
        preferred = " > ".join(shorten(str(item), 24) for item in group["items"][:PREFERRED])
        lines.append(
            paragraph(
                f"Group {place}: {percent(group['share'])} of the judges ({len(group['judges'])}), stability "
                f"{group['stability']:.2f}. Best first: {preferred}"
                + (" ..." if len(group["items"]) > PREFERRED else "")
            )
        )
    return "\n".join(lines)
