"""
Explicit features for many rankings
===================================

The Gram matrix of a million rankings cannot be stored. Random parities are explicit features whose inner products
approximate the Mallows kernel in linear time. The Nyström method derives its features from the data instead.
"""

# %%
# Top-4 lists of eight items from two groups.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skrank.datasets import make_mallows_mixture
from skrank.kernel_approximation import MallowsFeatures
from skrank.kernels import MallowsKernel

X, y = make_mallows_mixture(6000, 8, n_components=2, phi=0.7, top_k=4, random_state=0)
train, test = slice(0, 2000), slice(2000, None)

# %%
# The plots show the error of kernel values against the number of features. With random features, it is inversely
# proportional to the square root of this number for any data. With the Nyström method, it decreases with the
# eigenvalues of the kernel, which is fast for a small ``nu``.
sizes = [16, 32, 64, 128, 256, 512]
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
for nu, style in ((0.05, "-"), (0.5, "--")):
    exact = MallowsKernel(nu)(X[:300])
    for name, color in (("random parities", "C0"), ("Nystroem", "C1")):
        errors, accuracies = [], []
        for size in sizes:
            if name == "Nystroem":
                features = Nystroem(kernel=MallowsKernel(nu), n_components=size, random_state=0)
            else:
                features = MallowsFeatures(size, nu=nu, random_state=0)
            model = make_pipeline(features, LogisticRegression(max_iter=300)).fit(X[train], y[train])
            Z = model[0].transform(X[:300])
            errors.append(np.sqrt(np.mean((Z @ Z.T - exact) ** 2)))
            accuracies.append(model.score(X[test], y[test]))
        left.loglog(sizes, errors, "o" + style, color=color, label=f"{name}, nu = {nu}")
        right.semilogx(sizes, accuracies, "o" + style, color=color)
left.loglog(sizes, 1 / np.sqrt(sizes), ":", color="grey", label="1 / square root of the number")
left.set(xlabel="features", ylabel="root mean square error of a kernel value")
right.set(xlabel="features", ylabel="accuracy of a linear classifier")
left.legend(fontsize="small")
for ax in (left, right):
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
plt.show()
