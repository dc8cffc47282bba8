"""What one asks of a table of scores: who leads, how sure that is, and in which unit."""

import textwrap
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from skrank._typing import Array, Floats, Integers

ELO = 400 / np.log(10)  # points of a log-odd
ELO_ZERO = 1000.0
Unit = Literal["log-odds", "elo"]

ERRORS = {
    "model": "Errors are those of the model, which assumes independent comparisons. If many are by the same judge or "
    "about the same prompt, the errors are too small: pass groups.",
    "robust": "Errors are robust against ties, but assume independent comparisons. If many are by the same judge or "
    "about the same prompt, the errors are too small: pass groups.",
    "clustered": "Errors are clustered by groups (CR3).",
}


class Contrast(NamedTuple):
    """The difference of two scores; see :meth:`~skrank.linear_model.BradleyTerry.contrast`."""

    difference: float
    standard_error: float
    lower: float
    upper: float
    pvalue: float


@dataclass(frozen=True)
class Leaderboard:
    """Items by their scores, best first. Printing it shows a table and what its errors account for.

    It is returned by :meth:`BradleyTerry.leaderboard` and :meth:`PlackettLuce.leaderboard`.

    Parameters
    ----------
    items : ndarray of shape (n_items,)
        Labels, best first.
    scores, standard_errors, lower, upper : ndarray of shape (n_items,)
        Scores, their standard errors and the bounds of their intervals, in `unit`.
    rank_ranges : ndarray of shape (n_items, 2)
        First and last rank that are compatible with the data; 1 is the best.
    n_comparisons : ndarray of shape (n_items,)
        Total weight of the comparisons of each item, or of the rankings that include it.
    level : float
        Probability that an interval, or a range of ranks, contains the truth.
    simultaneous : bool
        Whether the ranges of ranks contain the ranks of all items simultaneously with this probability.
    unit : {"log-odds", "elo"}
        Unit of the scores. Elo points are 1000 + 400 / log(10) times the log-odds.
    errors : {"model", "robust", "clustered"}
        What the standard errors account for.

    Examples
    --------
    >>> from skrank.linear_model import BradleyTerry
    >>> games = [["ann", "bob"], ["bob", "cid"], ["ann", "cid"], ["cid", "ann"]]
    >>> print(BradleyTerry().fit(games, sample_weight=[9, 9, 12, 3]).leaderboard(unit="elo"))
         score  95 % interval   ranks  comparisons
    ann   1218   1078 to 1358  1 to 2           24
    bob   1000    873 to 1127  1 to 3           18
    cid    782     642 to 922  2 to 3           24
    Errors are those of the model, which assumes independent comparisons. If many
    are by the same judge or about the same prompt, the errors are too small: pass
    groups.
    """

    items: Array
    scores: Floats
    standard_errors: Floats
    lower: Floats
    upper: Floats
    rank_ranges: Integers
    n_comparisons: Floats
    level: float
    simultaneous: bool
    unit: Unit
    errors: str

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return the table as one dictionary for each item, for a DataFrame or JSON.

        Parameters
        ----------
        most : int, default=None
            Maximum number of rows, starting with the best. None means all.

        Returns
        -------
        list of dict
            With the keys item, score, standard_error, lower, upper, first_rank, last_rank, n_comparisons.
        """
        columns = zip(
            self.items.tolist(),
            self.scores.tolist(),
            self.standard_errors.tolist(),
            self.lower.tolist(),
            self.upper.tolist(),
            *self.rank_ranges.T.tolist(),
            self.n_comparisons.tolist(),
            strict=True,
        )
        keys = "item", "score", "standard_error", "lower", "upper", "first_rank", "last_rank", "n_comparisons"
        return [dict(zip(keys, values, strict=True)) for values in list(columns)[:most]]

    def __str__(self) -> str:
        digits = 0 if self.unit == "elo" else 2
        header = ["", "score", f"{100 * self.level:g} % interval", "ranks", "comparisons"]
        lines = [
            [
                str(row["item"]),
                f"{row['score']:.{digits}f}",
                f"{row['lower']:.{digits}f} to {row['upper']:.{digits}f}",
                rank_text(row["first_rank"], row["last_rank"]),
                f"{row['n_comparisons']:.4g}" if row["n_comparisons"] % 1 else f"{row['n_comparisons']:.0f}",
            ]
            for row in self.rows()
        ]
        widths = [max(len(line[column]) for line in [header, *lines]) for column in range(len(header))]
        rows = [
            "  ".join(
                [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]
            )
            for line in [header, *lines]
        ]
        return "\n".join([*rows, *textwrap.wrap(ERRORS[self.errors], 80)])


def rank_text(first, last):
    """A range of ranks; a dash for an item without one."""
    if np.isnan(first):
        return "-"
    return f"{first:.0f}" if first == last else f"{first:.0f} to {last:.0f}"


def in_unit(scores, unit):
    """Scores in another unit than log-odds."""
    return ELO_ZERO + ELO * scores if unit == "elo" else scores
