"""`skrank test`: do two sets of rankings of the same items come from one distribution, and where do they differ?"""

from itertools import combinations, cycle
from typing import NamedTuple

import numpy as np

from skrank._commands import _input
from skrank._commands._arguments import at_least_two, positive, whole
from skrank._commands._differences import holm, item_differences, label_test, net_wins, weighted_item_differences
from skrank._commands._output import Result
from skrank._commands._text import heading, number, paragraph, shorten, table
from skrank._rankings import check_rankings
from skrank.inspection._base import OKABE_ITO, class_colors, line_width, row_height, wrap_names
from skrank.kernels._methods import has_closed_form
from skrank.kernels._names import KERNEL_NAMES, named_kernel
from skrank.stats import kemeny_consensus, mmd_test
from skrank.stats._mmd import pooled_gram

HELP = "Test whether two sets of rankings come from the same distribution, and show where they differ."
EPILOG = """\
examples:
  {prog} east.soc west.soc                       do people of two regions rank alike?
  {prog} women.csv men.csv --scores --plot difference.png
  {prog} before.csv after.csv --orderings --unranked missing --permutations 9999
  {prog} survey.csv --by gender --items 'Q5_*'     groups of one file; of more than two, all pairs

The files must have the same items, in any order of the columns. The test compares whole distributions and
not only averages. The statistic is the maximum mean discrepancy (MMD) of a kernel; its p-value is the proportion
of random divisions of all rankings into two such sets with a statistic at least as large. Rankings must be
independent; several rankings by the same person are not. With --weight, rankings count by survey weights, and a
person keeps both ranking and weight in every division. P-values of items are adjusted for the number of items,
and those of several pairs of groups for the number of pairs (Holm).

--json prints an object with: columns, unranked, kernel, nu (its scale, null if it has none), statistic (squared MMD,
  unbiased: it may be negative), pvalue, n_permutations, null_quantiles (of the statistic by chance: 0.5, 0.95, 0.99),
  samples: two, each with title, n_rankings (of survey weights the effective number), n_tested, are_counts (false of
    survey weights), consensus (items, best first),
  items, by decreasing absolute z: each with item, places (in the two consensus rankings, from 1), net_wins (items
    that it beats less those that beat it, mean in each set), net_wins_errors (their standard errors), difference (of
    the two), standard_error (over random divisions), z (their ratio), pvalue (of any item's differing so much by
    chance), notes. With --by and more than two groups: columns, by, groups (title, n_rankings, net_wins of the items,
  net_wins_errors), items, pairs (first, second, statistic, pvalue, pvalue_holm), notes."""

ALPHA = 0.05
MOST_GROUPS = 12
SAMPLE, SAMPLE_SLOW = 2000, 500
MOST_ITEMS = 15
PLOTTED_ITEMS = 40
LEGEND_WIDTH = 40
PAIR_FIGURES = ("statistic", "pvalue")
QUANTILES = (0.5, 0.95, 0.99)


class Sample(NamedTuple):
    """Rankings of one file: a row for each, what was tested of them, and its name."""

    rankings: _input.Rankings
    tested: np.ndarray
    title: str
    weights: np.ndarray | None = None  # survey weights of the tested


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument("first", metavar="A", help=_input.FILES)
    parser.add_argument("second", metavar="B", nargs="?", help="another file of rankings of the same items")
    parser.add_argument("--by", metavar="COLUMN", help="compare the groups in A that are given by this column")
    parser.add_argument(
        "--kernel",
        choices=KERNEL_NAMES,
        default="mallows",
        metavar="NAME",
        help=f"the kernel, one of {', '.join(KERNEL_NAMES)} (default: mallows, which detects every difference; "
        "kendall only depends on pairwise preferences)",
    )
    parser.add_argument(
        "--permutations",
        type=positive,
        default=999,
        metavar="N",
        help="number of random divisions for comparison (default: 999)",
    )
    parser.add_argument(
        "--sample",
        type=at_least_two,
        metavar="N",
        help=f"test a random sample of this size of a file with more rankings (default: {SAMPLE}, or {SAMPLE_SLOW} "
        "if the kernel has no closed form, such as mallows with missing items)",
    )
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="N", help="seed of the samples and the divisions (default: 0)"
    )
    _input.add_arguments(parser)


