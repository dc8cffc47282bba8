"""skrank: scikit-learn for rankings.

Rankings are the rows of a rank matrix ``X`` of shape (n_samples, n_items): ``X[s, i]`` is the rank that ranking ``s``
gives item ``i``; lower is preferred, equal values are ties, NaN is missing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what __getattr__ imports
    from skrank.kernels import PartialRankingKernel as PartialRankingKernel
    from skrank.manifold import LandmarkOrdinalEmbedding as LandmarkOrdinalEmbedding
    from skrank.mixture import MallowsMixture as MallowsMixture
    from skrank.mixture import SeparatedMallowsMixture as SeparatedMallowsMixture

__version__ = "0.1.0"

_subpackages = (
    "datasets",
    "exceptions",
    "inspection",
    "kernel_approximation",
    "kernels",
    "linear_model",
    "manifold",
    "metrics",
    "mixture",
    "preprocessing",
    "stats",
)
_estimators = {
    "LandmarkOrdinalEmbedding": "manifold",
    "MallowsMixture": "mixture",
    "PartialRankingKernel": "kernels",
    "SeparatedMallowsMixture": "mixture",
}

__all__ = [*_subpackages, *_estimators]


def __dir__():
    return [*__all__, "__version__"]


def __getattr__(name):
    # Subpackages are imported when they are first asked for, as in scikit-learn: `import skrank` stays cheap.
    if name in _subpackages:
        return import_module(f"skrank.{name}")
    if name in _estimators:
        return getattr(import_module(f"skrank.{_estimators[name]}"), name)
    raise AttributeError(f"module 'skrank' has no attribute {name!r}")
