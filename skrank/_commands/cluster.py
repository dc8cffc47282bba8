"""`skrank cluster`: groups of rankings that are alike, their consensus, and how sure they are."""

from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import cut_tree, leaves_list
from sklearn.metrics import silhouette_samples

from skrank._commands import _input
from skrank._commands._arguments import positive, whole
from skrank._commands._files import write_groups
from skrank._commands._output import Result, add_groups_argument, check_writable
from skrank._commands._text import hanging, heading, number, one_line, paragraph, percent, preference, table
from skrank._rankings import aggregate, check_rankings, n_buckets, to_rank_matrix
from skrank.inspection._base import ranking_texts, representative_rows
from skrank.inspection._ranking_kernel import LINKAGES, RankingKernelDisplay, kernel_tree
from skrank.kernels import PartialRankingKernel
from skrank.kernels._gram import kernel_to_distance
from skrank.kernels._names import KERNEL_NAMES
from skrank.stats import kemeny_consensus, pairwise_majority

HELP = "Cluster rankings by a kernel: sizes and consensus of the clusters, and how sure they are."
EPILOG = """\
examples:
  {prog}                                     the voters of the APA, in stable clusters if there are any
  {prog} votes.soi --unranked missing -k 3   three clusters
  {prog} votes.soi --unranked missing -k 3 --plot clusters.png
  {prog} ratings.csv --scores --kernel mallows --linkage average

Rankings are points in the space of a kernel. The tree of clusters joins the closest first; by default as
Ward does, so that the variance within clusters grows least. Each cluster is reclustered in random halves
of the rankings: stability is the share (Jaccard) of it that stays together, 1 if it always does.

--json prints an object with: title, columns, unranked, n_rankings, n_items, items, kernel, linkage, n_clustered (the
  rankings that were clustered), sampled (whether they are a random sample), left_out (share of the rankings
  that order no two items), silhouette (-1 to 1), clusters: by decreasing size, each with n_rankings,
    share, standard_error (of the share, if sampled), silhouette, stability (0 to 1), consensus (items, best
    first), order_margin (for each two neighbours of the consensus, the share of the cluster that orders
    them so less the share that orders them the other way), order_certainty (that margin in standard errors),
  tried: of each number of clusters that was tried n_clusters, silhouette, least_stability (of its clusters), notes."""

AUTO = tuple(range(2, 9))  # numbers of clusters that are tried
N_HALVES = 30
STABLE, UNSTABLE = 0.75, 0.6  # Hennig's limits
SURE = 2.0  # standard errors
# Kaufman and Rousseeuw's words for silhouettes.
SILHOUETTES = ((0.7, "strong"), (0.5, "reasonable"), (0.25, "weak"), (-1.0, "hardly any"))
PLOTTED = 300


class TooFewError(ValueError):
    """There are too few rankings to cluster."""


class Clustering(NamedTuple):
    """A cut of the tree: the cluster of each ranking (0 is the largest), its silhouette, each cluster's stability."""

    labels: np.ndarray
    silhouettes: np.ndarray
    stability: np.ndarray

    @property
    def n_clusters(self):
        return len(self.stability)


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    _input.add_file_argument(parser)
    parser.add_argument(
        "-k",
        "--clusters",
        type=_n_clusters,
        default="auto",
        metavar="K",
        help=f"number of clusters, or auto (the default): of those from {AUTO[0]} to {AUTO[-1]} that give stable "
        "clusters the one with the best silhouette, or, if none does, the most stable one",
    )
    parser.add_argument(
        "--kernel",
        choices=KERNEL_NAMES,
        default="kendall",
        metavar="NAME",
        help=f"the kernel, one of {', '.join(KERNEL_NAMES)} (default: kendall)",
    )
    parser.add_argument("--linkage", choices=LINKAGES, default="ward", help="how clusters are joined (default: ward)")
    parser.add_argument(
        "--sample",
        type=positive,
        default=1000,
        metavar="N",
        help="cluster a random sample of this size if there are more rankings (default: 1000)",
    )
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="for sample and halves (default: 0)")
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
    return Result(figures, write, lambda: _draw(drawn, rankings.item_names, figures))


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
    rows, sampled = representative_rows(weights, sample, seed)
    X = to_rank_matrix(ranks[rows])
    n_distinct = len(np.unique(rows))
    tried = [k for k in AUTO if k < n_distinct] if n_clusters == "auto" else [n_clusters]
    if not tried or max(tried) > n_distinct:
        wanted = f"{AUTO[0]} clusters and one to spare" if n_clusters == "auto" else f"{n_clusters} clusters"
        raise TooFewError(f"{n_distinct} distinct rankings order two items or more, too few for {wanted}.")
    gram = PartialRankingKernel(kernel, normalize=True, random_state=seed).fit_transform(X)
    tree = kernel_tree(gram, linkage, ordered=False)
    cuts = _cuts(gram, tree, tried, linkage, seed)
    clustering = _best(cuts)
    clusters = []
    for cluster, size in enumerate(np.bincount(clustering.labels)):
        members = clustering.labels == cluster
        share = size / len(rows)
        clusters.append(
            {
                "n_rankings": int(size),
                "share": share,
                "standard_error": np.sqrt(share * (1 - share) / len(rows)) if sampled else None,
                "silhouette": clustering.silhouettes[members].mean(),
                "stability": clustering.stability[cluster],
                **_consensus(X[members], rankings.item_names),
            }
        )
    figures = {
        "kernel": kernel,
        "linkage": linkage,
        "n_clustered": len(rows),
        "sampled": sampled,
        "left_out": 1 - weights.sum() / all_weights.sum(),
        "silhouette": clustering.silhouettes.mean(),
        "clusters": clusters,
        "tried": [
            {
                "n_clusters": cut.n_clusters,
                "silhouette": cut.silhouettes.mean(),
                "least_stability": cut.stability.min(),
            }
            for cut in cuts
        ],
    }
    return figures, (X, gram, clustering.labels)


