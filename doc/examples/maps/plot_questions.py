"""
How many queries does a map need?
=================================

Landmark ordinal embedding chooses its queries. This example shows how the error decreases with the number of queries,
both for the basic method of the paper and with a refinement by the likelihood of all responses.
"""

# %%
# There are 500 points in the plane, and responses can be wrong if two distances are nearly equal.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from skrank import LandmarkOrdinalEmbedding
from skrank.exceptions import InsufficientDataWarning
from skrank.manifold import EuclideanOracle
from skrank.metrics import procrustes_error

points = np.random.default_rng(0).standard_normal((500, 2))
budgets = [40_000, 80_000, 160_000, 320_000]
errors = {"plain": [], "refined": [], "expected": []}
for budget in budgets:
    for name, refine in (("plain", None), ("refined", "mle")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InsufficientDataWarning)
            model = LandmarkOrdinalEmbedding(
                n_components=2,
                oracle=EuclideanOracle(noise="logistic"),
                n_comparisons=budget,
                refine=refine,
                random_state=0,
            ).fit(points)
        errors[name].append(procrustes_error(points, model.embedding_))
    errors["expected"].append(model.expected_error_)
    print(f"{budget:>7} queries: error {errors['refined'][-1]:.4f}, warnings: {len(caught)}")

# %%
# The model also estimates the expected error, without knowing the truth.
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.loglog(budgets, errors["plain"], "o-", label="refine=None, as in the paper")
ax.loglog(budgets, errors["refined"], "s-", label='refine="mle", the default')
ax.loglog(budgets, errors["expected"], "k:", label="expected_error_")
ax.set(xlabel="queries", ylabel="Procrustes error")
ax.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
ax.minorticks_off()
ax.legend()
plt.show()
