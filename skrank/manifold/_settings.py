"""Settings of a landmark ordinal embedding, and how its queries are divided."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from skrank.manifold._designs import largest_n_shifts

RELIABLE_DEGREE = 30  # responses an item and landmark below which the scores are not to be trusted
_PILOT_SHARE = 0.1
_PILOT_MAX_ITER = 8
_COARSE = 10


@dataclass(frozen=True)
class Settings:
    """Parameters of the estimator that every step of the fit may use; see `LandmarkOrdinalEmbedding`."""

    n_components: int
    alpha: float = 0.1
    refine: Literal["mle", "ste"] | None = "mle"
    tol: float = 0.02
    max_iter: int = 30
    n_jobs: int | None = None

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
