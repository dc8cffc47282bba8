"""Ballots that name items without ranking them, and those with two candidates: what the report says instead of ranks.

A ballot that names one item, or approves of some, has two ranks at most: a mean place, a Condorcet winner or a Mallows
model of it would be a number without a meaning. What it has is counts.
"""

from typing import Any

import numpy as np
from scipy.stats import binomtest, norm

from skrank._commands._text import count, heading, number, paragraph, percent, shorten, table
from skrank._rankings import MISSING, check_rankings, n_buckets, n_ranked
from skrank.linear_model._leaderboard import rank_text
from skrank.stats import borda_consensus

TWO, ONE, APPROVAL = "two candidates", "one choice", "approval"
LEVEL = 0.95
N_REDRAWS, CONFIDENCE = 200, 0.9
MOST_ITEMS, MOST_TOGETHER = 30, 15
WORDS = {
    TWO: "one of the two candidates is preferred",
    ONE: "one item is named",
    APPROVAL: "items are approved of or not",
}


# ---------------------------------------------------------------- figures
def kind_of(ranks, weights):
    """What densified ballots are: "two candidates", "one choice", "approval", or None for rankings."""
    ranks = ranks[weights > 0]
    if ranks.shape[1] < 2:
        return None
    told = _told(ranks)
    if not told.any():
        return None
    if ranks.shape[1] == 2:
        return TWO
    shown = ranks[told]
    if shown.max() > 1:
        return None
    missing = shown == MISSING
    if ((shown == 1).any(axis=1) & missing.any(axis=1)).any() or (missing.any() and (shown == 1).any()):
        return None  # what is missing is neither approved nor refused
    return ONE if ((shown == 0).sum(axis=1) == 1).all() else APPROVAL


def _told(ranks):
    """Which ballots tell any two items apart, by their order or by leaving one out."""
    if ranks.shape[1] == 2:
        return n_buckets(ranks) > 1
    partial = n_ranked(ranks)
    return (n_buckets(ranks) > 1) | ((partial > 0) & (partial < ranks.shape[1]))


def describe(rankings):
    """The figures of the section, None for rankings."""
    ranks, weights = check_rankings(rankings.ranks), rankings.weights
    kind = kind_of(ranks, weights)
    if kind is None:
        return None
    used = _told(ranks) & (weights > 0)
    chosen, counted = (ranks[used] == 0).astype(float), weights[used]
    total = counted.sum()
    counts = counted @ chosen
    order = np.argsort(-counts, kind="stable")
    sets = borda_consensus(
        1 - chosen, sample_weight=counted, n_draws=N_REDRAWS, confidence_level=CONFIDENCE, random_state=0
    ).rank_sets
    assert sets is not None
    items = [
        {
            "item": rankings.item_names[item],
            "n_ballots": counts[item],
            "share": counts[item] / total,
            "interval": wilson_interval(counts[item], total),
            "rank_set": [sets.low[item] + 1, sets.high[item] + 1],
        }
        for item in order
    ]
    together: Any = None
    if kind == APPROVAL:
        both = (counted[:, None] * chosen).T @ chosen
        with np.errstate(invalid="ignore"):
            together = (both / counts[:, None])[np.ix_(order, order)]
    n_chosen = chosen.sum(axis=1).astype(int)
    return {
        "kind": kind,
        "n_ballots": total,
        "n_uninformative": weights.sum() - total,
        "items": items,
        "n_chosen": [[int(m), counted[n_chosen == m].sum()] for m in np.unique(n_chosen)],
        "together": together,
        "lead": _lead(chosen, counted, order, rankings.item_names),
    }


def _lead(chosen, weights, order, names):
    """The first two items: how many ballots name only one of them, and how often chance splits these so unevenly."""
    first, second = order[:2]
    ahead = weights @ (chosen[:, first] * (1 - chosen[:, second]))
    behind = weights @ (chosen[:, second] * (1 - chosen[:, first]))
    won, of = round(ahead), round(ahead) + round(behind)
    pvalue = binomtest(won, of).pvalue if of else 1.0
    return {"items": [names[first], names[second]], "n_only": [ahead, behind], "pvalue": float(pvalue)}


def wilson_interval(count, total):
    """Interval of a share, of 95 %: Wilson's, which stays within 0 and 1 (Wilson 1927)."""
    z = norm.ppf((1 + LEVEL) / 2)
    share, spread = count / total, z**2 / total
    center = (share + spread / 2) / (1 + spread)
    half = np.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return [max(center - half, 0.0), min(center + half, 1.0)]


# ---------------------------------------------------------------- text
def write(figures):
    """The section as text, with the title of the whole."""
    found = figures["choices"]
    lines = [heading(figures["title"], "="), size(figures)]
    if found["n_uninformative"]:
        lines.append(paragraph(_uninformative(found)))
    rows = [
        [
            str(place),
            shorten(one["item"], 40),
            number(one["n_ballots"]),
            percent(one["share"]),
            " to ".join(f"{100 * bound:.1f}" for bound in one["interval"]),
            rank_text(*one["rank_set"]),
        ]
        for place, one in enumerate(found["items"][:MOST_ITEMS], 1)
    ]
    more = len(found["items"]) - len(rows)
    lines += ["", heading("Approval" if found["kind"] == APPROVAL else "Shares")]
    if found["kind"] == APPROVAL:
        lines += [_how_many(found), ""]
    lines += [table(["", "", "ballots", "share", "95 %", "rank set"], rows, left=[1])]
    lines += [f"({more} more items)"] if more else []
    lines += ["", paragraph(f"{lead(found)} {legend(found)}")]
    if found["together"] is not None:
        lines += ["", "", *_write_together(found)]
    return "\n".join(lines)


