"""The picture of the README: `python doc/images/overview.py` writes overview.png beside this file."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from skrank import LandmarkOrdinalEmbedding, MallowsMixture, PartialRankingKernel
from skrank.datasets import make_mallows_mixture
from skrank.inspection import MallowsMixtureDisplay, OrdinalEmbeddingDisplay, RankingKernelDisplay
from skrank.manifold import EuclideanOracle

DISHES = ["curry", "pasta", "pizza", "ramen", "salad", "soup", "stew", "tacos"]
GROUPS = {"n_components": 3, "phi": [0.4, 0.6, 0.5], "weights": [0.5, 0.3, 0.2], "top_k": 5, "random_state": 1}


def likeness(ax):
    """Which of 150 lists of the five best dishes are alike."""
    X, _ = make_mallows_mixture(150, len(DISHES), **GROUPS)
    RankingKernelDisplay.from_rankings(X, kernel=PartialRankingKernel("kendall"), ax=ax)
    ax.set_title("PartialRankingKernel\nwhich top-5 lists are alike", fontsize=12)
    ax.set_xlabel("150 lists, in the order of a dendrogram")


def groups(ax):
    """Which groups are behind 1000 such lists."""
    X, _ = make_mallows_mixture(1000, len(DISHES), **GROUPS)
    mixture = MallowsMixture(n_components="auto", random_state=0).fit(X)
    MallowsMixtureDisplay.from_estimator(mixture, item_names=DISHES, ax=ax)
    ax.set_title("MallowsMixture\nwhich groups are behind them\n", fontsize=12)


def places(ax):
    """Images of digits on a map, from answers to "which of these two is more like that one"."""
    images, digit = load_digits(n_class=5, return_X_y=True)
    oracle = EuclideanOracle(noise="logistic")
    model = LandmarkOrdinalEmbedding(n_components=6, oracle=oracle, n_comparisons=500_000, random_state=0).fit(images)
    OrdinalEmbeddingDisplay.from_embedding(model.embedding_[:, :2], labels=digit, names=False, ax=ax, s=10)
    ax.set_title('LandmarkOrdinalEmbedding\nimages placed by "which of two is more like this one?"', fontsize=12)
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])


def main():
    """Draw the three panels side by side."""
    figure, axes = plt.subplots(1, 3, figsize=(16.5, 4.8), layout="constrained", width_ratios=[1.1, 1, 1.1])
    for draw, ax in zip((likeness, groups, places), axes, strict=True):
        draw(ax)
    figure.savefig(Path(__file__).with_name("overview.png"), dpi=72)


if __name__ == "__main__":
    main()
