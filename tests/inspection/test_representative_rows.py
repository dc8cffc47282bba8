"""Rows that stand for weighted rankings."""

import numpy as np

from skrank.inspection._base import representative_rows


def test_survey_weights_repeat_no_row_more_often_than_they_must():
    weights = np.array([0.5, 0.0, 1.7, 0.3, 2.5])  # worth 5 equal ones
    for seed in range(20):
        rows, drawn = representative_rows(weights, 5, seed)
        assert drawn
        counts = np.bincount(rows, minlength=5)
        assert counts.sum() == 5
        assert (np.floor(weights) <= counts).all()
        assert (counts <= np.ceil(weights)).all()
