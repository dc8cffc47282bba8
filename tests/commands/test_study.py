"""`python -m skrank study`: from a list of items to a map, by files; bad rows are named and nothing is lost."""

import csv
import json

import numpy as np
import pytest

from skrank.__main__ import main
from skrank._commands import _study_files, _study_report
from skrank.exceptions import InsufficientDataWarning
from skrank.manifold import TripletStudy
from skrank.metrics import procrustes_error

NAMES = ["Äpfel", "banana", "cherry, red", "date", "elder", 'fig "new"', "grape", "honey"]
PNG = b"\x89PNG\r\n\x1a\n" + b"not really"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run `study` with these arguments in an empty directory: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main(["study", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def write_items(path, names=NAMES):
    folder = path.parent / "pictures here"
    folder.mkdir(exist_ok=True)
    (folder / "1.png").write_bytes(PNG)
    rows = [[name, f"text of {name}", "pictures here/1.png" if row % 2 else ""] for row, name in enumerate(names)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["Name", "Text", "Picture"], *rows])


@pytest.fixture
def study(run, tmp_path):
    """A study of 60 queries for ann and ben."""
    write_items(tmp_path / "items.csv")
    code, _, error = run("new", "items.csv", "--queries", 60, "--raters", "ann", "ben", "--sheets", "s")
    assert (code, error) == (0, "")
    return tmp_path / "s"


def read_sheet(path):
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def fill(path, to, respond, **options):
    """Fill in a sheet, as a spreadsheet would save it."""
    rows = read_sheet(path)
    with open(to, "w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        writer = csv.DictWriter(file, list(rows[0]), **options)
        writer.writeheader()
        writer.writerows({**row, "response": respond(row)} for row in rows)
    return rows


def figures(result):
    assert result[0] in (0, 1), result
    return json.loads(result[1])


# ---------------------------------------------------------------- new and next
def test_new_writes_sheets_and_pages(run, study):
    loaded = TripletStudy.load(study / "study.jsonl")
    assert loaded.items == NAMES
    assert [query.rater for query in map(loaded.query, range(60))] == ["ann"] * 30 + ["ben"] * 30
    assert sorted(path.name for path in (study / "sheets").iterdir()) == [
        f"{rater}-1.{ending}" for rater in ("ann", "ben") for ending in ("csv", "html")
    ]
    rows = read_sheet(study / "sheets" / "ben-1.csv")
    assert [int(row["id"]) for row in rows] == list(range(30, 60))
    for row in rows:
        query = loaded.query(int(row["id"]))
        assert (row["rater"], row["response"]) == ("ben", "")
        assert [row["anchor"], row["left"], row["right"]] == [NAMES[item] for item in query[:3]]
    assert len(list((study / "pictures").iterdir())) == 4
    page = (study / "sheets" / "ann-1.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 4
    assert "http" not in page.replace("http-equiv", "")
    assert "$" not in page


def test_names_cannot_break_the_page(run, tmp_path):
    names = ["</script><script>alert(1)</script>", "<!--", "&amp;", "$title"]
    write_items(tmp_path / "items.csv", names)
    assert run("new", "items.csv", "--queries", 8, "--raters", "<b>", "--sheets", "s", "--title", "A & <B>")[0] == 0
    page = next((tmp_path / "s" / "sheets").glob("*.html")).read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    assert "<title>A &amp; &lt;B>: &lt;b></title>" in page
    start = page.index('application/json">') + len('application/json">')
    sheet = json.loads(page[start : page.index("</script>", start)])
    assert {item["name"] for item in sheet["items"]} == set(names)
    assert sheet["title"] == "A & <B>"


def test_next_writes_further_sheets_of_the_same_raters(run, study):
    before = {path.name: path.read_bytes() for path in (study / "sheets").iterdir()}
    found = figures(run("next", "s", "--queries", 21, "--json"))
    assert [(one["rater"], one["n_queries"]) for one in found["raters"]] == [("ann", 11), ("ben", 10)]
    assert found["notes"] == ["60 queries of earlier sheets have no response yet."]
    assert len(read_sheet(study / "sheets" / "ann-2.csv")) == 11
    assert all((study / "sheets" / name).read_bytes() == content for name, content in before.items())
    assert figures(run("next", "s", "--queries", 3, "--raters", "2", "--json"))["raters"][1]["rater"] == "rater2"


def test_a_sheet_that_is_missing_is_written_again(run, study):
    content = (study / "sheets" / "ben-1.html").read_bytes()
    (study / "sheets" / "ben-1.html").unlink()
    run("next", "s", "--queries", 2)
    assert (study / "sheets" / "ben-1.html").read_bytes() == content


def test_raters_of_like_names_have_files_of_their_own(run, tmp_path):
    write_items(tmp_path / "items.csv")
    run("new", "items.csv", "--queries", 9, "--raters", "a/b", "a b", "a-b", "--sheets", "s")
    assert sorted(path.name for path in (tmp_path / "s" / "sheets").glob("*.csv")) == [
        "a-b-1.csv",
        "a-b_2-1.csv",
        "a-b_3-1.csv",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name\na\nb\n\na\nc\n", "items.csv, line 5: 'a' is the name of line 2 already."),
        ("name;text\na;x\n;y\nc;z\n", "items.csv, line 3: the name is empty."),
        ("name,picture\na,\nb,gone.png\nc,\n", "items.csv, line 3: gone.png: No such file or directory."),
        ("name,picture\na,items.csv\nb,\nc,\n", "items.csv, line 2: 'items.csv' is not a PNG, JPEG"),
        ("name\na\nb\n", "items.csv, line 3: 2 items: a triplet has three."),
        ("fruit\na\nb\nc\n", "items.csv, line 1: no column 'name' in the header 'fruit'"),
        ("name,text\na,x\nb\nc,z\n", "items.csv, line 3: 1 cells, but the header has 2."),
    ],
)
def test_bad_items_are_named_by_line(run, tmp_path, content, message):
    (tmp_path / "items.csv").write_text(content)
    code, _, error = run("new", "items.csv", "--queries", 9, "--raters", 1, "--sheets", "s")
    assert code == 2
    assert error.startswith(f"python -m skrank study: {message}")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new", "items.csv", "--queries", 9, "--raters", 1, "--sheets", "s"), "the folder is not empty"),
        (("new", "items.csv", "--queries", 9, "--sheets", "t"), "--queries 9: fewer than one for each of 20 raters"),
        (("new", "items.csv", "--queries", 9, "--raters", "a", "a", "--sheets", "t"), "'a' is given twice or empty"),
        (("new", "items.csv", "--queries", 9, "--raters", "0", "--sheets", "t"), "from 1 to 10000 raters"),
        (("read", "nowhere"), "nowhere: no study here"),
        (("read", "s", "missing.csv"), "missing.csv: No such file"),
        (("report", "s"), "s: no responses yet"),
        (("read", "s", "--plot", "map.png"), "--plot draws the map of `study report`"),
    ],
)
def test_errors(run, study, arguments, message):
    code, _, error = run(*arguments)
    assert code == 2
    assert message in error


