"""Oracles: the contract, the noise, counting and caching."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest
from sklearn.base import clone

from skrank.manifold import CachingOracle, CountingOracle, EuclideanOracle, LandmarkOrdinalEmbedding, TripletOracle
from skrank.manifold._designs import draw_shifts
from skrank.manifold._oracle import check_responses
from skrank.manifold._queries import ask_block, ask_triplets

ORACLES = [EuclideanOracle(noise=noise, random_state=3) for noise in (None, "logistic", "flip")]


def triplets(n, size, seed=0):
    return np.random.default_rng(seed).integers(n, size=(3, size))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", lambda a, b: np.abs(a - b).max()])
def test_exact_answers_compare_distances(metric):
    X = np.random.default_rng(0).standard_normal((30, 3))
    distance = {
        "euclidean": lambda a, b: np.linalg.norm(a - b),
        "manhattan": lambda a, b: np.abs(a - b).sum(),
        "cosine": lambda a, b: 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b),
    }.get(metric, metric)
    i, j, k = triplets(30, 200)
    expected = [distance(X[a], X[b]) < distance(X[a], X[c]) for a, b, c in zip(i, j, k, strict=True)]
    oracle = EuclideanOracle(metric=metric)
    np.testing.assert_array_equal(oracle(X[i], X[j], X[k]), expected)
    ask = oracle.bind(X).start(4, np.arange(5, 25))
    expected = [distance(X[4], X[5 + t]) < distance(X[4], X[5 + (t + 3) % 20]) for t in range(20)]
    np.testing.assert_array_equal(ask(0, 20, 3), expected)


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_block_form_gives_the_answers_of_the_callable(oracle):
    X = np.random.default_rng(0).standard_normal((41, 2))
    bound = oracle.bind(X)

    class RowsOnly:
        def __call__(self, *rows):
            return bound(*rows)

    for landmark in (0, 17, 40):
        order = np.delete(np.arange(41), landmark)
        fast, slow = (ask_block(o, X, landmark, order) for o in (bound, RowsOnly()))
        for shift in draw_shifts(40, 6, np.random.RandomState(0)):
            np.testing.assert_array_equal(fast(3, 40, shift), slow(3, 40, shift))


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_an_answer_depends_on_the_question_alone(oracle):
    X = np.random.default_rng(0).standard_normal((50, 2))
    i, j, k = triplets(50, 500)
    oracle = oracle.bind(X)
    answers = oracle(X[i], X[j], X[k])
    different = (j != k) & (i != j) & (i != k)
    np.testing.assert_array_equal(oracle(X[i], X[k], X[j])[different], ~answers[different])
    np.testing.assert_array_equal([oracle(X[[a]], X[[b]], X[[c]])[0] for a, b, c in zip(i, j, k, strict=True)], answers)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(oracle))(X[i], X[j], X[k]), answers)


def test_seeds_give_different_noise():
    X = np.random.default_rng(0).standard_normal((50, 2))
    i, j, k = triplets(50, 2000)
    first, second = (EuclideanOracle(noise="logistic", random_state=s).bind(X)(X[i], X[j], X[k]) for s in (0, 1))
    assert 0.05 < np.mean(first != second) < 0.5


def test_logistic_noise_has_the_probabilities_of_the_model():
    # binomial tests in 8 bins at level 1e-4 each: the right noise fails with probability below 1e-3; the seed is fixed
    X = np.random.default_rng(0).standard_normal((300, 2))
    i, j, k = triplets(300, 100_000)
    z = ((X[i] - X[k]) ** 2).sum(axis=1) - ((X[i] - X[j]) ** 2).sum(axis=1)
    answers = EuclideanOracle(noise="logistic", scale=1.0)(X[i], X[j], X[k])
    edges = np.quantile(z, np.linspace(0, 1, 9))
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        inside = (z >= low) & (z <= high)
        expected = expit(z[inside]).mean()
        assert binomtest(int(answers[inside].sum()), int(inside.sum()), expected).pvalue > 1e-4


def test_flip_noise_flips_its_share_whatever_the_distances():
    X = np.random.default_rng(0).standard_normal((300, 2))
    i, j, k = triplets(300, 50_000)
    exact = EuclideanOracle()(X[i], X[j], X[k])
    flipped = EuclideanOracle(noise="flip", flip_rate=0.2)(X[i], X[j], X[k]) != exact
    close = np.abs(((X[i] - X[k]) ** 2).sum(axis=1) - ((X[i] - X[j]) ** 2).sum(axis=1)) < 1
    for part in (close, ~close):
        assert binomtest(int(flipped[part].sum()), int(part.sum()), 0.2).pvalue > 1e-4


def test_automatic_scale_makes_the_noise_free_of_units():
    X = np.random.default_rng(0).standard_normal((200, 2))
    i, j, k = triplets(200, 20_000)
    shares = []
    for unit in (1.0, 1000.0):
        oracle = EuclideanOracle(noise="logistic").bind(unit * X)
        assert oracle.scale_ * unit**2 == pytest.approx(EuclideanOracle().bind(X).scale_, rel=1e-9)
        exact = EuclideanOracle()(X[i], X[j], X[k])
        shares.append(np.mean(oracle(unit * X[i], unit * X[j], unit * X[k]) == exact))
    assert shares[0] == pytest.approx(shares[1], abs=0.02)
    assert EuclideanOracle().bind(np.zeros((5, 2))).scale_ == 1  # identical rows have no unit


def test_without_a_fit_the_first_questions_set_the_scale():
    X = np.random.default_rng(0).standard_normal((50, 2))
    i, j, k = triplets(50, 500)
    oracle = EuclideanOracle(noise="logistic")
    answers = oracle(X[i], X[j], X[k])
    np.testing.assert_array_equal(oracle(X[i][:9], X[j][:9], X[k][:9]), answers[:9])


@pytest.mark.parametrize(
    "parameters",
    [
        {"noise": "gaussian"},
        {"metric": "nope"},
        {"scale": 0},
        {"scale": "one"},
        {"flip_rate": 0.7},
        {"random_state": -1},
        {"random_state": None},
    ],
)
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=f"'{next(iter(parameters))}' parameter of EuclideanOracle"):
        EuclideanOracle(**parameters)


def test_rows_that_are_not_numbers_are_refused():
    with pytest.raises(TypeError, match="rows of numbers"):
        EuclideanOracle()(np.array([["a"]]), np.array([["b"]]), np.array([["c"]]))


def test_counting_counts_rows_and_blocks_in_threads_and_survives_clone_and_pickle():
    X = np.random.default_rng(0).standard_normal((60, 2))
    oracle = CountingOracle(EuclideanOracle(noise="logistic"))
    bound = oracle.bind(X)
    bound.start(0, np.arange(1, 60))(0, 59, 1)
    assert oracle.n_queries == 59
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(lambda _: bound(X[:10], X[10:20], X[20:30]), range(50)))
    assert oracle.n_queries == 59 + 500
    assert clone(oracle) is oracle
    assert clone(LandmarkOrdinalEmbedding(oracle=oracle)).oracle is oracle
    assert pickle.loads(pickle.dumps(oracle)).n_queries == 559
    assert not hasattr(CountingOracle(lambda *rows: None), "start")


def test_caching_asks_each_question_once_in_either_order():
    X = np.random.default_rng(0).standard_normal((40, 2))
    asked = CountingOracle(EuclideanOracle(noise="logistic", scale=1.0))
    oracle = CachingOracle(asked)
    i, j, k = triplets(40, 300)
    keep = (i != j) & (i != k) & (j != k)
    i, j, k = i[keep], j[keep], k[keep]
    answers = EuclideanOracle(noise="logistic", scale=1.0)(X[i], X[j], X[k])
    np.testing.assert_array_equal(oracle(X[i], X[j], X[k]), answers)
    np.testing.assert_array_equal(oracle(X[i], X[k], X[j]), ~answers)
    distinct = len({(a, *sorted((b, c))) for a, b, c in zip(i.tolist(), j.tolist(), k.tolist(), strict=True)})
    assert asked.n_queries == oracle.n_asked == distinct
    assert oracle.n_queries == 2 * len(i)
    copy = pickle.loads(pickle.dumps(oracle))
    np.testing.assert_array_equal(copy(X[i], X[j], X[k]), answers)
    assert copy.n_asked == distinct


def test_a_second_fit_asks_a_cache_nothing():
    X = np.random.default_rng(0).standard_normal((40, 2))
    oracle = CachingOracle(EuclideanOracle(noise="logistic", scale=1.0))
    model = LandmarkOrdinalEmbedding(oracle=oracle, n_landmarks=6, random_state=0)
    first = model.fit_transform(X)
    asked = oracle.n_asked
    second = clone(model).fit_transform(X)
    assert oracle.n_asked == asked > 0
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        (np.ones(3, bool), ValueError, r"asked 4 queries .* shape \(4,\), but it returned one of shape \(3,\)"),
        (np.ones((4, 1), bool), ValueError, r"shape \(4, 1\)"),
        (np.ones(4), TypeError, "must return booleans.*float64"),
        ([True, False, None, True], TypeError, "must return booleans.*object"),
        (None, ValueError, r"shape \(\)"),
    ],
)
def test_wrong_answers_are_refused(answers, error, message):
    with pytest.raises(error, match=message):
        check_responses(answers, 4)


def test_questions_are_asked_in_blocks_of_the_working_memory():
    from sklearn import config_context

    X = np.random.default_rng(0).standard_normal((50, 2))
    sizes = []

    def oracle(anchors, left, right):
        sizes.append(len(anchors))
        return EuclideanOracle()(anchors, left, right)

    i, j, k = triplets(50, 1000)
    with config_context(working_memory=0.02):
        small = ask_triplets(oracle, X, i, j, k)
    np.testing.assert_array_equal(small, EuclideanOracle()(X[i], X[j], X[k]))
    assert len(sizes) > 1
    assert sum(sizes) == 1000


def test_recorded_answers_serve_as_an_oracle_of_identifiers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 2))
    i, j, k = (index.ravel() for index in np.meshgrid(*[np.arange(25)] * 3, indexing="ij"))
    keep = (i != j) & (i != k) & (j < k)
    i, j, k = i[keep], j[keep], k[keep]
    recorded = TripletOracle.from_triplets(np.column_stack([i, j, k]), EuclideanOracle()(X[i], X[j], X[k]))
    ids = np.arange(25)[:, None]
    embedding = LandmarkOrdinalEmbedding(oracle=recorded, n_landmarks=8, random_state=0).fit_transform(ids)
    assert embedding.shape == (25, 2)
    few = TripletOracle.from_triplets(np.column_stack([i, j, k])[::50])
    with pytest.raises(ValueError, match="StochasticTripletEmbedding"):
        LandmarkOrdinalEmbedding(oracle=few, n_landmarks=8, random_state=0).fit(ids)
