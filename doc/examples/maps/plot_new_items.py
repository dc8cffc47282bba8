"""
Placing new items
=================

A landmark embedding is a transformer: new items are compared with the embedded ones and placed among them. Here, the
items are images of digits, and the oracle says which of two images is more like a third.
"""

# %%
# 700 digits are embedded, and 300 are new. The oracle responds based on the images, with noise. It never reports a
# distance.
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
print(f"{fitting} queries about 700 images, then {(oracle.n_queries - fitting) / 300:.0f} for each new one")

# %%
# Six coordinates retain most of the information about the digits.
for neighbors in (5, 15):
    classifier = KNeighborsClassifier(neighbors).fit(embedding, digit[known])
    print(f"{neighbors} neighbors: accuracy on new images {classifier.score(places, digit[new]):.3f}")

# %%
# The plot shows the first two coordinates, with embedded images as small points and new images as their digits.
figure, ax = plt.subplots(figsize=(7, 7), layout="constrained")
for number in range(6):
    rows = digit[known] == number
    ax.scatter(*embedding[rows, :2].T, s=8, alpha=0.35, color=f"C{number}")
    for x, y in places[digit[new] == number, :2]:
        ax.text(x, y, str(number), color=f"C{number}", fontsize=9, ha="center", va="center", weight="bold")
ax.set(xlabel="first coordinate", ylabel="second coordinate", aspect="equal", title="new digits among 700 known ones")
plt.show()