# ---------------------------------------------------------------- read
def test_sheets_are_read_back_in_any_mixture(run, study):
    words = iter(["left", "Right", "LEFT", "don't know", "Don\u2019t know", "?"] * 5)
    ann = fill(study / "sheets" / "ann-1.csv", study / "responses" / "from ann.csv", lambda row: next(words))
    half = iter([True, False] * 15)
    fill(study / "sheets" / "ben-1.csv", study / "sheets" / "ben-1.csv", lambda row: row["left"] if next(half) else "")
    found = figures(run("read", "s", "--json"))
    assert {name: found[name] for name in ("n_new", "n_known", "n_unread")} == {
        "n_new": 45,
        "n_known": 0,
        "n_unread": 0,
    }
    assert found["n_unanswered"] == 30 + 15  # ann's sheet is there twice
    responses = {one.id: one.response for one in TripletStudy.load(study / "study.jsonl").responses()}
    expected = ["left", "right", "left", None, None, None] * 5
    assert [responses[int(row["id"])] for row in ann] == expected
    assert {responses[number] for number in range(30, 60, 2)} == {"left"}
    again = figures(run("read", "s", "--json"))
    assert (again["n_new"], again["n_known"]) == (0, 45)
    assert run("read", "s")[0] == 0


def test_spreadsheets_may_save_as_they_like(run, study):
    options = {"encoding": "cp1252", "delimiter": ";"}
    fill(study / "sheets" / "ann-1.csv", study / "responses" / "ann.csv", lambda row: "left", **options)
    fill(study / "sheets" / "ben-1.csv", study / "responses" / "ben.tsv", lambda row: "right", delimiter="\t")
    found = figures(run("read", "s", "--json"))
    assert (found["n_new"], found["n_unread"]) == (60, 0)


