"""Bytes of data files, plain or gzipped, and errors that name the line."""

import gzip
import os
import zlib

GZIP_MAGIC = b"\x1f\x8b"


def parse_error(path, line, message):
    """The ValueError for a broken line, counted from 1."""
    return ValueError(f"{os.fspath(path)}, line {line}: {message}")


def refuse_sparse(path, line, n_rankings, n_items, n_bytes):
    """Raise on a file whose rank matrix would have over a thousand numbers for each of its bytes (and a million)."""
    if n_rankings * n_items > max(10**6, 1000 * n_bytes):
        raise parse_error(
            path,
            line,
            f"{n_rankings} rankings of {n_items} items are a matrix of {n_rankings * n_items / 1e6:.0f} million "
            "numbers, over a thousand for each byte of the file: nearly all would be uninformative. Leave out items.",
        )


def read_bytes(path):
    """The content of a text file, decompressed if it is gzipped; refuses truncated and binary files and empty ones."""
    with open(path, "rb") as file:
        return text_bytes(file.read(), path)


def text_bytes(content, path):
    """The content of a text file as `read_bytes` gives it, of the bytes that were read from it."""
    if content.startswith(GZIP_MAGIC):
        content = _decompress(content, path)
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise parse_error(path, line, "a zero byte: this is binary data, not text.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise parse_error(path, 1, "the file is empty.")
    return content


def write_bytes(path, content):
    """Write a file, gzipped if its name ends in .gz (without a time stamp: equal content gives equal files)."""
    if os.fspath(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    with open(path, "wb") as file:
        file.write(content)


def decode_line(content, path, line, strip=None):
    """One line as text, without the space around it, or without the given characters."""
    try:
        return content.decode("utf-8").strip(strip)
    except UnicodeDecodeError as error:
        raise parse_error(path, line, f"not UTF-8 text ({error.reason} at byte {error.start}).") from None


def _decompress(content, path):
    pieces = []
    while content:
        decompressor = zlib.decompressobj(wbits=31)
        try:
            for start in range(0, len(content), 1 << 16):
                pieces.append(decompressor.decompress(content[start : start + (1 << 16)]))
                if decompressor.eof:
                    break
        except zlib.error as error:
            raise parse_error(path, _lines(pieces), f"the gzip data is broken here ({error}).") from None
        if not decompressor.eof:
            raise parse_error(path, _lines(pieces), "the gzip data ends here, before its end: the file is truncated.")
        consumed = start + len(content[start : start + (1 << 16)]) - len(decompressor.unused_data)
        content = content[consumed:]
    return b"".join(pieces)


def _lines(pieces):
    return sum(piece.count(b"\n") for piece in pieces) + 1
