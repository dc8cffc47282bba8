"""TripletStudy: what is asked, what may be told, what is lost (nothing), and what the responses say."""

import json
import os
import signal
import time
import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skrank.exceptions import InsufficientDataWarning
from skrank.manifold import StochasticTripletEmbedding, TripletStudy
from skrank.manifold._study._design import triplet_codes
from skrank.metrics import procrustes_error


class Panel:
    """Simulated raters of points in the plane, who lapse in the given proportions."""

    def __init__(self, n_items=20, lapses=(0.0,), scale=1.0, seed=0):
        self.rng = np.random.default_rng(seed)
        self.points = self.rng.standard_normal((n_items, 2))
        self.lapses, self.scale = lapses, scale

    def answer(self, triplets, rater=0):
        anchor, left, right = (self.points[items] for items in triplets.T)
        margin = ((anchor - right) ** 2).sum(axis=1) - ((anchor - left) ** 2).sum(axis=1)
        nearer = self.rng.random(len(margin)) < expit(self.scale * margin)
        return nearer ^ (self.rng.random(len(margin)) < self.lapses[rater])


def run(study, panel, n_responses, batch=100):
    while study.n_responses < n_responses:
        for rater in range(len(panel.lapses)):
            ids, triplets = study.ask(batch, str(rater))
            study.tell(ids, panel.answer(triplets, rater), str(rater))
    return study


# ---------------------------------------------------------------- queries
def test_first_queries_are_balanced_and_none_is_asked_twice():
    study = TripletStudy(12, repeat=0, random_state=0)
    ids, triplets = study.ask(60)
    assert ids.tolist() == list(range(60))
    more = study.ask(60)
    assert more.ids.tolist() == list(range(60, 120))
    assert len(np.unique(triplet_codes(np.vstack([triplets, more.triplets]), 12))) == 120
    counts = np.array([np.bincount(role, minlength=12) for role in triplets.T])
    assert counts.min() >= 3
    np.testing.assert_array_equal(study.open_queries().triplets, np.vstack([triplets, more.triplets]))
    study.tell([0, 100], ["left", None])
    assert study.open_queries().ids.tolist() == [*range(1, 100), *range(101, 120)]


