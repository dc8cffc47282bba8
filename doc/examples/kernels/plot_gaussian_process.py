"""
A Gaussian process on rankings
==============================

The kernels of :mod:`skrank.kernels` follow scikit-learn's interface: they can be combined with ``+`` and ``*``, and a
Gaussian process learns their parameters by maximizing the marginal likelihood.
"""

# %%
# 400 people rank six items, and one number is measured for each of them. It depends on how they order some of the
# items, plus noise. Half of the people are the training set.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

from skrank.datasets import make_rankings
from skrank.kernels import KendallKernel, MallowsKernel

X = make_rankings(400, 6, random_state=0)
rng = np.random.default_rng(0)
effect = np.where(X[:, 0] < X[:, 1], 1.0, -1.0) * np.where(X[:, 2] < X[:, 3], 1.0, 0.2)
y = effect + rng.normal(0, 0.3, len(X))
train, test = slice(0, 200), slice(200, None)

# %%
# The marginal likelihood determines the scale ``nu``, the variance and the noise.
kernel = ConstantKernel(1.0) * MallowsKernel(nu=0.1) + WhiteKernel(0.1)
process = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0).fit(X[train], y[train])
print("learned:", process.kernel_)
print(f"log marginal likelihood {process.log_marginal_likelihood_value_:.1f}, R2 {process.score(X[test], y[test]):.3f}")

# %%
# The Kendall kernel is linear in the pairs. It cannot learn this function, because the effect of one pair depends on
# another.
linear = GaussianProcessRegressor(ConstantKernel(1.0) * KendallKernel() + WhiteKernel(0.1), random_state=0)
linear.fit(X[train], y[train])
print("Kendall:", linear.kernel_)
print(f"log marginal likelihood {linear.log_marginal_likelihood_value_:.1f}, R2 {linear.score(X[test], y[test]):.3f}")

# %%
# The marginal likelihood as a function of ``nu``, with the other parameters as learned, and predictions with their
# uncertainty:
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
position = [parameter.name for parameter in process.kernel_.hyperparameters].index("k1__k2__nu")
grid = np.geomspace(0.01, 3, 30)
likelihoods = []
for nu in grid:
    theta = process.kernel_.theta.copy()
    theta[position] = np.log(nu)
    likelihoods.append(process.log_marginal_likelihood(theta))
left.plot(grid, likelihoods)
left.axvline(process.kernel_.k1.k2.nu, color="grey", linestyle="--", label="learned")
left.set(xscale="log", xlabel="nu", ylabel="log marginal likelihood")
left.legend()

mean, deviation = process.predict(X[test], return_std=True)
right.errorbar(y[test], mean, deviation, fmt="o", markersize=3, alpha=0.4)
right.axline((0, 0), slope=1, color="grey", linestyle="--")
right.set(xlabel="measured", ylabel="predicted, one standard deviation")
plt.show()
