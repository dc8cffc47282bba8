"""`skrank cluster`: groups of rankings that are alike, their consensus, and how sure they are."""

import numpy as np

from skrank._commands import _input
from skrank._commands._arguments import positive, whole
from skrank._commands._files import write_groups
from skrank._commands._output import Result, add_groups_argument, check_writable
from skrank._commands._text import hanging, heading, number, paragraph, percent, preference, table
from skrank._rankings import aggregate, check_rankings, n_buckets, to_rank_matrix
from skrank.cluster import cluster_stability
from skrank.cluster._stability import STABLE, UNSTABLE
from skrank.cluster._tree import LINKAGES
from skrank.inspection._base import class_colors, representative_rows, wrap_title
from skrank.inspection._columns import draw_columns, draw_shares, draw_unsure, layout
from skrank.inspection._ranking_map import RankingMapDisplay
from skrank.kernels import PartialRankingKernel
from skrank.kernels._names import KERNEL_NAMES
from skrank.stats import kemeny_consensus

HELP = "Cluster rankings by a kernel: sizes, consensus and stability of the clusters."
EPILOG = """\
examples:
  {prog}                                     the voters of the APA, in stable clusters if there are any
  {prog} votes.soi --unranked missing -k 3   three clusters
  {prog} votes.soi --unranked missing -k 3 --plot clusters.png
  {prog} ratings.csv --scores --kernel mallows --linkage average

Rankings are points in the feature space of a kernel. Hierarchical clustering merges the closest clusters
first; the default, Ward's method, minimizes the increase of the variance within clusters. Random halves of
the rankings are clustered again: the stability of a cluster is its Jaccard index with the most similar
cluster of a half, 1 if it is always found again.

--json prints an object with: title, columns, unranked, n_rankings, n_items, items, kernel, linkage, n_clustered (the
  rankings that were clustered), sampled (whether they are a random sample), left_out (share of the rankings
  that order no two items), silhouette (-1 to 1), clusters: by decreasing size, each with n_rankings,
    share, standard_error (of the share, over halves), silhouette, stability (0 to 1), n_found (halves in which
    it came back), consensus (items, best first), order_margin (for each two neighbors of the consensus, the share
    of the cluster that orders them so less the share that orders them the other way), order_agreement (share of
    the halves whose cluster orders them so),
  n_halves, pvalue (of the stability, if all rankings scatter about one consensus; null if not needed), stable,
  tried: of each number of clusters that was tried n_clusters, silhouette, least_stability (of its clusters), notes."""

AUTO = tuple(range(2, 9))  # numbers of clusters that are tried
N_HALVES, N_NULL = 30, 19
SURE = 0.95  # share of the halves
PLOTTED_ITEMS = 60
MAP = 5.5  # inches


class TooFewError(ValueError):
    """There are too few rankings to cluster."""


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    _input.add_file_argument(parser)
    parser.add_argument(
        "-k",
        "--clusters",
        type=_n_clusters,
        default="auto",
        metavar="K",
        help=f"number of clusters, or auto (the default): among those from {AUTO[0]} to {AUTO[-1]} with "
        "stable clusters, the one with the best silhouette or, if there is none, the most stable one",
    )
    parser.add_argument(
        "--kernel",
        choices=KERNEL_NAMES,
        default="kendall",
        metavar="NAME",
        help=f"the kernel, one of {', '.join(KERNEL_NAMES)} (default: kendall)",
    )
    parser.add_argument("--linkage", choices=LINKAGES, default="ward", help="how clusters are merged (default: ward)")
    parser.add_argument(
        "--sample",
        type=positive,
        default=1000,
        metavar="N",
        help="cluster a random sample of this size if there are more rankings (default: 1000)",
    )
    parser.add_argument(
        "--seed", type=whole, default=0, metavar="N", help="seed of the sample and the halves (default: 0)"
    )
    add_groups_argument(parser)
    _input.add_arguments(parser)