def test_a_minimal_file_of_another_rater(run, study):
    (study / "responses" / "extra.csv").write_text("rater,response,id\ncid,left,3\ncid,right,4\n,left,5\n")
    assert figures(run("read", "s", "--json"))["n_new"] == 3
    raters = {one.id: one.rater for one in TripletStudy.load(study / "study.jsonl").responses()}
    assert raters == {3: "cid", 4: "cid", 5: "ann"}


def test_bad_rows_are_named_and_all_others_are_recorded(run, study):
    rows = read_sheet(study / "sheets" / "ann-1.csv")
    bad = {
        0: lambda row: {**row, "response": "both"},
        1: lambda row: {**row, "id": "sixty"},
        2: lambda row: {**row, "id": "60"},
        3: lambda row: {**row, "left": row["right"]},
    }
    path = study / "responses" / "ann.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for number, row in enumerate(rows[:10]):
            writer.writerow(bad.get(number, dict)({**row, "response": "left"}))
        writer.writerow({**rows[9], "response": "right"})
        file.write("11,ann\n")
    (study / "responses" / "broken.csv").write_bytes(b"PK\x03\x04\0\0")
    (study / "responses" / "other.csv").write_text("name,age\nx,3\n")
    code, text, error = run("read", "s")
    assert (code, error) == (1, "")
    assert "6 new responses" in text
    assert "Correct these and read again" in text
    found = figures(run("read", "s", "--json"))
    assert (found["n_new"], found["n_known"]) == (0, 6)
    reasons = {(row["file"], row["line"]): row["reason"] for row in found["unread"]}
    assert len(reasons) == found["n_unread"] == 8
    for place, reason in {
        ("responses/ann.csv", 2): "'both' is not a response: write left or right",
        ("responses/ann.csv", 3): "the id 'sixty' is not that of a query of this study, 0 to 59",
        ("responses/ann.csv", 4): "the id '60' is not",
        ("responses/ann.csv", 5): "this sheet is of another study, or its rows were mixed up",
        (
            "responses/ann.csv",
            12,
        ): "ann answered 'right' to query 9, but the study has 'left': the first response is kept",
        ("responses/ann.csv", 13): "2 cells, but the header has 6",
        ("responses/broken.csv", 1): "this is binary data",
        ("responses/other.csv", 1): "no column 'id' and 'response' in the header",
    }.items():
        assert reason in reasons[place]
    assert path.exists()  # the files are as they were


