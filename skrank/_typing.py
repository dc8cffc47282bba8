"""Types of the public interface, and scikit-learn's decorators with types that keep those of what they decorate."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "ArrayLike", "Floats", "Integers", "Items", "Names", "RandomState", "Unranked"]

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.integer[Any]]
Items: TypeAlias = ArrayLike | range | None
Names: TypeAlias = Collection[Any] | None
RandomState: TypeAlias = int | np.random.RandomState | None
Unranked: TypeAlias = Literal["last", "missing"] | None

if TYPE_CHECKING:
    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

    def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Decorated], Decorated]: ...

    def validate_params(
        parameter_constraints: dict[str, Any], *, prefer_skip_nested_validation: bool
    ) -> Callable[[Decorated], Decorated]: ...

else:
    # scikit-learn has no types, so that to type checkers whatever its decorators return is unknown.
    from sklearn.base import _fit_context
    from sklearn.utils._param_validation import validate_params

__all__ += ["_fit_context", "validate_params"]
