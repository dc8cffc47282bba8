"""Held-out pairs of real preferences: a mixture of all of them against what one does without it.

    python benchmarks/mixture_held_out.py [--music music.csv] [--sushi sushi3b.5000.10.order] [--soi dublin.soi]

The APA ballots are always tried. Of 30 % of the voters one ranked item is hidden; everything is fitted to the rest, and
predicts the order of the hidden item and each other item that the voter ranked. Printed are the mean log probability of
the true order (0 is perfect, -0.693 a coin) and how often it is the more probable one, for

- the mixture, number of components and model of missing items by "auto", up to 6 components, and the same with the
  criterion "mdl";
- one Mallows model, the same way;
- the mixture of the rankings that leave nothing out, and nothing else, where there are such rankings;
- the pairwise majority (share of the voters who rank both, one vote added to each side);
- Borda's order, with the share of pairs that it gets right as the probability.

At most --voters voters are drawn. Processor times of one core.
"""

import argparse
import csv
import time
import warnings

import numpy as np

from skrank.datasets import load_apa, load_preflib, load_sushi_order
from skrank.mixture import MallowsMixture

HIDDEN = 0.3
PEOPLE = {"", "age", "educ", "sex"}
LEAST = 0.01


def music(path):
    """Ratings from 1 (like) to 5 (dislike), empty where there is none."""
    with open(path, newline="") as file:
        rows = [{name: cell for name, cell in row.items() if name not in PEOPLE} for row in csv.DictReader(file)]
    return np.array([[float(cell) if cell not in ("", "NA") else np.nan for cell in row.values()] for row in rows])


def expanded(dataset):
    """One row for each ballot."""
    return np.repeat(np.asarray(dataset.data, float), np.asarray(dataset.sample_weight, int), axis=0)


def hide(X, rng):
    """The matrix with one ranked item of some voters hidden; these voters and their hidden items."""
    X = X.copy()
    able = np.flatnonzero([len(np.unique(row[~np.isnan(row)])) > 2 for row in X])
    voters = np.sort(rng.choice(able, int(HIDDEN * len(able)), replace=False))
    items = np.array([rng.choice(np.flatnonzero(~np.isnan(X[voter]))) for voter in voters])
    X[voters, items] = np.nan
    return X, voters, items


def scores(probabilities, X, voters, items):
    """Mean log probability and accuracy over the strict pairs of a hidden item; each voter counts once."""
    logs, right = [], []
    for probability, voter, item in zip(probabilities, voters, items, strict=True):
        others = np.flatnonzero(X[voter] != X[voter, item])
        others = others[~np.isnan(X[voter, others])]
        if not len(others):
            continue
        of_truth = np.where(X[voter, item] < X[voter, others], probability[item, others], probability[others, item])
        logs.append(np.log(np.clip(of_truth, LEAST, 1)).mean())
        right.append(((of_truth > 0.5) + 0.5 * (of_truth == 0.5)).mean())
    return np.mean(logs), np.mean(right)


def majority(train):
    """Share of the voters who rank both that prefer one, with a vote more on each side; and the wins."""
    n_items = train.shape[1]
    wins = np.array([(train[:, [i]] < train).sum(axis=0) for i in range(n_items)], float)
    return (wins + 1) / (wins + wins.T + 2), wins


def borda(share, wins):
    """Borda's order by mean share, with the share of pairs that it orders rightly as every probability."""
    order = share.mean(axis=1)
    ahead = order[:, None] > order
    right = wins[ahead].sum() / wins.sum()
    return np.where(ahead, right, 1 - right)


def fitted(train, k, criterion):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        mixture = MallowsMixture(k, criterion=criterion, max_components=6, random_state=0).fit(train)
        return mixture, time.process_time() - start


def compare(name, X, n_voters):
    """Print the table of one data set."""
    rng = np.random.default_rng(0)
    if len(X) > n_voters:
        X = X[np.sort(rng.choice(len(X), n_voters, replace=False))]
    train, voters, items = hide(X, rng)
    missing = np.isnan(X).mean()
    print(f"\n{name}: {len(X)} voters, {X.shape[1]} items, {missing:.0%} missing, {len(voters)} hidden", flush=True)
    share, wins = majority(train)
    for label, table in (("majority", share), ("Borda", borda(share, wins))):
        log, right = scores(np.broadcast_to(table, (len(voters), *table.shape)), X, voters, items)
        print(f"  {label:32} {log:.3f} {right:.3f}")
    complete = train[~np.isnan(train).any(axis=1)]
    fits = [("one Mallows model", train, 1, "stability"), ("mixture", train, "auto", "stability")]
    fits.append(("mixture, mdl", train, "auto", "mdl"))
    if len(complete) > 100:
        fits.insert(1, (f"mixture of {len(complete)} complete rows", complete, "auto", "stability"))
    for label, rows, k, criterion in fits:
        mixture, seconds = fitted(rows, k, criterion)
        probabilities = np.empty((len(voters), X.shape[1], X.shape[1]))
        for start in range(0, len(voters), 200):
            part = slice(start, start + 200)
            probabilities[part] = mixture.predict_pairwise_proba(train[voters[part]])
        log, right = scores(probabilities, X, voters, items)
        likelihoods = mixture.missing_log_likelihoods_
        print(
            f"  {label:32} {log:.3f} {right:.3f}   {mixture.n_components_} components, {mixture.missing_}, "
            f"{seconds:.0f} s, nats by subset {likelihoods['subset']:.0f}, by marginal {likelihoods['marginal']:.0f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--music")
    parser.add_argument("--sushi")
    parser.add_argument("--soi")
    parser.add_argument("--voters", type=int, default=2500)
    arguments = parser.parse_args()
    compare("APA, all ballots", expanded(load_apa(unranked="missing")), arguments.voters)
    if arguments.music:
        compare("music ratings", music(arguments.music), arguments.voters)
    if arguments.soi:
        compare("ballots", expanded(load_preflib(arguments.soi, unranked="missing")), arguments.voters)
    if arguments.sushi:
        compare("sushi", expanded(load_sushi_order(arguments.sushi, unranked="missing")), arguments.voters)


if __name__ == "__main__":
    main()
