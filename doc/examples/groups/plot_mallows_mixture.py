"""
The groups behind a set of rankings
===================================

A mixture of Mallows models estimates the number of groups, their proportions, their central rankings and their
dispersions.
"""

# %%
# 800 people rank seven items. Each of them has the preferences of one of three groups.
import matplotlib.pyplot as plt
import numpy as np

from skrank import MallowsMixture
from skrank.datasets import make_mallows_mixture
from skrank.inspection import MallowsMixtureDisplay, RankDistributionDisplay

items = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu"]
X, y = make_mallows_mixture(
    800, len(items), n_components=3, phi=[0.4, 0.6, 0.5], weights=[0.5, 0.3, 0.2], random_state=0
)
# sphinx_gallery_thumbnail_number = 2
mixture = MallowsMixture(n_components="auto", max_components=4, random_state=0).fit(X)
for weight, phi, center in zip(mixture.weights_, mixture.dispersions_, mixture.centers_, strict=True):
    print(f"{weight:.2f}  phi {phi:.2f}  " + " > ".join(items[item] for item in np.argsort(center)))

# %%
# By default, the number of components is selected by stability. Here, the selected number also has the shortest
# description.
figure, ax = plt.subplots(layout="constrained")
ax.plot([fit.n_components for fit in mixture.path_], [fit.description_length for fit in mixture.path_], "o-")
ax.axvline(mixture.n_components_, color="grey", linestyle="--", label="chosen")
ax.set(xlabel="number of components", ylabel="description length (nats)", xticks=range(1, len(mixture.path_) + 1))
ax.legend()

# %%
# The display shows the centers side by side.
MallowsMixtureDisplay.from_estimator(mixture, item_names=items)

# %%
# The positions that the people in each component assign to the items:
figure, axes = plt.subplots(1, mixture.n_components_, figsize=(10, 3.4), layout="constrained")
for component, ax in enumerate(axes):
    RankDistributionDisplay.from_estimator(mixture, X, component=component, item_names=items, ax=ax)
    ax.set_title(f"component {component}")

# %%
# Is there structure that the mixture does not explain? A mixture with two components would leave some.
for model in (mixture, MallowsMixture(2, random_state=0).fit(X)):
    result = model.goodness_of_fit(X, n_draws=19)
    print(f"{model.n_components_} components: misfit {result.statistic:.1f} nats, p = {result.pvalue:.2f}")
plt.show()
