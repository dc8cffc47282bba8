"""`skrank mixture`: the groups that a mixture of Mallows models finds, and how sure their centers are."""

import re
import warnings
from argparse import Namespace

import numpy as np

from skrank._commands import _input
from skrank._commands._arguments import positive, whole
from skrank._commands._comparisons_input import read_comparisons
from skrank._commands._files import write_groups
from skrank._commands._output import Result, add_groups_argument, check_writable, notes
from skrank._commands._text import hanging, heading, number, paragraph, percent, preference, table
from skrank._rankings import check_rankings, n_buckets
from skrank.inspection._base import wrap_title
from skrank.inspection._mallows_mixture import N_REDRAWS, SURE, MallowsMixtureDisplay
from skrank.mixture import MallowsMixture
from skrank.mixture._model import rankings_for_center
from skrank.mixture._search import FOUND, STABLE
from skrank.mixture._stability import VERY_STABLE, verdict
from skrank.preprocessing import ranks_from_comparisons

HELP = "Find groups of voters by a mixture of Mallows models: proportions, consensus, dispersions and uncertainty."
EPILOG = """\
examples:
  {prog}                                     groups among the voters of the APA
  {prog} votes.soi --unranked last           as many groups as split halves confirm
  {prog} votes.soi --unranked last -k 3 --plot groups.png
  {prog} votes.csv --count n --draws 99      is this number of groups enough?
  {prog} survey.csv --output groups.csv      which group each person belongs to

A Mallows model has a central ranking and a dispersion phi: each pair of items that a ranking orders
differently from the center multiplies its probability by phi. A mixture combines several such models, each of
which describes a share of the voters. For groups without a model, see the subcommand cluster.

--json prints an object with: title, voter (the column of --voter), columns, n_rankings, n_distinct, items,
  unranked, n_items,
  components: by decreasing weight, each with weight (its share), dispersion (phi), n_rankings (that it has),
    n_rankings_needed (for its center to be known with a risk of 5 %), consensus (items, best first) and
    order_agreement (for each two neighbors of the consensus, the share of refits to redrawn voters that order
    them so), weight_interval (of the share, 95 %, from the same refits), stability (0 to 1) and n_found (halves
    in which it came back), both null where there are no halves,
  n_halves,
  n_voters (who order anything), missing (subset or marginal: what missing items are taken for),
    missing_log_likelihoods (of both readings, NaN where not fitted),
  log_likelihood, description_length (nats), goodness_of_fit (with --draws: statistic, pvalue, n_draws), notes."""

ALPHA = 0.05
NUMBER = re.compile(r"\d+")
COMPONENTS = re.compile(r"\b[Cc]omponents? \d+( and \d+)?")
REPORT_ITEMS, REPORT_RANKINGS = 40, 50
N_HALVES, LEAST_VOTERS = 8, 4


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    _input.add_file_argument(parser)
    parser.add_argument(
        "-k",
        "--components",
        type=_n_components,
        default="auto",
        metavar="K",
        help="number of groups, or auto (the default): the largest number that random halves of the voters find again",
    )
    parser.add_argument(
        "--max-components", type=positive, default=10, metavar="K", help="maximum number that auto tries (default: 10)"
    )
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="seed of the random starts (default: 0)")
    parser.add_argument(
        "--draws",
        type=whole,
        default=0,
        metavar="N",
        help="test whether more groups are needed, with N draws from the mixture, such as 99 (default: no test)",
    )
    parser.add_argument(
        "--voter",
        metavar="COLUMN",
        help="column of the voters; all rows of a voter are in the same group",
    )
    parser.add_argument(
        "--comparisons",
        action="store_true",
        help="each row is a comparison of two items, with columns such as winner and loser; use with --voter",
    )
    add_groups_argument(parser)
    _input.add_arguments(parser)


