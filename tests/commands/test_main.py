"""The command line as a whole: help, errors, JSON and pictures of every command."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from skrank.__main__ import COMMANDS, main
from skrank._commands import _output
from skrank.datasets import make_mallows_mixture, make_triplets
from skrank.manifold import TripletStudy


@pytest.fixture
def files(tmp_path):
    """Arguments of each command: files with something to find, an item's name not ASCII."""
    X, _ = make_mallows_mixture(200, 5, 2, centers="reversed", phi=0.3, random_state=0)
    rows = [",".join(map(str, row)) for row in X]
    for name, part in (("votes.csv", rows), ("others.csv", rows[:90])):
        (tmp_path / name).write_text("\n".join(["egg,sm\u00f8rrebr\u00f8d,tuna,squid,roe", *part]), encoding="utf-8")
    items = ["egg", "sm\u00f8rrebr\u00f8d", "tuna", "squid"]
    triplets, _ = make_triplets(n_items=8, n_triplets=300, noise="logistic", random_state=0)
    np.savetxt(tmp_path / "answers.csv", triplets, fmt="%d", delimiter=",", header="anchor,near,far", comments="")
    votes = str(tmp_path / "votes.csv")
    study = TripletStudy(["sm\u00f8rrebr\u00f8d", *map(str, range(7))], repeat=0, random_state=0)
    ids, (anchor, left, right) = (part.T for part in study.ask(300, "ann"))
    study.tell(ids, abs(anchor - left) < abs(anchor - right))
    games = [f"{a},{b},{a if (i + k) % 3 else b},{k}" for i, a in enumerate(items) for b in items[:i] for k in range(9)]
    (tmp_path / "games.csv").write_text("\n".join(["item_a,item_b,winner,judge", *games]), encoding="utf-8")
    (tmp_path / "study").mkdir()
    study.save(tmp_path / "study" / "study.jsonl")
    (tmp_path / "study" / "texts.json").write_text('{"title": "Food"}')
    return {
        "report": [votes],
        "mixture": [votes, "-k", "2"],
        "cluster": [votes],
        "test": [votes, str(tmp_path / "others.csv")],
        "compare": [str(tmp_path / "games.csv")],
        "triplets": [str(tmp_path / "answers.csv")],
        "study": ["report", str(tmp_path / "study")],
    }


