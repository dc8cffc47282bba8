"""OrderingEncoder: ballots with columns for the first choice, second choice and so on, as a step of a pipeline."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._fitting import all_or_nothing
from skrank._rankings import check_rankings, item_names, named_like
from skrank._typing import Array, ArrayLike, Floats, Unranked, _fit_context
from skrank.preprocessing._labels import check_items, distinct_labels, label_table
from skrank.preprocessing._orderings import UNRANKED, fit_width, order_ranks, rank_orderings


class OrderingEncoder(TransformerMixin, BaseEstimator):
    """Encode ballots with columns for the first choice, second choice and so on as a rank matrix.

    The input lists item labels, best first; the output has one column for each item, which contains its rank on the
    ballot. The encoder is a transformer version of `ranks_from_orderings`: it learns the labels, validates new ballots
    against them, names its output columns, and can be inverted.

    Parameters
    ----------
    items : "auto" or array-like of shape (n_items,), default="auto"
        Labels of the items, in the order of the output columns. "auto" uses the sorted labels that occur in the ballots
        of `fit`; pass the labels if some items may not occur on any ballot.
    unranked : {"last", "missing"}, default=None
        How to encode items that a ballot leaves out. "last" ties them after all its items; "missing" encodes them as
        NaN, so that nothing is known about them. None raises an error if an item is left out, because skrank does not
        guess.
    handle_unknown : {"error", "ignore"}, default="error"
        What to do with a label that is not among the items: raise, or leave it out, so that the ballot's later items
        move up. As in :class:`sklearn.preprocessing.OneHotEncoder`.

    Attributes
    ----------
    items_ : ndarray of shape (n_items,)
        Labels of the items: numbers if all are numbers, objects otherwise.
    n_features_in_ : int
        Number of choices on a ballot.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of the ballots, if they are strings.

    See Also
    --------
    ranks_from_orderings : The same as a function.

    Notes
    -----
    Labels may be of any hashable type, also mixed. None, NaN, NA and the empty string are empty cells, unless `items`
    lists the empty string; empty cells may only end a ballot. An unknown label is not an empty cell: see
    `handle_unknown`.

    Examples
    --------
    >>> import pandas as pd
    >>> from skrank.preprocessing import OrderingEncoder
    >>> ballots = pd.DataFrame({"first": ["tuna", "squid"], "second": ["egg", None]})
    >>> encoder = OrderingEncoder(unranked="last").set_output(transform="pandas")
    >>> encoder.fit_transform(ballots)
       egg  squid  tuna
    0  1.0    2.0   0.0
    1  1.0    0.0   1.0
    >>> encoder.inverse_transform([[1, 2, 0], [1, 0, 1]])
    array([['tuna', 'egg'],
           ['squid', None]], dtype=object)
    """

    _parameter_constraints = {
        "items": [StrOptions({"auto"}), "array-like", range],
        **UNRANKED,
        "handle_unknown": [StrOptions({"error", "ignore"})],
    }

    def __init__(
        self,
        *,
        items: ArrayLike | range | Literal["auto"] = "auto",
        unranked: Unranked = None,
        handle_unknown: Literal["error", "ignore"] = "error",
    ) -> None:
        self.items = items
        self.unranked = unranked
        self.handle_unknown = handle_unknown

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the labels of the items.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_choices), or list of lists of items
            Ballots: item labels, best first.
        y : None
            Ignored.

        Returns
        -------
        self : OrderingEncoder
            The fitted encoder.
        """
        self._fit_ranks(X)
        return self

    def transform(self, X: Any) -> Floats:
        """Rank matrix of ballots.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_choices), or list of lists of items
            Ballots: item labels, best first.

        Returns
        -------
        ranks : ndarray of shape (n_samples, n_items), float64
            0 is the most preferred; unranked items are tied after all others or NaN. A DataFrame after ``set_output``.

        Raises
        ------
        ValueError
            If a ballot holds an unknown item (`handle_unknown="error"`), an item twice or an empty cell before an item,
            or (`unranked=None`) leaves an item out; names the row and the value.
        """
        check_is_fitted(self)
        return self._rank(self._validate_ballots(X, reset=False))

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Learn the labels of the items and return the rank matrix of the ballots.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_choices), or list of lists of items
            Ballots: item labels, best first.
        y : None
            Ignored.

        Returns
        -------
        ranks : ndarray of shape (n_samples, n_items), float64
            As returned by `transform`.
        """
        return self._fit_ranks(X)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Ballots of a rank matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, columns in the order of `items_`. Those of a DataFrame must have the items' names.

        Returns
        -------
        ballots : ndarray of shape (n_samples, `n_features_in_`)
            Item labels, best first. If ballots leave items out, the dtype is object and they end in None. A DataFrame
            if X is one, with the columns of `feature_names_in_` where there are any.

        Raises
        ------
        ValueError
            If the columns of a DataFrame are not the items in their order, a row has ties or NaN that `unranked` does
            not account for, or it ranks more items than a ballot has room for.
        """
        check_is_fitted(self)
        ranks = check_rankings(X)
        n_items, n_choices = len(self.items_), self.n_features_in_
        if ranks.shape[1] != n_items:
            raise ValueError(f"X has {ranks.shape[1]} columns, but the encoder knows {n_items} items.")
        self._refuse_other_items(X)
        ballots = order_ranks(ranks, self.items_, self.unranked, "X")
        if self.unranked == "last" and n_choices == n_items - 1:
            ballots = ballots[:, :n_choices]  # the one item left out comes after all others: nothing is lost
        choices = getattr(self, "feature_names_in_", [f"choice{place}" for place in range(1, n_choices + 1)])
        return named_like(X, fit_width(ballots, n_choices, "X"), choices)

    def _refuse_other_items(self, X):
        """Raise if the columns of a DataFrame are not the items."""
        names = item_names(X)
        if names is None:
            return
        expected = [str(item) for item in self.items_.tolist()]
        given = [str(name) for name in names]
        if given != expected:
            place = next(place for place, pair in enumerate(zip(given, expected, strict=True)) if pair[0] != pair[1])
            raise ValueError(
                f"The columns of X must be the encoder's items in their order, but column {place} is "
                f"{given[place]!r} and not {expected[place]!r}. Pass X[encoder.get_feature_names_out()]."
            )

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the output columns, which are the items.

        Parameters
        ----------
        input_features : array-like of shape (`n_features_in_`,), default=None
            Ignored, because the output columns are not those of the input.

        Returns
        -------
        names : ndarray of shape (n_items,), str objects
            Labels of the items as strings.
        """
        check_is_fitted(self)
        names = np.array([str(item) for item in self.items_.tolist()], dtype=object)
        if len(set(names)) < len(names):
            raise ValueError(f"Different items have the same name as strings ({names.tolist()}); rename one of them.")
        return names

    def _fit_ranks(self, X):
        table = self._validate_ballots(X, reset=True)
        self.items_ = distinct_labels(table) if isinstance(self.items, str) else check_items(self.items)
        if len(self.items_) == 0:
            raise ValueError("X holds no item at all: every cell is empty.")
        return self._rank(table)

    def _rank(self, table):
        ignore = self.handle_unknown == "ignore"
        return rank_orderings(table, self.items_, self.unranked, "X", ignore_unknown=ignore)

    def _validate_ballots(self, X, reset):
        table = label_table(X, "X")
        validate_data(self, X if hasattr(X, "columns") else table, reset=reset, skip_check_array=True)
        return check_array(table, dtype=None, ensure_all_finite=False, input_name="X", estimator=self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
