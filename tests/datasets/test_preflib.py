"""PrefLib files: every kind and both headers, the round trip, and every way such a file is broken."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank.datasets import _preflib_orders as preflib_orders
from skrank.datasets import dump_preflib, load_preflib

NAN = np.nan
NEW = """# FILE NAME: lunch.{kind}
# TITLE: Lunch: what to eat
# DATA TYPE: {kind}
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: {voters}
# NUMBER UNIQUE ORDERS: {orders}
# ALTERNATIVE NAME 1: egg
# ALTERNATIVE NAME 2: squid, grilled
# ALTERNATIVE NAME 3: tuna
{body}"""
OLD = "3\n1,egg\n2,squid, grilled\n3,tuna \n{voters},{voters},{orders}\n{body}"
CAT = """# DATA TYPE: cat
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 6
# NUMBER UNIQUE PREFERENCES: 3
# NUMBER CATEGORIES: 2
# CATEGORY NAME 1: yes
# CATEGORY NAME 2: no
# ALTERNATIVE NAME 1: a
# ALTERNATIVE NAME 2: b
# ALTERNATIVE NAME 3: c
3: {2,3},1
2: {},{1,2,3}
1: 3,{}
"""
ORDERS = {
    "soc": ("3: 2,1,3\n2: 3,2,1\n", 5, 2, [[1, 0, 2], [2, 1, 0]]),
    "soi": ("3: 2,1\n2: 3\n", 5, 2, [[1, 0, NAN], [NAN, NAN, 0]]),
    "toc": ("3: 2,{1,3}\n2: {3,2,1}\n", 5, 2, [[1, 0, 1], [0, 0, 0]]),
    "toi": ("3: {2,1}\n2: 3,2\n", 5, 2, [[0, 0, NAN], [NAN, 1, 0]]),
}


def write(folder, text, name="lunch.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_kind_and_both_headers(tmp_path, kind, old, ending, newline):
    body, voters, orders, ranks = ORDERS[kind]
    text = OLD if old else NEW
    text = text.format(kind=kind, voters=voters, orders=orders, body=body.replace(": ", ",") if old else body)
    content = text.replace("\n", newline).encode()
    path = write(tmp_path, gzip.compress(content) if ending else content, f"lunch.{kind}{ending}")
    lunch = load_preflib(path, unranked="missing")
    np.testing.assert_array_equal(lunch.data, ranks)
    assert lunch.sample_weight.tolist() == [3, 2]
    assert lunch.item_names.tolist() == ["egg", "squid, grilled", "tuna"]
    assert lunch.metadata["number_voters"] == 5
    assert lunch.metadata["data_type"] == kind
    if not old:
        assert lunch.metadata["title"] == "Lunch: what to eat"


def test_unranked(tmp_path):
    path = write(tmp_path, NEW.format(kind="soi", voters=7, orders=3, body="3: 2,1\n2: 3\n2: 2,1,3\n"))
    with pytest.raises(ValueError, match=r"lunch.txt, line 10: the order leaves out alternative 3 \(tuna\).*unranked="):
        load_preflib(path)
    assert np.isnan(load_preflib(path, unranked="missing").data).sum() == 3
    last = load_preflib(path, unranked="last")
    np.testing.assert_array_equal(last.data, [[1, 0, 2], [1, 1, 0]])
    assert last.sample_weight.tolist() == [5, 2]


def test_categories_are_buckets_in_the_order_of_the_header(tmp_path):
    path = write(tmp_path, CAT, "votes.cat")
    votes = load_preflib(path, unranked="missing")
    np.testing.assert_array_equal(votes.data, [[1, 0, 0], [1, 1, 1], [NAN, NAN, 0]])
    assert votes.metadata["category_names"] == ["yes", "no"]
    np.testing.assert_array_equal(load_preflib(path, unranked="last").data[2], [2, 2, 0])
    with pytest.raises(ValueError, match=r"line 13: the order leaves out alternative 1 \(a\)"):
        load_preflib(path)


def test_blank_lines_and_spaces_are_nothing(tmp_path):
    body = "\n 3 : 2 , { 1 ,3 }\n\n\n2:{3,2,1}\n\n"
    lunch = load_preflib(write(tmp_path, NEW.format(kind="toc", voters=5, orders=2, body=body)))
    np.testing.assert_array_equal(lunch.data, ORDERS["toc"][3])


@pytest.mark.parametrize("block_bytes", [1, 16, 1 << 22])
def test_blocks_do_not_matter(tmp_path, monkeypatch, block_bytes):
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 5, (300, 5)).astype(float)
    ranks[rng.random((300, 5)) < 0.3] = NAN
    ranks = ranks[~np.isnan(ranks).all(axis=1)]
    dump_preflib(tmp_path / "x.toi", ranks)
    expected = load_preflib(tmp_path / "x.toi", unranked="last")
    monkeypatch.setattr(preflib_orders, "BLOCK_BYTES", block_bytes)
    found = load_preflib(tmp_path / "x.toi", unranked="last")
    np.testing.assert_array_equal(found.data, expected.data)
    np.testing.assert_array_equal(found.sample_weight, expected.sample_weight)


# The line number is part of every message; line 10 is the first order.
BROKEN_ORDERS = [
    ("toc", "3: 2,{1,3\n2: 3,2,1\n", "line 10: braces that do not match in '3: 2,{1,3'"),
    ("toc", "3: 2,1,3}\n2: 3,2,1\n", "line 10: braces that do not match"),
    ("toc", "3: 2,1,3\n2: {3,{2},1}\n", "line 11: braces that do not match"),
    ("toc", "3: 2,1,3\n2: {3,2},{},1\n", "line 11: '}' right after '{'"),
    ("toc", "3: 2,1,3\n2: {3,2}1\n", "line 11: a number right after '}'"),
    ("toc", "3: 2,1,3\n2: 3,,1\n", "line 11: ',' right after ','"),
    ("toc", "3: 2,1,3\n2: 3,2,1,\n", "line 11: the end of the line right after ','"),
    ("toc", "3: 2,1,3\n2:\n", "line 11: the end of the line right after ':'"),
    ("toc", "3: 2,1,3\n2: 3 2,1\n", "line 11: a number right after a number"),
    ("toc", "3: 2,1,3\n2: 3,2:1\n", "line 11: a ':' within an order"),
    ("toc", "3: 2,1,3\n2, 3,2,1\n", "line 11: no 'count:' at the start"),
    ("toc", "3: 2,1,3\n2\n", "line 11: no 'count:' at the start"),
    ("toc", "3: 2,1,3\n{2}: 3\n", "line 11: no 'count:' at the start"),
    ("soc", "3: 2,1,3\n2: 3,2,x\n", "line 11: unexpected character 'x'"),
    ("soc", "3: 2,1,3\n2: 3,-2,1\n", "line 11: unexpected character '-'"),
    ("soc", "3: 2,1,3\n# TITLE: late\n2: 3,2,1\n", "line 11: unexpected character '#'"),
    ("soc", "3: 2,1,3\n2: 3,2,4\n", "line 11: alternative 4, but the alternatives are 1 to 3"),
    ("soc", "3: 2,1,3\n2: 2,1,0\n", "line 11: alternative 0, but the alternatives are 1 to 3"),
    ("soc", "3: 2,1,3\n2: 3,2,3\n", "line 11: alternative 3 is listed more than once"),
    ("toc", "3: 2,1,3\n2: {3,2,3},1\n", "line 11: alternative 3 is listed more than once"),
    ("soc", "3: 2,1,3\n2: 3,2,1234567890123456\n", "line 11: a number of more than 15 digits"),
    ("soc", "3: 2,1,3\n2: 3,2\n", "line 11: not all of the 3 alternatives, in a file of strict orders of all"),
    ("toc", "3: 2,1,3\n2: {3,2}\n", "line 11: not all of the 3 alternatives"),
    ("soc", "3: 2,1,3\n2: {3,2},1\n", "line 11: a tie, in a file of strict orders"),
    ("soi", "3: 2,1,3\n2: {3,2}\n", "line 11: a tie, in a file of strict orders"),
    ("soc", "3: 2,1,3\n1: 3,2,1\n", "line 5: NUMBER VOTERS is 5, but the counts of lines 10 to 11 add up to 4"),
    ("soc", "5: 2,1,3\n", "line 6: NUMBER UNIQUE ORDERS is 2, but there are 1 orders"),
    ("soc", "3: 2,1,3\n1: 3,2,1\n1: 1,2,3\n", "line 6: NUMBER UNIQUE ORDERS is 2, but there are 3 orders"),
    ("soc", "\n\n", "line 12: no orders after the header"),
]


@pytest.mark.parametrize(("kind", "body", "message"), BROKEN_ORDERS)
@pytest.mark.parametrize("block_bytes", [1, 1 << 22])
def test_broken_orders(tmp_path, monkeypatch, kind, body, message, block_bytes):
    monkeypatch.setattr(preflib_orders, "BLOCK_BYTES", block_bytes)
    path = write(tmp_path, NEW.format(kind=kind, voters=5, orders=2, body=body))
    with pytest.raises(ValueError, match=re.escape(f"lunch.txt, {message}")):
        load_preflib(path, unranked="missing")


GOOD = NEW.format(kind="soc", voters=5, orders=2, body=ORDERS["soc"][0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# DATA TYPE: soc\n", "", "line 8: the header ends here without a line '# DATA TYPE: ...'"),
        ("DATA TYPE: soc", "DATA TYPE: wmd", "line 3: DATA TYPE is 'wmd', which is not a kind of rankings"),
        ("DATA TYPE: soc", "DATA TYPE: soi", "line 3: DATA TYPE is 'soi', but the file's name ends in '.soc'"),
        ("ALTERNATIVES: 3", "ALTERNATIVES: three", "line 4: NUMBER ALTERNATIVES is 'three'"),
        ("ALTERNATIVES: 3", "ALTERNATIVES: 0", "line 4: NUMBER ALTERNATIVES is '0'"),
        ("ALTERNATIVES: 3", "ALTERNATIVES: " + 5000 * "3", "line 4: NUMBER ALTERNATIVES is '3333"),
        (
            "ALTERNATIVES: 3",
            "ALTERNATIVES: 4",
            "line 9: the header ends here without a line '# ALTERNATIVE NAME 4: ...'",
        ),
        ("ALTERNATIVES: 3", "ALTERNATIVES: 2", "line 9: ALTERNATIVE NAME 3, but the header announces 2"),
        ("# NUMBER VOTERS: 5\n", "", "line 8: the header ends here without a line '# NUMBER VOTERS: ...'"),
        ("VOTERS: 5", "VOTERS: 5.0", "line 5: NUMBER VOTERS is '5.0'"),
        ("NAME 2:", "NAME 1:", "line 8: ALTERNATIVE NAME 1 for the second time (first in line 7)"),
        ("NAME 3:", "NAME 03:", "line 9: ALTERNATIVE NAME 03, but the header announces 3"),
        ("NAME 3:", "NAME 1000000000000000:", "line 9: ALTERNATIVE NAME 1000000000000000, but the header announces 3"),
        ("NAME 3:", "NAME " + 5000 * "3" + ":", "line 9: ALTERNATIVE NAME 333"),
        ("NAME 3:", "NAME three:", "line 9: ALTERNATIVE NAME THREE, but the header announces 3"),
        ("# TITLE: Lunch: what to eat", "# TITLE", "line 2: a header line must read '# KEY: value'"),
        ("egg", "e\udcffg", "line 7: not UTF-8 text"),
    ],
)
def test_broken_headers(tmp_path, old, new, message):
    assert old in GOOD
    content = GOOD.replace(old, new, 1).encode(errors="surrogateescape")
    with pytest.raises(ValueError, match=re.escape(f"lunch.soc, {message}")):
        load_preflib(write(tmp_path, content, "lunch.soc"))


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("three\n", "x.soc", "line 1: expected the number of alternatives"),
        (5000 * "3" + "\n", "x.soc", "line 1: expected the number of alternatives"),
        ("2\n1,a\n3,b\n", "x.soc", "line 3: expected '2,name', the name of alternative 2 of 2"),
        ("2\n1,a\n", "x.soc", "line 3: expected '2,name'"),
        ("2\n1,a\n2,b\n3,3\n", "x.soc", "line 4: expected 'voters,sum of counts,unique orders'"),
        ("2\n1,a\n2,b\n3,4,1\n3,1,2\n", "x.soc", "line 4: 3 voters, but a sum of counts of 4"),
        ("2\n1,a\n2,b\n3,3,1\n2,1,2\n", "x.soc", "line 4: the sum of counts is 3, but the counts"),
        ("2\n1,a\n2,b\n3,3,1\n3:1,2\n", "x.soc", "line 5: no 'count,' at the start"),
        ("2\n1,a\n2,b\n3,3,1\n3,1,2\n", "x.txt", "line 1: no header '# KEY: value'; in the old format"),
        ("2\n1,a\n2,b\n3,3,1\n3,1,2\n", "x.cat", "line 1: no header '# KEY: value', and the old format has no cat"),
        ("", "x.soc", "line 1: the file is empty"),
        (" \n\n", "x.soc", "line 1: the file is empty"),
        (b"# DATA TYPE: soc\n\x00\x01", "x.soc", "line 2: a zero byte: this is binary data"),
        (b"\x89PNG\r\n\x1a\n", "x.soc", "line 1: not UTF-8 text"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-9], "x.soc.gz", "the gzip data ends here"),
        (gzip.compress(GOOD.encode(), mtime=0)[:20], "x.soc.gz", "line 1: the gzip data ends here"),
        (b"\x1f\x8b\x08nonsense, not gzip", "x.soc.gz", "line 1: the gzip data is broken here"),
    ],
)
def test_broken_files(tmp_path, text, name, message):
    with pytest.raises(ValueError, match=rf"{re.escape(name)}, (line \d+: )?{re.escape(message)}"):
        load_preflib(write(tmp_path, text, name))


def test_a_truncated_gzip_names_the_line_it_breaks_off_in(tmp_path):
    rng = np.random.default_rng(0)
    dump_preflib(tmp_path / "x.soc.gz", np.argsort(rng.random((9000, 12)), axis=1))
    content = (tmp_path / "x.soc.gz").read_bytes()
    with pytest.raises(ValueError, match=r"line (\d+): the gzip data ends here") as error:
        load_preflib(write(tmp_path, content[: len(content) // 2], "x.soc.gz"))
    assert 2000 < int(re.search(r"line (\d+)", str(error.value))[1]) < 7000


def test_several_gzip_members_are_one_file(tmp_path):
    halves = [gzip.compress(GOOD.encode()[:150]), gzip.compress(GOOD.encode()[150:])]
    assert len(load_preflib(write(tmp_path, b"".join(halves), "x.soc.gz")).data) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CAT.replace("# CATEGORY NAME 2: no\n", ""), "without a line '# CATEGORY NAME 2: ...'"),
        (CAT.replace("{2,3},1", "{2,3},{},1"), "line 11: the header announces 2 categories, but the line has 3"),
        (CAT.replace("{2,3},1", "{1,2,3}"), "line 11: the header announces 2 categories, but the line has 1"),
    ],
)
def test_broken_categories(tmp_path, text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        load_preflib(write(tmp_path, text, "x.cat"), unranked="missing")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_round_trip(tmp_path_factory, data):
    n_items = data.draw(st.integers(1, 6))
    cell = st.one_of(st.integers(1, 4).map(float), st.just(NAN))
    row = st.lists(cell, min_size=n_items, max_size=n_items).filter(
        lambda row: not all(value != value for value in row)
    )
    X = np.array(data.draw(st.lists(row, min_size=1, max_size=8)))
    weights = np.array(data.draw(st.lists(st.integers(1, 99), min_size=len(X), max_size=len(X))))
    names = data.draw(st.lists(st.text("aé:,{}# 1").map(str.strip), min_size=n_items, max_size=n_items))
    path = tmp_path_factory.mktemp("preflib") / data.draw(st.sampled_from(["x", "x.toi", "x.toi.gz"]))
    dump_preflib(path, X, sample_weight=weights, item_names=names, metadata={"title": "A: b"})
    found = load_preflib(path, unranked="missing")
    assert found.item_names.tolist() == names
    assert found.metadata["title"] == "A: b"
    expected = {}
    for ranks, weight in zip(X, weights, strict=True):
        levels = np.unique(ranks[~np.isnan(ranks)])
        key = tuple("-" if value != value else int(levels.searchsorted(value)) for value in ranks)
        expected[key] = expected.get(key, 0) + weight
    rows = [tuple("-" if value != value else int(value) for value in ranks) for ranks in found.data]
    assert dict(zip(rows, found.sample_weight, strict=True)) == expected
    assert len(rows) == len(expected)


def test_round_trip_of_categories(tmp_path):
    votes = load_preflib(write(tmp_path, CAT, "votes.cat"), unranked="missing")
    dump_preflib(tmp_path / "again.cat", votes.data, sample_weight=votes.sample_weight, metadata=votes.metadata)
    again = load_preflib(tmp_path / "again.cat", unranked="missing")
    np.testing.assert_array_equal(again.data, votes.data)
    assert again.metadata["category_names"] == ["yes", "no"]


@pytest.mark.parametrize(
    ("X", "names", "expected"),
    [
        (pd.DataFrame({"egg": [0, pd.NA], "tuna": [1, 0]}, dtype="Int64"), np.array(["y", "n"]), [[0, 1], [NAN, 0]]),
        ([[NAN, NAN], [NAN, NAN]], None, [[NAN, NAN]]),
    ],
)
def test_categories_with_gaps_are_read_as_they_are_written(tmp_path, X, names, expected):
    dump_preflib(tmp_path / "votes.cat", X, metadata={"category_names": names})
    votes = load_preflib(tmp_path / "votes.cat", unranked="missing")
    np.testing.assert_array_equal(votes.data, expected)
    assert votes.metadata["category_names"] == (["category 1"] if names is None else ["y", "n"])


def test_a_file_is_not_written_under_the_name_of_another_kind(tmp_path):
    with pytest.raises(ValueError, match=r"kind='toi', but the name 'x.soc.gz' ends in '.soc'"):
        dump_preflib(tmp_path / "x.soc.gz", [[1, 2]], kind="toi")


def test_names_come_from_columns_and_weights_of_zero_go(tmp_path):
    frame = pd.DataFrame([[1, 2], [2, 1]], columns=["egg", "tuna"])
    dump_preflib(tmp_path / "x.soc", frame, sample_weight=[0, 2])
    found = load_preflib(tmp_path / "x.soc")
    assert found.item_names.tolist() == ["egg", "tuna"]
    assert found.data.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[1, 2], [1, 1]], {"kind": "soc"}, "Row 1 of X ties items, but 'soc' holds strict orders of all"),
        ([[1, 2], [1, NAN]], {"kind": "toc"}, "Row 1 of X leaves items missing, but 'toc' holds"),
        ([[1, 2], [NAN, NAN]], {}, "Row 1 of X ranks no item"),
        ([[1, 2]], {"sample_weight": [1.5]}, "sample_weight[0] is 1.5"),
        ([[1, 2]], {"item_names": ["a"]}, "item_names has 1 names, but X has 2 columns"),
        ([[1, 2]], {"sample_weight": [1e15]}, "sample_weight adds up to 1e+15"),
        ([[1, 2]], {"item_names": ["a", "b\nc"]}, "does not fit on one line"),
        ([[1, 2]], {"item_names": ["a", "b\0c"]}, "does not fit on one line"),
        ([[1, 2]], {"item_names": ["a", " b"]}, "ALTERNATIVE NAME 2 ' b' starts or ends with a blank"),
        ([[1, 2]], {"metadata": {"title": "Lunch\u00a0"}}, "TITLE 'Lunch\\xa0' starts or ends with a blank"),
        ([[1, 2]], {"item_names": ["a", "\ud800"]}, "ALTERNATIVE NAME 2 '\\ud800' holds half a surrogate pair"),
        ([[0, 1e9]], {"kind": "cat"}, "X[0, 1] is 1000000000.0, but the categories are numbers from 0 to 999, unless"),
        ([[1, 2.5]], {"kind": "cat"}, "X[0, 1] is 2.5, but the categories are numbers from 0"),
        ([[-1, 2]], {"kind": "cat"}, "X[0, 0] is -1.0, but the categories"),
        ([[0, 2]], {"kind": "cat", "metadata": {"category_names": ["y", "n"]}}, "X[0, 1] is 2.0, but the categories"),
    ],
)
def test_what_cannot_be_written(tmp_path, X, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        dump_preflib(tmp_path / "x", X, **options)
    assert not (tmp_path / "x").exists()


def test_orders_are_written_as_they_are_spelled_out(tmp_path):
    rng = np.random.default_rng(0)
    for kind in ("toi", "cat"):
        X = rng.integers(0, 4, (300, 12)).astype(float)
        X[rng.random(X.shape) < 0.3] = NAN
        X[0] = np.arange(12) % 4
        count = rng.integers(1, 10**9, len(X))
        dump_preflib(tmp_path / f"x.{kind}", X, sample_weight=count)
        expected = []
        for row, number in zip(X, count, strict=True):
            values = range(4) if kind == "cat" else np.unique(row[~np.isnan(row)])
            buckets = [(np.flatnonzero(row == value) + 1).astype(str).tolist() for value in values]
            order = ",".join(bucket[0] if len(bucket) == 1 else "{" + ",".join(bucket) + "}" for bucket in buckets)
            expected.append(f"{number}: {order}")
        written = (tmp_path / f"x.{kind}").read_text().splitlines()
        assert [line for line in written if not line.startswith("#")] == expected


def test_the_last_line_needs_no_end(tmp_path):
    text = GOOD.rstrip("\n")
    assert (
        load_preflib(write(tmp_path, text, "x.soc")).data.tolist()
        == load_preflib(write(tmp_path, GOOD, "y.soc")).data.tolist()
    )


# ---------------------------------------------------------------- what the collection publishes all the same
def test_counts_of_zero_and_an_order_on_two_lines(tmp_path):
    path = tmp_path / "x.soc"
    path.write_text(
        "# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 5\n# NUMBER UNIQUE ORDERS: 3\n"
        "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n3: 1,2\n0: 2,1\n2: 1,2\n"
    )
    found = load_preflib(path)
    assert found.data.tolist() == [[0, 1], [1, 0]]
    assert found.sample_weight.tolist() == [5, 0]


def test_alternatives_from_zero_in_an_old_header(tmp_path):
    path = tmp_path / "x.soi"
    path.write_text("3\n0,a\n1,b\n2,c\n5,5,2\n3,2,0,1\n2,1\n")
    found = load_preflib(path, unranked="last")
    assert found.item_names.tolist() == ["a", "b", "c"]
    assert found.data.tolist() == [[1, 2, 0], [1, 0, 1]]
    with pytest.raises(ValueError, match="leaves out alternative 0 [(]a[)]"):
        load_preflib(path)
    path.write_text("3\n0,a\n1,b\n2,c\n5,5,2\n3,2,0,3\n2,1\n")
    with pytest.raises(ValueError, match="alternative 3, but the alternatives are 0 to 2"):
        load_preflib(path, unranked="last")


def test_empty_buckets_in_an_old_file_of_ties(tmp_path):
    path = tmp_path / "x.toc"
    path.write_text("3\n1,a\n2,b\n3,c\n5,5,2\n3,{1,2},{},3\n2,{},2,{1,3}\n")
    assert load_preflib(path).data.tolist() == [[0, 0, 1], [1, 0, 1]]


def test_categories_from_zero(tmp_path):
    path = tmp_path / "x.cat"
    path.write_text(
        "# DATA TYPE: cat\n# NUMBER ALTERNATIVES: 2\n# NUMBER CATEGORIES: 1\n# NUMBER VOTERS: 4\n"
        "# NUMBER UNIQUE PREFERENCES: 2\n# CATEGORY NAME 0: Vote\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n"
        "3: 1\n1: {1,2}\n"
    )
    found = load_preflib(path, unranked="last")
    assert found.metadata["category_names"] == ["Vote"]
    assert found.data.tolist() == [[0, 1], [0, 0]]
