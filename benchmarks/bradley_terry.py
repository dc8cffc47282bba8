"""Bradley-Terry scores: time and error at growing sizes, against a general optimizer and scikit-learn's regression.

    python benchmarks/bradley_terry.py [--items 100000 --comparisons 1000000]

The peers get the same comparisons and the same objective: scipy's L-BFGS-B on numpy's loss and gradient, and
scikit-learn's LogisticRegression (lbfgs, no intercept, C = 1/alpha) on the sparse matrix of +1 and -1 that the
comparisons are.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from skrank.linear_model import BradleyTerry

ALPHA = 0.1


def comparisons(n_items, n_comparisons, skewed, seed):
    """Pairs of an item and a uniform other; the first is uniform too, or in proportion to 1/rank of its popularity."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(n_items)
    popularity = 1 / np.arange(1, n_items + 1) if skewed else np.ones(n_items)
    first = rng.choice(n_items, n_comparisons, p=popularity / popularity.sum())
    second = (first + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < expit(scores[first] - scores[second])
    return np.column_stack([first, second]), won, scores - scores.mean()


def loss_and_gradient(scores, pairs, won):
    margin = scores[pairs[:, 0]] - scores[pairs[:, 1]]
    residual = expit(margin) - won
    gradient = np.bincount(pairs[:, 0], residual, len(scores)) - np.bincount(pairs[:, 1], residual, len(scores))
    loss = np.logaddexp(0, margin).sum() - margin[won].sum() + 0.5 * ALPHA * scores @ scores
    return loss, gradient + ALPHA * scores


def ours(pairs, won, n_items):
    return BradleyTerry(ALPHA, items=range(n_items)).fit(pairs, won).scores_


def general(pairs, won, n_items):
    options = {"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-3}
    return minimize(loss_and_gradient, np.zeros(n_items), (pairs, won), "L-BFGS-B", jac=True, options=options).x


def regression(pairs, won, n_items):
    rows = np.repeat(np.arange(len(pairs)), 2)
    design = csr_array((np.tile([1.0, -1.0], len(pairs)), (rows, pairs.ravel())), shape=(len(pairs), n_items))
    model = LogisticRegression(C=1 / ALPHA, fit_intercept=False, tol=1e-8, max_iter=1000)
    return model.fit(design, won).coef_[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--comparisons", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for share, skewed in ((100, False), (10, False), (1, False), (10, True)):
        n_items, n_comparisons = arguments.items // share, arguments.comparisons // share
        pairs, won, truth = comparisons(n_items, n_comparisons, skewed, arguments.seed)
        print(f"\n{n_items} items, {n_comparisons} comparisons, {'skewed' if skewed else 'uniform'}")
        print(f"{'':28}{'seconds':>9}{'ratio':>8}{'loss':>16}{'rms error':>11}")
        reference = None
        for name, fit in {
            "skrank BradleyTerry": ours,
            "scipy L-BFGS-B": general,
            "scikit-learn, logistic": regression,
        }.items():
            start = time.perf_counter()
            scores = fit(pairs, won, n_items)
            seconds = time.perf_counter() - start
            reference = reference or seconds
            loss = loss_and_gradient(scores, pairs, won)[0]
            error = np.sqrt(np.mean((scores - scores.mean() - truth) ** 2))
            print(f"{name:28}{seconds:9.3f}{seconds / reference:8.1f}{loss:16.4f}{error:11.4f}", flush=True)
        model = BradleyTerry(ALPHA).fit(pairs, won)
        start = time.perf_counter()
        errors = model.standard_errors()
        seconds = time.perf_counter() - start
        items = model.items_
        covered = np.mean(np.abs(model.scores_ - truth[items] + truth[items].mean()) < 1.96 * errors)
        print(f"standard errors: {seconds:.2f} s; intervals of 95 % cover {100 * covered:.1f} % of the true scores")


if __name__ == "__main__":
    main()