def _cuts(gram, tree, tried, linkage, seed):
    """The cuts of a tree into several numbers of clusters."""
    distances = gram.copy()
    kernel_to_distance(distances, np.diag(gram), np.diag(gram))
    np.fill_diagonal(distances, 0)
    labels = _labels(tree, tried)
    silhouettes = [_silhouettes(distances, one) for one in labels]
    stability = _stability(gram, labels, linkage, seed)
    return [Clustering(*cut) for cut in zip(labels, silhouettes, stability, strict=True)]


def _best(cuts):
    """Of the cuts whose clusters are all stable that of the best silhouette; otherwise that of the most stable ones."""
    stable = [cut for cut in cuts if cut.stability.min() >= STABLE]
    if stable:
        return max(stable, key=lambda cut: cut.silhouettes.mean())
    return max(cuts, key=lambda cut: cut.stability.min())


def _silhouettes(distances, labels):
    if not 1 < labels.max() + 1 < len(labels):  # one cluster, or each ranking its own
        return np.zeros(len(labels))
    return silhouette_samples(distances, labels, metric="precomputed")


def _labels(tree, numbers):
    """For each number of clusters the cluster of each leaf, numbered by decreasing size."""
    cuts = cut_tree(tree, numbers).T
    return [np.argsort(np.argsort(-np.bincount(labels), kind="stable"))[labels] for labels in cuts]


