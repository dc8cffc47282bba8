"""`python -m skrank report`: what it reads, what it refuses, and that its figures are right."""

import json
import re
from argparse import ArgumentParser

import numpy as np
import pytest
from matplotlib import pyplot

from skrank.__main__ import main
from skrank._commands import report
from skrank.datasets import dump_preflib

FULL = "egg,squid,tuna\n0,1,2\n0,1,2\n1,0,2\n0,2,1\n"


@pytest.fixture
def run(tmp_path, capsys):
    """Write a file if its text is given, run the report on it, and return exit code, output and errors."""

    def run(text=None, *options, name="votes.csv"):
        path = tmp_path / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        code = main(["report", str(path), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err.replace(str(path), name)

    return run


def test_without_arguments_it_reports_the_apa_ballots(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert "15449 rankings of 5 items, 205 of them distinct." in text
    assert re.search(r"full: no ties, nothing missing +5738 +37.1 %", text)
    assert re.search(r"with missing items +9711 +62.9 %", text)
    assert "Rankings contain 2.9 items on average, from 1 to 5 (1: 33.3 %, 2: 15.9 %, 3: 13.6 %, 5: 37.1 %)." in text
    assert "Condorcet winner: C beats every other item by majority. There are no majority cycles." in text
    assert "Fitted to the 10308 rankings that order any items." in " ".join(text.split())
    assert re.search(r"\d groups, which random halves of the voters find again\.", text)
    assert "A random sample of 1000 of the 15449 rankings was clustered. 33.3 % of the rankings order" in " ".join(
        text.split()
    )
    assert max(map(len, text.splitlines())) <= 120


def test_labels_between_the_two_pictures_are_apart():
    parser = ArgumentParser()
    report.add_arguments(parser)
    figures = report.run(parser.parse_args([]))
    figure = figures.draw()
    figure.draw_without_rendering()
    _, majorities, places, _ = figure.axes
    left, right = (axis.label.get_window_extent() for axis in (places.yaxis, majorities.yaxis))
    assert right.x0 - left.x1 > left.width
    pyplot.close(figure)


def test_figures_of_a_small_file(run):
    code, text, _ = run(FULL)
    assert code == 0
    assert "4 rankings of 3 items, 3 of them distinct." in text
    assert "agrees with 83.3 % of all strict pairwise preferences" in text  # 10 of 12
    # Places 0, 0, 1, 0 and first three times of four; beats (3 - 1 + 4 - 0) / 4 items net.
    assert re.search(r"^1  egg +1 +1.25 +75.0 % +100.0 % +\+1.50$", text, re.MULTILINE)
    assert re.search(r"^2  squid +2 +2.00 +25.0 % +100.0 % +\+0.00$", text, re.MULTILINE)
    assert re.search(r"^1  egg +. +75 +100$", text, re.MULTILINE)
    assert "Does the ranking tell" not in text


def test_cycles_are_named(run):
    _, text, _ = run("a,b,c,d\n0,1,2,3\n1,2,0,3\n2,0,1,3\n")
    assert "There is no Condorcet winner" in text
    assert "There are majority cycles among a, b, c." in " ".join(text.split())


def test_preflib_files_and_what_unranked_items_mean(tmp_path, run):
    dump_preflib(tmp_path / "x.soi", [[0, 1, 2], [0, np.nan, 1]], sample_weight=[3, 2], item_names=list("abc"))
    code, text, _ = run(None, "--unranked", "last", name="x.soi")
    assert code == 0
    assert "5 rankings of 3 items, 2 of them distinct." in text
    assert "Unranked items are treated as tied after all ranked items." in text
    code, _, error = run(None, name="x.soi")
    assert code == 2
    assert "line 17: the order leaves out alternative 2 (b). Choose --unranked last" in error


def test_a_preflib_file_is_known_by_its_header(tmp_path, run):
    dump_preflib(tmp_path / "ballots", [[0, 1, 2]], item_names=["a", "b", "c"])
    assert "1 rankings of 3 items" in run(None, name="ballots")[1]


def test_clusters_are_found(run):
    rng = np.random.default_rng(0)
    rows = [
        np.where(rng.random(6) < 0.1, rng.permutation(6), order) for order in [np.arange(6), np.arange(6)[::-1]] * 30
    ]
    _, text, _ = run("a,b,c,d,e,f\n" + "\n".join(",".join(map(str, row)) for row in rows))
    section = text[text.index("Clusters of rankings") :]
    assert "2 clusters, found with the kendall kernel and ward linkage" in section
    assert re.search(r"^  \d  a > b > c > d > e > f$", section, re.MULTILINE)
    assert re.search(r"^  \d  f > e > d > c > b > a$", section, re.MULTILINE)


def test_a_label_is_predicted(run):
    rng = np.random.default_rng(0)
    header = "a,b,c,d,kind,id\n"
    rows = [[*rng.permutation(4), "", number] for number in range(60)]
    told = "\n".join(",".join(map(str, [*row[:4], "low" if row[0] < row[1] else "high", row[5]])) for row in rows)
    code, text, _ = run(header + told, "--label", "kind", "--ignore", "id")
    assert code == 0
    section = text[text.index("Do people with different labels rank differently?") :]
    assert "60 labeled rankings" in section
    accuracy = {match[1]: float(match[2]) for match in re.finditer(r"SVC, (\w+) kernel +(\d\.\d+)", section)}
    assert set(accuracy) == {"Kendall", "Mallows"}
    assert min(accuracy.values()) > 0.85
    assert "They do (p = 0.001)" in section
    assert "A person's label can be predicted" in section
    untold = "\n".join(",".join(map(str, [*row[:4], rng.choice(["low", "high"]), row[5]])) for row in rows)
    _, text, _ = run(header + untold, "--label", "kind", "--ignore", "id")
    accuracy = [float(value) for value in re.findall(r"SVC, \w+ kernel +(\d\.\d+)", text)]
    assert max(accuracy) < 0.8  # 0.5 with a standard error of 0.065
    found = json.loads(run(header + untold, "--label", "kind", "--ignore", "id", "--json")[1])["prediction"]
    assert ("There is no evidence that they do" in text) == (found["pvalue"] > 0.05)


@pytest.mark.parametrize(("n_rankings", "option"), [(2100, "--count"), (300, "--weight")])
def test_no_ranking_is_both_learnt_and_predicted(run, n_rankings, option):
    """Whether a sample is drawn or weights are no counts: random labels cannot be predicted."""
    rng = np.random.default_rng(0)
    rows = [
        [*rng.permutation(10), rng.choice(["low", "high"]), 1 + 2 * (option == "--weight" and row % 2)]
        for row in range(n_rankings)
    ]
    told = ",".join("abcdefghij") + ",kind,w\n" + "\n".join(",".join(map(str, row)) for row in rows)
    found = json.loads(run(told, "--label", "kind", option, "w", "--json")[1])["prediction"]
    assert found["sampled"] == (option == "--count")
    assert found["pvalue"] > 0.01
    for model in found["models"]:
        assert model["accuracy"] < 0.5 + 4 * model["standard_error"]
        effective = 2000 if option == "--count" else 240  # (150 + 450)^2 / (150 + 9 x 150)
        assert model["standard_error"] == pytest.approx(np.sqrt(0.25 / effective), rel=0.05)


@pytest.mark.parametrize("option", ["--count", "--weight"])
def test_rows_without_a_label_are_left_out_of_the_comparison_only(run, option):
    labeled = "a,b,k,w\n" + "0,1,x,1\n1,0,y,2\n" * 8
    options = ["--label", "k", option, "w", "--missing-code=-9", "--json"]
    figures = json.loads(run(labeled + "0,1,,3\n1,0,-9,1\n", *options)[1])
    expected = json.loads(run(labeled, *options)[1])
    found, of_labeled = figures["prediction"], expected["prediction"]
    for key in ("n_rankings", "n_samples", "pvalue", "baseline"):
        assert found[key] == pytest.approx(of_labeled[key])
    assert [one["label"] for one in found["classes"]] == ["x", "y"]
    assert figures["n_rankings"] > expected["n_rankings"]
    note = "2 rows have no value in column 'k' (--label) and are left out of the comparison."
    assert figures["notes"] == [note, *expected["notes"]]
    text = run(labeled + "0,1,,3\n", *options[:-1])[1]
    assert "Note: 1 row has no value in column 'k' (--label) and is left out of the comparison." in " ".join(
        text.split()
    )


def test_labels_are_counted_by_weight(run):
    text = "a,b,k,w\n0,1,x,{}\n1,0,y,{}\n"
    found = json.loads(run(text.format(30, 10), "--label", "k", "--count", "w", "--json")[1])["prediction"]
    assert found["classes"] == [{"label": "x", "share": 0.75}, {"label": "y", "share": 0.25}]
    assert found["models"][0]["accuracy"] == 1
    options = ["--label", "k", "--count", "w"]
    assert "the label has 1 distinct values" in run(text.format(0, 10), *options)[2]
    assert "the label 'x' occurs 4 times" in run(text.format(4, 10), *options)[2]
    code, _, error = run(text.format(5, 1_000_000), *options)
    assert code == 2
    assert "one label is nearly all" in error


def test_delimiters_within_quotes_are_none(run):
    text = '"Smith, John";"Doe, Jane";"O""Hara"\n0;1;2\n1;0;2\n'
    assert json.loads(run(text, "--json")[1])["items"] == ["Smith, John", "Doe, Jane", 'O"Hara']


def without_columns(result):
    """The text but for the line on the columns of the file."""
    return re.sub(r"Columns: .*?\n\n", "", result[1], flags=re.DOTALL)


def test_weights_equal_repeats(run):
    weighted = "egg,squid,tuna,n\n0,1,2,2\n1,0,2,1\n0,2,1,1\n2,1,0,0\n"
    assert without_columns(run(weighted, "--count", "n")) == without_columns(run(FULL))


def test_scores_and_delimiters(run):
    scores = "egg;squid;tuna\n3;2;1\n3;2;1\n2;3;1\n3;1;2\n"
    assert without_columns(run(scores, "--scores")) == without_columns(run(FULL))


@pytest.mark.parametrize("gap", ["", "NA", "nan"])
def test_gaps(run, gap):
    text = f"a,b,c\n0,1,2\n{gap},1,0\n"
    code, _, error = run(text)
    assert code == 2
    assert "votes.csv, line 3: no rank for 'a'. Choose --unranked last" in error
    assert re.search(r"with missing items +1 +50.0 %", run(text, "--unranked", "missing")[1])
    assert re.search(r"full: no ties, nothing missing +2 +100.0 %", run(text, "--unranked", "last")[1])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n0,1\n0,x\n", [], "line 3: 'x' in column 'b' is not a number"),
        ("a,b\n0,1\n0,inf\n", [], "line 3: 'inf' in column 'b' is not a number"),
        ("a,b\n0,1\n0\n", [], "line 3: 1 cells, but the header has 2"),
        ("a,b\n0,1\n\n0,1,2\n", [], "line 4: 3 cells, but the header has 2"),
        ("a,a\n0,1\n", [], "line 1: two columns are called 'a'"),
        ("0,1\n0,1\n", [], "line 1: the first line holds numbers, but must be a header"),
        ("a,b\n", [], "line 1: no rows after the header"),
        ("", [], "line 1: the file is empty"),
        (",b\n0,1\n", [], "line 1: only column b looks like an item. Pass --items"),
        ('a,b\n0,"1\n', [], "line 2: unexpected end of data"),
        ("a,b\n0,1\n", ["--label", "kind"], "line 1: no column is called 'kind'; there are 'a', 'b'"),
        ("a,b\n0,1\n", ["--ignore", "a", "b"], "line 1: no column is left for items"),
        ("a,b,k\n0,1,\n", ["--label", "k"], "the label has 0 distinct values"),
        ("a,b,k\n0,1,x\n1,0,x\n", ["--label", "k"], "the label has 1 distinct values; 2 to 20 classes"),
        (
            "a,b,k\n" + "0,1,x\n" * 9 + "1,0,y\n",
            ["--label", "k"],
            "the label 'y' occurs 1 times: cross-validation needs 5",
        ),
        ("a,b,n\n0,1,-1\n", ["--count", "n"], "line 2: the weight -1 is negative"),
        ("a,b,n\n0,1,\n", ["--count", "n"], "line 2: '' in column 'n' is not a number"),
        ("a,b,n\n0,1,0\n", ["--count", "n"], "line 2: all weights are 0"),
    ],
)
def test_broken_csv(run, text, options, message):
    code, out, error = run(text, *options)
    assert code == 2
    assert out == ""
    assert message in error


def test_options_of_csv_are_refused_for_other_files(tmp_path, run, capsys):
    dump_preflib(tmp_path / "x.soc", [[0, 1]])
    assert "--label needs a CSV file" in run(None, "--label", "kind", name="x.soc")[2]
    assert main(["report", "--scores"]) == 2
    assert "--scores needs a CSV file" in capsys.readouterr().err
    assert main(["report", "--ignore", "id", "x.csv"]) == 2
    assert "--ignore needs a CSV file or a workbook. The file goes before --ignore" in capsys.readouterr().err
    assert "No such file" in run(None, name="none.csv")[2]


@pytest.mark.parametrize(
    "text", ["a,b\n0,0\n0,0\n", "a,b\n0,1\n", "a,b\nNA,NA\nNA,0\n", "a,b,c\n0,1,NA\n0,1,NA\n1,0,NA\n"]
)
def test_little_data_makes_a_short_report(run, text):
    code, out, error = run(text, "--unranked", "missing", "--ranks", "--items", "a", "b")
    assert (code, error) == (0, "")
    assert "onsensus" in out
    assert "nan" not in out


def test_sections_are_functions_that_may_stay_silent(monkeypatch, run):
    monkeypatch.setitem(report.SECTIONS, "consensus", lambda rankings, distinct: None)
    monkeypatch.setitem(report.SECTIONS, "majorities", lambda rankings, distinct: None)
    code, text, _ = run(FULL)
    assert code == 0
    assert "Consensus" not in text