def test_a_reader_that_stops_early_is_no_error():
    command = [sys.executable, "-m", "skrank", "triplets"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert errors == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is full")
def test_output_that_cannot_be_written_is_one_line():
    with open("/dev/full", "wb") as full:
        process = subprocess.run([sys.executable, "-m", "skrank", "triplets"], stdout=full, stderr=subprocess.PIPE)
    assert process.returncode == 2
    assert process.stderr.decode() == "python -m skrank: standard output: No space left on device\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert f"python -m skrank {command} " in text.partition("examples:")[2]
    assert "--json prints an object with:" in text
    assert "--plot" in text


def test_the_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert all(f"\n    {command} " in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_json_object_is_plain_and_has_what_the_help_says(command, files, capsys):
    assert main([command, *files[command], "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    figures = json.loads(captured.out, parse_constant=refuse)
    with pytest.raises(SystemExit):
        main([command, "--help"])
    described = capsys.readouterr().out.partition("--json prints")[2]
    assert [key for key in figures if key not in described] == []
    assert figures["notes"] == []
    if command != "triplets":
        assert "sm\u00f8rrebr\u00f8d" in json.dumps(figures, ensure_ascii=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_picture_is_drawn_into_the_file(command, files, tmp_path, capsys):
    path = tmp_path / "picture.png"
    assert main([command, *files[command], "--plot", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out
    image = matplotlib.image.imread(path)
    assert min(image.shape[:2]) > 200
    assert image.std() > 0.05


def test_letters_that_the_font_lacks_are_one_note(tmp_path, capsys):
    votes = tmp_path / "votes.csv"
    votes.write_text("\u5bff\u53f8,$a_$,b\n" + "0,1,2\n1,0,2\n" * 3, encoding="utf-8")
    assert main(["mixture", str(votes), "-k", "1", "--plot", str(tmp_path / "x.png")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "x.png: the font lacks 2 of the letters, which are shown as boxes." in text
    assert "Glyph" not in text


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "study"])
def test_a_file_that_is_not_there_is_one_line_and_exit_code_2(command, capsys):
    second = ["other.csv"] if command == "test" else []
    assert main([command, "no_such_file.csv", *second]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"python -m skrank {command}: no_such_file.csv: No such file or directory\n"


@pytest.mark.parametrize("argv", [["no"], ["report", "--no"], ["test"], ["cluster", "-k", "x"]])
def test_wrong_arguments_are_one_line(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("python -m skrank")
    assert "--help)" in error


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_directory/x.png", "there is no directory 'no_such_directory'"),
        ("x.exe", "the ending must name a format"),
        ("x", "the ending must name a format"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_told_before_the_work(path, message, capsys, monkeypatch):
    monkeypatch.setattr("skrank._commands.report.run", None)
    assert main(["report", "--plot", path]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"--plot {path}: {message}" in error


def test_a_directory_is_no_picture(tmp_path, capsys):
    directory = tmp_path / "x.png"
    directory.mkdir()
    assert main(["report", "--plot", str(directory)]) == 2
    assert "this file cannot be written" in capsys.readouterr().err


def test_a_full_disk_is_one_line(tmp_path, files, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(28, "No space left on device", "x.png")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    assert main(["report", *files["report"], "--plot", str(tmp_path / "x.png")]) == 2
    assert capsys.readouterr().err == "python -m skrank report: x.png: No space left on device\n"


def test_a_format_that_lacks_its_program_is_one_line(tmp_path, files, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("'xelatex' not found")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    path = str(tmp_path / "x.pgf")
    assert main(["report", *files["report"], "--plot", path]) == 2
    assert capsys.readouterr().err == f"python -m skrank report: --plot {path}: 'xelatex' not found\n"


def test_without_matplotlib_the_remedy_is_told(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    assert main(["report", "--plot", "x.png"]) == 2
    assert "python -m skrank report: --plot needs matplotlib: pip install matplotlib\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("two\n  lines of unranked='last'"), 2, "two lines of --unranked last"),
        (MemoryError("Unable to allocate 9 TiB"), 2, "not enough memory (Unable to allocate 9 TiB)"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_are_one_line(error, code, message, capsys, monkeypatch):
    def fail(arguments):
        raise error

    monkeypatch.setattr("skrank._commands.report.run", fail)
    assert main(["report"]) == code
    assert capsys.readouterr().err == f"python -m skrank report: {message}\n"


def test_numbers_that_are_none_are_null():
    figures = {"a": np.array([1.5, np.nan]), "b": np.float64(np.inf), 3: (np.int64(2), np.bool_(True))}
    assert json.loads(_output.as_json(figures)) == {"a": [1.5, None], "b": None, "3": [2, True]}


def test_the_installed_command_is_this_one():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"skrank": "skrank.__main__:main"}


def test_a_picture_for_a_paper(tmp_path):
    path = tmp_path / "x.svg"
    options = ["--plot", str(path), "--title", "Five candidates, $5", "--size", "6x4"]
    assert main(["report", *options]) == 0
    text = path.read_text(encoding="utf-8")
    assert 'width="432pt" height="288pt"' in text
    png = tmp_path / "x.png"
    assert main(["report", "--plot", str(png), "--size", "6x4", "--dpi", "50"]) == 0
    assert matplotlib.image.imread(png).shape[:2] == (200, 300)


@pytest.mark.parametrize("size", ["6", "6x", "0x4", "axb", "6x4x2"])
def test_sizes_that_are_none(size, capsys):
    with pytest.raises(SystemExit):
        main(["report", "--size", size])
    assert "inches" in capsys.readouterr().err
