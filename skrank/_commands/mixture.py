"""`skrank mixture`: the groups that a mixture of Mallows models finds, and how sure their centers are."""

import re
import warnings

import numpy as np

from skrank._commands import _input
from skrank._commands._arguments import positive, whole
from skrank._commands._files import write_groups
from skrank._commands._output import Result, add_groups_argument, check_writable, notes
from skrank._commands._text import hanging, heading, number, odds, one_line, paragraph, percent, preference, table
from skrank.inspection._mallows_mixture import SURE, MallowsMixtureDisplay
from skrank.mixture import MallowsMixture
from skrank.mixture._model import rankings_for_center

HELP = "Find groups: a mixture of Mallows models, with each group's share, consensus and spread, and how sure that is."
EPILOG = """\
examples:
  {prog}                                     groups among the voters of the APA
  {prog} votes.soi --unranked last           as many groups as describe the rankings shortest
  {prog} votes.soi --unranked last -k 3 --plot groups.png
  {prog} votes.csv --count n --draws 99      is this number of groups enough?
  {prog} survey.csv --output groups.csv      which group each person belongs to

A Mallows model is a central ranking and a dispersion phi: each pair of items that a ranking orders
against the center makes it phi times as probable. A mixture has several, each with a share of the voters.
For groups without a model, see the subcommand cluster.

--json prints an object with: title, columns, n_rankings, n_distinct, items, unranked, n_items,
  components: by decreasing weight, each with weight (its share), dispersion (phi), n_rankings (that it has),
    n_rankings_needed (for its center to be known with a risk of 5 %), consensus (items, best first) and
    order_certainty (for each two neighbours of the consensus, by how much the log-likelihood falls if they
    change places: 0 is a toss-up, 3 is 20 to 1),
  log_likelihood, description_length (nats), goodness_of_fit (with --draws: statistic, pvalue, n_draws), notes."""

ALPHA = 0.05
NUMBER = re.compile(r"\d+")
COMPONENTS = re.compile(r"\b[Cc]omponents? \d+( and \d+)?")
# The report's section is quick: for more, there is this command.
REPORT_COMPONENTS, REPORT_SUBSAMPLE, REPORT_ITEMS, REPORT_RANKINGS = 5, 1000, 40, 50


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    _input.add_file_argument(parser)
    parser.add_argument(
        "-k",
        "--components",
        type=_n_components,
        default="auto",
        metavar="K",
        help="number of groups, or auto (the default): as many as make the description of the rankings shortest",
    )
    parser.add_argument(
        "--max-components", type=positive, default=10, metavar="K", help="the most that auto tries (default: 10)"
    )
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="for the random starts (default: 0)")
    parser.add_argument(
        "--draws",
        type=whole,
        default=0,
        metavar="N",
        help="test whether more groups are needed, with so many draws from the mixture, say 99 (default: no test)",
    )
    add_groups_argument(parser)
    _input.add_arguments(parser)


