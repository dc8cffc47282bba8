"""Coverage of the standard errors and rank ranges of Bradley-Terry scores, by simulation.

    python benchmarks/comparison_errors.py [--replicates 300 --cases ties judges --seed 0]

Truth is what the model's scores converge to: where its assumptions do not hold (ties as half a win, judges with tastes
of their own), the scores of a fit to the exact probabilities of all pairs. Coverage of scores is the mean over items;
that of ranks counts all items at once (simultaneous) or each (marginal). Where scores differ, ranges are wider than
they would have to be; where all are equal, every rank is the truth, and ranges cover at their level. Binomial error of
300 replicates: .013 for simultaneous ranges, less for means over items.
"""

import argparse
import warnings
from itertools import combinations

import numpy as np
from scipy.special import expit

from skrank.linear_model import BradleyTerry
from skrank.linear_model._pair_likelihood import davidson_proba

N_ITEMS = 12
GROUPS = ["plain", "ties", "judges", "equal"]
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


def pairs_of(rng, n):
    first = rng.integers(0, N_ITEMS, n)
    return np.column_stack([first, (first + rng.integers(1, N_ITEMS, n)) % N_ITEMS])


def scores_of(rng):
    scores = 0.8 * rng.standard_normal(N_ITEMS)
    return scores - scores.mean()


def limit(proba, ties):
    """Scores of a fit to exact probabilities: proba(margin) is (loss, tie, win), or the share of wins."""

    def of(scores):
        pairs = np.array(list(combinations(range(N_ITEMS), 2)))
        outcomes = proba(scores[pairs[:, 0]] - scores[pairs[:, 1]])
        if outcomes.ndim == 1:
            outcomes = np.column_stack([1 - outcomes, np.zeros(len(pairs)), outcomes])
        rows, y = np.tile(pairs, (3, 1)), np.repeat(["loss", "tie", "win"], len(pairs))
        model = BradleyTerry(alpha=0, ties=ties, tol=1e-8, items=range(N_ITEMS))
        return model.fit(rows, y, sample_weight=1e3 * outcomes.T.ravel()).scores_

    return of


def tastes_proba(taste, nu=None):
    """Probabilities of an outcome where each judge adds normal tastes, of this standard deviation, to the scores."""
    weights = NODE_WEIGHTS / NODE_WEIGHTS.sum()

    def proba(margin):
        margins = margin[:, None] + np.sqrt(2) * taste * NODES
        if nu is None:
            return expit(margins) @ weights
        return np.einsum("enk,n->ek", davidson_proba(margins.ravel(), np.log(nu)).reshape(*margins.shape, 3), weights)

    return proba


def draw(rng, margin, nu):
    if nu is None:
        return (rng.random(len(margin)) < expit(margin)).astype(float)
    proba = davidson_proba(margin, np.log(nu))
    return (rng.random(len(margin))[:, None] > np.cumsum(proba, axis=1)[:, :2]).sum(axis=1) / 2


def independent(nu=None, n=2000, weighted=False):
    def case(rng, scores):
        pairs = pairs_of(rng, n)
        y = draw(rng, scores[pairs[:, 0]] - scores[pairs[:, 1]], nu)
        if not weighted:
            return pairs, y, None, None
        rows, weight = np.unique(np.column_stack([pairs, y]), axis=0, return_counts=True)
        return rows[:, :2].astype(int), rows[:, 2], weight, None

    return case


def judged(n_judges, taste, n=3000, nu=None, n_prompts=None):
    """Judges of lognormal sizes with tastes of their own; with prompts, each of them has some too."""

    def case(rng, scores):
        share = rng.lognormal(0, 1, n_judges)
        judge = rng.choice(n_judges, n, p=share / share.sum())
        own = scores + taste * rng.standard_normal((n_judges, N_ITEMS))
        groups = judge
        if n_prompts:
            prompt = rng.integers(0, n_prompts, n)
            of_prompt = taste * rng.standard_normal((n_prompts, N_ITEMS))
            groups = np.column_stack([judge, prompt])
        pairs = pairs_of(rng, n)
        rows = np.arange(n)
        margin = own[judge][rows, pairs[:, 0]] - own[judge][rows, pairs[:, 1]]
        if n_prompts:
            margin += of_prompt[prompt][rows, pairs[:, 0]] - of_prompt[prompt][rows, pairs[:, 1]]
        return pairs, draw(rng, margin, nu), None, groups

    return case


