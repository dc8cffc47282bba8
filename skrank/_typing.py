"""Types of the public interface, and scikit-learn's decorators with types that keep those of what they decorate."""

import inspect
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

__all__ = ["Array", "ArrayLike", "Floats", "Integers", "Items", "Names", "RandomState", "Unranked"]
__all__ += ["_fit_context", "validate_params"]

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.integer[Any]]
    Items: TypeAlias = ArrayLike | range | None
    Names: TypeAlias = Collection[Any] | None
    RandomState: TypeAlias = int | np.random.RandomState | None
    Unranked: TypeAlias = Literal["last", "missing"] | None

    Decorated = TypeVar("Decorated", bound=Callable[..., Any])

    def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Decorated], Decorated]: ...

    def validate_params(
        parameter_constraints: dict[str, Any], *, prefer_skip_nested_validation: bool
    ) -> Callable[[Decorated], Decorated]: ...

else:
    # scikit-learn has no types, so that to type checkers whatever its decorators return is unknown.
    from sklearn.base import _fit_context
    from sklearn.utils._param_validation import validate_params

    class _Alias:
        """A type that `help` shows by its name; type checkers see the definitions above."""

        def __init__(self, name):
            self.name = name

        def __repr__(self):
            return self.name

        def __or__(self, other):
            return _Alias(f"{self} | {'None' if other is None else inspect.formatannotation(other)}")

        def __ror__(self, other):
            return _Alias(f"{'None' if other is None else inspect.formatannotation(other)} | {self}")

    Array, ArrayLike, Floats, Integers = map(_Alias, ("Array", "ArrayLike", "Floats", "Integers"))
    Items, Names, RandomState, Unranked = map(_Alias, ("Items", "Names", "RandomState", "Unranked"))
