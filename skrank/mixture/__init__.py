"""Mixtures of Mallows models."""

from skrank.mixture._mallows_mixture import MallowsMixture
from skrank.mixture._separated_mallows_mixture import SeparatedMallowsMixture

__all__ = ["MallowsMixture", "SeparatedMallowsMixture"]
