"""What a record says about each rater, and about the agreement between them."""

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from skrank.manifold._study._agreement import share_interval
from skrank.manifold._study._model import Lapse
from skrank.manifold._study._record import rater_name


class RaterSummary(NamedTuple):
    """One rater's responses. Each interval is a tuple (estimate, low, high), at 95 %.

    Attributes
    ----------
    rater : str
        The name.
    n_responses : int
        Number of responses, with "don't know".
    n_dont_know : int
        Number of "don't know".
    lapse : tuple
        Lapse rate; 0.5 is guessing. NaN before there are responses to embed.
    consistency : tuple
        Proportion of the repeated triplets that the rater answered alike both times.
    n_repeated : int
        Number of triplets that the rater has answered twice.
    left : tuple
        Proportion of the answers that were the left item; far from one half for somebody who presses one key.
    """

    rater: str
    n_responses: int
    n_dont_know: int
    lapse: Lapse
    consistency: tuple[float, float, float]
    n_repeated: int
    left: tuple[float, float, float]

    @property
    def guesses(self) -> bool:
        """Whether at least half of the responses are guesses: the interval of the lapse rate is above 0.25."""
        return self.lapse.low > 0.25


def answers_by_triplet(record):
    """(anchor, lower item, higher item) -> list of (rater, whether the lower item was answered to be nearer)."""
    found = defaultdict(list)
    for (number, rater), left in record.responses.items():
        if left is not None:
            query = record.queries[number]
            lower, higher = sorted((query.left, query.right))
            found[query.anchor, lower, higher].append((rater_name(rater), left == (query.left == lower)))
    return found


def agreement_counts(record):
    """How many raters answered each triplet in each way: (n_triplets, 2). Of a rater's answers, the first counts."""
    counts = []
    for answers in answers_by_triplet(record).values():
        first: dict[str, bool] = {}
        for rater, lower in answers:
            first.setdefault(rater, lower)
        lower = sum(first.values())
        counts.append([lower, len(first) - lower])
    return np.array(counts, float).reshape(-1, 2)


def summarize_raters(record, lapses):
    """A `RaterSummary` of each rater, in the order of their first responses."""
    n_responses: defaultdict = defaultdict(int)
    n_unknown: defaultdict = defaultdict(int)
    n_left: defaultdict = defaultdict(int)
    for (_, rater), left in record.responses.items():
        name = rater_name(rater)
        n_responses[name] += 1
        n_unknown[name] += left is None
        n_left[name] += left is True
    n_repeated: defaultdict = defaultdict(int)
    n_alike: defaultdict = defaultdict(int)
    for answers in answers_by_triplet(record).values():
        by_rater = defaultdict(list)
        for rater, lower in answers:
            by_rater[rater].append(lower)
        for rater, own in by_rater.items():
            if len(own) > 1:
                n_repeated[rater] += 1
                n_alike[rater] += own[0] == own[1]
    unknown = Lapse(np.nan, np.nan, np.nan)
    return [
        RaterSummary(
            name,
            n_responses[name],
            n_unknown[name],
            lapses.get(name, unknown),
            share_interval(n_alike[name], n_repeated[name]),
            n_repeated[name],
            share_interval(n_left[name], n_responses[name] - n_unknown[name]),
        )
        for name in n_responses
    ]