def run(arguments):
    """The mixture of the file's rankings."""
    if arguments.output:
        check_writable(arguments.output, "--output")
    rankings = _input.read_rankings(arguments.file, arguments, default_unranked="last")
    gaps = np.isnan(rankings.ranks).any(axis=1)
    if gaps.any():
        raise ValueError(
            f"ranking {int(np.argmax(gaps)) + 1} leaves items out, and a mixture needs to know what is meant by that. "
            "Pass --unranked last if they are worse than all that is ranked."
        )
    estimator = MallowsMixture(
        arguments.components,
        max_components=arguments.max_components,
        criterion="mdl",
        init=("peel", "kmeans"),
        random_state=arguments.seed,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mixture = estimator.fit(rankings.ranks, sample_weight=rankings.weights)
    display = _display(mixture, rankings.ranks, rankings.weights, rankings.item_names)
    figures = {
        "title": rankings.title,
        "columns": rankings.description,
        "unranked": rankings.unranked,
        "n_rankings": rankings.weights.sum(),
        "n_distinct": len(np.unique(rankings.ranks[rankings.weights > 0], axis=0)),
        "n_items": len(rankings.item_names),
        "items": rankings.item_names,
        **describe(mixture, display, rankings.ranks, rankings.weights),
        "goodness_of_fit": None,
        "notes": [_numbered_from_one(note) for note in notes(caught)],
    }
    if arguments.draws:
        result = mixture.goodness_of_fit(rankings.ranks, arguments.draws, rankings.weights)
        figures["goodness_of_fit"] = {
            "statistic": result.statistic,
            "pvalue": result.pvalue,
            "n_draws": arguments.draws,
        }
    if arguments.output:
        write_groups(arguments.output, rankings, _memberships(mixture, rankings))
        figures["notes"].append(f"Each row's group is in {arguments.output}.")
    return Result(figures, write, lambda: display.plot().figure_)


def _memberships(mixture, rankings):
    """The group of each row, from 1 in the order of the table, and the probability of this one and of each."""
    probabilities = mixture.predict_proba(rankings.ranks)
    each = {f"probability_{group}": column for group, column in enumerate(probabilities.T, 1)}
    return {"group": probabilities.argmax(axis=1) + 1, "probability": probabilities.max(axis=1), **each}


# ---------------------------------------------------------------- figures
def _display(mixture, ranks, weights, names):
    return MallowsMixtureDisplay._computed(mixture, ranks, sample_weight=weights, item_names=names)


def describe(mixture, display, ranks, weights):
    """The components of a fitted mixture as figures, from the display that draws them."""
    needed = rankings_for_center(len(display.item_names), display.dispersions)
    components = [
        {
            "weight": weight,
            "dispersion": dispersion,
            "n_rankings": weights.sum() * weight,
            "n_rankings_needed": required,
            "consensus": display.item_names[np.argsort(center, kind="stable")],
            "order_certainty": loss,
        }
        for weight, dispersion, required, center, loss in zip(
            display.weights, display.dispersions, needed, display.centers, display.losses, strict=True
        )
    ]
    return {
        "components": components,
        "log_likelihood": mixture.score(ranks, sample_weight=weights) * weights.sum(),
        "description_length": mixture.description_length_,
    }


def section(rankings, distinct):
    """The report's figures: the mixture of the shortest description, of the rankings without gaps; None of few."""
    complete = ~np.isnan(distinct.ranks).any(axis=1)
    ranks, weights = distinct.ranks[complete], distinct.weights[complete]
    if weights.sum() < REPORT_RANKINGS or not 2 <= ranks.shape[1] <= REPORT_ITEMS:
        return None
    estimator = MallowsMixture(
        "auto", criterion="mdl", max_components=REPORT_COMPONENTS, subsample=REPORT_SUBSAMPLE, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the command tells of them
        mixture = estimator.fit(ranks, sample_weight=weights)
    display = _display(mixture, ranks, weights, rankings.item_names)
    return {"n_rankings": weights.sum(), **describe(mixture, display, ranks, weights)}


# ---------------------------------------------------------------- text
def write(figures):
    """The figures as text."""
    lines = [
        heading(figures["title"], "="),
        f"{number(figures['n_rankings'])} rankings of {figures['n_items']} items, {figures['n_distinct']} of them "
        "distinct.",
    ]
    if figures["unranked"]:
        lines.append(f"What a ranking leaves out is taken as {figures['unranked']}.")
    lines += ["", write_components(figures["components"])]
    if fit := figures["goodness_of_fit"]:
        verdict = "more groups are needed" if fit["pvalue"] <= ALPHA else "nothing says that more groups are needed"
        if 1 / (fit["n_draws"] + 1) > ALPHA:
            verdict = f"{fit['n_draws']} draws are too few to tell, take 99"
        lines += [
            "",
            paragraph(
                f"Is one more group needed? It could raise the log-likelihood by {fit['statistic']:.1f}; in draws from "
                f"this mixture it rises as much with p = {fit['pvalue']:.3f}: {verdict}."
            ),
        ]
    return "\n".join(lines)


def write_components(components):
    """The table of components, and what its columns mean."""
    rows = [
        [
            str(place),
            percent(component["weight"]),
            f"{component['dispersion']:.3f}",
            f"{component['n_rankings']:.0f}",
            f"{component['n_rankings_needed']:.0f}" if np.isfinite(component["n_rankings_needed"]) else "-",
            odds(min(component["order_certainty"])),
        ]
        for place, component in enumerate(components, 1)
    ]
    return "\n".join(
        [
            table(["", "share", "dispersion", "rankings", "needed", "least sure order"], rows),
            "",
            *(
                hanging(f"{place:>3}  ", preference(one["consensus"], np.asarray(one["order_certainty"]) >= SURE))
                for place, one in enumerate(components, 1)
            ),
            "",
            paragraph(
                one_line(
                    f"""Dispersion: 0 if all of a group agree, 1 if its rankings are random. Needed: full rankings that
                    determine such a consensus with a risk of 5 %; fewer than that, and it is a guess in part. Least
                    sure order: the odds, by the data's likelihood, of the closest two neighbours against the same two
                    exchanged. Neighbours with odds below {np.exp(SURE):.0f} : 1 are joined by ~, others by >."""
                )
            ),
        ]
    )


def _numbered_from_one(note):
    """A warning of the mixture, with components numbered as in the table."""
    return COMPONENTS.sub(lambda match: NUMBER.sub(lambda number: str(int(number[0]) + 1), match[0]), note)


def _n_components(text):
    return text if text == "auto" else positive(text)