def size(figures):
    """How many ballots of what kind, in a sentence."""
    return (
        f"{count(figures['n_rankings'], 'ballot')}, {count(figures['n_items'], 'item')}: "
        f"{WORDS[figures['choices']['kind']]}."
    )


def _uninformative(found):
    why = {TWO: "tie the two or rank neither", ONE: "name none", APPROVAL: "approve of all or of none"}[found["kind"]]
    return f"{number(found['n_uninformative'])} ballots {why} and are left out below."


def _how_many(found):
    mean = sum(m * weight for m, weight in found["n_chosen"]) / found["n_ballots"]
    return f"A ballot approves of {mean:.1f} items on average."


def lead(found):
    """Who leads, and whether chance might have it so."""
    first, second = found["lead"]["items"]
    ahead, behind = found["lead"]["n_only"]
    pvalue = found["lead"]["pvalue"]
    if ahead == behind:
        return f"{first} and {second} have the same number of ballots."
    sure = "unlikely by chance" if pvalue <= 0.05 else "possibly by chance"
    who = f"{first} leads {second} by {number(ahead)} to {number(behind)}"
    if found["kind"] == APPROVAL:
        who += " among the ballots that approve of one of the two"
    return f"{who}: {sure} (p = {pvalue:.2g}, sign test)."


def legend(found):
    """What the columns mean."""
    share = "approve of the item" if found["kind"] == APPROVAL else "prefer the item"
    return (
        f"Share: proportion of the counted ballots that {share}, with a 95 % confidence interval (Wilson). Rank set: "
        "the places by share that the item may have, with 90 % confidence (from resampled ballots). There are no "
        "consensus rankings, majorities and mixtures, because such ballots do not rank."
    )


def _write_together(found):
    n_shown = min(len(found["items"]), MOST_TOGETHER)
    rows = [
        [str(row + 1), shorten(found["items"][row]["item"], 28)]
        + ["." if row == column else _cell(found["together"][row, column]) for column in range(n_shown)]
        for row in range(n_shown)
    ]
    return [
        heading("Approved together"),
        "Percentage of those who approve of the row's item who also approve of the column's.",
        "",
        table(["", "", *[str(place + 1) for place in range(n_shown)]], rows, left=[1]),
    ]


def _cell(share):
    return "-" if np.isnan(share) else f"{100 * share:.0f}"


# ---------------------------------------------------------------- plot
def draw(figures):
    """The shares with their intervals, and of approvals which items go together."""
    import matplotlib.pyplot as plt

    from skrank.inspection._base import OKABE_ITO, line_width, row_height, wrap_names, wrap_title

    found = figures["choices"]
    items = found["items"][:MOST_ITEMS]
    names = wrap_names([f"{place}. {one['item']}" for place, one in enumerate(items, 1)])
    height = max(row_height(names, 0.35) * len(items), 1.5)
    together = found["together"]
    panels = 1 if together is None else 2
    side = max(height, 3.0)
    size = 5 + 0.075 * line_width(names) + (panels - 1) * (side + 1), height + 1.4
    figure, axes = plt.subplots(
        1, panels, figsize=size, width_ratios=[4, side][:panels], layout="constrained", squeeze=False
    )
    left = axes[0, 0]
    shares = np.array([one["share"] for one in items])
    low, high = np.array([one["interval"] for one in items]).T
    reach = 100 * np.clip([shares - low, high - shares], 0, None)
    left.barh(range(len(items)), 100 * shares, xerr=reach, color=OKABE_ITO[4], ecolor="black", capsize=2, height=0.7)
    left.set_yticks(range(len(items)), names)
    left.set_ylim(len(items) - 0.5, -0.5)
    left.set_xlim(0, None)
    left.set_xlabel("% of ballots, with intervals of 95 %")
    if together is not None:
        _draw_together(axes[0, 1], together[: len(items), : len(items)])
    figure.suptitle(wrap_title(f"{figures['title']}: {number(found['n_ballots'])} ballots", figure))
    return figure


def _draw_together(axes, together):
    from skrank.inspection._base import text_color

    shown = np.where(np.eye(len(together), dtype=bool), np.nan, 100 * together)
    image = axes.imshow(shown, cmap="cividis", vmin=0, vmax=100, aspect="auto")
    axes.set_facecolor("0.85")
    places = range(len(together))
    axes.set_xticks(places, [str(place + 1) for place in places])
    axes.set_yticks(places, [str(place + 1) for place in places])
    axes.tick_params(length=0)
    axes.set_xlabel("... approve of this one, too (%)")
    axes.set_ylabel("who approve of this item ...")
    axes.figure.colorbar(image, ax=axes, shrink=0.8)
    if len(together) <= MOST_TOGETHER:
        for row, column in np.argwhere(~np.isnan(shown)):
            color = text_color(image.cmap(image.norm(shown[row, column])))
            axes.text(column, row, f"{shown[row, column]:.0f}", ha="center", va="center", color=color, fontsize="small")
