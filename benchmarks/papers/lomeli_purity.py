"""Table 1 of "Antithetic and Monte Carlo kernel estimators for partial rankings" (Lomeli et al. 2019): tree purity.

    python benchmarks/papers/lomeli_purity.py --data PATH [--repeats 20]

PATH holds ``sushi/sushi3a.5000.10.order`` and ``sushi/sushi3.udata`` (5000 people's rankings of 10 sushi). 100 people
are drawn; average linkage clusters their full rankings, or their top 4 with 20 samples of each, by Equation 2 of the
kernel; the label is the region they live in. Kernels: exp(-nu d) with nu the inverse of the median distance, for
Kendall's distance ("Mallows" in the paper), Hamming's, Cayley's (not positive definite) and Spearman's, and Kendall's
kernel.

The paper draws two leaves of one class and averages over the classes ("by class"); the other columns draw any two
leaves of the same label.

The paper's figures do not follow from these data. Regions are unbalanced (one holds nearly half of the people), so
random trees have a purity of their own: "chance" is its mean and standard deviation over random permutations of the
leaves of the same tree, and "z" how many of those the purity lies above. What else the paper's figure might be is tried
at the end: a cut at 10 clusters (the share of people with their cluster's most common label, or the mean of that over
clusters), other labels, and the square matrix given to scipy's linkage, which takes it for observations. Figures as
high as the paper's come of two labels, East and West, and a cut, averaged over clusters: there chance gives them too.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import ClusterWarning, fcluster, linkage
from scipy.spatial.distance import squareform

from skrank.datasets import load_sushi_order
from skrank.kernels import PartialRankingKernel, SemimetricKernel
from skrank.metrics import dendrogram_purity, pairwise_ranking_distances

N_USERS, TOP, N_DRAWS, N_CLUSTERS = 100, 4, 20, 10
# Columns of Table 1: full rankings, Monte Carlo and antithetic on the top 4, with the standard deviations it gives.
PAPER = {
    "Kendall": ("0.83", "0.78 (.052)", "-"),
    "semiexp. Kendall (Mallows)": ("0.75", "0.79 (.058)", "0.77 (.050)"),
    "semiexp. Hamming": ("0.81", "0.79 (.063)", "-"),
    "semiexp. Cayley": ("0.72", "0.82 (.040)", "-"),
    "semiexp. Spearman": ("0.81", "0.78 (.062)", "-"),
}
METRICS = {
    "semiexp. Kendall (Mallows)": "kendall",
    "semiexp. Hamming": "hamming",
    "semiexp. Cayley": "cayley",
    "semiexp. Spearman": "spearman",
}
# Columns of sushi3.udata: prefecture, region and East/West lived in until the age of 15, and now.
LABELS = {"region now": 8, "region until 15": 5, "prefecture now": 7, "East/West now": 9, "sex": 1, "age group": 2}


def kernel_of(name, full):
    if name == "Kendall":
        return "kendall"
    metric = METRICS[name]
    distances = pairwise_ranking_distances(full, metric=metric)
    nu = 1 / np.median(distances[np.triu_indices(len(full), 1)])
    return SemimetricKernel(metric=metric, nu=nu, allow_indefinite=metric == "cayley")


def tree_of(X, kernel, method, seed, condensed=True):
    transformer = PartialRankingKernel(kernel, method=method, n_draws=N_DRAWS, output="distance", random_state=seed)
    distances = transformer.fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClusterWarning)
        return linkage(squareform(distances, checks=False) if condensed else distances, "average")


def chance(tree, y, rng, average="pairs", n_draws=200):
    """Mean and standard deviation of the purity of the same tree with its leaves' labels permuted."""
    purities = [dendrogram_purity(tree, rng.permutation(y), average=average) for _ in range(n_draws)]
    return np.mean(purities), np.std(purities)


def cut_purities(tree, y):
    """The tree cut at 10: share of leaves with their cluster's most common label, and its mean over clusters."""
    clusters = fcluster(tree, N_CLUSTERS, "maxclust")
    members = [y[clusters == c] for c in np.unique(clusters)]
    most_common = np.array([np.unique(labels, return_counts=True)[1].max() for labels in members])
    return most_common.sum() / len(y), np.mean(most_common / [len(labels) for labels in members])


def shown(values):
    return f"{np.mean(values):.3f} ({np.std(values):.3f})"


