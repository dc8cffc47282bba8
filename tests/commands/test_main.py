"""The command line as a whole."""

import subprocess
import sys

import pytest

from skrank.__main__ import COMMANDS, main


def test_a_reader_that_stops_early_is_no_error():
    command = [sys.executable, "-m", "skrank", "triplets"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert errors == b""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_not_there_is_one_line_and_exit_code_2(command, capsys):
    assert main([command, "no_such_file.csv"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "no_such_file.csv" in captured.err