def test_the_share_asked_again_does_not_depend_on_the_size_of_the_batches():
    for batch in (1, 7, 100):
        study = TripletStudy(30, repeat=0.2, random_state=0)
        for _ in range(700 // batch):
            study.ask(batch, "ann")
        codes = triplet_codes(study.open_queries().triplets, 30)
        n_again = len(codes) - len(np.unique(codes))
        assert abs(n_again - 0.2 * len(codes)) <= 10  # some triplets come a third time


def test_queries_depend_on_the_seed_and_on_what_came_before(tmp_path):
    studies = [run(TripletStudy(12, random_state=seed), Panel(12), 150) for seed in (0, 0, 1)]
    studies[0].save(tmp_path / "study.jsonl")
    loaded = TripletStudy.load(tmp_path / "study.jsonl")
    same, other, continued = (study.ask(30, "0").triplets for study in (*studies[1:], loaded))
    np.testing.assert_array_equal(same, continued)
    assert (same != other).any()


# ---------------------------------------------------------------- responses
def test_responses_of_all_kinds():
    study = TripletStudy(["a", "b", "c", "d"], random_state=0)
    ids, triplets = study.ask(9)
    assert study.tell(ids[::-1], ["left", "right", True, False, np.True_, None, np.nan, "left", False]) == 9
    expected = [True, False, True, False, True, None, None, True, False][::-1]
    near = [row[[0, 1, 2] if left else [0, 2, 1]].tolist() for row, left in zip(triplets, expected, strict=True)]
    kept = [row for row, left in zip(near, expected, strict=True) if left is not None]
    assert sorted(study.triplets_.tolist()) == sorted(kept)
    assert study.n_responses == 9
    assert set(study.raters_) == {"unnamed"}


@pytest.mark.parametrize(
    ("ids", "responses", "message"),
    [
        ([0, 1], ["left", "yes"], r"responses\[1\] is 'yes'. Give True or \"left\""),
        ([0], [1], r"responses\[0\] is 1\."),
        ([0, 10], [True, True], r"ids\[1\] is 10, which was not asked: the study has 10 queries"),
        ([-1], [True], r"ids\[0\] is -1, which was not asked"),
        ([0, 1], [True], "2 ids, but 1 responses"),
        ([0.5], [True], "ids must be whole numbers"),
        ([4, 3], [True, False], r"ids\[1\]: rater 'ann' has already answered 'left' to query 3, now 'right'"),
        ([5, 5], [True, None], r"ids\[1\]: rater 'ann' has already answered 'left' to query 5, now \"don't know\""),
    ],
)
def test_bad_responses_are_named_and_nothing_is_recorded(ids, responses, message):
    study = TripletStudy(6, random_state=0)
    study.ask(10, "ann")
    study.tell([3], [True])
    with pytest.raises(ValueError, match=message):
        study.tell(ids, responses)
    assert study.n_responses == 1


def test_a_call_may_be_repeated_and_several_raters_may_answer_a_query():
    study = TripletStudy(6, random_state=0)
    ids, _ = study.ask(10)
    assert study.tell(ids, [True] * 10, "ann") == 10
    assert study.tell(ids, [True] * 10, "ann") == 0
    assert study.tell(ids, [False] * 10, "bob") == 10
    assert study.n_responses == 20
    assert study.raters_.tolist() == ["ann"] * 10 + ["bob"] * 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"items": 2}, "a triplet has three items, but there are 2"),
        ({"items": ["a", "b", "a"]}, "items holds 'a' more than once"),
        ({"items": ["a", "b", 0.5]}, r"items\[2\] is 0.5: names must be strings"),
        ({"items": 5, "repeat": 0.8}, "The 'repeat' parameter"),
        ({"items": 5, "design": "random"}, "The 'design' parameter"),
        ({"items": 5, "n_components": 0}, "The 'n_components' parameter"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        TripletStudy(**arguments)


def test_bad_arguments():
    study = TripletStudy(5)
    for n in (0, -1, 2.0, True):
        with pytest.raises(ValueError, match="n must be a whole number from 1"):
            study.ask(n)
    with pytest.raises(ValueError, match="rater must be a name"):
        study.ask(1, 7)
    with pytest.raises(NotFittedError, match="no responses yet"):
        study.embedding_  # noqa: B018


# ---------------------------------------------------------------- files
def state(study):
    return study._record.queries, study._record.responses


def test_save_and_load(tmp_path):
    path = tmp_path / "study.jsonl"
    study = TripletStudy(["ä", "b", "c", "d", "e"], 1, design="uniform", repeat=0.25, random_state=3)
    ids, _ = study.ask(8, "ann")
    study.tell(ids[:3], ["left", None, "right"])
    study.save(path)
    study.tell(ids[3:4], [True])
    study.ask(2)
    study.tell([8], [False], "bob")
    loaded = TripletStudy.load(path)
    assert state(loaded) == state(study)
    for name in ("items", "n_components", "design", "repeat", "random_state"):
        assert getattr(loaded, name) == getattr(study, name)
    loaded.tell([9], [None], "bob")
    assert state(TripletStudy.load(path)) == state(loaded)
    with pytest.raises(RuntimeError, match="has changed since it was read"):
        study.tell([9], [True], "bob")  # the file is ahead of this one
    assert study.n_responses == 5
    with pytest.raises(FileExistsError):
        study.save(path)


def test_a_file_cut_off_anywhere_holds_what_was_acknowledged(tmp_path):
    path = tmp_path / "study.jsonl"
    study = TripletStudy(5, random_state=0)
    study.save(path)
    ids, _ = study.ask(6, "ann")
    study.tell(ids[:3], [True, False, None])
    before, size = state(TripletStudy.load(path)), path.stat().st_size
    study.tell(ids[3:], [False, True, True])
    content = path.read_bytes()
    for end in range(size + 1, len(content) - 1):
        path.write_bytes(content[:end])
        with pytest.warns(UserWarning, match=rf"cut off after {end - size} bytes.*repeat that call"):
            loaded = TripletStudy.load(path)
        assert state(loaded) == before
    loaded.tell(ids[3:], [False, True, True])
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"ask":[[0,1,1]],"first":0,"rater":null}', "line 2: not a line of a study .*must differ"),
        ('{"ask":[[0,1,7]],"first":0,"rater":null}', "line 2: not a line of a study .*below the number of items, 5"),
        ('{"ask":[[0,1,2]],"first":3,"rater":null}', "line 2: not a line of a study .*numbered from 3"),
        ('{"tell":[[0,"left"]],"rater":null}', "line 2: not a line of a study"),
        ('{"ask":[[0,1,2]],"first":0}', "line 2: not a line of a study"),
        ("{}", "line 2: not a line of a study"),
    ],
)
def test_damaged_files_are_refused_by_line(tmp_path, line, message):
    path = tmp_path / "study.jsonl"
    TripletStudy(5).save(path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=message):
        TripletStudy.load(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process, which this system does not have")
def test_a_process_killed_at_any_moment_loses_nothing_acknowledged(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "study.jsonl"
    TripletStudy(10, repeat=0, random_state=0).save(path)
    acknowledged = {}
    for _ in range(12):
        acknowledged.update(tell_until_killed(path, rng.integers(1, 4), rng.uniform(0, 0.003)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a line may be cut off
            study = TripletStudy.load(path)
        assert acknowledged.items() <= {key: left for (key, _), left in study._record.responses.items()}.items()
        told = [
            number for line in path.read_text().splitlines()[1:-1] for number, _ in json.loads(line).get("tell", [])
        ]
        assert len(told) == len(set(told))
    assert len(acknowledged) >= 36


def tell_until_killed(path, n_calls, seconds):
    """What a child process acknowledges until it is killed, so long after so many calls: id -> response."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        warnings.simplefilter("ignore")
        os.close(reading)
        try:
            study = TripletStudy.load(path)
            rng = np.random.default_rng(study.n_queries)
            while True:
                ids, _ = study.ask(3)
                responses = (rng.random(3) < 0.5).tolist()
                study.tell(ids, responses)
                os.write(writing, (json.dumps([ids.tolist(), responses]) + "\n").encode())
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:
        lines = [pipe.readline() for _ in range(n_calls)]
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        lines += pipe.readlines()
    os.waitpid(child, 0)
    calls = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return {number: left for ids, responses in calls for number, left in zip(ids, responses, strict=True)}


# ---------------------------------------------------------------- what the responses say
def test_chosen_queries_need_fewer_responses():
    errors = {}
    for design in ("uniform", "auto"):
        for seed in range(2):
            panel = Panel(20, seed=seed)
            study = run(TripletStudy(20, design=design, random_state=seed), panel, 800)
            errors.setdefault(design, []).append(procrustes_error(panel.points, study.embedding_))
    assert np.mean(errors["auto"]) < 0.75 * np.mean(errors["uniform"])


def test_the_expected_error_is_within_a_factor_of_two():
    ratios = []
    for seed in (2, 3):
        panel = Panel(15, lapses=(0.05,), scale=2.0, seed=seed)
        study = run(TripletStudy(15, random_state=seed), panel, 900)
        ratios.append(procrustes_error(panel.points, study.embedding_) / study.expected_error_)
    assert 0.5 < np.mean(ratios) < 2
    assert max(ratios) < 4  # a poor optimum would be far off


def test_gain_foretells_the_fall_of_the_error():
    panel = Panel(15, scale=2.0)
    study = run(TripletStudy(15, random_state=0), panel, 700)
    gains = [study.gain(n) for n in (100, 300, 1000)]
    assert 0 < gains[0] < gains[1] < gains[2] < study.expected_error_
    before, foretold = study.expected_error_, gains[2]
    run(study, panel, 1700)
    assert before - study.expected_error_ == pytest.approx(foretold, rel=0.5)


def test_few_responses_promise_nothing():
    study = run(TripletStudy(20, random_state=0), Panel(20), 200)
    with pytest.warns(InsufficientDataWarning, match="responses determine the embedding only roughly"):
        study.expected_error_  # noqa: B018


def test_who_guesses_is_found_and_who_repeats_differently():
    panel = Panel(15, lapses=(0.0, 0.5, 0.1), scale=3.0)
    study = run(TripletStudy(15, repeat=0.2, random_state=0), panel, 1200)
    careful, guessing, erring = study.raters()
    assert (careful.rater, careful.n_responses, careful.n_dont_know) == ("0", 400, 0)
    assert guessing.guesses
    assert not careful.guesses
    assert not erring.guesses
    assert careful.lapse.rate < 0.05
    assert erring.lapse.low <= 0.1 <= erring.lapse.high
    assert study.lapse_ == {rater.rater: rater.lapse.rate for rater in study.raters()}
    assert careful.consistency[1] > guessing.consistency[0]
    assert careful.n_repeated > 20
    assert study.agreement_.low < study.agreement_.alpha < study.agreement_.high < 0.5  # close calls, and guesses
    assert study.agreement_.n_queries > 40


def test_covariances_are_those_of_the_embedding():
    study = run(TripletStudy(15, random_state=0), Panel(15, scale=2.0), 900)
    spread = study.item_covariances()
    assert spread.shape == (15, 2, 2)
    np.testing.assert_allclose(spread, spread.transpose(0, 2, 1))
    share = np.einsum("iaa->", spread) / (study.embedding_**2).sum()
    assert share / (1 + share) == pytest.approx(study.expected_error_)


def test_any_estimator_of_triplets_may_be_the_model():
    class Doubled(BaseEstimator):
        """An estimator of its own scale, without n_items or raters."""

        def fit(self, X):
            self.embedding_ = 100 * StochasticTripletEmbedding(n_init=5, random_state=0).fit(X).embedding_
            return self

    panel = Panel(15, scale=2.0)
    study = run(TripletStudy(15, estimator=Doubled(), random_state=0), panel, 900)
    usual = run(TripletStudy(15, random_state=0), Panel(15, scale=2.0), 900)
    assert procrustes_error(panel.points, study.embedding_) < 0.05
    assert study.expected_error_ == pytest.approx(usual.expected_error_, rel=0.3)
    assert study.item_covariances().max() > 100 * usual.item_covariances().max()


def test_an_estimator_that_leaves_items_out_is_reported():
    class Short(BaseEstimator):
        def fit(self, X):
            self.embedding_ = np.zeros((3, 2))

            return self

    study = TripletStudy(5, estimator=Short(), random_state=0)
    study.tell(study.ask(5).ids, [True] * 5)
    with pytest.raises(ValueError, match="Short embedded 3 items of 5"):
        study.embedding_  # noqa: B018


def test_too_many_coordinates_are_embedded_without_a_promise():
    study = TripletStudy(2001, random_state=0)
    ids, _ = study.ask(6000)
    study.tell(ids, [True] * 6000)
    assert len(study.ask(3).ids) == 3
    assert study.embedding_.shape == (2001, 2)
    with pytest.raises(ValueError, match="has 4002 coordinates .* computed for up to 4000"):
        study.expected_error_  # noqa: B018


def test_an_oracle_replays_the_study():
    study = run(TripletStudy(12, random_state=0), Panel(12), 200)
    oracle = study.to_oracle()
    anchors, near, far = study.triplets_.T
    assert oracle(anchors, near, far).mean() == triplet_accuracy_of_majority(study)
    codes = set(triplet_codes(study.triplets_, 12).tolist())
    missing = next(t for t in np.ndindex(12, 12, 12) if len(set(t)) == 3 and triplet_codes([t], 12)[0] not in codes)
    with pytest.raises(ValueError, match="never recorded"):
        oracle(*np.transpose([missing]))


def triplet_accuracy_of_majority(study):
    codes = triplet_codes(study.triplets_, 12)
    lower = study.triplets_[:, 1] < study.triplets_[:, 2]
    votes = {code: [] for code in codes.tolist()}
    for code, one in zip(codes.tolist(), lower.tolist(), strict=True):
        votes[code].append(one)
    majority = {code: 2 * sum(own) > len(own) if 2 * sum(own) != len(own) else own[0] for code, own in votes.items()}
    return np.mean([majority[code] == one for code, one in zip(codes.tolist(), lower.tolist(), strict=True)])


def test_a_small_promise_of_few_responses_comes_with_a_warning():
    """Chosen queries of a wrong embedding confirm it: the true error can be seven times as large."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((10, 2))
    study = TripletStudy(10, random_state=0)
    for n_queries, warns in ((290, True), (40, False)):
        ids, triplets = study.ask(n_queries)
        anchor, left, right = (points[items] for items in triplets.T)
        study.tell(ids, ((anchor - left) ** 2).sum(axis=1) < ((anchor - right) ** 2).sum(axis=1))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert study.expected_error_ < 0.06
        assert any(one.category is InsufficientDataWarning for one in caught) == warns
