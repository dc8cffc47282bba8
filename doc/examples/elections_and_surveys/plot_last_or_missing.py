"""
Not ranked: last, or missing?
=============================

A list of k items can mean that the other items are worse, or that nothing is known about them. Confusing the two
reduces accuracy, and more so for shorter lists.
"""

# %%
# Two groups of people rank ten items. Only their k best items are recorded, so "last" is right.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skrank import PartialRankingKernel
from skrank.datasets import make_mallows_mixture, make_rankings

lengths = [1, 2, 3, 4, 6, 8]
model = make_pipeline(PartialRankingKernel("kendall"), SVC(kernel="precomputed"))


def accuracy(X, y):
    return cross_val_score(model, X, y, cv=5).mean()


top = {"last": [], "missing": []}
for unranked, scores in top.items():
    for k in lengths:
        X, y = make_mallows_mixture(400, 10, n_components=2, phi=0.75, top_k=k, unranked=unranked, random_state=0)
        scores.append(accuracy(X, y))

# %%
# Conversely, each person may be shown k items and rank only these. Nothing is known about the others, and treating
# them as last is wrong.
shown = {"last": [], "missing": []}
full, y = make_mallows_mixture(400, 10, n_components=2, phi=0.75, random_state=0)
places = make_rankings(400, 10, random_state=1)  # a random order for each person; the first k are shown
for k in lengths:
    missing = np.where(places < k, full, np.nan)
    shown["missing"].append(accuracy(missing, y))
    shown["last"].append(accuracy(np.where(places < k, full, 10), y))

# %%
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained", sharey=True)
for ax, scores, title in zip(axes, (top, shown), ("the k best are recorded", "k random items are shown"), strict=True):
    for unranked, style in (("last", "o-"), ("missing", "s--")):
        ax.plot(lengths, scores[unranked], style, label=f'read as "{unranked}"')
    ax.set(title=title, xlabel="k", xticks=lengths)
    ax.legend()
axes[0].set_ylabel("cross-validated accuracy")
plt.show()
