"""What the package offers at its top."""

import pytest

import skrank


def test_subpackages_and_estimators_are_found_by_name():
    assert {"kernels", "MallowsMixture", "__version__"} <= set(dir(skrank))
    assert skrank.MallowsMixture is skrank.mixture.MallowsMixture
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        skrank.nothing  # noqa: B018
