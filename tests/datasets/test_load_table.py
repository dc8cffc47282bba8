"""Files as survey tools and spreadsheets export them: read right, or an error whose remedy works."""

import ast
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skrank.__main__ import main
from skrank._commands._text import one_line
from skrank.datasets import load_table
from skrank.datasets._tables._places import judge

NAN = np.nan
EXPORTS = Path(__file__).parent / "exports"
ABC = ["Ann", "Ben", "Cid"]
THREE = [[0, 1, 2], [1, 0, 2], [1, 0, NAN]]


@pytest.mark.parametrize(
    ("name", "options", "items", "data"),
    [
        ("google_forms_grid", {}, ABC, THREE),
        ("google_forms_choices", {}, ABC, [[0, 1, 2], [1, 0, 2], [1, 0, NAN]]),
        ("qualtrics", {"items": ["Q5_*"]}, ABC, THREE),
        ("qualtrics", {"items": ["Q5_1:Q5_3"]}, ABC, THREE),
        ("microsoft_forms", {}, ABC, THREE),
        ("limesurvey", {}, ABC, THREE),
        ("surveymonkey", {}, ABC, THREE),
        ("german_excel", {"weight": "Gewicht"}, ["Bärbel", "Cid", "Jürgen"], [[1, 2, 0], [0, 2, 1], [0, 1, NAN]]),
        (
            "german_ratings",
            {"kind": "scores", "ignore": ["Person", "Alter"]},
            ["Zug", "Bus", "Rad"],
            [[0, 2, 1], [2, 0, 1], [1, 2, 0]],
        ),
        ("arrows", {}, ABC, [[0, 1, 2], [1, 0, 1], [1, 0, NAN]]),
        ("counts", {"count": "votes"}, ABC, [[0, 1, 2], [1, 0, 2], [2, 0, 1], [1, 2, 0]]),
    ],
)
def test_exports(name, options, items, data):
    found = load_table(EXPORTS / f"{name}.csv", unranked="missing", **options)
    assert found.item_names.tolist() == items
    data = np.array(data)
    for row, expected in zip(found.data, data, strict=True):  # densified: a row ranks from 0
        known = ~np.isnan(expected)
        assert np.array_equal(np.isnan(row), ~known)
        assert np.array_equal(row[known], np.searchsorted(np.unique(expected[known]), expected[known]))


def test_the_other_columns_are_kept_and_named():
    found = load_table(EXPORTS / "surveymonkey.csv", unranked="missing")
    assert found.voters.tolist() == ["11801", "11802", "11803"]
    assert isinstance(found.frame, pd.DataFrame)
    assert found.frame["How old are you?"].tolist() == ["44", "23", "31"]
    assert "items (ranks): Ann, Ben, Cid; ids: Respondent ID; not used: Collector ID" in found.DESCR
    assert "taken as missing: N/A" in found.DESCR
    weighted = load_table(EXPORTS / "german_excel.csv", unranked="missing", weight="Gewicht")
    assert weighted.sample_weight.tolist() == [0.8, 1.25, 1.5]
    assert "encoding: Windows-1252" in weighted.DESCR


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("codes", "'-99' in column 'Cid' is not a place from 1 to 4. .* missing_codes='-99'; .* ignore='Cid'"),
        ("counts", "'votes' may say how often each row was seen: pass count='votes' if so, otherwise ignore='votes'"),
        ("german_excel", "'Gewicht' may say how much each row weighs: pass weight='Gewicht'"),
        ("german_ratings", "not places .* Pass kind='ranks' if the lowest is the best, or kind='scores'"),
    ],
)
def test_where_two_readings_are_possible_the_parameter_is_named(name, message):
    with pytest.raises(ValueError, match=message):
        load_table(EXPORTS / f"{name}.csv", unranked="missing")


def test_a_code_sex_and_age_beside_ranks():
    found = load_table(EXPORTS / "codes.csv", unranked="missing", missing_codes=[-99])
    assert found.item_names.tolist() == ["Ann", "Ben", "Cid", "Dan"]
    assert "ids: id; not used: sex, age" in found.DESCR
    assert np.isnan(found.data).sum() == 3


