"""
A sorted kernel matrix
======================

A kernel measures how similar two rankings are. Sorted by a dendrogram, its matrix shows groups, and groups within
groups, as squares.
"""

# %%
# 120 people list their four best of seven items. They belong to four groups, which form two pairs with similar
# tastes.
import matplotlib.pyplot as plt

from skrank import PartialRankingKernel
from skrank.datasets import make_mallows_mixture
from skrank.inspection import RankingKernelDisplay
from skrank.metrics import dendrogram_purity

centers = [[0, 1, 2, 3, 4, 5, 6], [1, 0, 2, 4, 3, 5, 6], [6, 5, 4, 3, 2, 1, 0], [6, 4, 5, 2, 3, 1, 0]]
X, y = make_mallows_mixture(120, 7, n_components=4, centers=centers, phi=0.25, top_k=4, random_state=0)

# %%
# The plots show the Mallows kernel of top-4 lists in closed form at two scales. With a small ``nu``, it compares
# rankings as a whole and shows two groups; with a larger ``nu``, it distinguishes single rankings. The purity of the
# tree is 1 if every group is a branch, and about 0.25 if leaves are placed at random.
for nu in (0.05, 0.5):
    display = RankingKernelDisplay.from_rankings(X, kernel=PartialRankingKernel("mallows", nu=nu), labels=y)
    purity = dendrogram_purity(display.tree, y)
    display.figure_.suptitle(f"Mallows kernel, nu = {nu}: purity of the tree {purity:.2f}")

# %%
# If there are only a few rankings, each is written out.
RankingKernelDisplay.from_rankings(X[:24], kernel="kendall", item_names=list("ABCDEFG"))
plt.show()
