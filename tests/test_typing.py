"""The public interface is typed: every argument and result of every public function and method."""

import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import skrank

SUBPACKAGES = [import_module(f"skrank.{name}") for name in skrank._subpackages]
PUBLIC = [getattr(package, name) for package in SUBPACKAGES for name in package.__all__]


def functions(value):
    """The functions behind a public name: itself, or the public methods that skrank defines for a class."""
    if not inspect.isclass(value):
        return [value]
    found = []
    for owner in value.__mro__:
        if not owner.__module__.startswith("skrank"):
            continue
        for name, member in list(vars(owner).items()):
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if inspect.isfunction(function) and (not name.startswith("_") or name in ("__init__", "__call__")):
                found.append(function)
    return found


@pytest.mark.parametrize("value", PUBLIC, ids=lambda value: value.__name__)
def test_every_argument_and_result_has_a_type(value):
    for function in functions(value):
        function = inspect.unwrap(function)
        if not function.__module__.startswith("skrank"):
            continue
        signature = inspect.signature(function)
        missing = [
            name
            for name, parameter in signature.parameters.items()
            if name not in ("self", "cls") and parameter.annotation is parameter.empty
        ]
        assert not missing, (function.__qualname__, missing)
        assert signature.return_annotation is not signature.empty, function.__qualname__


@pytest.mark.parametrize("value", PUBLIC, ids=lambda value: value.__name__)
def test_signatures_are_readable_in_help(value):
    for function in functions(value):
        assert "_array_like" not in str(inspect.signature(function)), function.__qualname__


def test_the_package_says_so():
    assert (Path(skrank.__file__).parent / "py.typed").is_file()


def test_results_are_of_the_types_that_are_announced():
    X = np.array([[0.0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]])
    assert skrank.metrics.pairwise_ranking_distances(X).dtype == np.float64
    assert skrank.PartialRankingKernel("kendall").fit_transform(X).dtype == np.float64
    assert skrank.stats.mallows([0, 1, 2], 0.5).rvs(3, random_state=0).dtype.kind == "i"
    assert skrank.preprocessing.ranks_from_scores(X).dtype == np.float64
    assert isinstance(skrank.stats.mmd_test(X, X, n_permutations=1).pvalue, float)
