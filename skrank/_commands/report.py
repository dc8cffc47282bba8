"""`python -m skrank report`: what an analyst wants to know first about a set of rankings."""

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import silhouette_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skrank._commands import _input, mixture
from skrank._commands._text import WIDTH, heading, number, paragraph, percent, shorten, table
from skrank._rankings import (
    MISSING,
    aggregate,
    check_rankings,
    mean_places,
    n_buckets,
    n_ranked,
    rows_with_ties,
    to_rank_matrix,
)
from skrank.kernels import PartialRankingKernel
from skrank.stats import borda_consensus, kemeny_consensus, pairwise_majority

HELP = "Describe a set of rankings: sizes, ties and gaps, consensus, majorities, clusters, and what predicts a label."

MOST_ITEMS = 15
MOST_LENGTHS = 6
CLUSTER_SAMPLE = 1000
MOST_CLUSTERS = 8
LARGE_SHARE = 0.1
SMALLEST_SHARE = 0.02
LABEL_SAMPLE = 2000
MOST_CLASSES = 20
N_SPLITS = 5


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    _input.add_arguments(parser)


def run(arguments):
    """The report as text."""
    rankings = _input.read_rankings(arguments)
    _check_labels(rankings.labels)
    table_ = aggregate(check_rankings(rankings.ranks), rankings.weights)
    distinct = rankings._replace(ranks=to_rank_matrix(table_.ranks), weights=table_.weights, labels=None)
    sections = [section(rankings, distinct) for section in SECTIONS]
    return "\n\n\n".join(text for text in sections if text)


# ---------------------------------------------------------------- sections: (all rankings, distinct ones) -> text
def describe(rankings, distinct):
    """How many rankings of how many items, ties and gaps."""
    ranks, weights = check_rankings(distinct.ranks), distinct.weights
    total, n_items = weights.sum(), ranks.shape[1]
    counted = n_ranked(ranks)
    tied, gaps = rows_with_ties(ranks), counted < n_items
    kinds = [("full: no ties, no gaps", ~tied & ~gaps), ("with ties", tied), ("with gaps: missing items", gaps)]
    if n_items > 1 and not orders_items(ranks).all():
        kinds.append(("say nothing: order no two items", ~orders_items(ranks)))
    lines = [
        heading(rankings.title, "="),
        f"{number(total)} rankings of {n_items} items, {len(weights)} of them distinct.",
        "",
        table(
            ["", "rankings", "share"],
            [[name, number(weights[rows].sum()), percent(weights[rows].sum() / total)] for name, rows in kinds],
            left=[0],
        ),
    ]
    if gaps.any():
        lines += ["", _lengths(counted, weights)]
    if rankings.unranked:
        meaning = {"last": "tied after all that is ranked", "missing": "missing: nothing is known of it"}
        lines += ["", f"What a ranking leaves out is taken as {meaning[rankings.unranked]}."]
    return "\n".join(lines)


def consensus(rankings, distinct):
    """The consensus ranking and a table of the items in its order."""
    ranks, weights = check_rankings(distinct.ranks), distinct.weights
    total = weights.sum()
    kemeny = kemeny_consensus(distinct.ranks, sample_weight=weights)
    compared = pairwise_majority(distinct.ranks, sample_weight=weights).wins.sum()
    agreeing = 1 - kemeny.distance / compared if compared else 1.0
    net_wins = borda_consensus(distinct.ranks, sample_weight=weights).scores / total
    ranked = weights @ (ranks != MISSING)
    mean_place = weights @ np.nan_to_num(mean_places(ranks) + 1) / np.maximum(ranked, np.finfo(float).tiny)
    first = weights @ (ranks == 0)
    rows = [
        [
            str(place),
            shorten(rankings.item_names[item], 40),
            f"{mean_place[item]:.2f}",
            percent(first[item] / total),
            percent(ranked[item] / total),
            f"{net_wins[item]:+.2f}",
        ]
        for place, item in enumerate(kemeny.ordering[:MOST_ITEMS], 1)
    ]
    quality = "no ranking agrees better" if kemeny.is_exact else "the best that a local search found"
    return "\n".join(
        [
            heading("Consensus"),
            paragraph(
                f"Kemeny's ranking agrees with {percent(agreeing)} of all strict preferences between two items "
                f"({quality})."
            ),
            "",
            table(["", "", "mean place", "first", "ranked by", "net wins"], rows, left=[1]),
            *_only_first(kemeny.ordering),
            "",
            "Mean place: over the rankings that rank the item; 1 is best, ties share the mean of their places.",
            "First: in the first place, alone or tied. Net wins: items that it beats less those that beat it (Borda's",
            "count), mean over all rankings.",
        ]
    )


