"""`python -m skrank triplets`: what it reads, what it refuses, and that its figures are right."""

import csv
import gzip
import json
import re

import numpy as np
import pytest

from skrank.__main__ import main
from skrank._commands._triplets_input import read_record
from skrank._commands.triplets import _errors
from skrank.datasets import make_triplets

TRIPLETS, _ = make_triplets(n_items=12, n_triplets=600, noise="logistic", random_state=0)
HEADER = "anchor,near,far\n"
ROWS = "".join(f"{i},{j},{k}\n" for i, j, k in TRIPLETS)


@pytest.fixture
def run(tmp_path, capsys):
    """Write a file, run the command on it, and return exit code, output and errors."""

    def run(text, *options):
        path = tmp_path / "answers.csv"
        path.write_text(text, encoding="utf-8")
        code = main(["triplets", str(path), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err.replace(str(path), path.name)

    return run


def test_without_a_file_it_reports_on_generated_answers(capsys):
    assert main(["triplets"]) == 0
    text = capsys.readouterr().out
    assert "10000 responses to 9897 different queries about 100 items." in " ".join(text.split())
    assert float(re.search(r"generated from is\s+(0\.\d+)", text)[1]) < 0.03
    held_out = {int(row[0]): float(row[1]) for row in re.findall(r"^ +(\d)  +\d+\.\d % +(\d+\.\d) %", text, re.M)}
    assert sorted(held_out) == [1, 2, 3, 4]  # no gain after 2
    assert held_out[2] > held_out[1] + 4
    assert max(map(len, text.splitlines())) <= 104


def test_output_and_options(run, tmp_path):
    path = tmp_path / "coordinates.csv"
    code, text, error = run(
        HEADER + ROWS, "--components", "4", "--output", str(path), "--held-out", "0.5", "--alpha", "2"
    )
    assert (code, error) == (0, "")
    assert "Embedding of all responses in 4 components" in text
    assert "alpha = 2" in text
    with open(path, encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["item", "x0", "x1", "x2", "x3"]
    assert [row[0] for row in rows[1:]] == [str(item) for item in range(12)]
    assert np.array([row[1:] for row in rows[1:]], float).shape == (12, 4)


def test_all_formats_are_read_alike(tmp_path):
    left = np.random.default_rng(0).random(600) < 0.5
    asked = np.where(left[:, None], TRIPLETS, TRIPLETS[:, [0, 2, 1]])
    texts = [
        ROWS,
        HEADER + ROWS,
        HEADER.replace(",", ";") + ROWS.replace(",", ";"),
        "anchor,left,right,answer\n" + "".join(f"{i},{j},{k},{y}\n" for (i, j, k), y in zip(asked, left, strict=True)),
        "".join(f"{i},{j},{k},{int(y)}\n" for (i, j, k), y in zip(asked, left, strict=True)),
        "".join(f"{i},{j},{k},{1 if y else -1}\n" for (i, j, k), y in zip(asked, left, strict=True)),
    ]
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
        record = read_record(str(path))
        np.testing.assert_array_equal(record.triplets, TRIPLETS)
        assert record.items == [str(item) for item in range(12)]


def test_numbers_too_long_for_integers_are_names(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("anchor,near,far\n99999999999999999999,1,2\n")
    assert read_record(str(path)).items == ["1", "2", "99999999999999999999"]


def test_names_are_sorted_as_text(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text('anchor,near,far\n"ten, or so",a,9\na,9,"ten, or so"\n')
    record = read_record(str(path))
    assert record.items == ["9", "a", "ten, or so"]
    np.testing.assert_array_equal(record.triplets, [[2, 1, 0], [1, 0, 2]])


def test_repeated_questions_are_never_split(run):
    code, text, _ = run("0,1,2\n" * 10 + "0,2,1\n" * 5 + ROWS)
    assert code == 0
    assert "queries were asked more than once" in text


def test_warnings_are_printed(run):
    code, text, _ = run("0,1,2\n0,3,4\n1,2,3\n1,0,4\n2,0,1\n3,1,2\n", "--components", "3")
    assert code == 0
    assert "Note: 6 responses are fewer than the 15 coordinates" in " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the file is empty"),
        ("anchor,near\n0,1\n", "line 1: the header names anchor, near only"),
        ("anchor,near,far\n", "line 1: no responses"),
        ("anchor,near,far\n0,1,2\n0,1\n", "line 3: 2 cells, but the first line has 3"),
        ("anchor,near,far\n0,1,2\n0,,2\n", "line 3: the near is empty"),
        ("0,1,2\n3,03,1\n", "line 2: the three items of a triplet must differ, but are 3, 03, 1"),
        ("0,1,2\n3,3,1\n", "line 2: the three items of a triplet must differ, but are 3, 3, 1"),
        ("0,1,2,1\n0,2,1,maybe\n", "line 2: the response 'maybe' is neither"),
        ("0,1,2,999999999\n", "line 1: the counts add up to more than 100000000 responses"),
        ("0,1,2,5\n0,2,1,0\n", "line 2: a response of 0 among counts is undecided"),
        ('anchor,near,far\n0,"1,2\n', "line 2: unexpected end of data"),
        ("0,1,2\n0,2,1\n", "so none can be held out"),
    ],
)
def test_bad_files_name_the_line(run, text, message):
    code, out, error = run(text)
    assert (code, out) == (2, "")
    assert message in error
    assert error.startswith("python -m skrank triplets: ")


SHUFFLED = np.random.default_rng(0).random(600) < 0.5
LEFT = np.where(SHUFFLED[:, None], TRIPLETS, TRIPLETS[:, [0, 2, 1]])


@pytest.mark.parametrize(
    "text",
    [
        "far,near,anchor\n" + "".join(f"{k},{j},{i}\n" for i, j, k in TRIPLETS),
        "id,Anchor,near,comment,far\n" + "".join(f"7,{i},{j},hm,{k}\n" for i, j, k in TRIPLETS),
        "anchor,left,right,response\n"
        + "".join(f"{i},{j},{k},{'left' if y else 'right'}\n" for (i, j, k), y in zip(LEFT, SHUFFLED, strict=True)),
        "response,right,left,anchor\n"
        + "".join(f"{int(y)},{k},{j},{i}\n" for (i, j, k), y in zip(LEFT, SHUFFLED, strict=True)),
        "anchor,left,right,choice\n"
        + "".join(f"x{i},x{j},x{k},x{j if y else k}\n" for (i, j, k), y in zip(LEFT, SHUFFLED, strict=True)),
    ],
    ids=["another order", "more columns", "left and right", "numbers", "names"],
)
def test_columns_are_read_by_name(tmp_path, text):
    path = tmp_path / "named.csv"
    path.write_text(text)
    record = read_record(str(path))
    items = np.array([item.removeprefix("x") for item in record.items]).astype(int)
    np.testing.assert_array_equal(items[record.triplets], TRIPLETS)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("anchor,near,closer", "the columns 'near' and 'closer' both name the near"),
        ("anchor,near,left", "the header names anchor, left, near only"),
        ("anchor,left,right", "the header names anchor, left, right only"),
        ("0,1,2,3,4", "5 columns, but 3"),
        ("chosen,rejected,target", "('chosen', 'rejected', 'target') does not say which item is the anchor"),
        ("a,b,c,answer", "does not say which item is the anchor: name the columns anchor, near, far"),
    ],
)
def test_columns_that_cannot_be_told_apart_are_refused(run, header, message):
    code, _, error = run(header + "\n" + ",".join("0123456"[: header.count(",") + 1]) + "\n")
    assert code == 2
    assert message in error


