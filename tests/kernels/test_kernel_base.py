"""What all kernels on rankings share: validation, repeated rankings, scikit-learn's kernel interface."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Hyperparameter

from skrank.kernels import RankingKernel

NAN = np.nan


class ScaledAgreement(RankingKernel):
    """scale times the number of items of equal rank, and a record of the sizes it is asked for."""

    exact_on = frozenset({"ties"})
    sizes = []

    def __init__(self, scale=2.0, scale_bounds=(1e-3, 1e3), missing_values=NAN):
        self.scale = scale
        self.scale_bounds = scale_bounds
        self.missing_values = missing_values

    @property
    def hyperparameter_scale(self):
        return Hyperparameter("scale", "numeric", self.scale_bounds)

    def _pairwise(self, ranks, other_ranks=None):
        other_ranks = ranks if other_ranks is None else other_ranks
        self.sizes.append((len(ranks), len(other_ranks)))
        return self.scale * (ranks[:, None] == other_ranks).sum(axis=2).astype(float)

    def _pairwise_and_gradient(self, ranks):
        gram = self._pairwise(ranks)
        return gram, gram[:, :, None]

    def _diag(self, ranks):
        return np.full(len(ranks), self.scale * ranks.shape[1])


def test_arrays_and_data_frames_give_the_same():
    X = np.array([[2, 1, 1], [3, 7, 5]])
    expected = [[6.0, 0.0], [0.0, 6.0]]
    kernel = ScaledAgreement()
    for form in (X, X.astype(np.float32), X.tolist(), pd.DataFrame(X), pl.DataFrame(X)):
        assert kernel(form).tolist() == expected
        assert kernel(form, X[:1]).tolist() == [[6.0], [0.0]]
        assert kernel.diag(form).tolist() == [6.0, 6.0]


def test_repeated_rankings_are_computed_once_where_that_pays():
    rng = np.random.default_rng(0)
    X = np.array([[1, 2, 3], [3, 1, 2], [1, 1, 2]])[rng.integers(0, 3, 40)]
    Y = rng.integers(0, 3, (7, 3))
    kernel = ScaledAgreement()
    definition = 2.0 * (kernel._validate(X, "X")[:, None] == kernel._validate(Y, "Y")).sum(axis=2)
    kernel.sizes.clear()
    assert (kernel(X, Y) == definition).all()
    assert kernel.sizes.pop()[0] == 3
    gram, gradient = kernel(X, eval_gradient=True)
    assert kernel.sizes.pop() == (3, 3)
    assert (gram == kernel(X, X.copy())).all()
    assert (gradient[..., 0] == gram).all()
    kernel.sizes.clear()
    kernel(X[:1])
    assert kernel.sizes == [(1, 1)]


def test_rows_without_closed_form_are_named():
    with pytest.raises(ValueError, match=r"Row 1 of Y has missing items.*MarginalizedKernel\(ScaledAgreement"):
        ScaledAgreement()([[1, 2]], [[1, 2], [1, NAN]])

    class OnFullRankings(ScaledAgreement):
        exact_on = frozenset()

    with pytest.raises(ValueError, match=r"Row 2 of X ties items.*MarginalizedKernel\(OnFullRankings"):
        OnFullRankings().diag([[1, 2], [2, 1], [3, 3]])


def test_a_number_can_stand_for_missing():
    with pytest.raises(ValueError, match="Row 0 of X has missing items"):
        ScaledAgreement(missing_values=-1)([[1, -1]])
    assert ScaledAgreement()([[1, -1]]).tolist() == [[4.0]]


def test_bad_calls_are_refused():
    with pytest.raises(ValueError, match="X ranks 2 items but Y ranks 3"):
        ScaledAgreement()([[1, 2]], [[1, 2, 3]])
    frame = pd.DataFrame({"egg": [1], "tuna": [2]})
    with pytest.raises(ValueError, match=r"same items in the same order, got \['egg', 'tuna'\] and \['tuna', 'egg'\]"):
        ScaledAgreement()(frame, frame[["tuna", "egg"]])
    with pytest.raises(ValueError, match="Gradient can only be evaluated when Y is None"):
        ScaledAgreement()([[1, 2]], [[1, 2]], eval_gradient=True)


def test_equality_clone_and_representation():
    kernel = ScaledAgreement(scale=0.5)
    assert clone(kernel) == kernel
    assert kernel != ScaledAgreement(scale=0.25)
    assert kernel.clone_with_theta(np.log([0.25])) == ScaledAgreement(scale=np.exp(np.log(0.25)))
    assert repr(kernel) == "ScaledAgreement(scale=0.5)"
    assert repr(ScaledAgreement(scale=1 / 3, missing_values=-1)) == "ScaledAgreement(scale=0.333, missing_values=-1)"
    assert not kernel.is_stationary()
    assert kernel.requires_vector_input
