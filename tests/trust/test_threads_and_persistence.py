"""The same fit in threads, in processes and from a file; no state of its own, and nothing evaluated."""

import ast
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import skrank
from skrank.datasets import make_mallows_mixture, make_rankings, make_triplets
from skrank.kernel_approximation import MallowsFeatures
from skrank.kernels import KendallKernel, MallowsKernel, PartialRankingKernel
from skrank.linear_model import BradleyTerry
from skrank.manifold import EuclideanOracle, LandmarkOrdinalEmbedding, StochasticTripletEmbedding
from skrank.mixture import MallowsMixture, SeparatedMallowsMixture
from skrank.preprocessing import OrderingEncoder
from skrank.stats import kemeny_consensus, mmd_test

pytestmark = [
    pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning"),
    pytest.mark.filterwarnings("ignore::skrank.exceptions.SeparationWarning"),
]

FULL, LABELS = make_mallows_mixture(60, 5, n_components=2, phi=0.4, random_state=0)
PARTIAL = make_rankings(40, 5, top_k=3, unranked="missing", random_state=0)
POINTS = np.random.default_rng(0).standard_normal((40, 2))
TRIPLETS = make_triplets(30, 3000, noise="logistic", random_state=0)[0]
PAIRS = np.random.default_rng(1).permuted(np.tile(np.arange(8), (300, 1)), axis=1)[:, :2]

# Estimators, what they are fitted on, and what their fit is judged by.
ESTIMATORS = {
    "MallowsMixture": (MallowsMixture(2, random_state=0), FULL, lambda model: model.predict_proba(FULL)),
    "SeparatedMallowsMixture": (
        SeparatedMallowsMixture(2, random_state=0),
        FULL,
        lambda model: model.score_samples(FULL),
    ),
    "PartialRankingKernel": (PartialRankingKernel(random_state=0), PARTIAL, lambda model: model.transform(PARTIAL[:9])),
    "exact PartialRankingKernel": (
        PartialRankingKernel(MallowsKernel(0.2) + KendallKernel()),
        FULL,
        lambda model: model.transform(FULL[:9]),
    ),
    "MallowsFeatures": (MallowsFeatures(32, random_state=0), PARTIAL, lambda model: model.transform(PARTIAL)),
    "LandmarkOrdinalEmbedding": (
        LandmarkOrdinalEmbedding(oracle=EuclideanOracle(noise="logistic"), n_landmarks=8, random_state=0),
        POINTS,
        lambda model: np.vstack([model.embedding_, model.transform(POINTS[:5] + 0.1)]),
    ),
    "StochasticTripletEmbedding": (
        StochasticTripletEmbedding(random_state=0),
        TRIPLETS,
        lambda model: model.embedding_,
    ),
    "BradleyTerry": (BradleyTerry(), PAIRS, lambda model: model.predict_proba(PAIRS)),
    "OrderingEncoder": (
        OrderingEncoder(unranked="last"),
        [["a", "b"], ["b", "c"]],
        lambda model: model.transform([["c", None]]),
    ),
    "pipeline": (
        make_pipeline(PartialRankingKernel(random_state=0), SVC(kernel="precomputed", random_state=0)),
        PARTIAL,
        lambda model: model.decision_function(PARTIAL),
    ),
}
TARGETS = {"pipeline": LABELS[:40]}


def fitted(name):
    estimator, X, judge = ESTIMATORS[name]
    return judge(clone(estimator).fit(X, TARGETS.get(name)))


@pytest.fixture(scope="module")
def expected():
    return {name: fitted(name) for name in ESTIMATORS}


def test_four_threads_at_once_get_what_one_gets(expected):
    names = [name for name in ESTIMATORS for _ in range(4)]
    with ThreadPoolExecutor(4) as executor:
        for name, result in zip(names, executor.map(fitted, names), strict=True):
            np.testing.assert_array_equal(result, expected[name], err_msg=name)


def all_fits(connection):
    connection.send({name: fitted(name) for name in ESTIMATORS})


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes_get_what_this_one_gets(expected, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=all_fits, args=(theirs,))
    process.start()
    theirs.close()
    results = ours.recv()
    process.join()
    for name, result in results.items():
        np.testing.assert_array_equal(result, expected[name], err_msg=name)


def test_the_global_random_numbers_are_left_alone():
    state = np.random.get_state()  # noqa: NPY002
    for name in ESTIMATORS:
        fitted(name)
    mmd_test(FULL[:20], FULL[20:50], n_permutations=20)
    kemeny_consensus(FULL, method="local")
    make_rankings(5, 4, random_state=None)
    after = np.random.get_state()  # noqa: NPY002
    assert state[0] == after[0]
    np.testing.assert_array_equal(state[1], after[1])
    assert state[2:] == after[2:]


# ---------------------------------------------------------------- files
@pytest.mark.parametrize("name", ESTIMATORS)
def test_pickles_give_the_same_again(expected, name):
    estimator, X, judge = ESTIMATORS[name]
    model = clone(estimator).fit(X, TARGETS.get(name))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(judge(again), expected[name])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_skops_files_load_with_our_types_named_and_nothing_else(expected, name):
    """The file is data: loading it calls nothing but what is trusted by name, classes of ours and of scikit-learn."""
    estimator, X, judge = ESTIMATORS[name]
    content = skops.io.dumps(clone(estimator).fit(X, TARGETS.get(name)))
    untrusted = skops.io.get_untrusted_types(data=content)
    assert untrusted
    assert all(one.startswith(("skrank.", "sklearn.", "scipy.sparse.")) for one in untrusted), untrusted
    with pytest.raises(skops.io.exceptions.UntrustedTypesFoundException):
        skops.io.loads(content)
    again = skops.io.loads(content, trusted=untrusted)
    np.testing.assert_array_equal(judge(again), expected[name])


def test_nothing_in_the_library_evaluates_input():
    """No eval, exec, pickle.load or shell anywhere: neither readers nor commands can be made to run what they read."""
    root = Path(skrank.__file__).parent
    forbidden = {"eval", "exec", "compile", "__import__", "system", "popen", "Popen", "loads", "literal_eval"}
    modules = {"pickle", "marshal", "shelve", "subprocess", "yaml", "dill", "cloudpickle"}
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", None))
                # re.compile makes a pattern, and json.loads gives nothing but data.
                harmless = getattr(getattr(node.func, "value", None), "id", None) in ("re", "json")
                assert called not in forbidden or harmless, f"{path.name}, line {node.lineno}: {called}"
                for keyword in node.keywords:
                    assert keyword.arg not in ("allow_pickle", "shell"), f"{path.name}, line {node.lineno}"
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & modules, f"{path.name}, line {node.lineno}"