def test_raters_are_read_and_their_lapses_printed(run):
    rater = np.array(["ann", "bob", "cid"])[np.arange(600) % 3]
    guesses = (rater == "bob") & (np.random.default_rng(1).random(600) < 0.5)
    triplets = np.where(guesses[:, None], TRIPLETS[:, [0, 2, 1]], TRIPLETS)
    text = "anchor,near,far,rater\n" + "".join(
        f"{i},{j},{k},{who}\n" for (i, j, k), who in zip(triplets, rater, strict=True)
    )
    code, out, _ = run(text, "--alpha", "1", "--json")
    assert code == 0
    rates = {one["rater"]: one["rate"] for one in json.loads(out)["lapse"]}
    assert rates["bob"] > 0.25 > max(rates["ann"], rates["cid"])
    code, out, _ = run(text, "--alpha", "1")
    assert "by rater (50 % is guessing; the highest of 3): bob" in " ".join(out.split())


def test_invalid_rows_are_counted_where_they_are_to_be_skipped(run):
    bad = "1,1,2\n0,1\n0,,2\n"
    code, _, error = run(HEADER + bad + ROWS)
    assert (code, "line 2" in error) == (2, True)
    code, out, _ = run(HEADER + bad + ROWS, "--skip-invalid")
    assert code == 0
    assert "3 rows could not be read and were left out." in out
    code, _, error = run(HEADER + bad, "--skip-invalid")
    assert (code, "line 2: the three items of a triplet must differ" in error) == (2, True)


def test_errors_are_over_questions():
    triplets = np.array([[0, 1, 2]] * 50 + [[0, 2, 3]] * 50)
    right = np.arange(100) < 50
    error, of_guesses = _errors(right, triplets, np.arange(100) // 50, 0.5)
    assert error == pytest.approx(np.sqrt(2 * 25**2) / 100)  # two questions, not a hundred answers
    assert of_guesses == pytest.approx(np.sqrt(2 * 50**2) / 2 / 100)
    single, of_single = _errors(right, triplets, np.arange(100), 0.5)
    assert single == of_single == pytest.approx(0.05)


@pytest.mark.parametrize("option", [("--components", "0"), ("--alpha", "-1"), ("--held-out", "1"), ("--alpha", "x")])
def test_bad_options(run, option, capsys):
    with pytest.raises(SystemExit):
        run(ROWS, *option)
    assert f"argument {option[0]}: must be " in capsys.readouterr().err


def test_a_missing_file(capsys):
    assert main(["triplets", "no such file.csv"]) == 2
    assert "no such file.csv" in capsys.readouterr().err


def test_a_column_says_how_often_a_row_was_seen(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far,rater,count\na,b,c,x,2\nb,c,a,y,0\nc,a,b,x,1\n", encoding="utf-8")
    record = read_record(str(path))
    assert record.triplets.tolist() == [[0, 1, 2], [0, 1, 2], [2, 0, 1]]
    assert record.raters.tolist() == ["x", "x", "x"]
    path.write_text("anchor,left,right,response,n\na,b,c,right,3\n", encoding="utf-8")
    assert read_record(str(path)).triplets.tolist() == [[0, 2, 1]] * 3
    path.write_text("anchor,near,far,count\na,b,c,1\na,b,c,1.5\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 3: the count '1.5' is not a whole number"):
        read_record(str(path))
    path.write_text("anchor,near,far,count\na,b,c,0\n", encoding="utf-8")
    with pytest.raises(ValueError, match="the counts add up to 0"):
        read_record(str(path))