def test_a_sheet_of_another_study_is_one_line_for_all_of_its_rows(run, study, tmp_path):
    write_items(tmp_path / "others.csv", [f"other {number}" for number in range(8)])
    run("new", "others.csv", "--queries", 20, "--raters", "zoe", "--sheets", "second")
    sheet = (tmp_path / "second" / "sheets" / "zoe-1.csv").read_text(encoding="utf-8-sig")
    filled = [line + "left" if number else line for number, line in enumerate(sheet.splitlines())]
    (study / "responses" / "zoe-1.csv").write_text("\n".join(filled), encoding="utf-8")
    code, text, _ = run("read", "s")
    text = " ".join(text.split())
    assert code == 1
    assert "20 rows were not read" in text
    assert "zoe-1.csv: 20 rows, the first in line 2, name other items than the queries of their ids do" in text
    assert text.count("this sheet is of another study") == 1
    assert figures(run("read", "s", "--json"))["n_unread"] == 20


def test_nothing_to_read(run, study):
    for path in (study / "sheets").glob("*.csv"):
        path.unlink()
    code, text, _ = run("read", "s")
    assert code == 0
    assert "No files of responses in" in text


# ---------------------------------------------------------------- report
def test_the_whole_way_to_a_map(run, tmp_path):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((12, 2))
    names = [f"item {number}" for number in range(12)]
    write_items(tmp_path / "items.csv", names)
    place = dict(zip(names, points, strict=True))
    run("new", "items.csv", "--queries", 300, "--raters", "ann", "ben", "--sheets", "s", "--title", "Shapes")

    def respond(row):
        anchor, left, right = (place[row[role]] for role in ("anchor", "left", "right"))
        margin = ((anchor - right) ** 2).sum() - ((anchor - left) ** 2).sum()
        return "don't know" if abs(margin) < 0.05 else "left" if 3 * margin + rng.logistic() > 0 else "right"

    for number in (1, 2):
        for rater in ("ann", "ben"):
            fill(tmp_path / f"s/sheets/{rater}-{number}.csv", tmp_path / f"s/responses/{rater}-{number}.csv", respond)
        assert run("read", "s")[0] == 0
        if number == 1:
            run("next", "s", "--queries", 200)
    code, text, error = run("report", "s", "--plot", "map.png", "--output", "coordinates.csv")
    assert (code, error) == (0, "")
    assert text.startswith("Shapes\n======\n500 responses about 12 items, ")
    assert max(map(len, text.splitlines())) <= 104
    assert (tmp_path / "map.png").read_bytes().startswith(PNG[:8])
    found = figures(run("report", "s", "--json"))
    coordinates = np.array([one["coordinates"] for one in found["items"]])
    error = procrustes_error(points, coordinates)
    assert error < 0.05
    assert 0.3 * error < found["expected_error"] < 3 * error + 0.01
    gains = [one["expected_error"] for one in found["gains"]]
    assert found["expected_error"] > gains[0] > gains[1] > gains[2] > 0
    assert [one["rater"] for one in found["raters"]] == ["ann", "ben"]
    assert not any(one["guesses"] for one in found["raters"])
    assert found["agreement"]["n_triplets"] > 10
    written = np.genfromtxt(tmp_path / "coordinates.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    np.testing.assert_allclose(written["x0"], coordinates[:, 0])


# ---------------------------------------------------------------- pieces
@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b'<?xml version="1.0"?><svg xmlns="', "image/svg+xml"),
    ],
)
def test_pictures_are_known_by_their_content(tmp_path, start, kind):
    (tmp_path / "picture").write_bytes(start)
    assert _study_files.picture_type(str(tmp_path / "picture")) == kind


def test_names_of_files():
    assert _study_files.file_name("Ben Ö.") == "Ben-Ö"
    assert _study_files.file_name("../..") == "rater"


# ---------------------------------------------------------------- mistakes of a first study
def answered(study, rater, to, word="left"):
    return fill(study / "sheets" / f"{rater}-1.csv", study / "responses" / to, lambda row: word)


def test_a_sheet_of_another_study_of_the_same_items_is_refused_as_a_whole(run, study, tmp_path):
    run(
        "new", "items.csv", "--queries", 60, "--raters", "ann", "--sheets", "other", "--question", "Which tastes alike?"
    )
    fill(tmp_path / "other/sheets/ann-1.csv", study / "responses" / "other.csv", lambda row: "left")
    found = figures(run("read", "s", "--json"))
    assert (found["n_new"], found["n_unread"]) == (0, 60)
    assert TripletStudy.load(study / "study.jsonl").n_responses == 0