def _stability(gram, cuts, linkage, seed):
    """Mean share of each cluster of each cut that is found again in random halves of the rankings.

    C. Hennig, "Cluster-wise assessment of cluster stability", Computational Statistics & Data Analysis 52 (2007): the
    largest Jaccard coefficient of the cluster, as far as it is in the half, with the half's own clusters.
    """
    rng = np.random.default_rng(seed)
    sizes = [int(labels.max()) + 1 for labels in cuts]
    sums, times = ([np.zeros(size) for size in sizes] for _ in range(2))
    for _ in range(N_HALVES):
        half = np.sort(rng.permutation(len(gram))[: -(-len(gram) // 2)])
        if len(half) < max(*sizes, 2):
            continue
        tree = kernel_tree(gram[np.ix_(half, half)], linkage, ordered=False)
        for labels, found, total, seen in zip(cuts, _labels(tree, sizes), sums, times, strict=True):
            both = np.zeros((len(total), len(total)))
            np.add.at(both, (labels[half], found), 1)
            own = both.sum(axis=1)
            either = own[:, None] + both.sum(axis=0) - both
            total += (both / np.maximum(either, 1)).max(axis=1)
            seen += own > 0
    return [total / np.maximum(seen, 1) for total, seen in zip(sums, times, strict=True)]


def _consensus(X, names):
    """The consensus of rankings, and by how much each two neighbours of it are ordered so."""
    order = np.argsort(kemeny_consensus(X).ranks, kind="stable")
    wins = pairwise_majority(X).wins[np.ix_(order, order)]
    ahead, behind = np.diagonal(wins, 1), np.diagonal(wins, -1)
    compared = np.maximum(ahead + behind, 1)
    return {
        "consensus": [names[item] for item in order],
        "order_margin": (ahead - behind) / compared,
        "order_certainty": (ahead - behind) / np.sqrt(compared),
    }


# ---------------------------------------------------------------- text
def write(figures):
    """The figures as text."""
    lines = [
        heading(figures["title"], "="),
        f"{number(figures['n_rankings'])} rankings of {figures['n_items']} items.",
    ]
    if figures["unranked"]:
        lines.append(f"What a ranking leaves out is taken as {figures['unranked']}.")
    return "\n".join([*lines, "", write_clusters(figures, figures["n_rankings"])])


def write_clusters(figures, n_rankings):
    """The tables of the clusters, and what their columns mean."""
    word = next(word for least, word in SILHOUETTES if figures["silhouette"] >= least)
    remarks = (
        f" A random sample of {figures['n_clustered']} of the {number(n_rankings)} rankings was clustered."
        if figures["sampled"]
        else ""
    )
    if figures["left_out"] > 0:
        remarks += f" Left out: {percent(figures['left_out'])} of the rankings, which order no two items."
    if len(figures["tried"]) > 1 and min(one["stability"] for one in figures["clusters"]) < STABLE:
        first, last = figures["tried"][0]["n_clusters"], figures["tried"][-1]["n_clusters"]
        remarks += (
            f" No number of clusters from {first} to {last} is stable: take these for a rough division, not for groups."
        )
    rows = [
        [
            str(place),
            percent(one["share"]) + (f" +- {100 * one['standard_error']:.1f}" if figures["sampled"] else ""),
            str(one["n_rankings"]),
            f"{one['silhouette']:.2f}",
            f"{one['stability']:.2f}",
            _verdict(one["stability"]),
        ]
        for place, one in enumerate(figures["clusters"], 1)
    ]
    return "\n".join(
        [
            paragraph(
                f"{len(figures['clusters'])} clusters, by the {figures['kernel']} kernel and {figures['linkage']} "
                f"linkage. The silhouette is {figures['silhouette']:.2f}: {word} structure.{remarks}"
            ),
            "",
            table(["", "share", "rankings", "silhouette", "stability", ""], rows, left=[5]),
            "",
            *(
                hanging(f"{place:>3}  ", preference(one["consensus"], np.asarray(one["order_certainty"]) >= SURE))
                for place, one in enumerate(figures["clusters"], 1)
            ),
            "",
            paragraph(
                one_line(
                    f"""Silhouette: 1 if a cluster is compact and far from the others, 0 if it lies amid them.
                    Stability: the share of a cluster that stays together when random halves of the rankings are
                    clustered; from {STABLE:g} it is stable, below {UNSTABLE:g} do not rely on it. Neighbours in a
                    consensus are joined by > if the cluster's majority for this order is {SURE:g} standard errors or
                    more, otherwise by ~."""
                )
            ),
        ]
    )


def _verdict(stability):
    return "stable" if stability >= STABLE else "do not rely on it" if stability < UNSTABLE else "doubtful"


# ---------------------------------------------------------------- plot
def _draw(drawn, names, figures):
    """The kernel matrix in the order of the tree, with the clusters; of many rankings a part, with its own tree."""
    X, gram, labels = drawn
    shown = np.sort(np.random.default_rng(0).permutation(len(gram))[:PLOTTED])
    gram = gram[np.ix_(shown, shown)]
    tree = kernel_tree(gram, figures["linkage"])
    order = leaves_list(tree)
    shown = shown[order]
    width = len(str(len(figures["clusters"])))  # so that the names sort like the numbers
    sizes = [f"{place:>{width}}: {percent(one['share'], 0)}" for place, one in enumerate(figures["clusters"], 1)]
    total = number(figures["n_rankings"])
    display = RankingKernelDisplay(
        gram[np.ix_(order, order)],
        tree=tree,
        rows=shown,
        names=ranking_texts(check_rankings(X)[shown], names),
        labels=np.array(sizes)[labels[shown]],
        note="" if len(shown) == figures["n_rankings"] else f"{len(shown)} of {total} rankings, drawn at random",
    )
    return display.plot().figure_


def _n_clusters(text):
    return text if text == "auto" else positive(text)
