"""What callbacks see of a kernel matrix: its blocks."""

import numpy as np
import pytest

from skrank.datasets import make_rankings
from skrank.kernels import PartialRankingKernel

pytestmark = pytest.mark.callbacks


class Recorder:
    """A callback that writes down which tasks end, and how many were announced."""

    def setup(self, estimator, context):
        self.announced, self.ended = {}, []

    def on_fit_task_begin(self, estimator, context):
        self.announced.setdefault(context.task_name, context.max_subtasks)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)

    def teardown(self, estimator, context):
        pass


@pytest.mark.parametrize(
    ("kernel", "top_k", "stages"),
    [
        ("kendall", None, ["kernel matrix"]),
        ("mallows", None, ["median distance", "kernel matrix"]),
        ("mallows", 3, ["median distance", "kernel matrix"]),
        ("semimetric_spearman", 3, ["median distance", "kernel matrix"]),
    ],
)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_stage_ends_as_announced_and_changes_nothing(kernel, top_k, stages, n_jobs):
    X = make_rankings(130, 6, top_k=top_k, unranked="missing", random_state=0)
    recorder = Recorder()
    estimator = PartialRankingKernel(kernel, random_state=0, n_draws=3, n_jobs=n_jobs).set_callbacks(recorder)
    matrix = estimator.fit_transform(X)
    assert recorder.announced["fit_transform"] == len(stages)
    for stage in stages:
        assert recorder.ended.count(stage) == recorder.announced[stage] + 1  # its blocks and itself
    plain = PartialRankingKernel(kernel, random_state=0, n_draws=3).fit_transform(X)
    np.testing.assert_allclose(matrix, plain, rtol=1e-13)
    assert recorder.announced["kernel matrix"] > 1


def test_a_fit_tells_of_the_median_alone():
    recorder = Recorder()
    PartialRankingKernel(random_state=0).set_callbacks(recorder).fit(make_rankings(30, 5, random_state=0))
    assert set(recorder.ended[:-1]) == {"median distance"}
    assert recorder.ended[-1] == "fit"
    PartialRankingKernel(nu=0.1).set_callbacks(recorder).fit(make_rankings(30, 5, random_state=0))
    assert recorder.ended == ["fit"]


def test_a_bar_is_drawn(progress_bar, capsys):
    X = make_rankings(40, 5, random_state=0)
    PartialRankingKernel("kendall").set_callbacks(progress_bar).fit_transform(X)
    assert "kernel matrix" in capsys.readouterr().out
