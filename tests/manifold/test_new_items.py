"""Placing new items: against brute force, and row by row."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit

from skrank.manifold import EuclideanOracle
from skrank.manifold._new_items import count_panel_wins, improve_places, map_distances, near_panels, place_rows


def problem(n_components, seed=0, n_items=200, n_landmarks=12, panel_size=40):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n_items, n_components))
    landmarks = rng.choice(n_items, n_landmarks, replace=False)
    panel = np.array([rng.choice(n_items, panel_size, replace=False) for _ in landmarks])
    return points, landmarks, panel


@pytest.mark.parametrize("spread", [0.1, 1.0, 100.0])
def test_one_dimensional_estimates_solve_their_equation(spread):
    rng = np.random.default_rng(0)
    theta = spread * rng.standard_normal(30)
    wins = np.arange(31)
    found = map_distances(np.tile(theta, (31, 1)), wins, np.full(31, theta.mean()), np.full(31, theta.var()))
    for t, w in zip(found, wins, strict=True):

        def slope(x, w=w):
            return expit(x - theta).sum() - w + (x - theta.mean()) / theta.var()

        exact = brentq(slope, -1e6, 1e6, xtol=1e-12)
        assert t == pytest.approx(exact, abs=1e-6 * spread)
    assert np.all(np.diff(found) > 0)


def test_wins_are_counted_against_the_panel():
    points, landmarks, panel = problem(2)
    rows = np.random.default_rng(5).standard_normal((7, 2))
    wins = count_panel_wins(EuclideanOracle(), points, landmarks, panel[None], rows)
    for r, row in enumerate(rows):
        for i, (landmark, items) in enumerate(zip(landmarks, panel, strict=True)):
            own = np.linalg.norm(row - points[landmark])
            assert wins[r, i] == np.sum(own >= np.linalg.norm(points[items] - points[landmark], axis=1))


@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_places_maximize_the_posterior(n_components):
    points, landmarks, panel = problem(n_components)
    rows = np.random.default_rng(1).standard_normal((15, n_components))
    wins = count_panel_wins(EuclideanOracle(noise="logistic", scale=1.0), points, landmarks, panel[None], rows)
    found = place_rows(wins, points, landmarks, panel)
    theta = np.array([((points[p] - points[i]) ** 2).sum(1) for p, i in zip(panel, landmarks, strict=True)])
    precision = np.linalg.inv(np.atleast_2d(np.cov(points.T)))

    def loss(y, w):
        distances = ((y - points[landmarks]) ** 2).sum(axis=1)
        off = y - points.mean(axis=0)
        return np.logaddexp(0, distances[:, None] - theta).sum() - w @ distances + off @ precision @ off / 2

    for y, w, row in zip(found, wins, rows, strict=True):
        best = min((minimize(loss, start, (w,)) for start in (y, row)), key=lambda result: result.fun)
        np.testing.assert_allclose(y, best.x, atol=2e-3)


def test_a_place_does_not_depend_on_the_rows_that_come_with_it():
    points, landmarks, panel = problem(3)
    rows = 2 * np.random.default_rng(1).standard_normal((40, 3))
    wins = count_panel_wins(EuclideanOracle(noise="flip"), points, landmarks, panel[None], rows)
    together = place_rows(wins, points, landmarks, panel)
    alone = np.concatenate([place_rows(w[None], points, landmarks, panel) for w in wins])
    np.testing.assert_allclose(together, alone, atol=1e-9)


@pytest.mark.parametrize("extreme", ["nearest", "farthest"])
def test_one_sided_answers_and_flat_embeddings_stay_finite(extreme):
    points, landmarks, panel = problem(2)
    points[:, 1] = 0
    wins = np.full((3, len(landmarks)), panel.shape[1] if extreme == "farthest" else 0)
    places = place_rows(wins, points, landmarks, panel)
    assert np.isfinite(places).all()
    assert np.abs(places).max() < 100


def test_panels_of_a_row_are_about_as_far_from_the_landmarks():
    points, landmarks, _ = problem(2, n_items=400)
    rows = np.random.default_rng(1).standard_normal((9, 2))
    panels = near_panels(rows, points, landmarks, 20)
    assert panels.shape == (9, 12, 20)
    for number, landmark in enumerate(landmarks):
        distances = ((points - points[landmark]) ** 2).sum(axis=1)
        rank = np.argsort(np.argsort(distances))
        for row, panel in zip(rows, panels[:, number], strict=True):
            assert landmark not in panel
            assert len(set(panel.tolist())) == 20
            own = np.searchsorted(np.sort(distances), ((row - points[landmark]) ** 2).sum())
            assert np.abs(rank[panel] - np.clip(own, 20, 379)).max() <= 22
    np.testing.assert_array_equal(near_panels(rows[3:4], points, landmarks, 20)[0], panels[3])


def test_panels_may_differ_by_row():
    points, landmarks, panel = problem(2)
    rows = np.random.default_rng(1).standard_normal((15, 2))
    wins = count_panel_wins(EuclideanOracle(noise="logistic", scale=1.0), points, landmarks, panel[None], rows)
    same = improve_places(rows, wins, points, landmarks, np.repeat(panel[None], 15, axis=0))
    np.testing.assert_allclose(same, improve_places(rows, wins, points, landmarks, panel[None]), atol=1e-9)
