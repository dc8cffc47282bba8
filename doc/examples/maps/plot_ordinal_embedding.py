"""
A map from "is a more like b or like c"
=======================================

Responses that compare distances determine the positions of items up to rotation, reflection, translation and scale. If
you can choose the queries, ask about landmarks; otherwise, fit the recorded responses.
"""

# %%
# The truth: 300 points on a spiral.
import matplotlib.pyplot as plt
import numpy as np

from skrank import LandmarkOrdinalEmbedding
from skrank.datasets import make_triplets
from skrank.inspection import OrdinalEmbeddingDisplay
from skrank.manifold import CountingOracle, EuclideanOracle, StochasticTripletEmbedding
from skrank.metrics import procrustes_error, triplet_accuracy

angle = np.linspace(1, 12, 300)
points = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]) / 8

# %%
# The oracle responds to queries and errs if two distances are nearly equal. It can be any function of three arrays of
# rows.
oracle = CountingOracle(EuclideanOracle(noise="logistic"))
landmark = LandmarkOrdinalEmbedding(n_components=2, oracle=oracle, random_state=0).fit(points)
print(f"landmarks: {oracle.n_queries} queries, error {procrustes_error(points, landmark.embedding_):.4f}")

# %%
# The recorded responses are to random queries, as many as a patient panel might give.
triplets, _ = make_triplets(coordinates=points, n_triplets=40_000, noise="logistic", random_state=0)
held_out, _ = make_triplets(coordinates=points, n_triplets=5_000, noise="logistic", random_state=1)
recorded = StochasticTripletEmbedding(n_components=2, random_state=0).fit(triplets)
print(f"recorded:  {len(triplets)} responses, error {procrustes_error(points, recorded.embedding_):.4f}")
for name, embedding in (("truth", points), ("landmarks", landmark.embedding_), ("recorded", recorded.embedding_)):
    print(f"accuracy on held-out responses {name:<10} {triplet_accuracy(embedding, held_out):.3f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for ax, (title, embedding) in zip(
    axes,
    {"truth": points, "landmarks": landmark.embedding_, "recorded triplets": recorded.embedding_}.items(),
    strict=True,
):
    OrdinalEmbeddingDisplay.from_embedding(embedding, labels=np.digitize(angle, [4, 8]), names=False, ax=ax, s=12)
    ax.set(title=title, ylabel=None)
    if ax is not axes[-1]:
        ax.get_legend().remove()
plt.show()
