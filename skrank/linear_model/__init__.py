"""Scores from pairwise comparisons."""

from skrank.linear_model._bradley_terry import BradleyTerry

__all__ = ["BradleyTerry"]
