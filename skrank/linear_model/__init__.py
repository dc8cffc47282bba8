"""Scores from comparisons."""

from skrank.linear_model._bradley_terry import BradleyTerry
from skrank.linear_model._judge_estimators import (
    BradleyTerryMixture,
    JudgeComparison,
    PersonalBradleyTerry,
    compare_judge_models,
)
from skrank.linear_model._leaderboard import Leaderboard
from skrank.linear_model._plackett_luce import PlackettLuce

__all__ = [
    "BradleyTerry",
    "BradleyTerryMixture",
    "JudgeComparison",
    "Leaderboard",
    "PersonalBradleyTerry",
    "PlackettLuce",
    "compare_judge_models",
]
