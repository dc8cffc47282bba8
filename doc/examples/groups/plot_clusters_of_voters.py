"""
Clusters of voters
==================

In 1980 the members of the American Psychological Association ranked up to five candidates. Which groups of voters are
there? A kernel on rankings answers with scikit-learn's clustering, without a model of how voters vote.
"""

# %%
# 15449 ballots, 205 of them distinct. Clustering takes one row for each voter, so draw 1000 of the voters who ranked
# at least two candidates. What they say of the others is not known: the ballots keep their gaps.
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
# Kendall's kernel has a closed form with gaps. Short ballots have short vectors in its space; ``normalize`` makes all
# equally long. ``SpectralClustering`` wants similarities: the kernel, made positive.
K = PartialRankingKernel("kendall", normalize=True).fit_transform(X)
clusters = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(1 + K)
print("voters in each cluster:", np.bincount(clusters))

# %%
# The same kernel draws a map of the voters. Many cast the same ballot, so points are jittered.
coordinates = KernelPCA(2, kernel="precomputed").fit_transform(K)
jittered = coordinates + rng.normal(0, 0.02, coordinates.shape)
figure, ax = plt.subplots(layout="constrained")
for cluster in range(3):
    rows = clusters == cluster
    ax.scatter(*jittered[rows].T, s=8, label=f"cluster {cluster}, {rows.mean():.0%}")
ax.set(xlabel="first kernel principal component", ylabel="second", aspect="equal")
ax.legend()

# %%
# What each cluster wants: the share of its voters who prefer the candidate of the row to that of the column.
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for cluster, ax in enumerate(axes):
    PairwisePreferenceDisplay.from_rankings(X[clusters == cluster], item_names=apa.item_names, ax=ax)
    ax.set_title(f"cluster {cluster}")
plt.show()
