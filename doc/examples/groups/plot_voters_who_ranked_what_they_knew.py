"""
Groups of voters who ranked what they knew
==========================================

Few people know every film. Here, each of 1600 people knows 4 to 9 out of 9 kinds of film and ranks these. Their groups
are unknown, and hardly any two people rank the same films. A mixture of Mallows models finds the groups and predicts
what each person thinks of the films that they do not know.
"""

# %%
# Only the films that a person knows are observed; the others are ``NaN``.
import matplotlib.pyplot as plt
import numpy as np

from skrank import MallowsMixture
from skrank.datasets import make_mallows_mixture
from skrank.inspection import MallowsMixtureDisplay

films = np.array(["comedy", "drama", "thriller", "western", "musical", "horror", "fantasy", "romance", "war"])
phi, weights = [0.5, 0.4, 0.6], [0.5, 0.3, 0.2]
full, group = make_mallows_mixture(1600, 9, n_components=3, phi=phi, weights=weights, random_state=3)
rng = np.random.default_rng(0)
X = full.astype(float)
for row in X:
    row[rng.choice(9, rng.integers(0, 6), replace=False)] = np.nan
print(f"{np.isnan(X).mean():.0%} of the entries are missing, in {np.isnan(X).any(axis=1).mean():.0%} of the rows")

# %%
# The fit tries two meanings of ``NaN`` (:doc:`/mixtures_missing`): either a person ranks only the films that they
# know, or a person has a ranking of all films, of which we see a part. The likelihood decides between them, here
# correctly for the second.
mixture = MallowsMixture(n_components=3, random_state=0).fit(X)
print(mixture.missing_, {model: round(nats) for model, nats in mixture.missing_log_likelihoods_.items()})
MallowsMixtureDisplay.from_estimator(mixture, X, item_names=films)

# %%
# A fit to the complete rows would leave most people without a group. Here, everyone has a group, and it is right
# about as often as its probability suggests.
probability = mixture.predict_proba(X)
right = probability.argmax(axis=1) == group  # components by decreasing weight, as the groups were generated
print(f"mean probability of the predicted group {probability.max(axis=1).mean():.2f}, right {right.mean():.2f}")

# %%
# For a person who knows only three films, the group is informative about the others. The plot shows the probability
# that this person prefers the film of the row to that of the column.
person = np.full((1, 9), np.nan)
person[0, mixture.centers_[1].argsort()[[0, 4, 8]]] = [0, 1, 2]
names = np.array([f"{film} *" if known else film for film, known in zip(films, ~np.isnan(person[0]), strict=True)])
order = mixture.predict_ranking(person)[0].argsort()
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
probabilities = mixture.predict_pairwise_proba(person)[0]
image = ax.imshow(probabilities[np.ix_(order, order)], vmin=0, vmax=1, cmap="RdBu")
ax.set_xticks(range(9), names[order], rotation=60)
ax.set_yticks(range(9), names[order])
ax.set_title("Probability of preferring row to column (* ranked)")
figure.colorbar(image)
plt.show()
