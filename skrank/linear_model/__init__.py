"""Scores from comparisons."""

from skrank.linear_model._bradley_terry import BradleyTerry
from skrank.linear_model._leaderboard import Leaderboard

__all__ = ["BradleyTerry", "Leaderboard"]
