"""`python -m skrank mixture`: the groups that a mixture of Mallows models finds, and how sure their centers are."""

import warnings

import numpy as np

from skrank._commands import _input
from skrank._commands._text import heading, number, paragraph, percent, shorten, table
from skrank._rankings import aggregate, check_rankings, ordering
from skrank.mixture import MallowsMixture
from skrank.mixture._diagnostics import rankings_for_center
from skrank.mixture._expectation_maximization import Mixture
from skrank.mixture._flips import neighbour_losses
from skrank.mixture._pair_signs import PairSigns

HELP = "Fit a mixture of Mallows models: weight, dispersion and consensus of each group, and how sure the centers are."

SURE = 3.0  # nats that exchanging two neighbours of a center must cost
MOST_NAMES = 15
# The report's section is quick: for more, there is this command.
REPORT_COMPONENTS, REPORT_SUBSAMPLE, REPORT_ITEMS, REPORT_RANKINGS = 5, 1000, 40, 50


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    _input.add_arguments(parser)
    parser.add_argument(
        "-k",
        "--components",
        default="auto",
        help='number of components, or "auto" (the default): the shortest description',
    )
    parser.add_argument("--max-components", type=int, default=10, help='the most that "auto" tries (default 10)')
    parser.add_argument("--seed", type=int, default=0, help="for the random starts (default 0)")
    parser.add_argument(
        "--draws",
        type=int,
        default=0,
        metavar="N",
        help="test the fit, with so many bootstrap draws (default: no test)",
    )


def run(arguments):
    """The components as text."""
    if arguments.file is None and arguments.unranked is None:
        arguments.unranked = "last"
    n_components = _n_components(arguments.components)
    rankings = _input.read_rankings(arguments)
    gaps = np.isnan(rankings.ranks).any(axis=1)
    if gaps.any():
        raise ValueError(
            f"ranking {int(np.argmax(gaps))} leaves items out, and a mixture needs to know what is meant by that. Pass "
            "--unranked last if they are worse than all that is ranked."
        )
    estimator = MallowsMixture(
        n_components,
        max_components=arguments.max_components,
        init=("peel", "kmeans"),
        random_state=arguments.seed,
    )
    mixture, remarks = _fit(estimator, rankings.ranks, rankings.weights)
    lines = [
        heading(rankings.title, "="),
        f"{number(rankings.weights.sum())} rankings of {len(rankings.item_names)} items, "
        f"{len(np.unique(rankings.ranks, axis=0))} of them distinct.",
    ]
    if rankings.unranked:
        lines.append(f"What a ranking leaves out is taken as {rankings.unranked}.")
    lines += ["", describe(mixture, rankings.ranks, rankings.weights, rankings.item_names)]
    if arguments.draws:
        result = mixture.goodness_of_fit(rankings.ranks, arguments.draws, rankings.weights)
        lines += [
            "",
            f"One more component could gain {result.statistic:.1f} nats; draws from the mixture gain as much with p = "
            f"{result.pvalue:.3f}.",
        ]
    lines += [text for remark in remarks for text in ("", paragraph(f"Note: {remark}"))]
    return "\n".join(lines)


def section(rankings, distinct):
    """The report's section: the mixture of the shortest description, of the rankings without gaps."""
    complete = ~np.isnan(distinct.ranks).any(axis=1)
    ranks, weights = distinct.ranks[complete], distinct.weights[complete]
    if weights.sum() < REPORT_RANKINGS or not 2 <= ranks.shape[1] <= REPORT_ITEMS:
        return ""
    estimator = MallowsMixture("auto", max_components=REPORT_COMPONENTS, subsample=REPORT_SUBSAMPLE, random_state=0)
    mixture, _ = _fit(estimator, ranks, weights)
    note = "" if complete.all() else f" Of the {number(weights.sum())} rankings without gaps."
    return "\n".join(
        [
            heading("Mixture of Mallows models"),
            paragraph(
                "MallowsMixture(n_components='auto'): the number of components is that of the shortest description."
                + note
            ),
            "",
            describe(mixture, ranks, weights, rankings.item_names),
        ]
    )


def describe(mixture, ranks, weights, names):
    """The table of components, and what its columns mean."""
    distinct = aggregate(check_rankings(ranks), weights)
    data = PairSigns(distinct.ranks, distinct.weights)
    losses = neighbour_losses(data, Mixture(mixture.centers_, mixture.dispersions_, mixture.weights_))
    needed = rankings_for_center(data.n_items, mixture.dispersions_)
    rows = [
        [
            str(component + 1),
            percent(mixture.weights_[component]),
            f"{mixture.dispersions_[component]:.3f}",
            f"{data.total_weight * mixture.weights_[component]:.0f}",
            f"{needed[component]:.0f}" if np.isfinite(needed[component]) else "-",
            f"{min(losses[component].min(), 99999):.1f}",
        ]
        for component in range(mixture.n_components_)
    ]
    lines = [
        table(["", "weight", "dispersion", "rankings", "needed", "closest call"], rows),
        "",
        *(
            _consensus(component, center, loss, names)
            for component, (center, loss) in enumerate(zip(ordering(mixture.centers_), losses, strict=True), 1)
        ),
        "",
        paragraph(
            "Dispersion: 0 everybody the same, 1 all orders equally likely. Needed: full rankings from which a center "
            "is determined with a risk of 5 %; ties tell less. Closest call: nats that the best exchange of two "
            f"neighbours in the center costs; where it costs less than {SURE:g}, they are joined by ~ and not by >."
        ),
    ]
    return "\n".join(lines)


def _consensus(component, order, losses, names):
    text = f"{component:>3}  "
    for place, item in enumerate(order[:MOST_NAMES]):
        if place:
            text += " > " if losses[place - 1] >= SURE else " ~ "
        text += shorten(names[item], 28)
    if len(order) > MOST_NAMES:
        text += f" ... ({len(order) - MOST_NAMES} more)"
    wrapped = paragraph(text).split("\n")
    return "\n".join(["  " + wrapped[0], *("     " + line for line in wrapped[1:])])


def _n_components(text):
    if text == "auto":
        return text
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f'-k takes a positive number or "auto", got {text!r}.')
    return int(text)


def _fit(estimator, ranks, weights):
    """The fitted mixture, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mixture = estimator.fit(ranks, sample_weight=weights)
    return mixture, [str(warning.message) for warning in caught]
