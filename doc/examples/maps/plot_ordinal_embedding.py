"""
A map from "is a more like b or like c"
=======================================

Answers that compare distances place items in space, up to rotation, reflection, shift and scale. If you may choose the
questions, ask about landmarks; if the answers are given, fit them as they are.
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
# An oracle answers questions, and errs where two distances are nearly the same. Any function of three arrays of rows
# will do.
oracle = CountingOracle(EuclideanOracle(noise="logistic"))
landmark = LandmarkOrdinalEmbedding(n_components=2, oracle=oracle, random_state=0).fit(points)
print(f"landmarks: {oracle.n_queries} questions, error {procrustes_error(points, landmark.embedding_):.4f}")

# %%
# Recorded answers to random questions, as many as a patient panel might give.
triplets, _ = make_triplets(coordinates=points, n_triplets=40_000, noise="logistic", random_state=0)
held_out, _ = make_triplets(coordinates=points, n_triplets=5_000, noise="logistic", random_state=1)
recorded = StochasticTripletEmbedding(n_components=2, random_state=0).fit(triplets)
print(f"recorded:  {len(triplets)} answers, error {procrustes_error(points, recorded.embedding_):.4f}")
for name, embedding in (("truth", points), ("landmarks", landmark.embedding_), ("recorded", recorded.embedding_)):
    print(f"held-out answers agreed with by {name:<10} {triplet_accuracy(embedding, held_out):.3f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
for ax, (title, embedding) in zip(
    axes,
    {"truth": points, "landmarks": landmark.embedding_, "recorded triplets": recorded.embedding_}.items(),
    strict=True,
):
    OrdinalEmbeddingDisplay.from_embedding(embedding, labels=np.digitize(angle, [4, 8]), names=False, ax=ax, s=12)
    ax.set_title(title)
plt.show()