def cases():
    """Group, name, data, ties, truth."""
    yield "plain", "no ties", independent(), "half", None
    yield "plain", "no ties, 200 comparisons", independent(n=200), "half", None
    yield "plain", "counts as weights", independent(weighted=True), "half", None
    for percent, nu in ((10, 0.25), (25, 0.75), (40, 1.55)):
        proba = tastes_proba(0, nu)
        yield "ties", f"about {percent} % ties, davidson", independent(nu), "davidson", None
        yield "ties", f"about {percent} % ties, half", independent(nu), "half", limit(proba, "half")
    few = independent(0.75, n=200)
    yield "ties", "about 25 % ties, 200 comparisons, half", few, "half", limit(tastes_proba(0, 0.75), "half")
    yield (
        "ties",
        "about 25 % ties, counts, half",
        independent(0.75, weighted=True),
        "half",
        limit(tastes_proba(0, 0.75), "half"),
    )
    yield "equal", "all items equal", independent(), "half", "equal"
    yield "equal", "all items equal, 100 judges", judged(100, 0.6), "half", "equal"
    for n_judges in (100, 20):
        yield "judges", f"{n_judges} judges", judged(n_judges, 0.6), "half", limit(tastes_proba(0.6), "half")
    proba = tastes_proba(0.6, 0.75)
    yield "judges", "100 judges, ties half", judged(100, 0.6, nu=0.75), "half", limit(proba, "half")
    yield "judges", "100 judges, ties davidson", judged(100, 0.6, nu=0.75), "davidson", limit(proba, "davidson")
    proba = tastes_proba(0.6 * np.sqrt(2))
    yield "judges", "100 judges x 150 prompts", judged(100, 0.6, n_prompts=150), "half", limit(proba, "half")


def covered(case, ties, truth, seed, use_groups=True):
    """Shares of scores and of marginal rank ranges that contain the truth, and whether simultaneous ranges do."""
    rng = np.random.default_rng(seed)
    scores = np.zeros(N_ITEMS) if truth == "equal" else scores_of(rng)
    pairs, y, weight, groups = case(rng, scores)
    true = truth(scores) if callable(truth) else scores
    model = BradleyTerry(ties=ties, items=range(N_ITEMS))
    model.fit(pairs, y, sample_weight=weight, groups=groups if use_groups else None)
    low, high = model.intervals().T
    best, worst = (true > true[:, None]).sum(axis=1) + 1, (true >= true[:, None]).sum(axis=1)
    marginal, all_ = (
        (ranges[:, 0] <= best) & (worst <= ranges[:, 1])
        for ranges in (model.rank_ranges(simultaneous=simultaneous) for simultaneous in (False, True))
    )
    return np.mean((low <= true) & (true <= high)), marginal.mean(), all_.all(), np.mean(high - low)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=300)
    parser.add_argument("--cases", nargs="*", default=GROUPS, choices=GROUPS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'coverage at .95':42}{'scores':>8}{'no groups':>11}{'ranks':>8}{'all ranks':>11}")
    for group, name, case, ties, truth in cases():
        if group not in arguments.cases:
            continue
        seeds = [(arguments.seed, replicate) for replicate in range(arguments.replicates)]
        results = np.array([covered(case, ties, truth, seed) for seed in seeds])
        without = ""
        if group == "judges":
            without = f"{np.mean([covered(case, ties, truth, seed, False)[0] for seed in seeds]):.3f}"
        means = results.mean(axis=0)
        print(f"{name:42}{means[0]:8.3f}{without:>11}{means[1]:8.3f}{means[2]:11.3f}", flush=True)


if __name__ == "__main__":
    main()
