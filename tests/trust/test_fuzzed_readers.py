"""Damaged files give the data that they hold, or a ValueError that names the file and the line; nothing else."""

import re
import tracemalloc

import mutations
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank.datasets import dump_preflib, load_preflib, load_sushi_order

NAN = np.nan
PREFLIB = {
    "soc": [[0, 1, 2], [2, 0, 1], [1, 2, 0]],
    "soi": [[0, 1, NAN], [2, 0, 1], [NAN, NAN, 0]],
    "toc": [[0, 0, 1], [2, 0, 1], [0, 0, 0]],
    "toi": [[0, 0, NAN], [2, 0, 1], [1, 0, 1]],
    "cat": [[0, 1, 1], [1, 1, NAN], [0, 0, 2]],
}
OLD = b"3\n1,egg\n2,squid\n3,tuna\n7,7,2\n4,1,{2,3}\n3,{1,2},3\n"
SUSHI = b"4 1\n0 4 3 2 0 1\n0 2 3 1\n0 4 0 1 2 3\n"


def whole_preflib(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    for kind, X in PREFLIB.items():
        names = ["egg", "squid: raw", "#tuna"]
        dump_preflib(folder / f"x.{kind}", X, sample_weight=[4, 2, 10], item_names=names, metadata={"title": "A, b"})
    return {**{kind: (folder / f"x.{kind}").read_bytes() for kind in PREFLIB}, "toi (old header)": OLD}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return whole_preflib(tmp_path_factory)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


def names_the_line(error, path):
    assert re.match(rf"{re.escape(str(path))}, line [1-9][0-9]*: .", str(error)), str(error)
    assert str(error).isprintable() or "\u2028" in str(error) or "\n" not in str(error)


@pytest.mark.parametrize("kind", [*PREFLIB, "toi (old header)"])
@given(seed=st.integers(0, 2**32 - 1), unranked=st.sampled_from(["last", "missing", None]))
def test_preflib(whole, folder, kind, seed, unranked):
    rng = np.random.default_rng(seed)
    content = mutations.damaged_file(whole[kind], rng)
    path = folder / f"x.{kind[:3]}"
    path.write_bytes(content)
    try:
        found = load_preflib(path, unranked=unranked)
    except ValueError as error:
        names_the_line(error, path)
        return
    names, orders = mutations.preflib_by_definition(content)
    matrix, counts = mutations.matrix_of(orders, len(names))
    assert found.item_names.tolist() == names
    assert found.sample_weight.sum() == counts.sum()
    if unranked == "missing":
        np.testing.assert_array_equal(found.data, matrix)
        np.testing.assert_array_equal(found.sample_weight, counts)
    else:
        assert not np.isnan(found.data).any()


@given(seed=st.integers(0, 2**32 - 1))
def test_sushi(folder, seed):
    content = mutations.damaged_file(SUSHI, np.random.default_rng(seed))
    path = folder / "x.order"
    path.write_bytes(content)
    try:
        found = load_sushi_order(path, unranked="missing")
    except ValueError as error:
        names_the_line(error, path)
        return
    np.testing.assert_array_equal(found.data, mutations.sushi_by_definition(content))


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("x.order", b"1000000000 1\n0 1 0\n", 1),
        ("x.soi", b"1000000000\n1,egg\n2,tuna\n1,1,1\n1,1,2\n", 4),
        (
            "x.soi",
            b"# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 1000000000\n# NUMBER VOTERS: 1\n# NUMBER UNIQUE ORDERS: 1\n"
            b"# ALTERNATIVE NAME 1: egg\n1: 1\n",
            5,
        ),
        (
            "x.cat",
            b"# DATA TYPE: cat\n# NUMBER ALTERNATIVES: 1\n# NUMBER CATEGORIES: 1000000000\n# NUMBER VOTERS: 1\n"
            b"# NUMBER UNIQUE PREFERENCES: 1\n# ALTERNATIVE NAME 1: egg\n# CATEGORY NAME 1: yes\n1: 1\n",
            7,
        ),
        ("x.soi", b"1\n1,egg\n1,1,1\n1,1000000000\n", 4),
    ],
)
def test_announcing_much_takes_no_memory(folder, name, content, line):
    path = folder / name
    path.write_bytes(content)
    load = load_sushi_order if name.endswith(".order") else load_preflib
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f", line {line}: "):
            load(path, unranked="last")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**21


def test_many_names_and_many_short_orders_are_refused_before_they_fill_the_memory(folder):
    n = 50_000
    path = folder / "x.soi"
    names = [f"{item},{item}" for item in range(1, n + 1)]
    path.write_text("\n".join([str(n), *names, f"{n},{n},{n}", *(f"1,{item}" for item in range(1, n + 1))]))
    with pytest.raises(
        ValueError, match=f"line {n + 2}: {n} rankings of {n} items are a matrix of 2500 million numbers"
    ):
        load_preflib(path, unranked="missing")
