"""Damaged files give the data that they hold, or a ValueError that names the file and the line; nothing else."""

import argparse
import re
import tracemalloc

import mutations
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank._commands._input import add_arguments, read_rankings
from skrank._commands._triplets_input import read_record
from skrank.datasets import dump_preflib, load_preflib, load_sushi_order
from skrank.datasets._tables._words import is_missing

NAN = np.nan
SEEDS = st.integers(0, 2**32 - 1)
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
@given(seed=SEEDS, unranked=st.sampled_from(["last", "missing", None]))
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


@given(seed=SEEDS)
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


# ---------------------------------------------------------------- CSV files of the command
CSV = {
    "ranks": (
        b"egg,tuna,squid,n,who\n1,2,3,4,ann\n2,,1,3,bob\n1,1,2,10,\xc3\xa9\n",
        ["--count", "n", "--label", "who"],
    ),
    "scores": (b"egg;tuna;squid;id\n4.5;2;-3;a\n2e3;NA;1;b\n0;0;0;c\n", ["--scores", "--ignore", "id"]),
    "orderings": (b'first,second,third\negg,tuna,squid\n"tuna, raw",egg,\nsquid,,\n', ["--orderings"]),
}


def command_line(options):
    parser = argparse.ArgumentParser()
    add_arguments(parser, label=True)
    return parser.parse_args(options)


@pytest.mark.parametrize("kind", CSV)
@given(seed=SEEDS)
def test_csv_of_the_command(folder, kind, seed):
    whole, options = CSV[kind]
    arguments = command_line(["--unranked", "missing", *options])
    content = mutations.damaged_file(whole, np.random.default_rng(seed))
    path = folder / "x.csv"
    path.write_bytes(content)
    try:
        found = read_rankings(str(path), arguments)
    except ValueError as error:
        names_the_line(error, path)
        return
    header, *rows = mutations.cells_by_definition(content)
    if "a list in a cell" in found.description:
        return
    # Where damage has made a column look like none of the items, it is not used, and the description says so.
    items = found.columns
    if kind == "orderings":
        cells = [[*row, *[""] * len(header)] for row in rows]
        cells = [[row[column] for column in items if not is_missing(row[column])] for row in cells]
        listed = [{item: place for place, item in enumerate(row)} for row in cells]
        assert set(found.item_names) == set().union(*listed)
        for places, ranks in zip(listed, found.ranks, strict=True):
            assert places == {name: rank for name, rank in zip(found.item_names, ranks, strict=True) if rank == rank}
        return
    assert found.item_names == [header[column] for column in items]
    values = np.array([[NAN if is_missing(row[column]) else float(row[column]) for column in items] for row in rows])
    values = -values if kind == "scores" else values
    for row, ranks in zip(values, found.ranks, strict=True):
        levels = np.unique(row[~np.isnan(row)])
        np.testing.assert_array_equal(ranks, np.where(np.isnan(row), NAN, np.searchsorted(levels, row)))
    if kind == "ranks":
        np.testing.assert_array_equal(found.weights, [float(row[header.index("n")]) for row in rows])
        assert found.labels.tolist() == [row[header.index("who")] for row in rows]


def test_empty_cells_at_the_ends_of_lines_between_tabs(folder):
    path = folder / "x.tsv"
    path.write_text("egg\ttuna\tsquid\n\t1\t2\n1\t2\t\n\t\t\n1\t2\t3\n\n")
    found = read_rankings(str(path), command_line(["--unranked", "missing"]))
    np.testing.assert_array_equal(found.ranks, [[NAN, 0, 1], [0, 1, NAN], [NAN, NAN, NAN], [0, 1, 2]])
    path.write_text("best\tnext\n\tegg\n")
    with pytest.raises(ValueError, match="line 2: an empty cell before an item"):
        read_rankings(str(path), command_line(["--orderings", "--unranked", "missing"]))


def test_items_that_are_long_numbers_are_sorted_as_numbers(folder):
    path = folder / "x.csv"
    path.write_text(f"first,second,third\n10,9,{'1' * 30}\n")
    found = read_rankings(str(path), command_line(["--orderings"]))
    assert found.item_names == ["9", "10", "1" * 30]
    assert found.ranks.tolist() == [[1, 0, 2]]


TRIPLETS = {
    "names": b"anchor,near,far\negg,tuna,squid\ntuna,egg,squid\nsquid,tuna,egg\n",
    "numbers": b"0\t1\t2\n1\t0\t2\n2\t1\t0\n",
    "answers": b"anchor,near,far,answer\n1,2,3,true\n2,1,3,0\n3,10,1,1\n",
    "counts": b"anchor,near,far,answer\n1,2,3,4\n2,1,3,-2\n3,2,1,1\n",
}


@pytest.mark.parametrize("kind", TRIPLETS)
@given(seed=SEEDS)
def test_triplets_of_the_command(folder, kind, seed):
    content = mutations.damaged_file(TRIPLETS[kind], np.random.default_rng(seed))
    path = folder / "x.csv"
    path.write_bytes(content)
    try:
        found = read_record(str(path))
    except ValueError as error:
        names_the_line(error, path)
        return
    rows = mutations.cells_by_definition(content)
    if rows[0][:3] == ["anchor", "near", "far"] and rows[0][3:] != ["answer"]:
        rows = [row[:3] for row in rows]  # columns are found by their names, others are left out
    if not all(re.fullmatch("-?[0-9]{1,18}", cell) for cell in rows[0]):
        rows = rows[1:]
    all_whole = all(re.fullmatch("-?[0-9]{1,18}", cell) for row in rows for cell in row[:3])
    read = (lambda cell: str(int(cell))) if all_whole else str
    answers = {"true": 1, "false": 0}
    counts = [
        answers.get(row[3].lower(), None) if row[3].lower() in answers else int(row[3]) for row in rows if len(row) > 3
    ]
    binary = all(count in (0, 1) for count in counts)
    expected = []
    for row, count in zip(rows, counts or [1] * len(rows), strict=True):
        anchor, near, far = map(read, row[:3])
        nearer = (anchor, near, far) if count > 0 else (anchor, far, near)
        expected += [nearer] * (1 if binary else abs(count))
    assert [tuple(found.items[item] for item in triplet) for triplet in found.triplets] == expected


# ---------------------------------------------------------------- sizes
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
