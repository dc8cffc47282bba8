"""
Which queries to ask
====================

Raters have little time, so each query should be as informative as possible. A study that uses the previous responses
asks about what is still uncertain. With the same number of responses, its map is better than with random queries.
"""

# %%
# There are 30 items in the plane. One response in ten is a lapse, which is right or wrong by chance. The others err
# only if two distances are nearly equal.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from skrank.manifold import TripletStudy
from skrank.metrics import procrustes_error

points = np.random.default_rng(0).standard_normal((30, 2))


def respond(triplets, random_generator):
    """Whether left is nearer to the anchor than right, to a person who guesses one query in ten."""
    anchor, left, right = points[triplets.T]
    margin = ((anchor - right) ** 2).sum(axis=1) - ((anchor - left) ** 2).sum(axis=1)
    guesses = random_generator.random(len(triplets)) < 0.1
    return random_generator.random(len(triplets)) < np.where(guesses, 0.5, expit(5 * margin))


# %%
# Run two studies with 150 responses at a time. ``design="uniform"`` draws every query at random. "auto", the default,
# does so until there is a first map, and then asks about what is least certain.
batches, batch = 8, 150
errors, asked_last = {}, {}
for design in ("uniform", "auto"):
    study = TripletStudy(len(points), design=design, random_state=0)
    person = np.random.default_rng(1)
    errors[design] = []
    for _ in range(batches):
        ids, triplets = study.ask(batch)
        study.tell(ids, respond(triplets, person))
        errors[design].append(procrustes_error(points, study.embedding_))
    asked_last[design] = triplets
    print(f"{design:<8} error after {study.n_responses} responses {errors[design][-1]:.4f}")

# %%
# The error decreases faster, because the informative queries compare items at similar distances from the anchor,
# where the response cannot be predicted.
figure, (error_ax, query_ax) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
responses = batch * np.arange(1, batches + 1)
for design, marker in (("uniform", "o"), ("auto", "s")):
    error_ax.plot(responses, errors[design], marker + "-", label=f'design="{design}"')
    anchor, left, right = points[asked_last[design].T]
    distances = [np.linalg.norm(anchor - item, axis=1) for item in (left, right)]
    query_ax.scatter(np.minimum(*distances), np.maximum(*distances), s=14, marker=marker, label=f'design="{design}"')
query_ax.axline((1, 1), slope=1, color="0.6", linewidth=1)
error_ax.set(xlabel="responses", ylabel="Procrustes error", yscale="log", title="Error of the map")
query_ax.set(xlabel="distance of the nearer item", ylabel="distance of the other item", title="The last 150 queries")
error_ax.legend()
query_ax.legend()
plt.show()
