"""Splitting: the directions in which a component looks like several, and its two halves along them.

Exchanging two neighbors of the center changes the distance by exactly one, so that under one Mallows model the order
bits of disjoint neighbors are independent (first part of the proof of Theorem 6.1 of Liu and Moitra, "Efficiently
Learning Mixtures of Mallows Models", FOCS 2018). The covariance of the bits, overlapping pairs zeroed, is then noise;
of a mixture of several components it has a rank of at most their number less one, and its leading eigenvectors point
along it.
"""

from typing import NamedTuple

import numpy as np

from skrank.mixture._em import expectation, maximization
from skrank.mixture._model import Mixture


class Direction(NamedTuple):
    """A direction in which the order bits of a component depend on each other."""

    component: int
    scores: np.ndarray  # of each row along it
    nats: float  # about what the dependence is worth in log-likelihood


def split_directions(data, row_weights, center, component=0, n_vectors=3):
    """The directions of the leading eigenvectors, the strongest first.

    Parameters
    ----------
    data : PairSigns
    row_weights : ndarray of shape (n_rows,)
        Of the component.
    center : ndarray of shape (n_items,)
    component : int, default=0
        Its number, kept in the directions.
    """
    bits = data.adjacent_signs(center).astype(float)
    total = row_weights.sum()
    centered = bits - (bits @ row_weights / total)[:, None]
    covariance = (centered * row_weights) @ centered.T / total
    pair = np.arange(len(bits))
    covariance[np.abs(pair[:, None] - pair) < 2] = 0
    values, vectors = np.linalg.eigh(covariance)
    strongest = np.argsort(-values, kind="stable")[:n_vectors]
    # A correlation r between two bits is worth r^2 / 2 a ranking; both entries of the matrix are in the eigenvalue.
    nats = total * values[strongest] ** 2 / 4
    return [Direction(component, *both) for both in zip(vectors.T[strongest] @ centered, nats, strict=True)]


def all_directions(data, mixture):
    """The directions of every component, and the weights of the rows in each component."""
    row_weights = expectation(data, mixture)[0] * data.weights
    return row_weights, [
        direction
        for component, center in enumerate(mixture.centers)
        for direction in split_directions(data, row_weights[component], center, component)
    ]


def side(row_weights, scores, share):
    """Weights of the rows with the lowest scores that make up a share of the component, zero elsewhere."""
    order = np.argsort(scores, kind="stable")
    middle = np.cumsum(row_weights[order]) - row_weights[order] / 2
    rows = order[middle <= share * row_weights.sum()]
    weights = np.zeros(len(scores), np.float32)
    weights[rows] = row_weights[rows]
    return weights


def splits(data, mixture, n_splits):
    """Mixtures with one component cut in halves, which take its place, along the strongest directions of all."""
    row_weights, directions = all_directions(data, mixture)
    directions = sorted(directions, key=lambda direction: -direction.nats)[:n_splits]
    halves = []
    for component, scores, _ in directions:
        lower = side(row_weights[component], scores, 0.5)
        halves += [lower, row_weights[component] - lower]
    centers, dispersions, _ = maximization(data, np.array(halves, np.float32), thorough=False)
    return [
        _with_halves(mixture, direction.component, centers[rows], dispersions[rows])
        for direction, rows in zip(directions, (slice(i, i + 2) for i in range(0, len(halves), 2)), strict=True)
    ]


def _with_halves(mixture, component, centers, dispersions):
    half = np.full(2, mixture.weights[component] / 2)
    return Mixture(
        np.vstack([np.delete(mixture.centers, component, axis=0), centers]),
        np.append(np.delete(mixture.dispersions, component), dispersions),
        np.append(np.delete(mixture.weights, component), half),
    )
