"""Scores from comparisons."""

from skrank.linear_model._bradley_terry import BradleyTerry
from skrank.linear_model._leaderboard import Leaderboard
from skrank.linear_model._personal_bradley_terry import PersonalBradleyTerry
from skrank.linear_model._plackett_luce import PlackettLuce

__all__ = ["BradleyTerry", "Leaderboard", "PersonalBradleyTerry", "PlackettLuce"]
