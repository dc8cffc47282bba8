"""
A leaderboard with uncertainty and groups of judges
===================================================

Sixty judges compare the answers of ten language models, two at a time. They agree in part on what is good, but some
like long answers and others do not. How certain is the order of the models, and do the judges form groups?
"""

# %%
# The comparisons are generated, so that the truth is known: two groups of judges, of 40 and 20, whose scores differ.
import matplotlib.pyplot as plt
import numpy as np

from skrank.inspection import ScoreDisplay
from skrank.linear_model import BradleyTerry
from skrank.mixture import BradleyTerryMixture, compare_judge_models

rng = np.random.default_rng(1)
models = np.array([f"model {letter}" for letter in "ABCDEFGHIJ"], dtype=object)
quality = np.linspace(0.8, -0.8, 10)
length = rng.permutation(np.linspace(-1.2, 1.2, 10))
likes_long = np.arange(60) < 40
scores = quality + np.where(likes_long[:, None], length, -length)

judges = np.repeat(np.arange(60), 30)
first = rng.integers(0, 10, len(judges))
second = (first + rng.integers(1, 10, len(judges))) % 10
wins = rng.random(len(judges)) < 1 / (1 + np.exp(scores[judges, second] - scores[judges, first]))
pairs = np.column_stack([models[first], models[second]])
winners = np.where(wins, pairs[:, 0], pairs[:, 1])
winners[rng.random(len(judges)) < 0.15] = "tie"

# %%
# Without groups, the errors assume that all comparisons are independent. With the judges as groups, they are larger,
# because another panel of judges would have different tastes.
alone = BradleyTerry().fit(pairs, winners)
clustered = BradleyTerry().fit(pairs, winners, groups=judges)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4), layout="constrained", sharex=True)
for ax, model, title in ((left, alone, "without groups"), (right, clustered, "clustered by judges")):
    ScoreDisplay.from_estimator(model, unit="elo", ax=ax)
    ax.set_title(title)
print(clustered.leaderboard(unit="elo"))

# %%
# Which model of the judges predicts held-out votes best?
comparison = compare_judge_models(pairs, winners, groups=judges)
print(comparison)

# %%
# It is the model with two groups, which random halves of the judges find again. These are their favorites:
mixture = BradleyTerryMixture(random_state=0).fit(pairs, winners, groups=judges)
for weight, stability, own in zip(mixture.weights_, mixture.stability_, mixture.scores_, strict=True):
    best = ", ".join(mixture.items_[np.argsort(-own)][:4])
    print(f"{100 * weight:.0f} % of the judges, stability {stability:.2f}: {best}, ...")
plt.show()