@pytest.mark.parametrize("name", sorted(path.stem for path in EXPORTS.glob("*.csv")))
def test_remedies_of_the_function_work_as_they_are_printed(name):
    """The first parameter that each error names, copied into the call, ends with a table."""
    parameters = {"unranked": "last"}
    for _ in range(4):
        try:
            load_table(EXPORTS / f"{name}.csv", **parameters)
        except ValueError as error:
            parameter, value = re.search(r"[Pp]ass (\w+)=('[^']*'|True|False)", str(error)).groups()
            if parameter == "ignore" and "ignore" in parameters:
                parameters["ignore"] = [parameters["ignore"], ast.literal_eval(value)]
            else:
                parameters[parameter] = ast.literal_eval(value)
        else:
            return
    raise AssertionError(parameters)


@pytest.mark.parametrize("name", sorted(path.stem for path in EXPORTS.glob("*.csv")))
def test_remedies_work_when_followed_literally(name, capsys):
    """The command, with the first option that each error names, ends with a report."""
    options = ["--unranked", "last"]
    for _ in range(4):
        code = main(["mixture", str(EXPORTS / f"{name}.csv"), "-k", "1", *options])
        error = one_line(capsys.readouterr().err)
        if code == 0:
            return
        remedy = error.partition("pass ")[2] or error.partition("Pass ")[2]
        words = [word.rstrip(",.;") for word in shlex.split(remedy)]
        option, *values = words
        taken = values[:1] if option in ("--count", "--weight", "--missing-code", "--ignore", "--items") else []
        options += [f"{option}={taken[0]}"] if taken and option == "--missing-code" else [option, *taken]
    raise AssertionError(error)


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_workbooks(tmp_path, ending):
    pytest.importorskip({"xlsx": "openpyxl", "ods": "odf"}[ending])
    path = tmp_path / f"votes.{ending}"
    frame = pd.DataFrame({"respondent": ["r1", "r2"], "Ann": [1, 2], "Ben": [2, 1], "Cid": [3, None]})
    with pd.ExcelWriter(path) as writer:
        frame.to_excel(writer, sheet_name="votes", index=False)
        pd.DataFrame({"note": ["of May"]}).to_excel(writer, sheet_name="notes", index=False)
    found = load_table(path, unranked="missing")
    np.testing.assert_array_equal(found.data, [[0, 1, 2], [1, 0, NAN]])
    assert found.voters.tolist() == ["r1", "r2"]
    assert found.DESCR.startswith("sheet: votes (of votes, notes); items (ranks): Ann, Ben, Cid")
    with pytest.raises(ValueError, match="there is no sheet 'May' with cells; there are 'votes', 'notes'"):
        load_table(path, sheet="May")


def test_what_cannot_be_read_says_what_to_do(tmp_path):
    path = tmp_path / "votes.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    with pytest.raises(ValueError, match="old kind .*Save it as .xlsx or as CSV"):
        load_table(path)
    path.write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(ValueError, match="line 1: this is not a workbook that can be read"):
        load_table(path)
    path.write_text("\n\n")
    with pytest.raises(ValueError, match="the file is empty"):
        load_table(path)


@pytest.mark.parametrize(("encoding", "named"), [("utf-16", None), ("utf-8-sig", None), ("latin2", "latin2")])
def test_encodings(tmp_path, encoding, named):
    path = tmp_path / "votes.csv"
    path.write_bytes("Żak|Łoś\n1|2\n2|1\n".encode(encoding))
    assert load_table(path, encoding=named).item_names.tolist() == ["Żak", "Łoś"]


