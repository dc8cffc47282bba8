"""The names of the kernels, for `PartialRankingKernel`, tests and commands."""

from skrank.kernels._base import RankingKernel
from skrank.kernels._diffusion import DiffusionKernel
from skrank.kernels._kendall import KendallKernel
from skrank.kernels._mallows import MallowsKernel
from skrank.kernels._polynomial import PolynomialKendallKernel
from skrank.kernels._positions import HammingKernel, SpearmanKernel
from skrank.kernels._semimetric import SemimetricKernel

SEMIMETRICS = ("kemeny", "spearman_footrule", "spearman", "hamming", "lp")
CLASSES = {
    "kendall": KendallKernel,
    "mallows": MallowsKernel,
    "polynomial": PolynomialKendallKernel,
    "hamming": HammingKernel,
    "spearman": SpearmanKernel,
    "diffusion": DiffusionKernel,
}
KERNEL_NAMES = (*CLASSES, *(f"semimetric_{metric}" for metric in SEMIMETRICS))


def named_kernel(name: str) -> RankingKernel:
    """The kernel object of a name in ``KERNEL_NAMES``."""
    if name in CLASSES:
        return CLASSES[name]()
    return SemimetricKernel(metric=name.removeprefix("semimetric_"))