def run(arguments):
    """The clusters of the file's rankings."""
    if arguments.output:
        check_writable(arguments.output, "--output")
    rankings = _input.read_rankings(arguments.file, arguments)
    figures, drawn = describe(
        rankings,
        arguments.clusters,
        kernel=arguments.kernel,
        linkage=arguments.linkage,
        sample=arguments.sample,
        seed=arguments.seed,
    )
    figures = {
        "title": rankings.title,
        "columns": rankings.description,
        "unranked": rankings.unranked,
        "n_rankings": rankings.weights.sum(),
        "n_items": len(rankings.item_names),
        "items": rankings.item_names,
        **figures,
        "notes": [],
    }
    if arguments.output:
        kernel = PartialRankingKernel(arguments.kernel, normalize=True, random_state=arguments.seed)
        write_groups(arguments.output, rankings, {"group": cluster_of_rows(rankings.ranks, drawn, kernel)})
        figures["notes"].append(f"Each row's cluster is in {arguments.output}; it is empty where a row orders nothing.")
    return Result(figures, write, lambda: _draw(drawn, figures))


def cluster_of_rows(X, drawn, kernel):
    """The cluster of each ranking, from 1: its own if it was clustered, else the one it is nearest to on average."""
    clustered, gram, labels = drawn
    sizes = np.bincount(labels)
    member = np.eye(len(sizes))[labels] / sizes[labels, None]
    within = ((gram @ member) * member).sum(axis=0)
    nearest = (within - 2 * kernel.fit(clustered).transform(X) @ member).argmin(axis=1)
    own = {row.tobytes(): label for row, label in zip(check_rankings(clustered), labels, strict=True)}
    ranks = check_rankings(X)
    found = [own.get(row.tobytes(), label) + 1 for row, label in zip(ranks, nearest, strict=True)]
    return np.where(n_buckets(ranks) > 1, found, np.nan)


# ---------------------------------------------------------------- figures
def describe(rankings, n_clusters, *, kernel="kendall", linkage="ward", sample=1000, seed=0):
    """Figures of the clusters, and what is needed to draw them: rankings, kernel matrix and clusters."""
    ranks, all_weights, _ = aggregate(check_rankings(rankings.ranks), rankings.weights)
    weights = np.where(n_buckets(ranks) > 1, all_weights, 0.0)
    n_distinct = np.count_nonzero(weights)
    if n_distinct < 2:
        raise TooFewError(f"{n_distinct} distinct rankings order two items or more: there is nothing to cluster.")
    # Survey weights add up to the number of equal ones that they are worth: no more are drawn.
    rows, sampled = representative_rows(weights, min(sample, max(int(weights.sum()), 1)), seed)
    X = to_rank_matrix(ranks[rows])
    n_distinct = len(np.unique(rows))
    tried = [k for k in AUTO if k < n_distinct] if n_clusters == "auto" else [n_clusters]
    if not tried or max(tried) > n_distinct:
        wanted = f"{AUTO[0]} clusters and one to spare" if n_clusters == "auto" else f"{n_clusters} clusters"
        raise TooFewError(f"{n_distinct} distinct rankings order two items or more, too few for {wanted}.")
    found = cluster_stability(
        X,
        n_clusters if isinstance(n_clusters, int) else tried,
        kernel=PartialRankingKernel(kernel),
        linkage=linkage,
        n_halves=N_HALVES,
        n_null=N_NULL,
        random_state=seed,
    )
    clusters = []
    for cluster, share in enumerate(found.shares):
        members = found.labels == cluster
        clusters.append(
            {
                "n_rankings": int(members.sum()),
                "share": share,
                "standard_error": found.share_errors[cluster],
                "silhouette": found.silhouettes[members].mean(),
                "stability": found.stability[cluster],
                "n_found": found.n_found[cluster],
                **_consensus(X, members, found.half_labels == cluster, rankings.item_names),
            }
        )
    figures = {
        "kernel": kernel,
        "linkage": linkage,
        "n_clustered": len(rows),
        "sampled": sampled,
        "left_out": 1 - weights.sum() / all_weights.sum(),
        "silhouette": found.silhouettes.mean(),
        "n_halves": len(found.half_labels),
        "pvalue": found.pvalue,
        "stable": found.is_stable,
        "clusters": clusters,
        "tried": [one._asdict() for one in found.tried],
    }
    return figures, (X, found.kernel_matrix, found.labels)