def run(arguments):
    """The test of two files' rankings, or of the groups of one file."""
    if (arguments.second is None) == (arguments.by is None):
        raise ValueError("the test needs a second file, or --by and a column that names groups.")
    rng = np.random.default_rng(arguments.seed)
    groups, paths, notes = _groups_of_a_file(arguments) if arguments.by else _two_files(arguments)
    if len(groups) > 2:
        result = _all_pairs(groups, paths, arguments, rng)
        result.figures["notes"] += notes
        return result
    figures, result = _compare(groups, paths, arguments, rng)
    figures["notes"] += notes
    return Result(figures, write, lambda: _draw(figures, result.null_distribution))


def _two_files(arguments):
    if arguments.first == arguments.second == "-":
        raise ValueError("standard input can be one of the two files only.")
    paths = [_input.STANDARD_INPUT if path == "-" else path for path in (arguments.first, arguments.second)]
    first, second = (_input.read_rankings(path, arguments) for path in (arguments.first, arguments.second))
    return [first, _with_items_of(second, first, paths)], paths, []


def _groups_of_a_file(arguments):
    rankings = _input.read_rankings(arguments.first, arguments, by=arguments.by)
    if rankings.labels is None:
        raise ValueError("--by needs a CSV file or a workbook.")
    notes = _input.left_out_notes(rankings, arguments.by, "--by")
    rankings = _input.with_labels(rankings)
    names = np.unique(rankings.labels[rankings.weights > 0])
    if not 2 <= len(names) <= MOST_GROUPS:
        raise ValueError(
            " ".join(
                [
                    f"column {arguments.by!r} names {len(names)} groups; the test compares 2 to {MOST_GROUPS} of them.",
                    *notes,
                ]
            )
        )
    members = [rankings.labels == name for name in names]
    groups = [rankings._replace(ranks=rankings.ranks[rows], weights=rankings.weights[rows]) for rows in members]
    if not rankings.are_counts:
        groups = [one._replace(weights=_input.effective(one.weights)) for one in groups]
    return groups, [f"{arguments.by}: {name}" for name in names], notes


def _compare(groups, paths, arguments, rng):
    """The figures of two sets of rankings, and the result of the test."""
    most = arguments.sample or _default_sample(arguments.kernel, *groups)
    samples = [_sample(*one, most, rng) for one in zip(groups, paths, strict=True)]
    result, nu = _test(samples, arguments)
    consensus = [kemeny_consensus(one.ranks, sample_weight=one.weights).ranks for one in groups]
    names = groups[0].item_names
    figures = {
        "columns": groups[0].description,
        "unranked": arguments.unranked,
        "kernel": arguments.kernel,
        "nu": nu,
        "statistic": result.statistic,
        "pvalue": result.pvalue,
        "n_permutations": arguments.permutations,
        "null_quantiles": dict(zip(QUANTILES, np.quantile(result.null_distribution, QUANTILES), strict=True)),
        "samples": [
            {
                "title": one.title,
                "n_rankings": one.rankings.weights.sum(),
                "n_tested": len(one.tested),
                "are_counts": one.rankings.are_counts,
                "consensus": [names[item] for item in np.argsort(ranks, kind="stable")],
            }
            for one, ranks in zip(samples, consensus, strict=True)
        ],
        "items": _items(groups, consensus, names, arguments.permutations, rng),
        "notes": [],
    }
    return figures, result


