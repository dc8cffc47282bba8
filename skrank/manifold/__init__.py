"""Ordinal embedding: coordinates from triplet comparisons."""
