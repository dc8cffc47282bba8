"""
An election: who is preferred to whom
=====================================

In 1980, 15449 members of the American Psychological Association ranked up to five candidates. This example describes
the ballots without a model: positions, majorities, a consensus, and the effect of the third of the ballots that name
only one candidate.
"""

# %%
# The ballots are included in skrank: 205 distinct ballots, each with the number of voters who cast it. To read ballots
# from your own file, replace ``load_apa()`` with ``load_preflib("votes.soi", unranked="missing")`` or with
# ``load_table("votes.csv", unranked="missing")``, which reads tables of ranks or of ordered choices.
import matplotlib.pyplot as plt

from skrank.datasets import load_apa
from skrank.inspection import PairwisePreferenceDisplay, RankDistributionDisplay
from skrank.stats import borda_consensus, kemeny_consensus, pairwise_majority

apa = load_apa(unranked="missing")
print(f"{apa.sample_weight.sum()} ballots, {len(apa.data)} distinct")

# %%
# The left plot shows the positions that voters assign to each candidate. The right plot shows the proportion of
# voters who prefer the candidate of the row to that of the column, among voters who rank at least one of the two.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
weights = {"sample_weight": apa.sample_weight, "item_names": apa.item_names}
RankDistributionDisplay.from_rankings(apa.data, **weights, ax=left)
PairwisePreferenceDisplay.from_rankings(apa.data, **weights, ax=right)

# %%
# Candidate C beats each of the others by majority, so C is the Condorcet winner and is first in the Kemeny consensus.
# Is this still true if candidates who are not named are treated as worse than those who are? The Kemeny consensus
# stays the same, but the Borda count, which adds up majorities by their size, then ranks A first.
for unranked in ("missing", "last"):
    ballots = load_apa(unranked=unranked)
    X, sample_weight = ballots.data, ballots.sample_weight
    winner = pairwise_majority(X, sample_weight=sample_weight).condorcet_winner
    for name, consensus in (("Kemeny", kemeny_consensus), ("Borda", borda_consensus)):
        ordering = consensus(X, sample_weight=sample_weight).ordering
        print(f"{unranked:<8} {name:<7}", " > ".join(ballots.item_names[ordering]), end="   ")
    print("Condorcet winner:", None if winner is None else ballots.item_names[winner])
plt.show()