# ---------------------------------------------------------------- columns that are no items
STRANGERS = {
    "id": lambda rng, n, k: np.arange(1, n + 1),
    "shuffled id": lambda rng, n, k: rng.permutation(n) + 1000,
    "weight": lambda rng, n, k: rng.gamma(4, 0.25, n).round(2),
    "whole weight": lambda rng, n, k: rng.integers(1, 4, n),
    "date": lambda rng, n, k: [f"2026-05-{day:02d}" for day in rng.integers(1, 29, n)],
    "age": lambda rng, n, k: rng.integers(18, 90, n),
    "sex": lambda rng, n, k: rng.integers(1, 3, n),
    "female": lambda rng, n, k: rng.integers(0, 2, n),
    "sex in letters": lambda rng, n, k: rng.choice(["f", "m"], n),
    "text": lambda rng, n, k: rng.choice(["good", "bad, really", "fine; thanks", ""], n),
    "region": lambda rng, n, k: rng.integers(1, k + 1, n),
}


def table_with_strangers(seed):
    """A table of ranks with one to three columns that are none, under names that do not tell; and the items."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(10, 200)), int(rng.integers(3, 12))
    ranks = rng.permuted(np.tile(np.arange(1.0, k + 1), (n, 1)), axis=1) - rng.integers(2)
    kind = rng.choice(["full", "top", "last"])
    if kind != "full":
        top = rng.integers(1, k + 1, (n, 1)) + ranks.min() - 1
        ranks = np.where(ranks > top, NAN if kind == "top" else top + 1, ranks)
    columns = {f"q{item}": ranks[:, item] for item in range(k)}
    for number, name in enumerate(rng.choice(list(STRANGERS), rng.integers(1, 4), replace=False)):
        columns[f"v{'abc'[number]}"] = STRANGERS[name](rng, n, k)
    order = rng.permutation(list(columns))
    return pd.DataFrame({name: columns[name] for name in order}), {f"q{item}" for item in range(k)}


@pytest.mark.parametrize("seeds", [range(start, start + 50) for start in range(0, 200, 50)])
def test_a_column_that_is_no_item_is_never_one_without_a_word(tmp_path, seeds):
    n_read = 0
    for seed in seeds:
        frame, items = table_with_strangers(seed)
        frame.to_csv(tmp_path / "votes.csv", index=False)
        try:
            found = load_table(tmp_path / "votes.csv", unranked="missing")
        except ValueError as caught:
            error = caught
        else:
            error = None
        if error is not None:
            assert re.search("(ignore|kind|count|weight)=", str(error))
            continue
        n_read += 1
        assert set(found.item_names) == items, (seed, found.DESCR)
    assert n_read >= 0.6 * len(seeds)


@pytest.mark.parametrize("n_levels", [3, 4, 6])
def test_genuine_ties_are_items(n_levels):
    scores = np.random.default_rng(0).integers(0, n_levels, (100, 5))
    ranks = np.array([np.unique(row, return_inverse=True)[1] for row in scores]) + 1.0
    assert judge(ranks).items == list(range(5))
    assert not judge(ranks).doubts


def test_few_levels_of_many_items_may_be_ratings():
    assert judge(np.random.default_rng(0).integers(1, 4, (100, 12)).astype(float)) is None


@pytest.mark.parametrize(
    ("text", "options", "expected", "names"),
    [
        ("id,Ann,Ben,Cid\nr1,1,0,\nr2,0,1,1\nr3,,,1\n", {}, [[0, 1, 1], [1, 0, 0], [1, 1, 0]], "Ann Ben Cid"),
        ("Ann,Ben,Cid\nx,,X\n,yes,\nno,no,ja\n", {}, [[0, 1, 0], [1, 0, 1], [1, 1, 0]], "Ann Ben Cid"),
        # A ticked box that holds the name of its item, as SurveyMonkey exports.
        (
            "when,Ann,Ben,Cid\n1 May,Ann,,\n2 May,,Ben,Cid\n3 May,,,Cid\n",
            {},
            [[0, 1, 1], [1, 0, 0], [1, 1, 0]],
            "Ann Ben Cid",
        ),
        ("voter,approved\na,Ben;Ann\nb,Cid\nc,\n", {}, [[0, 0, 1], [1, 1, 0], [0, 0, 0]], "Ann Ben Cid"),
        ("gender,Ann,Ben\n0,1,0\n1,0,1\n", {"items": ["Ann", "Ben"]}, [[0, 1], [1, 0]], "Ann Ben"),
        ("choice,n\nAnn,3\nBen,2\n", {"items": "choice", "count": "n"}, [[0, 1], [1, 0]], "Ann Ben"),
    ],
)
def test_approvals(tmp_path, text, options, expected, names):
    path = tmp_path / "approvals.csv"
    path.write_text(text, encoding="utf-8")
    table = load_table(path, kind="approvals", **options)
    np.testing.assert_array_equal(table.data, expected)
    assert list(table.item_names) == names.split()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("gender,Ann,Ben\n0,1,0\n1,0,1\n", {}, "not clear whether 'gender' is an item"),
        ("Ann,Ben\n1,0\n0,maybe\n", {"items": ["Ann", "Ben"]}, "line 3: 'maybe' in column 'Ben' does not say whether"),
        ("a,b\nx;y,u;v\ny;x,v;u\n", {}, "2 columns hold lists of items"),
    ],
)
def test_approvals_in_doubt(tmp_path, text, options, message):
    path = tmp_path / "approvals.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_table(path, kind="approvals", **options)


def test_weights_beside_named_items_are_neither_asked_for_nor_silent(tmp_path, capsys):
    path = EXPORTS / "counts.csv"
    with pytest.warns(UserWarning, match=r"Every row counts as one, but the column 'votes' may say .* count='votes'"):
        table = load_table(path, items=["Ann", "Ben", "Cid"])
    assert table.sample_weight.tolist() == [1, 1, 1, 1]
    assert main(["report", str(path), "--items", "Ann", "Ben", "Cid"]) == 0
    assert "pass --count votes if so, otherwise --ignore votes" in one_line(capsys.readouterr().out)
    for options in ({"count": "votes"}, {"ignore": "votes"}):  # no warning: warnings are errors here
        load_table(path, items=["Ann", "Ben", "Cid"], **options)


def test_skipped_cells_do_not_hide_a_column_of_codes(tmp_path):
    rng = np.random.default_rng(0)
    places = (np.argsort(rng.random((80, 3)), axis=1) + 1).astype(str)
    places[rng.random(places.shape) < 0.1] = ""  # some rows skip a place then
    rows = [",".join([*row, str(rng.integers(1, 3))]) for row in places]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(["Finn,Cid,Dora,Q2", *rows]) + "\n", encoding="utf-8")
    assert load_table(path, unranked="missing").item_names.tolist() == ["Finn", "Cid", "Dora"]
    path.write_text("\n".join(["Finn,Cid,Dora,Q2", *rows[:6]]) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="'Q2'"):  # too few rows to tell
        load_table(path, unranked="missing")


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["services[1]", "services[2]", "services[3]"], "services*"),
        (["services[1]", "services[2]", "services[3]", "services"], "services[1]:services[3]"),
    ],
)
def test_orderings_by_code_beside_numbers_are_suggested(tmp_path, names, pattern):
    rows = [["A1", "A2", "A3"], ["A3", "A1", "A2"], ["A2", "A1", "A3"]]
    path = tmp_path / "export.csv"
    table = [["id", *names, "age", "lastpage"]]
    table += [[7 * n, *row, *["note"] * (len(names) - 3), 20 + 13 * n, 5] for n, row in enumerate(rows, 1)]
    path.write_text("\n".join(",".join(map(str, row)) for row in table))
    with pytest.raises(ValueError, match="services.1.' and the columns like it list items, best first") as error:
        load_table(path)
    assert pattern in str(error.value)
    ballots = load_table(path, kind="orderings", items=pattern)
    assert ballots.item_names.tolist() == ["A1", "A2", "A3"]
    np.testing.assert_array_equal(ballots.data, [[0, 1, 2], [1, 2, 0], [1, 0, 2]])
