"""What a study has asked and what it was told, and the same as lines of its file."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from skrank._triplets import check_triplets

Nearer = bool | None  # whether left is nearer; None: "don't know"
WORDS: dict[Any, Nearer] = {"left": True, "right": False, None: None}
NAMES = {True: "left", False: "right", None: None}


class Query(NamedTuple):
    """A triplet that was asked, and the rater who was to answer it (None: anyone)."""

    anchor: int
    left: int
    right: int
    rater: str | None


class Response(NamedTuple):
    """A response, with the names of the items."""

    id: int
    anchor: Any
    left: Any
    right: Any
    rater: str | None
    response: str | None


class Record:
    """Queries and responses, in the order in which they came.

    A query's id is its number. Each rater responds to a query at most once.

    Attributes
    ----------
    queries : list of Query
    lines : list of dict
        All changes.
    responses : dict
        (id, rater) -> True where left was answered to be nearer, False for right, None for "don't know".
    """

    def __init__(self) -> None:
        self.queries: list[Query] = []
        self.responses: dict[tuple[int, str | None], Nearer] = {}
        self.lines: list[dict] = []

    # ---------------------------------------------------------------- changes, as lines of the file
    def asked(self, triplets, rater):
        """The line that adds queries."""
        return {"ask": np.asarray(triplets).tolist(), "first": len(self.queries), "rater": rater}

    def told(self, ids, responses: Iterable[Any], rater: str | None) -> dict | None:
        """The line that adds responses, None if all are known.

        Raises
        ------
        ValueError
            On an id that was not asked, a response that is none, and one that contradicts an earlier response of the
            same rater to the same query. The message names the row.
        """
        ids, responses = as_ids(ids), as_responses(responses)
        if len(ids) != len(responses):
            raise ValueError(f"{len(ids)} ids, but {len(responses)} responses: give one response for each id.")
        new: dict[tuple[int, str | None], Nearer] = {}
        for row, (number, response) in enumerate(zip(ids, responses, strict=True)):
            if not 0 <= number < len(self.queries):
                raise ValueError(
                    f"ids[{row}] is {number}, which was not asked: the study has {len(self.queries)} queries, "
                    "numbered from 0."
                )
            key = number, self.queries[number].rater if rater is None else rater
            known = new if key in new else self.responses
            if key not in known:
                new[key] = response
            elif known[key] is not response:
                raise ValueError(
                    f"ids[{row}]: {_by(key[1])} has already answered {_word(known[key])} to query "
                    f"{number}, now {_word(response)}. Nothing of this call was recorded; leave out "
                    "the row to keep the first response."
                )
        if not new:
            return None
        return {"tell": [[number, NAMES[response]] for (number, _), response in new.items()], "rater": rater}

    def apply(self, line: dict, n_items: int | None = None) -> int:
        """Do what a line says; the number of responses that were new. With `n_items`, check the line first."""
        before = len(self.responses)
        if "ask" in line:
            if line["first"] != len(self.queries):
                raise ValueError(f"its queries are numbered from {line['first']}, but {len(self.queries)} is next")
            if n_items is not None and line["ask"]:
                check_triplets(line["ask"], n_items=n_items)
            self.queries += [Query(int(i), int(j), int(k), line["rater"]) for i, j, k in line["ask"]]
        else:
            for number, word in line["tell"]:
                rater = self.queries[number].rater if line["rater"] is None else line["rater"]
                self.responses.setdefault((number, rater), WORDS[word])
        self.lines.append(line)
        return len(self.responses) - before

    # ---------------------------------------------------------------- as arrays
    def triplets(self):
        """All queries: ndarray of shape (n_queries, 3)."""
        return np.array([query[:3] for query in self.queries], np.intp).reshape(-1, 3)

    def decided(self):
        """Responses but "don't know": ids, whether left is nearer, and the rater's name of each."""
        known = [(number, left, rater) for (number, rater), left in self.responses.items() if left is not None]
        ids, left, raters = zip(*known, strict=True) if known else ((), (), ())
        return np.array(ids, np.intp), np.array(left, bool), np.array(list(map(rater_name, raters)), dtype=str)

    def named_responses(self, items):
        """All responses, in the order in which they were told."""
        return [
            Response(number, items[anchor], items[first], items[second], rater, NAMES[left])
            for (number, rater), left in self.responses.items()
            for anchor, first, second in [self.queries[number][:3]]
        ]

    def open_ids(self):
        """Ids of the queries that nobody has answered."""
        answered = {number for number, _ in self.responses}
        return np.array([number for number in range(len(self.queries)) if number not in answered], np.intp)


def rater_name(rater: str | None) -> str:
    """A rater's name; the responses that no rater was named for are those of one."""
    return "unnamed" if rater is None else rater


def _word(response):
    return repr(NAMES[response] or "don't know")


def _by(rater):
    return f"rater {rater!r}" if rater is not None else "a rater without a name"


def as_ids(ids):
    """Ids as a list of integers."""
    array = np.atleast_1d(np.asarray(ids))
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
        raise ValueError(f"ids must be whole numbers in one dimension, got {array.dtype} of shape {array.shape}.")
    return array.tolist()


def as_responses(responses: Any) -> list[Nearer]:
    """Responses as True (left is nearer), False (right is) and None ("don't know").

    Raises
    ------
    ValueError
        On anything else; the message names the row and the value.
    """
    if responses is None or isinstance(responses, str | bool | np.bool_):
        responses = [responses]
    return [_response(response, row) for row, response in enumerate(responses)]


def _response(response, row):
    if isinstance(response, bool | np.bool_):
        return bool(response)
    if response is None or isinstance(response, str) and response in WORDS:
        return WORDS[response]
    # pandas writes None as NaN or NA
    if isinstance(response, float) and response != response or type(response).__name__ == "NAType":
        return None
    raise ValueError(
        f'responses[{row}] is {response!r}. Give True or "left" where the left item is nearer to the anchor, False or '
        '"right" where the right item is, and None for "don\'t know".'
    )
