"""`python -m skrank mixture`: the components, how sure the centers are, and what it refuses."""

import json
import re

import numpy as np
import pytest

from skrank.__main__ import main
from skrank._commands import mixture
from skrank._commands._text import with_flags
from skrank.datasets import make_mallows_mixture
from skrank.mixture import MallowsMixture


@pytest.fixture
def run(tmp_path, capsys):
    """Write a CSV and run the command on it: exit code, output and errors."""

    def run(X, *options):
        path = tmp_path / "votes.csv"
        names = ",".join("abcdefgh"[: X.shape[1]])
        rows = [",".join("" if np.isnan(v) else f"{v:g}" for v in row) for row in X]
        path.write_text("\n".join([names, *rows]) + "\n", encoding="utf-8")
        code = main(["mixture", str(path), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def two_groups(n_samples=600):
    centers = [[0, 1, 2, 3, 4, 5], [5, 4, 3, 0, 1, 2]]
    weights = [0.7, 0.3]
    bunch = make_mallows_mixture(
        n_samples, 6, 2, centers=centers, phi=0.3, weights=weights, random_state=0, return_X_y=False
    )
    return np.asarray(bunch.X, float)


def test_components_and_their_consensus(run):
    code, text, _ = run(two_groups())
    assert code == 0
    assert "600 rankings of 6 items" in text
    assert re.search(r"^1 +(6|7)\d\.\d % +6\d\.\d to 7\d\.\d +0\.[23]\d\d ", text, re.MULTILINE)
    assert "  1  a > b > c > d > e > f" in text
    assert "  2  d > e > f > c > b > a" in text
    assert "Note:" not in text
    assert "2 groups, which random halves of the voters find again." in text


def test_groups_that_are_not_there_are_said_not_to_hold(run):
    _, text, _ = run(two_groups(), "-k", "4")
    text = " ".join(text.split())
    assert "4 groups, not all of which would be found again with other voters." in text
    assert re.search(r"Group [34] came back in \d of 8 halves: do not rely on it\.", text)


def test_rankings_that_do_not_count_are_not_counted(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    path.write_text("a,b,c,w\n0,1,2,3\n0,1,2,2\n1,0,2,4\n2,1,0,0\n")
    assert main(["mixture", str(path), "--weight", "w", "-k", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_distinct"] == 2


def test_the_number_of_components_and_the_test(run):
    code, text, _ = run(two_groups(), "-k", "1", "--draws", "4")
    assert code == 0
    assert len(re.findall(r"^\d +\d+\.\d %", text, re.MULTILINE)) == 1
    text = " ".join(text.split())
    assert re.search(r"It increases the log-likelihood by \d{3}\.\d\. .* p = 0.200: 4 draws are too few to tell", text)
    _, text, _ = run(two_groups(), "-k", "4")
    text = " ".join(text.split())
    assert "Note: 4 components were asked for, but the data support 2: with fewer components the description" in text
    assert "Use -k auto" in text


def test_neighbors_that_are_not_sure_are_joined_by_a_tilde(run):
    # Nobody prefers b to c or c to b by much: 31 against 29.
    X = np.repeat([[0, 1, 2.0], [0, 2, 1]], [31, 29], axis=0)
    _, text, _ = run(X, "-k", "1")
    assert "  1  a > b ~ c" in text


def test_gaps_need_a_meaning(run):
    X = two_groups()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    code, _, error = run(X, "--ranks")
    assert code == 2
    assert "unranked" in error
    assert run(X, "--ranks", "--unranked", "last", "-k", "1")[0] == 0
    code, text, _ = run(X, "--ranks", "--unranked", "missing", "-k", "2")
    assert code == 0
    text = " ".join(text.split())
    assert "each ranking is part of a full ranking" in text
    assert re.search(r"The log-likelihood of the alternative, .* is \d+ (lower|higher)\.", text)


def test_voters_of_several_rows_and_of_comparisons(tmp_path, capsys):
    rng = np.random.default_rng(1)
    lines = ["judge,winner,loser"]
    for judge in range(60):
        order = "abcd" if judge % 2 else "dcba"
        for _ in range(12):
            first, second = sorted(rng.choice(4, 2, replace=False))
            pair = order[first], order[second]
            winner, loser = pair if rng.random() > 0.2 else pair[::-1]
            lines.append(f"j{judge},{winner},{loser}")
    path = tmp_path / "games.csv"
    path.write_text("\n".join(lines))
    assert main(["mixture", str(path), "--comparisons", "--voter", "judge", "-k", "2", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["n_voters"] == 60
    assert figures["n_rankings"] == 720
    assert sorted("".join(one["consensus"]) for one in figures["components"]) == ["abcd", "dcba"]
    assert main(["mixture", str(path), "--comparisons"]) == 2
    assert "--voter COLUMN" in capsys.readouterr().err

    table = tmp_path / "ranks.csv"
    rows = [f"{name},{first},{second},2" for name in "uvw" for first, second in [(0, 1), (1, 0), (0, 1)] * 10]
    table.write_text("who,x,y,z\n" + "\n".join(rows))
    assert main(["mixture", str(table), "--ranks", "--voter", "who", "-k", "1"]) == 0
    assert "Each of the 3 voters (column 'who') belongs to one group." in capsys.readouterr().out
    table.write_text("who,x,y,z\n" + "\n".join([*rows, ",1,0,2"]))
    assert main(["mixture", str(table), "--ranks", "--voter", "who", "-k", "1"]) == 2
    assert "line 92: no value in column 'who' (--voter)" in capsys.readouterr().err


@pytest.mark.parametrize("components", ["0", "two", "-1"])
def test_a_bad_number_of_components_is_refused(run, components, capsys):
    with pytest.raises(SystemExit) as stop:
        run(two_groups(), f"--components={components}")
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert f"must be a whole number from 1, got '{components}'" in error
    assert error.count("\n") == 1


def test_without_a_file_it_takes_the_apa_ballots(capsys):
    assert main(["mixture", "-k", "2"]) == 0
    text = capsys.readouterr().out
    assert "15449 rankings of 5 items, 205 of them distinct." in text
    assert "Missing items: " in text


def test_it_and_the_report_find_the_same_on_one_file(run, tmp_path, capsys):
    X = two_groups(200)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    own = json.loads(run(X, "--unranked", "missing", "--json")[1])
    assert main(["report", str(tmp_path / "votes.csv"), "--unranked", "missing", "--json"]) == 0
    of_report = json.loads(capsys.readouterr().out)["mixture"]
    for one, other in zip(own["components"], of_report["components"], strict=True):
        assert one["consensus"] == other["consensus"]
        assert one["n_found"] == other["n_found"]
        assert one["weight"] == pytest.approx(other["weight"], abs=1e-9)
        assert one["stability"] == pytest.approx(other["stability"], abs=1e-9)
    assert own["missing"] == of_report["missing"]


def test_the_section_of_the_report_takes_the_rankings_that_order_something():
    class Rankings:
        ranks = np.vstack([two_groups(), np.full((10, 6), np.nan)])
        weights = np.ones(610)
        item_names = list("abcdef")

    figures = mixture.section(Rankings, Rankings)
    assert figures["n_rankings"] == 600
    assert list(figures["components"][0]["consensus"]) == list("abcdef")
    text = mixture.write_components(figures)
    assert "1  a > b > c > d > e > f" in text
    assert "2 groups, which random halves of the voters find again." in text
    Rankings.ranks, Rankings.weights = Rankings.ranks[:20], Rankings.weights[:20]
    assert mixture.section(Rankings, Rankings) is None


def test_the_json_object(run):
    X = two_groups()
    code, text, error = run(X, "-k", "2", "--json")
    assert (code, error) == (0, "")
    figures = json.loads(text)
    mixture = MallowsMixture(2, random_state=0).fit(X)
    first, second = figures["components"]
    assert [first["weight"], second["weight"]] == mixture.weights_.tolist()
    assert [first["dispersion"], second["dispersion"]] == mixture.dispersions_.tolist()
    assert (first["consensus"], second["consensus"]) == (list("abcdef"), list("defcba"))
    assert len(first["order_agreement"]) == 5
    low, high = first["weight_interval"]
    assert low < first["weight"] < high
    assert first["stability"] > 0.9
    assert first["n_found"] == figures["n_halves"] == 8
    np.testing.assert_allclose(figures["log_likelihood"], mixture.score(X) * len(X), rtol=1e-6)
    assert figures["goodness_of_fit"] is None
    assert figures["items"] == list("abcdef")
    assert (figures["n_rankings"], figures["notes"]) == (600, [])


def test_notes_number_the_components_as_the_table_does(run):
    X = np.array([[0.0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 3, 2], [0, 1, 2, 3]])
    _, text, _ = run(X, "-k", "2")
    text = " ".join(text.split())
    assert "component 2 " in text
    assert "component 0" not in text
    assert mixture._numbered_from_one("Components 0 and 9 are 3 of component 1.") == (
        "Components 1 and 10 are 3 of component 2."
    )


def test_messages_name_the_options_of_the_command():
    message = 'n_components="auto" took all of max_components=10: criterion="stability" does not say so. '
    message += "Raise max_components."
    assert with_flags(message) == (
        "-k auto took all of --max-components 10: stability does not say so. Raise --max-components."
    )