def test_rows_that_agree_with_this_study_by_chance_are_not_read_from_another_sheet(run, study):
    rows = read_sheet(study / "sheets" / "ann-1.csv")
    with open(study / "responses" / "mixed.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for number, row in enumerate(rows[:10]):
            swapped = {"left": row["right"], "right": row["left"]} if number % 5 else {}
            writer.writerow({**row, **swapped, "response": "left"})
    found = figures(run("read", "s", "--json"))
    assert (found["n_new"], found["n_unread"]) == (0, 10)


def test_files_that_cannot_be_read_are_named_and_not_passed_over(run, study):
    for name in ("ann.xlsx", "ben-1-responses.csv.crdownload", "empty.csv", "~$ann.xlsx", ".hidden"):
        (study / "responses" / name).write_bytes(b"")
    (study / "responses" / "from ben").mkdir()
    reasons = {row["file"]: row["reason"] for row in figures(run("read", "s", "--json"))["unread"]}
    assert reasons == {
        "responses/ann.xlsx": "this is not a CSV file: save it from the spreadsheet as CSV.",
        "responses/ben-1-responses.csv.crdownload": "the download was interrupted: download the file again.",
        "responses/empty.csv": "the file is empty.",
        "responses/from ben": "this is a folder: move its files to the folder above it.",
    }


def test_a_file_that_was_cut_off_says_so_in_its_last_line(run, study):
    answered(study, "ann", "whole.csv")
    content = (study / "responses" / "whole.csv").read_text(encoding="utf-8")
    (study / "responses" / "whole.csv").write_text(content[: content.rindex(",")], encoding="utf-8")
    found = figures(run("read", "s", "--json"))
    assert (found["n_new"], found["n_unread"]) == (29, 1)
    assert found["unread"][0]["reason"].endswith("The file may be cut off here: get it again.")


def test_a_response_that_was_changed_asks_for_nothing(run, study):
    answered(study, "ann", "first.csv")
    run("read", "s")
    answered(study, "ann", "second.csv", "right")
    code, text, _ = run("read", "s")
    assert code == 1
    assert "A recorded response cannot be changed" in text
    assert "Correct these" not in text
    assert "responses/second.csv, line 2: ann answered 'right'" in text


def test_a_sheet_that_came_back_empty_is_listed(run, study):
    answered(study, "ann", "ann.csv", "")
    assert "responses/ann.csv    0      0          30         0" in run("read", "s")[1]


def test_the_report_says_that_it_is_too_early_to_tell(run, study):
    for rater in ("ann", "ben"):
        answered(study, rater, f"{rater}.csv")
    run("read", "s")
    code, text, _ = run("report", "s")
    assert code == 0
    assert "with so few responses the true error may be more than twice that" in " ".join(text.split())
    found = figures(run("report", "s", "--json"))
    assert found["error_is_certain"] is False
    assert any("may be less than half of the true one" in note for note in found["notes"])


def test_the_map_has_the_coordinates_of_the_report_and_shows_all_ellipses(run, study):
    answered(study, "ann", "ann.csv")
    run("read", "s")
    loaded = TripletStudy.load(study / "study.jsonl")
    with pytest.warns(InsufficientDataWarning):
        coordinates = np.array([one["coordinates"] for one in _study_report.describe(loaded)["items"]])
    (axes,) = _study_report.draw(loaded, "Map").axes
    np.testing.assert_allclose(axes.collections[0].get_offsets(), coordinates)
    axes.figure.canvas.draw()
    for patch in axes.patches:
        box = patch.get_path().transformed(patch.get_patch_transform()).get_extents()
        for (low, high), (first, last) in ((axes.get_xlim(), box.intervalx), (axes.get_ylim(), box.intervaly)):
            assert low <= first
            assert last <= high
