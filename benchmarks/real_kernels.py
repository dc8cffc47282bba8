"""Kernel classifiers on real rankings with ties and missing items: cross-validated accuracy.

    python benchmarks/real_kernels.py --data PATH

PATH contains ``music/music.csv`` (ratings of 18 kinds of music, 1 like - 5 dislike, with missing items; label: age
above 45) and ``issp/issp2000.csv`` (6 ratings of dangers to the environment, ties; label: country). Both data sets are
included in the R package prefmod. Accuracy is the mean over repeated 10-fold stratified cross-validation, C chosen
inside each fold, and where it says so the scale as well. The peer, an RBF kernel on pair signs, also sees how much of
the rating scale a person uses: which pairs are tied. So does the kernel of the Kemeny distance.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from skrank._rankings import check_rankings, pair_signs
from skrank.kernels import PartialRankingKernel

MUSIC = "bigb blug coun blue musi clas folk gosp jazz lati mood newa oper rap regg conr oldi hvym".split()
ISSP = "CAR IND FARM WATER TEMP GENE".split()
PENALTIES = [0.3, 1.0, 3.0, 10.0]
SCALES = [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32]


def read_columns(path, names):
    """Columns of a CSV file as floats, gaps as NaN."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    missing = {"", "NA", "nan", "NaN"}
    return np.array([[np.nan if row[name] in missing else float(row[name]) for name in names] for row in rows])


def music(data):
    """Ratings, and whether the person is above 45."""
    X, age = np.hsplit(read_columns(data / "music" / "music.csv", [*MUSIC, "age"]), [len(MUSIC)])
    known = ~np.isnan(age[:, 0])
    return X[known], age[known, 0] > 45


def issp(data):
    """Ratings, and the country."""
    X, country = np.hsplit(read_columns(data / "issp" / "issp2000.csv", [*ISSP, "CNTRY"]), [len(ISSP)])
    return X, country[:, 0].astype(int)


def signs_of_pairs(X):
    """Which item of each pair each ranking prefers: 1, -1, or 0 where it does not say."""
    return pair_signs(check_rankings(X))


def accuracy(X, y, model, repeats, seed=0):
    """Cross-validated accuracy, its standard error over folds, and seconds."""
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=repeats, random_state=seed)
    start = time.perf_counter()
    scores = cross_val_score(model, X, y, cv=folds)
    return scores.mean(), scores.std() / np.sqrt(10), time.perf_counter() - start


def print_row(name, mean, error, seconds):
    print(f"    {name:<38}accuracy {mean:.3f} (standard error {error:.3f}){seconds:>8.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    kernels = {
        "Kendall": PartialRankingKernel("kendall"),
        "Kendall, normalized": PartialRankingKernel("kendall", normalize=True),
        "Mallows": PartialRankingKernel("mallows", n_draws=10, random_state=0),
        "Mallows, normalized": PartialRankingKernel("mallows", n_draws=10, normalize=True, random_state=0),
        "Spearman": PartialRankingKernel("spearman"),
        "Kemeny": PartialRankingKernel("semimetric_kemeny"),
    }
    peer = make_pipeline(FunctionTransformer(signs_of_pairs), GridSearchCV(SVC(), {"C": PENALTIES}, cv=3))
    kemeny = Pipeline([("kernel", kernels["Kemeny"]), ("svc", SVC(kernel="precomputed"))])
    scaled = GridSearchCV(kemeny, {"kernel__nu": SCALES, "svc__C": PENALTIES}, cv=3)
    for name, load in (("music: age > 45", music), ("ISSP 2000: country", issp)):
        X, y = load(arguments.data)
        majority = np.unique(y, return_counts=True)[1].max() / len(y)
        print(f"{name}: {len(X)} rankings of {X.shape[1]} items, majority {majority:.3f}")
        repeated = arguments.repeats, arguments.first_seed
        for kernel_name, kernel in kernels.items():
            search = GridSearchCV(SVC(kernel="precomputed"), {"C": PENALTIES}, cv=3)
            result = accuracy(X, y, make_pipeline(kernel, search), *repeated)
            print_row(f"{kernel_name} ({kernel.fit(X).method_})", *result)
        print_row("Kemeny, nu chosen as C is", *accuracy(X, y, scaled, *repeated))
        print_row("RBF on pair signs, 0 where unknown", *accuracy(X, y, peer, *repeated))
