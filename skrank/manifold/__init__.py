"""Ordinal embedding: coordinates from triplet comparisons."""

from skrank.manifold._stochastic_triplet import StochasticTripletEmbedding
from skrank.manifold._triplets import TripletOracle

__all__ = ["StochasticTripletEmbedding", "TripletOracle"]
