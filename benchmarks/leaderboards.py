"""Speed of scores and of their errors, against evalica and choix where they are installed.

    python benchmarks/leaderboards.py [--comparisons 1000000 --items 129 --rankings 100000]

CPU times, the least of three. evalica gets lists of labels and of its own constants, `BradleyTerry` arrays of the same
labels. choix's fastest method for rankings (ilsr) has no penalty; its scores and ours differ by the penalty's effect.
"""

import argparse
import time

import numpy as np
from scipy.special import expit

from skrank.linear_model import BradleyTerry, PlackettLuce


def least_time(function, repeats=3):
    """CPU seconds of the fastest call, and its result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return min(times), result


def report(name, seconds, reference=None):
    ratio = "" if reference is None else f"{seconds / reference:8.2f}"
    print(f"{name:52}{seconds:9.3f}{ratio:>8}", flush=True)


def battles(n_items, n_comparisons, rng):
    """Labels of both sides, and 1, 0.5 or 0."""
    scores = rng.standard_normal(n_items)
    first = rng.integers(0, n_items, n_comparisons)
    second = (first + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < expit(scores[first] - scores[second])
    names = np.array([f"model-{item}" for item in range(n_items)], object)
    return names[first], names[second], np.where(rng.random(n_comparisons) < 0.25, 0.5, won)


def comparisons(n_items, n_comparisons, rng):
    """Comparisons with string labels against evalica, and errors of all kinds."""
    first, second, y = battles(n_items, n_comparisons, rng)
    pairs = np.column_stack([first, second])
    winners = np.where(y == 1, first, np.where(y == 0, second, "tie")).astype(object)
    judges, prompts = (rng.integers(0, size, n_comparisons) for size in (5000, 20_000))
    print(f"\n{n_comparisons} comparisons of {n_items} items with string labels, 25 % ties")
    reference = None
    try:
        import evalica
    except ImportError:
        print("(evalica is not installed)")
    else:
        constant = {1: evalica.Winner.X, 0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
        lists = first.tolist(), second.tolist(), [constant[value] for value in y.tolist()]
        reference = least_time(lambda: evalica.bradley_terry(*lists))[0]
        report("evalica.bradley_terry", reference)
    report("BradleyTerry, y as numbers", least_time(lambda: BradleyTerry().fit(pairs, y))[0], reference)
    report("BradleyTerry, y as winners' names", least_time(lambda: BradleyTerry().fit(pairs, winners))[0], reference)
    davidson = BradleyTerry(ties="davidson")
    report("BradleyTerry, ties='davidson'", least_time(lambda: davidson.fit(pairs, y))[0], reference)
    ways = (("5000 judges", judges), ("judges x 20 000 prompts", np.column_stack([judges, prompts])))
    for name, groups in ways:
        model = BradleyTerry()
        seconds, _ = least_time(lambda groups=groups, model=model: model.fit(pairs, y, groups=groups).covariance(), 1)
        report(f"fit and errors clustered by {name}", seconds, reference)


def counts(n_items, n_comparisons, rng):
    """Arena counts: one row for each pair and outcome."""
    pairs = np.column_stack(np.triu_indices(n_items, 1))
    weight = rng.multinomial(n_comparisons, np.full(3 * len(pairs), 1 / (3 * len(pairs))))
    rows, y = np.tile(pairs, (3, 1)), np.repeat([1, 0.5, 0], len(pairs))
    print(f"\n{n_items} items, {n_comparisons} votes in {len(rows)} counts")
    seconds, _ = least_time(lambda: BradleyTerry().fit(rows, y, sample_weight=weight).standard_errors())
    report("fit and robust errors", seconds)


def rankings(n_rankings, n_items, rng):
    """Rankings against choix."""
    scores = np.linspace(-1, 1, n_items)
    order = np.argsort(-(scores + rng.gumbel(size=(n_rankings, n_items))), axis=1)
    X = np.argsort(order, axis=1).astype(float)
    tied = X.copy()
    rows, place = rng.random(n_rankings) < 0.3, rng.integers(0, n_items - 2, n_rankings)
    tied[rows] = np.where(X[rows] == place[rows, None] + 1, place[rows, None], X[rows])
    print(f"\n{n_rankings} rankings of {n_items} items")
    reference = None
    try:
        import choix
    except ImportError:
        print("(choix is not installed)")
    else:
        lists = [tuple(row) for row in order.tolist()]
        reference = least_time(lambda: choix.ilsr_rankings(n_items, lists), 1)[0]
        report("choix.ilsr_rankings", reference)
    report("PlackettLuce", least_time(lambda: PlackettLuce().fit(X))[0], reference)
    report("PlackettLuce, a tie in 30 % of the rankings", least_time(lambda: PlackettLuce().fit(tied))[0], reference)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=129)
    parser.add_argument("--rankings", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    print(f"{'':52}{'seconds':>9}{'ratio':>8}")
    comparisons(arguments.items, arguments.comparisons, rng)
    counts(arguments.items, int(1.7 * arguments.comparisons), rng)
    rankings(arguments.rankings, 10, rng)


if __name__ == "__main__":
    main()
