"""Kernels on full and partial rankings."""

from skrank.kernels._base import RankingKernel
from skrank.kernels._diffusion import DiffusionKernel
from skrank.kernels._kendall import KendallKernel
from skrank.kernels._mallows import MallowsKernel
from skrank.kernels._marginalized import MarginalizedKernel
from skrank.kernels._partial import PartialRankingKernel
from skrank.kernels._polynomial import PolynomialKendallKernel
from skrank.kernels._positions import HammingKernel, SpearmanKernel
from skrank.kernels._semimetric import DistanceInducedKernel, SemimetricKernel

__all__ = [
    "DiffusionKernel",
    "DistanceInducedKernel",
    "HammingKernel",
    "KendallKernel",
    "MallowsKernel",
    "MarginalizedKernel",
    "PartialRankingKernel",
    "PolynomialKendallKernel",
    "RankingKernel",
    "SemimetricKernel",
    "SpearmanKernel",
]
