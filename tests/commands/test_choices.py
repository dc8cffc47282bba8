"""Reports on ballots that do not rank: one choice, approval, two candidates."""

import csv
import json

import numpy as np
import pytest
from scipy.stats import binomtest

from skrank.__main__ import main
from skrank._commands._choices import kind_of, wilson_interval
from skrank._rankings import check_rankings

NAN = np.nan
ONE = "choice\n" + "\n".join(["Ann"] * 30 + ["Ben"] * 12 + ["Cid"] * 8) + "\n"
# Approvals, as columns of marks: Ann and Ben 6, Ann 10, Cid 4, all 2, none 3.
APPROVAL = "Ann,Ben,Cid\n" + "1,1,\n" * 6 + "1,,\n" * 10 + ",,1\n" * 4 + "1,1,1\n" * 2 + ",,\n" * 3


@pytest.fixture
def report(tmp_path, capsys):
    def report(text, *options):
        path = tmp_path / "votes.csv"
        path.write_text(text, encoding="utf-8")
        assert main(["report", str(path), *options]) == 0
        return capsys.readouterr().out

    return report


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        ([[0, 1, 1], [1, 0, 1]], "one choice"),
        ([[0, NAN, NAN], [NAN, 0, NAN], [NAN, NAN, NAN]], "one choice"),
        ([[0, 0, 1], [1, 0, 1]], "approval"),
        ([[0, 0, NAN], [NAN, 0, NAN]], "approval"),
        ([[0, 1], [1, 0], [0, 0]], "two candidates"),
        ([[0, 1, 2], [0, 1, 1]], None),
        ([[0, 1, NAN], [0, 1, 1]], None),  # what is missing may be anything
        ([[0, 0, 0], [NAN, NAN, NAN]], None),
        ([[0], [0]], None),
    ],
)
def test_kinds(X, kind):
    assert kind_of(check_rankings(np.array(X, dtype=float)), np.ones(len(X))) == kind


def test_rankings_without_weight_do_not_matter():
    assert kind_of(check_rankings([[0, 1, 2], [0, 1, 1]]), np.array([0.0, 1.0])) == "one choice"


@pytest.mark.parametrize("unranked", ["last", "missing"])
def test_one_choice_is_counted(report, unranked):
    options = ("--orderings", "--unranked", unranked)
    figures = json.loads(report(ONE, *options, "--json"))
    for name in ("consensus", "majorities", "clusters", "mixture"):
        assert figures[name] is None
    found = figures["choices"]
    assert found["kind"] == "one choice"
    assert [(one["item"], one["n_ballots"], one["share"]) for one in found["items"]] == [
        ("Ann", 30, 0.6),
        ("Ben", 12, 0.24),
        ("Cid", 8, 0.16),
    ]
    assert found["items"][0]["rank_set"] == [1, 1]
    assert found["lead"]["pvalue"] == pytest.approx(binomtest(30, 42).pvalue)
    text = report(ONE, *options)
    assert "Ann leads Ben by 30 to 12: unlikely by chance" in " ".join(text.split())
    for word in ("Condorcet", "mean place", "Mallows model"):
        assert word not in text


def test_approvals_and_which_go_together(report, tmp_path):
    figures = json.loads(report(APPROVAL, "--unranked", "last", "--json", "--output", str(tmp_path / "tables")))
    found = figures["choices"]
    assert (found["kind"], found["n_ballots"], found["n_uninformative"]) == ("approval", 20, 5)
    assert [(one["item"], one["n_ballots"]) for one in found["items"]] == [("Ann", 16), ("Ben", 6), ("Cid", 4)]
    np.testing.assert_allclose(found["together"], [[1, 6 / 16, 0], [1, 1, 0], [0, 0, 1]])
    assert found["lead"]["n_only"] == [10, 0]
    with open(tmp_path / "tables" / "shares.csv", encoding="utf-8-sig") as file:
        assert [row["n_ballots"] for row in csv.DictReader(file)] == ["16", "6", "4"]
    assert (tmp_path / "tables" / "approved_together.csv").exists()
    assert not (tmp_path / "tables" / "consensus.csv").exists()


def test_two_candidates(report):
    text = report("Yes,No\n" + "1,2\n" * 26 + "2,1\n" * 22 + "1,1\n" * 2)
    assert "Yes       26  54.2 %" in text
    assert "2 ballots tie the two or rank neither and are left out below." in text
    assert "possibly by chance" in " ".join(text.split())
    assert "Kemeny" not in text


def test_pictures_and_pages(report, tmp_path):
    for name, text in (("one", ONE), ("approval", APPROVAL)):
        options = ("--orderings",) if name == "one" else ()
        paths = [tmp_path / f"{name}{ending}" for ending in (".svg", ".html")]
        report(text, *options, "--unranked", "last", "--plot", str(paths[0]), "--html", str(paths[1]))
        page = paths[1].read_text(encoding="utf-8")
        assert "Kemeny" not in page
        assert ("Approved together" in page) == (name == "approval")
        assert paths[0].stat().st_size > 1000


def test_the_interval_is_wilsons():
    expected = binomtest(7, 40).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson_interval(7, 40), [expected.low, expected.high])
    assert wilson_interval(0, 10)[0] == pytest.approx(0, abs=1e-12)
    assert wilson_interval(10, 10)[1] == pytest.approx(1)


def test_a_column_of_choices_needs_the_option_that_the_error_names(tmp_path, capsys):
    path = tmp_path / "votes.csv"
    path.write_text(ONE, encoding="utf-8")
    assert main(["report", str(path)]) == 2
    assert "pass --orderings" in capsys.readouterr().err
