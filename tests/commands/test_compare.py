"""`python -m skrank compare`: which columns it takes for what, what it refuses, and that its figures are right."""

import csv
import json

import numpy as np
import pytest
from scipy.special import expit

from skrank.__main__ import main
from skrank.linear_model import BradleyTerry


@pytest.fixture
def run(tmp_path, capsys):
    """Write a file, run the command on it, and return exit code, output and errors."""

    def run(text, *options):
        path = tmp_path / "battles.csv"
        path.write_text(text, encoding="utf-8")
        code = main(["compare", str(path), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err.replace(str(path), path.name)

    return run


def judged(n_judges=30, votes=30, groups=True):
    """A table of comparisons by judges in two groups of opposite tastes, or all alike."""
    rng = np.random.default_rng(0)
    scores = np.linspace(-1.5, 1.5, 5)
    lines = []
    for judge in range(n_judges):
        own = -scores if groups and judge % 2 else scores
        for _ in range(votes):
            first, second = rng.permutation(5)[:2]
            tie = rng.random() < 0.1
            won = "model_a" if rng.random() < expit(own[first] - own[second]) else "model_b"
            lines.append(f"m{first},m{second},{'tie' if tie else won},j{judge}")
    return "\n".join(["model_a,model_b,winner,judge", *lines]) + "\n"


def test_without_a_file_it_ranks_baseball_teams(capsys):
    assert main(["compare"]) == 0
    text = capsys.readouterr().out
    assert "273 comparisons of 7 items; 0.0 % are ties." in text
    assert text.index("Milwaukee") < text.index("Detroit") < text.index("Baltimore")
    assert "the errors are too small: name the column by --judge or --group" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 104
    assert main(["compare", "--judge", "x"]) == 2


def test_leaderboard_as_json_is_the_estimators(run):
    text = judged()
    code, out, error = run(text, "--json", "--unit", "elo", "--anchor", "m2", "--level", "0.9")
    assert (code, error) == (0, "")
    figures = json.loads(out)
    rows = [line.split(",") for line in text.splitlines()[1:]]
    y = [{"model_a": "win", "model_b": "loss", "tie": "tie"}[row[2]] for row in rows]
    model = BradleyTerry(anchor="m2").fit([row[:2] for row in rows], y, groups=[row[3] for row in rows])
    expected = model.leaderboard(0.9, unit="elo")
    assert [row["item"] for row in figures["items"]] == expected.items.tolist()
    np.testing.assert_allclose([row["lower"] for row in figures["items"]], expected.lower)
    assert [row["first_rank"] for row in figures["items"]] == expected.rank_ranges[:, 0].tolist()
    assert figures["errors"] == "clustered"
    assert figures["n_judges"] == 30
    assert figures["columns"] == "items 'model_a', 'model_b'; outcome 'winner'; judge 'judge'"
    assert figures["judges"]["best"] == "mixture"
    members = [set(group["judges"]) for group in figures["judges"]["groups"]]
    assert sorted(map(len, members)) == [15, 15]
    assert all(len({int(name[1:]) % 2 for name in group}) == 1 for group in members)
    assert figures["judges"]["groups"][0]["items"] == figures["judges"]["groups"][1]["items"][::-1]


def test_text_output_and_groups(run, tmp_path):
    path = tmp_path / "scores.csv"
    code, text, _ = run(judged(), "--output", str(path), "--order-effect", "--ties", "davidson")
    assert code == 0
    words = " ".join(text.split())
    assert "Held-out votes are predicted best by groups with scores of their own (mixture)." in words
    assert "Group 2: 50.0 % of the judges (15)" in words
    assert "The first item of a pair has an advantage of" in words
    assert "Equal items tie in" in words
    assert max(map(len, text.splitlines())) <= 104
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5
    assert float(rows[0]["score"]) >= float(rows[1]["score"])


def test_judges_who_are_alike_make_no_groups(run):
    _, text, _ = run(judged(groups=False))
    assert "No model of differences between judges predicts held-out votes better" in " ".join(text.split())
    assert "Group 1" not in text


@pytest.mark.parametrize(
    "text",
    [
        "winner,loser\na,b\nb,c\na,c\nc,a\n",
        "Winner;Loser\na;b\nb;c\na;c\nc;a\n",
        "item_a,item_b,result\na,b,A\nc,b,right\na,c,1\nc,a,c\n",
        "item 1,item 2,outcome\na,b,1\nb,c,1\na,c,1\nc,a,1\n",
        "left,right,choice\na,b,1\nc,b,2\na,c,1\na,c,2\n",
        "home,away,result,n\na,b,1,1\nb,c,1,1\na,c,0.5,2\n",
        "x,y,z\na,b,x\nc,b,y\na,c,x\nc,a,x\n",
    ],
)
def test_columns_and_outcomes(run, text):
    options = ["--items", "x", "y", "--outcome", "z"] if text.startswith("x") else []
    code, out, error = run(text, "--json", *options)
    assert (code, error) == (0, "")
    figures = json.loads(out)
    scores = {row["item"]: row["score"] for row in figures["items"]}
    expected = BradleyTerry().fit([["a", "b"], ["b", "c"], ["a", "c"], ["c", "a"]])
    for item, score in zip("abc", expected.scores_, strict=True):
        assert scores[item] == pytest.approx(score, abs=1e-4)
    assert figures["n_comparisons"] == 4


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("p,q\na,b\n", [], "line 1: no columns of two items were found; there are 'p', 'q'. Name them by --items."),
        ("a,b\nx,y\n", [], "line 1: no column says who won. Name it by --outcome."),
        ("a,b,winner\nx,y,x\nx,,x\n", [], "line 3: the item in column 'b' is empty."),
        ("a,b,winner\nx,y,x\nx,x,x\n", [], "line 3: 'x' is compared with itself."),
        ("a,b,winner\nx,y,x\nx,y,z\n", [], "line 3: the outcome 'z' is neither item, nor a tie ('x', 'y')."),
        ("a,b,winner\nx,y,x\nx,y,\n", [], "line 3: the outcome is empty ('x', 'y')."),
        ("a,b,result\nx,y,1\nx,y,7\n", [], "line 3: the outcome '7' is not the share that the first item won"),
        ("a,b,winner,judge\nx,y,x,j\nx,y,y,\n", [], "line 3: the judge is empty."),
        ("a,b,winner\nx,y,x\n", ["--weight", "w"], "line 1: no column is called 'w'"),
        (
            "a,b,winner,w\nx,y,x,-1\n",
            ["--weight", "w"],
            "line 2: the weight '-1' in column 'w' is not a number from 0.",
        ),
        ("a,b,winner,w\nx,y,x,0\n", ["--weight", "w"], "line 2: the weights in column 'w' add up to 0."),
        ("a,b,winner\nx,y\n", [], "line 2: 2 cells, but the header has 3."),
        ("a,b,winner\nx,y,x\n", ["--items", "a", "a"], "line 1: --items names one column twice."),
        ("a,b,winner\nx,y,x\ny,x,x\n", ["--anchor", "q"], "'q' is not an item."),
        ("a,b,winner,judge\nx,y,x,j\ny,x,x,j\n", ["--judge", "judge"], "groups has one value only"),
    ],
)
def test_errors_are_one_line(run, text, options, message):
    code, out, error = run(text, *options)
    assert (code, out) == (2, "")
    assert error.count("\n") == 1
    assert message in error


def test_two_ways_of_grouping(run):
    lines = judged(groups=False).splitlines()
    rows = [f"{line},p{number % 40}" for number, line in enumerate(lines[1:])]
    code, out, _ = run("\n".join([lines[0] + ",prompt", *rows]), "--json", "--group", "prompt")
    figures = json.loads(out)
    assert code == 0
    assert figures["errors"] == "clustered"
    assert 20 < figures["degrees_of_freedom"] < 30
    alone = json.loads(run("\n".join([lines[0] + ",prompt", *rows]), "--json", "--no-judge")[1])
    assert alone["errors"] == "robust"
    assert alone["judges"] is None


def test_columns_that_are_not_used_are_named(run):
    code, out, _ = run("winner,loser,hour,place\na,b,1,x\nb,c,2,x\na,c,3,x\nc,a,4,x\n")
    assert code == 0
    assert "Columns: items 'winner', 'loser'; not used: 'hour', 'place'." in out
