import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from skrank.inspection import ScoreDisplay
from skrank.linear_model import BradleyTerry, PlackettLuce

GAMES = [["ann", "b$b"], ["b$b", "cid"], ["ann", "cid"], ["cid", "ann"]]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_dots_intervals_and_ranks():
    model = BradleyTerry(anchor="cid").fit(GAMES, sample_weight=[9, 9, 12, 3])
    board = model.leaderboard(0.9, unit="elo", simultaneous=True)
    display = ScoreDisplay.from_estimator(model, level=0.9, unit="elo", simultaneous=True)
    np.testing.assert_allclose(display.intervals_[0].get_xdata(), board.scores)
    segments = np.array([path.vertices[:, 0] for path in display.intervals_[2][0].get_paths()])
    np.testing.assert_allclose(segments, np.column_stack([board.lower, board.upper]))
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["ann", r"b\$b", "cid"]
    right = display.ax_.child_axes[0]
    expected = [str(a) if a == b else f"{a} to {b}" for a, b in board.rank_ranges]
    assert [label.get_text() for label in right.get_yticklabels()] == expected
    assert right.get_ylabel() == "ranks, all at once"
    assert "Elo points" in display.ax_.get_xlabel()
    assert "90 %" in display.ax_.get_xlabel()
    assert "as if comparisons were independent" in display.ax_.get_xlabel()


def test_many_items_are_cut_and_axes_are_taken():
    rng = np.random.default_rng(0)
    model = PlackettLuce().fit(rng.permuted(np.tile(np.arange(70), (200, 1)), axis=1))
    _, ax = plt.subplots()
    display = ScoreDisplay.from_estimator(model, ax=ax, max_items=20, color="C1")
    assert display.ax_ is ax
    assert len(ax.get_yticks()) == 20
    assert "the first 20 of 70 items" in ax.get_xlabel()
    display.figure_.canvas.draw()
