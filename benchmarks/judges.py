"""Which description of judges predicts held-out votes best: simulated judges, judges permuted, or a table of votes.

    python benchmarks/judges.py [--datasets 10 --seed 0]
    python benchmarks/judges.py --votes votes.csv      # columns as `python -m skrank compare` finds them

Simulated judges have tastes of their own, slopes, neither, or two groups; permuted judges are those of two groups with
the judge's column shuffled. The right description should win, and permuted judges should make one group and no gain.
"""

import argparse
import time

import numpy as np
from scipy.special import expit

from skrank._commands._comparisons_input import add_arguments, read_comparisons
from skrank.mixture import compare_judge_models

RIGHT = {"tastes": "tastes", "slopes": "slopes", "neither": "common", "groups": "mixture", "permuted": "common"}


def simulated(kind, seed, n_judges=60, n_items=12, votes=40):
    """Pairs, wins of the first item, judges."""
    rng = np.random.default_rng(seed)
    judge = np.repeat(np.arange(n_judges), votes)
    rows = np.arange(len(judge))
    first = rng.integers(0, n_items, len(judge))
    pairs = np.column_stack([first, (first + rng.integers(1, n_items, len(judge))) % n_items])
    common = rng.standard_normal(n_items)
    own = np.tile(common, (n_judges, 1))
    if kind == "tastes":
        own += 0.8 * rng.standard_normal((n_judges, n_items))
    elif kind == "slopes":
        own *= np.maximum(rng.normal(1, 0.7, n_judges), 0)[:, None]
    elif kind in ("groups", "permuted"):
        own = rng.standard_normal((2, n_items))[rng.integers(0, 2, n_judges)]
    margin = own[judge, pairs[:, 0]] - own[judge, pairs[:, 1]]
    if kind == "permuted":
        judge = rng.permutation(judge)
    return pairs, rng.random(len(rows)) < expit(margin), judge


def simulate(arguments):
    print(
        f"{'judges':<10}{'right':>7}{'one group':>11}{'gains of tastes, slopes, mixture in nats a vote':>52}{'CPU':>8}"
    )
    for kind in arguments.kinds:
        expected = RIGHT[kind]
        n = arguments.datasets * (2 if kind == "permuted" else 1)
        start = time.process_time()
        results = []
        for dataset in range(n):
            pairs, y, judge = simulated(kind, (arguments.seed, dataset))
            results.append(compare_judge_models(pairs, y, groups=judge, random_state=dataset))
        right = sum(one.best == expected for one in results)
        single = sum(one.n_components == 1 for one in results)
        gains = ", ".join(
            f"{np.mean([one.gains[name] for one in results if name in one.gains] or [0]):+.3f}"
            for name in ("tastes", "slopes", "mixture")
        )
        seconds = (time.process_time() - start) / n
        print(f"{kind:<10}{right:>4}/{n:<3}{single:>7}/{n:<3}{gains:>52}{seconds:>7.1f}s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", choices=list(RIGHT), default=list(RIGHT))
    parser.add_argument("--votes", metavar="FILE")
    add_arguments(parser)
    arguments = parser.parse_args()
    if arguments.votes is None:
        simulate(arguments)
        return
    votes = read_comparisons(arguments.votes, arguments)
    rng = np.random.default_rng(arguments.seed)
    for title, judge in ((votes.title, votes.judge), ("with the judges permuted", rng.permutation(votes.judge))):
        print(title)
        print(compare_judge_models(votes.pairs, votes.share, groups=judge, sample_weight=votes.weight), "\n")


if __name__ == "__main__":
    main()