def _test(samples, arguments):
    """The result of the test, and the scale of the kernel, None if it has none."""
    first, second = samples
    if first.weights is None:
        result = mmd_test(
            first.tested,
            second.tested,
            kernel=arguments.kernel,
            n_permutations=arguments.permutations,
            random_state=arguments.seed,
        )
        return result, getattr(result.kernel, "nu", None)
    rng = np.random.default_rng(arguments.seed)
    gram, row, n_first, kernel = pooled_gram(first.tested, second.tested, arguments.kernel, rng, None)
    weights = np.concatenate([first.weights, second.weights])
    labels = np.arange(len(row)) >= n_first
    result = label_test(gram[np.ix_(row, row)], labels, arguments.permutations, rng, weights)
    return result, getattr(kernel, "nu", None)


def _all_pairs(groups, paths, arguments, rng):
    """Every two groups, with p-values that allow for the number of pairs."""
    pairs = []
    for first, second in combinations(range(len(groups)), 2):
        chosen = [groups[first], groups[second]], [paths[first], paths[second]]
        figures, _ = _compare(*chosen, arguments, rng)
        pairs.append({"first": paths[first], "second": paths[second], **{key: figures[key] for key in PAIR_FIGURES}})
    for pair, pvalue in zip(pairs, holm([pair["pvalue"] for pair in pairs]), strict=True):
        pair["pvalue_holm"] = pvalue
    figures = {
        "columns": groups[0].description,
        "by": arguments.by,
        "groups": [
            {"title": path, "n_rankings": one.weights.sum(), "net_wins": wins, "net_wins_errors": errors}
            for one, path, (wins, errors) in zip(groups, paths, map(_net_wins, groups), strict=True)
        ],
        "items": groups[0].item_names,
        "n_permutations": arguments.permutations,
        "pairs": pairs,
        "notes": [],
    }
    return Result(figures, _write_pairs, lambda: _draw_groups(figures))


# ---------------------------------------------------------------- figures
def _with_items_of(rankings, others, paths):
    """The rankings with columns in the order of the others' items."""
    names, expected = rankings.item_names, others.item_names
    if sorted(names) != sorted(expected):
        alone = [
            f"{sorted(set(one) - set(other))[0]!r} is in {path} only"
            for one, other, path in ((expected, names, paths[0]), (names, expected, paths[1]))
            if set(one) - set(other)
        ]
        raise ValueError(f"the two files must rank the same items, but {' and '.join(alone) or 'names are repeated'}.")
    if names == expected:
        return rankings
    return rankings._replace(ranks=rankings.ranks[:, [names.index(name) for name in expected]], item_names=expected)


def _default_sample(kernel, *rankings):
    ranks = check_rankings(np.concatenate([one.ranks for one in rankings]))
    return SAMPLE if has_closed_form(named_kernel(kernel), ranks) else SAMPLE_SLOW


def _sample(rankings, path, most, rng):
    """Each ranking as often as it was seen, at most so many, drawn without replacement."""
    weights = rankings.weights
    if not rankings.are_counts:
        people = np.flatnonzero(weights)
        if len(people) < 2:
            raise ValueError(f"{path} has one person with a weight: the test needs at least two in either group.")
        rows = people if len(people) <= most else np.sort(rng.choice(people, most, replace=False))
        return Sample(rankings, rankings.ranks[rows], path, weights[rows])
    if (weights != np.rint(weights)).any():
        raise ValueError(
            f"{path}: the test needs numbers of rankings, but a weight is {weights[weights % 1 != 0][0]:g}."
        )
    total = int(weights.sum())
    if total < 2:
        raise ValueError(f"{path} has one ranking: the test needs at least two in either file.")
    drawn = np.arange(total) if total <= most else np.sort(rng.choice(total, most, replace=False))
    rows = np.searchsorted(np.cumsum(weights), drawn, side="right")
    return Sample(rankings, rankings.ranks[rows], path)