def _consensus(X, members, halves, names):
    """The consensus of a cluster, by how much each two neighbors of it are ordered so, and in how many halves.

    A half whose cluster orders as many one way as the other counts by half, as does one that has none.
    """
    order = np.argsort(kemeny_consensus(X[members]).ranks, kind="stable")
    before = np.diff(check_rankings(X)[:, order].astype(int), axis=1)
    signs = np.where(np.isnan(X[:, order[1:]]) | np.isnan(X[:, order[:-1]]), 0, np.sign(before))
    compared = np.maximum(np.abs(signs[members]).sum(axis=0), 1)
    agrees = (np.sign(halves.astype(float) @ signs) + 1) / 2
    return {
        "consensus": [names[item] for item in order],
        "order_margin": signs[members].sum(axis=0) / compared,
        "order_agreement": agrees.mean(axis=0),
    }


# ---------------------------------------------------------------- text
def write(figures):
    """The figures as text."""
    lines = [
        heading(figures["title"], "="),
        f"{number(figures['n_rankings'])} rankings of {figures['n_items']} items.",
    ]
    if figures["unranked"]:
        lines.append(f"Unranked items are treated as {figures['unranked']}.")
    return "\n".join([*lines, "", write_clusters(figures, figures["n_rankings"])])


def write_clusters(figures, n_rankings):
    """The tables of the clusters, and what their columns mean."""
    remarks = ""
    if figures["sampled"]:
        n_clustered = figures["n_clustered"]
        remarks = (
            f" {n_clustered} rankings were drawn by their weights and clustered."  # as many as they are worth
            if n_clustered > n_rankings - 1
            else f" A random sample of {n_clustered} of the {number(n_rankings)} rankings was clustered."
        )
    if figures["left_out"] > 0:
        remarks += f" {percent(figures['left_out'])} of the rankings order no two items and were left out."
    remarks += " " + what_holds(figures)
    rows = [
        [
            str(place),
            share_text(one),
            str(one["n_rankings"]),
            f"{one['silhouette']:.2f}",
            "-" if np.isnan(one["stability"]) else f"{one['stability']:.2f}",
            f"{one['n_found']} of {figures['n_halves']}",
            verdict(one["stability"], figures["stable"]),
        ]
        for place, one in enumerate(figures["clusters"], 1)
    ]
    return "\n".join(
        [
            paragraph(
                f"{len(figures['clusters'])} clusters, found with the {figures['kernel']} kernel and "
                f"{figures['linkage']} linkage.{remarks}"
            ),
            "",
            table(["", "share", "rankings", "silhouette", "stability", "came back", ""], rows, left=[6]),
            "",
            *(
                hanging(f"{place:>3}  ", preference(one["consensus"], np.asarray(one["order_agreement"]) >= SURE))
                for place, one in enumerate(figures["clusters"], 1)
            ),
            "",
            paragraph(LEGEND),
        ]
    )


# What the columns of the table mean.
LEGEND = (
    "To measure stability, random halves of the rankings are clustered again. Share: with its standard error over the "
    "halves. Silhouette: 1 if a cluster is compact and far from the others, 0 if it overlaps them. Stability: the "
    "proportion of the cluster that stays together in the halves. Came back: the number of halves with a cluster that "
    f"is mostly the same. Neighbors in a consensus are joined by > if at least {percent(SURE, 0)} of the halves agree "
    "on their order, and by ~ otherwise."
)


