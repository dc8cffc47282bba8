"""The ballots of the 1980 election of the president of the American Psychological Association."""

import csv
from importlib import resources
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils._optional_dependencies import check_pandas_support
from sklearn.utils._param_validation import StrOptions

from skrank._rankings import check_rankings, settle_unranked, to_rank_matrix
from skrank._typing import Unranked, validate_params


@validate_params(
    {
        "unranked": [StrOptions({"last", "missing"}), None],
        "return_X_y": ["boolean"],
        "as_frame": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def load_apa(*, unranked: Unranked = "missing", return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the 15449 ballots of the 1980 election of the American Psychological Association.

    Each voter ranked up to five candidates. 5738 ballots rank all of them; 5141, 2462 and 2108 ballots rank only one,
    two and three candidates, respectively.

    Parameters
    ----------
    unranked : {"missing", "last"} or None, default="missing"
        How to encode candidates that a ballot leaves out. "missing" encodes them as NaN, so that nothing is known about
        them; "last" ties them after all others. None raises an error, because there are such ballots. To get only the
        complete ballots, select the rows without NaN, as in the example.
    return_X_y : bool, default=False
        Whether to return ``(data, sample_weight)`` instead of a Bunch. The second array is the number of voters with
        each ballot, since there are no classes to predict.
    as_frame : bool, default=False
        Whether `data` is a pandas DataFrame with the candidates as columns.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        data : ndarray or DataFrame of shape (205, 5), float64
            Rank matrix of the distinct ballots, the most frequent first; 0 is the most preferred.
        sample_weight : ndarray of shape (205,), int64
            Number of voters with each ballot.
        item_names : ndarray of shape (5,), str objects
            The candidates, A to E.
        DESCR : str
            Description and source.
    (data, sample_weight) : tuple
        If `return_X_y`.

    References
    ----------
    P. Diaconis, *Group Representations in Probability and Statistics*, IMS Lecture Notes 11 (1988), chapter 5, and "A
    generalization of spectral analysis with application to ranked data", The Annals of Statistics 17 (1989), 949-979.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.datasets import load_apa
    >>> apa = load_apa()
    >>> apa.data.shape, apa.sample_weight.sum()
    ((205, 5), np.int64(15449))
    >>> complete = ~np.isnan(apa.data).any(axis=1)
    >>> complete.sum(), apa.sample_weight[complete].sum()
    (np.int64(120), np.int64(5738))
    """
    text = resources.files("skrank.datasets").joinpath("data/apa_1980.csv").read_text(encoding="utf-8")
    names, *rows = csv.reader(text.splitlines())
    table = np.array([[cell or "nan" for cell in row] for row in rows], dtype=np.float64)
    ranks = settle_unranked(
        check_rankings(table[:, :-1]), unranked, lambda row, item: f"Ballot {row} leaves out candidate {names[item]}"
    )
    data, sample_weight = to_rank_matrix(ranks), table[:, -1].astype(np.int64)
    if as_frame:
        data = check_pandas_support("load_apa with as_frame=True").DataFrame(data, columns=names[:-1])
    if return_X_y:
        return data, sample_weight
    return Bunch(
        data=data,
        sample_weight=sample_weight,
        item_names=np.array(names[:-1], dtype=object),
        DESCR=(
            "Ballots of the 1980 election of the president of the American Psychological Association: 15449 voters, "
            "five candidates, partial ballots included. Counts of distinct ballots as published by P. Diaconis (1988)."
        ),
    )
