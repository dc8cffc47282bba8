"""Mixtures of Mallows models."""

from skrank.mixture._bootstrap import MixtureBootstrap
from skrank.mixture._mallows_mixture import MallowsMixture
from skrank.mixture._separated_mallows_mixture import SeparatedMallowsMixture
from skrank.mixture._stability import StabilityResult

__all__ = ["MallowsMixture", "MixtureBootstrap", "SeparatedMallowsMixture", "StabilityResult"]
