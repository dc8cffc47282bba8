"""Selection of the components from a list of candidates: the last step of Theorems 1.1, 1.4 and 7.1 at real sizes.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), try all k-tuples of candidate centers
with all dispersions of a grid and test each mixture. Here an *atom* is a candidate center with a dispersion of a grid;
atoms are added one at a time, those of the largest gain are tried, and the likelihood of the mixture decides. With the
atoms fixed the likelihood is concave in the weights, so that each trial has one answer.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skrank._rankings import row_blocks
from skrank.mixture._model import Mixture, log_densities

DISPERSIONS = (0.05, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9)
# Weights at which a new component is tried. The derivative at weight zero would pick spikes: a center on one ranking
# with phi near 0 has an enormous density there.
STEPS = (0.05, 0.15, 0.4)
N_TRIES = 12
LARGEST_LOG_RATIO = 60.0


class Atoms(NamedTuple):
    """Candidate components: centers (positions), dispersions, and the log density of every row under each."""

    centers: np.ndarray
    dispersions: np.ndarray
    log_densities: np.ndarray


def make_atoms(data, centers, dispersions=DISPERSIONS):
    """All candidate centers with all dispersions of the grid."""
    distances = data.distances(centers)
    values = np.empty((len(dispersions), *distances.shape), np.float32)
    for dispersion, block in zip(dispersions, values, strict=True):
        block[:] = log_densities(data, centers, np.full(len(centers), dispersion), distances)
    return Atoms(
        np.tile(centers, (len(dispersions), 1)),
        np.repeat(dispersions, len(centers)),
        values.reshape(-1, data.n_rows),
    )


def finite_step_gains(atom_log_densities, log_density, row_weights, steps=STEPS):
    """Largest gain in mean log-likelihood from mixing in each atom at one of a few weights.

    mean log1p(eps (f_atom / f - 1)), f the density of the present mixture: at most the gain at the best weight.

    Parameters
    ----------
    atom_log_densities : ndarray of shape (n_atoms, n_rows)
    log_density : ndarray of shape (n_rows,)
    row_weights : ndarray of shape (n_rows,)
    steps : tuple of floats

    Returns
    -------
    gains : ndarray of shape (n_atoms,)
    """
    share = (row_weights / row_weights.sum()).astype(np.float32)
    log_density = log_density.astype(np.float32)
    gains = np.empty(len(atom_log_densities))
    for atoms in row_blocks(len(gains), 12 * len(share), max_rows=256):
        ratio = atom_log_densities[atoms] - log_density
        np.exp(np.minimum(ratio, LARGEST_LOG_RATIO, out=ratio), out=ratio)
        ratio -= 1
        gains[atoms] = np.max([np.log1p(step * ratio) @ share for step in steps], axis=0)
    return gains


def concave_weights(component_log_densities, row_weights, n_iter=25):
    """Maximum likelihood mixing weights of fixed components, by EM steps from equal weights.

    Parameters
    ----------
    component_log_densities : ndarray of shape (n_components, n_rows)
    row_weights : ndarray of shape (n_rows,)
    n_iter : int, default=25

    Returns
    -------
    mixing_weights : ndarray of shape (n_components,)
    log_density : ndarray of shape (n_rows,)
        Of the mixture.
    """
    top = component_log_densities.max(axis=0)
    densities = np.exp(component_log_densities - top)
    share = row_weights / row_weights.sum()
    weights = np.full(len(densities), 1 / len(densities))
    for _ in range(n_iter):
        weights = weights * (densities @ (share / (weights @ densities)))
    return weights, np.log(weights @ densities) + top


def best_atom(data, atoms):
    """The one-component mixture of the atom of the largest likelihood."""
    best = int((atoms.log_densities @ data.weights.astype(np.float32)).argmax())
    return Mixture(atoms.centers[[best]], atoms.dispersions[[best]], np.ones(1))


def add_atom(data, mixture, atoms, min_weight):
    """The mixture with one atom more, all weights refitted: the best of the atoms with the largest finite-step gains.

    One that leaves a weight below `min_weight` is taken only if all do.
    """
    present = log_densities(data, mixture.centers, mixture.dispersions)
    log_density = logsumexp(present + np.log(mixture.weights)[:, None], axis=0)
    gains = finite_step_gains(atoms.log_densities, log_density, data.weights)
    trials = []
    for atom in np.argsort(-gains, kind="stable")[:N_TRIES]:
        weights, log_density = concave_weights(np.vstack([present, atoms.log_densities[atom]]), data.weights)
        key = (bool(weights.min() >= min_weight), float(log_density @ data.weights))
        trials.append((key, atom, weights))
    _, atom, weights = max(trials, key=lambda trial: trial[0])
    return Mixture(
        np.vstack([mixture.centers, atoms.centers[atom]]),
        np.append(mixture.dispersions, atoms.dispersions[atom]),
        weights,
    )


def select_atoms(data, atoms, n_components, min_weight):
    """A mixture of `n_components` atoms, chosen greedily."""
    mixture = best_atom(data, atoms)
    while mixture.n_components < n_components:
        mixture = add_atom(data, mixture, atoms, min_weight)
    return mixture
