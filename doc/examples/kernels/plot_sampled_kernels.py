"""
How many samples does a partial ranking need?
=============================================

A kernel without a closed form on partial rankings is averaged over samples of the full rankings that are consistent
with them. If the kernel is wide enough, far fewer antithetic pairs are needed than independent samples.
"""

# %%
# The data are top-3 lists of ten items. The Mallows kernel has a closed form for these, so errors are known.
import matplotlib.pyplot as plt
import numpy as np

from skrank.datasets import make_rankings
from skrank.kernels import MallowsKernel, MarginalizedKernel

X = make_rankings(40, 10, top_k=3, random_state=0)
off_diagonal = ~np.eye(len(X), dtype=bool)  # equal rankings share their samples, which is another matter

# %%
# The plots show the root mean square error of a kernel value, relative to the mean value, over ten seeds.
sizes = [2, 4, 8, 16, 32]
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained", sharey=True)
for ax, nu in zip(axes, (0.05, 0.5), strict=True):
    kernel = MallowsKernel(nu)
    exact = kernel(X)
    for method in ("monte_carlo", "antithetic", "herding"):
        errors = []
        for n_draws in sizes:
            estimates = [
                MarginalizedKernel(kernel, method=method, n_draws=n_draws, random_state=seed)(X)
                for seed in range(10 if method != "herding" else 2)
            ]
            squared = np.mean([(estimate - exact)[off_diagonal] ** 2 for estimate in estimates])
            errors.append(np.sqrt(squared) / exact[off_diagonal].mean())
        ax.loglog(sizes, errors, "o-", label=method)
    ax.set(title=f"Mallows kernel, nu = {nu}", xlabel="samples of each ranking", xticks=sizes, xticklabels=sizes)
    ax.minorticks_off()
axes[0].set_ylabel("relative error")
axes[0].legend()
plt.show()
