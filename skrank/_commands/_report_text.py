"""The report's figures as text, section by section."""

import numpy as np

from skrank._commands import _choices, _label, cluster, mixture
from skrank._commands._text import heading, number, paragraph, percent, shorten, table
from skrank.linear_model._leaderboard import rank_text

MOST_ITEMS = 15
MOST_LENGTHS = 6
UNRANKED = {"last": "tied after all ranked items", "missing": "missing: nothing is known about them"}


def write(figures):
    """The figures as text."""
    first = "rankings" if figures["choices"] is None else "choices"
    shown = [first, *(name for name in SECTIONS if name not in ("rankings", "choices") and figures[name] is not None)]
    sections = [SECTIONS[name](figures) for name in shown]
    return "\n\n\n".join(sections)


def kinds(figures):
    """How many rankings of how many items, ties and missing items."""
    found, total = figures["rankings"], figures["n_rankings"]
    rows = {
        "full: no ties, nothing missing": found["full"],
        "with ties": found["with_ties"],
        "with missing items": found["with_missing"],
    }
    if found["uninformative"]:
        rows["uninformative: order no two items"] = found["uninformative"]
    lines = [
        heading(figures["title"], "="),
        f"{number(total)} rankings of {figures['n_items']} items, {figures['n_distinct']} of them distinct.",
        "",
        table(
            ["", "rankings", "share"],
            [[name, number(weight), percent(weight / total)] for name, weight in rows.items()],
            left=[0],
        ),
    ]
    if found["with_missing"]:
        lines += ["", _lengths(found["n_ranked"], total)]
    if figures["unranked"]:
        lines += ["", f"Unranked items are treated as {UNRANKED[figures['unranked']]}."]
    return "\n".join(lines)


def consensus(figures):
    """The consensus ranking: a table of the items in its order."""
    found = figures["consensus"]
    rows = [
        [
            str(place),
            shorten(one["item"], 40),
            rank_text(*one["rank_set"]),
            f"{one['mean_place']:.2f}",
            percent(one["first_share"]),
            percent(one["ranked_share"]),
            f"{one['net_wins']:+.2f}",
        ]
        for place, one in enumerate(found["items"][:MOST_ITEMS], 1)
    ]
    return "\n".join(
        [
            heading("Consensus"),
            paragraph(write_quality(found)),
            "",
            table(["", "", "rank set", "mean place", "first", "ranked by", "net wins"], rows, left=[1]),
            *_only_first(found["items"]),
            "",
            paragraph(RANK_LEGEND),
        ]
    )


RANK_LEGEND = (
    "Rank set: the places that the item may have in the consensus, with 90 % confidence (from resampled rankings). "
    "Mean place: over the rankings that contain the item; 1 is best, and ties share the mean of their places. First: "
    "proportion of rankings with the item in first place, alone or tied. Ranked by: proportion of rankings that "
    "contain the item. Net wins: items that it beats minus items that beat it (Borda count), averaged over all "
    "rankings."
)


def write_quality(consensus):
    """How well the consensus agrees with the rankings, in a sentence; nothing if there is none."""
    if consensus is None:
        return ""
    quality = "the maximum" if consensus["is_exact"] else "the maximum found by a local search"
    agreement = percent(consensus["agreement"])
    return f"The Kemeny ranking agrees with {agreement} of all strict pairwise preferences ({quality})."


def majorities(figures):
    """The table of pairwise majorities, and the Condorcet winner or the cycles."""
    found = figures["majorities"]
    n_shown = min(len(found["items"]), MOST_ITEMS)
    rows = [
        [str(row + 1), shorten(found["items"][row], 28)]
        + ["." if row == column else _share(found["fractions"][row, column]) for column in range(n_shown)]
        for row in range(n_shown)
    ]
    if found["condorcet_winner"] is None:
        verdict = "There is no Condorcet winner: no item beats every other item by majority."
    else:
        verdict = f"Condorcet winner: {found['condorcet_winner']} beats every other item by majority."
    cycles = "; ".join(map(_listed, found["cycles"]))
    return "\n".join(
        [
            heading("Pairwise majorities"),
            "Percentage of rankings that prefer the row's item to the column's, among those that order the two.",
            "",
            table(["", "", *[str(place + 1) for place in range(n_shown)]], rows, left=[1]),
            *_only_first(found["items"]),
            "",
            paragraph(
                verdict
                + (f" There are majority cycles among {cycles}." if cycles else " There are no majority cycles.")
            ),
        ]
    )


def clusters(figures):
    """The clusters."""
    return "\n".join(
        [heading("Clusters of rankings"), cluster.write_clusters(figures["clusters"], figures["n_rankings"])]
    )


def _beside(figures):
    """How the groups go together with the clusters."""
    clusters, found = figures["clusters"], figures["mixture"]
    n_groups = len(found["components"])
    hold = n_groups > 1 and found["n_halves"] is not None
    if clusters is None or clusters["stable"] == hold:
        return ""
    if hold:
        return (
            " Unlike the clusters above, these groups are stable: a mixture allows for groups that overlap, and each "
            "ranking belongs to every group to some degree."
        )
    return (
        " The clusters above are stable: the rankings differ in kind, but not like Mallows models with different "
        "centers."
    )


def groups(figures):
    """The mixture of Mallows models."""
    found = figures["mixture"]
    of = number(found["n_rankings"])
    some = "" if found["n_rankings"] == figures["n_rankings"] else f" Fitted to the {of} rankings that order any items."
    return "\n".join(
        [
            heading("Mixture of Mallows models"),
            paragraph(f"Groups of rankings, each scattered around its own consensus.{some}{_beside(figures)}"),
            "",
            mixture.write_components(found),
        ]
    )


def prediction(figures):
    """Whether people with different labels rank differently, and how well the label is predicted."""
    return _label.write(figures["prediction"])


SECTIONS = {
    "choices": _choices.write,
    "rankings": kinds,
    "consensus": consensus,
    "majorities": majorities,
    "clusters": clusters,
    "mixture": groups,
    "prediction": prediction,
}


# ---------------------------------------------------------------- parts
def _lengths(counts, total):
    """How many items the rankings rank: the share of each number, or the mean of many."""
    if len(counts) == 1:
        return f"Every ranking contains {counts[0][0]} items."
    mean = sum(m * weight for m, weight in counts) / total
    mean = f"Rankings contain {mean:.1f} items on average, from {counts[0][0]} to {counts[-1][0]}"
    if len(counts) > MOST_LENGTHS:
        return mean + "."
    return f"{mean} ({', '.join(f'{m}: {percent(weight / total)}' for m, weight in counts)})."


def _only_first(items):
    return [f"(the first {MOST_ITEMS} of {len(items)} items)"] if len(items) > MOST_ITEMS else []


def _share(fraction):
    return "-" if np.isnan(fraction) else f"{100 * fraction:.0f}"


def _listed(names, most=8):
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
