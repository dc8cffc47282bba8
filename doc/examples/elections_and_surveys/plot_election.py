"""
An election: who is preferred to whom
=====================================

15449 members of the American Psychological Association ranked up to five candidates in 1980. Before any model: places,
majorities, a consensus, and what it means that a third of the ballots name one candidate only.
"""

# %%
# The ballots come with skrank: 205 distinct ones, each with the number of voters who cast it.
import matplotlib.pyplot as plt

from skrank.datasets import load_apa
from skrank.inspection import PairwisePreferenceDisplay, RankDistributionDisplay
from skrank.stats import borda_consensus, kemeny_consensus, pairwise_majority

apa = load_apa(unranked="missing")
print(f"{apa.sample_weight.sum()} ballots, {len(apa.data)} distinct")

# %%
# Where the voters place the candidates, and who is preferred to whom: the share of those voters who prefer the row to
# the column, among those who rank at least one of the two.
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
weights = {"sample_weight": apa.sample_weight, "item_names": apa.item_names}
RankDistributionDisplay.from_rankings(apa.data, **weights, ax=left)
PairwisePreferenceDisplay.from_rankings(apa.data, **weights, ax=right)

# %%
# Candidate C beats each of the others by majority, so C is the Condorcet winner and heads Kemeny's consensus. Is that
# still so if a candidate who is not named is taken for worse than those who are? Kemeny's consensus stays; Borda's
# count, which adds up majorities by their size, then puts A first.
for unranked in ("missing", "last"):
    ballots = load_apa(unranked=unranked)
    X, sample_weight = ballots.data, ballots.sample_weight
    winner = pairwise_majority(X, sample_weight=sample_weight).condorcet_winner
    for name, consensus in (("Kemeny", kemeny_consensus), ("Borda", borda_consensus)):
        ordering = consensus(X, sample_weight=sample_weight).ordering
        print(f"{unranked:<8} {name:<7}", " > ".join(ballots.item_names[ordering]), end="   ")
    print("Condorcet winner:", None if winner is None else ballots.item_names[winner])
plt.show()