def _items(groups, consensus, names, n_permutations, rng):
    """How each item fares in the two sets, the largest difference first."""
    first, second = groups
    if first.are_counts:
        found = item_differences(first.ranks, second.ranks, first.weights, second.weights, n_permutations, rng)
    else:
        weights = np.concatenate([first.weights, second.weights])
        is_first, seen = np.arange(len(weights)) < len(first.weights), weights > 0
        ranks = np.vstack([first.ranks, second.ranks])[seen]
        found = weighted_item_differences(ranks, is_first[seen], weights[seen], n_permutations, rng)
    errors = np.array([_net_wins(one)[1] for one in groups])
    return [
        {
            "item": names[item],
            "places": [None if np.isnan(ranks[item]) else int(ranks[item]) + 1 for ranks in consensus],
            "net_wins": found.means[:, item],
            "net_wins_errors": errors[:, item],
            "difference": found.means[1, item] - found.means[0, item],
            "standard_error": found.standard_error[item],
            "z": found.z[item],
            "pvalue": found.pvalue[item],
        }
        for item in np.argsort(-np.abs(found.z), kind="stable")
    ]


def _net_wins(rankings):
    """Mean net wins of the items, and their standard errors."""
    wins, total = net_wins(check_rankings(rankings.ranks)), rankings.weights.sum()
    means = rankings.weights @ wins / total
    if not rankings.are_counts:
        return means, np.sqrt(rankings.weights**2 @ (wins - means) ** 2) / total
    return means, np.sqrt(rankings.weights @ (wins - means) ** 2 / total / max(total - 1, 1))


# ---------------------------------------------------------------- text
def write(figures):
    """The figures as text."""
    first, second = figures["samples"]
    differ = figures["pvalue"] <= ALPHA
    verdict = (
        f"The two sets of rankings differ (p = {figures['pvalue']:.2g})."
        if differ
        else f"There is no evidence that the two sets of rankings differ (p = {figures['pvalue']:.2g})."
    )
    notable = sum(one["pvalue"] <= ALPHA for one in figures["items"])
    rows = [
        [
            shorten(one["item"], 40),
            *("-" if place is None else str(place) for place in one["places"]),
            *(f"{wins:+.2f}" for wins in one["net_wins"]),
            f"{one['difference']:+.2f}",
            f"{one['z']:+.1f}",
            f"{one['pvalue']:.3f}",
        ]
        for one in figures["items"][:MOST_ITEMS]
    ]
    scale = "" if figures["nu"] is None else f", nu = {figures['nu']:.3g}"
    n_items = len(figures["items"])
    return "\n".join(
        [
            heading("Do two sets of rankings come from the same distribution?", "="),
            *(_describe(letter, one) for letter, one in (("A", first), ("B", second))),
            "",
            paragraph(
                f"{verdict} The squared MMD of the {figures['kernel']} kernel{scale} is {figures['statistic']:.3g}. "
                f"By chance, it exceeds {figures['null_quantiles'][0.95]:.3g} in 5 % of random divisions "
                f"({figures['n_permutations']} were drawn)."
            ),
            "",
            table(["", "place in A", "in B", "net wins in A", "in B", "difference", "in errors", "p"], rows, left=[0]),
            *([f"(the first {MOST_ITEMS} of {n_items} items)"] if n_items > MOST_ITEMS else []),
            "",
            paragraph(
                "Place: in the Kemeny consensus of the set. Net wins: items that it beats minus items that beat it, "
                "averaged over the rankings. In errors: the difference divided by its standard error over random "
                "divisions. p: the proportion of random divisions in which any item differs that much. "
                f"{notable} of {n_items} items differ with p <= {ALPHA:g}."
            ),
        ]
    )


def _write_pairs(figures):
    """The table of all pairs of groups as text."""
    rows = [
        [shorten(one["first"], 28), shorten(one["second"], 28), f"{one['pvalue']:.3f}", f"{one['pvalue_holm']:.3f}"]
        for one in figures["pairs"]
    ]
    differ = sum(one["pvalue_holm"] <= ALPHA for one in figures["pairs"])
    sizes = [[shorten(one["title"], 40), number(one["n_rankings"])] for one in figures["groups"]]
    return "\n".join(
        [
            heading(f"Do the groups of {figures['by']} rank alike?", "="),
            paragraph(f"{differ} of {len(rows)} pairs of groups differ with p <= {ALPHA:g} after Holm's correction."),
            "",
            table(["", "rankings"], sizes, left=[0]),
            "",
            table(["", "", "p", "p (Holm)"], rows, left=[0, 1]),
            "",
            paragraph(
                "p: permutation test of the maximum mean discrepancy of the two groups. Holm: corrected for the number "
                "of pairs. To see where two groups differ, compare them in a file of their own."
            ),
        ]
    )


