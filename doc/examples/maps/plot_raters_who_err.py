"""
Raters who err
==============

Some people slip, misread or stop paying attention. A model without lapses attributes every response to the distances,
and one careless rater in five distorts the whole map. With ``lapse="auto"``, the fit estimates how often each rater is
wrong regardless of the distances, and weights the responses accordingly.
"""

# %%
# There are 80 items in the plane and five raters with 3000 responses each. Similar distances are hard to distinguish
# for all of them. Apart from that, two raters are careful, two slip at times, and the last one guesses, so that half
# of the guesses are wrong.
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import procrustes

from skrank.datasets import make_triplets
from skrank.manifold import StochasticTripletEmbedding
from skrank.metrics import procrustes_error

n_raters, n_each = 5, 3000
raters = ["Ada", "Ben", "Cleo", "Dan", "Eve"]
lapse = np.array([0.0, 0.02, 0.1, 0.2, 0.5])

triplets, points = make_triplets(n_items=80, n_triplets=n_raters * n_each, noise="logistic", scale=10, random_state=0)
rater = np.repeat(raters, n_each)

# A lapse reverses a response.
wrong = np.random.default_rng(1).random(len(triplets)) < np.repeat(lapse, n_each)
triplets[wrong] = triplets[wrong][:, [0, 2, 1]]

# %%
# Compare three fits to the same responses: without lapses, with one lapse rate for all, and with one for each rater.
fits = {
    "every response believed": StochasticTripletEmbedding(random_state=0).fit(triplets),
    "one lapse rate": StochasticTripletEmbedding(lapse="auto", random_state=0).fit(triplets),
    "a lapse rate for each rater": StochasticTripletEmbedding(lapse="auto", random_state=0).fit(triplets, rater=rater),
}
for name, model in fits.items():
    print(f"{name:<28} error {procrustes_error(points, model.embedding_):.4f}")

# %%
# The last fit also shows who errs.
by_rater = fits["a lapse rate for each rater"]
for name, estimated, true in zip(by_rater.raters_, by_rater.lapse_, lapse, strict=True):
    print(f"{name:<5} estimated lapse rate {estimated:.3f}, true {true:.2f}")

# %%
# A line connects the true position of each item with its position on the map.
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained", sharex=True, sharey=True)
for ax, (name, model) in zip(axes, fits.items(), strict=True):
    truth, places, _ = procrustes(points, model.embedding_)
    ax.plot(*np.stack([truth, places]).transpose(2, 0, 1), color="0.6", linewidth=1)
    ax.scatter(*places.T, s=14, color="C0", zorder=2)
    ax.set(
        title=f"{name}\nerror {procrustes_error(points, model.embedding_):.3f}", aspect="equal", xticks=[], yticks=[]
    )
plt.show()