def majorities(rankings, distinct):
    """The table of pairwise majorities, and the Condorcet winner or the cycles."""
    if distinct.ranks.shape[1] < 2:
        return ""
    order = kemeny_consensus(distinct.ranks, sample_weight=distinct.weights).ordering
    result = pairwise_majority(distinct.ranks, sample_weight=distinct.weights)
    shown = order[:MOST_ITEMS]
    rows = [
        [str(place), shorten(rankings.item_names[item], 28)]
        + ["." if item == other else _share(result.fractions[item, other]) for other in shown]
        for place, item in enumerate(shown, 1)
    ]
    if result.condorcet_winner is None:
        verdict = "There is no Condorcet winner: no item beats every other one by majority."
    else:
        name = rankings.item_names[result.condorcet_winner]
        verdict = f"Condorcet winner: {name} beats every other item by majority."
    return "\n".join(
        [
            heading("Pairwise majorities"),
            "Per cent that prefer the row's item to the column's, among those that prefer one of the two.",
            "",
            table(["", "", *[str(place) for place in range(1, len(shown) + 1)]], rows, left=[1]),
            *_only_first(order),
            "",
            paragraph(verdict + " " + _cycles(result.majority, rankings.item_names, order)),
        ]
    )


def clusters(rankings, distinct):
    """Clusters of voters, and the consensus of each."""
    telling = orders_items(check_rankings(distinct.ranks))
    if telling.sum() < 4:
        return ""
    drawn, note = _draw(distinct.weights[telling], CLUSTER_SAMPLE)
    X = distinct.ranks[telling][drawn]
    kernel = PartialRankingKernel(kernel="kendall", normalize=True, output="distance")
    labels, silhouette = _best_partition(kernel.fit_transform(X))
    if labels is None:
        return ""
    shares = np.bincount(labels) / len(labels)
    small = shares < SMALLEST_SHARE
    rows = []
    for place, cluster in enumerate(np.argsort(-shares, kind="stable"), 1):
        if not small[cluster]:
            order = kemeny_consensus(X[labels == cluster]).ordering
            rows.append([str(place), percent(shares[cluster]), _preference([rankings.item_names[i] for i in order])])
    lines = [
        heading("Clusters of voters"),
        paragraph(
            "Average linkage of PartialRankingKernel(kernel='kendall', normalize=True, output='distance'), cut where "
            f"the silhouette is best: {silhouette:.2f} (1: compact and far apart, 0: no clusters). {note}"
        ),
        "",
        table(["", "share", "consensus"], rows, left=[2]),
    ]
    if not telling.all():
        left_out = percent(distinct.weights[~telling].sum() / distinct.weights.sum())
        lines += ["", f"Left out: the {left_out} of the rankings that order no two items."]
    if small.any():
        lines += [
            "",
            f"Smaller clusters, of less than {percent(SMALLEST_SHARE, 0)} each, hold {percent(shares[small].sum())}.",
        ]
    return "\n".join(lines)


def prediction(rankings, distinct):
    """Cross-validated accuracy of predicting the label from the ranking."""
    if rankings.labels is None:
        return ""
    drawn, note = _draw(rankings.weights, LABEL_SAMPLE)
    X, y = rankings.ranks[drawn], rankings.labels[drawn]
    classes, counts = np.unique(y, return_counts=True)
    folds = StratifiedKFold(N_SPLITS, shuffle=True, random_state=0)
    majority = counts.max() / len(y)
    rows = [["always the largest class", f"{majority:.3f}", ""]]
    for kernel in ("kendall", "mallows"):
        pipeline = make_pipeline(PartialRankingKernel(kernel=kernel, random_state=0), SVC(kernel="precomputed"))
        accuracy = np.average(
            cross_val_score(pipeline, X, y, cv=folds), weights=[len(test) for _, test in folds.split(X, y)]
        )
        error = np.sqrt(accuracy * (1 - accuracy) / len(y))
        rows.append([f"SVC, {kernel.capitalize()} kernel", f"{accuracy:.3f}", f"{error:.3f}"])
    shares = ", ".join(f"{name}: {percent(count / len(y))}" for name, count in zip(classes, counts, strict=True))
    return "\n".join(
        [
            heading("Does the ranking tell the label?"),
            paragraph(
                f"{len(y)} labelled rankings ({shares}). {folds.n_splits}-fold cross-validation of support vector "
                f"machines (C = 1) on PartialRankingKernel. {note}"
            ),
            "",
            table(["", "accuracy", "standard error"], rows, left=[0]),
        ]
    )


