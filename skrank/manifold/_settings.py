"""Settings of a landmark ordinal embedding, and how its queries are divided."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from skrank.manifold._designs import largest_n_shifts

RELIABLE_DEGREE = 30  # responses an item and landmark below which the scores are not to be trusted
_PILOT_SHARE = 0.1
_PILOT_MAX_ITER = 8
_COARSE = 10
_ITERATIONS_A_PASS = 10
_UNIFORM_SHARE = 0.3
_RANKING_SHARE = 0.6  # a ranking of too few shifts misplaces items beyond repair
_MOST_UNIFORM = 3 * 10**6  # random triplets, beyond which a ranking from landmarks is the faster pilot
SAMPLE_SIZE = 2000  # items among which the landmarks of a ranking are chosen
_QUERIES_OF_SAMPLE = 20  # for each item and dimension, five at least
_SMALL_BUDGET = 100  # responses an item, below which all are to uniform queries
_LARGE_SHARE = 0.05  # of all queries there are, above which all are uniform, lest any is repeated
_SPAN = 10


@dataclass(frozen=True)
class Settings:
    """Parameters of the estimator that every step of the fit may use; see `LandmarkOrdinalEmbedding`."""

    n_components: int
    alpha: float = 0.1
    refine: Literal["mle", "ste"] | None = "mle"
    tol: float = 0.02
    max_iter: int = 30
    n_jobs: int | None = None
    lapse: float | Literal["auto"] = 0.0

    @property
    def keeps_responses(self) -> bool:
        """Whether the likelihood depends on each response, and not on the numbers of wins alone."""
        return self.lapse != 0 and self.refine == "mle"

    @property
    def most_iterations(self) -> int:
        """Of L-BFGS, whose line searches are short steps."""
        return _ITERATIONS_A_PASS * self.max_iter

    @property
    def ranking_tol(self) -> float:
        """Tolerance of the scores: what is only the start of a refinement need not be exact."""
        return self.tol if self.refine is None else _COARSE * self.tol

    def of_pilot(self) -> "Settings":
        """Settings of the pilot embedding."""
        return replace(self, refine="mle", max_iter=_PILOT_MAX_ITER)


@dataclass(frozen=True)
class Budget:
    """How many shifts of the circulant design (or as many independent pairs) each landmark gets.

    A shift costs one query for each of the other items, and two responses about each of them.

    Attributes
    ----------
    pilot : int
        For the random landmarks of the pilot embedding; 0 where there is none.
    ranking : int
        For the landmarks themselves.
    n_triplets : int
        Random triplets asked afterwards, to refine by stochastic triplet embedding.
    """

    pilot: int
    ranking: int
    n_triplets: int = 0


def plan_budget(n_items, n_landmarks, n_comparisons, pilot, landmark_share=1.0):
    """Divide the queries between the pilot, the landmarks and random triplets.

    Parameters
    ----------
    n_items, n_landmarks : int
        Numbers of items and of landmarks.
    n_comparisons : int or "auto"
        All queries together. "auto" is 50 n ln n, more where that gives a landmark fewer than 15 shifts.
    pilot : bool
        Whether a pilot embedding is wanted: a tenth of the landmarks' queries, at least 2 shifts.
    landmark_share : float, default=1.0
        Share of the queries that is about landmarks; the rest is random triplets.

    Returns
    -------
    budget : Budget
    """
    automatic = isinstance(n_comparisons, str)
    total = round(50 * n_items * np.log(n_items)) if automatic else n_comparisons
    a_shift = n_landmarks * (n_items - 1)
    most = largest_n_shifts(n_items - 1)
    affordable = int(landmark_share * total / a_shift)
    if affordable < 1 and not automatic:
        raise ValueError(
            f"n_comparisons={n_comparisons} does not allow one query for each of {n_items} items and {n_landmarks} "
            f"landmarks; {int(np.ceil(a_shift / landmark_share))} are the least, and about "
            f"{int(np.ceil(RELIABLE_DEGREE / 2 * a_shift / landmark_share))} are reliable"
        )
    n_pilot = max(2, round(_PILOT_SHARE * min(affordable, most))) if pilot else 0
    ranking = affordable - n_pilot
    if automatic:
        ranking = max(ranking, RELIABLE_DEGREE // 2 if landmark_share == 1 else 1)
    if min(ranking, most - n_pilot) < n_pilot:  # a pilot would take more than it gives
        n_pilot, ranking = 0, max(ranking, affordable)
    ranking = min(ranking, most - n_pilot)
    rest = max(0, total - (n_pilot + ranking) * a_shift) if landmark_share < 1 else 0
    return Budget(n_pilot, ranking, rest)


@dataclass(frozen=True)
class StagePlan:
    """How the queries of the automatic design are divided.

    Attributes
    ----------
    n_uniform : int
        Uniform triplets of the first stage; 0 where it ranks the items from landmarks.
    n_of_sample : int
        Uniform triplets of a sample of the items, from which the landmarks of a ranking are chosen.
    n_shifts : int
        Shifts of the circulant design for each landmark of that ranking; 0 where there is none.
    n_sorted : int
        Largest number of queries about pairs at nearly equal distances from landmarks; 0 for uniform triplets alone.
    """

    n_uniform: int
    n_of_sample: int
    n_shifts: int
    n_sorted: int


def n_queries_there_are(n_items):
    """Number of different queries about so many items."""
    return n_items * (n_items - 1) * (n_items - 2) // 2


def plan_stages(n_items, n_landmarks, n_comparisons, n_components, has_landmarks):
    """Divide the queries of the automatic design.

    Parameters
    ----------
    n_items, n_landmarks : int
        Numbers of items and of landmarks.
    n_comparisons : int or "auto"
        All queries together. "auto" is 50 n ln n, and in proportion to the dimension above 5.
    n_components : int
        Dimension of the embedding.
    has_landmarks : bool
        Whether the landmarks are given, so that they are to be asked about.

    Returns
    -------
    StagePlan or None
        None where few queries are to be about given landmarks, for which one stage is all there is room for.
    """
    total = n_comparisons
    if isinstance(n_comparisons, str):
        total = round(10 * max(5, n_components) * n_items * np.log(n_items))
    if total < n_components * n_items:
        raise ValueError(
            f"n_comparisons={n_comparisons} is less than the {n_components * n_items} coordinates of {n_items} items; "
            f"about {_SMALL_BUDGET * n_items} are reliable"
        )
    total = min(total, n_queries_there_are(n_items))
    crowded = total < _SMALL_BUDGET * n_items or total > _LARGE_SHARE * n_queries_there_are(n_items)
    if crowded:
        return None if has_landmarks else StagePlan(total, 0, 0, 0)
    first = int(_UNIFORM_SHARE * total)
    if first <= _MOST_UNIFORM:
        return StagePlan(first, 0, 0, total - first)
    a_shift = n_landmarks * (n_items - 1)
    n_shifts = max(1, int(_RANKING_SHARE * total / a_shift))
    n_of_sample = 0 if has_landmarks else _QUERIES_OF_SAMPLE * max(5, n_components) * min(n_items, SAMPLE_SIZE)
    return StagePlan(0, n_of_sample, n_shifts, total - n_of_sample - n_shifts * a_shift)


def draw_near_shifts(n_positions, n_queries, random_state):
    """Shifts up to a tenth of the positions, or as far as it takes, for so many queries of one landmark."""
    n_shifts = n_queries / max(n_positions - n_positions / (2 * _SPAN), 1)
    span = min(max(int(np.ceil(2 * n_shifts)), n_positions // _SPAN, 1), n_positions - 1)
    shifts = 1 + random_state.permutation(span)
    return np.sort(shifts[np.cumsum(n_positions - shifts) <= n_queries])
