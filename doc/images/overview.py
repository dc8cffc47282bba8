"""The picture of the README: `python doc/images/overview.py` writes overview.png beside this file."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_digits

from skrank import LandmarkOrdinalEmbedding, MallowsMixture, PartialRankingKernel
from skrank.datasets import make_mallows_mixture
from skrank.inspection import MallowsMixtureDisplay, OrdinalEmbeddingDisplay
from skrank.manifold import EuclideanOracle

DISHES = ["curry", "pasta", "pizza", "ramen", "salad", "soup", "stew", "tacos"]
GROUPS = {"n_components": 3, "phi": [0.4, 0.6, 0.5], "weights": [0.5, 0.3, 0.2], "top_k": 5, "random_state": 1}


def groups(ax):
    """Which groups are behind 1000 lists of the five best dishes."""
    X, _ = make_mallows_mixture(1000, len(DISHES), **GROUPS)
    mixture = MallowsMixture(n_components="auto", random_state=0).fit(X)
    MallowsMixtureDisplay.from_estimator(mixture, item_names=DISHES, ax=ax)
    ax.set_title("Find groups of voters\n")


def similarity(ax):
    """Which of 150 such lists are alike."""
    X, _ = make_mallows_mixture(150, len(DISHES), **GROUPS)
    K = PartialRankingKernel("kendall").fit_transform(X)
    order = dendrogram(linkage(squareform(1 - K / K.max(), checks=False), "average"), no_plot=True)["leaves"]
    ax.imshow(K[np.ix_(order, order)], cmap="RdBu", vmin=-abs(K).max(), vmax=abs(K).max())
    ax.set_title("Compare rankings by a kernel")
    ax.set(xlabel="150 top-5 lists", xticks=[], yticks=[])


def places(ax):
    """Images of digits on a map, from responses to "which of these two is more like that one"."""
    images, digit = load_digits(n_class=5, return_X_y=True)
    oracle = EuclideanOracle(noise="logistic")
    model = LandmarkOrdinalEmbedding(n_components=6, oracle=oracle, n_comparisons=500_000, random_state=0).fit(images)
    OrdinalEmbeddingDisplay.from_embedding(model.embedding_[:, :2], labels=digit, names=False, ax=ax, s=8)
    ax.set_title("Draw a map from triplets")
    ax.set(xlabel="images of digits", ylabel="", xticks=[], yticks=[])


def main():
    """Draw the three panels side by side."""
    plt.rcParams.update({"font.size": 11, "axes.titlesize": 13})
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.9), layout="constrained", width_ratios=[1.25, 0.85, 1])
    for draw, ax in zip((groups, similarity, places), axes, strict=True):
        draw(ax)
    figure.savefig(Path(__file__).with_name("overview.png"), dpi=130)


if __name__ == "__main__":
    main()
