"""What commands write: every row of the input with its group, and the report's tables."""

import csv
import json

import numpy as np
import pytest

from skrank.__main__ import main
from skrank.datasets import dump_preflib

SURVEY = "id,Ann,Ben,Cid,age\n" + "".join(f"r{row},{'1,2,3' if row % 2 else '3,2,1'},{20 + row}\n" for row in range(60))


def rows_of(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("command", ["mixture", "cluster"])
def test_groups_beside_every_column_of_the_input(tmp_path, capsys, command):
    votes, groups = tmp_path / "votes.csv", tmp_path / "groups.csv"
    votes.write_text(SURVEY)
    assert main([command, str(votes), "-k", "2", "--output", str(groups)]) == 0
    assert f"is in {groups}" in " ".join(capsys.readouterr().out.split()).replace("- ", "-")
    found = rows_of(groups)
    assert [row["id"] for row in found] == [f"r{row}" for row in range(60)]
    assert [row["age"] for row in found] == [str(20 + row) for row in range(60)]
    of_odd, of_even = ({row["group"] for row in found[start::2]} for start in (1, 0))
    assert (len(of_odd), len(of_even), len(of_odd | of_even)) == (1, 1, 2)
    if command == "mixture":
        for row in found:
            assert float(row["probability"]) == float(row[f"probability_{row['group']}"]) > 0.5
            assert float(row["probability_1"]) + float(row["probability_2"]) == pytest.approx(1)


def test_rows_that_order_nothing_have_no_group(tmp_path, capsys):
    votes, groups = tmp_path / "votes.csv", tmp_path / "groups.csv"
    options = ["mixture", str(votes), "-k", "2", "--unranked", "missing", "--output", str(groups), "--json"]
    votes.write_text(SURVEY + "r60,,,,30\nr61,1,,,31\nr62,,1,2,32\n")
    assert main(options) == 0
    note = f"Each row's group is in {groups}; group and probabilities are empty for 2 rows that order nothing."
    assert json.loads(capsys.readouterr().out)["notes"][-1] == note
    found = rows_of(groups)
    assert [row["id"] for row in found] == [f"r{row}" for row in range(63)]
    columns = ("group", "probability", "probability_1", "probability_2")
    empty = [[row[column] == "" for column in columns] for row in found]
    assert empty == [[row in (60, 61)] * 4 for row in range(63)]
    assert {row["group"] for row in found} == {"1", "2", ""}


def test_a_row_that_orders_nothing_has_the_group_of_its_voter(tmp_path):
    votes, groups = tmp_path / "votes.csv", tmp_path / "groups.csv"
    rows = [row.rsplit(",", 1)[0] for row in SURVEY.splitlines()]
    votes.write_text("\n".join([*rows, "r0,,,", "other,,,"]) + "\n")
    options = ["-k", "2", "--unranked", "missing", "--voter", "id", "--output", str(groups)]
    assert main(["mixture", str(votes), *options]) == 0
    found = rows_of(groups)
    assert found[60]["group"] == found[0]["group"] != ""
    assert found[61]["group"] == found[61]["probability"] == ""


def test_groups_of_a_preflib_file(tmp_path):
    dump_preflib(
        tmp_path / "x.toc", [[0, 1, 2], [2, 1, 0], [0, 0, 1]], sample_weight=[30, 20, 1], item_names=list("abc")
    )
    assert main(["mixture", str(tmp_path / "x.toc"), "-k", "1", "--output", str(tmp_path / "g.csv")]) == 0
    assert [(row["count"], row["a"], row["group"]) for row in rows_of(tmp_path / "g.csv")] == [
        ("30", "0", "1"),
        ("20", "2", "1"),
        ("1", "0", "1"),
    ]


def test_rows_outside_the_sample_belong_to_the_nearest_cluster(tmp_path):
    (tmp_path / "votes.csv").write_text(SURVEY + "r60,1,3,2,9\n")
    options = ["-k", "2", "--sample", "20", "--output", str(tmp_path / "g.csv")]
    assert main(["cluster", str(tmp_path / "votes.csv"), *options]) == 0
    found = [row["group"] for row in rows_of(tmp_path / "g.csv")]
    assert len(set(found[1:60:2])) == len(set(found[0:60:2])) == 1
    assert found[60] == found[1] != found[0]


def test_tables_of_the_report(tmp_path, capsys):
    (tmp_path / "votes.csv").write_text(SURVEY + "r60,1,3,2,9\nr61,2,1,3,9\n")
    assert main([str(tmp_path / "votes.csv"), "--output", str(tmp_path / "tables")]) == 0
    assert "consensus.csv, majorities.csv, groups.csv, clusters.csv" in " ".join(capsys.readouterr().out.split())
    consensus = rows_of(tmp_path / "tables" / "consensus.csv")
    assert {row["item"] for row in consensus} == {"Ann", "Ben", "Cid"}
    assert sum(float(row["first_share"]) for row in consensus) == pytest.approx(1)
    majorities = rows_of(tmp_path / "tables" / "majorities.csv")
    assert majorities[0][majorities[0]["prefers"]] == ""
    assert len(rows_of(tmp_path / "tables" / "groups.csv")) == 2


def test_survey_weights_count_as_many_rankings_as_they_are_worth(tmp_path, capsys):
    weights = np.random.default_rng(0).gamma(2, 0.5, 60).round(3)
    lines = SURVEY.splitlines()
    text = "\n".join([lines[0] + ",w", *(f"{line},{w}" for line, w in zip(lines[1:], weights, strict=True))])
    (tmp_path / "votes.csv").write_text(text)
    assert main(["mixture", str(tmp_path / "votes.csv"), "--weight", "w", "-k", "1"]) == 0
    effective = weights.sum() ** 2 / (weights**2).sum()
    out = capsys.readouterr().out
    assert f"{effective:.4g} rankings of 3 items" in out
    assert f"60 people, by their weights worth {effective:.1f} equal ones" in " ".join(out.split())


def test_a_file_in_the_place_of_a_subcommand(tmp_path, capsys):
    (tmp_path / "votes.csv").write_text(SURVEY)
    assert main([str(tmp_path / "votes.csv")]) == 0
    expected = capsys.readouterr().out
    assert main(["report", str(tmp_path / "votes.csv")]) == 0
    assert capsys.readouterr().out == expected