def what_holds(figures):
    """Whether the clusters are groups, in a sentence."""
    least = min(one["stability"] for one in figures["clusters"])
    if np.isnan(least):
        return "There are too few rankings to measure whether random halves yield the same clusters."
    if figures["stable"]:
        return (
            "They are stable: random halves of the rankings yield the same clusters, which they would not if all "
            "rankings scattered around a single consensus."
        )
    first, last = figures["tried"][0]["n_clusters"], figures["tried"][-1]["n_clusters"]
    which = f"No number of clusters from {first} to {last} is stable" if last > first else "They are not stable"
    why = (
        "random halves yield different ones"
        if least < STABLE
        else f"rankings that scatter around a single consensus often look the same (p = {figures['pvalue']:.2f})"
    )
    return f"{which}: {why}. Treat these as a rough division, not as groups."


def share_text(one):
    """The share of a cluster with its standard error, if there is one."""
    error = one["standard_error"]
    return percent(one["share"]) + ("" if np.isnan(error) else f" +- {100 * error:.1f}")


def verdict(stability, all_stable):
    if np.isnan(stability):
        return "not measured"
    if stability >= STABLE:
        return "stable" if all_stable else ""
    return "do not rely on it" if stability < UNSTABLE else "doubtful"


# ---------------------------------------------------------------- plot
def _draw(drawn, figures):
    """A map of the rankings that were clustered, and the consensus of each cluster beside it."""
    import matplotlib.pyplot as plt

    X, gram, labels = drawn
    clusters = figures["clusters"]
    n_rows = min(figures["n_items"], PLOTTED_ITEMS)
    names, (width, height) = layout(figures["items"], len(clusters), n_rows)
    size = MAP + width, max(height + 0.3, MAP)
    figure, (left, right) = plt.subplots(1, 2, figsize=size, width_ratios=[MAP, width], layout="constrained")
    digits = len(str(len(clusters)))  # so that the names sort like the numbers
    titles = np.array([f"cluster {place:>{digits}}" for place in range(1, len(clusters) + 1)], dtype=object)
    note = f"{len(X)} of {number(figures['n_rankings'])} rankings" if len(X) < figures["n_rankings"] else ""
    RankingMapDisplay._computed(X, gram, titles[labels], note).plot(left)
    left.set_box_aspect(1)
    left.set_anchor("N")
    index = {name: item for item, name in enumerate(figures["items"])}
    places = np.array([np.argsort([index[name] for name in one["consensus"]]) for one in clusters])
    colors = plt.get_cmap("viridis")(places[0] / max(len(places[0]) - 1, 1) * 0.95)
    draw_columns(right, places, names, colors, n_rows)
    heads = [f"{title}\n{share_text(one)}" for title, one in zip(titles, clusters, strict=True)]
    shares = np.array([one["share"] for one in clusters])
    errors = np.nan_to_num([one["standard_error"] for one in clusters])
    intervals = np.clip([shares - errors, shares + errors], 0, 1).T
    draw_shares(right, shares, heads, intervals, colors=class_colors(len(clusters)))
    unsure = draw_unsure(right, np.array([one["order_agreement"] for one in clusters])[:, : n_rows - 1] < SURE)
    remarks = ["whiskers: +- one standard error of the shares"]
    remarks += ["bar at the left: order not sure"] if unsure else []
    remarks += [f"the first {n_rows} of {figures['n_items']} places"] if n_rows < figures["n_items"] else []
    right.set_xlabel("\n".join(remarks), fontsize="small")
    stable = "stable" if figures["stable"] else "not stable"
    title = f"{figures['title']}: {len(clusters)} clusters ({stable}), {number(figures['n_rankings'])} rankings"
    figure.suptitle(wrap_title(title, figure))
    return figure


def _n_clusters(text):
    return text if text == "auto" else positive(text)
