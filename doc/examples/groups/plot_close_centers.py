"""
Groups that are nearly alike
============================

The central rankings of three groups differ by three adjacent transpositions each. Expectation-maximization gets stuck
on such mixtures, regardless of the number of restarts, because none of its steps exchanges two neighbors in a center.
"""

# %%
# 1000 people rank 20 items. The second and third center are the first with three pairs of neighbors exchanged.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from skrank import MallowsMixture
from skrank.datasets import make_mallows_mixture
from skrank.exceptions import InsufficientDataWarning
from skrank.metrics import match_components

truth = make_mallows_mixture(1000, 20, n_components=3, centers="close", phi=0.4, random_state=0, return_X_y=False)
X = truth.X

# %%
# Compare plain EM, from one random start at a time, with the default estimator, which adds exact adjacent
# transpositions and peels off and exchanges components. Warnings report failed fits: their components are too few,
# too small or equal.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", InsufficientDataWarning)
    starts = [MallowsMixture(3, init="random", polish=False, random_state=seed).fit(X) for seed in range(12)]
mixture = MallowsMixture(3, random_state=0).fit(X)


def exchanges(fit):
    """Pairs of items that the fitted centers order otherwise than the true ones."""
    return int(np.nansum(match_components(truth, fit).center_distances))


print("EM, wrong pairs in the three centers:", [exchanges(fit) for fit in starts])
print("MallowsMixture:", exchanges(mixture))

# %%
figure, ax = plt.subplots(layout="constrained", figsize=(7, 4.5))
best = mixture.score(X) * len(X)
ax.plot(
    [exchanges(fit) for fit in starts], [fit.score(X) * len(X) - best for fit in starts], "o", label="EM, 12 starts"
)
ax.plot(exchanges(mixture), 0, "*", markersize=16, label="MallowsMixture")
ax.set(xlabel="wrong pairs in the centers", ylabel="log-likelihood minus that of MallowsMixture")
ax.axhline(0, color="grey", linewidth=0.8)
ax.legend()
plt.show()
