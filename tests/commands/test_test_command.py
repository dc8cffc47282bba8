"""`skrank test`: the test of two files, where they differ, and what is refused."""

import io
import json
import re

import numpy as np
import pytest

from skrank.__main__ import main
from skrank.datasets import dump_preflib, make_rankings
from skrank.stats import kemeny_consensus, mmd_test

NAMES = list("abcde")
CENTER = [4, 3, 2, 1, 0]


def write(path, X, names=NAMES, weights=None):
    header = [*names, *([] if weights is None else ["n"])]
    rows = np.asarray(X).tolist() if weights is None else np.column_stack([X, weights]).tolist()
    lines = [",".join("" if value != value else f"{value:g}" for value in row) for row in rows]
    path.write_text("\n".join([",".join(header), *lines]) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def samples():
    X = make_rankings(80, 5, phi=0.7, center=range(5), random_state=0)
    Y = make_rankings(60, 5, phi=0.7, center=CENTER, random_state=1)
    return X, Y


def run(capsys, *arguments):
    code = main(["test", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_is_the_mmd_test_of_the_two_files(tmp_path, capsys, samples):
    X, Y = samples
    files = write(tmp_path / "x.csv", X), write(tmp_path / "y.csv", Y)
    code, text, error = run(capsys, *files, "--json", "--permutations", "199")
    assert (code, error) == (0, "")
    figures = json.loads(text)
    expected = mmd_test(X, Y, n_permutations=199, random_state=0)
    assert figures["statistic"] == pytest.approx(expected.statistic, rel=1e-12)
    assert figures["pvalue"] == expected.pvalue == 0.005
    assert figures["nu"] == expected.kernel.nu
    assert [one["n_rankings"] for one in figures["samples"]] == [80, 60]
    orders = [np.array(NAMES)[kemeny_consensus(Z).ordering].tolist() for Z in (X, Y)]
    assert [one["consensus"] for one in figures["samples"]] == orders
    # Net wins of item a in X: 4 less twice its place.
    a = next(one for one in figures["items"] if one["item"] == "a")
    wins = [4 - 2 * Z[:, 0] for Z in (X, Y)]
    assert a["net_wins"] == pytest.approx([one.mean() for one in wins])
    error = np.sqrt(np.concatenate(wins).var(ddof=1) * sum(1 / len(one) for one in wins))
    assert a["standard_error"] == pytest.approx(error)
    assert a["z"] == pytest.approx((wins[1].mean() - wins[0].mean()) / error)
    assert abs(figures["items"][0]["z"]) == max(abs(one["z"]) for one in figures["items"])


def test_the_text_says_whether_they_differ(tmp_path, capsys, samples):
    X, Y = samples
    x, y = write(tmp_path / "x.csv", X), write(tmp_path / "y.csv", Y)
    text = run(capsys, x, y)[1]
    pvalue = mmd_test(X, Y, random_state=0).pvalue
    assert pvalue < 0.01
    assert f"The two sets of rankings differ (p = {pvalue:.2g})." in text
    assert re.search(r"^[ae] +[15] +[15] +[+-]\d\.\d\d", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 104 + len(x)
    same = write(tmp_path / "same.csv", make_rankings(70, 5, phi=0.7, center=range(5), random_state=5))
    assert "There is no evidence that the two sets of rankings differ" in run(capsys, x, same)[1]


def test_columns_may_be_in_another_order_and_counts_are_rankings(tmp_path, capsys, samples):
    X, Y = samples
    x = write(tmp_path / "x.csv", X)
    expected = run(capsys, x, write(tmp_path / "y.csv", Y), "--json")[1]
    order = [3, 1, 0, 4, 2]
    turned = write(tmp_path / "turned.csv", Y[:, order], [NAMES[item] for item in order])
    assert json.loads(run(capsys, x, turned, "--json")[1])["statistic"] == json.loads(expected)["statistic"]
    distinct, counts = np.unique(Y, axis=0, return_counts=True)
    dump_preflib(tmp_path / "y.soc", distinct, sample_weight=counts, item_names=NAMES)
    counted = json.loads(run(capsys, x, str(tmp_path / "y.soc"), "--json")[1])
    assert counted["statistic"] == pytest.approx(json.loads(expected)["statistic"], rel=1e-9)
    assert counted["samples"][1]["n_rankings"] == 60


def test_many_rankings_are_sampled(tmp_path, capsys, samples):
    X, Y = samples
    weights = np.full(80, 50)
    files = write(tmp_path / "x.csv", X, weights=weights), write(tmp_path / "y.csv", Y, weights=np.ones(60))
    code, text, _ = run(capsys, *files, "--count", "n", "--sample", "100")
    assert code == 0
    assert "4000 rankings, 100 of them tested" in text
    assert "60 rankings\n" in text


def test_fewer_are_sampled_where_there_is_no_closed_form(tmp_path, capsys, samples):
    X = np.where(samples[0] < 3, samples[0], np.nan)
    weights = np.full(80, 10)
    files = [write(tmp_path / f"{name}.csv", X, weights=weights) for name in "xy"]
    options = ["--count", "n", "--permutations", "9", "--unranked"]
    assert run(capsys, *files, *options, "missing")[1].count("800 rankings, 500 of them tested") == 2
    assert run(capsys, *files, *options, "last")[1].count("800 rankings\n") == 2


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b,c,d,x\n0,1,2,3,4\n1,0,2,3,4\n", [], "'e' is in x.csv only and 'x' is in y.csv only"),
        ("a,b,c,d,e\n0,1,2,3,4\n", [], "y.csv has one ranking"),
        (
            "a,b,c,d,e,n\n0,1,2,3,4,1.5\n1,0,2,3,4,1\n",
            ["--count", "n"],
            "the count 1.5 is not a whole number",
        ),
    ],
)
def test_files_that_do_not_go_together(tmp_path, capsys, samples, text, options, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x.csv", samples[0], weights=np.ones(80) if options else None)
    (tmp_path / "y.csv").write_text(text)
    code, out, error = run(capsys, "x.csv", "y.csv", *options)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert message in error


def test_standard_input_twice(capsys):
    code, _, error = run(capsys, "-", "-")
    assert code == 2
    assert "one of the two files only" in error


def test_standard_input_is_called_so(tmp_path, capsys, monkeypatch):
    path = tmp_path / "votes.csv"
    path.write_text("a,b\n0,1\n1,0\n")
    for text, message in (("a,b\n0,1\n", "standard input has one ranking"), ("a,c\n0,1\n", "'c' is in standard input")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        code, _, error = run(capsys, str(path), "-")
        assert code == 2
        assert message in error


def test_a_sample_of_one(capsys):
    with pytest.raises(SystemExit) as stop:
        run(capsys, "x.csv", "y.csv", "--sample", "1")
    assert stop.value.code == 2
    assert "must be a whole number from 2, got '1'" in capsys.readouterr().err


def survey(tmp_path, groups, n=60):
    rows = []
    for name, phi, center in groups:
        X = make_rankings(n, 5, phi=phi, center=center, random_state=len(rows))
        rows += [[*map(int, row), name] for row in X]
    (tmp_path / "survey.csv").write_text("\n".join(",".join(map(str, row)) for row in [[*NAMES, "group"], *rows]))
    return str(tmp_path / "survey.csv")


def test_two_groups_of_one_file(tmp_path, capsys, samples):
    path = survey(tmp_path, [("women", 0.7, range(5)), ("men", 0.7, CENTER)])
    code, text, error = run(capsys, path, "--by", "group")
    assert (code, error) == (0, "")
    assert "A: group: men, 60 rankings" in text
    assert "B: group: women, 60 rankings" in text
    assert "The two sets of rankings differ (p = 0.001)." in text


@pytest.mark.parametrize("names", [("women", "men"), ("a", "b", "c")])
def test_rows_without_a_group_are_left_out_with_a_note(tmp_path, capsys, names):
    path = survey(tmp_path, [(name, 0.7, range(5)) for name in names], n=20)
    options = ("--by", "group", "--permutations", "99", "--json")
    expected = json.loads(run(capsys, path, *options)[1])
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(f"\n{','.join('43210')},{empty}" for empty in ("", " ", "NA")))
    figures = json.loads(run(capsys, path, *options)[1])
    note = "3 rows have no value in column 'group' (--by) and are left out of the comparison."
    assert figures.pop("notes") == [note]
    assert expected.pop("notes") == []
    assert figures == expected
    assert f"Note: {note}" in " ".join(run(capsys, path, *options[:-1])[1].split())


def test_one_group_and_rows_without_any_cannot_be_compared(tmp_path, capsys):
    path = survey(tmp_path, [("women", 0.7, range(5)), ("", 0.7, range(5))], n=20)
    code, _, error = run(capsys, path, "--by", "group")
    assert code == 2
    assert "column 'group' names 1 groups" in error
    assert "20 rows have no value in column 'group' (--by)" in error


def test_all_pairs_of_more_groups_with_holm(tmp_path, capsys):
    path = survey(tmp_path, [("a", 0.5, range(5)), ("b", 0.5, range(5)), ("c", 0.5, CENTER)])
    figures = json.loads(run(capsys, path, "--by", "group", "--json")[1])
    pvalues = {(one["first"][-1], one["second"][-1]): one["pvalue_holm"] for one in figures["pairs"]}
    assert pvalues.keys() == {("a", "b"), ("a", "c"), ("b", "c")}
    assert pvalues["a", "c"] == pvalues["b", "c"] == pytest.approx(0.003)
    assert pvalues["a", "b"] > 0.05
    text = run(capsys, path, "--by", "group", "--plot", str(tmp_path / "groups.svg"))[1]
    assert "2 of 3 pairs of groups differ" in text
    assert (tmp_path / "groups.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "needs a second file, or --by"),
        (["--by", "a"], "names 5 groups"),
        (["--by", "nothing"], "no column is called 'nothing'"),
    ],
)
def test_groups_that_cannot_be_compared(tmp_path, capsys, options, message):
    path = survey(tmp_path, [("women", 0.7, range(5)), ("men", 0.7, CENTER)])
    if options == ["--by", "a"]:
        message = "only|names|not"  # a column of ranks names no groups; without it the others are no places
    code, _, error = run(capsys, path, *options)
    assert code == 2
    assert re.search(message, error)


def test_unanimous_sets_have_no_infinite_errors(tmp_path, capsys):
    X = np.tile(np.arange(5.0), (10, 1))
    files = write(tmp_path / "x.csv", X), write(tmp_path / "y.csv", X)
    for one in json.loads(run(capsys, *files, "--json")[1])["items"]:
        assert (one["difference"], one["z"], one["pvalue"]) == (0, 0, 1)
    files = files[0], write(tmp_path / "z.csv", X[:, ::-1])
    for one in json.loads(run(capsys, *files, "--json")[1])["items"]:
        assert abs(one["z"]) < 10
        assert one["pvalue"] == (1 if one["item"] == "c" else 0.001)


def test_the_picture_has_errors_and_whole_names(tmp_path, capsys, samples, monkeypatch):
    drawn = []
    monkeypatch.setattr("skrank._commands._output.save_plot", lambda result, *_, **__: drawn.append(result.draw()))
    X, Y = samples
    names = ["a very long name of the first item which goes on and on", *"bcde"]
    files = write(tmp_path / "x.csv", X, names), write(tmp_path / "y.csv", Y, names)
    path = tmp_path / "difference.png"
    code, text, error = run(capsys, *files, "--json", "--permutations", "99", "--plot", str(path))
    assert (code, error) == (0, "")
    figures = json.loads(text)
    one = next(item for item in figures["items"] if item["item"] == "b")
    wins = np.sum(X[:, [1]] < X, axis=1) - np.sum(X[:, [1]] > X, axis=1)
    assert one["net_wins"][0] == pytest.approx(wins.mean())
    assert one["net_wins_errors"][0] == pytest.approx(wins.std(ddof=1) / np.sqrt(len(X)))
    left = drawn[0].axes[0]
    assert len(left.containers) == 2
    assert names[0] in {" ".join(label.get_text().split()) for label in left.get_yticklabels()}


def test_survey_weights_count(tmp_path, capsys):
    # Women and men agree, but the men with a large weight reverse the order.
    X = make_rankings(80, 4, phi=0.4, center=range(4), random_state=0)
    weights = np.tile([0.2, 3.0], 40)
    X[41::2] = 3 - X[41::2]
    rows = [
        f"{'woman' if row < 40 else 'man'},{weights[row]},{','.join(f'{x:g}' for x in X[row] + 1)}" for row in range(80)
    ]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(["gender,w,a,b,c,d", *rows]) + "\n", encoding="utf-8")
    options = (str(path), "--by", "gender", "--items", "a:d")
    figures = json.loads(run(capsys, *options, "--weight", "w", "--json", "--permutations", "199")[1])
    assert figures["pvalue"] == 0.005
    man, woman = figures["samples"]
    assert (man["title"], man["n_tested"], man["are_counts"]) == ("gender: man", 40, False)
    assert man["n_rankings"] == pytest.approx(weights[:40].sum() ** 2 / (weights[:40] ** 2).sum())
    first = next(one for one in figures["items"] if one["item"] == "a")
    assert first["net_wins"][1] == pytest.approx(np.average(3 - 2 * X[:40, 0], weights=weights[:40]))
    text = " ".join(run(capsys, *options, "--weight", "w", "--permutations", "99")[1].split())
    assert "40 people tested (the weights of all correspond to 22.7 people)" in text
    # Equal weights are no weights.
    equal = path.with_name("equal.csv")
    equal.write_text(path.read_text(encoding="utf-8").replace(",0.2,", ",2,").replace(",3.0,", ",2,"), encoding="utf-8")
    one, other = (
        json.loads(run(capsys, str(equal), *options[1:], *way, "--json", "--permutations", "99")[1])
        for way in (("--weight", "w"), ("--ignore", "w"))
    )
    assert one["statistic"] == pytest.approx(other["statistic"])
    wins = [{item["item"]: item["net_wins"] for item in figures["items"]} for figures in (one, other)]
    for item in "abcd":
        assert wins[0][item] == pytest.approx(wins[1][item])
