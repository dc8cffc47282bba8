"""Distances between rankings and scores of what was learned from them."""
