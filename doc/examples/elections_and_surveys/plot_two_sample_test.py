"""
Do two groups rank alike?
=========================

:func:`skrank.stats.mmd_test` compares two sets of full or partial rankings without a model. It can detect more than
differences in mean ranks.
"""

# %%
# Two groups rank every item equally high on average: the first group ranks at random, and the second follows a
# ranking or its reverse. Both report their top three of six items.
import matplotlib.pyplot as plt

from skrank.datasets import make_mallows_mixture, make_rankings
from skrank.stats import mmd_test

random = make_rankings(150, 6, top_k=3, random_state=0)
polarized, _ = make_mallows_mixture(150, 6, n_components=2, centers="reversed", phi=0.5, top_k=3, random_state=1)
print("mean ranks, random:   ", random.mean(axis=0).round(1))
print("mean ranks, polarized:", polarized.mean(axis=0).round(1))

# %%
# The Mallows kernel distinguishes the groups. The Kendall kernel, which depends only on pairwise preferences, does
# not.
results = {kernel: mmd_test(random, polarized, kernel, random_state=0) for kernel in ("mallows", "kendall")}
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
for ax, (kernel, result) in zip(axes, results.items(), strict=True):
    ax.hist(result.null_distribution, bins=40, color="lightgrey", label="labels permuted")
    ax.axvline(result.statistic, color="C3", label="observed")
    ax.set(title=f"{kernel}: p = {result.pvalue:.3f}", xlabel="squared maximum mean discrepancy")
    ax.legend()

# %%
# How many people are needed? The plot shows the proportion of 30 pairs of groups that are distinguished at level
# 0.05.
sizes = [10, 20, 40, 80]
power = []
for size in sizes:
    rejected = 0
    for seed in range(30):
        first = make_rankings(size, 6, top_k=3, random_state=2 * seed)
        second = make_rankings(size, 6, top_k=3, phi=0.7, random_state=2 * seed + 1)
        rejected += mmd_test(first, second, n_permutations=199, random_state=seed).pvalue <= 0.05
    power.append(rejected / 30)
figure, ax = plt.subplots(layout="constrained")
ax.plot(sizes, power, "o-")
ax.axhline(0.05, color="grey", linestyle="--", label="level of the test")
ax.set(xlabel="people per group", ylabel="proportion of tests that reject", ylim=(0, 1.03), xticks=sizes)
ax.set_title("random rankings and a Mallows model, phi = 0.7")
ax.legend()
plt.show()
