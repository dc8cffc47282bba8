"""From a rank matrix to the table that a mixture is fitted to: distinct voters, their weights, and their engine."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from skrank._rankings import MISSING, aggregate, has_missing, n_buckets
from skrank.mixture._pair_counts import PairCounts
from skrank.mixture._pair_signs import PairSigns


def check_groups(groups, n_samples):
    """The voter of each row as a number 0, 1, ..., from labels of any one type that can be sorted."""
    try:
        labels = column_or_1d(groups)
        missing = labels != labels
        voters = np.unique(labels, return_inverse=True)[1].ravel()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"groups must be a 1-d array of labels of one type, one for each row of X ({error}). Convert labels of "
            "mixed types to strings."
        ) from error
    if len(labels) != n_samples:
        raise ValueError(f"groups has {len(labels)} labels, but X has {n_samples} rows. Give the voter of each row.")
    if np.any(missing):
        raise ValueError(f"groups[{int(np.argmax(missing))}] is missing. Give every row a voter, or leave the row out.")
    return voters


def make_table(ranks, weights=None, groups=None):
    """The table of distinct voters, and the number of each row's voter in it.

    Without groups every row is a voter. The table is a function of the voters' rankings and weights alone, not of the
    order of the rows or of the voters' labels; voters of weight zero are left out.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
        Densified rankings.
    weights : ndarray of shape (n_samples,), default=None
        How often each row's voter was seen; None means once.
    groups : array-like of shape (n_samples,), default=None
        The voter of each row.

    Returns
    -------
    data : PairSigns or PairCounts
    inverse : ndarray of shape (n_samples,)
        -1 where the voter is left out.
    """
    voters = None if groups is None else check_groups(groups, len(ranks))
    if voters is None or voters.max() + 1 == len(voters):
        table = aggregate(ranks, weights)
        engine = PairCounts if has_missing(table.ranks) else PairSigns
        return engine(table.ranks, weights=table.weights), table.inverse
    table = aggregate(ranks)
    voter_weights = _weights_of_voters(weights, voters)
    voter_of, members, totals = _distinct_voters(voters, table.inverse, voter_weights)
    return PairCounts(table.ranks, members, totals), voter_of[voters]


def _weights_of_voters(weights, voters):
    """The one weight of each voter; an error if rows of a voter differ."""
    if weights is None:
        return np.ones(voters.max() + 1)
    first = np.unique(voters, return_index=True)[1]
    differs = weights != weights[first][voters]
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"sample_weight[{row}] is {weights[row]:g}, but {weights[first[voters[row]]]:g} in row "
            f"{first[voters[row]]} of the same voter (groups). A weight counts voters: give all rows of one the same."
        )
    return weights[first]


def _distinct_voters(voters, rankings, weights):
    """Voters who gave the same rankings as one voter of their summed weight.

    Returns
    -------
    number : ndarray of shape (n_voters,)
        Of each voter in the table, -1 where its weight is zero.
    members : csr_array of shape (n_distinct, n_rankings)
    totals : ndarray of shape (n_distinct,)
    """
    order = np.lexsort([rankings, voters])
    answers = rankings[order]
    n_answers = np.bincount(voters)
    starts = np.cumsum(n_answers) - n_answers
    number, n_found = np.full(len(n_answers), -1), 0
    columns: list[np.ndarray] = [np.empty(0, np.int64)]
    totals: list[np.ndarray] = [np.empty(0)]
    lengths: list[np.ndarray] = [np.empty(0, np.int64)]
    # By number of answers: then voters are rows of an array.
    for size in np.unique(n_answers):
        some = np.flatnonzero((n_answers == size) & (weights > 0))
        if not len(some):
            continue
        rows = answers[starts[some][:, None] + np.arange(size)]
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        number[some] = n_found + inverse.ravel()
        totals.append(np.bincount(inverse.ravel(), weights[some]))
        columns.append(distinct.ravel())
        lengths.append(np.full(len(distinct), size))
        n_found += len(distinct)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int32)
    indices = np.concatenate(columns).astype(np.int32)
    members = sparse.csr_array((np.ones(len(indices)), indices, indptr), (n_found, rankings.max() + 1))
    members.sum_duplicates()
    return number, members, np.concatenate(totals)


def orders_something(ranks, groups=None):
    """Which rows belong to a voter who orders at least two items strictly in some row, shape (n_samples,)."""
    informative = n_buckets(ranks) > 1
    if groups is None:
        return informative
    voters = check_groups(groups, len(ranks))
    return np.bincount(voters, informative)[voters] > 0


def complete_table(data):
    """The part of a table whose voters gave one ranking each that leaves no item out."""
    if isinstance(data, PairSigns):
        return data
    single = np.flatnonzero(np.diff(data.members.indptr) == 1)
    entry = data.members.indptr[single]
    ranks = data.ranks[data.members.indices[entry]]
    complete = (data.members.data[entry] == 1) & (ranks != MISSING).all(axis=1)
    return PairSigns(ranks[complete], data.weights[single[complete]])
