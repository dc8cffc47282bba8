"""
The Mallows model
=================

The model has a center and a dispersion. This example shows how far rankings are from the center, how likely each item
is to be first, and how many rankings are needed to find the center.
"""

# %%
# The distribution of the Kendall distance from the center for ten items. With phi = 0 all rankings equal the center,
# and phi = 1 is uniform.
# sphinx_gallery_thumbnail_number = -1
import matplotlib.pyplot as plt
import numpy as np

from skrank.metrics import pairwise_ranking_distances
from skrank.stats import kemeny_consensus, mallows

center = np.arange(10)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
for phi in (0.2, 0.5, 0.8, 1.0):
    model = mallows(center, phi)
    distances = pairwise_ranking_distances(model.rvs(4000, random_state=0), [center]).ravel()
    left.hist(distances, bins=np.arange(47) - 0.5, density=True, histtype="step", linewidth=1.5, label=f"phi = {phi}")
    left.axvline(model.mean_distance(), color="grey", linewidth=0.6)
left.set(xlabel="discordant pairs", ylabel="proportion of rankings", title="distance from the center, and its mean")
left.legend()

# %%
# The probability of partial rankings is exact. Here it is the probability that each item is first (a top-1 list).
tops = np.ones((10, 10)) - np.eye(10)  # row i: item i first, the others tied after it
for phi in (0.2, 0.5, 0.8, 1.0):
    right.plot(range(1, 11), mallows(center, phi).pmf(tops), "o-", label=f"phi = {phi}")
right.set(xlabel="position of the item in the center", ylabel="probability of being first", xticks=range(1, 11))
right.legend()

# %%
# How many rankings are needed until the consensus equals the center? The plot shows the proportion of 40 samples in
# which it does.
sizes = [5, 10, 20, 40, 80, 160]
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for phi in (0.5, 0.7, 0.8):
    found = [
        np.mean(
            [
                np.array_equal(kemeny_consensus(mallows(center, phi).rvs(size, random_state=seed)).ranks, center)
                for seed in range(40)
            ]
        )
        for size in sizes
    ]
    ax.semilogx(sizes, found, "o-", label=f"phi = {phi}")
ax.set(xlabel="rankings", ylabel="consensus is the center", ylim=(-0.03, 1.03))
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
plt.show()