def run(arguments):
    """The mixture of the file's rankings."""
    if arguments.output:
        check_writable(arguments.output, "--output")
    rankings = _read(arguments)
    table = {"sample_weight": rankings.weights, "groups": rankings.labels}
    estimator = MallowsMixture(
        arguments.components,
        max_components=arguments.max_components,
        random_state=arguments.seed,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mixture = estimator.fit(rankings.ranks, **table)
    found, display = describe(mixture, rankings.ranks, rankings.item_names, **table)
    figures = {
        "title": rankings.title,
        "voter": arguments.voter if rankings.labels is not None else None,
        "columns": rankings.description,
        "unranked": rankings.unranked,
        "n_rankings": rankings.weights.sum(),
        "n_distinct": len(np.unique(check_rankings(rankings.ranks[rankings.weights > 0]), axis=0)),
        "n_items": len(rankings.item_names),
        "items": rankings.item_names,
        **found,
        "goodness_of_fit": None,
        "notes": [_numbered_from_one(note) for note in notes(caught)],
    }
    if arguments.draws:
        result = mixture.goodness_of_fit(rankings.ranks, arguments.draws, **table)
        figures["goodness_of_fit"] = {
            "statistic": result.statistic,
            "pvalue": result.pvalue,
            "n_draws": arguments.draws,
        }
    if arguments.output:
        orders = _orders_something(rankings)
        write_groups(arguments.output, rankings, _memberships(mixture, rankings, orders))
        figures["notes"].append(f"Each row's group is in {arguments.output}{_without_group(orders)}.")
    return Result(figures, write, lambda: _draw(display, figures))


def _read(arguments):
    """The rankings of the file, with their voters as labels."""
    if not arguments.comparisons:
        rankings = _input.read_rankings(arguments.file, arguments, by=arguments.voter)
        if rankings.labels is not None and (rankings.labels == "").any():
            row = int((rankings.labels == "").argmax())
            raise rankings.table.error(
                row, f"no value in column {arguments.voter!r} (--voter). Give every row a voter."
            )
        return rankings
    if arguments.file is None or arguments.voter is None:
        raise ValueError("--comparisons needs a file, and --voter COLUMN: groups are of those who compared.")
    columns = Namespace(
        items=arguments.items or None,
        outcome=None,
        judge=arguments.voter,
        no_judge=False,
        group=None,
        weight=arguments.count,
    )
    found = read_comparisons(arguments.file, columns)
    counts = np.rint(found.weight).astype(int)
    if not np.allclose(counts, found.weight):
        raise ValueError("the counts of comparisons must be whole numbers.")
    first, second = found.pairs.T
    first_won, ties = found.share > 0.5, found.share == 0.5
    if not np.isin(found.share, [0, 0.5, 1]).all():
        raise ValueError("an outcome that is a share of wins makes no ranking: give the winner of each comparison.")
    winners, losers = np.where(first_won, first, second), np.where(first_won, second, first)
    names = sorted({*winners, *losers})
    ranks = ranks_from_comparisons(winners, losers, ties=ties, counts=counts, items=names)
    voters = np.repeat(found.judge.astype(str), counts)
    return _input.Rankings(ranks, np.ones(len(ranks)), names, voters, found.title, "missing", description=found.columns)


def _memberships(mixture, rankings, orders):
    """The group of each row, from 1 in the order of the table, and the probability of this one and of each.

    NaN for rows of people who order nothing: the mixture predicts the shares of the groups for them.
    """
    probabilities = mixture.predict_proba(rankings.ranks, rankings.labels)
    each = {f"probability_{group}": column for group, column in enumerate(probabilities.T, 1)}
    found = {"group": probabilities.argmax(axis=1) + 1, "probability": probabilities.max(axis=1), **each}
    return {name: np.where(orders, column, np.nan) for name, column in found.items()}


def _orders_something(rankings):
    """Whether each row, or any row of its voter, orders two items."""
    orders = n_buckets(check_rankings(rankings.ranks)) > 1
    if rankings.labels is None:
        return orders
    voters, codes = np.unique(rankings.labels, return_inverse=True)
    return (np.bincount(codes, orders, len(voters)) > 0)[codes]


def _without_group(orders):
    """The end of the note on the output: how many rows have no group, if there are any."""
    n_empty = np.count_nonzero(~orders)
    if not n_empty:
        return ""
    rows = "1 row that orders" if n_empty == 1 else f"{n_empty} rows that order"
    return f"; group and probabilities are empty for {rows} nothing"


# ---------------------------------------------------------------- figures
def describe(mixture, ranks, names, sample_weight, groups=None):
    """The components of a fitted mixture as figures, and the display that draws them."""
    data, _ = mixture._table(ranks, sample_weight, groups)
    n_voters = data.total_weight
    names = np.asarray(names, dtype=object)
    needed = rankings_for_center(len(names), mixture.dispersions_, data.coverage)
    has_gaps = bool(np.isnan(ranks[sample_weight > 0]).any())
    redrawn = mixture.bootstrap(ranks, N_REDRAWS, sample_weight=sample_weight, groups=groups)
    intervals = redrawn.weight_intervals()
    halves = _halves(mixture, ranks, sample_weight, groups, n_voters)
    display = MallowsMixtureDisplay(
        mixture.centers_,
        weights=mixture.weights_,
        dispersions=mixture.dispersions_,
        item_names=names,
        order_agreement=redrawn.neighbor_agreement,
        weight_intervals=intervals,
    )
    components = [
        {
            "weight": weight,
            "dispersion": dispersion,
            "n_rankings": n_voters * weight,
            "n_rankings_needed": required,
            "consensus": names[np.argsort(center, kind="stable")],
            "order_agreement": agreement,
            "weight_interval": intervals[number],
            "stability": None if halves is None else halves[:, number].mean(),
            "n_found": None if halves is None else int((halves[:, number] > FOUND).sum()),
        }
        for number, (weight, dispersion, required, center, agreement) in enumerate(
            zip(
                mixture.weights_,
                mixture.dispersions_,
                needed,
                mixture.centers_,
                redrawn.neighbor_agreement,
                strict=True,
            )
        )
    ]
    figures = {
        "components": components,
        "n_halves": None if halves is None else len(halves),
        "n_voters": n_voters,
        "missing": mixture.missing_ if has_gaps else None,
        "missing_log_likelihoods": mixture.missing_log_likelihoods_ if has_gaps else None,
        "log_likelihood": mixture.score(ranks, sample_weight=sample_weight, groups=groups) * n_voters,
        "description_length": mixture.description_length_,
    }
    return figures, display


def _halves(mixture, ranks, sample_weight, groups, n_voters):
    """Soft Jaccard indices of the components by half: those of the fit, if it had halves; None of too few voters."""
    if hasattr(mixture, "half_indices_"):
        return mixture.half_indices_
    if n_voters < LEAST_VOTERS:
        return None
    return mixture.stability(ranks, N_HALVES, sample_weight=sample_weight, groups=groups).indices


def section(rankings, distinct):
    """The report's figures: the mixture of the subcommand, of all that order something; None of few."""
    informative = [len(np.unique(row[~np.isnan(row)])) > 1 for row in distinct.ranks]
    ranks, weights = distinct.ranks[informative], distinct.weights[informative]
    if weights.sum() < REPORT_RANKINGS or not 2 <= ranks.shape[1] <= REPORT_ITEMS:
        return None
    estimator = MallowsMixture("auto", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the command tells of them
        mixture = estimator.fit(ranks, sample_weight=weights)
    return {"n_rankings": weights.sum(), **describe(mixture, ranks, rankings.item_names, weights)[0]}


# ---------------------------------------------------------------- text
def write(figures):
    """The figures as text."""
    lines = [
        heading(figures["title"], "="),
        f"{number(figures['n_rankings'])} rankings of {figures['n_items']} items, {figures['n_distinct']} of them "
        "distinct.",
    ]
    if figures["voter"]:
        lines.append(
            f"Each of the {number(figures['n_voters'])} voters (column {figures['voter']!r}) belongs to one group."
        )
    if figures["missing"]:
        lines.append(paragraph(_write_missing(figures)))
    elif figures["unranked"]:
        lines.append(f"Unranked items are treated as {figures['unranked']}.")
    lines += ["", write_components(figures)]
    if fit := figures["goodness_of_fit"]:
        verdict = (
            "more groups are needed" if fit["pvalue"] <= ALPHA else "there is no evidence that more groups are needed"
        )
        if 1 / (fit["n_draws"] + 1) > ALPHA:
            verdict = f"{fit['n_draws']} draws are too few to tell, use --draws 99"
        lines += [
            "",
            paragraph(
                f"Is one more group needed? It increases the log-likelihood by {fit['statistic']:.1f}. In data drawn "
                f"from this mixture, the increase is at least as large with p = {fit['pvalue']:.3f}: {verdict}."
            ),
        ]
    return "\n".join(lines)


def _write_missing(figures):
    """Which model of missing items, and by how much."""
    found = figures["missing_log_likelihoods"]
    words = {
        "subset": "each ranking is a full ranking of only the items that it contains",
        "marginal": "each ranking is part of a full ranking in which the places of some items are unknown",
    }
    text = f"Missing items: {words[figures['missing']]}."
    if np.isfinite(found["marginal"]):
        other = "marginal" if figures["missing"] == "subset" else "subset"
        difference = found[figures["missing"]] - found[other]
        text += (
            f" The log-likelihood of the alternative, that {words[other]}, is {abs(difference):.0f} "
            f"{'lower' if difference >= 0 else 'higher'}."
        )
    return text


def write_components(figures):
    """What holds, the table of components, and what its columns mean."""
    components = figures["components"]
    rows = [
        [
            str(place),
            percent(one["weight"]),
            " to ".join(f"{100 * bound:.1f}" for bound in one["weight_interval"]),
            f"{one['dispersion']:.3f}",
            f"{one['n_rankings']:.0f}",
            "-" if one["stability"] is None else f"{one['stability']:.2f}",
            came_back(one, figures["n_halves"]),
            f"{100 * (1 - min(one['order_agreement'])):.0f} %",
        ]
        for place, one in enumerate(components, 1)
    ]
    return "\n".join(
        [
            paragraph(what_holds(figures)),
            "",
            table(["", "share", "95 %", "dispersion", "rankings", "stability", "came back", "least sure order"], rows),
            "",
            *(
                hanging(f"{place:>3}  ", preference(one["consensus"], np.asarray(one["order_agreement"]) >= SURE))
                for place, one in enumerate(components, 1)
            ),
            "",
            paragraph(
                f"{LEGEND} Least sure order: the proportion of refits that reverse the least certain pair of "
                f"neighbors. {ORDER_LEGEND}"
            ),
        ]
    )


# What the columns of the table mean.
LEGEND = (
    f"95 %: confidence interval of the share, from {N_REDRAWS} refits to resampled voters. Dispersion: 0 if all "
    "members of a group agree, 1 if their rankings are random. Stability: how much of the group is found again in "
    f"random halves of the voters; 1 is all of it, and a group below {STABLE:g} is not reliable. Came back: the number "
    "of halves with a group that is mostly the same."
)
ORDER_LEGEND = (
    f"Neighbors in a consensus are joined by ~ if more than {percent(1 - SURE)} of the refits reverse them, and by > "
    "otherwise."
)


def what_holds(figures):
    """Which groups would be found again, in plain words."""
    components, n_halves = figures["components"], figures["n_halves"]
    if n_halves is None:
        return "There are too few voters to check by random halves whether the groups would be found again."
    if len(components) == 1:
        return (
            "One group: there is no evidence that random halves of the voters would yield the same two or more groups."
        )
    weak = [one["stability"] < STABLE for one in components]
    words = [
        f" Group {place} came back in {one['n_found']} of {n_halves} halves: {verdict(one['stability'])}."
        for place, one in enumerate(components, 1)
        if one["stability"] < VERY_STABLE
    ]
    others = (
        "not all of which would be found again with other voters"
        if any(weak)
        else "which random halves of the voters find again"
    )
    return f"{len(components)} groups, {others}." + "".join(words)


def came_back(component, n_halves):
    return "-" if n_halves is None else f"{component['n_found']} of {n_halves}"


def _numbered_from_one(note):
    """A warning of the mixture, with components numbered as in the table."""
    return COMPONENTS.sub(lambda match: NUMBER.sub(lambda number: str(int(number[0]) + 1), match[0]), note)


def _draw(display, figures):
    """The groups side by side."""
    figure = display.plot().figure_
    n_groups = len(figures["components"])
    groups = "one group" if n_groups == 1 else f"{n_groups} groups"
    figure.suptitle(wrap_title(f"{figures['title']}: {groups}, {number(figures['n_rankings'])} rankings", figure))
    return figure


def _n_components(text):
    return text if text == "auto" else positive(text)
