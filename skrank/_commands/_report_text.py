"""The report's figures as text, section by section."""

import numpy as np

from skrank._commands import _choices, _label, cluster, mixture
from skrank._commands._text import heading, number, paragraph, percent, shorten, table
from skrank.linear_model._leaderboard import rank_text

MOST_ITEMS = 15
MOST_LENGTHS = 6
UNRANKED = {"last": "tied after all that is ranked", "missing": "missing: nothing is known about it"}


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
        lines += ["", f"What a ranking leaves out is taken as {UNRANKED[figures['unranked']]}."]
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
    quality = "no ranking agrees better" if found["is_exact"] else "the best that a local search found"
    return "\n".join(
        [
            heading("Consensus"),
            paragraph(
                f"Kemeny's ranking agrees with {percent(found['agreement'])} of all strict preferences between two "
                f"items ({quality})."
            ),
            "",
            table(["", "", "rank set", "mean place", "first", "ranked by", "net wins"], rows, left=[1]),
            *_only_first(found["items"]),
            "",
            paragraph(
                "Rank set: the places in the consensus that rankings drawn anew leave open, with 90 % confidence. Mean "
                "place: over the rankings that rank the item; 1 is best, ties share the mean of their places. "
                "First: in the first place, alone or tied. Net wins: items that it beats less those that beat it "
                "(Borda's count), mean over all rankings."
            ),
        ]
    )


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
        verdict = "There is no Condorcet winner: no item beats every other one by majority."
    else:
        verdict = f"Condorcet winner: {found['condorcet_winner']} beats every other item by majority."
    cycles = "; ".join(map(_listed, found["cycles"]))
    return "\n".join(
        [
            heading("Pairwise majorities"),
            "Per cent that prefer the row's item to the column's, among those that prefer one of the two.",
            "",
            table(["", "", *[str(place + 1) for place in range(n_shown)]], rows, left=[1]),
            *_only_first(found["items"]),
            "",
            paragraph(
                verdict + (f" Cycles of majorities among {cycles}." if cycles else " The majorities make no cycles.")
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
            " The clusters above do not hold, these groups do: a mixture allows for scatter, and each ranking belongs "
            "to every group to some degree."
        )
    return " The clusters above hold: rankings differ in kind, though not as Mallows models around several consensuses."


def groups(figures):
    """The mixture of Mallows models."""
    found = figures["mixture"]
    of = number(found["n_rankings"])
    some = "" if found["n_rankings"] == figures["n_rankings"] else f" Of the {of} rankings that order any two items."
    return "\n".join(
        [
            heading("Mixture of Mallows models"),
            paragraph(f"Groups of rankings, each scattered about a consensus of its own.{some}{_beside(figures)}"),
            "",
            mixture.write_components(found),
        ]
    )


def prediction(figures):
    """Whether people of different labels rank differently, and how well the label is predicted."""
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
        return f"Every ranking ranks {counts[0][0]} items."
    mean = sum(m * weight for m, weight in counts) / total
    mean = f"Rankings rank {mean:.1f} items on average, from {counts[0][0]} to {counts[-1][0]}"
    if len(counts) > MOST_LENGTHS:
        return mean + "."
    return f"{mean} ({', '.join(f'{m}: {percent(weight / total)}' for m, weight in counts)})."


def _only_first(items):
    return [f"(the first {MOST_ITEMS} of {len(items)} items)"] if len(items) > MOST_ITEMS else []


def _share(fraction):
    return "-" if np.isnan(fraction) else f"{100 * fraction:.0f}"


def _listed(names, most=8):
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
