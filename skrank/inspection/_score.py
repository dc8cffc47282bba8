"""ScoreDisplay: scores of items, their intervals, and the ranks that they leave open."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank._typing import RandomState
from skrank.inspection._base import OKABE_ITO, axes, plain, row_height, wrap_names
from skrank.linear_model._leaderboard import Leaderboard, Unit, rank_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ScoreDisplay:
    """A dot and an interval for each item, best first, and next to them the ranks that are compatible with the data.

    Create it with :meth:`from_estimator`.

    Parameters
    ----------
    leaderboard : Leaderboard
        The result of ``leaderboard()`` of :class:`~skrank.linear_model.BradleyTerry` or
        :class:`~skrank.linear_model.PlackettLuce`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    intervals_ : matplotlib ErrorbarContainer
        The dots and intervals.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skrank.inspection import ScoreDisplay
    >>> from skrank.linear_model import BradleyTerry
    >>> games = [["ann", "bob"], ["bob", "cid"], ["ann", "cid"], ["cid", "ann"]]
    >>> model = BradleyTerry().fit(games, sample_weight=[9, 9, 12, 3])
    >>> display = ScoreDisplay.from_estimator(model)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['ann', 'bob', 'cid']
    >>> plt.close(display.figure_)
    """

    def __init__(self, leaderboard: Leaderboard) -> None:
        self.leaderboard = leaderboard

    def plot(self, ax: "Axes | None" = None, *, color: Any = OKABE_ITO[0], max_items: int = 60) -> Self:
        """Draw the dots and intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        color : matplotlib color, default="#0072B2"
            Color of dots and intervals.
        max_items : int, default=60
            Maximum number of items to show, starting with the best; the plot says if there are more.

        Returns
        -------
        display : ScoreDisplay
        """
        board = self.leaderboard
        n_items = min(len(board.items), max_items)
        names = wrap_names(board.items[:n_items].tolist())
        ax = axes(ax, "ScoreDisplay.plot", (8, max(1.8 + row_height(names, 0.3) * n_items, 2.5)))
        place = np.arange(n_items)
        scores = board.scores[:n_items]
        # rounding may put a score that is exactly known outside its interval
        reach = np.maximum([scores - board.lower[:n_items], board.upper[:n_items] - scores], 0)
        self.intervals_ = ax.errorbar(scores, place, xerr=reach, fmt="o", color=color, capsize=2)
        ax.set_yticks(place, names)
        ax.set_ylim(n_items - 0.4, -0.6)
        ax.grid(axis="x", color="0.9")
        ax.set_axisbelow(True)
        some = f" (the first {n_items} of {len(board.items)} items)" if n_items < len(board.items) else ""
        unit = "Elo points" if board.unit == "elo" else "log-odds"
        what = "clustered by groups" if board.errors == "clustered" else "as if comparisons were independent"
        ax.set_xlabel(plain(f"score in {unit}, with intervals of {100 * board.level:g} %{some},\n{what}"))
        right = ax.secondary_yaxis("right")
        ranges = board.rank_ranges[:n_items].tolist()
        right.set_yticks(place, [rank_text(first, last) for first, last in ranges])
        right.tick_params(length=0)
        right.set_ylabel("ranks, all at once" if board.simultaneous else "ranks")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        level: float = 0.95,
        unit: Unit = "log-odds",
        simultaneous: bool = False,
        random_state: RandomState = 0,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Compute the leaderboard of a fitted estimator and draw it.

        Parameters
        ----------
        estimator : fitted BradleyTerry or PlackettLuce
            Or any estimator with a method `leaderboard`.
        level : float, default=0.95
            Probability that an interval, or a range of ranks, contains the truth.
        unit : {"log-odds", "elo"}, default="log-odds"
            Unit of the scores.
        simultaneous : bool, default=False
            Whether the ranges contain the ranks of all items simultaneously with this probability, or each range
            separately.
        random_state : int, RandomState instance or None, default=0
            Determines the draws from which ranges of ranks are computed.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.
        **plot_options : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : ScoreDisplay
        """
        board = estimator.leaderboard(level, unit=unit, simultaneous=simultaneous, random_state=random_state)
        return cls(board).plot(ax, **plot_options)
