"""Embedded data, readers and writers of ranking files, and generators."""

from skrank.datasets._triplets import make_triplets

__all__ = ["make_triplets"]
