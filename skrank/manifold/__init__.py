"""Ordinal embedding: coordinates from triplet comparisons."""

from skrank.manifold._landmark import LandmarkOrdinalEmbedding
from skrank.manifold._oracles import CachingOracle, CountingOracle, EuclideanOracle
from skrank.manifold._stochastic_triplet import StochasticTripletEmbedding
from skrank.manifold._triplets import TripletOracle

__all__ = [
    "CachingOracle",
    "CountingOracle",
    "EuclideanOracle",
    "LandmarkOrdinalEmbedding",
    "StochasticTripletEmbedding",
    "TripletOracle",
]