SECTIONS = (describe, consensus, majorities, clusters, mixture.section, prediction)


# ---------------------------------------------------------------- parts
def orders_items(ranks):
    """Which rankings prefer any item to any other."""
    return n_buckets(ranks) > 1


def _check_labels(labels):
    """Whether there is something to predict, before anything is computed."""
    if labels is None:
        return
    classes, counts = np.unique(labels, return_counts=True)
    if not 2 <= len(classes) <= MOST_CLASSES:
        raise ValueError(f"the label has {len(classes)} distinct values; 2 to {MOST_CLASSES} classes can be predicted.")
    if counts.min() < N_SPLITS:
        rarest = str(classes[counts.argmin()])
        raise ValueError(f"the label {rarest!r} occurs {counts.min()} times: cross-validation needs {N_SPLITS}.")


def _draw(weights, most):
    """Row numbers that represent weighted rankings: each as often as it was seen, or a sample by weight; and a note."""
    total = weights.sum()
    if total <= most and (weights == np.rint(weights)).all():
        return np.repeat(np.arange(len(weights)), weights.astype(np.intp)), ""
    drawn = np.random.default_rng(0).choice(len(weights), most, p=weights / total)
    return np.sort(drawn), f"A random sample of {most} of the {number(total)} rankings, by weight."


def _best_partition(distances):
    """Labels of the average-linkage clusters with the best silhouette, and that silhouette.

    Average linkage splits off outliers first, so a cut with two large clusters goes before any without.
    """
    best, labels = (False, -np.inf), None
    n_distinct = len(np.unique(distances, axis=0))
    for n_clusters in range(2, min(MOST_CLUSTERS, n_distinct - 1) + 1):
        linkage = AgglomerativeClustering(n_clusters, metric="precomputed", linkage="average")
        cut = linkage.fit_predict(distances)
        shares = np.bincount(cut) / len(cut)
        quality = (np.sort(shares)[-2] >= LARGE_SHARE, silhouette_score(distances, cut, metric="precomputed"))
        if quality > best:
            best, labels = quality, cut
    return labels, best[1]


def _lengths(counted, weights):
    """How many items the rankings rank: the share of each number, or the mean of many."""
    if counted.min() == counted.max():
        return f"Every ranking ranks {counted[0]} items."
    mean = np.average(counted, weights=weights)
    mean = f"Rankings rank {mean:.1f} items on average, from {counted.min()} to {counted.max()}"
    lengths = np.unique(counted)
    if len(lengths) > MOST_LENGTHS:
        return mean + "."
    shares = [f"{m}: {percent(weights[counted == m].sum() / weights.sum())}" for m in lengths]
    return f"{mean} ({', '.join(shares)})."


def _only_first(order):
    return [f"(the first {MOST_ITEMS} of {len(order)} items)"] if len(order) > MOST_ITEMS else []


def _share(fraction):
    return "-" if np.isnan(fraction) else f"{100 * fraction:.0f}"


def _cycles(majority, names, order):
    """Sets of items that beat one another in circles by majority."""
    _, component = connected_components(majority, directed=True, connection="strong")
    cyclic = [[names[item] for item in order if component[item] == number] for number in np.unique(component)]
    cyclic = [members for members in cyclic if len(members) > 1]
    if not cyclic:
        return "The majorities make no cycles."
    shown = [_listed(members) for members in cyclic]
    return f"Cycles of majorities among {'; '.join(shown)}."


def _listed(names, most=8):
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _preference(names):
    """Item names in order, as many as fit beside a cluster's number and share."""
    text, room = "", WIDTH - 20
    for index, name in enumerate(names):
        addition = (" > " if text else "") + shorten(name, 24)
        if len(text) + len(addition) > room - (0 if index == len(names) - 1 else 6):
            return text + " > ..."
        text += addition
    return text
