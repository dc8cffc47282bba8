"""
Predict a label from top-k lists
================================

The kernel matrix is a step in a pipeline, so its parameters can be searched like any others.
"""

# %%
# Two groups with slightly different tastes list their four best of eight items. Their central rankings differ in the
# order of the items in positions 0 and 1, 2 and 3, and so on.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skrank import PartialRankingKernel
from skrank.datasets import make_mallows_mixture

centers = [[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]]
X, y = make_mallows_mixture(
    600, 8, n_components=2, centers=centers, phi=0.5, weights=[0.6, 0.4], top_k=4, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# The kernel learns its scale from the training part of each fold. ``nu`` is the weight of a discordant pair: with
# small values, the kernel compares rankings as a whole; with large values, only very similar rankings have a
# similarity above zero.
model = make_pipeline(PartialRankingKernel("mallows"), SVC(kernel="precomputed"))
nu = np.geomspace(0.003, 1, 6)
grid = {"partialrankingkernel__nu": nu, "svc__C": [1, 10]}
search = GridSearchCV(model, grid, cv=3).fit(X_train, y_train)
print("best parameters:", {name: float(value) for name, value in search.best_params_.items()})
print(f"accuracy on test data: {search.score(X_test, y_test):.3f}, larger group: {np.mean(y_test == 0):.3f}")

# %%
# The plot shows the accuracy over the grid and the value of the median heuristic.
scores = search.cv_results_["mean_test_score"].reshape(len(nu), 2)
figure, ax = plt.subplots(layout="constrained")
for column, C in enumerate(grid["svc__C"]):
    ax.plot(nu, scores[:, column], "o-", label=f"C = {C}")
median = PartialRankingKernel().fit(X_train).nu_
ax.axvline(median, color="grey", linestyle="--", label="1 / median distance")
ax.set(xscale="log", xlabel="nu", ylabel="cross-validated accuracy")
ax.legend()

# %%
# Other kernels can be used in the same way.
others = GridSearchCV(
    make_pipeline(PartialRankingKernel(), SVC(kernel="precomputed")),
    {"partialrankingkernel__kernel": ["kendall", "mallows", "hamming", "spearman"], "svc__C": [1, 10]},
    cv=3,
).fit(X_train, y_train)
names = others.cv_results_["param_partialrankingkernel__kernel"].data
for name in dict.fromkeys(names):
    print(f"{name:<10}{others.cv_results_['mean_test_score'][names == name].max():.3f}")
plt.show()
