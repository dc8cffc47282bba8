"""What the commands read: files by what they hold, once, and never by a guess."""

import gzip
import io
import json
import os
import re
import sys

import numpy as np
import pytest

from skrank.__main__ import main
from skrank.datasets import dump_preflib

ORDERINGS = "first,second,third\ntuna,egg,squid\nsquid,tuna,egg\ntuna,squid,egg\n"
RANKS = "egg,squid,tuna\n1,2,0\n2,0,1\n2,1,0\n"


@pytest.fixture
def run(tmp_path, capsys):
    """Write a file, run the report on it, and return exit code, output and errors."""

    def run(text, *options, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        code = main(["report", str(path), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err.replace(str(path), name)

    return run


def without_columns(result):
    """A report but for the line on the columns of the file."""
    code, out, error = result
    return code, re.sub(r"Columns: .*?\n\n", "", out, flags=re.DOTALL), error


def test_orderings_are_read_with_and_without_a_flag(run):
    expected = without_columns(run(RANKS))
    assert expected[0] == 0
    assert without_columns(run(ORDERINGS)) == expected
    assert without_columns(run(ORDERINGS, "--orderings")) == expected
    without_header = ORDERINGS.partition("\n")[2]
    assert without_columns(run(without_header, "--orderings", "--no-header")) == expected
    assert without_columns(run(gzip.compress(ORDERINGS.encode()), "--orderings")) == expected


def test_short_orderings_need_a_meaning(run):
    text = "1,2,3\ntuna,egg,squid\nsquid\ntuna,squid\n"
    code, _, error = run(text, "--orderings")
    assert code == 2
    assert "votes.csv, line 3: no rank for 'egg'. Choose --unranked last" in error
    assert re.search("with missing items +2 +66.7 %", run(text, "--orderings", "--unranked", "missing")[1])
    assert re.search("with ties +1 +33.3 %", run(text, "--orderings", "--unranked", "last")[1])


def test_numbered_items_are_in_the_order_of_numbers(run):
    figures = json.loads(run("1,2\n10,9\n9,10\n", "--orderings", "--json")[1])
    assert figures["items"] == ["9", "10"]


def test_columns_beside_orderings(run):
    text = "id,n,1st,2nd\n7,2,egg,tuna\n8,1,tuna,egg\n"
    code, out, _ = run(text, "--orderings", "--count", "n", "--ignore", "id")
    assert code == 0
    assert "3 ballots, 2 items" in out
    assert re.search(r"^1  egg +2 +66.7 %", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("first,second\n1,2\n2,1\n", [], "line 1: 'first', 'second' look like places and not like items: pass --order"),
        ("Rank 1,Rank 2\n1,2\n", [], "or --ranks if these are the items"),
        ("a,b\ntuna,egg\n", [], "line 2: 'tuna', 'egg' are not ranks: pass --orderings if rows list items"),
        ("0,1\n0,1\n", [], "If rows list items, best first, pass --orderings --no-header"),
        ("tuna,egg\negg,tuna\ntuna,egg\n", ["--orderings"], "if it is no header, pass --no-header"),
        ("1,2,3\ntuna,,egg\n", ["--orderings"], "line 2: an empty cell before an item"),
        ("1,2,3\ntuna,egg,tuna\n", ["--orderings"], "line 2: 'tuna' is listed twice"),
        ("1,2,3\n", ["--orderings"], "line 1: no rows after the header"),
        ("1,2,3\n,,\n", ["--orderings"], "line 2: no items"),
        (RANKS, ["--no-header"], "--no-header goes with --orderings"),
        ("a,b\n0,1_0\n", [], "line 2: '1_0' in column 'b' is not a number"),
        ("a,b\n0,infinity\n", [], "line 2: 'infinity' in column 'b' is not a number"),
        ("a,b\n0,\u0663\n", [], "line 2: '\u0663' in column 'b' is not a number"),
        ("a,b\n0,1e999\n", [], "line 2: '1e999' in column 'b' is not a number"),
        ("a,b,n\n0,1,1e308\n1,0,1e308\n", ["--weight", "n"], "line 2: the weights add up to inf"),
    ],
)
def test_nothing_is_guessed(run, text, options, message):
    code, out, error = run(text, *options)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert message in error


def test_ranks_whose_items_are_called_like_places(run):
    text = "place 1,place 2\n0,1\n1,0\n0,1\n"
    code, out, _ = run(text, "--ranks")
    assert code == 0
    assert re.search(r"^1  place 1 +2 +66.7 %", out, re.MULTILINE)
    assert run(text, "--scores")[0] == 0


@pytest.mark.parametrize("number", ["1", "+1.", ".5e1", "1E+2"])
def test_numbers_in_many_ways(run, number):
    assert re.search(r"^1  a +1 +100.0 %", run(f"a,b\n0,{number}\n", "--ranks")[1], re.MULTILINE)


def test_preflibs_own_description_is_told(run):
    text = "Name: Votes\n\nAbbreviation: v\n\nfile_name, modification_type\nx.soc, original\n"
    code, _, error = run(text, name="info.txt")
    assert code == 2
    assert "info.txt, line 1: this describes a PrefLib data set: its rankings are in the files listed in it" in error


def test_standard_input_is_read_once(tmp_path, capsys, monkeypatch):
    dump_preflib(tmp_path / "x.soi", [[0, 1, 2], [0, np.nan, 1]], sample_weight=[3, 2], item_names=list("abc"))
    content = (tmp_path / "x.soi").read_bytes()

    class Stream:
        buffer = io.BytesIO(content)

    monkeypatch.setattr(sys, "stdin", Stream)
    assert main(["report", "-", "--unranked", "last"]) == 0
    assert "5 rankings of 3 items, 2 of them distinct." in capsys.readouterr().out
    Stream.buffer = io.BytesIO(b"a,b\n0,x\n")
    assert main(["report", "-"]) == 2
    assert "standard input, line 2: 'x'" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="pipes have no names here")
def test_a_pipe_is_read_once(capsys):
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(RANKS.encode())
    assert main(["report", f"/dev/fd/{reading}"]) == 0
    os.close(reading)
    assert "3 rankings of 3 items" in capsys.readouterr().out