def print_table(X, y, n_repeats):
    print(f"Dendrogram purity, {N_USERS} people, regions; mean (standard deviation) over {n_repeats} draws of people\n")
    print(
        f"{'':<30}{'rankings':<14}{'paper':<14}{'here':<16}{'chance':<16}{'z':>6}  {'by class':<16}{'chance':<16}"
        "cut at 10, by people"
    )
    for name, figures in PAPER.items():
        variants = [("full", "exact", 10), ("Monte Carlo", "monte_carlo", TOP)]
        if name in ("Kendall", "semiexp. Kendall (Mallows)"):
            variants += [("antithetic", "antithetic", TOP), ("exact", "exact", TOP)]
        for label, method, top in variants:
            purities, chances, scores, by_class, class_chances, cuts = [], [], [], [], [], []
            for seed in range(n_repeats):
                rng = np.random.default_rng(seed)
                users = rng.choice(len(X), N_USERS, replace=False)
                tree = tree_of(X[users].clip(max=top), kernel_of(name, X[users]), method, seed)
                labels = y[users]
                mean, deviation = chance(tree, labels, rng)
                purities.append(dendrogram_purity(tree, labels))
                chances.append(mean)
                scores.append((purities[-1] - mean) / deviation)
                by_class.append(dendrogram_purity(tree, labels, average="classes"))
                class_chances.append(chance(tree, labels, rng, "classes")[0])
                cuts.append(cut_purities(tree, labels)[0])
            paper = dict(zip(("full", "Monte Carlo", "antithetic"), figures, strict=True)).get(label, "-")
            print(
                f"{name if label == 'full' else '':<30}{label:<14}{paper:<14}{shown(purities):<16}{shown(chances):<16}"
                f"{np.mean(scores):>6.2f}  {shown(by_class):<16}{shown(class_chances):<16}{shown(cuts)}"
            )


def print_variability(X, y, n_repeats):
    """What the antithetic samples change for one draw of people: the spread over seeds of the samples."""
    rng = np.random.default_rng(0)
    users = rng.choice(len(X), N_USERS, replace=False)
    top, labels = X[users].clip(max=TOP), y[users]
    kernel = kernel_of("semiexp. Kendall (Mallows)", X[users])
    print("\nMallows, one draw of people, over seeds of the samples")
    for method in ("monte_carlo", "antithetic"):
        purities = [dendrogram_purity(tree_of(top, kernel, method, seed), labels) for seed in range(n_repeats)]
        print(f"  {method:<14}{shown(purities)}")
    print(f"  {'exact':<14}{dendrogram_purity(tree_of(top, kernel, 'exact', 0), labels):.3f}")


def print_attempts(X, users_data, n_repeats):
    print("\nWhat else was tried: Mallows, full rankings, other labels and measures, each with its chance in brackets")
    print(f"{'':<36}{'purity':<16}{'cut, by people':<18}{'cut, by cluster':<18}most common label")
    attempts = [(name, column, True) for name, column in LABELS.items()]
    attempts.append(("region now, square as observations", LABELS["region now"], False))
    for name, column, condensed in attempts:
        measured, by_chance, largest = [], [], []
        for seed in range(n_repeats):
            rng = np.random.default_rng(seed)
            users = rng.choice(len(X), N_USERS, replace=False)
            labels = users_data[users, column]
            tree = tree_of(X[users], kernel_of("semiexp. Kendall (Mallows)", X[users]), "exact", seed, condensed)
            measured.append([dendrogram_purity(tree, labels), *cut_purities(tree, labels)])
            permuted = [rng.permutation(labels) for _ in range(50)]
            by_chance += [[dendrogram_purity(tree, y), *cut_purities(tree, y)] for y in permuted]
            largest.append(np.unique(labels, return_counts=True)[1].max() / N_USERS)
        cells = [f"{a:.3f} ({b:.3f})" for a, b in zip(np.mean(measured, 0), np.mean(by_chance, 0), strict=True)]
        print(f"{name:<36}{cells[0]:<16}{cells[1]:<18}{cells[2]:<18}{np.mean(largest):.3f}")


def main(path, n_repeats):
    users_data = np.loadtxt(path / "sushi" / "sushi3.udata", dtype=int)
    X = load_sushi_order(str(path / "sushi" / "sushi3a.5000.10.order")).data
    y = users_data[:, LABELS["region now"]]
    shares = np.unique(y, return_counts=True)[1] / len(y)
    print(f"Shares of the {len(shares)} regions: {np.sort(shares)[::-1].round(3).tolist()}\n")
    print_table(X, y, n_repeats)
    print_variability(X, y, n_repeats)
    print_attempts(X, users_data, n_repeats)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    main(arguments.data, arguments.repeats)
