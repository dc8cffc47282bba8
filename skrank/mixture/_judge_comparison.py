"""Which description of the judges predicts held-out votes best."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank._random import as_generator
from skrank._typing import ArrayLike, RandomState
from skrank.mixture._bradley_terry_mixture import BradleyTerryMixture
from skrank.mixture._judge_models import CLAIM, choose_components, gain_and_error, held_out_tastes, mixture_path


@dataclass(frozen=True)
class JudgeComparison:
    """How well each model of the judges predicts held-out votes. Printing it shows a table.

    Parameters
    ----------
    log_likelihoods : dict
        Mean log-likelihood of a held-out vote, in nats, of "common" scores, "tastes", "slopes" and "mixture". "mixture"
        is only included if groups are stable and predict better than common scores.
    gains : dict
        Gain of each model over common scores, in nats per vote.
    standard_errors : dict
        Standard errors of the gains, clustered by judges.
    best : str
        The model with the largest gain among those with a gain above 2 standard errors; "common" if there is none.
    n_components : int
        Number of groups of the mixture; 1 if there are none.

    Examples
    --------
    >>> from skrank.mixture import JudgeComparison
    >>> print(JudgeComparison({"common": -0.6, "tastes": -0.55}, {"tastes": 0.05}, {"tastes": 0.01}, "tastes", 1))
            held-out log-likelihood   gain  standard error
    common                   -0.600
    tastes                   -0.550  0.050           0.010  best
    """

    log_likelihoods: dict[str, float]
    gains: dict[str, float]
    standard_errors: dict[str, float]
    best: str
    n_components: int

    def __str__(self) -> str:
        lines = [f"{'':<8}{'held-out log-likelihood':>23}{'gain':>7}{'standard error':>16}"]
        for name, value in self.log_likelihoods.items():
            line = f"{name:<8}{value:>23.3f}"
            if name in self.gains:
                line += f"{self.gains[name]:>7.3f}{self.standard_errors[name]:>16.3f}"
            lines.append(line + ("  best" if name == self.best else ""))
        return "\n".join(lines)


def compare_judge_models(
    X: ArrayLike,
    y: Any = None,
    *,
    groups: ArrayLike,
    sample_weight: ArrayLike | None = None,
    alpha: float = 0.1,
    cv: int = 5,
    max_components: int = 6,
    random_state: RandomState = 0,
) -> JudgeComparison:
    """Compare models of the judges by how well they predict held-out votes.

    The models are common scores (:class:`~skrank.linear_model.BradleyTerry`), tastes and slopes
    (:class:`~skrank.linear_model.PersonalBradleyTerry`), and groups (:class:`BradleyTerryMixture`). Each model is
    fitted without a part of each judge's votes and predicts this part.

    Parameters
    ----------
    X : array-like of shape (n_comparisons, 2)
        Labels of the two items of each comparison.
    y : array-like of shape (n_comparisons,), default=None
        The outcomes, as of :meth:`skrank.linear_model.BradleyTerry.fit`.
    groups : array-like of shape (n_comparisons,)
        The judge of each comparison.
    sample_weight : array-like of shape (n_comparisons,), default=None
        How often each comparison was made. None: once.
    alpha : float, default=0.1
        Strength of the regularization of scores; above 0.
    cv : int, default=5
        Number of parts.
    max_components : int, default=6
        Maximum number of groups.
    random_state : int, RandomState instance or None, default=0
        Determines the parts and the halves.

    Returns
    -------
    JudgeComparison
        Gains over common scores with standard errors, and the best model.

    Raises
    ------
    ValueError
        If the input is invalid, as for the estimators; if there are fewer than two judges.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.mixture import compare_judge_models
    >>> rng = np.random.default_rng(0)
    >>> judges = np.repeat(np.arange(30), 30)
    >>> first = rng.integers(0, 6, 900)
    >>> pairs = np.column_stack([first, (first + rng.integers(1, 6, 900)) % 6])
    >>> tastes = rng.standard_normal((30, 6))
    >>> rows = np.arange(900)
    >>> margin = tastes[judges, pairs[:, 0]] - tastes[judges, pairs[:, 1]]
    >>> y = rng.random(900) < 1 / (1 + np.exp(-margin))
    >>> compare_judge_models(pairs, y, groups=judges).best
    'tastes'
    """
    if not alpha > 0:
        raise ValueError(f"alpha must be above 0, got {alpha}.")
    reader = BradleyTerryMixture(alpha=alpha)
    data = reader._read(X, y, sample_weight, groups)
    if data.n_judges < 2:
        raise ValueError("groups has one judge only, so that there is nobody to differ from. Use BradleyTerry.")
    rng = as_generator(random_state)
    fold = data.folds(cv, rng)
    held_out = held_out_tastes(data, fold, alpha)
    path = mixture_path(data, fold, alpha, min(max_components, data.n_judges))
    n_components = choose_components(data, path, alpha, rng)
    if n_components > 1:
        held_out["mixture"] = path.held_out[n_components - 1]
    pairs = {
        name: gain_and_error(data, logs - held_out["common"]) for name, logs in held_out.items() if name != "common"
    }
    claimed = {name: float(gain) for name, (gain, error) in pairs.items() if gain > CLAIM * error}
    return JudgeComparison(
        {name: float(np.average(logs, weights=data.weight)) for name, logs in held_out.items()},
        {name: float(gain) for name, (gain, _) in pairs.items()},
        {name: float(error) for name, (_, error) in pairs.items()},
        max(claimed, key=lambda name: claimed[name]) if claimed else "common",
        n_components,
    )
