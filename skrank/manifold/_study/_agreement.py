"""How well raters agree, with themselves and with each other."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm


class Agreement(NamedTuple):
    """Krippendorff's alpha with an interval.

    Attributes
    ----------
    alpha : float
        1 where all agree, 0 where they agree no more than by chance; NaN if no query was answered by two raters.
    low, high : float
        The interval.
    n_queries : int
        Number of triplets that more than one rater has answered.
    """

    alpha: float
    low: float
    high: float
    n_queries: int


def krippendorff_alpha(counts):
    """Krippendorff's alpha for nominal data.

    alpha = 1 - D_o / D_e: the observed disagreement of the pairs of values within units, over that of all pairs of
    values (K. Krippendorff, "Computing Krippendorff's alpha-reliability", 2011, section C).

    Parameters
    ----------
    counts : ndarray of shape (..., n_units, n_categories)
        How often each unit was given each category. Units with fewer than two values do not count.

    Returns
    -------
    ndarray of shape (...)
        NaN where no unit has two values; 1 where all values of all units are one category.
    """
    counts = np.asarray(counts, float)
    in_unit = counts.sum(axis=-1)
    counts = np.where((in_unit > 1)[..., None], counts, 0.0)
    disagreeing = (in_unit**2 - (counts**2).sum(axis=-1)) / np.maximum(in_unit - 1, 1)
    observed = np.where(in_unit > 1, disagreeing, 0.0).sum(axis=-1)
    totals = counts.sum(axis=-2)
    n = totals.sum(axis=-1)
    expected = (n**2 - (totals**2).sum(axis=-1)) / np.maximum(n - 1, 1)
    ratio = np.divide(observed, expected, out=np.zeros_like(observed), where=expected > 0)
    return np.where(n > 0, 1 - ratio, np.nan)


def agreement(counts, confidence=0.95, n_resamples=2000, random_state=0):
    """Alpha of the units, with the interval of a bootstrap over units.

    Parameters
    ----------
    counts : ndarray of shape (n_units, n_categories)
        As of `krippendorff_alpha`.
    confidence : float, default=0.95
        Coverage of the interval.
    n_resamples : int, default=2000
        Number of bootstrap samples.
    random_state : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    Agreement
    """
    counts = np.asarray(counts, float)
    counts = counts[counts.sum(axis=1) > 1]
    if len(counts) == 0:
        return Agreement(np.nan, np.nan, np.nan, 0)
    # units of the same counts are exchangeable: their numbers in a resample are multinomial
    kinds, sizes = np.unique(counts, axis=0, return_counts=True)
    rng = np.random.default_rng(random_state)
    drawn = rng.multinomial(len(counts), sizes / len(counts), size=n_resamples)
    in_unit = kinds.sum(axis=1)
    observed = drawn @ ((in_unit**2 - (kinds**2).sum(axis=1)) / (in_unit - 1))
    totals = drawn @ kinds
    n = totals.sum(axis=1)
    expected = (n**2 - (totals**2).sum(axis=1)) / (n - 1)
    ratio = np.divide(observed, expected, out=np.zeros(n_resamples), where=expected > 0)
    low, high = np.quantile(1 - ratio, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Agreement(float(krippendorff_alpha(counts)), float(low), float(high), len(counts))


def share_interval(successes, n, confidence=0.95):
    """A share with Wilson's interval, (share, low, high); NaN without observations.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
    """
    if n == 0:
        return np.nan, np.nan, np.nan
    z = norm.ppf((1 + confidence) / 2)
    share = successes / n
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float(share), float(max(0.0, center - half)), float(min(1.0, center + half))
