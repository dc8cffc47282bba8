"""Mixtures of Mallows models, and of Bradley-Terry models."""

from skrank.mixture._bradley_terry_mixture import BradleyTerryMixture
from skrank.mixture._judge_comparison import JudgeComparison, compare_judge_models
from skrank.mixture._mallows_mixture import MallowsMixture
from skrank.mixture._separated_mallows_mixture import SeparatedMallowsMixture

__all__ = [
    "BradleyTerryMixture",
    "JudgeComparison",
    "MallowsMixture",
    "SeparatedMallowsMixture",
    "compare_judge_models",
]
