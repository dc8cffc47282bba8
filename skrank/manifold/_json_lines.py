"""An append-only file of JSON objects, one on each line, that a process killed at any moment leaves readable."""

import json
import os
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Lines(NamedTuple):
    """What a file holds: its header, the other objects, and the bytes of a last line that was cut off."""

    header: dict
    records: list
    torn: bytes


class JsonLines:
    """Appends to a file of JSON lines. A line is on the disk before `append` returns.

    A process that is killed while it writes leaves at most one line that is cut off, the last one. `append` had not
    returned then, so that nothing that was acknowledged is in it; the next `append` removes it.

    Parameters
    ----------
    path : str or path-like
        The file.
    end : int
        Where the last whole line ends, in bytes.
    size : int
        Size of the file, in bytes: more than `end` if its last line was cut off.
    closed : bool
        Whether the last line ends in a line break.
    """

    def __init__(self, path, end, size, closed=True):
        self.path = os.path.abspath(path)
        self._end, self._size, self._closed = end, size, closed

    @classmethod
    def create(cls, path, header, records=()):
        """A new file, which appears under its name only when it is complete.

        Raises
        ------
        FileExistsError
            If there is such a file already.
        """
        path = os.path.abspath(path)
        if os.path.exists(path):
            raise FileExistsError(
                f"{path} exists already and is not overwritten. Load it to continue, or give another name."
            )
        content = b"".join(map(_line, (header, *records)))
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise
        _sync_directory(path)
        return cls(path, len(content), len(content))

    @classmethod
    def open(cls, path, kind):
        """The file, ready to be appended to, and what it holds.

        Parameters
        ----------
        path : str or path-like
            The file.
        kind : str
            What `header["format"]` must be.

        Raises
        ------
        ValueError
            If the file is of another kind, or a line other than the last is not a JSON object; the message names the
            line.
        """
        with open(path, "rb") as file:
            content = file.read()
        *lines, last = content.split(b"\n")
        objects = [_object(line, path, number) for number, line in enumerate(lines, 1)]
        torn = b""
        if last:
            try:
                objects.append(_object(last, path, len(lines) + 1))
            except ValueError:
                torn = last
        if not objects or objects[0].get("format") != kind:
            raise ValueError(f"{os.fspath(path)}, line 1: not a file of the format {kind!r}.")
        closed = not last or bool(torn)
        return cls(path, len(content) - len(torn), len(content), closed), Lines(objects[0], objects[1:], torn)

    def append(self, record: Any) -> None:
        """Write an object at the end of the file; when this returns, it is on the disk.

        Raises
        ------
        RuntimeError
            If the file is not as this object has left it: another process has written to it.
        """
        line = (b"" if self._closed else b"\n") + _line(record)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # closing the file releases it
            if os.fstat(descriptor).st_size != self._size:
                raise RuntimeError(
                    f"{self.path} has changed since it was read, by another process perhaps. Nothing was written. "
                    "Load the file again and repeat the call."
                )
            try:
                if self._size > self._end:
                    os.ftruncate(descriptor, self._end)
                written = 0
                while written < len(line):
                    written += os.write(descriptor, line[written:])
                os.fsync(descriptor)
            except BaseException:  # a full disk, or an interrupt: what was not acknowledged must not be there
                os.ftruncate(descriptor, self._end)
                self._size = self._end
                raise
            self._end += len(line)
            self._size, self._closed = self._end, True
        finally:
            os.close(descriptor)


def _line(record):
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _object(line, path, number):
    try:
        found = json.loads(line)
    except ValueError as error:  # among them text that is not UTF-8
        raise ValueError(f"{os.fspath(path)}, line {number}: not a JSON object ({error}).") from None
    if not isinstance(found, dict):
        raise ValueError(f"{os.fspath(path)}, line {number}: not a JSON object.")
    return found


def _sync_directory(path):
    """Have the name of a new file on the disk as well, where the system can."""
    if os.name == "posix":
        descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
