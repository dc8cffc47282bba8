"""Mixtures of Mallows models."""

from skrank.mixture._mallows_mixture import MallowsMixture
from skrank.mixture._separated import SeparatedMallowsMixture

__all__ = ["MallowsMixture", "SeparatedMallowsMixture"]
