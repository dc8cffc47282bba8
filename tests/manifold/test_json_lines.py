"""Files of JSON lines: what was appended is there, whatever happened while the last line was written."""

import json
import os

import pytest

from skrank.manifold._json_lines import JsonLines

KIND = "test 1"
HEADER = {"format": KIND}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def test_what_is_appended_is_read(path):
    log = JsonLines.create(path, HEADER, [{"a": 1}])
    log.append({"b": "ü\u2028\n"})
    log, lines = JsonLines.open(path, KIND)
    assert lines == (HEADER, [{"a": 1}, {"b": "ü\u2028\n"}], b"")
    log.append({"c": None})
    assert JsonLines.open(path, KIND)[1].records[-1] == {"c": None}
    assert os.listdir(path.parent) == [path.name]  # no temporary file is left


def test_a_last_line_cut_off_anywhere_is_left_out_and_replaced(path):
    JsonLines.create(path, HEADER, [{"a": 1}]).append({"last": [1, 2, 3]})
    content = path.read_bytes()
    start = content.rindex(b"{")
    for size in range(start + 1, len(content) - 1):
        path.write_bytes(content[:size])
        log, lines = JsonLines.open(path, KIND)
        assert lines == (HEADER, [{"a": 1}], content[start:size])
        assert path.read_bytes() == content[:size]  # reading changes nothing
        log.append({"new": 2})
        assert JsonLines.open(path, KIND)[1] == (HEADER, [{"a": 1}, {"new": 2}], b"")


def test_a_whole_line_without_its_break_counts(path):
    JsonLines.create(path, HEADER, [{"a": 1}])
    path.write_bytes(path.read_bytes()[:-1])
    log, lines = JsonLines.open(path, KIND)
    assert lines == (HEADER, [{"a": 1}], b"")
    log.append({"b": 2})
    assert JsonLines.open(path, KIND)[1].records == [{"a": 1}, {"b": 2}]


def test_a_second_writer_is_told_to_read_again(path):
    first = JsonLines.create(path, HEADER)
    second, _ = JsonLines.open(path, KIND)
    first.append({"a": 1})
    with pytest.raises(RuntimeError, match="has changed since it was read.*Load the file again"):
        second.append({"b": 2})
    assert JsonLines.open(path, KIND)[1].records == [{"a": 1}]


def test_a_failed_write_leaves_nothing_behind(path, monkeypatch):
    log = JsonLines.create(path, HEADER)
    write = os.write

    def write_half(descriptor, content):
        write(descriptor, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_half)
        with pytest.raises(OSError, match="No space left"):
            log.append({"a": 1})
    assert path.read_bytes() == json.dumps(HEADER, separators=(",", ":")).encode() + b"\n"
    log.append({"b": 2})
    assert JsonLines.open(path, KIND)[1].records == [{"b": 2}]


def test_existing_files_are_not_overwritten(path):
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="exists already and is not overwritten"):
        JsonLines.create(path, HEADER)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: not a file of the format 'test 1'"),
        (b"anchor,near,far\n0,1,2\n", "line 1: not a JSON object"),
        (b'{"format":"other"}\n', "line 1: not a file of the format 'test 1'"),
        (b'{"format":"test 1"}\n{"a":\n{"b":1}\n', "line 2: not a JSON object"),
        (b'{"format":"test 1"}\n[1]\n{"b":1}\n', "line 2: not a JSON object"),
        (b'{"format":"test 1"}\n\xff\xfe\n', "line 2: not a JSON object"),
    ],
)
def test_other_files_are_refused_by_line(path, content, message):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        JsonLines.open(path, KIND)
