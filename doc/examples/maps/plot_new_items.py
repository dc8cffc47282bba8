"""
Placing new items
=================

A landmark embedding is a transformer: new items are compared with those that it knows, and placed among them. Here the
items are images of digits, and whoever answers sees which of two is more like a third.
"""

# %%
# 700 digits to embed, and 300 new ones. The oracle answers from the images, with noise; it is not asked for a distance.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from skrank import LandmarkOrdinalEmbedding
from skrank.manifold import CountingOracle, EuclideanOracle

images, digit = load_digits(n_class=6, return_X_y=True)
known, new = slice(0, 700), slice(700, 1000)

oracle = CountingOracle(EuclideanOracle(noise="logistic"))
model = LandmarkOrdinalEmbedding(n_components=6, oracle=oracle, n_comparisons=400_000, random_state=0)
embedding = model.fit_transform(images[known])
fitting = oracle.n_queries
places = model.transform(images[new])
print(f"{fitting} questions about 700 images, then {(oracle.n_queries - fitting) / 300:.0f} for each new one")

# %%
# Six coordinates keep most of what tells digits apart.
for neighbors in (5, 15):
    classifier = KNeighborsClassifier(neighbors).fit(embedding, digit[known])
    print(f"{neighbors} neighbors: accuracy on new images {classifier.score(places, digit[new]):.3f}")

# %%
# The first two of them: known images small, new ones as their digit.
figure, ax = plt.subplots(figsize=(7, 7), layout="constrained")
for number in range(6):
    rows = digit[known] == number
    ax.scatter(*embedding[rows, :2].T, s=8, alpha=0.35, color=f"C{number}")
    for x, y in places[digit[new] == number, :2]:
        ax.text(x, y, str(number), color=f"C{number}", fontsize=9, ha="center", va="center", weight="bold")
ax.set(xlabel="first coordinate", ylabel="second coordinate", aspect="equal", title="new digits among 700 known ones")
plt.show()
