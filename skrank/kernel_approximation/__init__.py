"""Explicit feature maps that approximate kernels on rankings."""

from skrank.kernel_approximation._mallows_features import MallowsFeatures

__all__ = ["MallowsFeatures"]
