"""Scores from pairwise comparisons."""
