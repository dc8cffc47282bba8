"""Scores, ratings and utilities -> rank matrices."""

from skrank._rankings import check_rankings, densify, named_like, to_rank_matrix
from skrank._typing import ArrayLike, Floats, validate_params


@validate_params(
    {"scores": "no_validation", "higher_is_preferred": ["boolean"]},
    prefer_skip_nested_validation=True,
)
def ranks_from_scores(scores: ArrayLike, *, higher_is_preferred: bool = True) -> Floats:
    """Rank matrix of scores: ratings, utilities, times, prices.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_items)
        ``scores[s, i]`` is the score of item i in row s. Equal scores are ties, NaN is missing, and infinite scores are
        an error.
    higher_is_preferred : bool, default=True
        Whether the highest score is preferred (ratings) or the lowest one (times, prices). In the latter case, the
        scores already are a rank matrix and are only renumbered.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_items), float64
        Dense ranks in each row; 0 is the most preferred. If `scores` is a DataFrame, so is the result, with the same
        rows and columns.

    Raises
    ------
    ValueError
        If `scores` is not 2-d, is empty, or contains infinite values or labels; the message names the row.

    Examples
    --------
    >>> from skrank.preprocessing import ranks_from_scores
    >>> ranks_from_scores([[4.5, 2.0, 4.5, float("nan")]])
    array([[ 0.,  1.,  0., nan]])
    >>> ranks_from_scores([[61.2, 59.8, 60.4]], higher_is_preferred=False)
    array([[2., 0., 1.]])
    """
    ranks = check_rankings(scores, input_name="scores")
    if higher_is_preferred:
        ranks = to_rank_matrix(ranks)
        ranks = densify(-ranks)
    return named_like(scores, to_rank_matrix(ranks))