def _describe(letter, sample):
    if not sample["are_counts"]:
        size = f"the weights of all correspond to {sample['n_rankings']:.1f} people"
        return f"{letter}: {sample['title']}, {sample['n_tested']} people tested ({size})"
    tested = "" if sample["n_tested"] == sample["n_rankings"] else f", {sample['n_tested']} of them tested"
    return f"{letter}: {sample['title']}, {number(sample['n_rankings'])} rankings{tested}"


# ---------------------------------------------------------------- plot
def _draw(figures, null_distribution):
    """The net wins of the items in both sets, and the statistic beside its values under chance."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    items = sorted(figures["items"][:PLOTTED_ITEMS], key=lambda one: -one["net_wins"][0])
    names = wrap_names([one["item"] for one in items])
    size = 6 + 0.075 * line_width(names) + 4, _height(names, 2)
    figure, (left, right) = plt.subplots(1, 2, figsize=size, width_ratios=[3, 2], layout="constrained")
    wins, errors = (np.array([one[key] for one in items]) for key in ("net_wins", "net_wins_errors"))
    _draw_net_wins(left, names, figures["samples"], wins.T, errors.T)
    right.hist(null_distribution, bins="auto", color="0.75", label="by chance")
    right.axvline(figures["statistic"], color=OKABE_ITO[5], linewidth=2, label=f"found: p = {figures['pvalue']:.2g}")
    right.set_xlabel("squared MMD")
    right.set_ylabel("random divisions")
    right.xaxis.set_major_locator(MaxNLocator(4))
    right.set_box_aspect(0.8)
    right.set_anchor("N")
    right.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    if len(items) < len(figures["items"]):
        left.set_xlabel(f"{left.get_xlabel()}\nthe {len(items)} of {len(figures['items'])} items that differ most")
    return figure


def _draw_groups(figures):
    """The net wins of the items in each group."""
    import matplotlib.pyplot as plt

    wins, errors = (np.array([one[key] for one in figures["groups"]]) for key in ("net_wins", "net_wins_errors"))
    order = np.argsort(-wins.mean(axis=0))[:PLOTTED_ITEMS]
    names = wrap_names([figures["items"][item] for item in order])
    size = 6 + 0.075 * line_width(names), _height(names, len(wins))
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    _draw_net_wins(axes, names, figures["groups"], wins[:, order], errors[:, order])
    return figure


def _height(names, n_groups):
    return 1.6 + 0.1 * n_groups + row_height(names, 0.1 * n_groups + 0.08) * max(len(names), 6)


def _draw_net_wins(axes, names, groups, wins, errors):
    """Net wins and their standard errors of each group (row): those of an item side by side within its row."""
    from matplotlib.ticker import MaxNLocator

    place = np.arange(len(names))
    axes.hlines(place[:-1] + 0.5, 0, 1, color="0.9", linewidth=0.8, zorder=0, transform=axes.get_yaxis_transform())
    shifts = (np.arange(len(groups)) - (len(groups) - 1) / 2) * min(0.2, 0.7 / len(groups))
    rows = zip(groups, wins, errors, shifts, class_colors(len(groups)), cycle("osD^vP*Xdh<>"), strict=False)
    for one, values, error, shift, color, marker in rows:
        label = wrap_names([f"{one['title']} ({number(one['n_rankings'])})"], LEGEND_WIDTH)[0]
        style = {"fmt": marker, "color": color, "markersize": 5, "elinewidth": 1, "capsize": 2, "label": label}
        axes.errorbar(values, place + shift, xerr=error, **style)
    axes.set_yticks(place, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("net wins: items it beats less items that beat it,\n+- one standard error")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    columns = 1 if len(groups) <= 2 else 2
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, ncols=columns)
