"""
Clusters of voters
==================

In 1980, members of the American Psychological Association ranked up to five candidates. Which groups of voters are
there? With a kernel on rankings, scikit-learn's clustering can answer this without a model of the voters.
"""

# %%
# There are 15449 ballots, 205 of them distinct. Clustering requires one row for each voter, so we draw 1000 of the
# voters who ranked at least two candidates. Their opinion of the other candidates is unknown, so these remain
# missing.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA

from skrank import PartialRankingKernel
from skrank.datasets import load_apa
from skrank.inspection import PairwisePreferenceDisplay

apa = load_apa(unranked="missing")
several = (~np.isnan(apa.data)).sum(axis=1) >= 2
ballots = np.repeat(apa.data[several], apa.sample_weight[several], axis=0)
rng = np.random.default_rng(0)
X = ballots[rng.choice(len(ballots), 1000, replace=False)]

# %%
# The Kendall kernel has a closed form with missing items. Short ballots have a small norm in its feature space, and
# ``normalize`` gives all ballots the same norm. ``SpectralClustering`` requires nonnegative similarities, so the
# kernel is shifted.
K = PartialRankingKernel("kendall", normalize=True).fit_transform(X)
clusters = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(1 + K)
print("voters in each cluster:", np.bincount(clusters))

# %%
# The same kernel gives a map of the voters. Points are jittered, because many voters cast the same ballot.
coordinates = KernelPCA(2, kernel="precomputed").fit_transform(K)
jittered = coordinates + rng.normal(0, 0.02, coordinates.shape)
figure, ax = plt.subplots(layout="constrained")
for cluster in range(3):
    rows = clusters == cluster
    ax.scatter(*jittered[rows].T, s=8, label=f"cluster {cluster}, {rows.mean():.0%}")
ax.set(xlabel="first kernel principal component", ylabel="second", aspect="equal")
ax.legend()

# %%
# The preferences of each cluster: the proportion of its voters who prefer the candidate of the row to that of the
# column.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for cluster, ax in enumerate(axes):
    PairwisePreferenceDisplay.from_rankings(X[clusters == cluster], item_names=apa.item_names, ax=ax)
    ax.set_title(f"cluster {cluster}")
plt.show()
