"""Studies with people: the record of queries and responses, the design of queries, raters and expected errors."""

from skrank.manifold._study._triplet_study import TripletStudy

__all__ = ["TripletStudy"]
