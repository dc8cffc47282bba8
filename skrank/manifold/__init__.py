"""Ordinal embedding: coordinates from triplet queries and their responses."""

from skrank.manifold._distance_recovery import distances_from_differences
from skrank.manifold._euclidean_oracle import EuclideanOracle
from skrank.manifold._landmark_ordinal_embedding import LandmarkOrdinalEmbedding
from skrank.manifold._oracle import BindableOracle, BlockOracle, Oracle
from skrank.manifold._stochastic_triplet import StochasticTripletEmbedding
from skrank.manifold._study import TripletStudy
from skrank.manifold._triplet_oracle import TripletOracle
from skrank.manifold._wrapping_oracles import CachingOracle, CountingOracle

__all__ = [
    "BindableOracle",
    "BlockOracle",
    "CachingOracle",
    "CountingOracle",
    "EuclideanOracle",
    "LandmarkOrdinalEmbedding",
    "Oracle",
    "StochasticTripletEmbedding",
    "TripletOracle",
    "TripletStudy",
    "distances_from_differences",
]
